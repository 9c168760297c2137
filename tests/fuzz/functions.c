/* Fuzzes trees of set functions: their values, prox and minimum.
 *
 * A prox against its certificate: s is a base, which all subsets say, and the gap by its
 * definition. A minimum against all subsets. Methods that solve the same problem against each
 * other, as far as their gaps allow. Then callbacks that fail or lie once, hostile numbers for
 * constructors, nesting up to where it is refused, a call that is cancelled, and the derivative of
 * a prox. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "combinations.h"
#include "support.h"
#include "trees.h"

enum { ALL = 1 << TREES_MOST };

/* One that calls of all inputs share, for about half of the functions; NULL for the others. */
static submod_work *work_for(const submod_fn *fn)
{
    static submod_work *work;
    FUZZ_CHECK(work || submod_work_create(&work) == SUBMOD_OK, "no workspace");
    return submod_fn_size(fn) % 2 ? work : NULL;
}

static bool all_finite(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return false;
        }
    }
    return true;
}

/* ---- prox ---- */

typedef struct answer {
    submod_status status;
    double u[TREES_MOST], s[TREES_MOST];
    submod_prox_info info;
} answer;

static answer solve(const tree *t, const double *x, double lambda, submod_prox_method method,
                    int hinge)
{
    answer a;
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    settings.hinge = hinge;
    settings.max_iterations = 500;
    size_t n = submod_fn_size(t->fn);
    a.status = submod_prox(t->fn, x, lambda, a.u, a.s, &settings, &a.info, work_for(t->fn));
    if (a.status < 0) {
        FUZZ_CHECK(submod_last_error()[0], "status %d without words", (int)a.status);
    } else {
        FUZZ_CHECK(all_finite(a.u, n) && all_finite(a.s, n), "method %d: u or s is not finite",
                   (int)a.info.method);
    }
    return a;
}

static void show(size_t n, const double *x, double lambda, const answer *a)
{
    fprintf(stderr, "method %d, status %d, lambda %g, gap %g\n", (int)a->info.method,
            (int)a->status, lambda, a->info.gap);
    for (size_t i = 0; i < n && a->status >= 0; i++) {
        fprintf(stderr, "    x %.17g u %.17g s %.17g\n", x[i], a->u[i], a->s[i]);
    }
}

/* u, s and the gap by their definitions; only of SUBMOD_OK. Numbers whose squares overflow are left
 * to what can be said without them. */
static void check_certificate(const tree *t, const double *F, const double *x, double lambda,
                              const answer *a)
{
    size_t n = submod_fn_size(t->fn);
    double reach = 0, total = 0, off_base = tree_base_rounding(t, a->info.method, x, lambda);
    for (size_t i = 0; i < n; i++) {
        reach = fmax(reach, fabs(x[i]) + fabs(a->s[i] / lambda));
        total += a->s[i];
    }
    FUZZ_CHECK(worst_excess(F, n, a->s) <= off_base,
               "method %d, lambda %g: s is no base, by %g of %g", (int)a->info.method, lambda,
               worst_excess(F, n, a->s), t->size);
    FUZZ_CHECK(fuzz_near(total, F[((size_t)1 << n) - 1], off_base),
               "method %d, lambda %g: s(V) = %.17g, F(V) = %.17g", (int)a->info.method, lambda,
               total, F[((size_t)1 << n) - 1]);
    double gap = choquet(F, n, a->u), size = lambda * reach * reach;
    for (size_t i = 0; i < n; i++) {
        double off = a->u[i] - (x[i] - a->s[i] / lambda);
        gap += lambda * off * off / 2 - a->s[i] * a->u[i];
    }
    if (isfinite(size) && isfinite(t->size * reach)) {
        /* The last is what prox.h says of the longest greedy vector. */
        double rounding = 1e-9 * t->size * reach + 1e-9 * size +
                          pow(16 * DBL_EPSILON * t->size, 2) / lambda * (double)n;
        FUZZ_CHECK(gap <= rounding, "method %d, lambda %g: the gap is %g, rounding %g",
                   (int)a->info.method, lambda, gap, rounding);
    }
}

/* |u - v|^2 <= 2 (gap of u + gap of v) / lambda, as both are that close to the solution. */
static void check_same(const tree *t, const double *x, double lambda, const answer *a,
                       const answer *b)
{
    size_t n = submod_fn_size(t->fn);
    double apart = 0, reach = t->size / lambda;
    for (size_t i = 0; i < n; i++) {
        apart = fmax(apart, fabs(a->u[i] - b->u[i]));
        reach = fmax(reach, fabs(x[i]));
    }
    double gaps = fmax(a->info.gap, 0) + fmax(b->info.gap, 0);
    double allowed = 2 * sqrt(2 * gaps) / sqrt(lambda) + 1e-5 * reach;
    FUZZ_CHECK(!isfinite(allowed) || apart <= allowed,
               "methods %d and %d are %g apart, %g allowed, lambda %g", (int)a->info.method,
               (int)b->info.method, apart, allowed, lambda);
}

static void fuzz_prox(dice *d, const tree *t, const double *F)
{
    static const submod_prox_method others[] = {SUBMOD_PROX_MIN_NORM, SUBMOD_PROX_SUM,
                                                SUBMOD_PROX_DECOMPOSITION};
    double x[TREES_MOST], lambda = tree_lambda(d);
    numbers kind = dice_numbers(d);
    submod_prox_method other = others[dice_below(d, sizeof others / sizeof *others)];
    tree_vector(d, kind, submod_fn_size(t->fn), x);
    if (dice_once_in(d, 5)) { /* F need not be monotone: then it says so, or it says nothing */
        (void)solve(t, x, lambda, other, 1);
        (void)solve(t, x, lambda, SUBMOD_PROX_AUTO, 1);
    }
    answer best = solve(t, x, lambda, SUBMOD_PROX_AUTO, 0);
    answer second = solve(t, x, lambda, other, 0);
    if (fuzz_shows()) {
        show(submod_fn_size(t->fn), x, lambda, &best);
        show(submod_fn_size(t->fn), x, lambda, &second);
    }
    if (best.status == SUBMOD_OK) {
        check_certificate(t, F, x, lambda, &best);
    }
    if (second.status == SUBMOD_OK) {
        check_certificate(t, F, x, lambda, &second);
    }
    if (best.status == SUBMOD_OK && second.status == SUBMOD_OK) {
        check_same(t, x, lambda, &best, &second);
    }
}

/* ---- minima ---- */

static double value_of(const double *F, size_t n, const uint8_t *in)
{
    size_t mask = 0;
    for (size_t i = 0; i < n; i++) {
        mask |= (size_t)(in[i] != 0) << i;
    }
    return F[mask];
}

static double lowest_of(const double *F, size_t n)
{
    double lowest = 0;
    for (size_t mask = 0; mask < (size_t)1 << n; mask++) {
        lowest = fmin(lowest, F[mask]);
    }
    return lowest;
}

static void fuzz_minimum(dice *d, const tree *t, const double *F)
{
    uint8_t smallest[TREES_MOST], largest[TREES_MOST];
    double s[TREES_MOST], empty = 0;
    size_t n = submod_fn_size(t->fn);
    submod_sfm_settings settings = submod_sfm_defaults();
    submod_sfm_info info;
    settings.method = (submod_sfm_method)dice_below(d, 5);
    settings.max_iterations = 500;
    submod_status status =
        submod_sfm(t->fn, smallest, largest, s, &settings, &info, work_for(t->fn));
    if (status != SUBMOD_OK) {
        FUZZ_CHECK(status > 0 || submod_last_error()[0], "status %d without words", (int)status);
        return;
    }
    (void)submod_fn_eval(t->fn, NULL, 0, &empty);
    double lowest = lowest_of(F, n), rounding = 1e-8 * t->size;
    FUZZ_CHECK(fuzz_near(info.value - empty, lowest, rounding), "method %d: %.17g, lowest %.17g",
               (int)info.method, info.value - empty, lowest);
    FUZZ_CHECK(fuzz_near(value_of(F, n, smallest), lowest, rounding) &&
                   fuzz_near(value_of(F, n, largest), lowest, rounding),
               "method %d: the sets are no minimisers", (int)info.method);
    FUZZ_CHECK(worst_excess(F, n, s) <= rounding, "method %d: s is no base, by %g of %g",
               (int)info.method, worst_excess(F, n, s), t->size);
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(!smallest[i] || largest[i], "method %d: smallest is not within largest",
                   (int)info.method);
    }
}

static void fuzz_block(dice *d, const tree *t, const double *F)
{
    size_t n = submod_fn_size(t->fn), k = 0, nbase = 0;
    int32_t block[TREES_MOST], base[TREES_MOST];
    double z[TREES_MOST], value = 0, lowest = 0, size = t->size;
    uint8_t in[TREES_MOST];
    size_t of_block = dice_bits(d, 1), of_base = dice_bits(d, 1);
    numbers kind = dice_numbers(d);
    for (size_t e = 0; e < n; e++) {
        if (of_block >> e & 1) {
            z[k] = dice_real(d, kind == NUMBERS_ANY ? NUMBERS_TIED : kind);
            size += fabs(z[k]);
            block[k++] = (int32_t)e;
        } else if (of_base >> e & 1) {
            base[nbase++] = (int32_t)e;
        }
    }
    of_base &= ~of_block & (((size_t)1 << n) - 1);
    submod_status status =
        minimize_minor(t->fn, base, nbase, block, k, z, (int)dice_below(d, 2), in, &value);
    if (status != SUBMOD_OK || !isfinite(size * 64)) {
        return;
    }
    for (size_t set = 0; set < (size_t)1 << k; set++) {
        size_t mask = of_base;
        double off = 0;
        for (size_t j = 0; j < k; j++) {
            mask |= set >> j & 1 ? (size_t)1 << block[j] : 0;
            off += set >> j & 1 ? z[j] : 0;
        }
        lowest = fmin(lowest, F[mask] - F[of_base] - off);
    }
    FUZZ_CHECK(fuzz_near(value, lowest, 1e-9 * size), "the minimum of a block is %.17g, not %.17g",
               value, lowest);
}

/* ---- callbacks that lie ---- */

/* A function that is right but for one call. */
typedef struct liar {
    const double *F;
    size_t n, left; /* calls until the lie */
    double value;
    submod_status status;
    bool told; /* a lie that must end the call */
} liar;

static submod_status lying_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    liar *l = (liar *)ctx;
    size_t mask = 0;
    for (size_t i = 0; i < k; i++) {
        FUZZ_CHECK(set[i] >= 0 && (size_t)set[i] < l->n && !(mask >> set[i] & 1),
                   "a callback was asked for the element %d", (int)set[i]);
        mask |= (size_t)1 << set[i];
    }
    *value = l->F[mask];
    if (l->left-- == 0) {
        *value = l->value;
        l->told = l->status != SUBMOD_OK || !isfinite(l->value);
        return l->status;
    }
    return SUBMOD_OK;
}

/* An error that was told ends the call with SUBMOD_ECALLBACK; other lies with any status. */
static void fuzz_lies(dice *d, const tree *t, const double *F)
{
    double x[TREES_MOST], lambda = tree_lambda(d);
    size_t n = submod_fn_size(t->fn);
    liar l = {F, n, dice_below(d, dice_below(d, 2) ? 8 : 200), 0, SUBMOD_OK, false};
    submod_fn_ops ops = {.eval = lying_eval};
    size_t roll = dice_below(d, 4);
    l.value = roll == 0 ? (double)NAN : roll == 1 ? -(double)INFINITY : dice_real(d, NUMBERS_ANY);
    l.status = roll == 3 ? (submod_status)(1 + dice_below(d, 5)) : SUBMOD_OK;
    tree liars = {NULL, t->size};
    tree_vector(d, NUMBERS_ORDINARY, n, x);
    FUZZ_CHECK(submod_fn_custom(n, &ops, &l, &liars.fn) == SUBMOD_OK, "no custom function");
    submod_status status;
    if (dice_below(d, 2)) {
        static const submod_prox_method methods[] = {SUBMOD_PROX_AUTO, SUBMOD_PROX_MIN_NORM,
                                                     SUBMOD_PROX_DECOMPOSITION};
        status = solve(&liars, x, lambda, methods[dice_below(d, 3)], 0).status;
    } else {
        submod_sfm_settings settings = submod_sfm_defaults();
        settings.method = (submod_sfm_method)dice_below(d, 5);
        settings.max_iterations = 500;
        status = submod_sfm(liars.fn, NULL, NULL, NULL, &settings, NULL, NULL);
    }
    FUZZ_CHECK(!l.told || status == SUBMOD_ECALLBACK, "a callback failed with %d and %g: status %d",
               (int)l.status, l.value, (int)status);
    submod_fn_free(liars.fn);
}

/* ---- derivatives ---- */

/* Averages over blocks keep the sum; a block that is none is refused, and nothing is written. */
static void fuzz_derivative(dice *d, const tree *t)
{
    static const double nothing = -77;
    double x[TREES_MOST], v[TREES_MOST], by_x[TREES_MOST], value[TREES_MOST], sums[2] = {0, 0};
    int32_t block[TREES_MOST];
    size_t n = submod_fn_size(t->fn), count = 0;
    double lambda = tree_lambda(d);
    tree_vector(d, dice_numbers(d), n, x);
    tree_vector(d, NUMBERS_ORDINARY, n, v);
    answer a = solve(t, x, lambda, SUBMOD_PROX_AUTO, 0);
    if (a.status < 0 || submod_prox_blocks(t->fn, x, lambda, a.u, block, value, &count, NULL, NULL,
                                           work_for(t->fn)) < 0) {
        return;
    }
    FUZZ_CHECK(count >= 1 && count <= n, "%zu blocks", count);
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(block[i] >= 0 && (size_t)block[i] < count, "block %d of %zu", (int)block[i],
                   count);
    }
    if (submod_prox_vjp(&(submod_prox_point){.n = n, .lambda = lambda, .block = block}, v,
                        &(submod_prox_derivatives){.by_x = by_x}, NULL) == SUBMOD_OK) {
        for (size_t i = 0; i < n; i++) {
            sums[0] += v[i];
            sums[1] += by_x[i];
        }
        FUZZ_CHECK(fuzz_near(sums[0], sums[1], 1e-12), "%.17g became %.17g", sums[0], sums[1]);
    }
    block[dice_below(d, n)] = (int32_t)dice_bits(d, 4);
    by_x[0] = nothing;
    submod_status status =
        submod_prox_vjp(&(submod_prox_point){.n = n, .lambda = lambda, .block = block, .s = a.s}, v,
                        &(submod_prox_derivatives){.by_x = by_x}, NULL);
    FUZZ_CHECK(status == SUBMOD_OK || (by_x[0] == nothing && submod_last_error()[0]),
               "status %d, but something was written, or there are no words", (int)status);
}

/* ---- nested, cancelled ---- */

/* Deeper and deeper: usable at any level. */
static void fuzz_nesting(dice *d, const tree *t)
{
    submod_fn *at = submod_fn_retain(t->fn), *next = NULL;
    double zero[TREES_MOST] = {0}, value;
    int level = 0;
    for (; level < 300; level++, at = next) {
        submod_status status =
            dice_below(d, 2) ? combine_scaled(at, 1, &next) : combine_plus(at, zero, &next);
        FUZZ_CHECK(status == SUBMOD_OK || submod_last_error()[0], "level %d without words", level);
        if (status != SUBMOD_OK) {
            break;
        }
        submod_fn_free(at);
    }
    (void)submod_fn_eval(at, NULL, 0, &value);
    (void)solve(&(tree){at, t->size}, zero, 1, SUBMOD_PROX_AUTO, 0);
    submod_fn_free(at);
}

static int always(void *ctx)
{
    (void)ctx;
    return 1;
}

static void fuzz_cancelled(dice *d, const tree *t)
{
    double x[TREES_MOST];
    tree_vector(d, NUMBERS_ORDINARY, submod_fn_size(t->fn), x);
    submod_set_poll(always, NULL);
    (void)solve(t, x, 1, SUBMOD_PROX_AUTO, 0);
    (void)solve(t, x, 1, SUBMOD_PROX_MIN_NORM, 0);
    submod_set_poll(NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    double F[ALL];
    dice d = dice_of(bytes, size);
    size_t n = 2 + dice_below(&d, TREES_MOST - 1);
    submod_set_num_threads(1);
    tree t = tree_make(&d, n, 4);
    if (t.fn && tree_values(&t, F)) {
        fuzz_prox(&d, &t, F);
        fuzz_minimum(&d, &t, F);
        fuzz_block(&d, &t, F);
        fuzz_lies(&d, &t, F);
        if (dice_once_in(&d, 16)) {
            fuzz_nesting(&d, &t);
            fuzz_cancelled(&d, &t);
        }
    }
    tree_try_hostile(&d, n);
    if (t.fn) {
        fuzz_derivative(&d, &t);
    }
    submod_fn_free(t.fn);
    return 0;
}
