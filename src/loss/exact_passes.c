/* The passes of the exact engine over the scores (see exact.h).
 *
 *   pass 1     scores -> errors, and their limits
 *   last pass  scores and weights -> gradient
 *
 * Errors and weights live in the gradient itself where it has room for them: memory then grows with
 * the pixels only. As nothing may be written if a score is bad, all are looked at first.
 */
#include "loss/exact.h"

#include <string.h>

#include "base/internal.h"

bool submodi_exact_take(submodi_exact *x, submod_work *work)
{
    size_t threads = (size_t)x->batch->threads;
    size_t kept = x->direct ? 0 : submodi_exact_segments(x);
    x->error =
        submodi_work_alloc(work, submodi_times(kept, submodi_exact_per_group(x)), sizeof *x->error);
    x->range = submodi_work_alloc(work, submodi_times(threads, submodi_exact_segments(x)),
                                  sizeof *x->range);
    return x->error && x->range;
}

/* Without the range, which pass 1 is still widening. */
static submodi_rank_errors place_of(const submodi_exact *x, size_t group, size_t c)
{
    size_t segment = group * x->batch->scores.classes + c;
    submodi_rank_errors e = {.stride = x->batch->scores.pixels};
    if (x->direct) {
        const submod_gradient *g = x->gradient;
        e.error = g->data + (ptrdiff_t)(group * x->batch->images_per_group) * g->batch_stride +
                  (ptrdiff_t)c * g->class_stride;
        e.stride = (size_t)g->batch_stride;
    } else {
        e.error = x->error + segment * submodi_exact_per_group(x);
    }
    return e;
}

submodi_rank_errors submodi_exact_errors_of(const submodi_exact *x, size_t group, size_t c)
{
    submodi_rank_errors e = place_of(x, group, c);
    e.range = x->range[group * x->batch->scores.classes + c];
    return e;
}

void submodi_exact_clear(const submodi_exact *x, const submodi_rank_errors *errors)
{
    for (size_t b = 0; b < x->batch->images_per_group; b++) {
        memset(errors->error + b * errors->stride, 0,
               x->batch->scores.pixels * sizeof *errors->error);
    }
}

static float *errors_at(const submodi_exact *x, const submodi_tile *tile, size_t c)
{
    submodi_rank_errors e = place_of(x, tile->image / x->batch->images_per_group, c);
    return e.error + tile->image % x->batch->images_per_group * e.stride + tile->first;
}

/* ---- pass 1 ---- */

static bool is_used(const submodi_batch *batch, size_t image, size_t c)
{
    return batch->coefficient[image / batch->images_per_group * batch->scores.classes + c] > 0;
}

static void compute_errors(const void *context, const submodi_tile *tile)
{
    const submodi_exact *x = context;
    const submodi_batch *batch = x->batch;
    size_t C = batch->scores.classes;
    submodi_rank_range *range = x->range + tile->thread * submodi_exact_segments(x) +
                                tile->image / batch->images_per_group * C;
    for (size_t c = 0; c < C; c++) {
        if (is_used(batch, tile->image, c)) {
            int32_t target;
            const int32_t *codes = submodi_tile_codes(batch, tile, c, &target);
            submodi_rank_row row = {
                tile->v + c * tile->stride, tile->factor,        codes,      target,
                batch->rule.classes,        submodi_bias(batch), tile->width};
            float *to = errors_at(x, tile, c);
            bool whole = tile->n == tile->width;
            float own[SUBMODI_TILE_MAX];
            submodi_ranks()->errors(&row, x->streams && whole, whole ? to : own, &range[c]);
            if (!whole) {
                memcpy(to, own, tile->n * sizeof *to);
            }
        }
    }
}

bool submodi_exact_errors(const submodi_exact *x)
{
    size_t segments = submodi_exact_segments(x);
    size_t threads = (size_t)x->batch->threads;
    for (size_t s = 0; s < threads * segments; s++) {
        x->range[s] = (submodi_rank_range){SUBMODI_NO_ERROR, 0};
    }
    if ((x->direct && !submodi_scores_are_good(x->batch)) ||
        !submodi_visit(x->batch, 0, x->batch->scores.batch, 0, SUBMODI_VALUES, compute_errors, x)) {
        return false;
    }
    for (size_t s = segments; s < threads * segments; s++) {
        submodi_rank_range *r = &x->range[s % segments];
        *r = submodi_rank_range_of(*r, x->range[s]);
    }
    return true;
}

/* ---- after the rankings ---- */

static void write_gradient(const void *context, const submodi_tile *tile)
{
    const submodi_exact *x = context;
    submodi_tile unweighted = *tile; /* the weights of pixels are in what they add already */
    unweighted.weight = NULL;
    if (x->direct && x->batch->activation == SUBMODI_SOFTMAX && tile->n == tile->width) {
        submodi_tile_store_in_place(x->batch, tile, x->gradient);
        return;
    }
    for (size_t c = 0; c < x->batch->scores.classes; c++) {
        float *g = tile->g + c * tile->stride;
        memcpy(g, errors_at(x, tile, c), tile->n * sizeof *g);
        memset(g + tile->n, 0, (tile->width - tile->n) * sizeof *g);
    }
    submodi_tile_store(x->batch, &unweighted, x->gradient);
}

void submodi_exact_write(const submodi_exact *x)
{
    submodi_visit(x->batch, 0, x->batch->scores.batch, 0, SUBMODI_AGAIN, write_gradient, x);
}
