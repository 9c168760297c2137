/* The GPU path on fibers, against the engines of the CPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "gpu/architectures.h"
#include "on_shim.h"
#include "support.h"

static const size_t odd_sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 511, 1000, 1025};

#define ck_assert_same(batch, settings, tuning) \
    do { \
        const char *what_ = compare(batch, settings, on_shim, tuning); \
        ck_assert_msg(!what_, "kind %d, %zu x %zu x %zu, engine %d, order %d: %s", \
                      (int)(batch)->kind, (batch)->B, (batch)->C, (batch)->N, \
                      (int)(settings)->engine, (int)shim.order, what_); \
    } while (0)

/* ---- everything at once ---- */

START_TEST(random_problems)
{
    submod_rng rng;
    submod_rng_seed(&rng, 71);
    for (int repeat = 0; repeat < repeats(1000); repeat++) {
        bool ignore = submod_rng_below(&rng, 2);
        size_t N = submod_rng_below(&rng, 4)
                       ? submod_rng_below(&rng, 80)
                       : odd_sizes[submod_rng_below(&rng, sizeof odd_sizes / sizeof *odd_sizes)];
        example d =
            random_example(&rng, (kind)submod_rng_below(&rng, KINDS), submod_rng_below(&rng, 4),
                           1 + submod_rng_below(&rng, 6), N, submod_rng_below(&rng, 2), ignore);
        submod_loss_settings s = random_settings(&rng, ignore);
        submodi_gpu_tuning t = random_tuning(&rng);
        set_order(repeat);
        ck_assert_same(&d, &s, &t);
        free_example(&d);
    }
}
END_TEST

/* With the sizes that a device gets. */
START_TEST(default_tuning)
{
    submod_rng rng;
    submod_rng_seed(&rng, 72);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    const size_t sizes[] = {2047, 2048, 2049, 5000};
    for (int repeat = 0; repeat < 4 * KINDS * 2; repeat += each(7)) {
        kind k = (kind)(repeat / 2 % KINDS);
        example d = random_example(&rng, k, 2, 5, sizes[repeat / 2 / KINDS], repeat % 3 == 0, true);
        submod_loss_settings s = random_settings(&rng, true);
        s.engine = (submod_engine)(repeat % 2);
        set_order(repeat);
        ck_assert_same(&d, &s, &t);
        free_example(&d);
    }
}
END_TEST

/* Many classes: the stage shrinks the blocks, then is given up; label counters leave shared memory.
 */
START_TEST(many_classes)
{
    submod_rng rng;
    submod_rng_seed(&rng, 73);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    const size_t classes[] = {23, 24, 25, 48, 97, 192, 193, 400, 7000};
    for (int repeat = 0; repeat < 18; repeat += each(5)) {
        size_t C = classes[repeat / 2];
        example d = random_example(&rng, SOFTMAX, 1, C, C > 1000 ? 40 : 260, false, false);
        t.threads = C > 1000 ? SUBMODI_WARP : SUBMODI_GPU_THREADS;
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)(repeat % 2);
        s.delta = 0x1p-6;
        set_order(repeat);
        ck_assert_same(&d, &s, &t);
        free_example(&d);
    }
}
END_TEST

/* ---- the histogram's counts ---- */

/* Runs the pipeline on a workspace of its own and looks at the counters in it. */
START_TEST(counts_bit_identical)
{
    submod_rng rng;
    submod_rng_seed(&rng, 74);
    for (int repeat = 0; repeat < repeats(200); repeat++) {
        size_t N = odd_sizes[(size_t)repeat % (sizeof odd_sizes / sizeof *odd_sizes)];
        bool coarse = repeat % 5 == 0;
        example d = random_example(&rng, repeat % 2 ? SOFTMAX : SOFTMAX_P, 2, 4, N, coarse, true);
        submod_loss_settings s = random_settings(&rng, true);
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        s.per_image = 0;
        s.bins = 0; /* histograms that live across calls go by delta */
        submodi_gpu_tuning t = random_tuning(&rng);
        set_order(repeat);
        s.from_logits = repeat % 2;
        submod_scores scores = scores_of(&d);
        submod_labels labels = labels_of(&d);
        submodi_gpu_task task;
        ck_assert_ok(submodi_gpu_loss_start(&task, SUBMODI_LOVASZ_SOFTMAX, &scores, &labels, &s));
        ck_assert_ok(submodi_batch_shape(&task.batch, NULL));
        submodi_gpu_plan plan;
        submod_gpu_result result;
        ck_assert_ok(submodi_gpu_plan_make(&task, &t, &plan));
        void *memory = aligned_alloc(256, plan.bytes);
        memset(memory, 0xa5, plan.bytes);
        submodi_gpu_plan_place(&plan, &task.batch, NULL, &result, memory);
        submodi_gpu_backend b = shim_backend();
        ck_assert_ok(submodi_gpu_run(&b, &task.batch, &plan));
        ck_assert_int_eq(result.status, SUBMOD_OK);

        submod_dataset *h = NULL;
        size_t C, K;
        ck_assert_ok(submod_dataset_create(4, s.delta, &h));
        ck_assert_ok(submod_dataset_add(h, &scores, &labels, &s, NULL));
        const double *expected = submod_dataset_counts(h, &C, &K);
        const uint32_t *count = plan.job.count;
        ck_assert_uint_eq(K, plan.job.bins);
        for (size_t k = 0; k < 2 * K * C; k++) {
            if (k % K != 0) { /* bins 0 and K are derived */
                ck_assert(expected[k] == count[k]);
            } else {
                ck_assert_uint_eq(count[k], 0);
            }
        }
        submod_dataset_free(h);
        free(memory);
        free_example(&d);
    }
}
END_TEST

/* Counters of a block have 16 bits where classes are few: one bin gets more pixels than that. */
START_TEST(full_counters)
{
    submod_rng rng;
    submod_rng_seed(&rng, 83);
    example d = random_example(&rng, SOFTMAX, 1, 2, UINT16_MAX + (size_t)2, false, false);
    for (size_t i = 0; i < 2 * d.N; i++) {
        d.x[i] = i < d.N ? 0 : 2.5F; /* class 1 has probability 0.92, and is right once */
    }
    for (size_t i = 0; i < d.N; i++) {
        d.y[i] = i == 0;
    }
    free(d.w);
    d.w = NULL;
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    t.few_blocks = 0;
    t.few_pixels = UINT32_MAX;
    ck_assert_same(&d, &s, &t);
    free_example(&d);
}
END_TEST

/* A CPU that rounds otherwise than a device has other last bits, and the loss follows: it changes
 * by no more than the largest error does. */
START_TEST(other_rounding)
{
    submod_rng rng;
    submod_rng_seed(&rng, 81);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    submod_loss_settings s = submod_loss_defaults();
    int different = 0;
    shim.rounding = shim_cpu_rounding() == SHIM_ONCE ? SHIM_TWICE : SHIM_ONCE;
    for (int repeat = 0; repeat < 20; repeat++) {
        example d = random_example(&rng, repeat % 2 ? SIGMOID : SOFTMAX, 1, 4, 200, false, false);
        double loss[2];
        ck_assert_ok(on_cpu(&d, &loss[0], NULL, NULL, &s));
        ck_assert_ok(on_shim(&d, &loss[1], NULL, NULL, &s, &t));
        ck_assert_near(loss[0], loss[1], 0x1p-21);
        different += loss[0] != loss[1];
        free_example(&d);
    }
    shim.rounding = SHIM_AS_CPU;
    ck_assert_int_gt(different, 10);
}
END_TEST

/* ---- the table of special cases (loss.h) ---- */

START_TEST(special_cases)
{
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    submod_rng rng;
    submod_rng_seed(&rng, 75);
    for (int variant = 0; variant < 2 * KINDS * SUBMOD_CLASSES_LIST; variant += each(7)) {
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)(variant % 2);
        s.classes = (submod_classes)(variant / 2 % 2);
        kind k = (kind)(variant / 4);
        set_order(variant);
        for (int images = 0; images < 2; images++) {
            s.per_image = images;
            s.has_ignore = 1;
            s.ignore_index = IGNORED;
            const size_t shapes[][2] = {{0, 5}, {3, 0}, {0, 0}, {1, 1}, {3, 7}};
            for (size_t i = 0; i < 5; i++) {
                example d = random_example(&rng, k, shapes[i][0], 3, shapes[i][1], false, false);
                size_t labels = d.B * d.N * (k == SIGMOID || k == SIGMOID_P ? 3 : 1);
                ck_assert_same(&d, &s, &t);
                for (size_t n = 0; n < labels; n++) { /* everything foreground, class 2 absent */
                    d.y[n] = 1;
                }
                ck_assert_same(&d, &s, &t);
                for (size_t n = 0; n < labels; n++) { /* no foreground */
                    d.y[n] = 0;
                }
                ck_assert_same(&d, &s, &t);
                for (size_t n = 0; n < labels; n++) { /* the first image ignored, then all */
                    d.y[n] = n < labels / 2 ? IGNORED : 0;
                }
                ck_assert_same(&d, &s, &t);
                for (size_t n = 0; n < labels; n++) {
                    d.y[n] = IGNORED;
                }
                ck_assert_same(&d, &s, &t);
                free_example(&d);
            }
        }
    }
}
END_TEST

/* Bad scores, labels and weights, also several at once. */
START_TEST(refusals)
{
    submod_rng rng;
    submod_rng_seed(&rng, 76);
    const float bad[] = {NAN, INFINITY, -INFINITY, 1.5F, -0.5F, 1.0005F, 3e38F, -3e38F};
    for (int repeat = 0; repeat < repeats(600); repeat++) {
        kind k = (kind)(repeat % KINDS);
        example d = random_example(&rng, k, 3, 3, 1 + submod_rng_below(&rng, 40), false, true);
        submod_loss_settings s = random_settings(&rng, true);
        submodi_gpu_tuning t = random_tuning(&rng);
        set_order(repeat);
        if (repeat % 3 != 0) {
            for (uint64_t i = submod_rng_below(&rng, 3); i < 3; i++) {
                d.x[submod_rng_below(&rng, d.B * d.C * d.N)] = bad[submod_rng_below(&rng, 8)];
            }
        }
        if (repeat % 3 != 1) {
            const int64_t outside[] = {-1, 3, INT64_MAX, INT64_MIN, (int64_t)1 << 32};
            d.y[submod_rng_below(&rng, d.B * d.N)] = outside[submod_rng_below(&rng, 5)];
        }
        if (d.w && submod_rng_below(&rng, 4) == 0) {
            d.w[submod_rng_below(&rng, d.B * d.N)] = submod_rng_below(&rng, 2) ? -1 : NAN;
        }
        ck_assert_same(&d, &s, &t);
        free_example(&d);
    }
}
END_TEST

/* What the device says by itself, without the host's checks: position, status, loss, and a gradient
 * that is left alone. */
START_TEST(device_side_errors)
{
    submod_rng rng;
    submod_rng_seed(&rng, 77);
    for (int repeat = 0; repeat < repeats(300); repeat++) {
        enum { B = 2, C = 3, N = 50 };
        float x[B * C * N], g[B * C * N], left_alone[B * C * N];
        int32_t y[B * N];
        for (int i = 0; i < B * C * N; i++) {
            x[i] = (float)submod_rng_normal(&rng);
            g[i] = left_alone[i] = (float)i;
        }
        for (int i = 0; i < B * N; i++) {
            y[i] = (int32_t)submod_rng_below(&rng, C);
        }
        uint64_t at = submod_rng_below(&rng, B * N), score = submod_rng_below(&rng, B * C * N);
        bool bad_label = repeat % 3 == 0;
        y[at] = bad_label ? 7 : y[at];
        x[score] = repeat % 3 != 2 ? NAN : x[score];
        submod_loss_settings s = random_settings(&rng, false);
        s.class_weight = NULL;
        s.classes = SUBMOD_CLASSES_ALL;
        submod_scores scores = submod_scores_f32(x, B, C, N);
        submod_labels labels = submod_labels_i32(y, B, N);
        submod_gradient to = submod_gradient_dense(g, C, N);
        submodi_gpu_task task;
        ck_assert_ok(submodi_gpu_loss_start(&task, SUBMODI_LOVASZ_SOFTMAX, &scores, &labels, &s));
        submodi_gpu_tuning t = random_tuning(&rng);
        submod_gpu_result r;
        set_order(repeat);
        ck_assert_ok(queue_on_shim(&task, &r, &to, &t));
        submod_status expected = bad_label         ? SUBMOD_EINVAL
                                 : repeat % 3 == 1 ? SUBMOD_ENONFINITE
                                                   : SUBMOD_OK;
        ck_assert_int_eq(r.status, expected);
        ck_assert_int_eq(submod_gpu_result_status(&r), expected);
        ck_assert_uint_eq(r.bad_label, bad_label ? at : SUBMOD_GPU_NONE);
        ck_assert_uint_eq(r.bad_score, repeat % 3 != 2 ? score : SUBMOD_GPU_NONE);
        ck_assert(isnan(r.loss) == (expected != SUBMOD_OK));
        ck_assert((same_floats(g, left_alone, sizeof g / sizeof *g)) == (expected != SUBMOD_OK));
    }
}
END_TEST

/* ---- would we notice? ---- */

/* A few problems that reach every barrier under every schedule; true when all is well. */
static bool all_is_well(void)
{
    submod_rng rng, of_rows;
    submod_rng_seed(&rng, 80);
    submod_rng_seed(&of_rows, 81);
    for (int repeat = 0; repeat < (FEWER ? 13 : 60); repeat++) {
        kind k = (kind)(repeat % KINDS);
        bool many = repeat % 4 == 3; /* classes: then all warps have something to add up */
        example d = random_example(&rng, k, 2, many ? 40 : 3, 150 + submod_rng_below(&rng, 200),
                                   repeat % 2, true);
        if (k == HINGE) { /* one thread alone knows the range */
            uint64_t at = submod_rng_below(&rng, d.B * d.N);
            d.x[at] = 1000;
            d.y[at] = 0;
        }
        submod_loss_settings s = random_settings(&rng, true);
        s.engine = (submod_engine)(repeat / 3 % 2);
        s.delta = 0x1p-9;
        s.bins = 0;
        s.class_weight = NULL;
        s.classes = SUBMOD_CLASSES_ALL;
        s.class_count = 0;
        submodi_gpu_tuning t = random_tuning(&rng);
        t.threads = 64U << repeat % 3;
        t.window_bytes = repeat % 2 ? 24 << 10 : 200;
        set_order(repeat);
        const char *what = compare(&d, &s, on_shim, &t);
        free_example(&d);
        if (what || !rows_are_right(&of_rows, repeat)) {
            return false;
        }
    }
    return true;
}

/* Leaves out one barrier after the other, and gives one kernel after the other no shared memory:
 * each time something must be wrong. */
START_TEST(every_barrier_is_needed)
{
    ck_assert(all_is_well());
    const shim_site *sites;
    size_t count = shim_sites(&sites);
    ck_assert_uint_ge(count, 10);
    for (size_t i = 0; !SANITIZED && i < count; i++) {
        shim.left_out = sites[i];
        ck_assert_msg(!is_well_in_a_child(all_is_well),
                      "nobody noticed that the barrier at %s:%d was left out", sites[i].file,
                      sites[i].line);
    }
    shim.left_out.line = 0;
    int tried = 0;
    for (int k = 0; !SANITIZED && k < SUBMODI_GPU_KERNEL_COUNT; k++) {
        if (shim_used_shared(k)) {
            shim.starved = k;
            ck_assert_msg(!is_well_in_a_child(all_is_well),
                          "nobody noticed that kernel %d had no shared memory", k);
            tried++;
        }
    }
    ck_assert(SANITIZED || tried >= 8);
}
END_TEST

/* ---- the public face, which finds no device here ---- */

START_TEST(workspace_needs_no_device)
{
    submod_loss_settings s = submod_loss_defaults();
    submod_scores scores = submod_scores_f32(NULL, 8, 21, 1024 * 2048);
    size_t bytes = 0;
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    ck_assert_ok(submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &scores, &bytes, &s));
    size_t partial = 21 * 658 * 2 * 1025; /* counters of the blocks */
    ck_assert(bytes > 21 * 8192 * 8 && bytes < 21 * 8192 * 8 + partial * 11 / 10);
    s.engine = SUBMOD_ENGINE_EXACT;
    ck_assert_ok(submod_gpu_loss_workspace(SUBMOD_GPU_SIGMOID, &scores, &bytes, &s));
    double pixels = 8.0 * 1024 * 2048;
    ck_assert((double)bytes > 4 * 21 * pixels && (double)bytes < 4 * 27 * pixels);
    bytes = 7;
    ck_assert_int_eq(submod_gpu_loss_workspace((submod_gpu_loss)9, &scores, &bytes, &s),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(submod_gpu_loss_workspace(SUBMOD_GPU_HINGE, &scores, &bytes, &s),
                     SUBMOD_EINVAL); /* 21 scores per pixel */
    ck_assert_int_eq(submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, NULL, &bytes, &s),
                     SUBMOD_EINVAL);
    scores.classes = (size_t)1 << 28;
    scores.pixels = 16;
    s.per_image = 1;
    ck_assert_int_eq(submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &scores, &bytes, &s),
                     SUBMOD_EUNSUPPORTED);
    ck_assert_uint_eq(bytes, 7);
}
END_TEST

/* By CUDA's rules, machine code runs within a major version and PTX on all later devices. */
START_TEST(which_devices_run_what_was_compiled)
{
    static const struct {
        const char *architectures;
        int capability;
        bool compiles_ptx, runs;
    } cases[] = {{"75-virtual 80", 70, true, false},
                 {"75-virtual 80", 75, true, true},
                 {"75-virtual 80", 75, false, false},
                 {"75-virtual 80", 86, false, true},
                 {"75-virtual 80", 90, true, true},
                 {"75-virtual 80", 90, false, false},
                 {"80-real 100-real", 75, true, false},
                 {"80-real 100-real", 90, true, false},
                 {"80-real 100-real", 89, false, true},
                 {"80-real 100-real", 103, false, true},
                 {"86", 80, true, false},
                 {"90a", 90, false, true},
                 {"90a", 100, true, false},
                 {"90a-virtual 80", 100, true, true},
                 {"all-major", 70, true, false},
                 {"all-major", 75, false, true},
                 {"native", 120, true, true},
                 {" 80 ", 80, false, true},
                 {"", 80, true, false}};
    const int oldest = 75;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(submodi_gpu_runs_on(cases[i].architectures, oldest, cases[i].capability,
                                          cases[i].compiles_ptx) == cases[i].runs,
                      "\"%s\" on %d, PTX %s", cases[i].architectures, cases[i].capability,
                      cases[i].compiles_ptx ? "compiled" : "not compiled");
    }
}
END_TEST

/* This program has the static library inside, which has no CUDA. What the arguments are refused for
 * comes first. */
START_TEST(without_cuda)
{
    float x[2] = {0, 1}, g[2] = {7, 7};
    uint8_t y[1] = {0};
    int devices = 7;
    submod_scores scores = submod_scores_f32(x, 1, 2, 1);
    submod_labels labels = submod_labels_u8(y, 1, 1);
    submod_gradient to = submod_gradient_dense(g, 2, 1);
    submod_loss_settings s = submod_loss_defaults();
    submod_gpu_place place = {0};
    submod_gpu_result result;
    ck_assert_int_eq(submod_gpu_available(&devices), SUBMOD_EUNSUPPORTED);
    ck_assert_int_eq(devices, 0);
    ck_assert(strstr(submod_last_error(), "without CUDA"));
    ck_assert_ok(
        submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &scores, &place.workspace_bytes, &s));
    place.workspace = aligned_alloc(256, place.workspace_bytes);
#define REFUSE(status, gradient, where) \
    do { \
        ck_assert_int_eq( \
            submod_gpu_lovasz_softmax(&scores, &labels, &result, gradient, &s, where), status); \
    } while (0)
    REFUSE(SUBMOD_EUNSUPPORTED, &to, &place);
    REFUSE(SUBMOD_EINVAL, &to, NULL);
    ck_assert_int_eq(submod_gpu_lovasz_softmax(&scores, &labels, NULL, &to, &s, &place),
                     SUBMOD_EINVAL);
    place.workspace_bytes--;
    REFUSE(SUBMOD_ENOMEM, &to, &place);
    place.workspace_bytes++;
    to.class_stride = 0;
    REFUSE(SUBMOD_EINVAL, &to, &place);
    s.engine = (submod_engine)7;
    REFUSE(SUBMOD_EINVAL, NULL, &place);
    s = submod_loss_defaults();
    s.class_weight = (double[]){0, 0};
    REFUSE(SUBMOD_EINVAL, NULL, &place);
    s.class_weight = NULL;
    scores.classes = 1;
    REFUSE(SUBMOD_EINVAL, NULL, &place);
    ck_assert(strstr(submod_last_error(), "softmax of one class"));
#undef REFUSE
    ck_assert(g[0] == 7 && g[1] == 7);
    ck_assert_int_eq(submod_gpu_result_status(NULL), SUBMOD_EINVAL);
    free(place.workspace);
}
END_TEST

/* Scores as large as floats get, in as few bins as there can be: bins per unit of error are
 * subnormal. And no margin above 0. */
START_TEST(extreme_margins)
{
    float x[4] = {3.4e38F, -3.4e38F, 2e38F, 5};
    int64_t y[4] = {0, 1, 1, 0};
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    example d = {HINGE, 1, 1, 4, x, y, NULL};
    for (size_t bins = 0; bins <= 4; bins += 2) {
        s.bins = bins;
        ck_assert_same(&d, &s, &t);
        for (int i = 0; i < 4; i++) {
            x[i] = y[i] ? fabsf(x[i]) : -fabsf(x[i]);
        }
        ck_assert_same(&d, &s, &t);
        for (int i = 0; i < 2; i++) {
            x[i] = -x[i];
        }
    }
}
END_TEST

/* Calls allocate no memory: they succeed where every allocation fails, and the CPU does not. */
START_TEST(nothing_is_allocated)
{
    submod_rng rng;
    submod_rng_seed(&rng, 91);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    allocations.left = 0;
    for (int repeat = 0; repeat < 2 * KINDS; repeat++) {
        example d = random_example(&rng, (kind)(repeat / 2), 2, 3, 65, false, false);
        float g[2 * 3 * 65];
        submod_gradient to = submod_gradient_dense(g, d.C, d.N);
        submod_loss_settings s = random_settings(&rng, false);
        double loss;
        s.engine = (submod_engine)(repeat % 2);
        ck_assert_int_eq(on_cpu(&d, &loss, &to, NULL, &s), SUBMOD_ENOMEM);
        ck_assert_ok(on_shim(&d, &loss, &to, NULL, &s, &t));
        free_example(&d);
    }
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu", random_problems, default_tuning, many_classes, counts_bit_identical,
                     full_counters, other_rounding, special_cases, refusals, device_side_errors,
                     extreme_margins, every_barrier_is_needed, workspace_needs_no_device,
                     which_devices_run_what_was_compiled, without_cuda, nothing_is_allocated);
}
