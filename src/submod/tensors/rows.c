/* Score and gradient views: making them, reading and writing their rows. */
#include "submod/tensors/rows.h"

#include "base/float_bits.h"
#include "base/memory.h"
#include "submod/tensors/row_loops.h"

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

const float *submodi_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n,
                         float *buffer)
{
    ptrdiff_t at = (ptrdiff_t)b * s->batch_stride + (ptrdiff_t)c * s->class_stride +
                   (ptrdiff_t)first * s->pixel_stride;
    if (s->type == SUBMOD_SCORE_F16) {
        submodi_rows()->from_f16((const uint16_t *)s->data + at, s->pixel_stride, n, buffer);
        return buffer;
    }
    if (s->type == SUBMOD_SCORE_BF16) {
        submodi_rows()->from_bf16((const uint16_t *)s->data + at, s->pixel_stride, n, buffer);
        return buffer;
    }
    const float *from = (const float *)s->data + at;
    if (s->pixel_stride == 1) {
        return from;
    }
    for (size_t i = 0; i < n; i++) {
        buffer[i] = from[(ptrdiff_t)i * s->pixel_stride];
    }
    return buffer;
}

void submodi_prefetch_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n)
{
    if (s->type == SUBMOD_SCORE_F32 && s->pixel_stride == 1 && first + n <= s->pixels) {
        const float *from = (const float *)s->data + (ptrdiff_t)b * s->batch_stride +
                            (ptrdiff_t)c * s->class_stride + (ptrdiff_t)first;
        for (size_t i = 0; i < n; i += 16) { /* floats of a cache line */
            __builtin_prefetch(from + i);
        }
    }
}

static float *gradient_at(const submod_gradient *g, size_t b, size_t c, size_t first)
{
    return g->data + (ptrdiff_t)b * g->batch_stride + (ptrdiff_t)c * g->class_stride +
           (ptrdiff_t)first * g->pixel_stride;
}

float *submodi_direct_row(const submod_gradient *g, size_t b, size_t c, size_t first)
{
    return g->pixel_stride == 1 && !g->accumulate ? gradient_at(g, b, c, first) : NULL;
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
