/* Numbers at all ends of their range: lambda and x from 1e-300 to 1e300, denormals, entries that
 * are all equal, and heavy ties, for the prox, sums, minimisers, losses and optimisers. Either the
 * certificate holds, or the status says that it does not; never a wrong answer with SUBMOD_OK,
 * never a NaN.
 *
 *   test_stress --table     prints how often what happened (scripts/stress.sh)
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combinations.h"
#include "depth.h"
#include "losses.h"
#include "support.h"

enum { N = 7 };

/* ---- what happened ---- */

typedef enum outcome { HOLDS, SAYS_SO, REFUSED, WRONG, OUTCOMES } outcome;
enum { PROX, WOLFE, SUMS, MINIMA, LOSSES, PLANES, BUNDLE, WHATS };
static const char *const whats[WHATS] = {"prox, best method", "prox, min-norm", "prox, sums",
                                         "minimum",           "losses",         "prox, max-affine",
                                         "bundle method"};

/* What the numbers are like. */
enum { ORDINARY, TINY, HUGE_ONES, DENORMAL, EQUAL, TIED, WIDE, KINDS };
static const char *const kinds[KINDS] = {"ordinary",  "about 1e-300", "about 1e300",    "denormal",
                                         "all equal", "heavy ties",   "1e-300 to 1e300"};

static long counts[WHATS][KINDS][OUTCOMES];

static char wrong[2000]; /* what was */

static void note(int what, int k, outcome happened, const char *of, double lambda)
{
    counts[what][k][happened]++;
    size_t used = strlen(wrong);
    if (happened == WRONG) {
        snprintf(wrong + used, sizeof wrong - used, "%s of %s, numbers %s, lambda %g\n",
                 whats[what], of, kinds[k], lambda);
    }
}

/* ---- numbers ---- */

static double of_kind(submod_rng *rng, int k)
{
    double z = submod_rng_normal(rng);
    switch (k) {
    case TINY: return z * 1e-300;
    case HUGE_ONES: return z * 1e300;
    case DENORMAL: return z * 1e-310;
    case EQUAL: return 0.75;
    case TIED: return 0.5 * (double)((int)submod_rng_below(rng, 3) - 1);
    case WIDE: return z * pow(10, 600 * submod_rng_uniform(rng) - 300);
    default: return z;
    }
}

static const double lambdas[] = {1e-300, 1e-150, 1e-20, 1e-3, 1, 1e3, 1e20, 1e150, 1e300};
enum { LAMBDAS = sizeof lambdas / sizeof *lambdas };

/* ---- certificates ---- */

static bool all_finite(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return false;
        }
    }
    return true;
}

/* With F by all its values: s is a base, and u is no farther from the prox than the gap allows,
 * judged by u = x - s / lambda, which is the prox if and only if s is the base next to lambda x:
 * for all bases b, <s - lambda x, b - s> >= 0. All of it is divided by the size of the numbers, so
 * that nothing overflows. */
static bool certificate_holds(const double *F, const double *x, double lambda, const double *u,
                              const double *s)
{
    double scale = value_scale(F, N);
    if (!all_finite(u, N) || !all_finite(s, N)) {
        return false;
    }
    if (worst_excess(F, N, s) > 1e-9 * scale) {
        return false;
    }
    double away[N], size = 0, far = 0, own = 0, reach = 0;
    for (size_t i = 0; i < N; i++) {
        away[i] = lambda * x[i] - s[i];
        far = fmax(far, fabs(lambda * x[i]) + fabs(s[i]));
        size = fmax(size, fabs(away[i]));
        reach = fmax(reach, fabs(x[i]) + fabs(s[i] / lambda));
    }
    /* Where lambda x is a base itself, up to rounding, lambda u is 0 as far as one can tell. */
    bool is_base = size <= 1e-9 * scale;
    for (size_t i = 0; i < N; i++) {
        if (is_base ? !(fabs(lambda * u[i]) <= 1e-8 * scale)
                    : !(fabs(u[i] - (x[i] - s[i] / lambda)) <= 1e-4 * reach)) {
            return false;
        }
    }
    if (is_base || !isfinite(size)) {
        return true; /* or lambda x overflows: no more to judge by */
    }
    for (size_t i = 0; i < N; i++) {
        away[i] /= size;
        own += away[i] * s[i];
    }
    /* The most that a base can have in this direction; a gap of tolerance allows for the rest. */
    return choquet(F, N, away) - own <= 1e-5 * scale + 1e-8 * far * (far / size);
}

static outcome judge_prox(const submod_fn *fn, const double *F, const double *x, double lambda,
                          submod_prox_method method)
{
    double u[N], s[N];
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    settings.max_iterations = 2000;
    submod_status status = submod_prox(fn, x, lambda, u, s, &settings, NULL, NULL);
    if (status < 0) {
        return submod_last_error()[0] ? REFUSED : WRONG;
    }
    if (status != SUBMOD_OK) {
        return all_finite(u, N) && all_finite(s, N) ? SAYS_SO : WRONG;
    }
    return certificate_holds(F, x, lambda, u, s) ? HOLDS : WRONG;
}

/* ---- prox ---- */

static bool is_sum(const char *name)
{
    return strstr(name, "sum") || strstr(name, "groups") || strstr(name, "hypergraph");
}

static void stress_prox(submod_rng *rng)
{
    for (size_t f = 0; f < family_count; f++) {
        submod_fn *fn = families[f].make(N, rng);
        double *F = subset_values(fn), x[N];
        for (int k = 0; k < KINDS; k++) { /* of x; minima have F of all sizes */
            for (int l = 0; l < LAMBDAS; l++) {
                for (size_t i = 0; i < N; i++) {
                    x[i] = of_kind(rng, k);
                }
                outcome best = judge_prox(fn, F, x, lambdas[l], SUBMOD_PROX_AUTO);
                outcome wolfe = judge_prox(fn, F, x, lambdas[l], SUBMOD_PROX_MIN_NORM);
                note(is_sum(families[f].name) ? SUMS : PROX, k, best, families[f].name, lambdas[l]);
                note(WOLFE, k, wolfe, families[f].name, lambdas[l]);
            }
        }
        free(F);
        submod_fn_free(fn);
    }
}

/* ---- minima ---- */

/* A family plus a modular part of these numbers; tiny and huge ones are so as a whole. */
static submod_fn *shifted(submod_rng *rng, size_t f, int k)
{
    double w[N], factor = k == TINY ? 1e-290 : k == HUGE_ONES ? 1e290 : 1;
    submod_fn *plain = families[f].make(N, rng), *with = NULL, *fn = NULL;
    for (size_t i = 0; i < N; i++) {
        w[i] = of_kind(rng, factor == 1 ? k : ORDINARY);
    }
    ck_assert_ok(combine_plus(plain, w, &with));
    ck_assert_ok(combine_scaled(with, factor, &fn));
    submod_fn_free(plain);
    submod_fn_free(with);
    return fn;
}

static outcome judge_minimum(const submod_fn *fn)
{
    uint8_t smallest[N], largest[N];
    submod_sfm_info info;
    submod_status status = submod_sfm(fn, smallest, largest, NULL, NULL, &info, NULL);
    if (status < 0) {
        return submod_last_error()[0] ? REFUSED : WRONG;
    }
    if (status != SUBMOD_OK) {
        return isfinite(info.value) ? SAYS_SO : WRONG;
    }
    double *F = subset_values(fn), lowest = F[0], largest_value = 0;
    for (uint32_t mask = 0; mask < UINT32_C(1) << N; mask++) {
        lowest = fmin(lowest, F[mask]);
        largest_value = fmax(largest_value, fabs(F[mask]));
    }
    free(F);
    return info.value <= lowest + 1e-9 * largest_value + 1e-300 ? HOLDS : WRONG;
}

static void stress_minima(submod_rng *rng)
{
    for (size_t f = 0; f < family_count; f++) {
        for (int i = 0; i < 4 * KINDS; i++) {
            int k = i % KINDS;
            submod_fn *fn = shifted(rng, f, k);
            outcome happened = judge_minimum(fn);
            note(MINIMA, k, happened, families[f].name, 0);
            submod_fn_free(fn);
        }
    }
}

/* ---- losses ---- */

/* Scores as floats; both engines, against each other and the definition. */
static outcome judge_loss(const batch *d, kind k, submod_loss_settings s)
{
    float *x = as_floats(d);
    submod_scores scores = submod_scores_f32(x, d->B, d->C, d->N);
    submod_labels labels = label_view(d);
    float g[3 * 40];
    submod_gradient to = submod_gradient_dense(g, d->C, d->N);
    submod_loss_info info;
    double exact = NAN, bins = NAN;
    s.engine = SUBMOD_ENGINE_EXACT;
    submod_status status = call_views(k, &scores, &labels, &exact, &to, NULL, &s);
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    submod_status again = call_views(k, &scores, &labels, &bins, NULL, &info, &s);
    free(x);
    if (status < 0 || again < 0) {
        return submod_last_error()[0] ? REFUSED : WRONG;
    }
    bool finite = true;
    for (size_t i = 0; i < d->C * d->N; i++) {
        finite = finite && isfinite(g[i]);
    }
    double rounding = 1e-5 * fmax(1, fabs(exact));
    bool close = fabs(exact - bins) <= info.delta + rounding;
    return finite && close && fabs(exact - reference(d, k, &s)) <= rounding ? HOLDS : WRONG;
}

static void stress_losses(submod_rng *rng)
{
    for (int k = SOFTMAX; k <= HINGE; k++) {
        for (int i = 0; i < 40 * KINDS; i++) {
            int numbers = i % KINDS;
            batch d = random_batch(rng, (kind)k, 1, k == HINGE ? 1 : 3, 40, true);
            for (size_t at = 0; at < d.C * d.N; at++) {
                d.x[at] = (double)(float)fmax(-3e38, fmin(of_kind(rng, numbers), 3e38));
            }
            outcome happened = judge_loss(&d, (kind)k, random_settings(rng, true));
            note(LOSSES, numbers, happened,
                 k == SOFTMAX ? "softmax"
                 : k == HINGE ? "hinge"
                              : "sigmoid",
                 0);
            free_batch(&d);
        }
    }
}

/* ---- optimisers ---- */

enum { ROWS = 5, COLUMNS = 4 };

/* J(u) = max_j (<a_j, u> + b_j) + lambda/2 |u|^2. */
static double max_affine_at(const double *a, const double *b, double lambda, const double *u)
{
    double largest = -INFINITY, squares = 0;
    for (size_t j = 0; j < ROWS; j++) {
        double value = b[j];
        for (size_t i = 0; i < COLUMNS; i++) {
            value += a[j * COLUMNS + i] * u[i];
        }
        largest = fmax(largest, value);
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        squares += lambda * u[i] * u[i];
    }
    return largest + squares / 2;
}

/* By its weights: J is nowhere below sum of w_j b_j - |A' w|^2 / (2 lambda). *size: of its terms.
 */
static double max_affine_bound(const double *a, const double *b, double lambda, const double *w,
                               double *size)
{
    double bound = 0;
    *size = 0;
    for (size_t j = 0; j < ROWS; j++) {
        bound += w[j] * b[j];
        *size += w[j] * fabs(b[j]);
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        double sum = 0;
        for (size_t j = 0; j < ROWS; j++) {
            sum += w[j] * a[j * COLUMNS + i];
        }
        bound -= sum / lambda * sum / 2;
        *size += sum / lambda * sum / 2;
    }
    return bound;
}

static outcome judge_planes(const double *a, const double *b, double lambda, double *lowest)
{
    double x[COLUMNS] = {0}, u[COLUMNS], w[ROWS] = {0}, size;
    submod_status status = submod_prox_max_affine(ROWS, COLUMNS, a, b, x, lambda, u, w, NULL, NULL);
    *lowest = NAN;
    if (status < 0) {
        return submod_last_error()[0] ? REFUSED : WRONG;
    }
    if (!all_finite(u, COLUMNS) || !all_finite(w, ROWS)) {
        return WRONG;
    }
    if (status != SUBMOD_OK) {
        return SAYS_SO;
    }
    *lowest = max_affine_at(a, b, lambda, u);
    double bound = max_affine_bound(a, b, lambda, w, &size);
    double steepest = max_abs(a, ROWS * COLUMNS); /* rounding is relative to it */
    size += 1e-6 * (steepest / lambda * steepest + max_abs(b, ROWS));
    return *lowest - bound <= 1e-7 * size + DBL_MIN ? HOLDS : WRONG;
}

/* lowest: the minimum, or NaN where nobody knows it. */
static outcome judge_bundle(const double *a, const double *b, double lambda, double lowest)
{
    double x[COLUMNS] = {0};
    submod_problem problem;
    submod_optim_info info;
    submod_bundle_settings settings = submod_bundle_defaults();
    settings.run.weight_decay = lambda;
    settings.run.max_iterations = 200;
    submod_status status = submod_problem_max_affine(ROWS, COLUMNS, a, b, &problem);
    if (status != SUBMOD_OK) {
        return submod_last_error()[0] ? REFUSED : WRONG;
    }
    status = submod_bundle(&problem, x, &settings, &info, NULL);
    submod_problem_clear(&problem);
    if (status < 0) {
        return submod_last_error()[0] ? REFUSED : WRONG;
    }
    if (!all_finite(x, COLUMNS)) {
        return WRONG;
    }
    double at = max_affine_at(a, b, lambda, x), steepest = max_abs(a, ROWS * COLUMNS);
    double size = 1e-7 * (fabs(at) + fabs(lowest)) + 1e-9 * settings.run.tolerance +
                  1e-12 * (steepest / lambda * steepest + max_abs(b, ROWS));
    bool bounds = isnan(lowest) || (info.lower_bound <= lowest + size && at >= lowest - size);
    bool told = info.stop == SUBMOD_STOP_TARGET ? info.gap <= settings.run.tolerance : true;
    return !bounds || !told ? WRONG : info.stop == SUBMOD_STOP_TARGET ? HOLDS : SAYS_SO;
}

static void stress_optimisers(submod_rng *rng)
{
    for (int k = 0; k < KINDS; k++) {
        for (int l = 0; l < LAMBDAS; l++) {
            double a[ROWS * COLUMNS], b[ROWS], lowest;
            for (size_t i = 0; i < ROWS * COLUMNS; i++) {
                a[i] = of_kind(rng, k);
            }
            for (size_t j = 0; j < ROWS; j++) {
                b[j] = of_kind(rng, k);
            }
            outcome planes = judge_planes(a, b, lambdas[l], &lowest);
            note(PLANES, k, planes, "planes", lambdas[l]);
            note(BUNDLE, k, judge_bundle(a, b, lambdas[l], lowest), "planes", lambdas[l]);
        }
    }
}

/* ---- tests ---- */

static void run(void (*stress)(submod_rng *rng), uint64_t seed)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    for (int repeat = 0; repeat < (ALL_PROBLEMS ? 20 : 1); repeat++) {
        stress(&rng);
    }
    ck_assert_msg(!wrong[0], "%s", wrong);
}

START_TEST(prox_holds_or_says_so)
{
    run(stress_prox, 1);
}
END_TEST

START_TEST(minimum_holds_or_says_so)
{
    run(stress_minima, 2);
}
END_TEST

START_TEST(losses_hold_or_say_so)
{
    run(stress_losses, 3);
}
END_TEST

START_TEST(optimisers_hold_or_say_so)
{
    run(stress_optimisers, 4);
}
END_TEST

static void print_table(void)
{
    printf("what\tnumbers\tproblems\tcertificate holds\tstatus says so\trefused\twrong\n");
    for (int w = 0; w < WHATS; w++) {
        for (int k = 0; k < KINDS; k++) {
            const long *c = counts[w][k];
            printf("%s\t%s\t%ld\t%ld\t%ld\t%ld\t%ld\n", whats[w], kinds[k],
                   c[HOLDS] + c[SAYS_SO] + c[REFUSED] + c[WRONG], c[HOLDS], c[SAYS_SO], c[REFUSED],
                   c[WRONG]);
        }
    }
}

int main(int argc, char **argv)
{
    bool table = argc > 1 && strcmp(argv[1], "--table") == 0;
    if (table) {
        setenv("CK_FORK", "no", 1); /* counts of other processes would be lost */
    }
    int code = RUN_TESTS("stress", prox_holds_or_says_so, minimum_holds_or_says_so,
                         losses_hold_or_say_so, optimisers_hold_or_say_so);
    if (table) {
        print_table();
    }
    return code;
}
