/* The loss of one batch by the histogram engine: which bins, and in which order its groups are
 * counted, solved for and looked up (see histogram.c). The hinge needs the range of its margins
 * first: one pass more. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/losses/histogram.h"
#include "submod/losses/histogram_loops.h"
#include "submod/losses/pointwise.h"

/* ---- the range of the hinge ---- */

static void raise_margin(const void *context, const submodi_tile *tile)
{
    float *of_thread = *(float *const *)context + tile->thread;
    float largest = submodi_bins()->largest_error(tile->v, tile->codes, tile->width, 1.0F);
    *of_thread = fmaxf(*of_thread, largest);
}

/* Into largest[0], by one number per thread. False when some score is bad. */
static bool find_largest_margin(const submodi_batch *batch, float *largest)
{
    memset(largest, 0, (size_t)batch->threads * sizeof *largest);
    bool good = submodi_visit(batch, 0, batch->scores.batch, 0, SUBMODI_LABELS | SUBMODI_SCORES,
                              raise_margin, &largest);
    for (int t = 1; t < batch->threads; t++) {
        largest[0] = fmaxf(largest[0], largest[t]);
    }
    return good;
}

/* ---- the engine ---- */

/* As many bins as were asked for, or as delta needs. For the hinge they cover a power of two above
 * all margins. */
static submodi_binning choose_bins(const submodi_batch *batch, float largest)
{
    size_t given = batch->settings.bins;
    uint32_t K = given ? (uint32_t)given : submodi_histogram_bins(batch->settings.delta);
    bool hinge = batch->activation == SUBMODI_SCORE;
    K *= hinge && largest > 0 && !given ? 2 : 1; /* the range may be twice the largest margin */
    return (submodi_binning){.K = K,
                             .scale = submodi_scale_for(K, hinge ? largest : 0),
                             .bias = submodi_bias(batch),
                             .drops_zero = hinge};
}

/* What is solved for: the tables of some groups, one after the other. */
typedef struct solution {
    size_t at_once;                   /* groups whose tables fit */
    float *table;                     /* at_once x classes x 2 K */
    uint32_t *flat;                   /* at_once x classes */
    double *total;                    /* 2 K numbers per thread */
    double *points;                   /* per thread, for a custom measure */
    double *value;                    /* per class */
    submodi_measure_failure *failure; /* per class */
} solution;

/* Several groups can be counted before the first gradient is written if their tables do not take
 * more memory than the scores. If that is all groups, a bad score is noticed in time. */
static bool take_solution(const submodi_histogram *h, bool with_gradient, solution *s,
                          submod_work *work)
{
    const submodi_batch *batch = h->batch;
    size_t C = batch->scores.classes;
    size_t per_group = submodi_times(batch->images_per_group, batch->scores.pixels);
    size_t at_once =
        with_gradient ? submodi_times(batch->groups, per_group) / submodi_table_size(h) : 1;
    s->at_once = at_once < 1 ? 1 : at_once < batch->groups ? at_once : batch->groups;
    s->table =
        submodi_take(work, submodi_times(s->at_once, C), submodi_table_size(h) * sizeof *s->table);
    s->flat = submodi_take(work, submodi_times(s->at_once, C), sizeof *s->flat);
    s->total = submodi_take(work, (size_t)batch->threads, submodi_table_size(h) * sizeof *s->total);
    bool custom = batch->measure.type == SUBMOD_MEASURE_CUSTOM;
    s->points = submodi_take(work, custom ? (size_t)batch->threads : 0,
                             3 * submodi_solve_points(h->how.K) * sizeof *s->points);
    s->value = submodi_take(work, C, sizeof *s->value);
    s->failure = submodi_take(work, C, sizeof *s->failure);
    return s->table && s->flat && s->total && s->points && s->value && s->failure;
}

/* Weights of class c of a group from the counts just made, and its share of the loss. */
static double solve_class(const submodi_histogram *h, size_t group, size_t c, const solution *s,
                          float *table)
{
    const submodi_batch *batch = h->batch;
    size_t thread = (size_t)omp_get_thread_num();
    double *total = s->total + thread * submodi_table_size(h);
    size_t at = group * batch->scores.classes + c;
    s->failure[c].found = false;
    if (!(batch->coefficient[at] > 0)) {
        memset(table, 0, submodi_table_size(h) * sizeof *table);
        return 0;
    }
    memset(total, 0, submodi_table_size(h) * sizeof *total);
    submodi_histogram_add_to(h, group, c, total);
    submodi_bin_counts x = {.count = total,
                            .P = batch->foreground[at],
                            .N = batch->background[at],
                            .unit = batch->unit,
                            .coefficient = batch->coefficient[at],
                            .measure = &batch->measure,
                            .points = s->points + thread * 3 * submodi_solve_points(h->how.K)};
    return submodi_histogram_solve(&x, &h->how, table, &s->failure[c]);
}

static submod_status solve_group(const submodi_histogram *h, size_t group, const solution *s,
                                 double *loss)
{
    size_t C = h->batch->scores.classes;
    size_t first = group % s->at_once * C;
#pragma omp parallel for num_threads(h->batch->threads)
    for (size_t c = 0; c < C; c++) {
        float *table = s->table + (first + c) * submodi_table_size(h);
        s->value[c] = solve_class(h, group, c, s, table);
        s->flat[first + c] = s->failure[c].found ? 0 : submodi_histogram_flat(table, h->how.K);
    }
    *loss = 0;
    for (size_t c = 0; c < C; c++) {
        if (s->failure[c].found) {
            return submodi_measure_failed(h->batch->who, &s->failure[c]);
        }
        *loss += s->value[c];
    }
    return SUBMOD_OK;
}

/* Groups first .. last - 1: all are counted and solved for, then all gradients are written. */
static submod_status do_groups(const submodi_histogram *h, const solution *s, size_t first,
                               size_t last, double *group_loss, const submod_gradient *gradient)
{
    for (size_t g = first; g < last; g++) {
        submod_status status = submodi_histogram_count(h, g) ? solve_group(h, g, s, &group_loss[g])
                                                             : submodi_batch_bad_score(h->batch);
        if (status != SUBMOD_OK) {
            return status;
        }
    }
    for (size_t g = first; gradient && g < last; g++) {
        size_t at = (g - first) * h->batch->scores.classes;
        submodi_weights weights = {s->table + at * submodi_table_size(h), s->flat + at, gradient};
        submodi_histogram_write(h, g, &weights);
    }
    return SUBMOD_OK;
}

/* All groups, as many at once as fit. */
static submod_status do_all_groups(const submodi_histogram *h, const solution *s,
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

/* Where gradients are written before the last group is solved for: whether nothing will fail then.
 * A custom measure has to be asked all that it will be asked. */
static submod_status look_ahead(const submodi_histogram *h, const solution *s, double *group_loss)
{
    if (h->batch->measure.type == SUBMOD_MEASURE_CUSTOM) {
        return do_all_groups(h, s, group_loss, NULL);
    }
    bool good = h->batch->activation == SUBMODI_SCORE || submodi_scores_are_good(h->batch);
    return good ? SUBMOD_OK : submodi_batch_bad_score(h->batch);
}

submod_status submodi_loss_histogram(submodi_batch *batch, double *loss, double *group_loss,
                                     const submod_gradient *gradient, submod_loss_info *info,
                                     submod_work *work)
{
    submodi_histogram h = {.batch = batch, .prunes = true};
    solution s;
    bool hinge = batch->activation == SUBMODI_SCORE;
    float *largest = submodi_take(work, (size_t)batch->threads, sizeof *largest);
    if (!largest) {
        return submodi_nomem(batch->who);
    }
    if (hinge && !find_largest_margin(batch, largest)) {
        return submodi_batch_bad_score(batch);
    }
    h.how = choose_bins(batch, hinge ? largest[0] : 0);
    if (!submodi_notes_take(batch, work) || !submodi_histogram_take(&h, true, work) ||
        !take_solution(&h, gradient != NULL, &s, work)) {
        return submodi_nomem(batch->who);
    }
    submod_status status = SUBMOD_OK;
    if (gradient && s.at_once < batch->groups) {
        status = look_ahead(&h, &s, group_loss);
    }
    status = status ? status : do_all_groups(&h, &s, group_loss, gradient);
    *loss = 0;
    for (size_t g = 0; status == SUBMOD_OK && g < batch->groups; g++) {
        *loss += group_loss[g];
    }
    info->bins = h.how.K;
    info->delta = 0.5 / (double)h.how.scale * batch->most;
    return status;
}
