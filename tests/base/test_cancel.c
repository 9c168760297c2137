/* Cancelling: whenever the flag is set, calls end soon and return what base.h promises. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <submod/select.h>

#include "allocations.h"
#include "combinations.h"
#include "problems.h"
#include "support.h"

enum { N = 7 };

/* The callbacks of our functions count themselves; number alarm_at raises the flag, after its work
 * is done. */
static volatile int flag;
static long calls, alarm_at;

static void count(void)
{
    calls++;
    flag |= calls == alarm_at;
}

static void raise_at(long call)
{
    flag = 0;
    calls = 0;
    alarm_at = call;
}

/* What little may follow: the chain under way, and a few that measure the result. */
static void assert_ended_soon(void)
{
    ck_assert_int_le(calls - alarm_at, 6 * (N + 1));
}

static submod_status eval(const void *inner, const int32_t *set, size_t k, double *value)
{
    submod_status status = submod_fn_eval(inner, set, k, value);
    count();
    return status;
}

static submod_status minimize_one(const void *inner, const int32_t *base, size_t nbase,
                                  const int32_t *block, size_t nblock, const double *z, int largest,
                                  uint8_t *in)
{
    submod_status status = minimize_minor(inner, base, nbase, block, nblock, z, largest, in, NULL);
    count();
    return status;
}

MINIMIZE_BOTH(minimize, minimize_one)

static void destroy(void *inner)
{
    submod_fn_free(inner);
}

/* A random cut and linear part, with or without a minimiser of its own. */
static submod_fn *make(submod_rng *rng, int minimiser)
{
    const submod_fn_ops ops = {
        .eval = eval, .minimize = minimiser ? minimize : NULL, .destroy = destroy};
    submod_fn *cut = NULL, *inner = NULL, *fn = NULL;
    int32_t tail[N * N], head[N * N];
    double weight[N * N], w[N];
    size_t m = 0;
    for (int32_t i = 0; i < N; i++) {
        w[i] = submod_rng_normal(rng);
        for (int32_t j = 0; j < i; j++, m++) {
            tail[m] = i;
            head[m] = j;
            weight[m] = submod_rng_uniform(rng);
        }
    }
    ck_assert_ok(submod_fn_cut(N, m, tail, head, weight, 0, &cut));
    ck_assert_ok(combine_plus(cut, w, &inner));
    ck_assert_ok(submod_fn_custom(N, &ops, inner, &fn));
    submod_fn_free(cut);
    return fn;
}

static void assert_prox_is_sound(const double *F, const double *x, double lambda, const double *u,
                                 const double *s, const double *best, const submod_prox_info *info)
{
    double scale = value_scale(F, N), primal = choquet(F, N, u), dual = 0, distance = 0;
    for (size_t i = 0; i < N; i++) {
        primal += lambda / 2 * (u[i] - x[i]) * (u[i] - x[i]);
        dual += s[i] * x[i] - s[i] * s[i] / (2 * lambda);
        distance += (u[i] - best[i]) * (u[i] - best[i]);
    }
    ck_assert(worst_excess(F, N, s) <= 1e-12 * scale);
    ck_assert_near(info->primal, primal, 1e-11 * (1 + fabs(primal)));
    ck_assert_near(info->dual, dual, 1e-11 * (1 + fabs(dual)));
    ck_assert_near(info->gap, primal - dual, 1e-11 * (1 + fabs(primal)));
    ck_assert(distance <= 2 * info->gap / lambda + 1e-12);
}

/* Every method that takes long, cancelled at each of its callbacks. */
START_TEST(prox)
{
    static const submod_prox_method methods[] = {SUBMOD_PROX_MIN_NORM, SUBMOD_PROX_DECOMPOSITION};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t m = 0; m < 2; m++) {
        submod_fn *fn = make(&rng, methods[m] == SUBMOD_PROX_DECOMPOSITION);
        double *F = subset_values(fn);
        double x[N], u[N], s[N], best[N];
        submod_prox_settings settings = submod_prox_defaults();
        submod_prox_info info;
        settings.method = methods[m];
        settings.max_iterations = 60;
        random_vector(&rng, x, N, 0);
        ck_assert_ok(submod_prox(fn, x, 0.3, best, NULL, NULL, NULL, NULL));
        poll_flag(&flag);
        long cancelled = 0;
        for (long alarm = 1; cancelled == alarm - 1; alarm++) {
            raise_at(alarm);
            submod_status status = submod_prox(fn, x, 0.3, u, s, &settings, &info, NULL);
            ck_assert_int_ge(status, 0);
            assert_prox_is_sound(F, x, 0.3, u, s, best, &info);
            cancelled += status == SUBMOD_CANCELLED;
            if (status == SUBMOD_CANCELLED) {
                assert_ended_soon();
            }
        }
        ck_assert_int_gt(cancelled, N);
        poll_flag(NULL);
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* Taking in a long combination to start from is cancelled too, and what was taken in is used. */
START_TEST(warm_start)
{
    enum { ORDERS = 200 };
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    submod_fn *fn = make(&rng, 0);
    double *F = subset_values(fn);
    double x[N], u[N], s[N], best[N], weights[ORDERS];
    int32_t orders[ORDERS * N];
    const submod_combination start = {N, ORDERS, orders, weights};
    submod_combination c = {0};
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info info;
    for (size_t k = 0; k < ORDERS; k++) {
        random_order(&rng, orders + k * N, N);
        weights[k] = k >= 3; /* the first few count for nothing */
    }
    random_vector(&rng, x, N, 0);
    ck_assert_ok(submod_prox(fn, x, 0.3, best, NULL, NULL, NULL, NULL));
    settings.start = &start;
    settings.combination = &c;
    poll_flag(&flag);
    settings.method = SUBMOD_PROX_MIN_NORM;
    for (long alarm = 1; alarm < 12 * N; alarm++) {
        raise_at(alarm);
        ck_assert_int_eq(submod_prox(fn, x, 0.3, u, s, &settings, &info, NULL), SUBMOD_CANCELLED);
        assert_prox_is_sound(F, x, 0.3, u, s, best, &info);
        assert_ended_soon();
    }
    poll_flag(NULL);
    submod_combination_free(&c);
    free(F);
    submod_fn_free(fn);
}
END_TEST

/* Min-norm has a set at any time, the others have none or the right one. */
START_TEST(sfm)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int method = SUBMOD_SFM_MINIMIZER; method <= SUBMOD_SFM_EXHAUSTIVE; method++) {
        submod_fn *fn = make(&rng, method == SUBMOD_SFM_MINIMIZER);
        double *F = subset_values(fn);
        double lowest = 0;
        for (uint32_t set = 0; set < 1U << N; set++) {
            lowest = fmin(lowest, F[set]);
        }
        submod_sfm_settings settings = submod_sfm_defaults();
        settings.method = (submod_sfm_method)method;
        poll_flag(&flag);
        int seen[2] = {0, 0}; /* with and without a set */
        for (long alarm = 1; alarm == 1 || flag; alarm++) {
            uint8_t small[N], large[N];
            double s[N] = {7};
            submod_sfm_info info = {.gap = 7};
            memset(small, 7, N);
            raise_at(alarm);
            submod_status status = submod_sfm(fn, small, large, s, &settings, &info, NULL);
            seen[status == SUBMOD_ECANCELLED] += status != SUBMOD_OK;
            if (status == SUBMOD_ECANCELLED) {
                ck_assert(s[0] == 7 && info.gap == 7 && small[0] == 7 && small[N - 1] == 7);
                ck_assert_ptr_nonnull(strstr(submod_last_error(), "cancelled"));
            } else if (status == SUBMOD_ECALLBACK) { /* handed on by our own minimize */
                ck_assert_int_eq(method, SUBMOD_SFM_MINIMIZER);
            } else {
                uint32_t mask = 0;
                ck_assert(status == SUBMOD_CANCELLED || status == SUBMOD_OK);
                for (size_t e = 0; e < N; e++) {
                    mask |= (uint32_t)small[e] << e;
                }
                ck_assert_near(info.value, F[mask], 1e-12);
                ck_assert(worst_excess(F, N, s) <= 1e-12);
                ck_assert(info.value - info.gap <= lowest + 1e-12);
            }
            if (status != SUBMOD_OK) {
                assert_ended_soon();
            }
        }
        ck_assert(seen[0] > 0);
        ck_assert_int_eq(seen[1] > 0, method == SUBMOD_SFM_EXHAUSTIVE);
        poll_flag(NULL);
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* Greedy maximisation has a beginning of the whole set at any time. */
START_TEST(maximize)
{
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    submod_fn *fn = make(&rng, 0);
    double *F = subset_values(fn);
    for (int method = SUBMOD_MAXIMIZE_LAZY; method <= SUBMOD_MAXIMIZE_STOCHASTIC; method++) {
        submod_maximize_settings settings = submod_maximize_defaults();
        int32_t whole[N];
        size_t all;
        settings.method = (submod_maximize_method)method;
        ck_assert_ok(submod_maximize(fn, N, NULL, 0, whole, NULL, &all, &settings, NULL));
        poll_flag(&flag);
        long seen = 0;
        for (long alarm = 1; alarm == 1 || flag; alarm++) {
            int32_t set[N];
            size_t size;
            uint32_t mask = 0;
            submod_maximize_info info;
            raise_at(alarm);
            submod_status status =
                submod_maximize(fn, N, NULL, 0, set, NULL, &size, &settings, &info);
            ck_assert(status == SUBMOD_OK || status == SUBMOD_CANCELLED);
            seen += status == SUBMOD_CANCELLED;
            ck_assert(size <= all);
            ck_assert_mem_eq(set, whole, size * sizeof *set);
            for (size_t i = 0; i < size; i++) {
                mask |= UINT32_C(1) << set[i];
            }
            ck_assert_near(info.value, F[mask], 1e-12);
            ck_assert(info.bound >= info.value);
            if (status == SUBMOD_CANCELLED) {
                assert_ended_soon();
            }
        }
        ck_assert_int_gt(seen, N);
        poll_flag(NULL);
    }
    free(F);
    submod_fn_free(fn);
}
END_TEST

/* Nothing is written, and there is an error message. */
START_TEST(without_a_result)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    submod_fn *fn = make(&rng, 0);
    uint8_t in[N];
    double x[N], u[N], s[N];
    submod_combination c = {0};
    submod_prox_settings settings = submod_prox_defaults();
    submod_certificate_report report = {.gap = 7};
    memset(in, 7, N);
    random_vector(&rng, x, N, 0);
    submod_sfm_settings subsets = submod_sfm_defaults();
    subsets.method = SUBMOD_SFM_EXHAUSTIVE;
    settings.start = &c;
    settings.combination = &c;
    ck_assert_ok(submod_prox(fn, x, 1, u, s, &settings, NULL, NULL));
    long needed = (long)(c.count + 1) * (N + 1);

    poll_flag(&flag);
    for (long alarm = 1; alarm < 1 << N; alarm++) {
        raise_at(alarm);
        assert_error(submod_sfm(fn, in, NULL, NULL, &subsets, NULL, NULL), SUBMOD_ECANCELLED,
                     "submod_sfm");
        ck_assert(in[0] == 7 && in[N - 1] == 7 && calls == alarm);
    }
    for (long alarm = 1; alarm < needed; alarm++) {
        raise_at(alarm);
        assert_error(submod_certificate_check(fn, x, 1, u, s, &c, &report), SUBMOD_ECANCELLED,
                     "submod_certificate_check");
        ck_assert(report.gap == 7 && calls <= alarm + 1);
    }
    raise_at(0);
    ck_assert_ok(submod_certificate_check(fn, x, 1, u, s, &c, &report));
    poll_flag(NULL);
    submod_combination_free(&c);
    submod_fn_free(fn);
}
END_TEST

START_TEST(check)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    submod_fn *fn = make(&rng, 0);
    submod_check_settings settings = submod_check_defaults();
    poll_flag(&flag);
    for (settings.exhaustive_max = 0; settings.exhaustive_max <= N; settings.exhaustive_max += N) {
        for (long alarm = 1; alarm < 40; alarm++) {
            submod_check_report report;
            raise_at(alarm);
            ck_assert_int_eq(submod_fn_check(fn, &report, &settings), SUBMOD_CANCELLED);
            ck_assert(calls == alarm && report.evaluations == (uint64_t)alarm);
            ck_assert(report.submodular && !report.exhaustive);
            submod_check_report_clear(&report);
        }
    }
    poll_flag(NULL);
    submod_fn_free(fn);
}
END_TEST

/* ---- without callbacks ---- */

START_TEST(max_affine)
{
    enum { M = 30 };
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    double a[M * N], b[M], x[N], u[N], best[N], weights[M] = {0}, total = 0, distance = 0;
    submod_prox_info info;
    random_vector(&rng, a, M * N, 0);
    random_vector(&rng, b, M, 0);
    random_vector(&rng, x, N, 0);
    ck_assert_ok(submod_prox_max_affine(M, N, a, b, x, 0.1, best, NULL, NULL, NULL));
    flag = 1;
    poll_flag(&flag);
    ck_assert_int_eq(submod_prox_max_affine(M, N, a, b, x, 0.1, u, weights, &info, NULL),
                     SUBMOD_CANCELLED);
    poll_flag(NULL);
    for (size_t j = 0; j < M; j++) {
        ck_assert(weights[j] >= 0);
        total += weights[j];
    }
    for (size_t i = 0; i < N; i++) {
        distance += (u[i] - best[i]) * (u[i] - best[i]);
    }
    ck_assert_near(total, 1, 1e-12);
    ck_assert(info.iterations == 0 && distance > 0 && distance <= 2 * info.gap / 0.1);
}
END_TEST

typedef struct line {
    int calls, alarm;
} line;

/* |x|, whose call number alarm raises the flag. */
static submod_status slope(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    line *l = ctx;
    (void)batch;
    flag |= ++l->calls == l->alarm;
    *value = fabs(x[0]);
    g[0] = x[0] > 0 ? 1 : -1;
    return SUBMOD_OK;
}

static submod_status shrink(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    line *l = ctx;
    (void)batch;
    flag |= ++l->calls == l->alarm;
    u[0] = copysign(fmax(fabs(x[0]) - 1 / lambda, 0), x[0]);
    return SUBMOD_CANCELLED; /* usable */
}

START_TEST(optimisers)
{
    poll_flag(&flag);
    for (int alarm = 1; alarm < 20; alarm++) {
        line l = {0, alarm};
        submod_problem p = {1, 1, &l, slope, NULL, shrink, NULL, NULL, NULL, NULL};
        submod_step *step = NULL;
        submod_descent_settings descent = submod_descent_defaults();
        submod_fista_settings fista = submod_fista_defaults();
        submod_optim_info info;
        double x = 100;
        descent.schedule = submod_schedule_constant(0.1);
        ck_assert_ok(submod_step_gd(1, &step));
        flag = 0;
        ck_assert_int_eq(submod_descend(&p, step, &x, &descent, &info, NULL), SUBMOD_CANCELLED);
        ck_assert(info.stop == SUBMOD_STOP_CANCELLED && l.calls <= alarm + 1);
        ck_assert_near(info.f, fabs(x), 1e-12);

        l.calls = 0;
        x = 100;
        flag = 0;
        ck_assert_int_eq(submod_fista(&p, &x, &fista, &info, NULL), SUBMOD_CANCELLED);
        ck_assert(info.stop == SUBMOD_STOP_CANCELLED && l.calls <= alarm + 2);
        ck_assert_near(info.f, fabs(x), 1e-12);
        submod_step_free(step);
    }
    submod_bundle_settings bundle = submod_bundle_defaults();
    line l = {0, 2};
    submod_problem p = {.dimension = 1, .batches = 1, .ctx = &l, .subgradient = slope};
    submod_optim_info info;
    double x = 100;
    bundle.radius = 1000;
    flag = 0;
    ck_assert_int_eq(submod_bundle(&p, &x, &bundle, &info, NULL), SUBMOD_CANCELLED);
    ck_assert(info.stop == SUBMOD_STOP_CANCELLED && info.lower_bound <= 0 && info.f == fabs(x));
    poll_flag(NULL);
}
END_TEST

/* An iteration of many steps ends at the flag, not at the last of them. */
START_TEST(long_iterations)
{
    line l = {0, 20};
    submod_problem p = {.dimension = 1, .batches = 1000, .ctx = &l, .subgradient = slope};
    submod_bcfw_settings bcfw = submod_bcfw_defaults();
    submod_optim_info info;
    double x = 100;
    bcfw.run.weight_decay = 1;
    poll_flag(&flag);
    l.calls = -1000; /* for the first planes */
    flag = 0;
    ck_assert_int_eq(submod_bcfw(&p, &x, &bcfw, &info, NULL), SUBMOD_CANCELLED);
    ck_assert(info.stop == SUBMOD_STOP_CANCELLED && l.calls < 30);
    poll_flag(NULL);
}
END_TEST

/* ---- flows: the flag rises in allocations, some of which are within the minimiser ---- */

static long until_alarm;

static void *alarmed_alloc(size_t alignment, size_t size)
{
    flag |= --until_alarm == 0;
    return counting_allocator.alloc(alignment, size);
}

START_TEST(flows)
{
    const submod_allocator alarmed = {alarmed_alloc, counting_allocator.release};
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    ck_assert_ok(submod_set_allocator(&alarmed));
    submod_fn *fn = problem_image(12, 12, &rng);
    enum { PIXELS = 144 };
    double x[PIXELS], u[PIXELS], best[PIXELS];
    random_vector(&rng, x, PIXELS, 0);
    ck_assert_ok(submod_prox(fn, x, 1, best, NULL, NULL, NULL, NULL));
    poll_flag(&flag);
    long before = allocations.live, gave_up = 0, without = 0;
    for (long alarm = 1; alarm == 1 || flag; alarm++) {
        submod_prox_info info;
        submod_status status;
        double distance = 0;
        flag = 0;
        until_alarm = alarm;
        status = submod_prox(fn, x, 1, u, NULL, NULL, &info, NULL);
        ck_assert(status == SUBMOD_CANCELLED || status == SUBMOD_OK);
        for (size_t i = 0; i < PIXELS; i++) {
            distance += (u[i] - best[i]) * (u[i] - best[i]);
        }
        ck_assert(distance <= 2 * info.gap + 1e-9);
        gave_up += status == SUBMOD_CANCELLED;
        ck_assert_int_eq(allocations.live, before);
    }
    for (long alarm = 1; alarm == 1 || flag; alarm++) {
        uint8_t small[PIXELS] = {7};
        flag = 0;
        until_alarm = alarm;
        submod_status status = submod_sfm(fn, small, NULL, NULL, NULL, NULL, NULL);
        ck_assert(status == SUBMOD_ECANCELLED || status == SUBMOD_OK);
        ck_assert_int_eq(small[0] == 7, status == SUBMOD_ECANCELLED);
        without += status == SUBMOD_ECANCELLED;
        ck_assert_int_eq(allocations.live, before);
    }
    ck_assert(gave_up > 1 && without > 1);
    poll_flag(NULL);
    submod_fn_free(fn);
    ck_assert_int_eq(allocations.live, 0);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* ---- threads ---- */

/* The flag of another thread is none of this one's business. */
static void *undisturbed(void *fn)
{
    double x[N] = {3, 1, 2}, u[N];
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = SUBMOD_PROX_MIN_NORM;
    return submod_prox(fn, x, 1, u, NULL, &settings, NULL, NULL) == SUBMOD_OK ? fn : NULL;
}

START_TEST(flag_belongs_to_a_thread)
{
    int own = 1;
    pthread_t thread;
    void *answer = NULL;
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    poll_flag(&own);
    ck_assert_ptr_null(undisturbed(fn));
    ck_assert_int_eq(pthread_create(&thread, NULL, undisturbed, fn), 0);
    ck_assert_int_eq(pthread_join(thread, &answer), 0);
    ck_assert_ptr_eq(answer, fn);
    own = 0; /* one that is down is as good as none */
    ck_assert_ptr_eq(undisturbed(fn), fn);
    poll_flag(NULL);
    submod_fn_free(fn);
}
END_TEST

int main(void)
{
    return RUN_TESTS("cancel", prox, warm_start, sfm, maximize, without_a_result, check, max_affine,
                     optimisers, long_iterations, flows, flag_belongs_to_a_thread);
}
