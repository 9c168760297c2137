/* Histograms across batches: the surrogate of the dataset's Jaccard loss (see dataset.h). */
#include <submod/dataset.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "loss/count_limits.h"
#include "loss/dataset_counts.h"
#include "loss/histogram.h"

static submod_status dataset_create(size_t classes, double delta, submod_dataset **dataset)
{
    submod_status status = submodi_check_given("dataset", dataset);
    if (status == SUBMOD_OK && (classes == 0 || classes > INT32_MAX / 4)) {
        status = submodi_fail(SUBMOD_EINVAL, "classes = %zu must be from 1 to %d", classes,
                              INT32_MAX / 4);
    }
    status = status ? status : submodi_require_bins(0, delta);
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_dataset *d = submodi_alloc(1, sizeof *d);
    if (!d) {
        return submodi_out_of_memory();
    }
    d->classes = classes;
    d->bins = submodi_histogram_bins(delta);
    d->count = submodi_alloc(classes, 2 * d->bins * sizeof *d->count);
    d->weight = submodi_alloc(classes, 2 * d->bins * sizeof *d->weight);
    d->flat = submodi_alloc(classes, sizeof *d->flat);
    if (!d->count || !d->weight || !d->flat) {
        submod_dataset_free(d);
        return submodi_out_of_memory();
    }
    *dataset = d;
    return submod_dataset_reset(d);
}

submod_status submod_dataset_create(size_t classes, double delta, submod_dataset **dataset)
{
    return submodi_return("submod_dataset_create", dataset_create(classes, delta, dataset));
}

void submod_dataset_free(submod_dataset *dataset)
{
    if (dataset) {
        submodi_free(dataset->count);
        submodi_free(dataset->weight);
        submodi_free(dataset->flat);
        submodi_free(dataset);
    }
}

submod_status submod_dataset_reset(submod_dataset *dataset)
{
    if (!dataset) {
        return submodi_return("submod_dataset_reset",
                              submodi_fail(SUBMOD_EINVAL, "dataset is NULL"));
    }
    memset(dataset->count, 0, dataset->classes * 2 * dataset->bins * sizeof(double));
    dataset->solved = false;
    return SUBMOD_OK;
}

double *submod_dataset_counts(submod_dataset *dataset, size_t *classes, size_t *bins)
{
    if (dataset && classes) {
        *classes = dataset->classes;
    }
    if (dataset && bins) {
        *bins = dataset->bins;
    }
    return dataset ? dataset->count : NULL;
}

double submod_dataset_delta(const submod_dataset *dataset)
{
    return dataset ? 0.5 / (double)dataset->bins : 0;
}

submod_status submod_dataset_scale(submod_dataset *dataset, double factor)
{
    if (!dataset || !(factor >= 0) || isinf(factor)) {
        return submodi_return(
            "submod_dataset_scale",
            submodi_fail(SUBMOD_EINVAL,
                         "factor = %g must be finite and >= 0, and dataset must not be NULL",
                         factor));
    }
    for (size_t k = 0; k < dataset->classes * 2 * dataset->bins; k++) {
        dataset->count[k] *= factor;
    }
    return SUBMOD_OK;
}

submod_status submod_dataset_merge(submod_dataset *dataset, const submod_dataset *other)
{
    if (!dataset || !other) {
        return submodi_return("submod_dataset_merge",
                              submodi_fail(SUBMOD_EINVAL, "a dataset is NULL"));
    }
    if (dataset->classes != other->classes || dataset->bins != other->bins) {
        return submodi_return(
            "submod_dataset_merge",
            submodi_fail(SUBMOD_EINVAL, "classes x bins must agree: %zu x %zu and %zu x %zu do not",
                         dataset->classes, dataset->bins, other->classes, other->bins));
    }
    for (size_t k = 0; k < dataset->classes * 2 * dataset->bins; k++) {
        dataset->count[k] += other->count[k];
    }
    return SUBMOD_OK;
}

/* ---- batches ---- */

/* Checks a batch against the dataset and prepares it as one group; memory from work. */
static submod_status open_batch(const submod_dataset *d, const submod_scores *scores,
                                const submod_labels *labels, const submod_gradient *gradient,
                                const submod_loss_settings *settings, submod_work *work,
                                submodi_batch *batch)
{
    submod_status status = submodi_batch_start(batch, SUBMODI_DATASET, scores, labels, settings);
    if (status == SUBMOD_OK && scores->classes != d->classes) {
        status = submodi_fail(SUBMOD_EINVAL,
                              "scores have %zu classes, the dataset has %zu; they must agree",
                              scores->classes, d->classes);
    }
    batch->plain_weights = true;
    return status == SUBMOD_OK ? submodi_batch_prepare(batch, gradient, work) : status;
}

submod_status submod_dataset_add(submod_dataset *dataset, const submod_scores *scores,
                                 const submod_labels *labels, const submod_loss_settings *settings,
                                 submod_work *work)
{
    if (!dataset) {
        return submodi_return("submod_dataset_add", submodi_fail(SUBMOD_EINVAL, "dataset is NULL"));
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submodi_batch batch;
    submodi_histogram h = {.batch = &batch, .how = submodi_unit_bins((uint32_t)dataset->bins)};
    submod_status status = open_batch(dataset, scores, labels, NULL, settings, w, &batch);
    if (status == SUBMOD_OK && !submodi_histogram_take(&h, true, w)) {
        status = submodi_out_of_memory();
    }
    if (status == SUBMOD_OK && batch.groups && !submodi_histogram_count(&h, 0)) {
        status = submodi_batch_bad_score(&batch);
    }
    for (size_t c = 0; status == SUBMOD_OK && batch.groups && c < dataset->classes; c++) {
        submodi_histogram_add_to(&h, 0, c, dataset->count + 2 * dataset->bins * c);
    }
    submodi_scope_close(&scope);
    return submodi_return("submod_dataset_add", status);
}

/* Counts that have decayed to less than 1 make weights of more than 1; pixels may have others. */
static submod_status require_steepness(const submod_dataset *d, const submodi_batch *batch,
                                       double scale)
{
    double most = batch->weight ? (double)batch->largest_weight[0] : 1;
    float steepest = 0;
    for (size_t k = 0; k < d->classes * 2 * d->bins; k++) {
        steepest = fmaxf(steepest, fabsf(d->weight[k]));
    }
    return fmax(fabs(scale), 1) * most * (double)steepest <= (double)FLT_MAX
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "scale %g times a weight of %g overflows a float",
                              scale, most * (double)steepest);
}

static submod_status dataset_gradient(const submod_dataset *dataset, const submod_scores *scores,
                                      const submod_labels *labels, const submod_gradient *gradient,
                                      const submod_loss_settings *settings, submod_work *work)
{
    if (!dataset || !gradient) {
        return submodi_fail(SUBMOD_EINVAL, "%s is NULL", dataset ? "gradient" : "dataset");
    }
    if (!dataset->solved) {
        return submodi_fail(SUBMOD_EINVAL, "call submod_dataset_solve first");
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submodi_batch batch;
    submodi_histogram h = {.batch = &batch, .how = submodi_unit_bins((uint32_t)dataset->bins)};
    submod_status status = open_batch(dataset, scores, labels, gradient, settings, w, &batch);
    status = status ? status : require_steepness(dataset, &batch, gradient->scale);
    if (status == SUBMOD_OK &&
        (!submodi_notes_take(&batch, w) || !submodi_histogram_take(&h, false, w))) {
        status = submodi_out_of_memory();
    }
    if (status == SUBMOD_OK && !submodi_histogram_note(&h)) {
        status = submodi_batch_bad_score(&batch);
    }
    if (status == SUBMOD_OK && batch.groups) {
        submodi_weights weights = {dataset->weight, dataset->flat, gradient};
        submodi_histogram_write(&h, 0, &weights);
    }
    submodi_scope_close(&scope);
    return status;
}

submod_status submod_dataset_gradient(const submod_dataset *dataset, const submod_scores *scores,
                                      const submod_labels *labels, const submod_gradient *gradient,
                                      const submod_loss_settings *settings, submod_work *work)
{
    return submodi_return("submod_dataset_gradient",
                          dataset_gradient(dataset, scores, labels, gradient, settings, work));
}

/* ---- solve ---- */

submod_status submodi_dataset_require_counts(const submod_dataset *d)
{
    for (size_t k = 0; k < d->classes * 2 * d->bins; k++) {
        if (!(d->count[k] >= 0 && d->count[k] <= SUBMODI_LARGEST_COUNT)) {
            return submodi_fail(SUBMOD_EINVAL, "counts[%zu] = %g must be in [0, %g]", k,
                                d->count[k], SUBMODI_LARGEST_COUNT);
        }
    }
    return SUBMOD_OK;
}

/* The foreground and the background of a class. All but decayed, to less than one in 10^9 of its
 * pixels or to no size, the foreground is 0. */
static void count_class(const submod_dataset *d, size_t c, double *foreground, double *background)
{
    const double *count = d->count + 2 * c * d->bins;
    double b = 0;
    double P = 0;
    for (size_t k = 0; k < d->bins; k++) {
        b += count[k];
        P += count[d->bins + k];
    }
    *foreground = submodi_is_present(P, b) ? P : 0;
    *background = b;
}

/* What a solution needs and makes, so that nothing changes if a custom measure fails. */
typedef struct solving {
    submod_measure measure;
    double *P, *N, *coefficient, *value; /* per class */
    double *points;                      /* custom */
    float *weight;                       /* as the dataset's, or the dataset's own */
    void *memory[3];
} solving;

static bool take_memory(const submod_dataset *d, solving *x)
{
    bool custom = x->measure.type == SUBMOD_MEASURE_CUSTOM;
    size_t C = d->classes;
    x->memory[0] = x->P = submodi_alloc(C, 4 * sizeof *x->P);
    x->weight = d->weight;
    if (custom) {
        x->memory[1] = x->points =
            submodi_alloc(submodi_solve_points(d->bins), 3 * sizeof *x->points);
        x->memory[2] = x->weight = submodi_alloc(C, 2 * d->bins * sizeof *x->weight);
    }
    if (!x->P || !x->weight || (custom && !x->points)) {
        return false;
    }
    x->N = x->P + C;
    x->coefficient = x->N + C;
    x->value = x->coefficient + C;
    return true;
}

/* Counts that have decayed to this weigh nothing. */
static double nothing_of(const submod_dataset *d, size_t c)
{
    double all = 0;
    for (size_t k = 0; k < 2 * d->bins; k++) {
        all += d->count[2 * d->bins * c + k];
    }
    return submodi_nothing(all);
}

static submod_status solve_classes(const submod_dataset *d, solving *x)
{
    const submodi_binning how = submodi_unit_bins((uint32_t)d->bins);
    for (size_t c = 0; c < d->classes; c++) {
        submodi_measure_failure failure = {.found = false};
        submodi_bin_counts counts = {.count = d->count + 2 * d->bins * c,
                                     .P = x->P[c],
                                     .N = x->N[c],
                                     .unit = 1,
                                     .nothing = nothing_of(d, c),
                                     .coefficient = x->coefficient[c],
                                     .measure = &x->measure,
                                     .points = x->points};
        x->value[c] = submodi_histogram_solve(&counts, &how, x->weight + 2 * d->bins * c, &failure);
        if (failure.found) {
            return submodi_measure_failed(&failure);
        }
    }
    return SUBMOD_OK;
}

static void finish(submod_dataset *d, const solving *x, double *loss, double *class_loss)
{
    size_t C = d->classes;
    double total = 0;
    if (x->weight != d->weight) {
        memcpy(d->weight, x->weight, C * 2 * d->bins * sizeof *d->weight);
    }
    for (size_t c = 0; c < C; c++) {
        d->flat[c] = submodi_histogram_flat(d->weight + 2 * d->bins * c, (uint32_t)d->bins);
        total += x->value[c];
        if (class_loss) {
            class_loss[c] = x->coefficient[c] > 0 ? x->value[c] / x->coefficient[c] : NAN;
        }
    }
    d->solved = true;
    submodi_copy_out(loss, &total, 1, sizeof *loss);
}

/* Of the settings those that matter here, and the measure. */
static submod_status read_settings(const submod_loss_settings *settings, size_t C,
                                   submod_loss_settings *s, submod_measure *measure)
{
    submod_loss_settings given = settings ? *settings : submod_loss_defaults();
    *s = submod_loss_defaults();
    s->classes = given.classes;
    s->class_list = given.class_list;
    s->class_count = given.class_count;
    s->class_weight = given.class_weight;
    submod_status status = submodi_require_loss_settings(s, C);
    return status ? status : submodi_read_measure("measure", given.measure, measure);
}

submod_status submod_dataset_solve(submod_dataset *dataset, double *loss, double *class_loss,
                                   const submod_loss_settings *settings)
{
    solving x = {.points = NULL};
    submod_loss_settings s;
    submod_status status = submodi_check_given("dataset", dataset);
    status = status ? status : submodi_dataset_require_counts(dataset);
    status = status ? status : read_settings(settings, dataset->classes, &s, &x.measure);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_dataset_solve", status);
    }
    status = take_memory(dataset, &x) ? SUBMOD_OK : submodi_out_of_memory();
    if (status == SUBMOD_OK) {
        for (size_t c = 0; c < dataset->classes; c++) {
            count_class(dataset, c, &x.P[c], &x.N[c]);
        }
        submodi_class_coefficients(&s, dataset->classes, x.P, 1, x.coefficient);
        status = solve_classes(dataset, &x);
    }
    if (status == SUBMOD_OK) {
        finish(dataset, &x, loss, class_loss);
    }
    for (size_t k = 0; k < 3; k++) {
        submodi_free(x.memory[k]);
    }
    return submodi_return("submod_dataset_solve", status);
}
