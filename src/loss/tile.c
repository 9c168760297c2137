/* Loading, visiting and storing tiles (see tile.h). */
#include "loss/tile.h"

#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "loss/counting_loops.h"
#include "loss/pointwise.h"
#include "loss/tensors/float_bits.h"
#include "loss/tensors/rows.h"

/* Scores of a tile, by measurement: 21 KiB, which L1 holds; two arrays of them stay in L2. */
enum { TILE_SCORES = 5376, TILE_MIN = 64 };

size_t submodi_tile_pixels(size_t classes)
{
    size_t pixels = TILE_SCORES / classes / TILE_MIN * TILE_MIN;
    pixels = pixels < TILE_MIN ? TILE_MIN : pixels;
    return pixels < SUBMODI_TILE_MAX ? pixels : SUBMODI_TILE_MAX;
}

static size_t width_of(size_t n)
{
    return (n + SUBMODI_LANES - 1) / SUBMODI_LANES * SUBMODI_LANES;
}

/* ---- memory ---- */

static bool take_one(const submodi_batch *batch, submod_work *work, submodi_tile_memory *m)
{
    size_t rows = batch->scores.classes;
    size_t row = batch->tile * sizeof(float);
    bool sigmoid = batch->activation == SUBMODI_SIGMOID;
    m->v = submodi_work_alloc(work, rows, row);
    m->g = submodi_work_alloc(work, rows, row);
    m->slope = submodi_work_alloc(work, sigmoid ? rows : 0, row);
    m->factor = submodi_work_alloc(work, 1, row);
    m->own = submodi_work_alloc(work, 1, row);
    m->own_p = submodi_work_alloc(work, 1, row);
    m->codes = submodi_work_alloc(work, submodi_label_rows(batch), batch->tile * sizeof *m->codes);
    return m->v && m->g && m->slope && m->factor && m->own && m->own_p && m->codes;
}

submodi_tile_memory *submodi_tiles_take(const submodi_batch *batch, submod_work *work)
{
    submodi_tile_memory *memory = submodi_work_alloc(work, (size_t)batch->threads, sizeof *memory);
    bool good = memory != NULL;
    for (int t = 0; good && t < batch->threads; t++) {
        good = take_one(batch, work, &memory[t]);
    }
    return good ? memory : NULL;
}

bool submodi_notes_take(submodi_batch *batch, submod_work *work)
{
    size_t pixels = batch->scores.batch * batch->scores.pixels;
    size_t threads = (size_t)batch->threads;
    submodi_notes *n = &batch->notes;
    bool good = true;
    if (!batch->multilabel) {
        n->codes = submodi_work_alloc(work, pixels, sizeof *n->codes);
        good = n->codes != NULL;
    }
    if (good && batch->activation == SUBMODI_SOFTMAX) {
        n->inverse = submodi_work_alloc(work, pixels, sizeof *n->inverse);
        n->shift = submodi_work_alloc(work, pixels, sizeof *n->shift);
        n->shifted = submodi_work_alloc(work, threads, sizeof *n->shifted);
        good = n->inverse && n->shift && n->shifted;
    }
    if (good && n->shifted) {
        memset(n->shifted, 0, threads * sizeof *n->shifted);
    }
    return good;
}

/* ---- labels ---- */

static size_t pixel_at(const submodi_batch *batch, size_t image, size_t first)
{
    return image * batch->scores.pixels + first;
}

/* The weights of pixels from `first` on; NULL: all 1. */
static const float *weights_at(const submodi_batch *batch, size_t image, size_t first)
{
    return batch->weight ? batch->weight + pixel_at(batch, image, first) : NULL;
}

/* A pixel of weight 0 is ignored; its label may still turn out to be bad. */
static void drop_weightless(const float *weight, size_t n, int32_t classes, int32_t *codes)
{
    for (size_t i = 0; i < n; i++) {
        codes[i] = weight[i] == 0 && codes[i] < classes ? classes : codes[i];
    }
}

/* What fills a row up is ignored. */
static void read_codes(const submodi_batch *batch, size_t image, size_t c, size_t first, size_t n,
                       int32_t *codes)
{
    submod_labels view = submodi_labels_for(batch, c);
    submodi_labels_read(&view, image, first, n, &batch->rule, codes);
    if (batch->weight) {
        drop_weightless(weights_at(batch, image, first), n, batch->rule.classes, codes);
    }
    for (size_t i = n; i < width_of(n); i++) {
        codes[i] = batch->rule.classes;
    }
}

/* The codes of n pixels as they were noted, if they were; else into own. */
static const int32_t *recall_codes(const submodi_batch *batch, size_t image, size_t c, size_t first,
                                   size_t n, int32_t *own)
{
    if (batch->notes.codes && n == width_of(n)) {
        return batch->notes.codes + pixel_at(batch, image, first);
    }
    read_codes(batch, image, c, first, n, own);
    return own;
}

static void load_labels(const submodi_batch *batch, submodi_tile *tile, bool again, int32_t *codes)
{
    tile->codes = codes;
    tile->weight = weights_at(batch, tile->image, tile->first);
    if (again && !batch->multilabel) {
        tile->codes = recall_codes(batch, tile->image, 0, tile->first, tile->n, codes);
        return;
    }
    for (size_t c = 0; c < submodi_label_rows(batch); c++) {
        read_codes(batch, tile->image, c, tile->first, tile->n, codes + c * tile->stride);
    }
}

/* ---- scores ---- */

submodi_rows_in submodi_tile_rows(const submodi_batch *batch, const submodi_tile *tile)
{
    const submod_scores *s = &batch->scores;
    submodi_rows_in in = {.classes = s->classes, .width = tile->width};
    in.data = tile->n == tile->width ? submodi_rows_direct(s, tile->image, tile->first) : NULL;
    in.stride = s->class_stride;
    if (!in.data) {
        submodi_rows_read(s, tile->image, tile->first, tile->n, tile->width, tile->stride, tile->v);
        in.data = tile->v;
        in.stride = (ptrdiff_t)tile->stride;
    }
    return in;
}

static bool is_finite(uint32_t size)
{
    return size < UINT32_C(0x7f800000);
}

/* Returns whether a hinge loss can use a score. An infinite score has error 0 if its sign is the
 * label's, and nothing depends on it at an ignored pixel. */
static bool is_usable(float score, int32_t code)
{
    bool right = code == 1 ? score > 0 : score < 0;
    return !isnan(score) && (code > 1 || right || isfinite(score));
}

/* Returns whether scores of at most this size can be used; reads codes only if the size is not
 * finite. Hinge losses have one row. */
static bool are_usable(const submodi_batch *batch, uint32_t size, const float *score,
                       const int32_t *codes, size_t n)
{
    bool usable = is_finite(size) || batch->takes_infinite;
    for (size_t i = 0; !is_finite(size) && usable && i < n; i++) {
        usable = is_usable(score[i], codes[i]);
    }
    return usable;
}

/* Keeps what a later visit needs. */
static void note_codes(const submodi_batch *batch, const submodi_tile *tile)
{
    if (batch->notes.codes) {
        memcpy(batch->notes.codes + pixel_at(batch, tile->image, tile->first), tile->codes,
               tile->n * sizeof *tile->codes);
    }
}

static void note_softmax(const submodi_batch *batch, const submodi_tile *tile, const float *shift)
{
    const submodi_notes *notes = &batch->notes;
    size_t at = pixel_at(batch, tile->image, tile->first);
    memcpy(notes->inverse + at, tile->factor, tile->n * sizeof *tile->factor);
    if (shift) {
        notes->shifted[tile->thread] = true;
        memcpy(notes->shift + at, shift, tile->n * sizeof *shift);
        for (size_t i = 0; i < tile->n; i++) {
            notes->inverse[at + i] = -tile->factor[i];
        }
    }
}

const float *submodi_tile_shift(const submodi_batch *batch, const submodi_tile *tile, uint32_t size,
                                submodi_rows_in *in, float *shift)
{
    if (size <= submodi_to_bits(SUBMODI_UNSHIFTED)) {
        return NULL;
    }
    *in = submodi_tile_rows(batch, tile);
    submodi_activations()->find_shift(in, shift);
    return shift;
}

/* exp as it comes is right for most pixels. If some score turns out to be large, all is done again
 * with shifts. */
static bool load_softmax(const submodi_batch *batch, const submodi_tile *tile)
{
    const submodi_activation_loops *loops = submodi_activations();
    submodi_rows_in in = submodi_tile_rows(batch, tile);
    float shift[SUBMODI_TILE_MAX];
    uint32_t size = loops->exponentials(&in, tile->v, tile->stride, tile->factor);
    if (!is_finite(size)) {
        return false;
    }
    in.shift = submodi_tile_shift(batch, tile, size, &in, shift);
    if (in.shift) {
        loops->exponentials(&in, tile->v, tile->stride, tile->factor);
    }
    loops->drop_ignored(tile->codes, batch->rule.classes, tile->width, tile->factor);
    if (batch->notes.inverse) {
        note_softmax(batch, tile, in.shift);
    }
    return true;
}

static bool is_shifted_somewhere(const submodi_batch *batch)
{
    bool some = false;
    for (int t = 0; t < batch->threads; t++) {
        some |= batch->notes.shifted[t];
    }
    return some;
}

/* Room for notes that cannot be used as they are. */
typedef struct recalled {
    float factor[SUBMODI_TILE_MAX], shift[SUBMODI_TILE_MAX];
} recalled;

/* What was noted of n pixels: the factors; in->shift, if some pixel is shifted. */
static const float *recall_softmax(const submodi_batch *batch, size_t at, size_t n,
                                   submodi_rows_in *in, recalled *own)
{
    const float *inverse = batch->notes.inverse + at;
    bool shifted = is_shifted_somewhere(batch);
    if (!shifted && n == in->width) {
        return inverse;
    }
    memset(own, 0, sizeof *own);
    for (size_t i = 0; i < n; i++) {
        own->factor[i] = fabsf(inverse[i]);
        own->shift[i] = signbit(inverse[i]) ? batch->notes.shift[at + i] : 0.0F;
    }
    in->shift = shifted ? own->shift : NULL;
    return own->factor;
}

static void load_softmax_again(const submodi_batch *batch, const submodi_tile *tile)
{
    submodi_rows_in in = submodi_tile_rows(batch, tile);
    recalled own;
    const float *factor =
        recall_softmax(batch, pixel_at(batch, tile->image, tile->first), tile->n, &in, &own);
    submodi_activations()->probabilities(&in, factor, tile->v, tile->stride);
}

/* The activations that look at one score alone; slope may be NULL. False if some score is bad. */
static bool activate(const submodi_batch *batch, const submodi_rows_in *in, const int32_t *codes,
                     float *v, float *slope, size_t stride)
{
    const submodi_activation_loops *loops = submodi_activations();
    switch (batch->activation) {
    case SUBMODI_SIGMOID: return is_finite(loops->sigmoid(in, v, slope, stride));
    case SUBMODI_PROBABILITY: return is_finite(loops->clamp(in, v, stride));
    default: return are_usable(batch, loops->copy(in, v, stride), v, codes, in->width);
    }
}

static bool load_rows(const submodi_batch *batch, const submodi_tile *tile, bool again)
{
    submodi_rows_in in = submodi_tile_rows(batch, tile);
    for (size_t i = 0; i < tile->width; i++) {
        tile->factor[i] = 1;
    }
    if (!batch->multilabel) {
        submodi_activations()->drop_ignored(tile->codes, batch->rule.classes, tile->width,
                                            tile->factor);
    }
    return activate(batch, &in, tile->codes, tile->v, again ? tile->slope : NULL, tile->stride);
}

static bool load_scores(const submodi_batch *batch, const submodi_tile *tile)
{
    submodi_rows_in in = submodi_tile_rows(batch, tile);
    uint32_t size = submodi_activations()->copy(&in, tile->v, tile->stride);
    return are_usable(batch, size, tile->v, tile->codes, tile->n);
}

/* Returns whether all scores of a tile can be used; reads labels only if the result depends on
 * them. */
static bool check_scores(const submodi_batch *batch, submodi_tile *tile, int32_t *codes)
{
    submodi_rows_in in = submodi_tile_rows(batch, tile);
    uint32_t size = submodi_activations()->largest_size(&in);
    if (!is_finite(size) && batch->takes_infinite) {
        load_labels(batch, tile, false, codes);
    }
    return are_usable(batch, size, in.data, codes, tile->n);
}

/* The softmax, split into the own class and the others. */
static bool load_split(const submodi_batch *batch, const submodi_tile *tile)
{
    const submodi_counting_loops *loops = submodi_counters();
    submodi_rows_in in = submodi_tile_rows(batch, tile);
    float shift[SUBMODI_TILE_MAX];
    uint32_t size =
        loops->split(&in, tile->codes, tile->v, tile->stride, tile->factor, tile->own, tile->own_p);
    if (!is_finite(size)) {
        return false;
    }
    in.shift = submodi_tile_shift(batch, tile, size, &in, shift);
    if (in.shift) {
        loops->split(&in, tile->codes, tile->v, tile->stride, tile->factor, tile->own, tile->own_p);
    }
    submodi_activations()->drop_ignored(tile->codes, batch->rule.classes, tile->width,
                                        tile->factor);
    return true;
}

/* Rows with labels of their own. */
static bool load_labelled_errors(const submodi_batch *batch, const submodi_tile *tile)
{
    submodi_rows_in in = submodi_tile_rows(batch, tile);
    bool clamps = batch->activation == SUBMODI_PROBABILITY;
    uint32_t size = clamps ? submodi_activations()->clamp(&in, tile->v, tile->stride)
                           : submodi_activations()->copy(&in, tile->v, tile->stride);
    if (!are_usable(batch, size, tile->v, tile->codes, tile->n)) {
        return false;
    }
    for (size_t c = 0; c < batch->scores.classes; c++) {
        float *row = tile->v + c * tile->stride;
        const int32_t *codes = tile->codes + c * tile->stride;
        if (batch->activation == SUBMODI_SIGMOID) {
            submodi_counters()->sigmoid_errors(row, codes, tile->width,
                                               tile->slope + c * tile->stride);
        } else {
            submodi_counters()->row_errors(row, codes, clamps ? 0.0F : 1.0F, tile->width);
        }
    }
    for (size_t i = 0; i < tile->width; i++) {
        tile->factor[i] = 1;
    }
    return true;
}

static bool load_errors(const submodi_batch *batch, const submodi_tile *tile)
{
    if (batch->multilabel) {
        return load_labelled_errors(batch, tile);
    }
    if (batch->activation == SUBMODI_SOFTMAX) {
        return load_split(batch, tile);
    }
    if (!load_rows(batch, tile, false)) {
        return false;
    }
    submodi_counters()->own_errors(tile->v, tile->stride, batch->scores.classes, tile->codes,
                                   tile->width, tile->own);
    memset(tile->own_p, 0, tile->width * sizeof *tile->own_p);
    return true;
}

bool submodi_tile_load(const submodi_batch *batch, size_t image, size_t t, unsigned load,
                       submodi_tile *tile)
{
    const submodi_tile_memory *memory = &batch->memory[tile->thread];
    size_t first = t * batch->tile;
    size_t left = batch->scores.pixels - first;
    tile->image = image;
    tile->index = image * batch->tiles_per_image + t;
    tile->first = first;
    tile->n = left < batch->tile ? left : batch->tile;
    tile->width = width_of(tile->n);
    tile->stride = batch->tile;
    tile->v = memory->v;
    tile->factor = memory->factor;
    tile->g = memory->g;
    tile->slope = memory->slope;
    tile->own = memory->own;
    tile->own_p = memory->own_p;
    bool softmax = batch->activation == SUBMODI_SOFTMAX;
    bool again = (load & SUBMODI_AGAIN) == SUBMODI_AGAIN;
    bool values = (load & SUBMODI_VALUES) == SUBMODI_VALUES;
    if (load & SUBMODI_LABELS) {
        load_labels(batch, tile, again, memory->codes);
    }
    if ((load & SUBMODI_ERRORS) == SUBMODI_ERRORS) {
        return load_errors(batch, tile);
    }
    if (load & SUBMODI_CHECK) {
        return check_scores(batch, tile, memory->codes);
    }
    if (load & SUBMODI_SCORES) {
        return load_scores(batch, tile);
    }
    if (values) {
        note_codes(batch, tile);
    }
    if (values && softmax) {
        return load_softmax(batch, tile);
    }
    if (again && softmax) {
        load_softmax_again(batch, tile);
        return true;
    }
    return values || again ? load_rows(batch, tile, again) : true;
}

void submodi_load_class_row(const submodi_batch *batch, size_t image, size_t c, size_t first,
                            size_t n, submodi_class_row *row)
{
    const submod_scores *s = &batch->scores;
    submodi_rows_in in = {.classes = 1, .width = width_of(n)};
    row->n = n;
    row->width = in.width;
    row->target = batch->multilabel ? 1 : (int32_t)c;
    row->codes = recall_codes(batch, image, c, first, n, row->own_codes);
    row->weight = weights_at(batch, image, first);
    in.data = n == in.width ? submodi_rows_direct(s, image, first) : NULL;
    if (in.data) {
        in.data += (ptrdiff_t)c * s->class_stride;
    } else {
        submodi_row_read(s, image, c, first, n, in.width, row->v);
        in.data = row->v;
    }
    recalled own;
    if (batch->activation == SUBMODI_SOFTMAX) {
        const float *factor = recall_softmax(batch, pixel_at(batch, image, first), n, &in, &own);
        submodi_activations()->probabilities(&in, factor, row->v, 0);
    } else {
        activate(batch, &in, row->codes, row->v, NULL, 0);
    }
}

/* ---- visiting ---- */

bool submodi_visit(const submodi_batch *batch, size_t first, size_t images, size_t parts,
                   unsigned load, submodi_tile_body *body, const void *context)
{
    size_t tiles = images * batch->tiles_per_image;
    size_t threads = (size_t)batch->threads;
    size_t runs = parts ? parts : threads;
    int bad = 0;
#pragma omp parallel for num_threads(batch->threads) reduction(| : bad)
    for (size_t k = 0; k < runs; k++) {
        submodi_tile tile = {.part = k, .thread = submodi_thread_index()};
        for (size_t t = k * tiles / runs; t < (k + 1) * tiles / runs; t++) {
            size_t image = first + t / batch->tiles_per_image;
            if (!submodi_tile_load(batch, image, t % batch->tiles_per_image, load, &tile)) {
                bad = 1; /* what NaN leaves behind is of no use */
            } else if (body) {
                body(context, &tile);
            }
        }
    }
    return !bad;
}

bool submodi_scores_are_good(const submodi_batch *batch)
{
    unsigned load = batch->activation == SUBMODI_PROBABILITY ? SUBMODI_VALUES : SUBMODI_CHECK;
    return submodi_visit(batch, 0, batch->scores.batch, 0, load, NULL, NULL);
}

/* Refuses a score that is not finite, unless it can be used; then returns SUBMOD_OK. */
static submod_status refuse_infinite(const submodi_batch *batch, size_t b, size_t c, size_t i,
                                     float score)
{
    int32_t code[SUBMODI_LANES];
    if (!batch->takes_infinite || isnan(score)) {
        return submodi_fail(SUBMOD_ENONFINITE, "scores[%zu][%zu][%zu] is %g", b, c, i,
                            (double)score);
    }
    read_codes(batch, b, c, i, 1, code);
    return is_usable(score, code[0])
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENONFINITE,
                              "scores[%zu][%zu][%zu] is %g at label %d; the loss would be "
                              "infinite",
                              b, c, i, (double)score, (int)code[0]);
}

submod_status submodi_batch_bad_score(const submodi_batch *batch)
{
    for (size_t b = 0; b < batch->scores.batch; b++) {
        for (size_t c = 0; c < batch->scores.classes; c++) {
            for (size_t i = 0; i < batch->scores.pixels; i++) {
                float buffer;
                float x = *submodi_row(&batch->scores, b, c, i, 1, &buffer);
                submod_status status = isfinite(x) ? SUBMOD_OK : refuse_infinite(batch, b, c, i, x);
                if (status != SUBMOD_OK) {
                    return status;
                }
                if (batch->activation == SUBMODI_PROBABILITY && submodi_is_no_probability(x)) {
                    return submodi_fail(
                        SUBMOD_EINVAL,
                        "scores[%zu][%zu][%zu] = %g is no probability; it must be in [0, 1]", b, c,
                        i, (double)x);
                }
            }
        }
    }
    return submodi_fail(SUBMOD_ENONFINITE, "the scores changed during the call");
}

/* ---- storing ---- */

/* Gradients from this size on do not stay in the caches anyway. */
#define STREAM_FROM ((size_t)1 << 24)

static bool is_aligned(ptrdiff_t stride)
{
    return (size_t)stride % (SUBMODI_ALIGN / sizeof(float)) == 0;
}

bool submodi_gradient_streams(const submodi_batch *batch, const submod_gradient *gradient)
{
    const submod_scores *s = &batch->scores;
    return s->batch * s->classes * s->pixels * sizeof(float) >= STREAM_FROM &&
           !gradient->accumulate && gradient->pixel_stride == 1 &&
           (uintptr_t)gradient->data % SUBMODI_ALIGN == 0 && is_aligned(gradient->class_stride) &&
           is_aligned(gradient->batch_stride);
}

submodi_rows_out submodi_tile_target(const submodi_batch *batch, const submodi_tile *tile,
                                     const submod_gradient *gradient)
{
    submodi_rows_out to = {.stride = gradient->class_stride, .scale = (float)gradient->scale};
    if (gradient->pixel_stride == 1 && tile->n == tile->width) {
        to.data = gradient->data + (ptrdiff_t)tile->image * gradient->batch_stride +
                  (ptrdiff_t)tile->first;
    }
    to.how = gradient->accumulate                        ? SUBMODI_ADD
             : submodi_gradient_streams(batch, gradient) ? SUBMODI_STREAM
                                                         : SUBMODI_OVERWRITE;
    return to;
}

void submodi_tile_store_scores(const submodi_batch *batch, const submodi_tile *tile,
                               const submod_gradient *gradient)
{
    submodi_rows_out to = submodi_tile_target(batch, tile, gradient);
    if (to.data) {
        submodi_activations()->store(tile->g, tile->stride, batch->scores.classes, tile->width,
                                     &to);
    } else {
        submodi_rows_write(gradient, tile->image, tile->first, tile->n, batch->scores.classes,
                           tile->stride, tile->g);
    }
}

void submodi_tile_store(const submodi_batch *batch, const submodi_tile *tile,
                        const submod_gradient *gradient)
{
    size_t C = batch->scores.classes;
    const submodi_activation_loops *loops = submodi_activations();
    if (batch->activation == SUBMODI_SOFTMAX) {
        submodi_rows_out to = submodi_tile_target(batch, tile, gradient);
        submodi_rows_out own = {tile->g, (ptrdiff_t)tile->stride, 1, SUBMODI_OVERWRITE, NULL};
        own.weight = to.weight = tile->weight;
        submodi_rows_in g = {tile->g, (ptrdiff_t)tile->stride, C, tile->width, NULL};
        loops->softmax_backward(tile->v, tile->stride, &g, to.data ? &to : &own);
        if (!to.data) {
            submodi_rows_write(gradient, tile->image, tile->first, tile->n, C, tile->stride,
                               tile->g);
        }
        return;
    }
    for (size_t c = 0; batch->activation == SUBMODI_SIGMOID && c < C; c++) {
        loops->multiply(tile->g + c * tile->stride, tile->slope + c * tile->stride, tile->width);
    }
    for (size_t c = 0; tile->weight && c < C; c++) {
        loops->multiply(tile->g + c * tile->stride, tile->weight, tile->width);
    }
    submodi_tile_store_scores(batch, tile, gradient);
}

void submodi_tile_store_in_place(const submodi_batch *batch, const submodi_tile *tile,
                                 const submod_gradient *gradient)
{
    submodi_rows_out to = submodi_tile_target(batch, tile, gradient);
    submodi_rows_in g = {to.data, to.stride, batch->scores.classes, tile->width, NULL};
    to.how = SUBMODI_OVERWRITE; /* it is in the caches now */
    submodi_activations()->softmax_backward(tile->v, tile->stride, &g, &to);
}
