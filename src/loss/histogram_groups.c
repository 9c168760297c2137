/* Groups of a batch, counted, solved for and looked up (see histogram_groups.h). */
#include "loss/histogram_groups.h"

#include <string.h>

#include "base/internal.h"

/* ---- one group ---- */

bool submodi_solution_take(const submodi_histogram *h, bool with_gradient, submodi_solution *s,
                           submod_work *work)
{
    const submodi_batch *batch = h->batch;
    size_t C = batch->scores.classes;
    size_t per_group = submodi_times(batch->images_per_group, batch->scores.pixels);
    size_t at_once =
        with_gradient ? submodi_times(batch->groups, per_group) / submodi_table_size(h) : 1;
    s->at_once = at_once < 1 ? 1 : at_once < batch->groups ? at_once : batch->groups;
    s->table = submodi_work_alloc(work, submodi_times(s->at_once, C),
                                  submodi_table_size(h) * sizeof *s->table);
    s->flat = submodi_work_alloc(work, submodi_times(s->at_once, C), sizeof *s->flat);
    s->total =
        submodi_work_alloc(work, (size_t)batch->threads, submodi_table_size(h) * sizeof *s->total);
    bool custom = batch->measure.type == SUBMOD_MEASURE_CUSTOM;
    s->points = submodi_work_alloc(work, custom ? (size_t)batch->threads : 0,
                                   3 * submodi_solve_points(h->how.K) * sizeof *s->points);
    s->value = submodi_work_alloc(work, C, sizeof *s->value);
    s->failure = submodi_work_alloc(work, C, sizeof *s->failure);
    return s->table && s->flat && s->total && s->points && s->value && s->failure;
}

/* Weights of class c of a group from its counts, and its share of the loss. */
static double solve_class(const submodi_histogram *h, size_t group, size_t c,
                          const submodi_counts *counts, const submodi_solution *s, float *table)
{
    const submodi_batch *batch = h->batch;
    size_t thread = submodi_thread_index();
    double *total = s->total + thread * submodi_table_size(h);
    size_t at = group * batch->scores.classes + c;
    s->failure[c].found = false;
    if (!(batch->coefficient[at] > 0)) {
        memset(table, 0, submodi_table_size(h) * sizeof *table);
        return 0;
    }
    memset(total, 0, submodi_table_size(h) * sizeof *total);
    counts->add_to(counts->context, group, c, total);
    submodi_bin_counts x = {.count = total,
                            .P = batch->foreground[at],
                            .N = batch->background[at],
                            .unit = batch->unit[group],
                            .coefficient = batch->coefficient[at],
                            .measure = &batch->measure,
                            .points = s->points + thread * 3 * submodi_solve_points(h->how.K)};
    return submodi_histogram_solve(&x, &h->how, table, &s->failure[c]);
}

submod_status submodi_solve_group(const submodi_histogram *h, size_t group,
                                  const submodi_counts *counts, const submodi_solution *s,
                                  double *loss)
{
    size_t C = h->batch->scores.classes;
    size_t first = group % s->at_once * C;
#pragma omp parallel for num_threads(h->batch->threads)
    for (size_t c = 0; c < C; c++) {
        float *table = s->table + (first + c) * submodi_table_size(h);
        s->value[c] = solve_class(h, group, c, counts, s, table);
        s->flat[first + c] = s->failure[c].found ? 0 : submodi_histogram_flat(table, h->how.K);
    }
    *loss = 0;
    for (size_t c = 0; c < C; c++) {
        if (s->failure[c].found) {
            return submodi_measure_failed(&s->failure[c]);
        }
        *loss += s->value[c];
    }
    return SUBMOD_OK;
}

/* ---- many groups ---- */

static void add_own(const void *context, size_t group, size_t c, double *total)
{
    submodi_histogram_add_to(context, group, c, total);
}

void submodi_write_group(const submodi_histogram *h, size_t group, const submodi_solution *s,
                         const submod_gradient *gradient)
{
    size_t at = group % s->at_once * h->batch->scores.classes;
    submodi_weights weights = {s->table + at * submodi_table_size(h), s->flat + at, gradient};
    submodi_histogram_write(h, group, &weights);
}

/* Groups first .. last - 1: all are counted and solved for, then all gradients are written. */
static submod_status do_groups(const submodi_histogram *h, const submodi_solution *s, size_t first,
                               size_t last, double *group_loss, const submod_gradient *gradient)
{
    const submodi_counts own = {add_own, h};
    for (size_t g = first; g < last; g++) {
        submod_status status = submodi_histogram_count(h, g)
                                   ? submodi_solve_group(h, g, &own, s, &group_loss[g])
                                   : submodi_batch_bad_score(h->batch);
        if (status != SUBMOD_OK) {
            return status;
        }
    }
    for (size_t g = first; gradient && g < last; g++) {
        submodi_write_group(h, g, s, gradient);
    }
    return SUBMOD_OK;
}

submod_status submodi_solve_groups(const submodi_histogram *h, const submodi_solution *s,
                                   double *group_loss, const submod_gradient *gradient)
{
    size_t groups = h->batch->groups;
    submod_status status = SUBMOD_OK;
    for (size_t g = 0; status == SUBMOD_OK && g < groups; g += s->at_once) {
        size_t last = groups - g < s->at_once ? groups : g + s->at_once;
        status = do_groups(h, s, g, last, group_loss, gradient);
    }
    return status;
}
