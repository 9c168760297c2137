/* Losses of datasets whose counts are on the device, on fibers, against those of the CPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "on_shim.h"
#include "support.h"

enum { CLASSES = 4, MOST_PIXELS = 300, MOST_BINS = 512 };

/* One call of either kind on fibers. */
typedef struct call {
    example d;
    submod_loss_settings settings;
    submod_pixel_weights weights;
    size_t bins;
} call;

static call random_call(submod_rng *rng, int repeat, size_t bins)
{
    static const size_t sizes[] = {0, 1, 31, 64, MOST_PIXELS};
    call c = {.d = random_example(rng, repeat % 2 ? SOFTMAX : SOFTMAX_P, 1 + (size_t)repeat % 2,
                                  CLASSES, sizes[submod_rng_below(rng, 5)], repeat % 5 == 0, true),
              .settings = random_settings(rng, true),
              .bins = bins};
    c.settings.from_logits = repeat % 2;
    return c;
}

/* Where the weights of the example are looked at. */
static submod_loss_settings settings_of(call *c)
{
    submod_loss_settings s = c->settings;
    c->weights = submod_pixel_weights_f32(c->d.w, c->d.B, c->d.N);
    s.pixel_weights = c->d.w ? &c->weights : NULL;
    return s;
}

static submod_status run(call *c, submodi_gpu_method method, double *counts,
                         const submod_gradient *to, submod_gpu_result *r,
                         const submodi_gpu_tuning *t)
{
    submod_scores scores = scores_of(&c->d);
    submod_labels labels = labels_of(&c->d);
    submod_loss_settings s = settings_of(c);
    submodi_gpu_task task;
    submod_status status = submodi_gpu_dataset_start(&task, method, &scores, &labels, c->bins, &s);
    task.counts = method == SUBMODI_GPU_DATASET_COUNTS ? counts : NULL;
    task.dataset = counts;
    return status == SUBMOD_OK ? queue_on_shim(&task, r, to, t) : status;
}

/* ---- counts ---- */

static bool counts_are_right(submod_rng *rng, int repeat)
{
    call c = random_call(rng, repeat, (size_t)2 << submod_rng_below(rng, 9));
    submodi_gpu_tuning t = random_tuning(rng);
    submod_gpu_result r;
    submod_dataset *of_cpu = NULL;
    submod_scores scores = scores_of(&c.d);
    submod_labels labels = labels_of(&c.d);
    submod_loss_settings s = settings_of(&c);
    size_t n = CLASSES * 2 * c.bins;
    double *counts = malloc(n * sizeof *counts);
    memset(counts, 0xa5, n * sizeof *counts);
    set_order(repeat);
    bool good = run(&c, SUBMODI_GPU_DATASET_COUNTS, counts, NULL, &r, &t) == SUBMOD_OK &&
                r.status == SUBMOD_OK && r.loss == 0 && r.delta == 0.5 / (double)c.bins;
    ck_assert_ok(submod_dataset_create(CLASSES, 0.5 / (double)c.bins, &of_cpu));
    ck_assert_ok(submod_dataset_add(of_cpu, &scores, &labels, &s, NULL));
    good =
        good && memcmp(counts, submod_dataset_counts(of_cpu, NULL, NULL), n * sizeof *counts) == 0;
    submod_dataset_free(of_cpu);
    free(counts);
    free_example(&c.d);
    return good;
}

START_TEST(counts_of_batches)
{
    submod_rng rng;
    submod_rng_seed(&rng, 120);
    for (int repeat = 0; repeat < repeats(200); repeat++) {
        ck_assert_msg(counts_are_right(&rng, repeat), "repeat %d", repeat);
    }
}
END_TEST

/* ---- losses ---- */

/* Counts as a dataset may have them: whole, decayed, a class that is absent or nearly so. */
static void random_counts(submod_rng *rng, size_t bins, bool whole, double *counts)
{
    for (size_t c = 0; c < CLASSES; c++) {
        double foreground = submod_rng_below(rng, 4) ? 1 : submod_rng_below(rng, 2) ? 0 : 1e-12;
        foreground = whole && foreground < 1 ? 0 : foreground;
        for (size_t k = 0; k < 2 * bins; k++) {
            double x = submod_rng_below(rng, 3) ? (double)submod_rng_below(rng, 50) : 0;
            x *= whole ? 1 : submod_rng_uniform(rng);
            counts[c * 2 * bins + k] = k < bins ? x : x * foreground;
        }
    }
}

static bool losses_are_right(submod_rng *rng, int repeat)
{
    call c = random_call(rng, repeat, (size_t)2 << submod_rng_below(rng, 9));
    submodi_gpu_tuning t = random_tuning(rng);
    submod_gpu_result r;
    submod_dataset *of_cpu = NULL;
    submod_scores scores = scores_of(&c.d);
    submod_labels labels = labels_of(&c.d);
    submod_loss_settings s = settings_of(&c);
    size_t n = CLASSES * 2 * c.bins;
    float g[2][2 * CLASSES * MOST_PIXELS] = {{0}};
    double *counts = malloc(n * sizeof *counts), loss = 0;
    bool whole = repeat % 3 > 0;
    random_counts(rng, c.bins, whole, counts);
    submod_gradient to[2];
    for (int i = 0; i < 2; i++) {
        to[i] = submod_gradient_dense(g[i], CLASSES, c.d.N);
        to[i].scale = -0.5;
    }
    set_order(repeat);
    bool good = run(&c, SUBMODI_GPU_DATASET_LOSS, counts, &to[0], &r, &t) == SUBMOD_OK &&
                r.status == SUBMOD_OK;
    ck_assert_ok(submod_dataset_create(CLASSES, 0.5 / (double)c.bins, &of_cpu));
    memcpy(submod_dataset_counts(of_cpu, NULL, NULL), counts, n * sizeof *counts);
    ck_assert_ok(submod_dataset_solve(of_cpu, &loss, NULL, &s));
    ck_assert_ok(submod_dataset_gradient(of_cpu, &scores, &labels, &to[1], &s, NULL));
    good = good && fabs(r.loss - loss) <= 1e-12;
    for (size_t i = 0; i < c.d.B * CLASSES * c.d.N; i++) {
        size_t pixel = i / (CLASSES * c.d.N) * c.d.N + i % c.d.N;
        float weight = c.d.w ? fmaxf(1, c.d.w[pixel]) : 1;
        good =
            good && (whole ? g[0][i] == g[1][i]
                           : fabsf(g[0][i] - g[1][i]) <= 1e-5F * fabsf(g[1][i]) + 1e-6F * weight);
    }
    submod_dataset_free(of_cpu);
    free(counts);
    free_example(&c.d);
    return good;
}

START_TEST(losses_of_counts)
{
    submod_rng rng;
    submod_rng_seed(&rng, 121);
    for (int repeat = 0; repeat < repeats(300); repeat++) {
        ck_assert_msg(losses_are_right(&rng, repeat), "repeat %d", repeat);
    }
}
END_TEST

/* ---- refusals ---- */

START_TEST(refused_data)
{
    submod_rng rng;
    submod_rng_seed(&rng, 122);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    static const double bad[] = {-1, NAN, INFINITY, 1e141};
    for (int repeat = 0; repeat < 24; repeat++) {
        call c = random_call(&rng, 1, 8);
        free_example(&c.d);
        c.d = random_example(&rng, SOFTMAX, 1, CLASSES, 40, false, false);
        double counts[CLASSES * 16] = {0};
        float g[CLASSES * 40];
        submod_gpu_result r;
        for (int i = 0; i < CLASSES * 40; i++) {
            g[i] = 7;
        }
        submod_gradient to = submod_gradient_dense(g, CLASSES, 40);
        int what = repeat % 3;
        const size_t place = repeat < 12 ? 33 : 43; /* background and foreground of class 2 */
        counts[place] = what == 0 ? bad[repeat / 3 % 4] : 7;
        c.d.y[11] = what == 1 ? 5 : c.d.y[11];
        c.d.x[50] = what == 2 ? NAN : c.d.x[50];
        ck_assert_ok(run(&c, SUBMODI_GPU_DATASET_LOSS, counts, &to, &r, &t));
        ck_assert_int_eq(submod_gpu_result_status(&r),
                         what == 2 ? SUBMOD_ENONFINITE : SUBMOD_EINVAL);
        ck_assert(strstr(submod_last_error(), what == 0 ? "count" : what == 1 ? "label" : "score"));
        ck_assert_uint_eq(what == 0   ? r.bad_count
                          : what == 1 ? r.bad_label
                                      : r.bad_score,
                          what == 0   ? place
                          : what == 1 ? 11
                                      : 50);
        ck_assert(isnan(r.loss) && g[0] == 7 && g[CLASSES * 40 - 1] == 7);
        if (what > 0) {
            ck_assert_ok(run(&c, SUBMODI_GPU_DATASET_COUNTS, counts, NULL, &r, &t));
            ck_assert_int_ne(r.status, SUBMOD_OK);
            ck_assert(counts[place] == 7 && counts[0] == 0);
        }
        free_example(&c.d);
    }
}
END_TEST

static double never_called(double a, double b, double P, double N, void *ctx)
{
    (void)a, (void)b, (void)P, (void)N, (void)ctx;
    abort();
}

/* The public face, which finds no device here. */
START_TEST(refused_arguments)
{
    float x[2] = {0, 1}, g[2] = {7, 7};
    uint8_t y[1] = {0};
    double counts[8] = {0};
    submod_scores scores = submod_scores_f32(x, 1, 2, 1);
    submod_labels labels = submod_labels_u8(y, 1, 1);
    submod_gradient to = submod_gradient_dense(g, 2, 1);
    submod_measure custom =
        submod_measure_custom(&(submod_measure_ops){.value = never_called}, NULL);
    submod_loss_settings s = submod_loss_defaults();
    submod_gpu_place place = {0};
    submod_gpu_result r;
    size_t bytes = 0;
    ck_assert_ok(submod_gpu_dataset_workspace(&scores, 2, &bytes, &s));
    ck_assert_int_eq(submod_gpu_dataset_workspace(&scores, 3, &bytes, &s), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_gpu_dataset_workspace(&scores, 0, &bytes, &s), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_gpu_dataset_workspace(NULL, 2, &bytes, &s), SUBMOD_EINVAL);
    place.workspace = aligned_alloc(256, bytes);
    place.workspace_bytes = bytes;
#define REFUSE(status, bins, numbers, where) \
    do { \
        ck_assert_int_eq( \
            submod_gpu_dataset_loss(&scores, &labels, bins, numbers, &r, &to, &s, where), status); \
        ck_assert_int_eq( \
            submod_gpu_dataset_counts(&scores, &labels, bins, numbers, &r, &s, where), status); \
    } while (0)
    REFUSE(SUBMOD_EUNSUPPORTED, 2, counts, &place);
    REFUSE(SUBMOD_EINVAL, 2, NULL, &place);
    REFUSE(SUBMOD_EINVAL, 0, counts, &place);
    REFUSE(SUBMOD_EINVAL, 7, counts, &place);
    REFUSE(SUBMOD_EINVAL, 2, counts, NULL);
    REFUSE(SUBMOD_ENOMEM, 1024, counts, &place);
#undef REFUSE
    s.measure = &custom;
    ck_assert_int_eq(submod_gpu_dataset_loss(&scores, &labels, 2, counts, &r, &to, &s, &place),
                     SUBMOD_EUNSUPPORTED);
    ck_assert(strstr(submod_last_error(), "custom measure"));
    ck_assert(g[0] == 7 && g[1] == 7);
    free(place.workspace);
}
END_TEST

/* ---- would we notice? ---- */

static bool all_is_well(void)
{
    submod_rng rng;
    submod_rng_seed(&rng, 123);
    bool good = true;
    for (int repeat = 0; good && repeat < 60; repeat++) {
        good = counts_are_right(&rng, repeat) && losses_are_right(&rng, repeat);
    }
    return good;
}

START_TEST(every_barrier_is_needed)
{
    ck_assert(all_is_well());
    const shim_site *sites;
    size_t count = shim_sites(&sites), tried = 0;
    for (size_t i = 0; !SANITIZED && i < count; i++) {
        if (!strstr(sites[i].file, "block.h") && !strstr(sites[i].file, "kernel_dataset")) {
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
    static const int starved[] = {SUBMODI_GPU_KERNEL_dataset_counts,
                                  SUBMODI_GPU_KERNEL_dataset_classes,
                                  SUBMODI_GPU_KERNEL_dataset_solve};
    for (size_t i = 0; !SANITIZED && i < sizeof starved / sizeof *starved; i++) {
        shim.starved = starved[i];
        ck_assert_msg(!is_well_in_a_child(all_is_well),
                      "nobody noticed that kernel %d had no shared memory", starved[i]);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu_dataset", counts_of_batches, losses_of_counts, refused_data,
                     refused_arguments, every_barrier_is_needed);
}
