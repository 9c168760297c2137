/* Rows of scores, rows of gradients and codes of labels, of all types and strides, against the
 * definitions in tensor.h written down once more, under each instruction set. What the functions
 * read lies in an array that ends where the view ends, for sanitizers to watch. */
#include "loss/tensors/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "depth.h"
#include "loss/tensors/float_bits.h"
#include "loss/tensors/labels.h"
#include "support.h"

static const char *const isas[] = {"baseline", "avx2", "avx512"};
enum { ISAS = sizeof isas / sizeof *isas };

/* Whether this machine has it; then it is in use. */
static int use(const char *isa)
{
    submodi_isa_choose(isa);
    return strcmp(submod_isa(), isa) == 0;
}

/* ---- strides ---- */

enum { FIRST = 3, AFTER = 2, IMAGES = 2 }; /* pixels before and after the tile; it is image 1 */

typedef struct layout {
    const char *name;
    ptrdiff_t batch_stride, class_stride, pixel_stride;
} layout;

enum { LAYOUTS = 11, WRITABLE = 9 }; /* the last two meet the same element more than once */

/* Layout k of so many classes and pixels. */
static layout layout_of(size_t k, size_t classes, size_t pixels)
{
    ptrdiff_t C = (ptrdiff_t)classes, N = (ptrdiff_t)pixels;
    const layout all[LAYOUTS] = {{"contiguous", C * N, N, 1},
                                 {"padded rows", C * (N + 5) + 1, N + 5, 1},
                                 {"classes backwards", C * N, -N, 1},
                                 {"channels last", C * N, 1, C},
                                 {"channels last, padded", N * (C + 3) + 7, 1, C + 3},
                                 {"channels last, backwards", -C * N, 1, -C},
                                 {"pixels backwards", C * N, N, -1},
                                 {"odd", 2 * C * (3 * N + 1), 2 * (3 * N + 1), 3},
                                 {"classes last and backwards", C * N, -1, C},
                                 {"one row for all", N, 0, 1},
                                 {"one number for all", 0, 0, 0}};
    return all[k];
}

static ptrdiff_t offset(const layout *l, size_t b, size_t c, size_t i)
{
    return (ptrdiff_t)b * l->batch_stride + (ptrdiff_t)c * l->class_stride +
           (ptrdiff_t)i * l->pixel_stride;
}

/* The smallest offset is that of an array's first element: where element 0 is, and how many
 * elements there are. */
static size_t extent(const layout *l, size_t classes, size_t pixels, size_t *origin)
{
    ptrdiff_t low = 0, high = 0;
    const ptrdiff_t reach[] = {offset(l, IMAGES - 1, 0, 0), offset(l, 0, classes - 1, 0),
                               offset(l, 0, 0, pixels - 1)};
    for (size_t k = 0; k < 3; k++) {
        low += reach[k] < 0 ? reach[k] : 0;
        high += reach[k] > 0 ? reach[k] : 0;
    }
    *origin = (size_t)-low;
    return (size_t)(high - low) + 1;
}

/* ---- numbers ---- */

/* The same bits; any NaN is like another. */
static int same(float a, float b)
{
    return submodi_to_bits(a) == submodi_to_bits(b) || (isnan(a) && isnan(b));
}

/* binary16 as IEEE 754 defines it. */
static float value_of_f16(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float value = exponent == 0 ? ldexpf((float)fraction, -24)
                                : ldexpf((float)(1024 + fraction), exponent - 25);
    if (exponent == 31) {
        value = fraction ? NAN : INFINITY;
    }
    return half & 0x8000 ? -value : value;
}

static float value_of_bf16(uint16_t half)
{
    int exponent = half >> 7 & 255, fraction = half & 127;
    float value = exponent == 0 ? ldexpf((float)fraction, -133)
                                : ldexpf((float)(128 + fraction), exponent - 134);
    if (exponent == 255) {
        value = fraction ? NAN : INFINITY;
    }
    return half & 0x8000 ? -value : value;
}

static float value_of(const void *data, submod_score_type type, size_t k)
{
    switch (type) {
    case SUBMOD_SCORE_F32: return ((const float *)data)[k];
    case SUBMOD_SCORE_F16: return value_of_f16(((const uint16_t *)data)[k]);
    default: return value_of_bf16(((const uint16_t *)data)[k]);
    }
}

/* Random bits, which are NaN and Inf too, and subnormal. */
static void *random_bytes(submod_rng *rng, size_t bytes)
{
    unsigned char *data = malloc(bytes);
    for (size_t k = 0; k < bytes; k++) {
        data[k] = (unsigned char)submod_rng_below(rng, 256);
    }
    return data;
}

/* Numbers of either sign, with both zeros, that are no NaN. */
static float *random_floats(submod_rng *rng, size_t n)
{
    float *x = malloc(n * sizeof *x);
    for (size_t k = 0; k < n; k++) {
        x[k] = (float)(submod_rng_uniform(rng) - 0.5);
        x[k] = submod_rng_below(rng, 8) == 0 ? 0 * x[k] : x[k];
        x[k] = submod_rng_below(rng, 64) == 0 ? INFINITY : x[k];
    }
    return x;
}

/* ---- reading ---- */

static const float untouched = 12345.0F; /* what buffers are filled with */

typedef struct tile {
    size_t n, classes, width, stride;
} tile;

/* Width and stride as large as they must be, or a bit larger. */
static tile tile_of(size_t n, size_t classes)
{
    static const size_t more[] = {0, 1, 5, 16};
    size_t width = n + more[(n + classes) % 4];
    return (tile){n, classes, width, width + more[classes % 4]};
}

typedef struct input {
    submod_scores scores;
    layout strides;
    void *data;
    size_t origin;
} input;

static input make_input(submod_rng *rng, size_t which, submod_score_type type, const tile *t)
{
    size_t pixels = FIRST + t->n + AFTER, size = type == SUBMOD_SCORE_F32 ? 4 : 2;
    input in = {.strides = layout_of(which, t->classes, pixels)};
    in.data = random_bytes(rng, size * extent(&in.strides, t->classes, pixels, &in.origin));
    in.scores = (submod_scores){.data = (char *)in.data + size * in.origin,
                                .type = type,
                                .batch = IMAGES,
                                .classes = t->classes,
                                .pixels = pixels,
                                .batch_stride = in.strides.batch_stride,
                                .class_stride = in.strides.class_stride,
                                .pixel_stride = in.strides.pixel_stride};
    return in;
}

/* Whether the row is what is to be read, then 0 up to width, and untouched up to end. */
static int is_row(const input *in, const tile *t, size_t c, size_t end, const float *row)
{
    int right = 1;
    for (size_t i = 0; i < end; i++) {
        float wanted = i < t->width ? 0 : untouched;
        if (i < t->n) {
            ptrdiff_t at = (ptrdiff_t)in->origin + offset(&in->strides, 1, c, FIRST + i);
            wanted = value_of(in->data, in->scores.type, (size_t)at);
        }
        right &= same(row[i], wanted);
    }
    return right;
}

static float *buffer_of(size_t n)
{
    float *buffer = malloc(n * sizeof *buffer);
    for (size_t k = 0; k < n; k++) {
        buffer[k] = untouched;
    }
    return buffer;
}

/* Nothing follows the last row's width. */
static int reads_rows(const input *in, const tile *t)
{
    float *rows = buffer_of((t->classes - 1) * t->stride + t->width);
    submodi_rows_read(&in->scores, 1, FIRST, t->n, t->width, t->stride, rows);
    int right = 1;
    for (size_t c = 0; c < t->classes; c++) {
        size_t end = c + 1 < t->classes ? t->stride : t->width;
        right &= is_row(in, t, c, end, rows + c * t->stride);
    }
    free(rows);
    return right;
}

static int reads_a_row(const input *in, const tile *t, size_t c)
{
    float *row = buffer_of(t->width + 1);
    submodi_row_read(&in->scores, 1, c, FIRST, t->n, t->width, row);
    int right = is_row(in, t, c, t->width + 1, row);
    tile unpadded = {t->n, t->classes, t->n, t->n};
    right &= is_row(in, &unpadded, c, t->n, submodi_row(&in->scores, 1, c, FIRST, t->n, row));
    free(row);
    return right;
}

static int finds_rows(const input *in, const tile *t)
{
    const float *direct = submodi_rows_direct(&in->scores, 1, FIRST);
    if (in->scores.type != SUBMOD_SCORE_F32 || in->strides.pixel_stride != 1) {
        return direct == NULL;
    }
    tile unpadded = {t->n, t->classes, t->n, t->n};
    int right = direct != NULL;
    for (size_t c = 0; c < t->classes && right; c++) {
        right = is_row(in, &unpadded, c, t->n, direct + (ptrdiff_t)c * in->strides.class_stride);
    }
    return right;
}

static void check_reading(submod_rng *rng, size_t n, size_t classes)
{
    tile t = tile_of(n, classes);
    for (size_t k = 0; k < 3 * LAYOUTS; k++) {
        input in = make_input(rng, k / 3, (submod_score_type)(k % 3), &t);
        for (size_t i = 0; i < ISAS; i++) {
            if (use(isas[i])) {
                int right = reads_rows(&in, &t) && finds_rows(&in, &t) && reads_a_row(&in, &t, 0) &&
                            reads_a_row(&in, &t, classes - 1);
                ck_assert_msg(right, "%zu pixels, %zu classes, type %zu, %s, %s", n, classes, k % 3,
                              in.strides.name, isas[i]);
            }
        }
        free(in.data);
    }
}

/* ---- writing ---- */

/* The gradient is `old`; the rows are added to it, or overwrite it, and all the rest of the array
 * stays. */
static int writes_rows(const layout *l, const tile *t, const float *rows, const float *old,
                       size_t size, size_t origin, double scale, int accumulate)
{
    float *got = malloc(size * sizeof *got), *wanted = malloc(size * sizeof *wanted);
    memcpy(got, old, size * sizeof *got);
    memcpy(wanted, old, size * sizeof *wanted);
    submod_gradient g = {got + origin,    l->batch_stride, l->class_stride,
                         l->pixel_stride, scale,           accumulate};
    submodi_rows_write(&g, 1, FIRST, t->n, t->classes, t->stride, rows);
    for (size_t k = 0; k < t->classes * t->n; k++) {
        size_t c = k / t->n, i = k % t->n;
        float *entry = &wanted[(ptrdiff_t)origin + offset(l, 1, c, FIRST + i)];
        *entry = (accumulate ? *entry : 0) + (float)scale * rows[c * t->stride + i];
    }
    int right = 1;
    for (size_t k = 0; k < size; k++) {
        right &= same(got[k], wanted[k]);
    }
    free(got);
    free(wanted);
    return right;
}

static void check_writing(submod_rng *rng, size_t n, size_t classes)
{
    static const double scales[] = {1, -0.3, 0};
    tile t = tile_of(n, classes);
    float *rows = random_floats(rng, (classes - 1) * t.stride + n);
    for (size_t k = 0; k < 2 * WRITABLE; k++) {
        size_t origin, pixels = FIRST + n + AFTER;
        layout l = layout_of(k / 2, classes, pixels);
        size_t size = extent(&l, classes, pixels, &origin);
        float *old = random_floats(rng, size);
        double scale = scales[(n + classes + k / 2) % 3];
        for (size_t i = 0; i < ISAS; i++) {
            if (use(isas[i])) {
                int right = writes_rows(&l, &t, rows, old, size, origin, scale, (int)(k % 2));
                ck_assert_msg(right, "%zu pixels, %zu classes, accumulate %zu, scale %g, %s, %s", n,
                              classes, k % 2, scale, l.name, isas[i]);
            }
        }
        free(old);
    }
    free(rows);
}

/* ---- all sizes ---- */

static void for_all_sizes(uint64_t seed, void (*check)(submod_rng *rng, size_t n, size_t classes))
{
    static const size_t tiles[][2] = {{128, 21}, {127, 19}, {64, 150},
                                      {65, 33},  {71, 41},  {200, 9}};
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    for (size_t n = 1; n <= 40; n += (size_t)each(3)) {
        for (size_t classes = 1; classes <= 40; classes++) {
            check(&rng, n, classes);
        }
    }
    for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
        check(&rng, tiles[k][0], tiles[k][1]);
    }
}

START_TEST(scores_of_all_types_and_strides_become_rows)
{
    for_all_sizes(1, check_reading);
}
END_TEST

START_TEST(rows_are_written_to_gradients_of_all_strides)
{
    for_all_sizes(2, check_writing);
}
END_TEST

/* Every half there is, side by side and channels last. */
START_TEST(all_halves_are_converted)
{
    enum { HALVES = 65536, CLASSES = 32 };
    uint16_t *half = malloc(HALVES * sizeof *half);
    float *rows = malloc(HALVES * sizeof *rows);
    for (size_t k = 0; k < HALVES; k++) {
        half[k] = (uint16_t)k;
    }
    for (size_t k = 0; k < 4 * ISAS; k++) {
        submod_score_type type = k % 2 ? SUBMOD_SCORE_F16 : SUBMOD_SCORE_BF16;
        size_t classes = k / 2 % 2 ? CLASSES : 1, n = HALVES / classes;
        submod_scores s = submod_scores_channels_last(half, type, 1, classes, n);
        int wrong = 0;
        if (use(isas[k / 4])) {
            submodi_rows_read(&s, 0, 0, n, n, n, rows);
            for (size_t i = 0; i < HALVES; i++) {
                wrong += !same(rows[i % classes * n + i / classes], value_of(half, type, i));
            }
        }
        ck_assert_int_eq(wrong, 0);
    }
    free(half);
    free(rows);
}
END_TEST

/* ---- labels ---- */

/* Labels that are near a border of some kind, as far as the type has them. */
static int64_t some_label(submod_rng *rng, submod_label_type type, int32_t classes)
{
    const int64_t two32 = INT64_C(1) << 32, last = (int64_t)classes - 1;
    const int64_t near[] = {
        0,         -1,        1,           last,      last + 1,    last + 2,
        255,       254,       128,         INT32_MAX, 100,         INT32_MIN,
        two32,     two32 + 1, last,        -two32,    two32 / 2,   -two32 / 2 - 1,
        two32 - 1, INT64_MIN, two32 * 256, INT64_MAX, two32 + 255, 1 - two32};
    for (;;) {
        int64_t label = near[submod_rng_below(rng, sizeof near / sizeof *near)];
        if (type == SUBMOD_LABEL_I64 || (type == SUBMOD_LABEL_U8 && label == (uint8_t)label) ||
            (type == SUBMOD_LABEL_I32 && label == (int32_t)label)) {
            return label;
        }
    }
}

static void put_label(void *data, submod_label_type type, size_t k, int64_t label)
{
    switch (type) {
    case SUBMOD_LABEL_U8: ((uint8_t *)data)[k] = (uint8_t)label; break;
    case SUBMOD_LABEL_I32: ((int32_t *)data)[k] = (int32_t)label; break;
    case SUBMOD_LABEL_I64: ((int64_t *)data)[k] = label; break;
    }
}

static int32_t code_of(int64_t label, const submodi_label_rule *rule)
{
    if (rule->has_ignore && label == rule->ignore_index) {
        return rule->classes;
    }
    return 0 <= label && label < rule->classes ? (int32_t)label : rule->classes + 1;
}

/* n labels of image 1, from FIRST on, and one code more, which stays. */
static int reads_labels(const submod_labels *view, size_t n, const submodi_label_rule *rule,
                        const int64_t *labels)
{
    int32_t *codes = malloc((n + 1) * sizeof *codes);
    memset(codes, 0x55, (n + 1) * sizeof *codes);
    submodi_labels_read(view, 1, FIRST, n, rule, codes);
    int right = codes[n] == 0x55555555;
    for (size_t i = 0; i < n; i++) {
        right &= codes[i] == code_of(labels[i], rule);
    }
    free(codes);
    return right;
}

static void check_labels(submod_rng *rng, submod_label_type type, ptrdiff_t stride, size_t n,
                         const submodi_label_rule *rule)
{
    size_t pixels = FIRST + n, origin;
    layout l = {"labels", (ptrdiff_t)pixels * stride, 0, stride};
    size_t size = extent(&l, 1, pixels, &origin), bytes = submodi_label_size(type);
    char *data = calloc(size, bytes);
    int64_t labels[600];
    for (size_t i = 0; i < n; i++) {
        labels[i] = stride || i == 0 ? some_label(rng, type, rule->classes) : labels[0];
        put_label(data, type, (size_t)((ptrdiff_t)origin + offset(&l, 1, 0, FIRST + i)), labels[i]);
    }
    submod_labels view = {data + origin * bytes, type, IMAGES, pixels, l.batch_stride, stride, 0};
    for (size_t i = 0; i < ISAS; i++) {
        if (use(isas[i])) {
            ck_assert_msg(reads_labels(&view, n, rule, labels),
                          "%zu labels of type %d, stride %td, %d classes, %s ignored: %lld, %s", n,
                          (int)type, stride, rule->classes, rule->has_ignore ? "is" : "not",
                          (long long)rule->ignore_index, isas[i]);
        }
    }
    free(data);
}

START_TEST(labels_become_codes)
{
    static const ptrdiff_t strides[] = {1, 1, 3, -1, 0};
    static const int32_t classes[] = {1, 2, 21, 255, 256, 1000, INT32_MAX - 2};
    static const int64_t ignored[] = {255,       -1,        0,  100, INT32_MIN,       INT32_MAX,
                                      INT64_MIN, INT64_MAX, -7, 21,  INT64_C(1) << 32};
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (size_t n = 0; n <= 70; n++) {
        for (size_t k = 0; k < 7 * 12 * 3; k++) {
            size_t which = k / 3 % 12; /* the last: none */
            submodi_label_rule rule = {classes[k / 36], which < 11, ignored[which % 11]};
            submod_label_type type = (submod_label_type)(k % 3);
            check_labels(&rng, type, strides[(n + k / 3) % 5], n < 70 ? n : 513, &rule);
        }
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("rows", scores_of_all_types_and_strides_become_rows, all_halves_are_converted,
                     rows_are_written_to_gradients_of_all_strides, labels_become_codes);
}
