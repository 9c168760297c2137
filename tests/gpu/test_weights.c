/* Measures, weights of pixels and losses of groups on fibers, by laws that need no other engine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "on_shim.h"
#include "support.h"

/* ---- whole weights ---- */

/* A batch with weights from 0 to 3, and the one where each pixel stands so many times. */
typedef struct pair {
    example once, repeated;
    float *weight;
    size_t *first; /* of the copies of a pixel within its image */
} pair;

/* Every image has the same weights in another order, and so as many copies. */
static pair random_pair(submod_rng *rng, kind k, size_t B, size_t C, size_t N, bool ignore)
{
    pair p = {.once = random_example(rng, k, B, C, N, submod_rng_below(rng, 2), ignore)};
    p.weight = malloc(B * N * sizeof *p.weight);
    p.first = malloc(B * N * sizeof *p.first);
    size_t copies = 0;
    for (size_t i = 0; i < N; i++) {
        p.weight[i] = (float)(i == 0 ? 1 : submod_rng_below(rng, 4));
        copies += (size_t)p.weight[i];
    }
    for (size_t b = 0; b < B; b++) {
        float *row = p.weight + b * N;
        memcpy(row, p.weight, N * sizeof *row * (b > 0));
        for (size_t i = N - 1; i > 0; i--) {
            size_t other = submod_rng_below(rng, i + 1);
            float w = row[i];
            row[i] = row[other];
            row[other] = w;
        }
        for (size_t i = 0, first = 0; i < N; i++) {
            p.first[b * N + i] = first;
            first += (size_t)row[i];
        }
    }
    p.repeated = random_example(rng, k, B, C, copies, false, false);
    C = p.once.C;
    size_t rows = is_multilabel(k) ? C : 1;
    for (size_t b = 0; b < B; b++) {
        for (size_t i = 0; i < N; i++) {
            for (size_t copy = 0; copy < (size_t)p.weight[b * N + i]; copy++) {
                size_t to = p.first[b * N + i] + copy;
                for (size_t c = 0; c < C; c++) {
                    p.repeated.x[(b * C + c) * copies + to] = p.once.x[(b * C + c) * N + i];
                }
                for (size_t c = 0; c < rows; c++) {
                    p.repeated.y[(b * rows + c) * copies + to] = p.once.y[(b * rows + c) * N + i];
                }
            }
        }
    }
    return p;
}

static void free_pair(pair *p)
{
    free_example(&p->once);
    free_example(&p->repeated);
    free(p->weight);
    free(p->first);
}

/* The gradient of a pixel is its weight times that of a copy: bit by bit, if weights of bins are
 * rounded to floats before they are multiplied; those of ranks are after that. */
static bool is_multiple(const pair *p, submod_engine engine, const float *once,
                        const float *repeated)
{
    const example *d = &p->once;
    bool same = true;
    for (size_t k = 0; k < d->B * d->C * d->N; k++) {
        size_t b = k / d->N / d->C, i = k % d->N, row = k / d->N;
        float w = p->weight[b * d->N + i];
        size_t at = row * p->repeated.N + p->first[b * d->N + i];
        float expected = w > 0 ? w * repeated[at] : 0;
        float slack = engine == SUBMOD_ENGINE_EXACT ? 1e-6F * w : 0;
        same = same && fabsf(once[k] - expected) <= slack;
    }
    return same;
}

static bool weights_are_right(submod_rng *rng, int repeat)
{
    pair p = random_pair(rng, (kind)(repeat % KINDS), 1 + submod_rng_below(rng, 3),
                         2 + submod_rng_below(rng, 4), 1 + submod_rng_below(rng, 200), true);
    submod_loss_settings s = random_settings(rng, true);
    submod_measure measure = random_measure(rng);
    submod_pixel_weights weights = submod_pixel_weights_f32(p.weight, p.once.B, p.once.N);
    double group_loss[2][3];
    s.measure = &measure;
    float *g[2] = {calloc(p.once.B * p.once.C * p.once.N + 1, sizeof(float)),
                   calloc(p.once.B * p.once.C * p.repeated.N + 1, sizeof(float))};
    double loss[2];
    submod_loss_info info[2];
    bool good = true;
    for (int i = 0; i < 2; i++) {
        const example *d = i ? &p.repeated : &p.once;
        submod_gradient to = submod_gradient_dense(g[i], d->C, d->N);
        submodi_gpu_tuning t = random_tuning(rng);
        s.pixel_weights = i ? NULL : &weights;
        s.group_loss = group_loss[i];
        set_order(repeat);
        good = good && on_shim(d, &loss[i], &to, &info[i], &s, &t) == SUBMOD_OK;
    }
    double sum = 0;
    size_t groups = s.per_image ? p.once.B : 1;
    for (size_t k = 0; p.repeated.N > 0 && k < groups; k++) {
        good = good && fabs(group_loss[0][k] - group_loss[1][k]) <= 1e-13;
        sum += group_loss[0][k] / (double)groups;
    }
    good = good && fabs(loss[0] - loss[1]) <= 1e-13 && is_multiple(&p, s.engine, g[0], g[1]) &&
           fabs(sum - loss[0]) <= 1e-13 && info[0].terms == info[1].terms &&
           info[0].delta == info[1].delta;
    free(g[0]);
    free(g[1]);
    free_pair(&p);
    return good;
}

START_TEST(whole_weights_repeat_pixels)
{
    submod_rng rng;
    submod_rng_seed(&rng, 110);
    for (int repeat = 0; repeat < repeats(500); repeat++) {
        ck_assert_msg(weights_are_right(&rng, repeat), "repeat %d", repeat);
    }
}
END_TEST

/* ---- sums ---- */

/* The sums of weights that the text of loss.h asks for: of rint(w / step), where the step is 2^-52
 * times the powers of two above the largest weight that counts and above the number of pixels. */
typedef struct sums {
    uint64_t foreground[3], all[3], valid[3]; /* per class, of all images together */
} sums;

static sums expected_sums(const example *d, const float *w)
{
    sums x = {{0}, {0}, {0}};
    bool multilabel = is_multilabel(d->kind);
    size_t rows = multilabel ? d->C : 1, pixels = 1;
    float largest = 0;
    for (size_t b = 0; b < d->B; b++) {
        for (size_t k = 0; k < rows * d->N; k++) {
            bool ignored = d->y[b * rows * d->N + k] == IGNORED;
            largest = ignored ? largest : fmaxf(largest, w[b * d->N + k % d->N]);
        }
    }
    double power = 0x1p-149;
    while (power < (double)largest) {
        power *= 2;
    }
    while (pixels < d->B * d->N) {
        pixels *= 2;
    }
    for (size_t b = 0; b < d->B; b++) {
        for (size_t k = 0; k < rows * d->N; k++) {
            int64_t y = d->y[b * rows * d->N + k];
            double weight = (double)w[b * d->N + k % d->N];
            uint64_t units =
                y == IGNORED ? 0 : (uint64_t)rint(weight / power * (0x1p52 / (double)pixels));
            x.all[k / d->N] += units;
            x.valid[k / d->N] += units > 0;
            x.foreground[multilabel ? (int64_t)(k / d->N) : y % IGNORED] +=
                multilabel && y != 1 ? 0 : units;
        }
    }
    return x;
}

static bool sums_are_right(submod_rng *rng, int repeat)
{
    enum { B = 2, N = 90 };
    example d = random_example(rng, (kind)(repeat % KINDS), B, 3, N, false, true);
    float w[B * N];
    int middle = (int)submod_rng_below(rng, 180) - 100;
    for (int i = 0; i < B * N; i++) {
        w[i] = (float)ldexp(submod_rng_uniform(rng), middle + (int)submod_rng_below(rng, 40));
    }
    submod_loss_settings s = submod_loss_defaults();
    submod_pixel_weights weights = submod_pixel_weights_f32(w, B, N);
    s.pixel_weights = &weights;
    s.has_ignore = 1;
    s.ignore_index = IGNORED;
    submod_scores scores = scores_of(&d);
    submod_labels labels = labels_of(&d);
    submodi_gpu_tuning t = random_tuning(rng);
    submodi_gpu_task task;
    submodi_gpu_plan plan;
    submod_gpu_result r;
    ck_assert_ok(start_task(&task, d.kind, &scores, &labels, &s));
    ck_assert_ok(submodi_batch_shape(&task.batch, NULL));
    ck_assert_ok(submodi_gpu_plan_make(&task, &t, &plan));
    void *memory = aligned_alloc(256, plan.bytes);
    submodi_gpu_plan_place(&plan, &task.batch, NULL, &r, memory);
    submodi_gpu_backend b = shim_backend();
    set_order(repeat);
    bool good = submodi_gpu_run(&b, &task.batch, &plan) == SUBMOD_OK && r.status == SUBMOD_OK;
    sums x = expected_sums(&d, w);
    size_t rows = is_multilabel(d.kind) ? d.C : 1;
    good = good && memcmp(plan.job.foreground, x.foreground, d.C * sizeof *x.foreground) == 0 &&
           memcmp(plan.job.all, x.all, rows * sizeof *x.all) == 0 &&
           memcmp(plan.job.valid, x.valid, rows * sizeof *x.valid) == 0;
    free(memory);
    free_example(&d);
    return good;
}

START_TEST(sums_of_weights)
{
    submod_rng rng;
    submod_rng_seed(&rng, 115);
    for (int repeat = 0; repeat < repeats(100); repeat++) {
        ck_assert_msg(sums_are_right(&rng, repeat), "repeat %d", repeat);
    }
}
END_TEST

/* ---- measures ---- */

/* Hamming: the mean of the errors over all pixels and classes, the gradient the same for all. */
START_TEST(hamming_is_the_mean)
{
    submod_rng rng;
    submod_rng_seed(&rng, 111);
    submod_measure hamming = submod_hamming();
    for (int repeat = 0; repeat < repeats(50); repeat++) {
        example d =
            random_example(&rng, SOFTMAX_P, 2, 3, 1 + submod_rng_below(&rng, 99), false, false);
        submodi_gpu_tuning t = random_tuning(&rng);
        submod_loss_settings s = submod_loss_defaults();
        submod_loss_info info;
        double loss, mean = 0;
        s.classes = SUBMOD_CLASSES_ALL;
        s.measure = &hamming;
        s.engine = (submod_engine)(repeat % 2);
        s.per_image = repeat / 2 % 2;
        for (size_t i = 0; i < 2 * 3 * d.N; i++) {
            bool foreground = d.y[i / d.N / 3 * d.N + i % d.N] == (int64_t)(i / d.N % 3);
            mean += (double)(foreground ? 1 - d.x[i] : d.x[i]) / (double)(2 * 3 * d.N);
        }
        set_order(repeat);
        ck_assert_ok(on_shim(&d, &loss, NULL, &info, &s, &t));
        ck_assert_near(loss, mean, info.delta + 1e-12);
        free_example(&d);
    }
}
END_TEST

/* ---- refusals ---- */

static double never_called(double a, double b, double P, double N, void *ctx)
{
    (void)a, (void)b, (void)P, (void)N, (void)ctx;
    abort();
}

START_TEST(custom_measures_are_refused)
{
    submod_rng rng;
    submod_rng_seed(&rng, 112);
    example d = random_example(&rng, HINGE, 1, 1, 5, false, false);
    submod_measure custom =
        submod_measure_custom(&(submod_measure_ops){.value = never_called}, NULL);
    submod_loss_settings s = submod_loss_defaults();
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    double loss = 7;
    s.measure = &custom;
    ck_assert_int_eq(on_shim(&d, &loss, NULL, NULL, &s, &t), SUBMOD_EUNSUPPORTED);
    ck_assert(strstr(submod_last_error(), "custom measure") && loss == 7);
    free_example(&d);
}
END_TEST

/* On device pointers the result says which weight it was; nothing else is written. */
START_TEST(bad_weights)
{
    enum { B = 2, N = 70 };
    submod_rng rng;
    submod_rng_seed(&rng, 113);
    for (int repeat = 0; repeat < repeats(60); repeat++) {
        example d = random_example(&rng, (kind)(repeat % KINDS), B, 3, N, false, true);
        size_t n = B * d.C * N, at = submod_rng_below(&rng, B * N);
        static const float bad[] = {-1, NAN, INFINITY, -INFINITY, -1e-45F};
        int which = (int)submod_rng_below(&rng, 5);
        float w[B * N], g[B * 3 * N];
        double group_loss[B] = {7, 7};
        for (int i = 0; i < B * N; i++) {
            w[i] = (float)submod_rng_uniform(&rng);
        }
        for (size_t i = 0; i < n; i++) {
            g[i] = 7;
        }
        w[at] = bad[which];
        submod_loss_settings s = random_settings(&rng, true);
        submod_pixel_weights weights = submod_pixel_weights_f32(w, B, N);
        s.pixel_weights = &weights;
        s.group_loss = group_loss;
        submod_scores scores = scores_of(&d);
        submod_labels labels = labels_of(&d);
        submod_gradient to = submod_gradient_dense(g, d.C, N);
        submodi_gpu_tuning t = random_tuning(&rng);
        submodi_gpu_task task;
        submod_gpu_result r;
        set_order(repeat);
        ck_assert_ok(start_task(&task, d.kind, &scores, &labels, &s));
        ck_assert_ok(queue_on_shim(&task, &r, &to, &t));
        ck_assert_int_eq(submod_gpu_result_status(&r),
                         which == 0 || which == 4 ? SUBMOD_EINVAL : SUBMOD_ENONFINITE);
        ck_assert(strstr(submod_last_error(), "pixel weight"));
        ck_assert_uint_eq(r.bad_weight, at);
        ck_assert(isnan(r.loss) && group_loss[0] == 7 && group_loss[1] == 7);
        for (size_t i = 0; i < n; i++) {
            ck_assert(g[i] == 7);
        }
        free_example(&d);
    }
}
END_TEST

/* ---- would we notice? ---- */

/* So many classes that the last kernel adds up in several warps. */
static bool many_are_well(submod_rng *rng, int repeat)
{
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    submod_loss_settings s = submod_loss_defaults();
    example d = random_example(rng, SOFTMAX, 2, 40, 30, false, false);
    shim.order = (shim_order)(repeat % SHIM_ORDERS);
    s.per_image = 1;
    bool good = compare(&d, &s, on_shim, &t) == NULL;
    free_example(&d);
    return good;
}

static bool all_is_well(void)
{
    submod_rng rng;
    submod_rng_seed(&rng, 114);
    bool good = true;
    for (int repeat = 0; good && repeat < (FEWER ? 16 : 120); repeat++) {
        good = weights_are_right(&rng, repeat) && sums_are_right(&rng, repeat);
    }
    for (int repeat = 0; good && repeat < SHIM_ORDERS; repeat++) {
        good = many_are_well(&rng, repeat);
    }
    return good;
}

/* The barriers of kernels that weights make use of otherwise, and their shared memory. */
START_TEST(every_barrier_is_needed)
{
    ck_assert(all_is_well());
    const shim_site *sites;
    size_t count = shim_sites(&sites);
    for (size_t i = 0; !SANITIZED && i < count; i++) {
        if (!strstr(sites[i].file, "kernel_labels") && !strstr(sites[i].file, "kernel_exact")) {
            continue;
        }
        shim.left_out = sites[i];
        ck_assert_msg(!is_well_in_a_child(all_is_well),
                      "nobody noticed that the barrier at %s:%d was left out", sites[i].file,
                      sites[i].line);
    }
    shim.left_out.line = 0;
    static const int starved[] = {SUBMODI_GPU_KERNEL_weights,    SUBMODI_GPU_KERNEL_labels,
                                  SUBMODI_GPU_KERNEL_count,      SUBMODI_GPU_KERNEL_small,
                                  SUBMODI_GPU_KERNEL_tile_count, SUBMODI_GPU_KERNEL_tile_before};
    for (size_t i = 0; !SANITIZED && i < sizeof starved / sizeof *starved; i++) {
        shim.starved = starved[i];
        ck_assert_msg(!is_well_in_a_child(all_is_well),
                      "nobody noticed that kernel %d had no shared memory", starved[i]);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu_weights", whole_weights_repeat_pixels, sums_of_weights,
                     hamming_is_the_mean, custom_measures_are_refused, bad_weights,
                     every_barrier_is_needed);
}
