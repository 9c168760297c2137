/* The one entry to all proximal operators: checks the arguments, picks the method, and computes the
 * objectives of u and s in a form that does not cancel (docs/mathematics.md, section 6):
 *
 *     gap = f(u) - <s, u> + lambda/2 |u - x + s / lambda|^2 .
 *
 * Cost: that of the method, and O(n) if it left f(u); else a sort and a chain, for a cut a pass
 * over its edges. */
#include "base/internal.h"
#include "base/sort.h"
#include "base/sums.h"
#include "prox/prox_cut.h"
#include "prox/prox_internal.h"

/* The smallest relative gap that is required of exact methods and user code, and the smallest
 * difference between s and F, relative to the gains, that counts as a violation. */
static const double ROUNDING = 1e-10;

/* ---- methods ---- */

/* A method, and whether it can handle a function. */
typedef struct method {
    submod_prox_method method;
    const char *name;
    submodi_prox_can *can;
    submodi_prox_solve *solve;
} method;

/* In the order in which SUBMOD_PROX_AUTO tries them, up to MIN_NORM, which can handle all
 * functions. The methods after it are baselines. A method that calls a better one reports it in
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
    {SUBMOD_PROX_ALGORITHM_2_LOOP, "Algorithm 2, loop", submodi_can_any, submodi_prox_algorithm2},
    {SUBMOD_PROX_ALGORITHM_2_PRINTED, "Algorithm 2, printed", submodi_can_any,
     submodi_prox_algorithm2},
};

/* Returns the requested method, or the first that can handle fn. If there is none, returns NULL and
 * writes an error message. */
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

/* v and s beside the gains of F along an order in which v falls. */
typedef struct comparison {
    int32_t *order;
    double *gains; /* along the order */
    submodi_extension f;
    double beyond; /* largest violation of s <= F along the order, relative to all gains */
} comparison;

/* Sorts the elements by falling v, those with equal v by falling s if `ties`, and computes the
 * gains along this order. */
static submod_status greedy(const submod_fn *fn, const double *v, const double *s, bool ties,
                            comparison *c, submod_work *w)
{
    size_t n = fn->n;
    submodi_sorted by_s = {0}, by_v;
    double *key = submodi_work_alloc(w, n, sizeof *key);
    void *state = submodi_work_alloc(w, submodi_fn_state_size(fn), 1);
    c->gains = submodi_work_alloc(w, n, sizeof *c->gains);
    c->order = submodi_work_alloc(w, n, sizeof *c->order);
    TRY(submodi_work_status(w));
    if (ties && submodi_sort_f64(s, n, w, &by_s) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < n; i++) {
        key[i] = v[ties ? submodi_sorted_index(&by_s, i) : (int32_t)i];
    }
    if (submodi_sort_f64(key, n, w, &by_v) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < n; i++) {
        int32_t at = submodi_sorted_index(&by_v, i);
        c->order[i] = ties ? submodi_sorted_index(&by_s, (size_t)at) : at;
    }
    return submodi_fn_greedy(fn, state, c->order, c->gains);
}

/* With (F - s) of the first k elements as slack_k,
 *
 *     f(v) - <s, v> = sum over k < n of slack_k (v_k - v_k+1) + slack_n v_n .
 *
 * Elements of equal v contribute nothing, instead of terms that cancel. If s is in B(F), every
 * slack is >= 0 and the last one is 0. v has a rounding error relative to gains / lambda, which
 * matters where v is near 0. */
static submod_status compare(const submod_fn *fn, const double *v, const double *s, double lambda,
                             bool ties, comparison *c, submod_work *w)
{
    size_t n = fn->n;
    double slack = 0, lowest = 0, weight = 0;
    TRY(greedy(fn, v, s, ties, c, w));
    c->f = (submodi_extension){.known = true};
    for (size_t k = 0; k < n; k++) {
        int32_t e = c->order[k];
        slack += c->gains[k] - s[e];
        lowest = fmin(lowest, slack);
        weight += fabs(c->gains[k]) + fabs(s[e]);
        c->f.value += c->gains[k] * v[e];
        c->f.excess += slack * (k + 1 < n ? v[e] - v[c->order[k + 1]] : v[e]);
    }
    double largest = fmax(fabs(v[c->order[0]]), fabs(v[c->order[n - 1]]));
    c->f.size = weight * (largest + 8 * DBL_EPSILON * weight / lambda);
    c->beyond = fmax(-lowest, fabs(slack)) / fmax(weight, DBL_MIN);
    return SUBMOD_OK;
}

submod_status submodi_extension_at(const submodi_prox_problem *p, const double *u, const double *s,
                                   submodi_extension *f, submod_work *work)
{
    const submodi_cut *cut = submodi_cut_of(p->fn);
    if (cut && !p->settings->hinge) {
        submodi_cut_extension(cut, u, s, p->lambda, f);
        return SUBMOD_OK;
    }
    comparison c = {0};
    double *v = submodi_work_alloc(work, p->fn->n, sizeof *v);
    TRY(submodi_work_status(work));
    for (size_t i = 0; i < p->fn->n; i++) {
        v[i] = p->settings->hinge ? fmax(u[i], 0) : u[i];
    }
    TRY(compare(p->fn, v, s, p->lambda, false, &c, work));
    *f = c.f;
    return SUBMOD_OK;
}

/* Sums over some entries, times their weights. */
typedef struct pair_sums {
    double distance; /* lambda |u - x|^2 */
    double residual; /* lambda |u - x + s / lambda|^2 */
    double terms;    /* lambda |x|^2 + |s|^2 / lambda */
    double beyond;   /* <s, v - u>, v the argument of f: only the hinge moves u */
} pair_sums;

static pair_sums sum_part(const submodi_prox_result *r, size_t begin, size_t end)
{
    const double lambda = r->lambda, per_lambda = 1 / lambda;
    double distance = 0, residual = 0, terms = 0, beyond = 0;
#pragma omp simd reduction(+ : distance, residual, terms, beyond)
    for (size_t i = begin; i < end; i++) {
        const double weight = r->weight ? r->weight[i] : 1;
        const double step = r->u[i] - r->x[i], dual = r->s[i] * per_lambda;
        distance += weight * (lambda * step * step);
        residual += weight * (lambda * (step + dual) * (step + dual));
        terms += weight * (lambda * r->x[i] * r->x[i] + dual * r->s[i]);
        beyond += weight * (r->s[i] * ((r->u[i] > 0 ? r->u[i] : 0) - r->u[i]));
    }
    return (pair_sums){distance, residual, terms, beyond};
}

submod_status submodi_prox_objectives(const submodi_prox_result *r, const submodi_extension *f,
                                      submod_prox_info *info, double *terms)
{
    enum { PARTS = 64, SMALL = 4096 }; /* parts do not depend on the number of threads */
    pair_sums sum = {0};
    if (r->n < SMALL) {
        sum = sum_part(r, 0, r->n);
    } else {
        pair_sums part[PARTS] = {{0}};
#pragma omp parallel for num_threads(submodi_threads_for(r->n))
        for (size_t t = 0; t < PARTS; t++) {
            part[t] = sum_part(r, r->n * t / PARTS, r->n * (t + 1) / PARTS);
        }
        for (size_t t = 0; t < PARTS; t++) {
            sum.distance += part[t].distance;
            sum.residual += part[t].residual;
            sum.terms += part[t].terms;
            sum.beyond += part[t].beyond;
        }
    }
    info->primal = f->value + sum.distance / 2;
    info->gap = f->excess + (r->hinge ? sum.beyond : 0) + sum.residual / 2;
    info->dual = info->primal - info->gap;
    *terms = sum.terms;
    return isfinite(info->primal) && isfinite(info->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "u, s or the objective overflows");
}

/* Returns the allowed gap: rounding plus the tolerance, which is at least the default one because
 * exact methods cannot do better for tolerance 0. */
static double allowed_gap(const submodi_prox_problem *p, const submodi_extension *f, double terms)
{
    return fmax(p->settings->tolerance, ROUNDING) * terms / 2 + 8 * DBL_EPSILON * f->size;
}

/* ---- the slot of the function itself ---- */

bool submodi_can_own(const submod_fn *fn)
{
    return fn->ops.prox != NULL;
}

bool submodi_can_own_in_sum(const submod_fn *fn)
{
    const submodi_terms terms = submodi_fn_terms(fn);
    return terms.count == 1 && !terms.terms->inner && terms.terms->fn->ops.prox;
}

/* Checks the result of user code against F along the order of u: s(A) <= F(A) for every prefix A,
 * with equality for V, and a small gap. If a check fails, another method solves the problem; if the
 * call was cancelled, s becomes a greedy vector. */
static submod_status check_own(const submodi_prox_problem *p, double *u, double *s, bool cancelled,
                               bool *good, submod_work *w)
{
    const size_t n = p->fn->n;
    const submodi_prox_result result = {.n = n, .x = p->x, .lambda = p->lambda, .u = u, .s = s};
    submod_prox_info info;
    comparison c = {0};
    double terms;
    TRY(compare(p->fn, u, s, p->lambda, true, &c, w));
    *good = c.beyond <= ROUNDING &&
            submodi_prox_objectives(&result, &c.f, &info, &terms) == SUBMOD_OK &&
            fabs(info.gap) <= allowed_gap(p, &c.f, terms);
    if (*good && p->extension && !p->settings->hinge) {
        *p->extension = c.f;
    }
    for (size_t k = 0; cancelled && !*good && k < n; k++) {
        s[c.order[k]] = c.gains[k];
        u[c.order[k]] = p->x[c.order[k]] - c.gains[k] / p->lambda;
    }
    return SUBMOD_OK;
}

submod_status submodi_prox_own(const submodi_prox_problem *p, double *u, double *s,
                               submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    bool good = false;
    submod_status outcome = submodi_fn_prox(p->fn, p->x, p->lambda, u, s);
    bool cancelled = outcome == SUBMOD_CANCELLED;
    TRY(outcome < 0 ? outcome : SUBMOD_OK);
    submod_status status = check_own(p, u, s, cancelled, &good, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    info->oracle_calls += 2;
    if (status != SUBMOD_OK || cancelled || good) {
        return status || !cancelled ? status : outcome;
    }
    bool decomposes = submodi_can_decompose(p->fn);
    info->method = decomposes ? SUBMOD_PROX_DECOMPOSITION : SUBMOD_PROX_MIN_NORM;
    return (decomposes ? submodi_prox_decompose : submodi_prox_min_norm)(p, u, s, info, work);
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

/* Returns the status that the gap implies. A gap that is too large means that F is not submodular
 * or that the method is not exact; a gap below 0 by more than rounding proves that s is no base. A
 * gap of 0 proves nothing if its squares underflow while x and s / lambda do not, which matters for
 * cyclic projections, because they run until the gap is small. */
static submod_status judge(const submodi_prox_problem *p, const submodi_prox_result *r,
                           const submod_prox_info *info, double terms)
{
    double allowed = allowed_gap(p, p->extension, terms);
    bool good = info->error > 0 ? info->error <= p->settings->accuracy : info->gap <= allowed;
    if (info->gap < -allowed) {
        return submodi_fail(SUBMOD_INACCURATE,
                            p->fn->calls_user_code
                                ? "F is not submodular, since the gap is %g; see submod_fn_check"
                                : "rounding errors of F make the gap negative, %g",
                            info->gap);
    }
    if (good && info->method == SUBMOD_PROX_SUM) {
        double x = submodi_largest(r->x, r->n), step = submodi_largest(r->s, r->n) / r->lambda;
        good = (x == 0 && step == 0) || r->lambda * x * x + r->lambda * step * step >= DBL_MIN;
    }
    return good ? SUBMOD_OK : SUBMOD_INACCURATE;
}

/* Solves the problem and computes the results that the method did not. */
static submod_status solve(const submodi_prox_problem *p, double *u, double *s,
                           submod_prox_info *info, submod_work *w)
{
    const size_t n = p->fn->n;
    const method *m = choose(p->fn, p->settings->method);
    double terms;
    if (!m) {
        return SUBMOD_EUNSUPPORTED;
    }
    u = u ? u : submodi_work_alloc(w, n, sizeof *u);
    s = s ? s : submodi_work_alloc(w, n, sizeof *s);
    TRY(submodi_work_status(w));
    info->method = m->method;
    submod_status outcome = m->solve(p, u, s, info, w);
    TRY(outcome < 0 ? outcome : SUBMOD_OK);
    if (!p->extension->known) {
        if (!submodi_all_finite(u, n) || !submodi_all_finite(s, n)) {
            return submodi_fail(SUBMOD_ENUMERIC, "u or s overflows");
        }
        if (p->settings->hinge) {
            TRY(compose_with_hinge(p, m->method, u, s));
        }
        TRY(submodi_extension_at(p, u, s, p->extension, w));
    }
    const submodi_prox_result r = {
        .n = n, .x = p->x, .lambda = p->lambda, .hinge = p->settings->hinge, .u = u, .s = s};
    TRY(submodi_prox_objectives(&r, p->extension, info, &terms));
    submod_status judged = judge(p, &r, info, terms);
    return outcome ? outcome : judged;
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

submod_status submod_prox(const submod_fn *fn, const double *x, double lambda, double *u, double *s,
                          const submod_prox_settings *settings, submod_prox_info *info,
                          submod_work *work)
{
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
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_prox_info found = {0};
    submod_status status = check_problem(&p);
    status = status ? status : solve(&p, u, s, &found, w);
    if (status >= 0) {
        if (chosen.combination) {
            submodi_combination_move(chosen.combination, &combination);
        }
        found.seconds = submodi_seconds() - start;
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    submod_combination_free(&combination);
    submodi_scope_close(&scope);
    return submodi_return("submod_prox", status);
}
