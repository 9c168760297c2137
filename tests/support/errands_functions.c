/* Errands with set functions and problems: extensions, prox, minimisation, maximisation,
 * optimisers. */
#include <stdlib.h>

#include "errands.h"

enum { N = ERRAND_SIDE * ERRAND_SIDE };

static submod_status prox_of(const submod_fn *fn, const double *x, submod_prox_method method,
                             digest *found, submod_work *work)
{
    size_t n = submod_fn_size(fn);
    double *u = malloc(n * sizeof *u), *s = malloc(n * sizeof *s);
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    submod_status status =
        u && s ? submod_prox(fn, x, 2, u, s, &settings, NULL, work) : SUBMOD_ENOMEM;
    digest_bytes(found, u, status < 0 ? 0 : n * sizeof *u);
    digest_bytes(found, s, status < 0 ? 0 : n * sizeof *s);
    free(u);
    free(s);
    return status < 0 ? status : SUBMOD_OK;
}

static submod_status extension(const errand_data *d, digest *found, submod_work *work)
{
    const submod_fn *const functions[2] = {d->sqrt, d->jaccard};
    double *g = malloc(d->pixels * sizeof *g);
    submod_status status = g ? SUBMOD_OK : SUBMOD_ENOMEM;
    for (size_t k = 0; status == SUBMOD_OK && k < 2; k++) {
        double value = 0;
        status = submod_lovasz(functions[k], d->x, &value, g, NULL, NULL, work);
        digest_bytes(found, &value, sizeof value);
        digest_bytes(found, g, status ? 0 : d->pixels * sizeof *g);
    }
    free(g);
    return status;
}

static submod_status prox_jaccard(const errand_data *d, digest *found, submod_work *work)
{
    return prox_of(d->jaccard, d->x, SUBMOD_PROX_AUTO, found, work);
}

static submod_status prox_cardinality(const errand_data *d, digest *found, submod_work *work)
{
    return prox_of(d->sqrt, d->x, SUBMOD_PROX_AUTO, found, work);
}

static submod_status prox_cut(const errand_data *d, digest *found, submod_work *work)
{
    return prox_of(d->grid, d->x, SUBMOD_PROX_AUTO, found, work);
}

static submod_status prox_sum(const errand_data *d, digest *found, submod_work *work)
{
    return prox_of(d->sum, d->x, SUBMOD_PROX_AUTO, found, work);
}

static submod_status prox_rows(const errand_data *d, digest *found, submod_work *work)
{
    return prox_of(d->rows, d->x, SUBMOD_PROX_AUTO, found, work);
}

static submod_status prox_squares(const errand_data *d, digest *found, submod_work *work)
{
    return prox_of(d->squares, d->x, SUBMOD_PROX_AUTO, found, work);
}

static submod_status prox_tversky(const errand_data *d, digest *found, submod_work *work)
{
    return prox_of(d->tversky, d->x, SUBMOD_PROX_AUTO, found, work);
}

static submod_status prox_wolfe(const errand_data *d, digest *found, submod_work *work)
{
    return prox_of(d->covering, d->x, SUBMOD_PROX_MIN_NORM, found, work);
}

static submod_status prox_histogram(const errand_data *d, digest *found, submod_work *work)
{
    float *u = malloc(d->pixels * sizeof *u);
    double error = 0;
    submod_status status = u ? submod_prox_jaccard_histogram(d->pixels, d->scores, d->marks, 2,
                                                             4e-3, u, &error, NULL, work)
                             : SUBMOD_ENOMEM;
    digest_bytes(found, u, status ? 0 : d->pixels * sizeof *u);
    free(u);
    return status;
}

static submod_status path(const errand_data *d, digest *found, submod_work *work)
{
    const double lambda[3] = {4, 2, 1};
    double u[3 * N];
    submod_status status = submod_prox_path(d->grid, d->x, lambda, 3, u, NULL, NULL, NULL, work);
    digest_bytes(found, u, status < 0 ? 0 : sizeof u);
    return status < 0 ? status : SUBMOD_OK;
}

static submod_status minimum(const errand_data *d, digest *found, submod_work *work)
{
    enum { FUNCTIONS = 3 };
    const submod_fn *const functions[FUNCTIONS] = {d->iwata, d->sum, d->covering};
    submod_status status = SUBMOD_OK;
    for (size_t k = 0; status == SUBMOD_OK && k < FUNCTIONS; k++) {
        submod_sfm_info info = {0};
        status = submod_sfm(functions[k], NULL, NULL, NULL, NULL, &info, work);
        status = status < 0 ? status : SUBMOD_OK;
        digest_bytes(found, &info.value, sizeof info.value);
    }
    return status;
}

static submod_status maximum(const errand_data *d, digest *found, submod_work *work)
{
    int32_t set[5] = {0};
    submod_status status =
        submod_maximize(d->covering, 5, NULL, 0, set, NULL, NULL, NULL, NULL, work);
    digest_bytes(found, set, sizeof set);
    return status;
}

static submod_status checker(const errand_data *d, digest *found, submod_work *work)
{
    (void)work;
    submod_check_report report = {0};
    submod_check_settings settings = submod_check_defaults();
    settings.samples = 20;
    submod_status status = submod_fn_check(d->covering, &report, &settings);
    digest_bytes(found, &report.submodular, sizeof report.submodular);
    submod_check_report_clear(&report);
    return status;
}

/* As they are, and rounded, so that many are equal. */
static submod_status sorting(const errand_data *d, digest *found, submod_work *work)
{
    enum { WAYS = 3 };
    const double unit[WAYS] = {0, 0.1, 0.125};
    int32_t *order = calloc(d->pixels, sizeof *order);
    double *x = calloc(d->pixels, sizeof *x);
    submod_status status = order && x ? SUBMOD_OK : SUBMOD_ENOMEM;
    for (size_t k = 0; status == SUBMOD_OK && k < WAYS; k++) {
        for (size_t i = 0; i < d->pixels; i++) {
            x[i] = unit[k] > 0 ? unit[k] * (int)(d->x[i] / unit[k]) : d->x[i];
        }
        status = submod_argsort_f64(x, d->pixels, order, work);
        digest_bytes(found, order, status ? 0 : d->pixels * sizeof *order);
    }
    free(order);
    free(x);
    return status;
}

/* ---- optimisers: all on the maximum of eight planes in ten dimensions ---- */

enum { PLANES = 8, DIMENSION = 10 };

static submod_status optimise(const submod_problem *problem, size_t which, double *x,
                              submod_work *work)
{
    if (which == 0) {
        submod_bundle_settings settings = submod_bundle_defaults();
        settings.run.weight_decay = 0.1;
        return submod_bundle(problem, x, &settings, NULL, work);
    }
    if (which == 1) {
        submod_bcfw_settings settings = submod_bcfw_defaults();
        settings.run.weight_decay = 0.1;
        settings.run.max_iterations = 50;
        return submod_bcfw(problem, x, &settings, NULL, work);
    }
    if (which == 2) {
        submod_fista_settings settings = submod_fista_defaults();
        settings.run.max_iterations = 50;
        return submod_fista(problem, x, &settings, NULL, work);
    }
    submod_step *step = NULL;
    submod_descent_settings settings = submod_descent_defaults();
    settings.schedule = submod_schedule_constant(0.1);
    settings.run.max_iterations = 50;
    submod_status status = submod_step_adam(DIMENSION, &step, NULL);
    status = status ? status : submod_descend(problem, step, x, &settings, NULL, work);
    submod_step_free(step);
    return status;
}

static submod_status optimisers(const errand_data *d, digest *found, submod_work *work)
{
    submod_problem problem;
    submod_status status =
        submod_problem_max_affine(PLANES, DIMENSION, d->x, d->x + PLANES * DIMENSION, &problem);
    bool made = status == SUBMOD_OK;
    for (size_t which = 0; status >= 0 && which < 4; which++) {
        double x[DIMENSION] = {1};
        status = optimise(&problem, which, x, work);
        digest_bytes(found, x, sizeof x);
    }
    if (made) {
        submod_problem_clear(&problem);
    }
    return status < 0 ? status : SUBMOD_OK;
}

const errand function_errands[] = {{"Lovász extension", extension},
                                   {"prox of Jaccard", prox_jaccard},
                                   {"prox of a function of the cardinality", prox_cardinality},
                                   {"prox of a cut", prox_cut},
                                   {"prox of a sum", prox_sum},
                                   {"prox of the cut of rows", prox_rows},
                                   {"prox of a sum over squares", prox_squares},
                                   {"prox of a measure of two counts", prox_tversky},
                                   {"prox by Wolfe's method", prox_wolfe},
                                   {"prox by histogram", prox_histogram},
                                   {"path", path},
                                   {"minima", minimum},
                                   {"maximum", maximum},
                                   {"checker", checker},
                                   {"sorting", sorting},
                                   {"optimisers", optimisers}};
const size_t function_errand_count = sizeof function_errands / sizeof *function_errands;
