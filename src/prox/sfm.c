/* Submodular minimisation and its dual over the base polytope (Edmonds 1970; Fujishige 1980;
 * docs/mathematics.md, section 9):
 *
 *     min over A of F(A)  =  F(empty) + max over s in B(F) of  sum of min(s_i, 0).
 *
 * In this file F(empty) = 0; the true F(empty) is added at the end. gap = value of the best
 * set - sum of min(s_i, 0), for any base s; elements with |s_i| > gap are decided. All of this
 * requires a submodular F. If F calls user code, only the search of all subsets proves anything.
 *
 * Each method computes sets, a base or both; finish() computes the rest and proves what it can.
 * Cost: that of the method, one or two chains, O(n). */
#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "prox/prox_internal.h"
#include <submod/prox.h>

/* AUTO searches all subsets of up to this many elements if F calls user code and has no minimize
 * slot: at most 2^10 values of F, where min-norm takes 50 to 80. Only the search is a proof. */
enum { SMALL = 10 };

typedef struct search {
    const submod_fn *fn;
    const submod_sfm_settings *settings;
    size_t n;
    double begin;             /* when the call began */
    bool extremes, with_base; /* the caller wants the sets; s or info */
    bool with_largest;        /* wants the largest set, or info that judges both */
    bool has_sets, has_base;
    uint8_t *smallest, *largest; /* n flags each */
    uint8_t *best;               /* the best set seen */
    double *s;                   /* the base */
    double value;                /* F(A) - F(empty) of the best set seen */
    double scale;                /* size of F, to which rounding errors are relative */
    int32_t *order;
    double *gains, *key, *zero; /* scratch, and zeros; n each */
    submod_work *work;
    submod_sfm_info *info;
    submod_combination found; /* min-norm: s as a combination, if the caller wants it */
    submod_status failed;     /* why a base could not be evaluated; ends the call */
} search;

submod_sfm_settings submod_sfm_defaults(void)
{
    return (submod_sfm_settings){.tolerance = 1e-10};
}

/* ---- rounding a base to sets, and what it proves ---- */

/* Values of F that differ by less count as equal: some tens of rounding errors. */
static double margin(const search *f)
{
    return 64 * DBL_EPSILON * f->scale;
}

/* The gap that the settings allow for a share of the elements with these |s_i|. */
static double allowed_gap(const search *f, double size, double share)
{
    double tolerance = f->settings->tolerance;
    return tolerance * fabs(f->value) * share + tolerance * size + margin(f) * share;
}

/* Returns the sum of min(s_i, 0). *size = the sum of |s_i|, which may overflow where F does not. */
static double dual_of(const double *s, size_t n, double unit, double *size)
{
    double dual = 0;
    *size = 0;
    for (size_t i = 0; i < n; i++) {
        *size = fmin(*size + fabs(s[i]) * unit, DBL_MAX);
        dual += fmin(s[i], 0) * unit;
    }
    return dual;
}

/* f->order = the elements from the smallest to the largest s, f->gains the gains along it. */
static submod_status sort_by_base(search *f, const double *s)
{
    for (size_t i = 0; i < f->n; i++) {
        f->key[i] = -s[i];
    }
    f->info->oracle_calls++;
    TRY(submod_argsort(f->key, f->n, f->order, f->work));
    return submod_fn_chain(f->fn, f->order, f->n, f->gains, f->work);
}

/* Sets both results to the first and the last prefix of a complete order, by rising s, that attain
 * the value. If none does, an earlier order attained it, and both become the best set. */
static void set_prefixes(search *f, const int32_t *order, const double *gains, double unit)
{
    size_t shortest = f->n + 1;
    size_t longest = 0;
    double sum = 0;
    for (size_t k = 0; k <= f->n; k++) {
        if (sum * unit <= f->value + margin(f)) {
            shortest = k < shortest ? k : shortest;
            longest = k;
        }
        sum += k < f->n ? gains[k] : 0;
    }
    for (size_t k = 0; k < f->n; k++) {
        int32_t e = order[k];
        f->smallest[e] = shortest > f->n ? f->best[e] : k < shortest;
        f->largest[e] = shortest > f->n ? f->best[e] : k < longest;
    }
}

/* Returns whether s and the gap prove, up to rounding, that every minimiser lies between these
 * sets. */
static bool encloses(const search *f, const uint8_t *small, const uint8_t *large, const double *s,
                     double unit, double gap)
{
    double bound = (fmax(gap, 0) + margin(f)) / unit;
    bool proved = true;
    for (size_t i = 0; i < f->n; i++) {
        proved = proved && (!small[i] || s[i] < -bound) && (large[i] || s[i] > bound);
    }
    return proved;
}

/* ---- when to stop ---- */

/* Keeps the best prefix of the view's order: the elements of all parts before, and the first k of
 * this one. */
static void keep_best(search *f, const submodi_view *v)
{
    double sum = 0;
    double lowest = 0;
    double size = 0;
    size_t best = 0;
    for (size_t k = 0; k < v->n; k++) {
        sum += v->gains[k];
        size += fabs(v->gains[k]);
        best = sum < lowest ? k + 1 : best;
        lowest = fmin(sum, lowest);
    }
    f->scale = v->n == f->n ? fmin(fmax(f->scale, size * v->sigma), DBL_MAX) : f->scale;
    if (v->before + lowest * v->sigma < f->value) {
        f->value = v->before + lowest * v->sigma;
        memset(f->best, 0, f->n);
        for (size_t i = 0; i < v->begin; i++) {
            f->best[v->sequence[i]] = 1;
        }
        for (size_t i = 0; i < best; i++) {
            size_t at = v->begin + (size_t)v->order[i];
            f->best[v->sequence ? (size_t)v->sequence[at] : at] = 1;
        }
    }
}

/* Returns whether a run may end. A part with all u > 0 is in every minimiser and a part with all
 * u < 0 in none; such parts only need a base whose signs prove that. Other parts need a gap that is
 * small for their share of the elements. If F is integer, a gap below 1 ends the run if it proves
 * the sets that the caller wants. */
static bool is_done(search *f, const submodi_view *v)
{
    double size;
    double share = (double)v->n / (double)f->n;
    keep_best(f, v);
    if (v->low >= 0 || v->high <= 0) {
        double sign = v->low >= 0 ? -1 : 1;
        double bound = fmin(fabs(v->low), fabs(v->high)) / v->sigma / 2;
        bool clear = true;
        for (size_t i = 0; i < v->n; i++) {
            clear &= sign * v->s[i] >= bound;
        }
        return clear;
    }
    double gap = f->value - v->before - dual_of(v->s, v->n, v->sigma, &size);
    bool whole = f->settings->integer_valued && gap <= 0.99 * share;
    whole = whole && (!f->extremes || v->n == f->n);
    if (whole && f->extremes) {
        set_prefixes(f, v->order, v->gains, v->sigma);
        whole = encloses(f, f->smallest, f->largest, v->s, v->sigma, gap);
    }
    return whole || gap <= allowed_gap(f, size, share);
}

/* Returns whether to end a projection. Its bases may come without a greedy order. */
static bool has_enough(void *ctx, const submodi_view *view)
{
    search *f = ctx;
    submodi_view v = *view;
    if (!v.order) {
        f->failed = sort_by_base(f, v.s);
        v.order = f->order;
        v.gains = f->gains;
    }
    return f->failed || is_done(f, &v);
}

/* ---- the methods ---- */

/* Measures the size of F, which rounding errors are relative to, with one chain. */
static submod_status measure_scale(search *f)
{
    if (f->scale > 0) {
        return SUBMOD_OK;
    }
    submodi_ascending(f->order, f->n);
    TRY(submod_fn_chain(f->fn, f->order, f->n, f->gains, f->work));
    f->info->oracle_calls++;
    for (size_t i = 0; i < f->n; i++) {
        f->scale = fmin(f->scale + fabs(f->gains[i]), DBL_MAX);
    }
    return SUBMOD_OK;
}

/* Returns a lambda for the projection of 0, which is the same for every lambda. With this power of
 * two, u = -s / lambda is about as large as 1, and f(u) and |s|^2 / lambda are about as large as
 * F. */
static double lambda_for(const search *f)
{
    int exponent;
    (void)frexp(f->scale, &exponent);
    return ldexp(1, exponent < -1021 ? -1021 : exponent > 1022 ? 1022 : exponent);
}

static submod_prox_settings prox_settings(const search *f)
{
    submod_prox_settings settings = submod_prox_defaults();
    double limit = f->settings->time_limit;
    settings.max_iterations = f->settings->max_iterations;
    settings.time_limit = limit > 0 ? fmax(f->begin + limit - submodi_seconds(), DBL_MIN) : 0;
    return settings;
}

static void add_effort(search *f, const submod_prox_info *prox)
{
    f->info->iterations = prox->iterations;
    f->info->minor_cycles = prox->minor_cycles;
    f->info->oracle_calls += prox->oracle_calls;
    f->has_base = true;
}

/* The base is the projection of 0, by Fujishige-Wolfe or by the terms of a sum, until has_enough. A
 * single term is solved in one step, as exactly as possible, and checked only at the end. */
static submod_status by_projection(search *f)
{
    bool sum = f->info->method == SUBMOD_SFM_SUM;
    submod_prox_settings settings = prox_settings(f);
    submod_prox_info prox = {0};
    submodi_prox_problem problem = {.fn = f->fn,
                                    .x = f->zero,
                                    .lambda = 1,
                                    .settings = &settings,
                                    .enough = has_enough,
                                    .enough_ctx = f};
    double *u = submodi_work_alloc(f->work, f->n, sizeof *u);
    TRY(submodi_work_status(f->work));
    settings.method = sum ? SUBMOD_PROX_SUM : SUBMOD_PROX_MIN_NORM;
    settings.tolerance = 0; /* has_enough decides */
    settings.start = f->settings->start;
    if (sum) {
        TRY(measure_scale(f));
        problem.lambda = lambda_for(f);
    } else if (f->settings->combination) {
        problem.found = &f->found;
    }
    submod_status outcome =
        (sum ? submodi_prox_sum : submodi_prox_min_norm)(&problem, u, f->s, &prox, f->work);
    add_effort(f, &prox);
    if (sum && outcome >= 0 && !f->failed) {
        const submodi_view end = {
            .n = f->n, .s = f->s, .sigma = 1, .low = -INFINITY, .high = INFINITY};
        outcome = has_enough(f, &end) ? SUBMOD_OK : outcome;
    }
    return outcome < 0 || !f->failed ? outcome : f->failed;
}

/* Calls the minimize slot for the sets and, if the function has one, a base. */
static submod_status by_minimizer(search *f)
{
    submodi_ascending(f->order, f->n);
    const submod_minor all = {.ground = f->order, .nground = f->n};
    f->info->oracle_calls++;
    f->has_sets = true;
    TRY(submodi_fn_minimize(f->fn, &all, f->zero, f->smallest, f->with_largest ? f->largest : NULL,
                            f->with_base ? f->s : NULL));
    f->has_base = f->with_base && !isnan(f->s[0]);
    const double *w = submodi_fn_terms(f->fn).modular;
    for (size_t e = 0; w && f->has_base && e < f->n; e++) {
        f->scale = fmin(f->scale + fabs(w[e]), DBL_MAX); /* the value is at most -w(A) */
    }
    return SUBMOD_OK;
}

static submod_status not_submodular(const char *proof)
{
    return submodi_fail(SUBMOD_INACCURATE, "F is not submodular, since %s; see submod_fn_check",
                        proof);
}

/* Searches all subsets, for up to half of the time limit; min-norm replaces a search that takes
 * longer. */
static submod_status by_all_subsets(search *f)
{
    submodi_minimisers found;
    double limit = f->settings->time_limit;
    double deadline = limit > 0 ? f->begin + limit / 2 : INFINITY;
    submod_status status = submodi_try_all_subsets(f->fn, deadline, &found, f->work);
    f->info->oracle_calls += found.tried;
    if (status == SUBMOD_TIMELIMIT) {
        f->info->method = SUBMOD_SFM_MIN_NORM;
        status = by_projection(f);
        bool demanded = f->settings->method == SUBMOD_SFM_EXHAUSTIVE;
        return demanded && status == SUBMOD_OK ? SUBMOD_TIMELIMIT : status;
    }
    TRY(status);
    for (size_t e = 0; e < f->n; e++) {
        f->smallest[e] = found.smallest >> e & 1;
        f->largest[e] = found.largest >> e & 1;
    }
    f->has_sets = true;
    f->info->extremes_proved = found.extreme;
    return found.extreme || !f->fn->calls_user_code
               ? SUBMOD_OK
               : not_submodular("the union or intersection of two minimisers is not a minimiser");
}

/* Computes a base after methods that left none. */
static submod_status base_by_prox(search *f)
{
    submod_prox_settings settings = prox_settings(f);
    submod_prox_info prox = {0};
    TRY(measure_scale(f));
    submod_status status =
        submod_prox(f->fn, f->zero, lambda_for(f), NULL, f->s, &settings, &prox, f->work);
    if (status >= 0) {
        add_effort(f, &prox);
    }
    return status;
}

/* ---- finish: sets, value, dual, gap ---- */

/* Decides what value, dual and gap prove. The gap and its tolerance do not depend on F(empty),
 * however large it is. A gap far below 0 proves that s is no base: F is not submodular, and s
 * bounds nothing. */
static submod_status prove(search *f, double size, submod_status outcome)
{
    submod_sfm_info *info = f->info;
    bool user = f->fn->calls_user_code;
    bool all_tried = info->method == SUBMOD_SFM_EXHAUSTIVE;
    bool sound = -info->gap <= allowed_gap(f, size, 1);
    bool small = info->gap <= 0 || (f->settings->integer_valued && info->gap < 1) ||
                 encloses(f, f->smallest, f->smallest, f->s, 1, info->gap);
    info->exact = all_tried || (sound && !user && small);
    if (!all_tried) {
        info->extremes_proved = sound && !user && f->extremes &&
                                encloses(f, f->smallest, f->largest, f->s, 1, info->gap);
    }
    bool good = sound && (small || all_tried || info->gap <= allowed_gap(f, size, 1));
    submod_status proved = good ? SUBMOD_OK : SUBMOD_INACCURATE;
    if (!sound && user) {
        proved = not_submodular("the value is below the lower bound from s");
    }
    return outcome == SUBMOD_OK ? proved : outcome;
}

static submod_status finish(search *f, submod_status outcome)
{
    submod_sfm_info *info = f->info;
    double empty;
    double size;
    size_t k = 0;
    if (!f->has_sets) {
        TRY(sort_by_base(f, f->s));
        set_prefixes(f, f->order, f->gains, 1);
    }
    TRY(measure_scale(f));
    for (size_t i = 0; i < f->n; i++) {
        f->order[k] = (int32_t)i;
        k += f->smallest[i];
    }
    TRY(submodi_fn_eval(f->fn, f->order, 0, &empty));
    TRY(submodi_fn_eval(f->fn, f->order, k, &info->value));
    double dual = dual_of(f->s, f->n, 1, &size);
    f->value = info->value - empty;
    f->scale = fmax(f->scale, size);
    info->gap = f->value - dual;
    info->dual = empty + dual;
    if (!isfinite(info->gap) || !isfinite(info->dual)) {
        return submodi_fail(SUBMOD_ENUMERIC, "value - dual overflows");
    }
    return prove(f, size, outcome);
}

/* ---- the entry ---- */

static submod_status check_arguments(const submod_fn *fn, const submod_sfm_settings *s)
{
    TRY(submodi_check_given("fn", fn));
    if ((int)s->method < SUBMOD_SFM_AUTO || (int)s->method > SUBMOD_SFM_SUM) {
        return submodi_fail(SUBMOD_EINVAL, "method = %d is unknown; see submod_sfm_method",
                            (int)s->method);
    }
    if (!(s->tolerance >= 0 && isfinite(s->tolerance)) ||
        !(s->time_limit >= 0 && isfinite(s->time_limit))) {
        return submodi_fail(SUBMOD_EINVAL,
                            "tolerance = %g and time_limit = %g must be finite and >= 0",
                            s->tolerance, s->time_limit);
    }
    if (s->method == SUBMOD_SFM_MINIMIZER && !fn->ops.minimize) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "a %s function has no minimiser of its own; try SUBMOD_SFM_AUTO",
                            fn->ops.name);
    }
    if (s->method == SUBMOD_SFM_SUM && !submodi_can_sum(fn)) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "a %s function is no sum; try SUBMOD_SFM_AUTO",
                            fn->ops.name);
    }
    if (s->method == SUBMOD_SFM_EXHAUSTIVE && fn->n > SUBMOD_EXHAUSTIVE_MAX) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "n = %zu must be <= %d for SUBMOD_SFM_EXHAUSTIVE",
                            fn->n, SUBMOD_EXHAUSTIVE_MAX);
    }
    return s->start && s->start->count ? submodi_combination_check(s->start) : SUBMOD_OK;
}

static submod_sfm_method choose(const submod_fn *fn, submod_sfm_method wanted)
{
    return wanted != SUBMOD_SFM_AUTO               ? wanted
           : fn->ops.minimize                      ? SUBMOD_SFM_MINIMIZER
           : fn->calls_user_code && fn->n <= SMALL ? SUBMOD_SFM_EXHAUSTIVE
           : submodi_sum_is_easier(fn)             ? SUBMOD_SFM_SUM
                                                   : SUBMOD_SFM_MIN_NORM;
}

/* For sets alone, a minimiser of F's own needs few arrays: on easy cuts, new pages cost more than
 * the flow. */
static submod_status allocate(search *f)
{
    const bool sets_only = f->info->method == SUBMOD_SFM_MINIMIZER && !f->with_base;
    const size_t more = sets_only ? 0 : f->n;
    submodi_take_vectors(f->work, more, (double **[]){&f->s, &f->gains, &f->key, NULL});
    f->zero = submodi_work_alloc(f->work, f->n, sizeof *f->zero);
    f->smallest = submodi_work_alloc(f->work, f->n, sizeof *f->smallest);
    f->largest = submodi_work_alloc(f->work, f->with_largest ? f->n : more, sizeof *f->largest);
    f->best = submodi_work_alloc(f->work, more, sizeof *f->best);
    f->order = submodi_work_alloc(f->work, f->n, sizeof *f->order);
    TRY(submodi_work_status(f->work));
    memset(f->zero, 0, f->n * sizeof *f->zero);
    memset(f->best, 0, more);
    return SUBMOD_OK;
}

/* Without s and info, sets suffice. */
static submod_status solve(search *f)
{
    submod_status outcome;
    TRY(allocate(f));
    switch (f->info->method) {
    case SUBMOD_SFM_MINIMIZER: outcome = by_minimizer(f); break;
    case SUBMOD_SFM_EXHAUSTIVE: outcome = by_all_subsets(f); break;
    default: outcome = by_projection(f);
    }
    if (outcome < 0 || (f->has_sets && !f->with_base)) {
        return outcome;
    }
    if (!f->has_base) {
        submod_status status = base_by_prox(f);
        outcome = status < 0 || outcome == SUBMOD_OK ? status : outcome;
    }
    return outcome < 0 ? outcome : finish(f, outcome);
}

static void copy_out(search *f, uint8_t *smallest, uint8_t *largest, double *s,
                     submod_sfm_info *info)
{
    submodi_copy_out(smallest, f->smallest, f->n, sizeof *smallest);
    submodi_copy_out(largest, f->largest, f->n, sizeof *largest);
    submodi_copy_out(s, f->s, f->n, sizeof *s);
    if (f->settings->combination && f->info->method == SUBMOD_SFM_MIN_NORM) {
        submodi_combination_move(f->settings->combination, &f->found);
    }
    f->info->seconds = submodi_seconds() - f->begin;
    submodi_copy_out(info, f->info, 1, sizeof *info);
}

submod_status submod_sfm(const submod_fn *fn, uint8_t *smallest, uint8_t *largest, double *s,
                         const submod_sfm_settings *settings, submod_sfm_info *info,
                         submod_work *work)
{
    const submod_sfm_settings defaults = submod_sfm_defaults();
    submod_sfm_info found = {0};
    search f = {.fn = fn,
                .settings = settings ? settings : &defaults,
                .begin = submodi_seconds(),
                .extremes = smallest || largest,
                .with_base = s || info,
                .with_largest = largest || (smallest && (s || info)),
                .info = &found};
    submod_status status = check_arguments(fn, f.settings);
    if (status == SUBMOD_OK) {
        submodi_scope scope;
        f.n = fn->n;
        f.work = submodi_scope_open(&scope, work);
        found.method = choose(fn, f.settings->method);
        status = solve(&f);
        if (status >= 0) {
            copy_out(&f, smallest, largest, s, info);
        }
        submod_combination_free(&f.found);
        submodi_scope_close(&scope);
    }
    return submodi_return("submod_sfm", status);
}
