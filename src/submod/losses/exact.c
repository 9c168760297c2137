/* The exact engine: errors of all classes, one ranking per class and group, then the gradient.
 *
 *   pass 1     scores -> errors, and their limits
 *   per class  errors -> weights in place: those that can carry weight are sorted (rank.c)
 *   last pass  scores and weights -> gradient
 *
 * Errors and weights live in the gradient itself where it has room for them: memory then grows with
 * the pixels only. As nothing may be written if a score is bad, all are looked at first. Classes
 * and groups are ranked in parallel where there are enough of them, else each ranking runs in
 * parallel itself.
 */
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/losses/rank.h"

typedef struct exact {
    const submodi_batch *batch;
    const submod_gradient *gradient; /* may be NULL */
    bool direct;                     /* errors are kept in the gradient */
    bool streams;                    /* and written to it around the caches */
    float *error;                    /* else here: groups x classes x pixels of a group */
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

/* Where the errors of a class in a group are; their range is not looked at, as pass 1 is still
 * widening it. */
static submodi_rank_errors errors_of(const exact *x, size_t group, size_t c)
{
    size_t segment = group * x->batch->scores.classes + c;
    submodi_rank_errors e = {.stride = x->batch->scores.pixels};
    if (x->direct) {
        const submod_gradient *g = x->gradient;
        e.error = g->data + (ptrdiff_t)(group * x->batch->images_per_group) * g->batch_stride +
                  (ptrdiff_t)c * g->class_stride;
        e.stride = (size_t)g->batch_stride;
    } else {
        e.error = x->error + segment * per_group(x);
    }
    return e;
}

static float *errors_at(const exact *x, const submodi_tile *tile, size_t c)
{
    submodi_rank_errors e = errors_of(x, tile->image / x->batch->images_per_group, c);
    return e.error + tile->image % x->batch->images_per_group * e.stride + tile->first;
}

/* ---- pass 1 ---- */

static bool is_used(const submodi_batch *batch, size_t image, size_t c)
{
    return batch->coefficient[image / batch->images_per_group * batch->scores.classes + c] > 0;
}

static void compute_errors(const void *context, const submodi_tile *tile)
{
    const exact *x = context;
    const submodi_batch *batch = x->batch;
    size_t C = batch->scores.classes;
    submodi_rank_range *range =
        x->range + tile->thread * segments_of(x) + tile->image / batch->images_per_group * C;
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

/* The ranges of all threads together, in those of the first. False if some score is bad. */
static bool compute_all_errors(const exact *x)
{
    size_t segments = segments_of(x);
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
        r->smallest = x->range[s].smallest < r->smallest ? x->range[s].smallest : r->smallest;
        r->largest = x->range[s].largest > r->largest ? x->range[s].largest : r->largest;
    }
    return true;
}

/* ---- rankings ---- */

/* Whether the weights are all there is to the gradient. */
static bool is_final(const exact *x)
{
    return x->direct &&
           (x->batch->activation == SUBMODI_SCORE || x->batch->activation == SUBMODI_PROBABILITY);
}

static void clear(const exact *x, const submodi_rank_errors *errors)
{
    for (size_t b = 0; b < x->batch->images_per_group; b++) {
        memset(errors->error + b * errors->stride, 0,
               x->batch->scores.pixels * sizeof *errors->error);
    }
}

static size_t rank_segment(const exact *x, size_t segment, submodi_rank_memory *memory,
                           double *value)
{
    size_t C = x->batch->scores.classes;
    submodi_rank_errors errors = errors_of(x, segment / C, segment % C);
    errors.range = x->range[segment];
    if (!(x->batch->coefficient[segment] > 0) || memory->failure.found) {
        clear(x, &errors);
        *value = 0;
        return 0;
    }
    memory->segment = segment;
    return submodi_rank(x->batch, segment / C, segment % C, &errors,
                        is_final(x) ? (float)x->gradient->scale : 1.0F, memory, value);
}

/* All classes and groups; value has one entry for each. */
static uint64_t rank_segments(const exact *x, double *value)
{
    uint64_t sorted = 0;
    if (x->batch->terms >= (size_t)x->batch->threads) {
#pragma omp parallel for num_threads(x->batch->threads) schedule(dynamic) reduction(+ : sorted)
        for (size_t s = 0; s < segments_of(x); s++) {
            sorted += rank_segment(x, s, &x->rank[omp_get_thread_num()], &value[s]);
        }
    } else {
        for (size_t s = 0; s < segments_of(x); s++) {
            sorted += rank_segment(x, s, &x->rank[0], &value[s]);
        }
    }
    return sorted;
}

/* ---- last pass ---- */

static void write_gradient(const void *context, const submodi_tile *tile)
{
    const exact *x = context;
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

/* ---- the engine ---- */

/* The gradient can hold the errors if its rows are contiguous, are overwritten, and lie within the
 * reach of a record's place; and if nothing can fail any more, as a custom measure can. */
static bool is_direct(const submodi_batch *batch, const submod_gradient *g)
{
    if (!g || batch->measure.type == SUBMOD_MEASURE_CUSTOM || g->pixel_stride != 1 ||
        g->accumulate || g->batch_stride < 0) {
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
    size_t kept = x->direct ? 0 : segments_of(x);
    x->error = submodi_take(work, submodi_times(kept, per_group(x)), sizeof *x->error);
    x->range = submodi_take(work, submodi_times(threads, segments_of(x)), sizeof *x->range);
    x->rank = submodi_take(work, threads, sizeof *x->rank);
    bool good = x->error && x->range && x->rank;
    for (size_t t = 0; good && t < threads; t++) {
        submodi_rank_memory *r = &x->rank[t];
        *r = (submodi_rank_memory){.threads = side_by_side ? 1 : (int)threads};
        if (t == 0 || side_by_side) {
            r->record = submodi_take(work, per_group(x), sizeof *r->record);
            r->spare = submodi_take(work, per_group(x), sizeof *r->spare);
            r->count = submodi_take(work, (size_t)r->threads, sizeof *r->count);
            good = r->record && r->spare && r->count;
        }
    }
    return good;
}

/* The loss, and the share of each group. */
static void add_up(const exact *x, const double *value, double *loss, double *group_loss)
{
    const submodi_batch *batch = x->batch;
    *loss = 0;
    for (size_t s = 0; s < segments_of(x); s++) {
        *loss += batch->coefficient[s] * value[s];
        group_loss[s / batch->scores.classes] += batch->coefficient[s] * value[s];
    }
}

/* Of the rankings that threads have done side by side, each in ascending order: the first failure.
 */
static submod_status find_failure(const exact *x)
{
    const submodi_rank_memory *first = NULL;
    for (int t = 0; t < x->batch->threads; t++) {
        const submodi_rank_memory *r = &x->rank[t];
        first = r->failure.found && (!first || r->segment < first->segment) ? r : first;
    }
    return first ? submodi_measure_failed(x->batch->who, &first->failure) : SUBMOD_OK;
}

submod_status submodi_loss_exact(submodi_batch *batch, double *loss, double *group_loss,
                                 const submod_gradient *gradient, submod_loss_info *info,
                                 submod_work *work)
{
    exact x = {.batch = batch, .gradient = gradient, .direct = is_direct(batch, gradient)};
    x.streams = x.direct && submodi_gradient_streams(batch, gradient);
    double *value = submodi_take(work, segments_of(&x), sizeof *value);
    bool twice = gradient && !is_final(&x); /* the scores are visited */
    if (!value || (twice && !submodi_notes_take(batch, work)) || !take_memory(&x, work)) {
        return submodi_nomem(batch->who);
    }
    if (!compute_all_errors(&x)) {
        return submodi_batch_bad_score(batch);
    }
    info->sorted = rank_segments(&x, value);
    submod_status status = find_failure(&x);
    if (status != SUBMOD_OK) {
        return status;
    }
    add_up(&x, value, loss, group_loss);
    if (twice) {
        submodi_visit(batch, 0, batch->scores.batch, 0, SUBMODI_AGAIN, write_gradient, &x);
    }
    return SUBMOD_OK;
}
