/* Histograms across batches: the surrogate of the dataset's Jaccard loss (see histogram.h). */
#include <submod/histogram.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "submod/losses/bins.h"

struct submod_histogram {
    size_t classes;
    size_t bins;
    bool solved;
    double *count; /* classes x 2 bins */
    float *weight; /* classes x (2 bins + 1) */
};

submod_status submod_histogram_create(size_t classes, double delta, submod_histogram **histogram)
{
    static const char who[] = "submod_histogram_create";
    if (!histogram) {
        return submodi_fail(SUBMOD_EINVAL, "%s: histogram is NULL", who);
    }
    if (classes == 0 || classes > INT32_MAX / 4) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %zu classes; 1 to %d are allowed", who, classes,
                            INT32_MAX / 4);
    }
    submod_status status = submodi_require_bins(who, 0, delta);
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_histogram *h = submodi_alloc(1, sizeof *h);
    if (!h) {
        return submodi_nomem(who);
    }
    h->classes = classes;
    h->bins = submodi_bins_for(delta);
    h->count = submodi_alloc(classes, 2 * h->bins * sizeof *h->count);
    h->weight = submodi_alloc(classes, (2 * h->bins + 1) * sizeof *h->weight);
    if (!h->count || !h->weight) {
        submod_histogram_free(h);
        return submodi_nomem(who);
    }
    *histogram = h;
    return submod_histogram_reset(h);
}

void submod_histogram_free(submod_histogram *histogram)
{
    if (histogram) {
        submodi_free(histogram->count);
        submodi_free(histogram->weight);
        submodi_free(histogram);
    }
}

submod_status submod_histogram_reset(submod_histogram *histogram)
{
    if (!histogram) {
        return submodi_fail(SUBMOD_EINVAL, "submod_histogram_reset: histogram is NULL");
    }
    memset(histogram->count, 0, histogram->classes * 2 * histogram->bins * sizeof(double));
    histogram->solved = false;
    return SUBMOD_OK;
}

double *submod_histogram_counts(submod_histogram *histogram, size_t *classes, size_t *bins)
{
    if (histogram && classes) {
        *classes = histogram->classes;
    }
    if (histogram && bins) {
        *bins = histogram->bins;
    }
    return histogram ? histogram->count : NULL;
}

double submod_histogram_delta(const submod_histogram *histogram)
{
    return histogram ? 0.5 / (double)histogram->bins : 0;
}

submod_status submod_histogram_scale(submod_histogram *histogram, double factor)
{
    static const char who[] = "submod_histogram_scale";
    if (!histogram || !(factor >= 0) || isinf(factor)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: factor = %g, or histogram is NULL", who, factor);
    }
    for (size_t k = 0; k < histogram->classes * 2 * histogram->bins; k++) {
        histogram->count[k] *= factor;
    }
    return SUBMOD_OK;
}

submod_status submod_histogram_merge(submod_histogram *histogram, const submod_histogram *other)
{
    static const char who[] = "submod_histogram_merge";
    if (!histogram || !other) {
        return submodi_fail(SUBMOD_EINVAL, "%s: a histogram is NULL", who);
    }
    if (histogram->classes != other->classes || histogram->bins != other->bins) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %zu classes x %zu bins and %zu x %zu do not fit",
                            who, histogram->classes, histogram->bins, other->classes, other->bins);
    }
    for (size_t k = 0; k < histogram->classes * 2 * histogram->bins; k++) {
        histogram->count[k] += other->count[k];
    }
    return SUBMOD_OK;
}

/* ---- batches ---- */

/* Checks a batch against the histogram and makes it a problem of one group; the scope is open
 * afterwards in any case. */
static submodi_binning binning_of(const submod_histogram *h)
{
    return (submodi_binning){.K = (uint32_t)h->bins, .scale = (float)h->bins, .lowest = -1};
}

static submod_status open_batch(const char *who, const submod_histogram *h,
                                const submod_scores *scores, submod_input input,
                                const submod_labels *labels, const submod_loss_settings *settings,
                                submod_work *w, submodi_problem *p, submodi_counter *x)
{
    if (!h) {
        return submodi_fail(SUBMOD_EINVAL, "%s: histogram is NULL", who);
    }
    submod_loss_settings s = submod_loss_defaults();
    s.has_ignore = settings && settings->has_ignore;
    s.ignore_label = settings ? settings->ignore_label : 0;
    submod_status status =
        submodi_problem_start(p, who, scores, input, labels, SUBMODI_SOFTMAX, false, &s);
    if (status == SUBMOD_OK && scores->classes != h->classes) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: scores of %zu classes, histogram of %zu", who,
                              scores->classes, h->classes);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    status = submodi_problem_prepare(p, w);
    if (status != SUBMOD_OK) {
        return status;
    }
    *x = (submodi_counter){
        .p = p,
        .how = binning_of(h),
        .threads = submodi_threads_for(scores->batch * scores->pixels * scores->classes)};
    return submodi_counter_take_tiles(x, w) ? SUBMOD_OK : submodi_nomem(who);
}

submod_status submod_histogram_add(submod_histogram *histogram, const submod_scores *scores,
                                   submod_input input, const submod_labels *labels,
                                   const submod_loss_settings *settings, submod_work *work)
{
    submodi_scope scope;
    submodi_problem p = {0};
    submodi_counter x;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status =
        open_batch("submod_histogram_add", histogram, scores, input, labels, settings, w, &p, &x);
    if (status == SUBMOD_OK && !submodi_counter_take_tables(&x, w)) {
        status = submodi_nomem("submod_histogram_add");
    }
    if (status == SUBMOD_OK && p.groups && !submodi_counter_count(&x, 0)) {
        status = submodi_problem_bad_score(&p);
    }
    for (size_t c = 0; status == SUBMOD_OK && p.groups && c < histogram->classes; c++) {
        submodi_counter_add_to(&x, c, histogram->count + 2 * histogram->bins * c);
    }
    submodi_scope_close(&scope);
    return status;
}

/* Counts that have decayed to less than 1 make weights of more than 1. */
static submod_status require_steepness(const char *who, const submod_histogram *h, double scale)
{
    float steepest = 0;
    for (size_t k = 0; k < h->classes * (2 * h->bins + 1); k++) {
        steepest = fmaxf(steepest, fabsf(h->weight[k]));
    }
    return fabs(scale) * (double)steepest <= (double)FLT_MAX
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "%s: scale %g times a weight of %g overflows a float", who, scale,
                              (double)steepest);
}

submod_status submod_histogram_gradient(const submod_histogram *histogram,
                                        const submod_scores *scores, submod_input input,
                                        const submod_labels *labels,
                                        const submod_gradient *gradient,
                                        const submod_loss_settings *settings, submod_work *work)
{
    static const char who[] = "submod_histogram_gradient";
    if (!histogram || !gradient) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who,
                            histogram ? "gradient" : "histogram");
    }
    if (!histogram->solved) {
        return submodi_fail(SUBMOD_EINVAL, "%s: submod_histogram_solve has not been called", who);
    }
    submodi_scope scope;
    submodi_problem p = {0};
    submodi_counter x;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = open_batch(who, histogram, scores, input, labels, settings, w, &p, &x);
    if (status == SUBMOD_OK) {
        status = submodi_require_gradient(who, gradient, &p.scores);
    }
    if (status == SUBMOD_OK) {
        status = require_steepness(who, histogram, gradient->scale);
    }
    float unused;
    if (status == SUBMOD_OK && !submodi_counter_check(&x, &unused)) {
        status = submodi_problem_bad_score(&p);
    }
    if (status == SUBMOD_OK && p.groups) {
        x.weight = histogram->weight;
        submodi_counter_write(&x, 0, gradient);
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- solve ---- */

static submod_status require_counts(const char *who, const submod_histogram *h)
{
    for (size_t k = 0; k < h->classes * 2 * h->bins; k++) {
        if (!(h->count[k] >= 0 && h->count[k] <= 1e200)) {
            return submodi_fail(SUBMOD_EINVAL, "%s: count %zu is %g, not in [0, 1e200]", who, k,
                                h->count[k]);
        }
    }
    return SUBMOD_OK;
}

/* 0 for a class that has all but decayed: less than one in 10^9 of its pixels, or of no size. */
static double foreground_of(const submod_histogram *h, size_t c)
{
    const double *count = h->count + 2 * c * h->bins;
    double b = 0;
    double P = 0;
    for (size_t k = 0; k < h->bins; k++) {
        b += count[k];
        P += count[h->bins + k];
    }
    return P > fmax(1e-9 * (P + b), SUBMODI_SMALLEST_COUNT) ? P : 0;
}

submod_status submod_histogram_solve(submod_histogram *histogram,
                                     const submod_loss_settings *settings, double *loss,
                                     double *class_loss)
{
    static const char who[] = "submod_histogram_solve";
    if (!histogram) {
        return submodi_fail(SUBMOD_EINVAL, "%s: histogram is NULL", who);
    }
    submod_status status = require_counts(who, histogram);
    size_t C = histogram->classes;
    submod_loss_settings s = submod_loss_defaults();
    if (settings) { /* those that matter here */
        s.classes = settings->classes;
        s.class_list = settings->class_list;
        s.class_count = settings->class_count;
        s.class_weight = settings->class_weight;
    }
    if (status == SUBMOD_OK) {
        status = submodi_require_loss_settings(who, &s, C);
    }
    double *coefficient = status == SUBMOD_OK ? submodi_alloc(C, 2 * sizeof *coefficient) : NULL;
    if (status != SUBMOD_OK || !coefficient) {
        return status != SUBMOD_OK ? status : submodi_nomem(who);
    }
    double *P = coefficient + C;
    for (size_t c = 0; c < C; c++) {
        P[c] = foreground_of(histogram, c);
    }
    submodi_class_coefficients(&s, C, P, 1, coefficient);
    submodi_binning how = binning_of(histogram);
    double total = 0;
    for (size_t c = 0; c < C; c++) {
        double value =
            submodi_solve_bins(histogram->count + 2 * histogram->bins * c, P[c], &how,
                               coefficient[c], histogram->weight + (2 * histogram->bins + 1) * c);
        total += value;
        if (class_loss) {
            class_loss[c] = coefficient[c] > 0 ? value / coefficient[c] : NAN;
        }
    }
    submodi_free(coefficient);
    histogram->solved = true;
    if (loss) {
        *loss = total;
    }
    return SUBMOD_OK;
}
