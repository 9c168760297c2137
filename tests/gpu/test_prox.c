/* The Jaccard prox of the GPU path on fibers, checked by its optimality conditions: with x' the
 * middles of the bins, s = lambda (x' - u) must be in the base polytope and <s, u> = f(u). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "on_shim.h"
#include "support.h"

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : -(x > y);
}

/* The largest s(A) - F(A) over all A: for so many pixels of each label the largest s are worst. */
static double worst_violation(const double *s, const uint8_t *y, size_t n)
{
    double *fg = malloc((n + 1) * sizeof *fg), *bg = malloc((n + 1) * sizeof *bg);
    size_t P = 0, Q = 0;
    for (size_t i = 0; i < n; i++) {
        if (y[i]) {
            fg[P++] = s[i];
        } else {
            bg[Q++] = s[i];
        }
    }
    qsort(fg, P, sizeof *fg, descending);
    qsort(bg, Q, sizeof *bg, descending);
    double worst = 0, of_fg = 0;
    for (size_t a = 0; a <= P; a++) {
        double sum = of_fg;
        for (size_t b = 0; b <= Q; b++) {
            double F = P + b ? (double)(a + b) / (double)(P + b) : 0;
            worst = fmax(worst, sum - F);
            sum += b < Q ? bg[b] : 0;
        }
        of_fg += a < P ? fg[a] : 0;
    }
    free(fg);
    free(bg);
    return worst;
}

/* x moved to the middles of K bins. */
static void quantise(const float *x, size_t n, size_t K, double *middle)
{
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    double width = ((double)high - (double)low) / (double)K;
    for (size_t i = 0; i < n; i++) {
        double k = width > 0 ? floor(((double)x[i] - (double)low) / width) : 0;
        k = fmin(k, (double)K - 1);
        middle[i] = width > 0 ? (double)low + (k + 0.5) * width : (double)low;
    }
}

/* How far u is from the prox of the middles, as a number that is 0 for the prox itself. */
static double defect(const double *middle, const uint8_t *y, const float *u, size_t n,
                     double lambda)
{
    double *s = malloc((n + 1) * sizeof *s), *v = malloc((n + 1) * sizeof *v);
    double total = 0, product = 0, f = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = (double)u[i];
        s[i] = lambda * (middle[i] - v[i]);
        total += s[i];
        product += s[i] * v[i];
    }
    submod_fn *jaccard = NULL;
    submod_status status = submod_fn_jaccard(n, y, &jaccard);
    if (status == SUBMOD_OK) {
        status =
            submod_lovasz(jaccard, v, &f, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL); /* refuses NaN */
    }
    submod_fn_free(jaccard);
    double result = fmax(fabs(total - 1), fmax(worst_violation(s, y, n), fabs(f - product)));
    result = status == SUBMOD_OK ? result : INFINITY;
    free(s);
    free(v);
    return result;
}

/* One image of n pixels; returns its defect and sets delta. */
static submod_status prox(const float *x, const uint8_t *y, size_t n, double lambda, size_t K,
                          float *u, submod_gpu_result *r, const submodi_gpu_tuning *t)
{
    submod_scores scores = submod_scores_f32(x, 1, 1, n);
    submod_labels labels = submod_labels_u8(y, 1, n);
    submod_gradient to = submod_gradient_dense(u, 1, n);
    submod_loss_settings settings = submod_loss_defaults();
    settings.has_ignore = 1;
    settings.ignore_index = 9;
    submodi_gpu_task task;
    ck_assert_ok(submodi_gpu_prox_start(&task, &scores, &labels, lambda, K, &settings));
    return queue_on_shim(&task, r, &to, t);
}

/* True when all is well. */
static bool random_problems_are_solved(int problems)
{
    submod_rng rng;
    submod_rng_seed(&rng, 97);
    bool good = true;
    for (int repeat = 0; good && repeat < problems; repeat++) {
        static const size_t sizes[] = {1, 2, 31, 32, 33, 100, 257};
        size_t n = submod_rng_below(&rng, 2) ? 1 + submod_rng_below(&rng, 12)
                                             : sizes[submod_rng_below(&rng, 7)];
        size_t K = (size_t)2 << submod_rng_below(&rng, 10);
        double lambda = exp(4 * submod_rng_normal(&rng) / 2);
        double share = submod_rng_uniform(&rng) * 1.2 - 0.1; /* also none, also all */
        bool coarse = repeat % 3 == 0;
        float x[257], u[257];
        uint8_t y[257];
        double middle[257];
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)(coarse ? (double)submod_rng_below(&rng, 4) : submod_rng_normal(&rng));
            y[i] = submod_rng_uniform(&rng) < share;
        }
        submodi_gpu_tuning t = random_tuning(&rng);
        t.threads = 32U << submod_rng_below(&rng, 3);
        set_order(repeat);
        submod_gpu_result r;
        good = prox(x, y, n, lambda, K, u, &r, &t) == SUBMOD_OK && r.status == SUBMOD_OK;
        quantise(x, n, K, middle);
        double scale = 1;
        for (size_t i = 0; i < n; i++) {
            good = good && fabs((double)x[i] - middle[i]) <= r.delta;
            scale = fmax(scale, fabs((double)x[i]) + 1 / lambda);
        }
        /* u is rounded to float: s by lambda * 2^-24 |u| each, <s, u> by |u| times that. */
        double slack = 0x1p-23 * (double)n * lambda * scale * scale + 1e-9;
        good = good && defect(middle, y, u, n, lambda) <= slack;
    }
    return good;
}

START_TEST(optimality)
{
    ck_assert(random_problems_are_solved(repeats(600)));
}
END_TEST

static bool all_is_well(void)
{
    return random_problems_are_solved(100);
}

START_TEST(every_barrier_is_needed)
{
    ck_assert(all_is_well());
    const shim_site *sites;
    size_t count = shim_sites(&sites), tried = 0;
    for (size_t i = 0; i < count; i++) {
        if (SANITIZED || !strstr(sites[i].file, "kernel_prox")) {
            continue; /* those of the losses have their own test */
        }
        tried++;
        shim.left_out = sites[i];
        ck_assert_msg(!is_well_in_a_child(all_is_well),
                      "nobody noticed that the barrier at %s:%d was left out", sites[i].file,
                      sites[i].line);
    }
    ck_assert(SANITIZED || tried >= 5);
    shim.left_out.line = 0;
    static const int starved[] = {SUBMODI_GPU_KERNEL_prox_range, SUBMODI_GPU_KERNEL_prox_count,
                                  SUBMODI_GPU_KERNEL_prox_solve};
    for (size_t i = 0; !SANITIZED && i < sizeof starved / sizeof *starved; i++) {
        shim.starved = starved[i];
        ck_assert_msg(!is_well_in_a_child(all_is_well),
                      "nobody noticed that kernel %d had no shared memory", starved[i]);
    }
}
END_TEST

/* lambda so large that u = x, so large that products with it overflow, and so small that u does. */
START_TEST(extreme_lambda)
{
    const float x[4] = {0, 1, 2, 3}, wide[4] = {-3e38F, 3e38F, 1, 1e38F};
    const uint8_t y[4] = {1, 0, 1, 0};
    float u[4];
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    submod_gpu_result r;
    for (int e = 20; e <= 308; e += 16) {
        double lambda = pow(10, e);
        ck_assert_ok(prox(x, y, 4, lambda, 2, u, &r, &t));
        for (int i = 0; i < 4; i++) {
            ck_assert_near((double)u[i], (double)x[i], r.delta + 1 / lambda);
        }
        ck_assert_ok(prox(wide, y, 4, lambda, 256, u, &r, &t));
        for (int i = 0; i < 4; i++) {
            ck_assert_near((double)u[i], (double)wide[i], r.delta + 1 / lambda);
        }
        ck_assert(isfinite(r.delta));
    }
    ck_assert_ok(prox(x, y, 4, 1e-42, 16, u, &r, &t));
    ck_assert(isinf(r.delta));
}
END_TEST

/* Many images and classes at once give what each gives alone; ignored entries stay; x may be u. */
START_TEST(batches)
{
    enum { B = 3, C = 4, N = 50 };
    submod_rng rng;
    submod_rng_seed(&rng, 98);
    for (int repeat = 0; repeat < repeats(20); repeat++) {
        float x[B * C * N], u[B * C * N];
        uint8_t y[B * C * N];
        for (int i = 0; i < B * C * N; i++) {
            u[i] = x[i] = (float)submod_rng_normal(&rng);
            y[i] = submod_rng_below(&rng, 8) == 0 ? 9 : (uint8_t)submod_rng_below(&rng, 2);
        }
        submodi_gpu_tuning t = random_tuning(&rng), alone = submodi_gpu_tuning_defaults();
        t.threads = 32U << submod_rng_below(&rng, 3);
        alone.threads = 64;
        submod_scores scores = submod_scores_f32(u, B, C, N);
        submod_labels labels = submod_labels_multilabel(y, SUBMOD_LABEL_U8, B, C, N);
        submod_gradient to = submod_gradient_dense(u, C, N);
        submod_loss_settings settings = submod_loss_defaults();
        settings.has_ignore = 1;
        settings.ignore_index = 9;
        submodi_gpu_task task;
        submod_gpu_result r, one;
        ck_assert_ok(submodi_gpu_prox_start(&task, &scores, &labels, 2, 256, &settings));
        ck_assert_ok(queue_on_shim(&task, &r, &to, &t));
        ck_assert_ok(submod_gpu_result_status(&r));
        double delta = 0;
        for (int k = 0; k < B * C; k++) {
            float v[N];
            ck_assert_ok(prox(x + k * N, y + k * N, N, 2, 256, v, &one, &alone));
            ck_assert(same_floats(v, u + k * N, N));
            delta = fmax(delta, one.delta);
            for (int i = 0; i < N; i++) {
                ck_assert(y[k * N + i] != 9 || v[i] == x[k * N + i]);
            }
        }
        ck_assert(delta == r.delta);
    }
}
END_TEST

/* Equal x lie in no bin, and u is rounded all the same: delta covers it. */
START_TEST(constant_images)
{
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    for (int repeat = 0; repeat < 40; repeat++) {
        float x[7], u[7];
        const uint8_t y[7] = {1, 0, 0, 1, 0, 0, 0};
        double lambda = ldexp(3, repeat - 20);
        for (int i = 0; i < 7; i++) {
            x[i] = repeat % 4 ? 0.1F : 1e-42F;
        }
        submod_gpu_result r;
        ck_assert_ok(prox(x, y, 7, lambda, 64, u, &r, &t));
        double exact = (double)x[0] - 1 / (7 * lambda);
        for (int i = 0; i < 7; i++) {
            ck_assert_near((double)u[i], exact, r.delta);
        }
        ck_assert(r.delta > 0 && r.delta < 1e-6 * (1 + 1 / lambda));
    }
}
END_TEST

/* The budget for histograms is that of the prox: images that do not fit go in waves. */
START_TEST(workspace_budget)
{
    enum { BINS = 1 << 14, C = 3 };
    submod_scores scores = submod_scores_f32(NULL, 1000, C, 100);
    size_t bytes, of_one;
    ck_assert_ok(submod_gpu_prox_workspace(&scores, BINS, &bytes));
    scores.batch = 1;
    ck_assert_ok(submod_gpu_prox_workspace(&scores, BINS, &of_one));
    ck_assert(of_one >= (size_t)112 * BINS * C && of_one < (size_t)113 * BINS * C);
    ck_assert(bytes > (size_t)250 << 20 && bytes < (size_t)260 << 20);
}
END_TEST

/* With strides, a scale and accumulation, u is what the dense call gives; gaps stay, and so does u
 * when data are refused. */
START_TEST(strides)
{
    enum { N = 60 };
    submod_rng rng;
    submod_rng_seed(&rng, 101);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    t.threads = 64;
    float x[2 * N], dense[N], expected[N], u[2 * N];
    uint8_t y[N];
    for (int i = 0; i < N; i++) {
        x[2 * i] = dense[i] = (float)submod_rng_normal(&rng);
        x[2 * i + 1] = NAN; /* a gap */
        u[2 * i] = u[2 * i + 1] = 1;
        y[i] = submod_rng_below(&rng, 8) == 0 ? 9 : (uint8_t)submod_rng_below(&rng, 2);
    }
    submod_gpu_result r, strided;
    ck_assert_ok(prox(dense, y, N, 3, 64, expected, &r, &t));
    submod_scores scores = submod_scores_f32(x, 1, 1, N);
    submod_labels labels = submod_labels_u8(y, 1, N);
    submod_gradient to = submod_gradient_dense(u, 1, N);
    submod_loss_settings settings = submod_loss_defaults();
    settings.has_ignore = 1;
    settings.ignore_index = 9;
    scores.pixel_stride = to.pixel_stride = 2;
    to.scale = 2;
    to.accumulate = 1;
    submodi_gpu_task task;
    ck_assert_ok(submodi_gpu_prox_start(&task, &scores, &labels, 3, 64, &settings));
    ck_assert_ok(queue_on_shim(&task, &strided, &to, &t));
    ck_assert_ok(submod_gpu_result_status(&strided));
    ck_assert(strided.delta == r.delta);
    for (int i = 0; i < N; i++) {
        ck_assert(u[2 * i] == 1 + 2 * expected[i] && u[2 * i + 1] == 1);
    }
    x[0] = INFINITY;
    u[0] = 7;
    ck_assert_ok(queue_on_shim(&task, &strided, &to, &t));
    ck_assert_int_eq(submod_gpu_result_status(&strided), SUBMOD_ENONFINITE);
    x[0] = 0;
    y[3] = 2;
    ck_assert_ok(queue_on_shim(&task, &strided, &to, &t));
    ck_assert_int_eq(submod_gpu_result_status(&strided), SUBMOD_EINVAL);
    ck_assert(u[0] == 7);
}
END_TEST

START_TEST(refusals)
{
    float x[3] = {0, NAN, 1}, u[3] = {7, 7, 7};
    uint8_t y[3] = {0, 1, 1};
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    submod_gpu_result r;
    ck_assert_ok(prox(x, y, 3, 1, 16, u, &r, &t));
    ck_assert_int_eq(submod_gpu_result_status(&r), SUBMOD_ENONFINITE);
    ck_assert(u[0] == 7 && isnan(r.loss) && r.bad_score == 1);
    x[1] = 0;
    y[2] = 3;
    ck_assert_ok(prox(x, y, 3, 1, 16, u, &r, &t));
    ck_assert_int_eq(submod_gpu_result_status(&r), SUBMOD_EINVAL);
    ck_assert(u[0] == 7 && r.bad_label == 2);
    submod_scores scores = submod_scores_f32(x, 1, 1, 3);
    submod_labels labels = submod_labels_u8(y, 1, 3);
    submod_gradient to = submod_gradient_dense(u, 1, 3);
    submod_gpu_place place = {0};
    size_t bytes = 0;
    ck_assert_ok(submod_gpu_prox_workspace(&scores, 256, &bytes));
    ck_assert(bytes > 0);
    ck_assert_int_eq(submod_gpu_prox_workspace(&scores, 100, &bytes), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_gpu_prox_workspace(NULL, 256, &bytes), SUBMOD_EINVAL);
    place.workspace = aligned_alloc(256, bytes);
    place.workspace_bytes = bytes;
#define REFUSE(status, lambda, bins, out, where) \
    ck_assert_int_eq( \
        submod_gpu_prox_jaccard(&scores, &labels, lambda, bins, out, &r, NULL, where), status)
    REFUSE(SUBMOD_EINVAL, 0, 256, &to, &place);
    REFUSE(SUBMOD_ENONFINITE, NAN, 256, &to, &place);
    REFUSE(SUBMOD_EINVAL, 1, 0, &to, &place);
    REFUSE(SUBMOD_EINVAL, 1, 3, &to, &place);
    REFUSE(SUBMOD_EINVAL, 1, 256, NULL, &place);
    REFUSE(SUBMOD_EINVAL, 1, 256, &to, NULL);
    REFUSE(SUBMOD_ENOMEM, 1, 512, &to, &place);
    REFUSE(SUBMOD_EUNSUPPORTED, 1, 256, &to, &place);
#undef REFUSE
    ck_assert(u[0] == 7);
    free(place.workspace);
}
END_TEST

/* The CPU's prox of a histogram, its bins made otherwise: both are within their delta of the prox
 * of x, and so within the sum of each other. */
START_TEST(as_on_the_cpu)
{
    submod_rng rng;
    submod_rng_seed(&rng, 99);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    t.threads = 64;
    for (int repeat = 0; repeat < repeats(150); repeat++) {
        float x[300], u[300];
        double wide[300], v[300];
        uint8_t y[300];
        size_t n = 1 + submod_rng_below(&rng, 300), K = (size_t)16 << submod_rng_below(&rng, 5);
        double lambda = exp(2 * submod_rng_normal(&rng)), share = submod_rng_uniform(&rng);
        for (size_t i = 0; i < n; i++) {
            x[i] =
                (float)(repeat % 3 ? submod_rng_normal(&rng) : (double)submod_rng_below(&rng, 4));
            y[i] = submod_rng_uniform(&rng) < share;
        }
        submod_gpu_result r;
        ck_assert_ok(prox(x, y, n, lambda, K, u, &r, &t));
        ck_assert_ok(submod_gpu_result_status(&r));
        submod_fn *fn = NULL;
        for (size_t i = 0; i < n; i++) {
            wide[i] = (double)x[i];
        }
        ck_assert_ok(submod_fn_jaccard(n, y, &fn));
        ck_assert_ok(submod_prox(fn, wide, lambda, v, NULL, NULL, NULL, NULL));
        submod_fn_free(fn);
        for (size_t i = 0; i < n; i++) {
            ck_assert_near((double)u[i], v[i], r.delta + 1e-6);
        }
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu_prox", optimality, every_barrier_is_needed, batches, as_on_the_cpu,
                     constant_images, extreme_lambda, workspace_budget, strides, refusals);
}
