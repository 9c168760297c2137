/* The exact engine: errors of all classes, one ranking per class and group, then the gradient.
 *
 * Passes: scores -> errors (N x C floats of workspace); per class and group, errors -> weights in
 * place (rank.c); scores and weights -> gradient. Classes and groups are ranked in parallel where
 * there are enough of them, else each ranking runs in parallel itself.
 */
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/losses/histogram_loops.h"
#include "submod/losses/rank.h"
#include "submod/losses/tile.h"

typedef struct exact {
    const submodi_batch *batch;
    float *error;     /* groups x classes x pixels of a group */
    size_t per_group; /* pixels of a group */
    submodi_rank_memory *rank;
    const submod_gradient *gradient; /* may be NULL */
} exact;

/* Where the errors of class c at a tile are. */
static float *errors_at(const exact *x, const submodi_tile *tile, size_t c)
{
    size_t group = tile->image / x->batch->images_per_group;
    size_t within =
        tile->image % x->batch->images_per_group * x->batch->scores.pixels + tile->first;
    return x->error + (group * x->batch->scores.classes + c) * x->per_group + within;
}

static bool is_used(const submodi_batch *batch, size_t image, size_t c)
{
    return batch->coefficient[image / batch->images_per_group * batch->scores.classes + c] > 0;
}

static void compute_errors(const void *context, const submodi_tile *tile)
{
    const exact *x = context;
    const submodi_batch *batch = x->batch;
    for (size_t c = 0; c < batch->scores.classes; c++) {
        if (is_used(batch, tile->image, c)) {
            int32_t target;
            const int32_t *codes = submodi_tile_codes(batch, tile, c, &target);
            submodi_bins()->signed_errors(tile->v + c * SUBMODI_TILE, codes, target,
                                          batch->rule.classes, submodi_bias(batch), tile->n,
                                          errors_at(x, tile, c));
        }
    }
}

static size_t rank_segment(const exact *x, size_t segment, const submodi_rank_memory *memory,
                           int threads, double *value)
{
    const submodi_batch *batch = x->batch;
    *value = 0;
    return batch->coefficient[segment] > 0
               ? submodi_rank(x->error + segment * x->per_group, x->per_group,
                              (uint64_t)batch->foreground[segment],
                              batch->activation == SUBMODI_SCORE, batch->coefficient[segment],
                              memory, threads, value)
               : 0;
}

/* All classes and groups; value has one entry for each. */
static uint64_t rank_segments(const exact *x, double *value)
{
    size_t segments = x->batch->groups * x->batch->scores.classes;
    uint64_t sorted = 0;
    if (x->batch->terms >= (size_t)x->batch->threads) {
#pragma omp parallel for num_threads(x->batch->threads) schedule(dynamic) reduction(+ : sorted)
        for (size_t s = 0; s < segments; s++) {
            sorted += rank_segment(x, s, &x->rank[omp_get_thread_num()], 1, &value[s]);
        }
    } else {
        for (size_t s = 0; s < segments; s++) {
            sorted += rank_segment(x, s, &x->rank[0], x->batch->threads, &value[s]);
        }
    }
    return sorted;
}

static void write_gradient(const void *context, const submodi_tile *tile)
{
    const exact *x = context;
    for (size_t c = 0; c < x->batch->scores.classes; c++) {
        float *g = tile->g + c * SUBMODI_TILE;
        if (is_used(x->batch, tile->image, c)) {
            memcpy(g, errors_at(x, tile, c), tile->n * sizeof *g);
        } else {
            memset(g, 0, tile->n * sizeof *g);
        }
    }
    submodi_tile_store(x->batch, tile, x->gradient);
}

/* Rankings that run side by side need memory each; one that uses all threads needs all counters. */
static bool take_memory(exact *x, submod_work *work)
{
    size_t threads = (size_t)x->batch->threads;
    size_t segments = x->batch->groups * x->batch->scores.classes;
    bool side_by_side = x->batch->terms >= threads;
    x->error = submodi_take(work, submodi_times(segments, x->per_group), sizeof *x->error);
    x->rank = submodi_take(work, threads, sizeof *x->rank);
    bool good = x->error && x->rank;
    for (size_t t = 0; good && t < threads; t++) {
        submodi_rank_memory *r = &x->rank[t];
        *r = (submodi_rank_memory){NULL, NULL, NULL};
        if (t == 0 || side_by_side) {
            r->record = submodi_take(work, x->per_group + 1, sizeof *r->record);
            r->spare = submodi_take(work, x->per_group + 1, sizeof *r->spare);
            r->count = submodi_take(work, side_by_side ? 1 : threads, sizeof *r->count);
            good = r->record && r->spare && r->count;
        }
    }
    return good;
}

submod_status submodi_loss_exact(const submodi_batch *batch, double *loss,
                                 const submod_gradient *gradient, submod_loss_info *info,
                                 submod_work *work)
{
    exact x = {.batch = batch,
               .per_group = batch->images_per_group * batch->scores.pixels,
               .gradient = gradient};
    size_t segments = batch->groups * batch->scores.classes;
    double *value = submodi_take(work, segments, sizeof *value);
    if (!value || !take_memory(&x, work)) {
        return submodi_nomem(batch->who);
    }
    size_t images = batch->scores.batch;
    if (!submodi_visit(batch, 0, images, 0, SUBMODI_LABELS | SUBMODI_VALUES, compute_errors, &x)) {
        return submodi_batch_bad_score(batch);
    }
    info->sorted = rank_segments(&x, value);
    *loss = 0;
    for (size_t s = 0; s < segments; s++) {
        *loss += batch->coefficient[s] * value[s];
    }
    if (gradient) {
        submodi_visit(batch, 0, images, 0, SUBMODI_SCALED, write_gradient, &x);
    }
    return SUBMOD_OK;
}
