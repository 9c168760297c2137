/* Score and gradient views: making them, reading and writing their rows. */
#include "loss/tensors/rows.h"

#include "base/internal.h"
#include "loss/tensors/float_bits.h"
#include "loss/tensors/row_loops.h"

submod_scores submod_scores_f32(const float *data, size_t batch, size_t classes, size_t pixels)
{
    return submod_scores_dense(data, SUBMOD_SCORE_F32, batch, classes, pixels);
}

submod_scores submod_scores_channels_last(const void *data, submod_score_type type, size_t batch,
                                          size_t classes, size_t pixels)
{
    submod_scores s = submod_scores_dense(data, type, batch, classes, pixels);
    s.class_stride = 1;
    s.pixel_stride = submodi_dense_stride(classes, 1);
    return s;
}

submod_scores submod_scores_dense(const void *data, submod_score_type type, size_t batch,
                                  size_t classes, size_t pixels)
{
    return (submod_scores){.data = data,
                           .type = type,
                           .batch = batch,
                           .classes = classes,
                           .pixels = pixels,
                           .batch_stride = submodi_dense_stride(classes, pixels),
                           .class_stride = submodi_dense_stride(pixels, 1),
                           .pixel_stride = 1};
}

submod_gradient submod_gradient_dense(float *data, size_t classes, size_t pixels)
{
    return (submod_gradient){.data = data,
                             .batch_stride = submodi_dense_stride(classes, pixels),
                             .class_stride = submodi_dense_stride(pixels, 1),
                             .pixel_stride = 1,
                             .scale = 1};
}

submod_gradient submod_gradient_channels_last(float *data, size_t classes, size_t pixels)
{
    submod_gradient g = submod_gradient_dense(data, classes, pixels);
    g.class_stride = 1;
    g.pixel_stride = submodi_dense_stride(classes, 1);
    return g;
}

static ptrdiff_t position(const submod_scores *s, size_t b, size_t c, size_t first)
{
    return (ptrdiff_t)b * s->batch_stride + (ptrdiff_t)c * s->class_stride +
           (ptrdiff_t)first * s->pixel_stride;
}

static size_t size_of(submod_score_type type)
{
    return type == SUBMOD_SCORE_F32 ? sizeof(float) : sizeof(uint16_t);
}

submod_status submodi_scores_require(const char *name, const submod_scores *s)
{
    if (s->type != SUBMOD_SCORE_F32 && s->type != SUBMOD_SCORE_F16 &&
        s->type != SUBMOD_SCORE_BF16) {
        return submodi_fail(SUBMOD_EINVAL, "%s.type = %d is unknown; see submod_score_type", name,
                            (int)s->type);
    }
    if (!s->data && s->batch && s->classes && s->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "%s.data is NULL", name);
    }
    if (!submodi_reachable((size_t[]){s->batch, s->classes, s->pixels},
                           (ptrdiff_t[]){s->batch_stride, s->class_stride, s->pixel_stride},
                           size_of(s->type))) {
        return submodi_fail(SUBMOD_EINVAL, "the strides of %s reach beyond all memory", name);
    }
    return SUBMOD_OK;
}

static const void *element(const submod_scores *s, ptrdiff_t at)
{
    return (const char *)s->data + at * (ptrdiff_t)size_of(s->type);
}

submod_scores submodi_scores_from(const submod_scores *s, size_t b)
{
    submod_scores from = *s;
    from.data = element(s, (ptrdiff_t)b * s->batch_stride);
    return from;
}

/* Called with a constant type, so that nothing is left of the switch. */
static inline void read_strided(submod_score_type type, const void *from, ptrdiff_t stride,
                                size_t n, float *row)
{
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t at = (ptrdiff_t)i * stride;
        switch (type) {
        case SUBMOD_SCORE_F32: row[i] = ((const float *)from)[at]; break;
        case SUBMOD_SCORE_F16: row[i] = submodi_from_f16(((const uint16_t *)from)[at]); break;
        case SUBMOD_SCORE_BF16: row[i] = submodi_from_bf16(((const uint16_t *)from)[at]); break;
        }
    }
}

static void read_slowly(const submod_scores *s, const void *from, size_t n, float *row)
{
    ptrdiff_t stride = s->pixel_stride;
    switch (s->type) {
    case SUBMOD_SCORE_F32: read_strided(SUBMOD_SCORE_F32, from, stride, n, row); break;
    case SUBMOD_SCORE_F16: read_strided(SUBMOD_SCORE_F16, from, stride, n, row); break;
    case SUBMOD_SCORE_BF16: read_strided(SUBMOD_SCORE_BF16, from, stride, n, row); break;
    }
}

/* `classes` rows from element `at` on. */
static void read_rows(const submod_scores *s, ptrdiff_t at, size_t n, size_t classes, size_t stride,
                      float *rows)
{
    const submodi_row_loops *loops = submodi_rows();
    size_t least = s->type == SUBMOD_SCORE_F32 ? SUBMODI_TURN_FLOATS : SUBMODI_TURN_HALVES;
    if (s->pixel_stride == 1) {
        loops->read[s->type](element(s, at), s->class_stride, n, classes, stride, rows);
    } else if (s->class_stride == 1 && n >= least && classes >= least) {
        loops->turn[s->type](element(s, at), s->pixel_stride, n, classes, stride, rows);
    } else {
        for (size_t c = 0; c < classes; c++) {
            const void *from = element(s, at + (ptrdiff_t)c * s->class_stride);
            read_slowly(s, from, n, rows + c * stride);
        }
    }
}

static void pad(size_t n, size_t width, float *row)
{
    for (size_t i = n; i < width; i++) {
        row[i] = 0;
    }
}

const float *submodi_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n,
                         float *buffer)
{
    ptrdiff_t at = position(s, b, c, first);
    if (s->type == SUBMOD_SCORE_F32 && s->pixel_stride == 1) {
        return (const float *)s->data + at;
    }
    read_rows(s, at, n, 1, 0, buffer);
    return buffer;
}

void submodi_row_read(const submod_scores *s, size_t b, size_t c, size_t first, size_t n,
                      size_t width, float *row)
{
    read_rows(s, position(s, b, c, first), n, 1, 0, row);
    pad(n, width, row);
}

void submodi_rows_read(const submod_scores *s, size_t b, size_t first, size_t n, size_t width,
                       size_t stride, float *rows)
{
    read_rows(s, position(s, b, 0, first), n, s->classes, stride, rows);
    for (size_t c = 0; c < s->classes && n < width; c++) {
        pad(n, width, rows + c * stride);
    }
}

const float *submodi_rows_direct(const submod_scores *s, size_t b, size_t first)
{
    bool direct = s->type == SUBMOD_SCORE_F32 && s->pixel_stride == 1;
    return direct ? (const float *)s->data + position(s, b, 0, first) : NULL;
}

static float *gradient_at(const submod_gradient *g, size_t b, size_t c, size_t first)
{
    return g->data + (ptrdiff_t)b * g->batch_stride + (ptrdiff_t)c * g->class_stride +
           (ptrdiff_t)first * g->pixel_stride;
}

bool submodi_row_fits(const submod_gradient *g, size_t b, size_t c, size_t first, size_t n,
                      const float *row)
{
    const float *to = gradient_at(g, b, c, first);
    float scale = (float)g->scale;
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        float old = g->accumulate ? to[(ptrdiff_t)i * g->pixel_stride] : 0;
        fits &= submodi_is_special(old) || !submodi_is_special(old + scale * row[i]);
    }
    return fits;
}

void submodi_store_row(const submod_gradient *g, size_t b, size_t c, size_t first, size_t n,
                       const float *row)
{
    float *to = gradient_at(g, b, c, first);
    float scale = (float)g->scale;
    for (size_t i = 0; i < n; i++) {
        float *entry = &to[(ptrdiff_t)i * g->pixel_stride];
        *entry = (g->accumulate ? *entry : 0) + scale * row[i];
    }
}

void submodi_rows_write(const submod_gradient *g, size_t b, size_t first, size_t n, size_t classes,
                        size_t stride, const float *rows)
{
    const submodi_row_loops *loops = submodi_rows();
    float *to = gradient_at(g, b, 0, first);
    float scale = (float)g->scale;
    if (g->pixel_stride == 1) {
        submodi_write_loop *loop = g->accumulate ? loops->add : loops->write;
        loop(rows, stride, n, classes, scale, g->class_stride, to);
    } else if (g->class_stride == 1) {
        submodi_write_loop *loop = g->accumulate ? loops->turn_add : loops->turn_write;
        loop(rows, stride, n, classes, scale, g->pixel_stride, to);
    } else {
        for (size_t c = 0; c < classes; c++) {
            submodi_store_row(g, b, c, first, n, rows + c * stride);
        }
    }
}
