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

/* A gap below this is not asked of exact methods and of user code, relative to its terms; nor are
 * smaller differences between s and F, relative to the gains. */
static const double ROUNDING = 1e-10;

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
    while (methods[i].solve == submodi_prox_sum || !methods[i].can(p->fn)) {
        i++; /* ends at MIN_NORM at the latest */
    }
    info->method = methods[i].method;
    return methods[i].solve(p, u, s, info, work);
}

/* ---- objectives ---- */

/* How v and s compare with the gains of F along an order in which v falls. Over the parts of equal
 * v, with (F - s) of all elements before as the slack,
 *
 *     f(v) - <s, v> = sum over k < n of slack_k (v_k - v_k+1) + slack_n v_n .
 *
 * Inside a part nothing is added and subtracted again. If s is in B(F), all slacks are >= 0 and the
 * last one is 0; *beyond is by how much they are not, relative to all gains. v has a rounding error
 * relative to gains / lambda, which matters where v is near 0. */
static void compare(const double *v, const double *s, const int32_t *order, const double *gains,
                    size_t n, double lambda, submodi_extension *f, double *beyond)
{
    double slack = 0, lowest = 0, weight = 0;
    double largest = fmax(fabs(v[order[0]]), fabs(v[order[n - 1]]));
    *f = (submodi_extension){.known = true};
    for (size_t k = 0; k < n; k++) {
        int32_t e = order[k];
        slack += gains[k] - s[e];
        lowest = fmin(lowest, slack);
        weight += fabs(gains[k]) + fabs(s[e]);
        f->value += gains[k] * v[e];
        f->excess += slack * (k + 1 < n ? v[e] - v[order[k + 1]] : v[e]);
    }
    f->size = weight * (largest + 8 * DBL_EPSILON * weight / lambda);
    *beyond = fmax(-lowest, fabs(slack)) / fmax(weight, DBL_MIN);
}

/* Sorts the elements by falling v, those with equal v by falling s unless it is NULL, and computes
 * the gains along this order. */
static submod_status greedy(const submod_fn *fn, const double *v, const double *s, int32_t *order,
                            double *gains, submod_work *w)
{
    size_t n = fn->n;
    submodi_sorted by_s = {0}, by_v;
    double *key = submodi_work_alloc(w, n, sizeof *key);
    void *state = submodi_work_alloc(w, submodi_fn_state_size(fn), 1);
    TRY(submodi_work_status(w));
    if (s && submodi_sort_f64(s, n, w, &by_s) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < n; i++) {
        key[i] = v[s ? submodi_sorted_index(&by_s, i) : (int32_t)i];
    }
    if (submodi_sort_f64(key, n, w, &by_v) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < n; i++) {
        int32_t at = submodi_sorted_index(&by_v, i);
        order[i] = s ? submodi_sorted_index(&by_s, (size_t)at) : at;
    }
    return submodi_fn_greedy(fn, state, order, gains);
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
    double beyond;
    double *v = submodi_work_alloc(work, n, sizeof *v);
    double *gains = submodi_work_alloc(work, n, sizeof *gains);
    int32_t *order = submodi_work_alloc(work, n, sizeof *order);
    TRY(submodi_work_status(work));
    for (size_t i = 0; i < n; i++) {
        v[i] = p->settings->hinge ? fmax(u[i], 0) : u[i];
    }
    TRY(greedy(p->fn, v, NULL, order, gains, work));
    compare(v, s, order, gains, n, p->lambda, f, &beyond);
    return SUBMOD_OK;
}

/* Sums over entries, times their weights: lambda |u - x|^2, lambda |u - x + s / lambda|^2,
 * lambda |x|^2, |s|^2 / lambda, and <s, v - u>, v the argument of f, which only the hinge makes
 * another one. */
enum { DISTANCE, RESIDUAL, OF_X, OF_S, HINGE, SUMS };

static void sum_part(const submodi_prox_result *r, size_t begin, size_t end, double sum[SUMS])
{
    enum { CHUNK = 256 };
    double a[SUMS][CHUNK], b[SUMS][CHUNK];
    memset(sum, 0, SUMS * sizeof *sum);
    for (size_t i = begin; i < end; i += CHUNK) {
        size_t count = end - i < CHUNK ? end - i : CHUNK;
        for (size_t k = 0; k < count; k++) {
            const double u = r->u[i + k], s = r->s[i + k], x = r->x[i + k];
            const double weight = r->weight ? r->weight[i + k] : 1;
            const double scaled = weight * r->lambda, dual = s / r->lambda;
            b[DISTANCE][k] = u - x;
            b[RESIDUAL][k] = u - x + dual;
            b[OF_X][k] = x;
            b[OF_S][k] = b[HINGE][k] = weight * s;
            a[DISTANCE][k] = scaled * (u - x);
            a[RESIDUAL][k] = scaled * (u - x + dual);
            a[OF_X][k] = scaled * x;
            a[OF_S][k] = dual;
            a[HINGE][k] = r->hinge && u < 0 ? -u : 0;
        }
        for (int j = 0; j < SUMS; j++) {
            sum[j] += submodi_sums()->dot(a[j], b[j], count);
        }
    }
}

/* Parts do not depend on the number of threads. */
submod_status submodi_prox_objectives(const submodi_prox_result *r, const submodi_extension *f,
                                      submod_prox_info *info, double *terms)
{
    enum { PARTS = 64, SMALL = 4096 };
    const size_t parts = r->n < SMALL ? 1 : PARTS;
    const int threads = parts > 1 ? submodi_threads_for(r->n) : 1;
    double part[PARTS][SUMS], sum[SUMS] = {0};
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (size_t t = 0; t < parts; t++) {
        sum_part(r, r->n * t / parts, r->n * (t + 1) / parts, part[t]);
    }
    for (size_t t = 0; t < parts; t++) {
        for (int j = 0; j < SUMS; j++) {
            sum[j] += part[t][j];
        }
    }
    info->primal = f->value + sum[DISTANCE] / 2;
    info->gap = f->excess + sum[HINGE] + sum[RESIDUAL] / 2;
    info->dual = info->primal - info->gap;
    *terms = sum[OF_X] + sum[OF_S];
    return isfinite(info->primal) && isfinite(info->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "u, s or the objective overflows");
}

/* The gap that rounding explains, or the tolerance: at least the default one, because exact methods
 * cannot do better when asked for 0. */
static double allowed_gap(const submodi_prox_problem *p, const submodi_extension *f, double terms)
{
    return fmax(p->settings->tolerance, ROUNDING) * terms / 2 + 8 * DBL_EPSILON * f->size;
}

/* ---- the slot of the function itself ---- */

bool submodi_can_own(const submod_fn *fn)
{
    return fn->ops.prox != NULL;
}

/* Nothing proves what user code returns, so it is compared with F along the order of u: no prefix
 * may have more of s than of F, V must have as much, and the gap must be small. If it is not,
 * another method solves the problem; a call that was cancelled leaves a greedy vector. */
static submod_status check_own(const submodi_prox_problem *p, double *u, double *s, bool cancelled,
                               bool *good, submod_work *w)
{
    const size_t n = p->fn->n;
    const submodi_prox_result result = {.n = n, .x = p->x, .lambda = p->lambda, .u = u, .s = s};
    submodi_extension f;
    submod_prox_info info;
    double beyond, terms;
    double *gains = submodi_work_alloc(w, n, sizeof *gains);
    int32_t *order = submodi_work_alloc(w, n, sizeof *order);
    TRY(submodi_work_status(w));
    TRY(greedy(p->fn, u, s, order, gains, w));
    compare(u, s, order, gains, n, p->lambda, &f, &beyond);
    *good = beyond <= ROUNDING &&
            submodi_prox_objectives(&result, &f, &info, &terms) == SUBMOD_OK &&
            fabs(info.gap) <= allowed_gap(p, &f, terms);
    if (*good && p->extension && !p->settings->hinge) {
        *p->extension = f;
    }
    for (size_t k = 0; cancelled && !*good && k < n; k++) {
        s[order[k]] = gains[k];
        u[order[k]] = p->x[order[k]] - gains[k] / p->lambda;
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

/* Judges a result by its gap: a gap that is too large means that F is not submodular, or that the
 * method is not exact; one below 0 by more than rounding proves that s is no base. A gap of 0
 * proves nothing where the squares that it is made of are below the normal numbers, while x and s /
 * lambda are not. That matters to cyclic projections, which go on until the gap is small. */
static submod_status judge(const submodi_prox_problem *p, const submod_prox_info *info,
                           const double *s, double terms)
{
    size_t n = p->fn->n;
    double allowed = allowed_gap(p, p->extension, terms);
    if (info->gap < -allowed) {
        return submodi_fail(SUBMOD_INACCURATE,
                            p->fn->calls_user_code
                                ? "F is not submodular, since the gap is %g; see submod_fn_check"
                                : "rounding errors of F make the gap negative, %g",
                            info->gap);
    }
    double x = submodi_largest(p->x, n), step = submodi_largest(s, n) / p->lambda;
    bool blind = info->method == SUBMOD_PROX_SUM && (x > 0 || step > 0) &&
                 p->lambda * x * x + p->lambda * step * step < DBL_MIN;
    bool good = info->error > 0 ? info->error <= p->settings->accuracy : info->gap <= allowed;
    return good && !blind ? SUBMOD_OK : SUBMOD_INACCURATE;
}

/* Solves the problem, and completes what the method left undone. */
static submod_status solve(const submodi_prox_problem *p, const method *m, double *u, double *s,
                           submod_prox_info *info, submod_work *w)
{
    size_t n = p->fn->n;
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
    const submodi_prox_result result = {
        .n = n, .x = p->x, .lambda = p->lambda, .hinge = p->settings->hinge, .u = u, .s = s};
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
