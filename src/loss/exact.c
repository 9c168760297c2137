/* The exact engine: errors of all classes, one ranking per class and group, then the gradient.
 *
 *   pass 1     scores -> errors, and their limits (exact_passes.c)
 *   per class  errors -> weights in place: those that can carry weight are sorted (rank.c)
 *   last pass  scores and weights -> gradient
 *
 * Classes and groups are ranked in parallel where there are enough of them, else each ranking runs
 * in parallel itself.
 */

#include "loss/exact.h"
#include "base/internal.h"

/* ---- rankings ---- */

/* Whether the weights are all there is to the gradient. */
static bool is_final(const submodi_exact *x)
{
    return x->direct &&
           (x->batch->activation == SUBMODI_SCORE || x->batch->activation == SUBMODI_PROBABILITY);
}

static size_t rank_segment(const submodi_exact *x, size_t segment, submodi_rank_memory *memory,
                           submodi_reproducible_sum *value)
{
    size_t C = x->batch->scores.classes;
    submodi_rank_errors errors = submodi_exact_errors_of(x, segment / C, segment % C);
    if (!(x->batch->coefficient[segment] > 0) || memory->failure.found) {
        submodi_exact_clear(x, &errors);
        *value = (submodi_reproducible_sum){0, 0};
        return 0;
    }
    memory->segment = segment;
    return submodi_rank(x->batch, segment / C, segment % C, &errors,
                        is_final(x) ? (float)x->gradient->scale : 1.0F, memory, value);
}

/* All classes and groups; value has one entry for each. */
static uint64_t rank_segments(const submodi_exact *x, submodi_reproducible_sum *value)
{
    const submodi_batch *batch = x->batch;
    size_t segments = submodi_exact_segments(x);
    uint64_t sorted = 0;
    if (batch->terms >= (size_t)batch->threads) {
#pragma omp parallel for num_threads(batch->threads) schedule(dynamic) reduction(+ : sorted)
        for (size_t s = 0; s < segments; s++) {
            sorted += rank_segment(x, s, &x->rank[submodi_thread_index()], &value[s]);
        }
    } else {
        for (size_t s = 0; s < segments; s++) {
            sorted += rank_segment(x, s, &x->rank[0], &value[s]);
        }
    }
    return sorted;
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
static bool take_memory(submodi_exact *x, submod_work *work)
{
    const submodi_batch *batch = x->batch;
    size_t threads = (size_t)batch->threads;
    bool side_by_side = batch->terms >= threads;
    x->rank = submodi_work_alloc(work, threads, sizeof *x->rank);
    bool good = submodi_exact_take(x, work) && x->rank;
    for (size_t t = 0; good && t < threads; t++) {
        x->rank[t] = (submodi_rank_memory){.threads = side_by_side ? 1 : (int)threads};
        if (t == 0 || side_by_side) {
            good = submodi_rank_take(&x->rank[t], submodi_exact_per_group(x), work);
        }
    }
    return good;
}

/* Of the rankings that threads have done side by side, each in ascending order: the first failure.
 */
static submod_status find_failure(const submodi_exact *x)
{
    const submodi_batch *batch = x->batch;
    const submodi_rank_memory *first = NULL;
    for (int t = 0; t < batch->threads; t++) {
        const submodi_rank_memory *r = &x->rank[t];
        first = r->failure.found && (!first || r->segment < first->segment) ? r : first;
    }
    return first ? submodi_measure_failed(&first->failure) : SUBMOD_OK;
}

/* What each group adds to the loss, by the values of its classes. */
static void add_up(const submodi_batch *batch, const submodi_reproducible_sum *value,
                   double *group_loss)
{
    size_t C = batch->scores.classes;
    for (size_t g = 0; g < batch->groups; g++) {
        group_loss[g] = 0;
        for (size_t s = g * C; s < (g + 1) * C; s++) {
            group_loss[g] += batch->coefficient[s] * submodi_sum_value(value[s]);
        }
    }
}

/* Memory, errors, and the rankings of all groups. *sorted: errors that were sorted. */
static submod_status rank_all(submodi_exact *x, double *group_loss, uint64_t *sorted,
                              submod_work *work)
{
    submodi_batch *batch = x->batch;
    submodi_reproducible_sum *value =
        submodi_work_alloc(work, submodi_exact_segments(x), sizeof *value);
    bool again = x->gradient && !is_final(x);
    if (!value || (again && !submodi_notes_take(batch, work)) || !take_memory(x, work)) {
        return submodi_out_of_memory();
    }
    if (!submodi_exact_errors(x)) {
        return submodi_batch_bad_score(batch);
    }
    *sorted = rank_segments(x, value);
    add_up(batch, value, group_loss);
    return find_failure(x);
}

submod_status submodi_loss_exact(submodi_batch *batch, double *loss, double *group_loss,
                                 const submod_gradient *gradient, submod_loss_info *info,
                                 submod_work *work)
{
    submodi_exact x = {.batch = batch, .gradient = gradient, .direct = is_direct(batch, gradient)};
    x.streams = x.direct && submodi_gradient_streams(batch, gradient);
    submod_status status = rank_all(&x, group_loss, &info->sorted, work);
    if (status != SUBMOD_OK) {
        return status;
    }
    *loss = 0;
    for (size_t g = 0; g < batch->groups; g++) {
        *loss += group_loss[g];
    }
    if (gradient && !is_final(&x)) {
        submodi_exact_write(&x);
    }
    return SUBMOD_OK;
}
