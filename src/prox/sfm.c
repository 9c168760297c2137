/* Submodular minimisation: which method runs, and what is proved about the sets that it found.
 *
 * In this file F(empty) = 0; the true F(empty) is added at the end. For any base s and any set A:
 *
 *     sum of min(s_i, 0) <= s(A) <= F(A).
 *
 * Let value = F of the best set and gap = value - sum of min(s_i, 0). A set A that leaves out an
 * element with s_i < -gap, or holds one with s_i > gap, has F(A) > value. So every minimiser holds
 * all elements with s_i < -gap and none with s_i > gap. If {s < -gap} attains the value, it is the
 * smallest minimiser; if {s <= gap} attains it, that is the largest. If no element is left between,
 * {s < 0} is the only minimiser, however large the gap. All of this needs a submodular F. If F
 * calls user code, only the search of all subsets is a proof.
 * Cost: that of the method; the proof needs one more chain and O(n). */
#include <submod/sfm.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/settings.h"
#include "prox/combination.h"
#include "prox/wolfe/min_norm.h"
#include "submod/exhaustive.h"
#include <submod/lovasz.h>
#include <submod/prox.h>

static const char who[] = "submod_sfm";

/* Smallest and largest minimiser, in this order. */
enum { SMALLEST, LARGEST, EXTREMES };

/* AUTO searches all subsets of up to this many elements if F calls user code and has no minimize
 * slot: at most 2^10 values of F, where min-norm takes 50 to 80. Only the search is a proof. */
enum { SMALL = 10 };

typedef struct search {
    const submod_fn *fn;
    const submod_sfm_settings *settings;
    size_t n;
    bool extremes;          /* whether they are asked for */
    bool largest;           /* whether that one is */
    uint8_t *set[EXTREMES]; /* n flags each */
    uint8_t *best;          /* min-norm: the best set seen */
    double *s;              /* the base */
    double value;           /* F(A) - F(empty) of the best set seen */
    double scale;           /* what rounding errors of F are relative to */
    int32_t *list;          /* scratch, n */
    double *gains;          /* scratch, n */
    submod_work *work;
    submod_sfm_info *info;
    submod_combination found; /* min-norm: s as a combination, if asked for */
    submod_status failed;     /* sum: why it could not be watched; ends the call */
    double begin;             /* when the call began */
} search;

submod_sfm_settings submod_sfm_defaults(void)
{
    return (submod_sfm_settings){.struct_size = sizeof(submod_sfm_settings), .tolerance = 1e-10};
}

/* Returns the seconds left of the time limit; 0 means no limit. */
static double time_left(const search *f)
{
    double limit = f->settings->time_limit;
    return limit > 0 ? fmax(f->begin + limit - submodi_seconds(), DBL_MIN) : 0;
}

/* F(A) and F(empty) by eval. */
static submod_status evaluate(search *f, const uint8_t *set, double *value, double *empty)
{
    size_t k = 0;
    for (size_t i = 0; i < f->n; i++) {
        f->list[k] = (int32_t)i;
        k += set[i];
    }
    submod_status status = submodi_fn_eval(f->fn, f->list, 0, empty);
    return status ? status : submodi_fn_eval(f->fn, f->list, k, value);
}

/* Values of F that differ by less count as equal: some tens of rounding errors. */
static double margin(const search *f)
{
    return 64 * DBL_EPSILON * f->scale;
}

static bool close_enough(const search *f, double gap, double size)
{
    double tolerance = f->settings->tolerance;
    return gap <= tolerance * fabs(f->value) + tolerance * size + margin(f);
}

/* Finds the shortest and the longest prefix of order that attain the value; order goes from the
 * smallest to the largest s. Returns whether they are proved (head of this file) to be the smallest
 * and the largest minimiser. attained[SMALLEST] > n: no prefix attains the value. */
static bool find_extremes(const search *f, const int32_t *order, const double *gains,
                          const double *s, double sigma, double gap, size_t attained[EXTREMES])
{
    double sum = 0;
    attained[SMALLEST] = f->n + 1;
    attained[LARGEST] = 0;
    for (size_t k = 0; k <= f->n; k++) {
        if (sum * sigma <= f->value + margin(f)) {
            attained[SMALLEST] = attained[SMALLEST] < k ? attained[SMALLEST] : k;
            attained[LARGEST] = k;
        }
        sum += k < f->n ? gains[k] : 0;
    }
    size_t small = attained[SMALLEST];
    size_t large = attained[LARGEST];
    return small <= f->n && (small == 0 || s[order[small - 1]] * sigma < -gap) &&
           (large == f->n || s[order[large]] * sigma > gap);
}

/* What one greedy order says about its piece (all of F, if the problem is in one piece), in F's own
 * units. */
typedef struct sight {
    double value; /* of the best set known, within the piece */
    double dual;  /* sum of min(s_i, 0) */
    double size;  /* sum of |s_i| */
    double share; /* of the elements */
} sight;

/* Keeps the best prefix: the elements of all pieces before, and the first k of this one. */
static void keep_best(search *f, const submodi_view *v, double value, size_t k)
{
    if (!(value < f->value)) {
        return;
    }
    f->value = value;
    memset(f->best, 0, f->n);
    for (size_t i = 0; i < v->begin; i++) {
        f->best[v->sequence[i]] = 1;
    }
    for (size_t i = 0; i < k; i++) {
        size_t at = v->begin + (size_t)v->order[i];
        f->best[v->sequence ? (size_t)v->sequence[at] : at] = 1;
    }
}

/* {s < 0} = {u > 0}: a piece where all u are above 0 is in every minimiser, one where they are
 * below in none. Any other holds 0, and its prefixes compete with the best set of all. */
static sight look_at(search *f, const submodi_view *v)
{
    sight seen = {.share = (double)v->n / (double)f->n};
    double sum = 0;
    double lowest = 0;
    double size_of_gains = 0;
    size_t best = 0;
    for (size_t k = 0; k < v->n; k++) {
        sum += v->gains[k];
        size_of_gains += fabs(v->gains[k]);
        seen.size = fmin(seen.size + fabs(v->s[k]) * v->sigma, DBL_MAX);
        seen.dual += fmin(v->s[k], 0) * v->sigma;
        best = sum < lowest ? k + 1 : best;
        lowest = fmin(sum, lowest);
    }
    keep_best(f, v, v->before + lowest * v->sigma, best);
    f->scale = v->n == f->n ? fmin(fmax(f->scale, size_of_gains * v->sigma), DBL_MAX) : f->scale;
    seen.value = v->low >= 0 ? sum * v->sigma : v->high <= 0 ? 0 : f->value - v->before;
    return seen;
}

/* Whether the signs of s are those of the solution, and clear enough to prove which elements belong
 * to all minimisers and which to none. */
static bool signs_are_clear(const submodi_view *v)
{
    double low = fmax(v->low, 0) / v->sigma;
    double high = fmin(v->high, 0) / v->sigma;
    bool clear = true;
    for (size_t i = 0; i < v->n; i++) {
        clear &= (v->low < 0 || -v->s[i] >= low / 2) && (v->high > 0 || -v->s[i] <= high / 2);
    }
    return clear;
}

/* Fujishige-Wolfe calls this with every greedy order, which goes from the smallest to the largest
 * s. Returns true when the gap is small enough; that of a piece, for its share of the elements. */
static bool watch(void *ctx, const submodi_view *v)
{
    search *f = ctx;
    sight seen = look_at(f, v);
    double gap = seen.value - seen.dual;
    if (v->n < f->n) {
        bool whole = f->settings->integer_valued && !f->extremes;
        double tolerance = f->settings->tolerance;
        double allowed = tolerance * fabs(f->value) * seen.share + tolerance * seen.size +
                         margin(f) * seen.share;
        return gap <= fmax(allowed, whole ? 0.99 * seen.share : 0) && signs_are_clear(v);
    }
    if (close_enough(f, gap, seen.size)) {
        return true;
    }
    size_t attained[EXTREMES];
    return f->settings->integer_valued && gap < 1 &&
           (!f->extremes || find_extremes(f, v->order, v->gains, v->s, v->sigma, gap, attained));
}

/* Measures the size of F, which rounding errors are relative to, with one chain. */
static submod_status measure_scale(search *f)
{
    submodi_ascending(f->list, f->n);
    submod_status status = submod_fn_chain(f->fn, f->list, f->n, f->gains, f->work);
    f->info->oracle_calls++;
    f->scale = 0;
    for (size_t i = 0; status == SUBMOD_OK && i < f->n; i++) {
        f->scale = fmin(f->scale + fabs(f->gains[i]), DBL_MAX);
    }
    return status;
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

/* Finds the base as the projection of 0: the prox of 0 is -s / lambda. */
static submod_status base_by_prox(search *f)
{
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info prox;
    settings.max_iterations = f->settings->max_iterations;
    settings.time_limit = time_left(f);
    submod_status status = measure_scale(f);
    if (status != SUBMOD_OK) {
        return status;
    }
    memset(f->gains, 0, f->n * sizeof *f->gains);
    status = submod_prox(f->fn, f->gains, lambda_for(f), NULL, f->s, &settings, &prox, f->work);
    if (status >= 0) {
        f->info->iterations = prox.iterations;
        f->info->minor_cycles = prox.minor_cycles;
        f->info->oracle_calls += prox.oracle_calls;
    }
    return status;
}

static submod_status by_min_norm(search *f)
{
    submod_prox_settings settings = submod_prox_defaults();
    submodi_prox_problem problem = {.who = who, .fn = f->fn, .lambda = 1, .settings = &settings};
    submod_prox_info prox = {0};
    double *zero = submodi_take(f->work, f->n, sizeof *zero);
    double *u = submodi_take(f->work, f->n, sizeof *u);
    if (!zero || !u) {
        return submodi_nomem(who);
    }
    settings.tolerance = 0; /* the watch decides */
    settings.max_iterations = f->settings->max_iterations;
    settings.time_limit = time_left(f);
    settings.combination = f->settings->combination;
    problem.found = settings.combination ? &f->found : NULL;
    memset(zero, 0, f->n * sizeof *zero);
    memset(f->best, 0, f->n);
    problem.x = zero;
    submod_status status = submodi_min_norm(&problem, watch, f, u, f->s, &prox, f->work);
    f->info->iterations = prox.iterations;
    f->info->minor_cycles = prox.minor_cycles;
    f->info->oracle_calls += prox.oracle_calls;
    return status;
}

/* f->list = the elements from the smallest to the largest s, and along[k] = the gain of the k-th in
 * this order. */
static submod_status gains_along(search *f, const double *s, double *along)
{
    for (size_t i = 0; i < f->n; i++) {
        along[i] = -s[i];
    }
    submod_lovasz_settings plain = submod_lovasz_defaults();
    plain.ties = SUBMOD_TIES_INDEX;
    submod_status status = submod_lovasz(f->fn, along, NULL, f->gains, f->list, &plain, f->work);
    for (size_t k = 0; status == SUBMOD_OK && k < f->n; k++) {
        along[k] = f->gains[f->list[k]];
    }
    f->info->oracle_calls++;
    return status;
}

/* For cyclic projections, which know a base but no order. Elements that are decided stay in the
 * problem: without them parts would lose their fast proxes, since a Jaccard loss contracted is no
 * Jaccard loss, and only few sweeps are left by then (bench/sums.c, decided). */
static bool watch_base(void *ctx, const double *s)
{
    search *f = ctx;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, f->work);
    double *along = submodi_take(w, f->n, sizeof *along);
    submodi_view whole = {.n = f->n,
                          .order = f->list,
                          .gains = along,
                          .s = s,
                          .sigma = 1,
                          .low = -INFINITY,
                          .high = INFINITY};
    f->failed = along ? gains_along(f, s, along) : submodi_nomem(who);
    bool enough = f->failed || watch(f, &whole);
    submodi_scope_close(&scope);
    return enough;
}

/* The prox of 0 by the parts of a sum. A single part is solved at one go, as well as
 * it can be, and watched at the end only: then it is the watch that says whether that is enough. */
static submod_status by_sum(search *f)
{
    submod_prox_settings settings = submod_prox_defaults();
    submodi_prox_problem problem = {
        .who = who, .fn = f->fn, .settings = &settings, .enough = watch_base, .enough_ctx = f};
    submod_prox_info prox = {0};
    double *zero = submodi_take(f->work, f->n, sizeof *zero);
    double *u = submodi_take(f->work, f->n, sizeof *u);
    if (!zero || !u) {
        return submodi_nomem(who);
    }
    submod_status status = measure_scale(f);
    if (status != SUBMOD_OK) {
        return status;
    }
    settings.method = SUBMOD_PROX_SUM;
    settings.tolerance = 0; /* the watch decides */
    settings.max_iterations = f->settings->max_iterations;
    settings.time_limit = time_left(f);
    memset(zero, 0, f->n * sizeof *zero);
    memset(f->best, 0, f->n);
    problem.x = zero;
    problem.lambda = lambda_for(f);
    status = submodi_prox_sum(&problem, u, f->s, &prox, f->work);
    if (status >= 0 && !f->failed && watch_base(f, f->s)) {
        status = SUBMOD_OK;
    }
    f->info->iterations = prox.iterations;
    f->info->oracle_calls += prox.oracle_calls;
    return status < 0 ? status : f->failed ? f->failed : status;
}

/* Finds the smallest and largest minimiser as prefixes of the order of s that attain the value. */
static submod_status extremes_from_base(search *f)
{
    double *along = submodi_take(f->work, f->n, sizeof *along);
    if (!along) {
        return submodi_nomem(who);
    }
    double dual = 0;
    for (size_t i = 0; i < f->n; i++) {
        dual += fmin(f->s[i], 0);
    }
    submod_status status = gains_along(f, f->s, along);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t attained[EXTREMES];
    f->info->extremes_proved = find_extremes(f, f->list, along, f->s, 1, f->value - dual, attained);
    for (size_t k = 0; k < f->n; k++) {
        int32_t e = f->list[k];
        bool none = attained[SMALLEST] > f->n; /* only an earlier order attained the value */
        f->set[SMALLEST][e] = none ? f->best[e] : k < attained[SMALLEST];
        f->set[LARGEST][e] = none ? f->best[e] : k < attained[LARGEST];
    }
    return SUBMOD_OK;
}

/* Both minimisers and the base in one go. */
static submod_status by_minimum(search *f, bool with_base)
{
    memset(f->gains, 0, f->n * sizeof *f->gains);
    f->info->oracle_calls++;
    return f->fn->traits.minimum(f->fn->ctx, f->gains, f->set[SMALLEST],
                                 f->largest ? f->set[LARGEST] : NULL, with_base ? f->s : NULL,
                                 &f->scale, f->work);
}

static submod_status by_minimizer(search *f)
{
    submodi_ascending(f->list, f->n);
    memset(f->gains, 0, f->n * sizeof *f->gains);
    submod_status status = SUBMOD_OK;
    for (int i = SMALLEST; status == SUBMOD_OK && i < EXTREMES; i++) {
        f->info->oracle_calls++;
        status =
            submodi_fn_minimize(f->fn, NULL, 0, f->list, f->n, f->gains, i == LARGEST, f->set[i]);
        for (size_t e = 0; status == SUBMOD_OK && e < f->n; e++) {
            f->set[i][e] = f->set[i][e] != 0;
        }
    }
    return status;
}

static submod_status not_submodular(const char *proof)
{
    return submodi_fail(SUBMOD_INACCURATE, "%s: F is not submodular, since %s; see submod_fn_check",
                        who, proof);
}

/* Searches all subsets, for up to half of the time limit. */
static submod_status by_all_subsets(search *f)
{
    submodi_ascending(f->list, f->n);
    submodi_subsets of = {.fn = f->fn, .elements = f->list, .n = f->n};
    submodi_minimisers found;
    double limit = f->settings->time_limit;
    double deadline = limit > 0 ? f->begin + limit / 2 : INFINITY;
    submod_status status = submodi_try_all_subsets(who, &of, deadline, &found, f->work);
    f->info->oracle_calls += found.tried;
    if (status == SUBMOD_OK) {
        submodi_flags_from_bits(found.smallest, f->n, f->set[SMALLEST]);
        submodi_flags_from_bits(found.largest, f->n, f->set[LARGEST]);
        f->info->extremes_proved = found.extreme;
    }
    if (status == SUBMOD_OK && !found.extreme && f->fn->traits.calls_back) {
        status = not_submodular("the union or intersection of two minimisers is not a minimiser");
    }
    return status;
}

/* ---- the entry ---- */

static submod_status require_arguments(const submod_fn *fn, const submod_sfm_settings *s)
{
    if (!fn) {
        return submodi_fail(SUBMOD_EINVAL, "%s: fn is NULL", who);
    }
    if ((int)s->method < SUBMOD_SFM_AUTO || (int)s->method > SUBMOD_SFM_SUM) {
        return submodi_fail(SUBMOD_EINVAL, "%s: method = %d is unknown; see submod_sfm_method", who,
                            (int)s->method);
    }
    if (!(s->tolerance >= 0 && isfinite(s->tolerance)) ||
        !(s->time_limit >= 0 && isfinite(s->time_limit))) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: tolerance = %g and time_limit = %g must be finite and >= 0", who,
                            s->tolerance, s->time_limit);
    }
    if (s->method == SUBMOD_SFM_MINIMIZER && !fn->ops.minimize) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "%s: a %s function has no minimiser of its own; try SUBMOD_SFM_AUTO",
                            who, fn->name);
    }
    if (s->method == SUBMOD_SFM_SUM && !submodi_can_sum(fn)) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "%s: a %s function is no sum; try SUBMOD_SFM_AUTO",
                            who, fn->name);
    }
    if (s->method == SUBMOD_SFM_EXHAUSTIVE && fn->n > SUBMOD_EXHAUSTIVE_MAX) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "%s: n = %zu must be <= %d for SUBMOD_SFM_EXHAUSTIVE", who, fn->n,
                            SUBMOD_EXHAUSTIVE_MAX);
    }
    return SUBMOD_OK;
}

static bool allocate(search *f)
{
    f->s = submodi_take(f->work, f->n, sizeof *f->s);
    f->set[SMALLEST] = submodi_take(f->work, f->n, 1);
    f->set[LARGEST] = submodi_take(f->work, f->n, 1);
    f->best = submodi_take(f->work, f->n, 1);
    f->list = submodi_take(f->work, f->n, sizeof *f->list);
    f->gains = submodi_take(f->work, f->n, sizeof *f->gains);
    return f->s && f->set[SMALLEST] && f->set[LARGEST] && f->best && f->list && f->gains;
}

/* Whether s and the gap decide for every element that it is in all minimisers or in none, and the
 * set is what they say. */
static bool is_only_minimiser(const search *f, const uint8_t *set, double gap)
{
    double bound = gap + margin(f);
    bool only = true;
    for (size_t i = 0; i < f->n; i++) {
        only = only && fabs(f->s[i]) > bound && (set[i] != 0) == (f->s[i] < 0);
    }
    return only;
}

/* Whether s leaves no choice but these two sets (head of this file), up to rounding. */
static bool leaves_no_choice(const search *f, double gap)
{
    double least = fmax(gap, 0) + margin(f);
    bool none = f->extremes;
    for (size_t i = 0; none && i < f->n; i++) {
        none = (f->set[SMALLEST][i] != 0) == (f->s[i] < -least) &&
               (f->set[LARGEST][i] != 0) == (f->s[i] <= least);
    }
    return none;
}

/* Evaluates the value with eval and the bound with s, and decides what they prove. The gap, and
 * what it is compared with, do not depend on F(empty), however large that is. A gap far below 0
 * proves that s is no base: F is not submodular, and s bounds nothing. */
static submod_status judge(search *f, submod_status outcome)
{
    submod_sfm_info *info = f->info;
    double size = 0;
    double below = 0;
    double empty;
    submod_status status = evaluate(f, f->set[SMALLEST], &info->value, &empty);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (size_t i = 0; i < f->n; i++) {
        below += fmin(f->s[i], 0);
        size = fmin(size + fabs(f->s[i]), DBL_MAX); /* F may still be finite */
    }
    f->value = info->value - empty;
    info->gap = f->value - below;
    info->dual = empty + below;
    f->scale = fmax(f->scale, size);
    if (!isfinite(info->gap) || !isfinite(info->dual)) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: value - dual overflows", who);
    }
    bool sound = close_enough(f, -info->gap, size);
    bool all_tried = info->method == SUBMOD_SFM_EXHAUSTIVE;
    bool proof = sound && !f->fn->traits.calls_back; /* s bounds F from below */
    bool small = info->gap <= 0 || (f->settings->integer_valued && info->gap < 1) ||
                 is_only_minimiser(f, f->set[SMALLEST], info->gap);
    info->exact = all_tried || (proof && small);
    info->extremes_proved =
        all_tried ? info->extremes_proved
                  : proof && (info->extremes_proved || leaves_no_choice(f, info->gap));
    if (!sound && f->fn->traits.calls_back) {
        status = not_submodular("the value is below the lower bound from s");
        return outcome == SUBMOD_OK ? status : outcome;
    }
    bool good = sound && (small || all_tried || close_enough(f, info->gap, size));
    return outcome == SUBMOD_OK && !good ? SUBMOD_INACCURATE : outcome;
}

static submod_status by_base(search *f)
{
    submod_status outcome = f->info->method == SUBMOD_SFM_SUM ? by_sum(f) : by_min_norm(f);
    if (outcome >= 0) {
        submod_status status = extremes_from_base(f);
        outcome = status == SUBMOD_OK ? outcome : status;
    }
    return outcome < 0 ? outcome : judge(f, outcome);
}

/* Min-norm takes the place of a search that took too long. */
static submod_status after_search(search *f)
{
    f->info->method = SUBMOD_SFM_MIN_NORM;
    submod_status outcome = by_base(f);
    bool demanded = f->settings->method == SUBMOD_SFM_EXHAUSTIVE;
    return demanded && outcome == SUBMOD_OK ? SUBMOD_TIMELIMIT : outcome;
}

static submod_status solve(search *f, bool with_base)
{
    submod_status outcome = SUBMOD_OK;
    if (f->info->method == SUBMOD_SFM_MINIMIZER && f->fn->traits.minimum) {
        outcome = by_minimum(f, with_base);
        return outcome == SUBMOD_OK && with_base ? judge(f, outcome) : outcome;
    }
    switch (f->info->method) {
    case SUBMOD_SFM_MINIMIZER: outcome = by_minimizer(f); break;
    case SUBMOD_SFM_EXHAUSTIVE: outcome = by_all_subsets(f); break;
    default: return by_base(f);
    }
    if (outcome == SUBMOD_TIMELIMIT) {
        return after_search(f);
    }
    if (outcome < 0 || !with_base) {
        return outcome;
    }
    submod_status status = base_by_prox(f);
    outcome = status < 0 || outcome == SUBMOD_OK ? status : outcome;
    return outcome < 0 ? outcome : judge(f, outcome);
}

submod_status submod_sfm(const submod_fn *fn, uint8_t *smallest, uint8_t *largest, double *s,
                         const submod_sfm_settings *settings, submod_sfm_info *info,
                         submod_work *work)
{
    double begin = submodi_seconds();
    submod_sfm_settings chosen = submod_sfm_defaults();
    submod_status status = submodi_read_settings(who, "submod_sfm_defaults", settings, &chosen);
    status = status ? status : require_arguments(fn, &chosen);
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_sfm_info found = {.method = chosen.method};
    if (chosen.method == SUBMOD_SFM_AUTO) {
        found.method = fn->ops.minimize                          ? SUBMOD_SFM_MINIMIZER
                       : fn->traits.calls_back && fn->n <= SMALL ? SUBMOD_SFM_EXHAUSTIVE
                       : submodi_sum_is_easier(fn)               ? SUBMOD_SFM_SUM
                                                                 : SUBMOD_SFM_MIN_NORM;
    }
    search f = {.fn = fn, .settings = &chosen, .n = fn->n, .info = &found, .begin = begin};
    f.extremes = smallest || largest;
    f.largest = largest != NULL;
    submodi_scope scope;
    f.work = submodi_scope_open(&scope, work);
    status = allocate(&f) ? solve(&f, s || info) : submodi_nomem(who);
    if (status >= 0) {
        submodi_copy_out(smallest, f.set[SMALLEST], f.n, 1);
        submodi_copy_out(largest, f.set[LARGEST], f.n, 1);
        submodi_copy_out(s, f.s, f.n, sizeof *s);
        if (chosen.combination && found.method == SUBMOD_SFM_MIN_NORM) {
            submodi_combination_move(chosen.combination, &f.found);
        }
        found.seconds = submodi_seconds() - begin;
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    submodi_combination_clear(&f.found);
    submodi_scope_close(&scope);
    return submodi_failed_in(who, status);
}
