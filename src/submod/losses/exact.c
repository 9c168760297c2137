/* The exact engine: one ranking per class and group, then the gradient.
 *
 *   pass 1     the scores are read: softmax, limits of the errors
 *   per class  errors again, those that can carry weight are sorted; weights to their pixels (rank.c)
 *   last pass  scores and weights -> gradient
 *
 * The weights go straight into the gradient, where it has room for them: memory then grows with the
 * pixels only. Classes and groups are ranked in parallel where there are enough of them, else each
 * ranking runs in parallel itself.
 */
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/losses/pointwise.h"
#include "submod/losses/rank.h"

typedef struct exact {
    const submodi_batch *batch;
    const submod_gradient *gradient; /* may be NULL */
    bool direct;                     /* the weights are kept in the gradient */
    float *weight;                   /* else here: groups x classes x pixels of a group */
    submodi_rank_range *range;       /* groups x classes, for each thread */
    submodi_rank_memory *rank;
} exact;

static size_t segments_of(const exact *x)
{
    return x->batch->groups * x->batch->scores.classes;
}

static size_t per_group(const exact *x)
{
    return x->batch->images_per_group * x->batch->scores.pixels;
}

/* ---- pass 1 ---- */

/* A pixel of a multiclass loss is foreground in one class. Errors are at most 1, up to rounding. */
static void find_multiclass_ranges(const exact *x, const submodi_tile *tile,
                                   submodi_rank_range *range)
{
    for (size_t i = 0; i < tile->n; i++) {
        if (tile->codes[i] < x->batch->rule.classes) {
            size_t c = (size_t)tile->codes[i];
            float p = tile->v[c * tile->stride + i] * tile->factor[i];
            int32_t bits = (int32_t)submodi_to_bits(submodi_error_of(p, true, 0));
            range[c].smallest = bits < range[c].smallest ? bits : range[c].smallest;
        }
    }
}

static void find_ranges(const void *context, const submodi_tile *tile)
{
    const exact *x = context;
    const submodi_batch *batch = x->batch;
    size_t C = batch->scores.classes;
    submodi_rank_range *range = x->range + tile->thread * segments_of(x) +
                                tile->image / batch->images_per_group * C;
    if (!batch->multilabel) {
        find_multiclass_ranges(x, tile, range);
        return;
    }
    for (size_t c = 0; c < C; c++) {
        submodi_rank_row row = {tile->v + c * tile->stride, tile->codes + c * tile->stride, 1, 2,
                                submodi_bias(batch), tile->width};
        submodi_ranks()->limits(&row, &range[c].smallest, &range[c].largest);
    }
}

/* The ranges of all threads together, in those of the first. False if some score is bad. */
static bool find_all_ranges(const exact *x)
{
    size_t segments = segments_of(x);
    size_t threads = (size_t)x->batch->threads;
    int32_t above_one = (int32_t)submodi_to_bits(1.0F + 0x1p-20F);
    for (size_t s = 0; s < threads * segments; s++) {
        x->range[s].smallest = SUBMODI_NO_ERROR;
        x->range[s].largest = x->batch->multilabel ? 0 : above_one;
    }
    if (!submodi_visit(x->batch, 0, x->batch->scores.batch, 0, SUBMODI_VALUES, find_ranges, x)) {
        return false;
    }
    for (size_t s = segments; s < threads * segments; s++) {
        submodi_rank_range *r = &x->range[s % segments];
        r->smallest = x->range[s].smallest < r->smallest ? x->range[s].smallest : r->smallest;
        r->largest = x->range[s].largest > r->largest ? x->range[s].largest : r->largest;
    }
    return true;
}

/* ---- rankings ---- */

/* Whether the weights are all there is to the gradient. */
static bool is_final(const exact *x)
{
    return x->direct && (x->batch->activation == SUBMODI_SCORE ||
                         x->batch->activation == SUBMODI_PROBABILITY);
}

static submodi_rank_target target_of(const exact *x, size_t group, size_t c)
{
    const submod_gradient *g = x->gradient;
    submodi_rank_target target = {.stride = x->batch->scores.pixels, .scale = 1};
    if (x->direct) {
        size_t image = group * x->batch->images_per_group;
        target.weight = g->data + (ptrdiff_t)image * g->batch_stride +
                        (ptrdiff_t)c * g->class_stride;
        target.stride = (size_t)g->batch_stride;
        target.scale = is_final(x) ? (float)g->scale : 1.0F;
    } else if (g) {
        target.weight = x->weight + (group * x->batch->scores.classes + c) * per_group(x);
    }
    return target;
}

static void clear(const exact *x, const submodi_rank_target *target)
{
    for (size_t b = 0; target->weight && b < x->batch->images_per_group; b++) {
        memset(target->weight + b * target->stride, 0,
               x->batch->scores.pixels * sizeof *target->weight);
    }
}

static size_t rank_segment(const exact *x, size_t segment, const submodi_rank_memory *memory,
                           int threads, double *value)
{
    size_t C = x->batch->scores.classes;
    submodi_rank_target target = target_of(x, segment / C, segment % C);
    if (!(x->batch->coefficient[segment] > 0)) {
        clear(x, &target);
        *value = 0;
        return 0;
    }
    return submodi_rank(x->batch, segment / C, segment % C, &x->range[segment], &target, memory,
                        threads, value);
}

/* All classes and groups; value has one entry for each. */
static uint64_t rank_segments(const exact *x, double *value)
{
    uint64_t sorted = 0;
    if (x->batch->terms >= (size_t)x->batch->threads) {
#pragma omp parallel for num_threads(x->batch->threads) schedule(dynamic) reduction(+ : sorted)
        for (size_t s = 0; s < segments_of(x); s++) {
            sorted += rank_segment(x, s, &x->rank[omp_get_thread_num()], 1, &value[s]);
        }
    } else {
        for (size_t s = 0; s < segments_of(x); s++) {
            sorted += rank_segment(x, s, &x->rank[0], x->batch->threads, &value[s]);
        }
    }
    return sorted;
}

/* ---- last pass ---- */

static void write_gradient(const void *context, const submodi_tile *tile)
{
    const exact *x = context;
    for (size_t c = 0; c < x->batch->scores.classes; c++) {
        submodi_rank_target target = target_of(x, tile->image / x->batch->images_per_group, c);
        size_t at = tile->image % x->batch->images_per_group * target.stride + tile->first;
        float *g = tile->g + c * tile->stride;
        memcpy(g, target.weight + at, tile->n * sizeof *g);
        memset(g + tile->n, 0, (tile->width - tile->n) * sizeof *g);
    }
    submodi_tile_store(x->batch, tile, x->gradient);
}

/* ---- the engine ---- */

/* The gradient can hold the weights if its rows are contiguous, are overwritten, and lie within the
 * reach of a record's place. */
static bool is_direct(const submodi_batch *batch, const submod_gradient *g)
{
    if (!g || g->pixel_stride != 1 || g->accumulate || g->batch_stride < 0) {
        return false;
    }
    size_t images = batch->images_per_group;
    size_t reach = submodi_times(images - (images > 0), (size_t)g->batch_stride);
    return reach <= UINT32_MAX - batch->scores.pixels;
}

/* Rankings that run side by side need memory each; one that uses all threads needs all counters. */
static bool take_memory(exact *x, submod_work *work)
{
    size_t threads = (size_t)x->batch->threads;
    bool side_by_side = x->batch->terms >= threads;
    size_t kept = x->gradient && !x->direct ? segments_of(x) : 0;
    x->weight = submodi_take(work, submodi_times(kept, per_group(x)), sizeof *x->weight);
    x->range = submodi_take(work, submodi_times(threads, segments_of(x)), sizeof *x->range);
    x->rank = submodi_take(work, threads, sizeof *x->rank);
    bool good = x->weight && x->range && x->rank;
    for (size_t t = 0; good && t < threads; t++) {
        submodi_rank_memory *r = &x->rank[t];
        *r = (submodi_rank_memory){NULL, NULL, NULL};
        if (t == 0 || side_by_side) {
            size_t room = per_group(x) + SUBMODI_RANK_ROOM;
            r->record = submodi_take(work, room, sizeof *r->record);
            r->spare = submodi_take(work, room, sizeof *r->spare);
            r->count = submodi_take(work, side_by_side ? 1 : threads, sizeof *r->count);
            good = r->record && r->spare && r->count;
        }
    }
    return good;
}

submod_status submodi_loss_exact(submodi_batch *batch, double *loss,
                                 const submod_gradient *gradient, submod_loss_info *info,
                                 submod_work *work)
{
    exact x = {.batch = batch, .gradient = gradient, .direct = is_direct(batch, gradient)};
    double *value = submodi_take(work, segments_of(&x), sizeof *value);
    if (!value || !submodi_notes_take(batch, work) || !take_memory(&x, work)) {
        return submodi_nomem(batch->who);
    }
    if (!find_all_ranges(&x)) {
        return submodi_batch_bad_score(batch);
    }
    info->sorted = rank_segments(&x, value);
    *loss = 0;
    for (size_t s = 0; s < segments_of(&x); s++) {
        *loss += batch->coefficient[s] * value[s];
    }
    if (gradient && !is_final(&x)) {
        submodi_visit(batch, 0, batch->scores.batch, 0, SUBMODI_AGAIN, write_gradient, &x);
    }
    return SUBMOD_OK;
}
