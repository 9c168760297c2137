/* A user's function fails in its first call, in its second, and so on up to the last. The library
 * call ends with SUBMOD_ECALLBACK without another call of the function, and later library calls
 * return their usual results. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "support.h"

enum { N = 7 };

/* F(A) = sqrt(weight of A), less a little for each element; counts what it is asked. */
typedef struct asked {
    long left; /* calls that succeed; negative: all */
    bool failed;
    long late; /* calls after the one that failed */
} asked;

static asked now;

static double weight_of(int32_t e)
{
    return 1 + e % 3; /* some are alike */
}

static submod_status count_call(void)
{
    if (now.left == 0) {
        now.late += now.failed;
        now.failed = true;
        return SUBMOD_ECALLBACK;
    }
    now.left -= now.left > 0;
    return SUBMOD_OK;
}

static double value_of(double weight)
{
    return sqrt(weight) - 0.2 * weight;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    double weight = 0;
    for (size_t i = 0; i < k; i++) {
        weight += weight_of(set[i]);
    }
    *value = value_of(weight);
    return count_call();
}

static submod_status reset(const void *ctx, void *state)
{
    (void)ctx;
    *(double *)state = 0;
    return count_call();
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *by)
{
    (void)ctx;
    double before = *(double *)state;
    *by = value_of(before + weight_of(e)) - value_of(before);
    return count_call();
}

static submod_status push(const void *ctx, void *state, int32_t e, double *by)
{
    submod_status status = gain(ctx, state, e, by);
    *(double *)state += weight_of(e);
    return status;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    (void)ctx;
    double *weight = state;
    for (size_t i = 0; i < k; i++) {
        double before = *weight;
        *weight += weight_of(elements[i]);
        gains[i] = value_of(*weight) - value_of(before);
    }
    return count_call();
}

/* By trying all subsets. */
static submod_status minimize(const void *ctx, const int32_t *base, size_t nbase,
                              const int32_t *block, size_t nblock, const double *z, int largest,
                              uint8_t *in)
{
    double start = 0, best = INFINITY;
    (void)ctx;
    for (size_t i = 0; i < nbase; i++) {
        start += weight_of(base[i]);
    }
    for (unsigned set = 0; set < 1U << nblock; set++) {
        double weight = start, sum = 0;
        for (size_t i = 0; i < nblock; i++) {
            weight += set >> i & 1 ? weight_of(block[i]) : 0;
            sum += set >> i & 1 ? z[i] : 0;
        }
        double value = value_of(weight) - sum;
        if (largest ? value <= best + 1e-12 : value < best - 1e-12) {
            best = fmin(best, value);
            for (size_t i = 0; i < nblock; i++) {
                in[i] = set >> i & 1;
            }
        }
    }
    return count_call();
}

static submod_status concave_value(const void *ctx, double t, double *value)
{
    (void)ctx;
    *value = value_of(t);
    return count_call();
}

static double measure_value(double a, double b, double P, double n, void *ctx)
{
    (void)ctx;
    return count_call() == SUBMOD_OK ? sqrt((a + 2 * b) / (P + 2 * n)) : NAN;
}

/* Function kinds by their user code: eval alone, with push, with chain, with minimize; a concave
 * function; a measure without weights and with weights. */
enum { CONCAVE = 4, COUNTS, WEIGHTED, KINDS };

static submod_fn *make_around_value(int kind)
{
    const uint8_t foreground[N] = {1, 0, 0, 1, 1, 0, 1};
    const submod_concave_ops ops = {.struct_size = sizeof ops, .value = concave_value};
    submod_measure measure = submod_measure_custom(measure_value, NULL);
    submod_fn *fn = NULL;
    double weight[N];
    for (int32_t i = 0; i < N; i++) {
        weight[i] = weight_of(i);
    }
    switch (kind) {
    case CONCAVE: ck_assert_ok(submod_fn_concave_custom(N, weight, &ops, NULL, &fn)); break;
    case COUNTS: ck_assert_ok(submod_fn_two_counts(N, foreground, &measure, &fn)); break;
    default: ck_assert_ok(submod_fn_two_counts_weighted(N, foreground, weight, &measure, &fn));
    }
    return fn;
}

static submod_fn *make(int slots)
{
    if (slots >= CONCAVE) {
        return make_around_value(slots);
    }
    submod_fn_ops ops = {.struct_size = sizeof ops, .eval = eval, .state_size = sizeof(double)};
    submod_fn *fn = NULL;
    if (slots > 0) {
        ops.reset = reset;
        ops.push = push;
    }
    if (slots > 1) {
        ops.gain = gain;
        ops.chain = chain;
    }
    if (slots > 2) {
        ops.minimize = minimize;
    }
    ck_assert_ok(submod_fn_custom(N, &ops, NULL, &fn));
    return fn;
}

/* ---- what is asked for ---- */

typedef submod_status errand(const submod_fn *fn);

static const double x[N] = {0.5, -1, 0.5, 0.5, 2, 0, -0.3}; /* with ties */

static submod_status extension(const submod_fn *fn)
{
    double value, g[N];
    return submod_lovasz(fn, x, &value, g, NULL, NULL, NULL);
}

static submod_status all_prox(const submod_fn *fn)
{
    submod_prox_settings settings = submod_prox_defaults();
    submod_status status = SUBMOD_OK;
    for (int m = SUBMOD_PROX_AUTO; status >= 0 && m <= SUBMOD_PROX_TWO_COUNTS; m++) {
        double u[N], s[N];
        settings.method = (submod_prox_method)m;
        settings.max_iterations = 20;
        status = submod_prox(fn, x, 2, u, s, &settings, NULL, NULL);
        status = status == SUBMOD_EUNSUPPORTED ? SUBMOD_OK : status;
    }
    return status;
}

static submod_status path(const submod_fn *fn)
{
    const double lambda[2] = {2, 1};
    double u[2 * N];
    return submod_prox_path(fn, x, lambda, 2, u, NULL, NULL, NULL, NULL);
}

static submod_status blocks(const submod_fn *fn)
{
    double u[N], value[N], v[N] = {1}, by_t;
    int32_t block[N];
    size_t count;
    submod_status status = submod_prox(fn, x, 2, u, NULL, NULL, NULL, NULL);
    status = status < 0 ? status
                        : submod_prox_blocks(fn, x, 2, u, block, value, &count, NULL, NULL, NULL);
    return status < 0 ? status : submod_prox_vjp_function(fn, block, 2, v, &by_t, NULL);
}

static submod_status minimum(const submod_fn *fn)
{
    submod_sfm_settings settings = submod_sfm_defaults();
    submod_status status = SUBMOD_OK;
    for (int m = SUBMOD_SFM_AUTO; status >= 0 && m <= SUBMOD_SFM_SUM; m++) {
        uint8_t small[N], large[N];
        double s[N];
        settings.method = (submod_sfm_method)m;
        status = submod_sfm(fn, small, large, s, &settings, NULL, NULL);
        status = status == SUBMOD_EUNSUPPORTED ? SUBMOD_OK : status;
    }
    return status;
}

static submod_status part(const submod_fn *fn)
{
    const int32_t base[2] = {1, 3}, block[3] = {0, 5, 6};
    const double z[3] = {0.1, -0.1, 0.2};
    uint8_t in[3];
    double value;
    return submod_fn_minimize(fn, base, 2, block, 3, z, 0, in, &value);
}

static submod_status maximum(const submod_fn *fn)
{
    submod_maximize_settings settings = submod_maximize_defaults();
    submod_status status = SUBMOD_OK;
    for (int m = SUBMOD_MAXIMIZE_LAZY; !status && m <= SUBMOD_MAXIMIZE_STOCHASTIC; m++) {
        int32_t set[3];
        settings.method = (submod_maximize_method)m;
        status = submod_maximize(fn, 3, NULL, 0, set, NULL, NULL, &settings, NULL, NULL);
    }
    return status;
}

static submod_status checker(const submod_fn *fn)
{
    submod_check_report report = {0};
    submod_check_settings settings = submod_check_defaults();
    settings.samples = 3;
    submod_status status = submod_fn_check(fn, &report, &settings);
    submod_check_report_clear(&report);
    return status;
}

static submod_status value_and_chain(const submod_fn *fn)
{
    const int32_t order[N] = {3, 1, 4, 0, 5, 2, 6};
    double value, gains[N];
    submod_status status = submod_fn_eval(fn, order, 4, &value);
    return status ? status : submod_fn_chain(fn, order, N, gains, NULL);
}

static errand *const errands[] = {extension, all_prox, path,    blocks,         minimum,
                                  part,      maximum,  checker, value_and_chain};

/* Fails in call 1, 2, .. until it makes no more. */
static void sweep(const submod_fn *fn, errand *run)
{
    bool failed = true;
    for (long k = 0; failed; k += 1 + k / 20) { /* later ones are like those before */
        ck_assert_int_lt(k, 1000000);
        now = (asked){.left = k};
        submod_status status = run(fn);
        failed = now.failed;
        ck_assert_msg(status >= 0 || (failed && status == SUBMOD_ECALLBACK), "call %ld: %d, %s", k,
                      (int)status, submod_last_error());
        ck_assert_msg(!failed || status == SUBMOD_ECALLBACK, "call %ld: status %d", k, (int)status);
        ck_assert_msg(now.late == 0, "call %ld failed, and %ld more were made", k, now.late);
    }
    now = (asked){.left = -1};
}

static void sweep_all(const submod_fn *fn)
{
    for (size_t i = 0; i < sizeof errands / sizeof *errands; i++) {
        sweep(fn, errands[i]);
    }
}

START_TEST(of_the_function_itself)
{
    now = (asked){.left = -1};
    for (int slots = 0; slots < KINDS; slots++) {
        submod_fn *fn = make(slots);
        sweep_all(fn);
        submod_fn_free(fn);
    }
}
END_TEST

/* As a part of others. */
START_TEST(of_what_is_made_of_it)
{
    now = (asked){.left = -1};
    for (int slots = 0; slots < KINDS; slots++) {
        submod_fn *fn = make(slots), *sqrt_fn = NULL, *made[4] = {NULL};
        double w[N] = {0.1, -0.2};
        ck_assert_ok(submod_fn_sqrt(N, &sqrt_fn));
        submod_fn *const both[2] = {fn, sqrt_fn};
        ck_assert_ok(submod_fn_sum(both, NULL, 2, &made[0]));
        ck_assert_ok(submod_fn_scale(fn, 2, &made[1]));
        ck_assert_ok(submod_fn_add_modular(fn, w, &made[2]));
        const int32_t mixed[N] = {6, 4, 2, 0, 1, 3, 5};
        ck_assert_ok(submod_fn_embed(fn, N, mixed, &made[3]));
        for (size_t i = 0; i < 4; i++) {
            sweep_all(made[i]);
            submod_fn_free(made[i]);
        }
        submod_fn_free(sqrt_fn);
        submod_fn_free(fn);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("failing_calls", of_the_function_itself, of_what_is_made_of_it);
}
