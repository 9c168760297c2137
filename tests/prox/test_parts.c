/* Fujishige-Wolfe part by part: the boundaries that a run proves, the minors, the bases side by
 * side, and runs that end in between. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "base/internal.h"
#include "combinations.h"
#include "prox/min_norm.h"
#include "support.h"

enum { N = 8, LARGE = 60 };

static submod_prox_settings wolfe(double tolerance)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = SUBMOD_PROX_MIN_NORM;
    settings.tolerance = tolerance;
    return settings;
}

/* The log-det of a kernel of random points on a line: neighbours interact. */
static submod_fn *kernel(size_t n, submod_rng *rng)
{
    double *at = malloc(n * sizeof *at), *K = malloc(n * n * sizeof *K);
    submod_fn *fn = NULL;
    for (size_t i = 0; i < n; i++) {
        at[i] = submod_rng_uniform(rng) * (double)n / 4;
    }
    for (size_t i = 0; i < n * n; i++) {
        K[i] = exp(-pow(at[i / n] - at[i % n], 2)) + (i % (n + 1) == 0 ? 0.1 : 0);
    }
    ck_assert_ok(submod_fn_logdet(n, K, &fn));
    free(at);
    free(K);
    return fn;
}

/* Whether A is the only minimiser of F(B) - sum over B of (y - alpha), over all subsets. */
static int only_minimiser(const double *F, uint32_t A, const double *y, double alpha)
{
    double at[2] = {0, INFINITY}; /* of A, and the lowest of all others */
    for (uint32_t B = 0; B < UINT32_C(1) << N; B++) {
        double value = F[B] - F[0];
        for (size_t i = 0; i < N; i++) {
            value -= (B >> i & 1) != 0 ? y[i] - alpha : 0;
        }
        at[0] = B == A ? value : at[0];
        at[1] = B == A ? at[1] : fmin(at[1], value);
    }
    return at[0] < at[1];
}

/* s = a random mean of greedy vectors, and t = y - s. */
static void random_base(submodi_projection *p, submod_rng *rng)
{
    double sum[N] = {0}, total = 0, gains[N];
    for (size_t k = 0; k < 1 + submod_rng_below(rng, 3); k++) {
        int32_t order[N];
        double weight = submod_rng_uniform(rng) + 0.01;
        random_order(rng, order, N);
        ck_assert_ok(submod_fn_chain(p->problem->fn, order, N, gains, NULL));
        for (size_t i = 0; i < N; i++) {
            sum[order[i]] += weight * gains[i] / p->w.sigma;
        }
        total += weight;
    }
    for (size_t i = 0; i < N; i++) {
        p->w.corral.s[i] = sum[i] / total;
        p->w.corral.t[i] = p->w.y[i] - p->w.corral.s[i];
    }
}

/* Any base proves cuts, not only those on the way of a run. */
START_TEST(boundaries_are_level_sets)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    size_t proved = 0;
    for (size_t f = 0; f < family_count; f++) {
        for (int repeat = 0; repeat < 20; repeat++) {
            submod_fn *fn = families[f].make(N, &rng);
            double *F = subset_values(fn), x[N];
            submod_prox_settings settings = wolfe(0);
            submod_prox_info info = {0};
            submodi_projection p;
            submodi_boundary found[N];
            submodi_scope scope;
            bool done;
            random_vector(&rng, x, N, repeat % 2);
            submodi_prox_problem problem = {
                .fn = fn, .x = x, .lambda = 1 + repeat, .settings = &settings};
            submod_work *w = submodi_scope_open(&scope, NULL);
            ck_assert_ok(submodi_projection_start(&p, &problem, &info, w));
            random_base(&p, &rng);
            ck_assert_int_ge(p.w.oracle(&p.w, &done), 0);
            size_t count = submodi_find_boundaries(&p, found);
            for (size_t j = 0; j < count; j++) {
                uint32_t A = 0;
                double y[N];
                for (size_t r = 0; r < N; r++) {
                    A |= r < found[j].size ? UINT32_C(1) << p.order[r] : 0;
                    y[r] = p.w.y[r] * p.w.sigma;
                }
                ck_assert(only_minimiser(F, A, y, found[j].level * p.w.sigma));
            }
            proved += count;
            submodi_scope_close(&scope);
            free(F);
            submod_fn_free(fn);
        }
    }
    ck_assert_uint_gt(proved, 500);
}
END_TEST

/* Minors of the same kind are those of the definition. */
START_TEST(minors_by_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    size_t native = 0;
    for (size_t f = 0; f < family_count; f++) {
        submod_fn *fn = families[f].make(N, &rng);
        int32_t order[N];
        const submodi_part parts[] = {{0, 2}, {2, 3}, {4, N}};
        submod_fn *minors[3];
        random_order(&rng, order, N);
        for (size_t j = 0; j < 3; j++) {
            ck_assert_ok(submodi_fn_minor(fn, order, parts[j], &minors[j]));
        }
        for (int kind = 0; kind < (fn->minors ? 2 : 1); kind++) {
            if (kind) {
                submodi_fn_free_all(minors, 3);
                ck_assert_ok(submodi_fn_minors(fn, order, parts, 3, minors));
                native++;
            }
            for (size_t j = 0; j < 3; j++) {
                size_t begin = parts[j].begin, k = parts[j].end - begin;
                int32_t all[N], own[N];
                double base, value, wanted, empty;
                memcpy(all, order, begin * sizeof *all);
                ck_assert_uint_eq(submod_fn_size(minors[j]), k);
                ck_assert_ok(submod_fn_eval(fn, all, begin, &base));
                ck_assert_ok(submod_fn_eval(minors[j], own, 0, &empty));
                for (uint32_t mask = 0; mask < UINT32_C(1) << k; mask++) {
                    size_t count = subset_elements(mask, own);
                    for (size_t i = 0; i < count; i++) {
                        all[begin + i] = order[begin + (size_t)own[i]];
                    }
                    ck_assert_ok(submod_fn_eval(minors[j], own, count, &value));
                    ck_assert_ok(submod_fn_eval(fn, all, begin + count, &wanted));
                    ck_assert_near(value - empty, wanted - base, 1e-12 * (1 + fabs(wanted)));
                }
            }
        }
        submodi_fn_free_all(minors, 3);
        submod_fn_free(fn);
    }
    ck_assert_uint_ge(native, 1);
}
END_TEST

/* Kernels, whose level sets are found one after the other, and x in groups of four far from each
 * other, which come apart at once. The solution is certified by eval alone; of cuts, it is that of
 * the maximum flow. */
START_TEST(parts_are_certified)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (size_t repeat = 0; repeat < 16; repeat++) {
        const bool far_apart = repeat >= 8;
        submod_fn *fn = repeat % 2 ? kernel(LARGE, &rng) : families[repeat].make(LARGE, &rng);
        submod_combination c = {0};
        double x[LARGE], u[LARGE], s[LARGE], exact[LARGE], lambda = exp(submod_rng_normal(&rng));
        submod_prox_settings settings = wolfe(1e-12);
        submod_prox_info info;
        submod_certificate_report report;
        random_vector(&rng, x, LARGE, repeat % 3 == 0);
        for (size_t i = 0; far_apart && i < LARGE; i++) {
            x[i] += 100 * (double)(i / 4) / lambda;
        }
        settings.combination = &c;
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL));
        ck_assert_ok(submod_certificate_check(fn, x, lambda, u, s, &c, &report));
        ck_assert(report.base_error <= 1e-11);
        ck_assert_near(report.gap, info.gap, 1e-10 * (1 + fabs(info.primal)));
        ck_assert(!far_apart || info.iterations <= LARGE);
        if (submod_prox(fn, x, lambda, exact, NULL, NULL, NULL, NULL) == SUBMOD_OK) {
            for (size_t i = 0; i < LARGE; i++) {
                ck_assert_near(u[i], exact[i], 2 * sqrt(2 / lambda * fmax(info.gap, 0)) + 1e-7);
            }
        }
        submod_combination_free(&c);
        submod_fn_free(fn);
    }
}
END_TEST

/* Limits between parts: what is returned is a base with its gap. Then the flag, and the
 * clock. */
START_TEST(limits_between_parts)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    submod_fn *fn = kernel(LARGE, &rng);
    submod_combination c = {0};
    double x[LARGE], u[LARGE], s[LARGE], best[LARGE], first = 0;
    submod_prox_settings settings = wolfe(1e-12);
    submod_status status = SUBMOD_MAXITER;
    submod_prox_info info = {0};
    random_vector(&rng, x, LARGE, 0);
    ck_assert_ok(submod_prox(fn, x, 1, best, NULL, &settings, NULL, NULL));
    settings.combination = &c;
    for (size_t limit = 1; status != SUBMOD_OK; limit++) {
        submod_certificate_report report;
        settings.max_iterations = limit;
        status = submod_prox(fn, x, 1, u, s, &settings, &info, NULL);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_MAXITER);
        ck_assert_uint_le(info.iterations, limit);
        ck_assert_ok(submod_certificate_check(fn, x, 1, u, s, &c, &report));
        ck_assert(report.base_error <= 1e-11);
        ck_assert_near(report.gap, info.gap, 1e-10 * (1 + fabs(info.primal)));
        first = limit == 1 ? info.gap : first;
        ck_assert(info.gap <= first);
        double distance = 0;
        for (size_t i = 0; i < LARGE; i++) {
            distance += (u[i] - best[i]) * (u[i] - best[i]);
        }
        ck_assert(distance <= 2 * info.gap + 1e-9);
    }
    ck_assert_uint_gt(info.iterations, 10);
    settings.max_iterations = 0;
    settings.time_limit = 1e-9;
    ck_assert_int_eq(submod_prox(fn, x, 1, u, s, &settings, &info, NULL), SUBMOD_TIMELIMIT);
    settings.time_limit = 0;
    const volatile int stop = 1;
    poll_flag(&stop);
    ck_assert_int_eq(submod_prox(fn, x, 1, u, s, &settings, &info, NULL), SUBMOD_CANCELLED);
    poll_flag(NULL);
    ck_assert(info.gap >= 0 && isfinite(info.gap));
    submod_combination_free(&c);
    submod_fn_free(fn);
}
END_TEST

/* All values tie, and the solution is one block: no level set lies between, and none is claimed. */
START_TEST(one_block_stays_whole)
{
    enum { PAIRS = LARGE * (LARGE - 1) / 2 };
    int32_t tail[PAIRS], head[PAIRS];
    double weight[PAIRS], x[LARGE] = {0}, u[LARGE], s[LARGE];
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    size_t m = 0;
    for (int32_t i = 0; i < LARGE; i++) {
        for (int32_t j = 0; j < i; j++, m++) {
            tail[m] = i;
            head[m] = j;
            weight[m] = 1;
        }
    }
    for (int repeat = 0; repeat < 2; repeat++) { /* equal x, and x that the cut makes equal */
        submod_fn *fn = NULL;
        submod_prox_settings settings = wolfe(1e-10);
        submod_prox_info info;
        double mean = 0;
        ck_assert_ok(submod_fn_cut(LARGE, m, tail, head, weight, 0, &fn));
        for (size_t i = 0; i < LARGE; i++) {
            x[i] = repeat ? submod_rng_normal(&rng) : 3;
            mean += x[i] / LARGE;
        }
        ck_assert_ok(submod_prox(fn, x, 1, u, s, &settings, &info, NULL));
        for (size_t i = 0; i < LARGE; i++) {
            ck_assert_near(u[i], mean, 1e-3);
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* A function that is another one, and lets something happen at a certain call: the flag goes up,
 * and the clock goes on until `until`. */
typedef struct ticking {
    const submod_fn *fn;
    size_t calls, last;
    double until;
    volatile int stop;
} ticking;

static submod_status tick(const void *ctx, const int32_t *set, size_t k, double *value)
{
    ticking *t = *(ticking *const *)ctx;
    if (++t->calls == t->last) {
        t->stop = 1;
        while (submodi_seconds() < t->until) {
        }
    }
    return submod_fn_eval(t->fn, set, k, value);
}

enum { FEW = 14 };

/* One solve that is stopped at call `last`, by the flag or, if limit > 0, by the clock. Whenever it
 * ends, s is a base, the gap is that of u and s, and u is no farther from best than it says. */
static submod_status stopped_solve(const submod_fn *fn, const double *x, const double *best,
                                   size_t last, double limit, size_t *calls)
{
    ticking now = {.fn = fn, .last = last, .until = limit > 0 ? submodi_seconds() + limit : 0};
    ticking *ctx = &now;
    submod_fn_ops ops = {.eval = tick};
    submod_fn *custom = NULL;
    submod_combination c = {0};
    submod_prox_settings settings = wolfe(1e-12);
    submod_prox_info info;
    submod_certificate_report report;
    double u[FEW], s[FEW], far = 0;
    ck_assert_ok(submod_fn_custom(FEW, &ops, &ctx, &custom));
    settings.start = &c;
    settings.combination = &c;
    settings.time_limit = limit;
    poll_flag(limit > 0 ? NULL : &now.stop);
    submod_status status = submod_prox(custom, x, 1, u, s, &settings, &info, NULL);
    poll_flag(NULL);
    *calls = now.calls;
    ck_assert_ok(submod_certificate_check(fn, x, 1, u, s, &c, &report));
    ck_assert(report.base_error <= 1e-11);
    ck_assert_near(report.gap, info.gap, 1e-10 * (1 + fabs(info.primal)));
    for (size_t i = 0; i < FEW; i++) {
        far += (u[i] - best[i]) * (u[i] - best[i]);
    }
    ck_assert(far <= 2 * fmax(info.gap, 0) + 1e-9);
    submod_combination_free(&c);
    submod_fn_free(custom);
    return status;
}

/* The flag goes up at every call there is, and the time runs out at some: before parts, in them,
 * and while one starts. Nothing is left behind. */
START_TEST(stopped_anywhere)
{
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    allocations.left = -1;
    size_t stopped[2] = {0}, tried = 0;
    for (size_t repeat = 0; repeat < 6; repeat++) {
        submod_fn *fn = repeat % 2 ? kernel(FEW, &rng) : families[repeat].make(FEW, &rng);
        double x[FEW], best[FEW];
        size_t total, calls;
        submod_prox_settings settings = wolfe(1e-14);
        random_vector(&rng, x, FEW, 0);
        ck_assert_int_ge(submod_prox(fn, x, 1, best, NULL, &settings, NULL, NULL), 0);
        ck_assert_ok(stopped_solve(fn, x, best, 0, 0, &total));
        for (size_t last = 1; last <= total; last += 1 + total / 100, tried++) {
            submod_status status = stopped_solve(fn, x, best, last, 0, &calls);
            ck_assert(status == SUBMOD_CANCELLED || status == SUBMOD_OK);
            ck_assert_uint_le(calls, total);
            stopped[0] += status == SUBMOD_CANCELLED;
        }
        for (size_t last = 1; last <= total; last += 1 + total / 15) {
            submod_status status = stopped_solve(fn, x, best, last, 0.005, &calls);
            ck_assert(status == SUBMOD_TIMELIMIT || status == SUBMOD_OK);
            stopped[1] += status == SUBMOD_TIMELIMIT;
        }
        submod_fn_free(fn);
        ck_assert_int_eq(allocations.live, 0);
    }
    ck_assert(stopped[0] > tried / 2 && stopped[1] > 20);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* The same for minimisation: what it says about the set and the base is true, whenever it ends. */
START_TEST(minimisation_stopped_anywhere)
{
    submod_rng rng;
    submod_rng_seed(&rng, 10);
    for (size_t f = 0; f < family_count; f++) {
        submod_fn *plain = families[f].make(N, &rng), *fn = NULL, *custom = NULL;
        double w[N];
        random_vector(&rng, w, N, 0);
        ck_assert_ok(combine_plus(plain, w, &fn));
        double *F = subset_values(fn), scale = value_scale(F, N);
        ticking now = {.fn = fn, .last = SIZE_MAX};
        ticking *ctx = &now;
        submod_fn_ops ops = {.eval = tick};
        ck_assert_ok(submod_fn_custom(N, &ops, &ctx, &custom));
        for (size_t last = 1, ended = 0; !ended; last++) {
            submod_sfm_settings settings = submod_sfm_defaults();
            submod_sfm_info info;
            uint8_t small[N];
            double s[N], dual = F[0];
            uint32_t A = 0;
            now.calls = 0;
            now.stop = 0;
            now.last = last;
            settings.method = SUBMOD_SFM_MIN_NORM;
            poll_flag(&now.stop);
            submod_status status = submod_sfm(custom, small, NULL, s, &settings, &info, NULL);
            poll_flag(NULL);
            ck_assert(status == SUBMOD_OK || status == SUBMOD_CANCELLED);
            for (uint32_t i = 0; i < N; i++) {
                A |= (uint32_t)small[i] << i;
                dual += fmin(s[i], 0);
            }
            ck_assert(worst_excess(F, N, s) <= 1e-11 * scale);
            ck_assert_near(info.value, F[A], 1e-11 * scale);
            ck_assert_near(info.dual, dual, 1e-11 * scale);
            ck_assert_near(info.gap, F[A] - dual, 1e-11 * scale);
            ended = now.calls < last;
        }
        free(F);
        submod_fn_free(custom);
        submod_fn_free(fn);
        submod_fn_free(plain);
    }
}
END_TEST

/* 1, 2 and 3 threads: the same bits, and the same number of cycles. */
START_TEST(threads_change_nothing)
{
    enum { MANY = (1 << 16) + 9, MIDDLE = 120 }; /* many: sorts and sums by threads */
    submod_rng rng;
    submod_rng_seed(&rng, 11);
    for (int large = 0; large < 2; large++) {
        size_t n = large ? MANY : MIDDLE;
        submod_fn *fn = NULL;
        double *x = malloc(n * sizeof *x);
        double *u = malloc(3 * n * sizeof *u), *s = malloc(3 * n * sizeof *s);
        submod_prox_settings settings = wolfe(1e-10);
        submod_prox_info info[3];
        settings.max_iterations = large ? 6 : 0;
        submodi_set_parallel_from(large ? 0 : 1); /* small problems take the paths of large ones */
        random_vector(&rng, x, n, 0);
        if (large) { /* three values far apart, so that it comes apart into few parts */
            for (size_t i = 0; i < n; i++) {
                x[i] = x[i] * 1e-3 + (double)(i % 3);
            }
            ck_assert_ok(make_iwata(n, &fn));
        } else {
            fn = kernel(n, &rng);
        }
        for (int k = 0; k < 3; k++) {
            ck_assert_ok(submod_set_num_threads(k + 1));
            ck_assert_int_ge(submod_prox(fn, x, 1, u + (size_t)k * n, s + (size_t)k * n, &settings,
                                         &info[k], NULL),
                             0);
            ck_assert_uint_eq(info[k].iterations, info[0].iterations);
            ck_assert(memcmp(u, u + (size_t)k * n, n * sizeof *u) == 0);
            ck_assert(memcmp(s, s + (size_t)k * n, n * sizeof *s) == 0);
            ck_assert(info[k].gap == info[0].gap && info[k].primal == info[0].primal);
        }
        free(x);
        free(u);
        free(s);
        submod_fn_free(fn);
    }
    submodi_set_parallel_from(0);
    ck_assert_ok(submod_set_num_threads(0));
}
END_TEST

int main(void)
{
    return RUN_TESTS("parts", boundaries_are_level_sets, minors_by_definition, parts_are_certified,
                     limits_between_parts, one_block_stays_whole, stopped_anywhere,
                     minimisation_stopped_anywhere, threads_change_nothing);
}
