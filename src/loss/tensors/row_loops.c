/* Conversions of rows, compiled for each instruction set.
 *
 * Where the classes of a pixel lie side by side, blocks of 4 x 4 floats or 8 x 8 halves are
 * transposed in registers. In reading, the last block overlaps the one before it, so that nothing
 * is left over; in writing, which may add, what is left over goes one by one.
 *
 * Registers are loaded and stored by __builtin_memcpy: with memcpy and _FORTIFY_SOURCE, clang 14
 * sends every one of them through the stack. */
#include "loss/tensors/row_loops.h"

#include <stdbool.h>

#include <submod/tensor.h>

#include "loss/tensors/float_bits.h"
#include "loss/tensors/vector.h"

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- 16 bits to float ---- */

typedef uint16_t v_half __attribute__((vector_size(sizeof(v_float) / 2)));

/* V_LANES numbers of 16 bits, each in the lower half of its lane. gcc 12 needs five instructions
 * for what is one. */
static inline v_int widen(v_half a)
{
#if defined(SUBMODI_LOOPS_AVX512)
    return (v_int)_mm512_cvtepu16_epi32((__m256i)a);
#elif defined(SUBMODI_LOOPS_AVX2)
    return (v_int)_mm256_cvtepu16_epi32((__m128i)a);
#else
    return __builtin_convertvector(a, v_int);
#endif
}

/* submodi_from_f16 in every lane, but the sign takes part in the multiplication. */
static inline v_float vector_from_f16(v_half a)
{
#if defined(SUBMODI_LOOPS_AVX512)
    return (v_float)_mm512_cvtph_ps((__m256i)a);
#else
    v_int half = widen(a) << 16;
    v_int bits = v_bits(v_from_bits((half >> 3) & (int32_t)0x8fffe000) * 0x1p112F);
    v_int special = (half & 0x7c000000) == 0x7c000000;
    return v_from_bits(bits | (special & 0x7f800000));
#endif
}

/* Called with a constant f16, like all that follow. */
static inline void convert(bool f16, const uint16_t *from, float *to)
{
    v_half a;
    __builtin_memcpy(&a, from, sizeof a);
    v_store(to, f16 ? vector_from_f16(a) : v_from_bits(widen(a) << 16));
}

static inline void read_half(bool f16, const uint16_t *from, ptrdiff_t step, size_t n,
                             size_t classes, size_t stride, float *rows)
{
    for (size_t c = 0; c < classes; c++) {
        const uint16_t *half = from + (ptrdiff_t)c * step;
        float *row = rows + c * stride;
        size_t i = 0;
        for (; i + V_LANES <= n; i += V_LANES) {
            convert(f16, half + i, row + i);
        }
        for (; i < n; i++) {
            row[i] = f16 ? submodi_from_f16(half[i]) : submodi_from_bf16(half[i]);
        }
    }
}

static void read_f16(const void *from, ptrdiff_t step, size_t n, size_t classes, size_t stride,
                     float *rows)
{
    read_half(true, from, step, n, classes, stride, rows);
}

static void read_bf16(const void *from, ptrdiff_t step, size_t n, size_t classes, size_t stride,
                      float *rows)
{
    read_half(false, from, step, n, classes, stride, rows);
}

static void read_f32(const void *from, ptrdiff_t step, size_t n, size_t classes, size_t stride,
                     float *rows)
{
    for (size_t c = 0; c < classes; c++) {
        memcpy(rows + c * stride, (const float *)from + (ptrdiff_t)c * step, n * sizeof *rows);
    }
}

/* ---- pixels to rows: floats ---- */

enum {
    QUAD = SUBMODI_TURN_FLOATS,
    LINE = 16, /* floats in a cache line: they are used together, while the line is near */
};

typedef float quad __attribute__((vector_size(QUAD * sizeof(float))));

typedef struct quads {
    quad line[QUAD];
} quads;

static inline quad load_quad(const float *from)
{
    quad a;
    __builtin_memcpy(&a, from, sizeof a);
    return a;
}

static inline void store_quad(float *to, quad a)
{
    __builtin_memcpy(to, &a, sizeof a);
}

static inline quads load_transposed(const float *from, ptrdiff_t step)
{
    quad a = load_quad(from), b = load_quad(from + step);
    quad c = load_quad(from + 2 * step), d = load_quad(from + 3 * step);
    quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return (quads){{__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                    __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                    __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                    __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)}};
}

static inline void turn_quads(const float *from, ptrdiff_t step, size_t stride, float *rows)
{
    quads q = load_transposed(from, step);
    for (size_t l = 0; l < QUAD; l++) {
        store_quad(rows + l * stride, q.line[l]);
    }
}

/* n and classes are multiples of 4. */
static inline void turn_whole(const float *from, ptrdiff_t step, size_t n, size_t classes,
                              size_t stride, float *rows)
{
    for (size_t i = 0; i < n; i += QUAD) {
        for (size_t c = 0; c < classes; c += QUAD) {
            turn_quads(from + (ptrdiff_t)i * step + c, step, stride, rows + c * stride + i);
        }
    }
}

/* All pixels of some classes; the last pixels overlap others. */
static inline void turn_classes(const float *from, ptrdiff_t step, size_t n, size_t classes,
                                size_t stride, float *rows)
{
    turn_whole(from, step, n - n % QUAD, classes, stride, rows);
    if (n % QUAD) {
        size_t last = n - QUAD;
        turn_whole(from + (ptrdiff_t)last * step, step, QUAD, classes, stride, rows + last);
    }
}

static void turn_f32(const void *from, ptrdiff_t step, size_t n, size_t classes, size_t stride,
                     float *rows)
{
    const float *scores = from;
    size_t whole = classes - classes % QUAD;
    for (size_t c = 0; c < whole; c += LINE) {
        turn_classes(scores + c, step, n, smaller(LINE, whole - c), stride, rows + c * stride);
    }
    if (whole < classes) {
        size_t last = classes - QUAD;
        turn_classes(scores + last, step, n, QUAD, stride, rows + last * stride);
    }
}

/* ---- pixels to rows: halves ---- */

enum {
    EIGHT = SUBMODI_TURN_HALVES,
    TURNED_CLASSES = 32, /* a cache line of halves */
    TURNED_PIXELS = 64
};

typedef uint16_t eight __attribute__((vector_size(EIGHT * sizeof(uint16_t))));

static inline eight low_of(eight a, eight b)
{
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

static inline eight high_of(eight a, eight b)
{
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/* Interleaves lines that are four apart. Done three times, that transposes a block. */
static inline void interleave(const eight *from, eight *to)
{
    for (size_t l = 0; l < EIGHT / 2; l++) {
        to[2 * l] = low_of(from[l], from[l + EIGHT / 2]);
        to[2 * l + 1] = high_of(from[l], from[l + EIGHT / 2]);
    }
}

static inline void turn_eights(const uint16_t *from, ptrdiff_t step, uint16_t *to)
{
    eight a[EIGHT], b[EIGHT];
    for (size_t l = 0; l < EIGHT; l++) {
        __builtin_memcpy(&a[l], from + (ptrdiff_t)l * step, sizeof a[l]);
    }
    interleave(a, b);
    interleave(b, a);
    interleave(a, b);
    for (size_t l = 0; l < EIGHT; l++) {
        __builtin_memcpy(to + l * TURNED_PIXELS, &b[l], sizeof b[l]);
    }
}

/* All classes of eight pixels. */
static inline void turn_eight_pixels(const uint16_t *from, ptrdiff_t step, size_t classes,
                                     uint16_t *to)
{
    size_t c = 0;
    for (; c + EIGHT <= classes; c += EIGHT) {
        turn_eights(from + c, step, to + c * TURNED_PIXELS);
    }
    if (c < classes) {
        c = classes - EIGHT;
        turn_eights(from + c, step, to + c * TURNED_PIXELS);
    }
}

/* Pixels and classes that the buffer has room for. */
static void turn_part(const uint16_t *from, ptrdiff_t step, size_t n, size_t classes,
                      uint16_t *turned)
{
    for (size_t i = 0; i < n; i += EIGHT) {
        size_t p = smaller(i, n - EIGHT);
        turn_eight_pixels(from + (ptrdiff_t)p * step, step, classes, turned + p);
    }
}

/* Turns first and converts then: what is turned is half as long. Where less than a block would be
 * left, the last part overlaps the one before it. */
static void turn_halves(submodi_read_loop *read, const uint16_t *from, ptrdiff_t step, size_t n,
                        size_t classes, size_t stride, float *rows)
{
    uint16_t turned[TURNED_CLASSES * TURNED_PIXELS];
    for (size_t i = 0; i < n; i += TURNED_PIXELS) {
        size_t p = smaller(i, n - EIGHT), pixels = smaller(TURNED_PIXELS, n - p);
        for (size_t j = 0; j < classes; j += TURNED_CLASSES) {
            size_t c = smaller(j, classes - EIGHT), count = smaller(TURNED_CLASSES, classes - c);
            turn_part(from + (ptrdiff_t)p * step + c, step, pixels, count, turned);
            read(turned, TURNED_PIXELS, pixels, count, stride, rows + c * stride + p);
        }
    }
}

static void turn_f16(const void *from, ptrdiff_t step, size_t n, size_t classes, size_t stride,
                     float *rows)
{
    turn_halves(read_f16, from, step, n, classes, stride, rows);
}

static void turn_bf16(const void *from, ptrdiff_t step, size_t n, size_t classes, size_t stride,
                      float *rows)
{
    turn_halves(read_bf16, from, step, n, classes, stride, rows);
}

/* ---- rows to the gradient ---- */

/* Adds to what is there, or to 0. Called with a constant accumulate, like all that follow. */
static inline void put_row(bool accumulate, const float *restrict row, size_t n, float scale,
                           ptrdiff_t step, float *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        float *entry = &to[(ptrdiff_t)i * step];
        *entry = (accumulate ? *entry : 0) + scale * row[i];
    }
}

static void write_rows(const float *rows, size_t stride, size_t n, size_t classes, float scale,
                       ptrdiff_t step, float *to)
{
    for (size_t c = 0; c < classes; c++) {
        put_row(false, rows + c * stride, n, scale, 1, to + (ptrdiff_t)c * step);
    }
}

static void add_rows(const float *rows, size_t stride, size_t n, size_t classes, float scale,
                     ptrdiff_t step, float *to)
{
    for (size_t c = 0; c < classes; c++) {
        put_row(true, rows + c * stride, n, scale, 1, to + (ptrdiff_t)c * step);
    }
}

/* Four pixels. */
static inline void put_pixels(bool accumulate, const float *rows, size_t stride, size_t classes,
                              float scale, ptrdiff_t step, float *to)
{
    for (size_t c = 0; c < classes; c += QUAD) {
        quads q = load_transposed(rows + c * stride, (ptrdiff_t)stride);
        for (size_t l = 0; l < QUAD; l++) {
            float *at = to + (ptrdiff_t)l * step + c;
            quad old = accumulate ? load_quad(at) : (quad){0};
            store_quad(at, old + scale * q.line[l]);
        }
    }
}

static inline void put(bool accumulate, const float *rows, size_t stride, size_t n, size_t classes,
                       float scale, ptrdiff_t step, float *to)
{
    size_t whole = classes - classes % QUAD, pixels = n - n % QUAD;
    for (size_t c = 0; c < whole; c += LINE) {
        for (size_t i = 0; i < pixels; i += QUAD) {
            put_pixels(accumulate, rows + c * stride + i, stride, smaller(LINE, whole - c), scale,
                       step, to + (ptrdiff_t)i * step + c);
        }
    }
    for (size_t c = 0; c < classes; c++) {
        size_t done = c < whole ? pixels : 0;
        put_row(accumulate, rows + c * stride + done, n - done, scale, step,
                to + (ptrdiff_t)done * step + c);
    }
}

static void turn_write(const float *rows, size_t stride, size_t n, size_t classes, float scale,
                       ptrdiff_t step, float *to)
{
    put(false, rows, stride, n, classes, scale, step, to);
}

static void turn_add(const float *rows, size_t stride, size_t n, size_t classes, float scale,
                     ptrdiff_t step, float *to)
{
    put(true, rows, stride, n, classes, scale, step, to);
}

/* ---- labels ---- */

static inline int32_t code_of(int32_t label, submodi_label_codes rule)
{
    int32_t code = label >= 0 && label < rule.classes ? label : rule.other;
    return label == rule.ignored ? rule.of_ignored : code;
}

static void codes_u8(const void *labels, size_t n, const submodi_label_codes *rule,
                     int32_t *restrict codes)
{
    const uint8_t *restrict label = labels;
    submodi_label_codes r = *rule;
    for (size_t i = 0; i < n; i++) {
        codes[i] = code_of(label[i], r);
    }
}

static void codes_i32(const void *labels, size_t n, const submodi_label_codes *rule,
                      int32_t *restrict codes)
{
    const int32_t *restrict label = labels;
    submodi_label_codes r = *rule;
    for (size_t i = 0; i < n; i++) {
        codes[i] = code_of(label[i], r);
    }
}

/* The even and the odd lanes of both. */
static inline void separate(v_int a, v_int b, v_int *even, v_int *odd)
{
#if defined(SUBMODI_LOOPS_AVX512)
    *even =
        __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif defined(SUBMODI_LOOPS_AVX2)
    /* Within each half of a register, which is cheap for floats; then the quarters in order. */
    v_float x = v_from_bits(a), y = v_from_bits(b);
    v_int low = v_bits(__builtin_shufflevector(x, y, 0, 2, 8, 10, 4, 6, 12, 14));
    v_int high = v_bits(__builtin_shufflevector(x, y, 1, 3, 9, 11, 5, 7, 13, 15));
    *even = __builtin_shufflevector(low, low, 0, 1, 4, 5, 2, 3, 6, 7);
    *odd = __builtin_shufflevector(high, high, 0, 1, 4, 5, 2, 3, 6, 7);
#else
    *even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    *odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

static inline v_int select_int(v_mask m, v_int a, v_int b)
{
    return v_bits(v_select(m, v_from_bits(a), v_from_bits(b)));
}

/* V_LANES labels. One fits into 32 bits if its upper half is the sign of its lower one: 32 bits can
 * be compared on every machine. */
static inline v_int vector_of_codes(const int64_t *labels, submodi_label_codes rule)
{
    v_int a, b, lower, upper;
    __builtin_memcpy(&a, labels, sizeof a);
    __builtin_memcpy(&b, labels + V_LANES / 2, sizeof b);
    separate(a, b, &lower, &upper);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v_int swapped = lower;
    lower = upper;
    upper = swapped;
#endif
    v_int other = v_all_int(rule.other);
    v_mask no_class = v_equal(v_max_bits(lower, v_all_int(rule.classes)), lower); /* < 0 is large */
    v_int code = select_int(no_class, other, lower);
    v_mask ignored = v_equal(lower, v_all_int(rule.ignored));
    code = select_int(ignored, v_all_int(rule.of_ignored), code);
    v_int sign = lower < 0; /* -1 or 0 */
    return select_int(v_equal(upper, sign), code, other);
}

static void codes_i64(const void *labels, size_t n, const submodi_label_codes *rule, int32_t *codes)
{
    const int64_t *label = labels;
    submodi_label_codes r = *rule;
    size_t i = 0;
    for (; i + V_LANES <= n; i += V_LANES) {
        v_store_int(codes + i, vector_of_codes(label + i, r));
    }
    for (; i < n; i++) {
        bool fits = label[i] == (int32_t)label[i];
        codes[i] = fits ? code_of((int32_t)label[i], r) : r.other;
    }
}

static void tally(const int32_t *codes, size_t n, uint64_t *count)
{
    uint32_t zeros = 0;
    uint32_t ones = 0;
    uint32_t twos = 0;
    for (size_t i = 0; i < n; i++) {
        zeros += codes[i] == 0;
        ones += codes[i] == 1;
        twos += codes[i] == 2;
    }
    count[0] += zeros;
    count[1] += ones;
    count[2] += twos;
}

const submodi_row_loops SUBMODI_TABLE(submodi_rows) = {.read = {[SUBMOD_SCORE_F32] = read_f32,
                                                                [SUBMOD_SCORE_F16] = read_f16,
                                                                [SUBMOD_SCORE_BF16] = read_bf16},
                                                       .turn = {[SUBMOD_SCORE_F32] = turn_f32,
                                                                [SUBMOD_SCORE_F16] = turn_f16,
                                                                [SUBMOD_SCORE_BF16] = turn_bf16},
                                                       .write = write_rows,
                                                       .add = add_rows,
                                                       .turn_write = turn_write,
                                                       .turn_add = turn_add,
                                                       .codes = {[SUBMOD_LABEL_U8] = codes_u8,
                                                                 [SUBMOD_LABEL_I32] = codes_i32,
                                                                 [SUBMOD_LABEL_I64] = codes_i64},
                                                       .tally = tally};
