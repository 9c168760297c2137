/* Functions with a prox of their own: alone, in sums, scaled, shifted and embedded, but not under
 * contraction; and slots that lie. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combinations.h"
#include "depth.h"
#include "support.h"

enum { N = 8 };

/* How a slot lies. NO_GAP adds up so that the gap of u and s vanishes, but s is no base. */
enum { RIGHT, WRONG_U, WRONG_S, BOTH_WRONG, STAYS, GREEDY, SWAPPED, NO_GAP, NOISE, FAULTS };

typedef struct own {
    submod_fn *fn; /* a function of the library, which answers */
    int fault;
    size_t calls;
    submod_rng rng;
} own;

static submod_status own_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    return submod_fn_eval(((const own *)ctx)->fn, set, k, value);
}

static double product(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static submod_status lie(own *f, const double *x, double lambda, double *u, double *s)
{
    size_t n = submod_fn_size(f->fn);
    size_t a = submod_rng_below(&f->rng, n), b = (a + 1) % n;
    double value, step = 1 + max_abs(s, n);
    switch (f->fault) {
    case WRONG_U: u[a] += 0.1 + fabs(u[a]); break;
    case WRONG_S: s[a] += step; break;
    case SWAPPED: /* as much of s in all */
        s[a] += step;
        s[b] -= step;
        u[a] -= step / lambda;
        u[b] += step / lambda;
        break;
    case BOTH_WRONG:
        for (size_t i = 0; i < n; i++) {
            s[i] /= 2;
            u[i] = x[i] - s[i] / lambda;
        }
        break;
    case STAYS:
        memcpy(u, x, n * sizeof *u);
        memset(s, 0, n * sizeof *s);
        break;
    case GREEDY: return submod_lovasz(f->fn, x, NULL, s, NULL, SUBMOD_TIES_AVERAGE, NULL);
    case NO_GAP: { /* u = t x and s = lambda (x - u) with <s, u> = f(u) = t f(x) */
        submod_status status =
            submod_lovasz(f->fn, x, &value, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL);
        double t = 1 - value / (lambda * product(x, x, n));
        for (size_t i = 0; i < n; i++) {
            u[i] = t > 0 ? t * x[i] : x[i];
            s[i] = lambda * (x[i] - u[i]);
        }
        return status;
    }
    case NOISE:
        for (size_t i = 0; i < n; i++) {
            u[i] = submod_rng_normal(&f->rng);
            s[i] = submod_rng_normal(&f->rng);
        }
    }
    return SUBMOD_OK;
}

static submod_status own_prox(const void *ctx, const double *x, double lambda, double *u, double *s)
{
    own *f = (own *)ctx;
    f->calls++;
    submod_status status = submod_prox(f->fn, x, lambda, u, s, NULL, NULL, NULL);
    return status ? status : lie(f, x, lambda, u, s);
}

static submod_fn *make(own *f, int fault, size_t n, submod_rng *rng)
{
    submod_fn_ops ops = {.eval = own_eval, .prox = own_prox};
    submod_fn *fn = NULL;
    *f = (own){.fn = families[submod_rng_below(rng, family_count)].make(n, rng), .fault = fault};
    submod_rng_seed(&f->rng, submod_rng_next(rng));
    ck_assert_ok(submod_fn_custom(n, &ops, f, &fn));
    return fn;
}

/* A sum with a cut, another function and a modular part, in which fn lies on some elements. */
static submod_fn *sum_with(const submod_fn *fn, submod_fn *const other[2], const int32_t *elements,
                           const double *w)
{
    const submod_term terms[] = {{fn, 0.7, elements}, {other[0], 0.3, NULL}, {other[1], 1.5, NULL}};
    submod_fn *sum = NULL;
    ck_assert_ok(submod_fn_combine(N, terms, 3, w, &sum));
    return sum;
}

/* The same minimum as `truth`, or a gap that says by how much it is missed. */
static void check_honest(const submod_fn *fn, const submod_fn *truth, const double *x,
                         double lambda, submod_prox_method method, int fault)
{
    double u[N], s[N], v[N];
    size_t n = submod_fn_size(fn);
    submod_prox_info info, best;
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    submod_status status = submod_prox(fn, x, lambda, u, s, &settings, &info, NULL);
    ck_assert_ok(submod_prox(truth, x, lambda, v, NULL, NULL, &best, NULL));
    double scale = 1 + fabs(best.primal) + lambda * product(x, x, n), apart = 0;
    ck_assert_msg(status >= 0, "%s", submod_last_error());
    ck_assert(status == SUBMOD_OK || (fault != RIGHT && status == SUBMOD_INACCURATE));
    for (size_t i = 0; i < n; i++) {
        apart += (u[i] - v[i]) * (u[i] - v[i]);
    }
    double bound = fmax(info.gap, 0) + fmax(best.gap, 0) + 1e-9 * scale;
    ck_assert_msg(lambda * apart <= 8 * bound, "fault %d: off by %g, gap %g", fault, sqrt(apart),
                  info.gap);
    ck_assert(fabs(info.primal - best.primal) <= 2 * bound);
}

START_TEST(slots_alone_and_in_sums)
{
    submod_rng rng;
    submod_rng_seed(&rng, 61);
    for (int repeat = 0; repeat < repeats(300); repeat++) {
        const int32_t places[5] = {7, 2, 0, 5, 3};
        int fault = repeat % FAULTS, embedded = repeat / FAULTS % 2;
        double x[N], w[N], lambda = exp(submod_rng_normal(&rng));
        own f;
        submod_fn *fn = make(&f, fault, embedded ? 5 : N, &rng);
        submod_fn *other[2] = {families[submod_rng_below(&rng, family_count)].make(N, &rng),
                               families[submod_rng_below(&rng, family_count)].make(N, &rng)};
        random_vector(&rng, x, N, repeat % 3 == 0);
        random_vector(&rng, w, N, 1);
        check_honest(fn, f.fn, x, lambda, SUBMOD_PROX_AUTO, fault);
        ck_assert_uint_ge(f.calls, 1);
        submod_fn *sum = sum_with(fn, other, embedded ? places : NULL, w);
        submod_fn *truth = sum_with(f.fn, other, embedded ? places : NULL, w);
        f.calls = 0;
        check_honest(sum, truth, x, lambda, SUBMOD_PROX_SUM, fault);
        ck_assert_uint_ge(f.calls, 1);
        submod_fn_free(sum);
        submod_fn_free(truth);
        submod_fn_free(fn);
        submod_fn_free(f.fn);
        submod_fn_free(other[0]);
        submod_fn_free(other[1]);
    }
}
END_TEST

static submod_prox_method method_of(const submod_fn *fn, const double *x)
{
    submod_prox_info info;
    ck_assert_ok(submod_prox(fn, x, 0.5, NULL, NULL, NULL, &info, NULL));
    return info.method;
}

/* A coefficient, a modular part and an embedding keep the slot; a contraction does not. */
START_TEST(where_the_slot_applies)
{
    submod_rng rng;
    submod_rng_seed(&rng, 62);
    for (int repeat = 0; repeat < repeats(50); repeat++) {
        const int32_t places[5] = {6, 2, 0, 5, 3};
        double x[N], w[N];
        own f;
        submod_fn *fn = make(&f, repeat % 2 ? NO_GAP : RIGHT, 5, &rng), *inside = NULL,
                  *less = NULL;
        random_vector(&rng, x, N, 0);
        random_vector(&rng, w, N, 0);
        const submod_term term = {fn, 3, places};
        ck_assert_ok(submod_fn_combine(N, &term, 1, w, &inside));
        ck_assert_ok(submod_fn_contract(fn, places + 1, 1, &less));
        submod_prox_method expected = f.fault ? SUBMOD_PROX_MIN_NORM : SUBMOD_PROX_OWN;
        if (f.fault == RIGHT) {
            ck_assert_int_eq(method_of(fn, x), expected);
            ck_assert_int_eq(method_of(inside, x), expected);
        }
        f.calls = 0;
        ck_assert_int_eq(method_of(less, x), SUBMOD_PROX_MIN_NORM);
        ck_assert_uint_eq(f.calls, 0);
        submod_fn_free(inside);
        submod_fn_free(less);
        submod_fn_free(fn);
        submod_fn_free(f.fn);
    }
}
END_TEST

/* Minimisation of a sum uses the slot, and never takes the result for a proof. */
START_TEST(minimisation_proves_nothing)
{
    submod_rng rng;
    submod_rng_seed(&rng, 63);
    for (int repeat = 0; repeat < repeats(100); repeat++) {
        double w[N], lowest = 0;
        own f;
        submod_sfm_settings settings = submod_sfm_defaults();
        submod_sfm_info info;
        submod_fn *fn = make(&f, repeat % FAULTS, N, &rng);
        submod_fn *other[2] = {families[submod_rng_below(&rng, family_count)].make(N, &rng),
                               families[submod_rng_below(&rng, family_count)].make(N, &rng)};
        random_vector(&rng, w, N, 0);
        submod_fn *sum = sum_with(fn, other, NULL, w);
        double *F = subset_values(sum), scale = value_scale(F, N);
        for (size_t set = 0; set < (size_t)1 << N; set++) {
            lowest = set ? fmin(lowest, F[set]) : F[0];
        }
        settings.method = SUBMOD_SFM_SUM;
        submod_status status = submod_sfm(sum, NULL, NULL, NULL, &settings, &info, NULL);
        ck_assert_msg(status >= 0, "%s", submod_last_error());
        ck_assert_int_eq(info.exact, 0);
        ck_assert_int_eq(info.extremes_proved, 0);
        ck_assert(info.value - lowest <= fmax(info.gap, 0) + 1e-9 * scale);
        free(F);
        submod_fn_free(sum);
        submod_fn_free(fn);
        submod_fn_free(f.fn);
        submod_fn_free(other[0]);
        submod_fn_free(other[1]);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("own_prox", slots_alone_and_in_sums, where_the_slot_applies,
                     minimisation_proves_nothing);
}
