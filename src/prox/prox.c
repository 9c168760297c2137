/* The one entry to all proximal operators: checks the arguments, picks the method, and measures the
 * gap of what it found. Cost: that of the method and of gap.c. */
#include <math.h>

#include "base/internal.h"
#include "base/sums_loops.h"
#include "prox/combination.h"
#include "prox/gap.h"
#include "prox/solver.h"

static const char who[] = "submod_prox";

/* A method, and whether it can handle a function. */
typedef struct method {
    submod_prox_method method;
    const char *name;
    bool (*can)(const submod_fn *fn);
    submodi_prox_solve *solve;
} method;

/* In the order in which SUBMOD_PROX_AUTO tries them; it ends with MIN_NORM, which can do all. Those
 * after it are baselines. A method may hand the problem on to a better one, and says so in
 * info->method. */
static const method methods[] = {
    {SUBMOD_PROX_CLOSED_FORM, "closed form", submodi_can_closed_form, submodi_prox_closed_form},
    {SUBMOD_PROX_CARDINALITY, "cardinality", submodi_can_cardinality, submodi_prox_cardinality},
    {SUBMOD_PROX_SUM, "sum", submodi_can_sum, submodi_prox_sum},
    {SUBMOD_PROX_OWN, "own", submodi_can_own, submodi_prox_own},
    {SUBMOD_PROX_JACCARD, "Jaccard", submodi_can_jaccard, submodi_prox_jaccard},
    {SUBMOD_PROX_TWO_COUNTS, "two counts", submodi_can_two_counts, submodi_prox_two_counts},
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

submod_prox_settings submod_prox_defaults(void)
{
    return (submod_prox_settings){.struct_size = sizeof(submod_prox_settings), .tolerance = 1e-10};
}

static submod_status require_settings(const submod_prox_settings *s)
{
    if ((int)s->method < SUBMOD_PROX_AUTO || (int)s->method > SUBMOD_PROX_ALGORITHM_2_PRINTED) {
        return submodi_fail(SUBMOD_EINVAL, "%s: method = %d is unknown; see submod_prox_method",
                            who, (int)s->method);
    }
    if (!(s->tolerance >= 0 && isfinite(s->tolerance))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: tolerance = %g must be finite and >= 0", who,
                            s->tolerance);
    }
    if (!(s->time_limit >= 0 && isfinite(s->time_limit))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: time_limit = %g must be finite and >= 0", who,
                            s->time_limit);
    }
    return SUBMOD_OK;
}

static submod_status require_problem(const submodi_prox_problem *p)
{
    submod_status status = submodi_require_given(who, "fn", p->fn);
    status = status ? status : submodi_require_given(who, "x", p->x);
    status = status ? status : submodi_require_positive(who, "lambda", p->lambda);
    status = status ? status : require_settings(p->settings);
    if (status == SUBMOD_OK && p->settings->start && p->settings->start->count) {
        status = submodi_combination_check(p->settings->start);
    }
    return status ? status : submodi_require_finite(who, "x", p->x, p->fn->n);
}

/* The method asked for, or the first that can handle fn. NULL and an error message if there is
 * none. */
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
                 "%s: method '%s' cannot handle a %s function; try SUBMOD_PROX_AUTO", who, name,
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

/* Turns the prox of f into that of f(max(u, 0)), F monotone (docs/mathematics.md, section 6). The
 * base s of a monotone F is >= 0. The new s lies between 0 and that base, and proves the gap.
 * Algorithm 2 as printed keeps its u, which may be below both. */
static submod_status compose_with_hinge(const submodi_prox_problem *p, submod_prox_method m,
                                        double *u, double *s)
{
    size_t n = p->fn->n;
    double largest = submodi_largest(s, n);
    for (size_t i = 0; i < n; i++) {
        if (s[i] < -1e-9 * largest) { /* far beyond rounding */
            return submodi_fail(
                SUBMOD_EINVAL,
                "%s: hinge needs a monotone function, but adding element %zu to all "
                "others changes F by %g or less",
                who, i, s[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        s[i] = fmin(fmax(s[i], 0), p->lambda * fmax(p->x[i], 0));
        if (m != SUBMOD_PROX_ALGORITHM_2_PRINTED) {
            u[i] = fmax(u[i], fmin(p->x[i], 0));
        }
    }
    return SUBMOD_OK;
}

/* Whether the method writes to the caller itself; see solver.h. */
static bool is_straight(const method *m)
{
    return m->method == SUBMOD_PROX_JACCARD || m->method == SUBMOD_PROX_TWO_COUNTS;
}

/* Makes sure of what a method has written into scratch memory, and turns it into the prox of the
 * hinge if that is asked for. */
static submod_status complete(const submodi_prox_problem *p, submod_prox_method m, double *u,
                              double *s)
{
    size_t n = p->fn->n;
    if (!submodi_all_finite(u, n) || !submodi_all_finite(s, n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: u or s overflows", who);
    }
    return p->settings->hinge ? compose_with_hinge(p, m, u, s) : SUBMOD_OK;
}

/* Matters to cyclic projections, which go on until the gap is small; exact methods do not look at
 * it, and others have units of their own. */
static bool gap_is_blind(const submodi_prox_problem *p, submod_prox_method m, const double *s)
{
    size_t n = p->fn->n;
    return m == SUBMOD_PROX_SUM && submodi_gap_is_blind(p->lambda, submodi_largest(p->x, n),
                                                        submodi_largest(s, n) / p->lambda);
}

/* Reports a gap below 0 by more than rounding, which proves that s is no base. */
static submod_status contradiction(const submod_fn *fn, double gap)
{
    return submodi_fail(SUBMOD_INACCURATE,
                        fn->calls_user_code
                            ? "%s: F is not submodular, since the gap is %g; see submod_fn_check"
                            : "%s: rounding errors of F make the gap negative, %g",
                        who, gap);
}

static submod_status solve(const submodi_prox_problem *p, const method *m, double *u, double *s,
                           submod_prox_info *info, submod_work *w)
{
    submod_status outcome = m->solve(p, u, s, info, w);
    if (outcome < 0) {
        return outcome;
    }
    submod_status status = is_straight(m) ? SUBMOD_OK : complete(p, m->method, u, s);
    double allowed;
    status = status ? status : submodi_prox_gap(p, u, s, info, &allowed, w);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (info->gap < -allowed) {
        status = contradiction(p->fn, info->gap);
        return outcome == SUBMOD_OK ? status : outcome;
    }
    /* The method reports success, but the gap is too large: F is not submodular, or the method is
     * not exact. A gap that is blind proves nothing. */
    bool shown = info->gap <= allowed && !gap_is_blind(p, info->method, s);
    return outcome == SUBMOD_OK && !shown ? SUBMOD_INACCURATE : outcome;
}

/* Solves into scratch memory, so that failures leave the outputs alone. */
static submod_status solve_apart(const submodi_prox_problem *p, const method *m, double *u,
                                 double *s, submod_prox_info *info, submod_work *w)
{
    size_t n = p->fn->n;
    double *own_u = submodi_take(w, n, sizeof *own_u);
    double *own_s = submodi_take(w, n, sizeof *own_s);
    if (!own_u || !own_s) {
        return submodi_nomem(who);
    }
    submod_status status = solve(p, m, own_u, own_s, info, w);
    if (status >= 0) {
        submodi_copy_out(u, own_u, n, sizeof *u);
        submodi_copy_out(s, own_s, n, sizeof *s);
    }
    return status;
}

submod_status submod_prox(const submod_fn *fn, const double *x, double lambda, double *u, double *s,
                          const submod_prox_settings *settings, submod_prox_info *info,
                          submod_work *work)
{
    double start = submodi_seconds();
    submod_prox_settings chosen = submod_prox_defaults();
    submod_status status = submodi_read_settings(who, "submod_prox_defaults", settings, &chosen);
    submodi_extension extension = {0};
    submod_combination combination = {0};
    submodi_prox_problem p = {.who = who,
                              .fn = fn,
                              .x = x,
                              .lambda = lambda,
                              .settings = &chosen,
                              .extension = &extension,
                              .found = chosen.combination ? &combination : NULL};
    status = status ? status : require_problem(&p);
    if (status != SUBMOD_OK) {
        return status;
    }
    const method *m = choose(fn, chosen.method);
    if (!m) {
        return SUBMOD_EUNSUPPORTED;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_prox_info found = {.method = m->method};
    status = is_straight(m) ? solve(&p, m, u, s, &found, w) : solve_apart(&p, m, u, s, &found, w);
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
