/* Views of pixel weights: made, checked, read, and rounded (see pixel_weights.h). */
#include "loss/tensors/pixel_weights.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"

submod_pixel_weights submod_pixel_weights_f32(const float *data, size_t batch, size_t pixels)
{
    return (submod_pixel_weights){.data = data,
                                  .batch = batch,
                                  .pixels = pixels,
                                  .batch_stride = submodi_dense_stride(pixels, 1),
                                  .pixel_stride = 1};
}

/* ---- checks ---- */

submod_status submodi_pixel_weights_require(const submod_pixel_weights *view, size_t batch,
                                            size_t pixels)
{
    if (view->batch != batch || view->pixels != pixels) {
        return submodi_fail(SUBMOD_EINVAL,
                            "pixel_weights are %zu x %zu; they must be as the labels, "
                            "%zu x %zu",
                            view->batch, view->pixels, batch, pixels);
    }
    if (!view->data && batch && pixels) {
        return submodi_fail(SUBMOD_EINVAL, "pixel_weights.data is NULL");
    }
    if (!submodi_reachable((size_t[]){batch, pixels, 1},
                           (ptrdiff_t[]){view->batch_stride, view->pixel_stride, 0},
                           sizeof *view->data)) {
        return submodi_fail(SUBMOD_EINVAL, "the strides of pixel_weights reach beyond all memory");
    }
    return SUBMOD_OK;
}

/* False for NaN, too. */
static inline bool is_good(float w)
{
    return w >= 0 && w <= FLT_MAX;
}

bool submodi_pixel_weights_are_good(const float *row, size_t n)
{
    int bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad |= !is_good(row[i]);
    }
    return !bad;
}

submod_status submodi_pixel_weights_bad(const submod_pixel_weights *view)
{
    for (size_t b = 0; b < view->batch; b++) {
        for (size_t i = 0; i < view->pixels; i++) {
            float w;
            submodi_pixel_weights_read(view, b, i, 1, &w);
            if (!isfinite(w)) {
                return submodi_fail(SUBMOD_ENONFINITE,
                                    "pixel_weights[%zu][%zu] is %g; it must be finite", b, i,
                                    (double)w);
            }
            if (!is_good(w)) {
                return submodi_fail(SUBMOD_EINVAL, "pixel_weights[%zu][%zu] = %g must be >= 0", b,
                                    i, (double)w);
            }
        }
    }
    return submodi_fail(SUBMOD_EINVAL, "the pixel weights changed during the call");
}

/* ---- rows ---- */

void submodi_pixel_weights_read(const submod_pixel_weights *view, size_t b, size_t first, size_t n,
                                float *row)
{
    const float *from =
        view->data + (ptrdiff_t)b * view->batch_stride + (ptrdiff_t)first * view->pixel_stride;
    if (view->pixel_stride == 1) {
        memcpy(row, from, n * sizeof *row);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        row[i] = from[(ptrdiff_t)i * view->pixel_stride];
    }
}

/* ---- rounding ---- */

double submodi_power_at_least(double x)
{
    int e;
    return frexp(x, &e) == 0.5 ? x : ldexp(1, e);
}
