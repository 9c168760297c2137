/* The one entry to all proximal operators: checks the arguments, picks the method, and computes the
 * objectives of u and s in a form that does not cancel:
 *
 *     gap = f(u) - <s, u> + lambda/2 |u - x + s / lambda|^2 .
 *
 * Let pi be the order in which u falls. The first two terms are summed by parts along it:
 *
 *     f(u) - <s, u> = sum over k < n of (F - s)({pi_1 .. pi_k}) (u_pi_k - u_pi_k+1)
 *                     + (F - s)(V) u_pi_n .
 *
 * Inside a block of equal entries nothing is then added and subtracted again. For s in B(F) every
 * term is >= 0, and (F - s)(V) = 0. Cost: that of the method, and O(n) if it left f(u); else a pass
 * over the edges of a cut (prox_cut.c), or a sort and a chain. */
#include "base/internal.h"
#include "base/sums.h"
#include "prox/combination.h"
#include "prox/prox_cut.h"
#include "prox/prox_internal.h"

/* ---- methods ---- */

/* A method, and whether it can handle a function. */
typedef struct method {
    submod_prox_method method;
    const char *name;
    submodi_prox_can *can;
    submodi_prox_solve *solve;
} method;

/* In the order in which SUBMOD_PROX_AUTO tries them; it ends with MIN_NORM, which can do all. Those
 * after it are baselines. A method may hand the problem on to a better one, and says so in
 * info->method. */
static const method methods[] = {
    {SUBMOD_PROX_CLOSED_FORM, "closed form", submodi_can_closed_form, submodi_prox_closed_form},
    {SUBMOD_PROX_CARDINALITY, "cardinality", submodi_can_cardinality, submodi_prox_cardinality},
    {SUBMOD_PROX_OWN, "own", submodi_can_own, submodi_prox_own},
    {SUBMOD_PROX_OWN, "own", submodi_can_own_in_sum, submodi_prox_sum},
    {SUBMOD_PROX_SUM, "sum", submodi_can_sum, submodi_prox_sum},
    {SUBMOD_PROX_JACCARD, "Jaccard", submodi_can_jaccard, submodi_prox_counts},
    {SUBMOD_PROX_TWO_COUNTS, "two counts", submodi_can_two_counts, submodi_prox_counts},
    {SUBMOD_PROX_CHAIN, "chain", submodi_can_chain, submodi_prox_chain},
    {SUBMOD_PROX_DECOMPOSITION, "decomposition", submodi_can_cut, submodi_prox_cut},
    {SUBMOD_PROX_DECOMPOSITION, "decomposition", submodi_can_decompose, submodi_prox_decompose},
    {SUBMOD_PROX_MIN_NORM, "Fujishige-Wolfe", submodi_can_any, submodi_prox_min_norm},
    {SUBMOD_PROX_ALGORITHM_2, "Algorithm 2", submodi_can_any, submodi_prox_algorithm2},
    {SUBMOD_PROX_ALGORITHM_2_LOOP, "Algorithm 2, loop", submodi_can_any,
     submodi_prox_algorithm2_loop},
    {SUBMOD_PROX_ALGORITHM_2_PRINTED, "Algorithm 2, printed", submodi_can_any,
     submodi_prox_algorithm2_printed},
};

/* Returns the method asked for, or the first that can handle fn. NULL and an error message if there
 * is none. */
static const method *choose(const submod_fn *fn, submod_prox_method wanted)
{
    const char *name = "auto";
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const method *m = &methods[i];
        if ((wanted == SUBMOD_PROX_AUTO || m->method == wanted) && m->can(fn)) {
            return m;
        }
        name = m->method == wanted ? m->name : name;
    }
    submodi_fail(SUBMOD_EUNSUPPORTED,
                 "method '%s' cannot handle a %s function; try SUBMOD_PROX_AUTO", name,
                 fn->ops.name);
    return NULL;
}

submod_status submodi_prox_by_itself(const submodi_prox_problem *p, double *u, double *s,
                                     submod_prox_info *info, submod_work *work)
{
    size_t i = 0;
    while (methods[i].method == SUBMOD_PROX_SUM || !methods[i].can(p->fn)) {
        i++; /* ends at MIN_NORM at the latest */
    }
    info->method = methods[i].method;
    return methods[i].solve(p, u, s, info, work);
}

/* ---- objectives ---- */

/* Returns f(v) - <s, v>. *size: what its rounding error is relative to. v itself has a rounding
 * error relative to weight / lambda, which matters where v is near 0. */
static double excess(const double *v, const double *s, const double *g, const int32_t *order,
                     size_t n, double lambda, double *size)
{
    double sum = 0;
    double slack = 0; /* (F - s) of the prefix so far */
    double weight = 0;
    double largest = fmax(fabs(v[order[0]]), fabs(v[order[n - 1]]));
    for (size_t k = 0; k < n; k++) {
        int32_t e = order[k];
        slack += g[e] - s[e];
        weight += fabs(g[e]) + fabs(s[e]);
        sum += slack * (k + 1 < n ? v[e] - v[order[k + 1]] : v[e]);
    }
    *size = weight * (largest + 8 * DBL_EPSILON * weight / lambda);
    return sum;
}

submod_status submodi_extension_at(const submodi_prox_problem *p, const double *u, const double *s,
                                   submodi_extension *f, submod_work *work)
{
    size_t n = p->fn->n;
    const submodi_cut *cut = submodi_cut_of(p->fn);
    if (cut && !p->settings->hinge) {
        submodi_cut_extension(cut, u, s, p->lambda, f);
        return SUBMOD_OK;
    }
    double *v = submodi_work_alloc(work, n, sizeof *v);
    double *g = submodi_work_alloc(work, n, sizeof *g);
    int32_t *order = submodi_work_alloc(work, n, sizeof *order);
    TRY(submodi_work_status(work));
    for (size_t i = 0; i < n; i++) {
        v[i] = p->settings->hinge ? fmax(u[i], 0) : u[i];
    }
    TRY(submod_lovasz(p->fn, v, &f->value, g, order, SUBMOD_TIES_INDEX, work));
    f->excess = excess(v, s, g, order, n, p->lambda, &f->size);
    f->known = true;
    return SUBMOD_OK;
}

/* Over all entries, times their weights. */
typedef struct pair_sums {
    double distance; /* lambda |u - x|^2 */
    double residual; /* lambda |u - x + s / lambda|^2 */
    double terms;    /* lambda |x|^2 + |s|^2 / lambda */
    double beyond;   /* <s, v - u>, v the argument of f: only the hinge moves u */
} pair_sums;

/* The sums of a part of the entries; entry i goes to lane i % LANES, so that the loop is a vector
 * loop. */
static pair_sums sum_part(const submodi_prox_result *r, size_t begin, size_t end)
{
    enum { LANES = 4, SUMS = 4 };
    const double lambda = r->lambda;
    const double per_lambda = 1 / lambda;
    double sum[SUMS][LANES] = {{0}};
    for (size_t i = begin; i < end; i += LANES) {
        double u[LANES] = {0};
        double s[LANES] = {0};
        double x[LANES] = {0};
        double weight[LANES] = {1, 1, 1, 1};
        for (size_t k = 0; k < LANES && k < end - i; k++) {
            u[k] = r->u[i + k];
            s[k] = r->s[i + k];
            x[k] = r->x[i + k];
            weight[k] = r->weight ? r->weight[i + k] : 1;
        }
        for (size_t k = 0; k < LANES; k++) {
            double dual = s[k] * per_lambda;
            double step = u[k] - x[k];
            double miss = step + dual;
            sum[0][k] += weight[k] * (lambda * step * step);
            sum[1][k] += weight[k] * (lambda * miss * miss);
            sum[2][k] += weight[k] * (lambda * x[k] * x[k] + dual * s[k]);
            sum[3][k] += weight[k] * (s[k] * ((u[k] > 0 ? u[k] : 0) - u[k]));
        }
    }
    double total[SUMS];
    for (size_t k = 0; k < SUMS; k++) {
        total[k] = (sum[k][0] + sum[k][2]) + (sum[k][1] + sum[k][3]);
    }
    return (pair_sums){total[0], total[1], total[2], r->hinge ? total[3] : 0};
}

/* Parts do not depend on the number of threads. */
static pair_sums sum_pairs(const submodi_prox_result *r)
{
    enum { PARTS = 64, SMALL = 4096 };
    if (r->n < SMALL) {
        return sum_part(r, 0, r->n);
    }
    pair_sums part[PARTS];
#pragma omp parallel for num_threads(submodi_threads_for(r->n))
    for (size_t t = 0; t < PARTS; t++) {
        part[t] = sum_part(r, r->n * t / PARTS, r->n * (t + 1) / PARTS);
    }
    pair_sums all = part[0];
    for (size_t t = 1; t < PARTS; t++) {
        all.distance += part[t].distance;
        all.residual += part[t].residual;
        all.terms += part[t].terms;
        all.beyond += part[t].beyond;
    }
    return all;
}

submod_status submodi_prox_objectives(const submodi_prox_result *r, const submodi_extension *f,
                                      submod_prox_info *info, double *terms)
{
    pair_sums sums = sum_pairs(r);
    info->primal = f->value + sums.distance / 2;
    info->gap = f->excess + sums.beyond + sums.residual / 2;
    info->dual = info->primal - info->gap;
    *terms = sums.terms;
    return isfinite(info->primal) && isfinite(info->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "u, s or the objective overflows");
}

/* ---- what a method has found ---- */

/* Composes the result of a method with the hinge. The base s of a monotone F is >= 0; the new s
 * lies between 0 and that base. Algorithm 2 as printed keeps its u, which may be below both. */
static submod_status compose_with_hinge(const submodi_prox_problem *p, submod_prox_method m,
                                        double *u, double *s)
{
    size_t n = p->fn->n;
    double largest = submodi_largest(s, n);
    for (size_t i = 0; i < n; i++) {
        if (s[i] < -1e-9 * largest) { /* far beyond rounding */
            return submodi_fail(SUBMOD_EINVAL,
                                "hinge needs a monotone function, but adding element %zu to all "
                                "others changes F by %g or less",
                                i, s[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        double kept = u[i];
        submodi_compose_with_hinge(p->x[i], p->lambda, &u[i], &s[i]);
        u[i] = m == SUBMOD_PROX_ALGORITHM_2_PRINTED ? kept : u[i];
    }
    return SUBMOD_OK;
}

/* Checks u and s and completes what the method left undone. */
static submod_status complete(const submodi_prox_problem *p, submod_prox_method m, double *u,
                              double *s, submod_work *w)
{
    size_t n = p->fn->n;
    if (p->extension->known) {
        return SUBMOD_OK;
    }
    if (!submodi_all_finite(u, n) || !submodi_all_finite(s, n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "u or s overflows");
    }
    if (p->settings->hinge) {
        TRY(compose_with_hinge(p, m, u, s));
    }
    return submodi_extension_at(p, u, s, p->extension, w);
}

/* Matters to cyclic projections, which go on until the gap is small; exact methods do not read it,
 * and others have units of their own. */
static bool gap_is_blind(const submodi_prox_problem *p, submod_prox_method m, const double *s)
{
    size_t n = p->fn->n;
    return m == SUBMOD_PROX_SUM && submodi_gap_is_blind(p->lambda, submodi_largest(p->x, n),
                                                        submodi_largest(s, n) / p->lambda);
}

/* Judges a result by its gap: a gap that is too large means that F is not submodular, or that the
 * method is not exact; one below 0 by more than rounding proves that s is no base. */
static submod_status judge(const submodi_prox_problem *p, const submod_prox_info *info,
                           const double *s, double terms)
{
    /* At least the default tolerance, because exact methods cannot do better when asked for 0. */
    double allowed =
        fmax(p->settings->tolerance, 1e-10) * terms / 2 + 8 * DBL_EPSILON * p->extension->size;
    if (info->gap < -allowed) {
        return submodi_fail(SUBMOD_INACCURATE,
                            p->fn->calls_user_code
                                ? "F is not submodular, since the gap is %g; see submod_fn_check"
                                : "rounding errors of F make the gap negative, %g",
                            info->gap);
    }
    bool good = info->error > 0 ? info->error <= p->settings->accuracy : info->gap <= allowed;
    return good && !gap_is_blind(p, info->method, s) ? SUBMOD_OK : SUBMOD_INACCURATE;
}

static submod_status solve(const submodi_prox_problem *p, const method *m, double *u, double *s,
                           submod_prox_info *info, submod_work *w)
{
    submod_status outcome = m->solve(p, u, s, info, w);
    if (outcome < 0) {
        return outcome;
    }
    TRY(complete(p, m->method, u, s, w));
    submodi_prox_result result = {
        .n = p->fn->n, .x = p->x, .lambda = p->lambda, .hinge = p->settings->hinge, .u = u, .s = s};
    double terms;
    TRY(submodi_prox_objectives(&result, p->extension, info, &terms));
    submod_status shown = judge(p, info, s, terms);
    return outcome ? outcome : shown;
}

/* ---- the entry ---- */

submod_prox_settings submod_prox_defaults(void)
{
    return (submod_prox_settings){.tolerance = 1e-10};
}

static submod_status check_problem(const submodi_prox_problem *p)
{
    const submod_prox_settings *s = p->settings;
    TRY(submodi_check_given("fn", p->fn));
    TRY(submodi_check_given("x", p->x));
    TRY(submodi_check_positive("lambda", p->lambda));
    if ((int)s->method < SUBMOD_PROX_AUTO || (int)s->method > SUBMOD_PROX_ALGORITHM_2_PRINTED) {
        return submodi_fail(SUBMOD_EINVAL, "method = %d is unknown; see submod_prox_method",
                            (int)s->method);
    }
    TRY(submodi_check_nonnegative("tolerance", s->tolerance));
    TRY(submodi_check_nonnegative("accuracy", s->accuracy));
    TRY(submodi_check_nonnegative("time_limit", s->time_limit));
    if (s->start && s->start->count) {
        TRY(submodi_combination_check(s->start));
    }
    return submodi_check_finite("x", p->x, p->fn->n);
}

static submod_status run(const submodi_prox_problem *p, double *u, double *s,
                         submod_prox_info *info, submod_work *w)
{
    const method *m = choose(p->fn, p->settings->method);
    if (!m) {
        return SUBMOD_EUNSUPPORTED;
    }
    size_t n = p->fn->n;
    u = u ? u : submodi_work_alloc(w, n, sizeof *u);
    s = s ? s : submodi_work_alloc(w, n, sizeof *s);
    TRY(submodi_work_status(w));
    info->method = m->method;
    return solve(p, m, u, s, info, w);
}

submod_status submod_prox(const submod_fn *fn, const double *x, double lambda, double *u, double *s,
                          const submod_prox_settings *settings, submod_prox_info *info,
                          submod_work *work)
{
    static const char who[] = "submod_prox";
    double start = submodi_seconds();
    submod_prox_settings chosen = settings ? *settings : submod_prox_defaults();
    submodi_extension extension = {0};
    submod_combination combination = {0};
    submodi_prox_problem p = {.fn = fn,
                              .x = x,
                              .lambda = lambda,
                              .settings = &chosen,
                              .extension = &extension,
                              .found = chosen.combination ? &combination : NULL};
    submod_status status = check_problem(&p);
    if (status != SUBMOD_OK) {
        return submodi_return(who, status);
    }
    submodi_scope scope;
    submod_prox_info found = {0};
    status = run(&p, u, s, &found, submodi_scope_open(&scope, work));
    if (status >= 0) {
        if (chosen.combination) {
            submodi_combination_move(chosen.combination, &combination);
        }
        found.seconds = submodi_seconds() - start;
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    submod_combination_free(&combination);
    submodi_scope_close(&scope);
    return submodi_return(who, status);
}
