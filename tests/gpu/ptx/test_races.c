/* Races in nvcc's code, and its barriers: each copy of each is left out once, and must be missed by
 * a result or by the race detector. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "on_shim.h"
#include "ptx.h"
#include "support.h"

extern const ptx_module ptx_ours;

enum { PROBLEMS = 72, PIXELS = 300, MOST_CLASSES = 40, BINS = 256 };

/* ---- small problems that reach every barrier; each says whether all is well ---- */

static submodi_gpu_tuning tuning(submod_rng *rng, int number)
{
    submodi_gpu_tuning t = random_tuning(rng);
    t.threads = 64U << number % 3; /* warps that can be too early */
    t.few_blocks = 1 + t.few_blocks % 6;
    return t;
}

static bool loss_is_right(submod_rng *rng, int number)
{
    kind k = (kind)(number % KINDS);
    size_t classes = number % 4 == 3 ? MOST_CLASSES : 3;
    example d =
        random_example(rng, k, 2, classes, 100 + submod_rng_below(rng, 100), number % 2, true);
    submod_loss_settings s = random_settings(rng, true);
    s.engine = (submod_engine)(number / 3 % 2);
    s.delta = 0x1p-8;
    s.bins = 0;
    s.class_weight = NULL;
    s.classes = SUBMOD_CLASSES_ALL;
    s.class_count = 0;
    submodi_gpu_tuning t = tuning(rng, number);
    const char *what = compare(&d, &s, on_shim, &t);
    free_example(&d);
    return !what;
}

/* Few classes and no weights: other kernels. Many bins, so that all threads have some that differ.
 */
static bool few_is_right(submod_rng *rng, int number)
{
    example d = random_example(rng, SOFTMAX, 1, 2 + (size_t)number % 3, PIXELS, false, true);
    free(d.w);
    d.w = NULL;
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.delta = 0x1p-7;
    s.has_ignore = 1;
    s.ignore_index = IGNORED;
    submodi_gpu_tuning t = tuning(rng, number);
    const char *what = compare(&d, &s, on_shim, &t);
    free_example(&d);
    return !what;
}

/* The Jaccard prox, or the layer of the hinge with another measure. */
static bool prox_runs(submod_rng *rng, int number)
{
    float x[PIXELS], u[PIXELS];
    uint8_t y[PIXELS];
    for (size_t i = 0; i < PIXELS; i++) {
        x[i] = (float)submod_rng_normal(rng);
        y[i] = submod_rng_below(rng, 3) == 0;
    }
    submod_scores scores = submod_scores_f32(x, 1, 1, PIXELS);
    submod_labels labels = submod_labels_u8(y, 1, PIXELS);
    submod_gradient to = submod_gradient_dense(u, 1, PIXELS);
    submod_loss_settings s = submod_loss_defaults();
    submodi_gpu_tuning t = tuning(rng, number);
    submodi_gpu_task task;
    submod_gpu_result r;
    double lambda = exp(submod_rng_normal(rng));
    submod_measure measure = submod_measure_tversky(number % 4 ? 0.5 : 2, 2);
    s.measure = &measure;
    s.per_image = 1;
    ck_assert_ok((number / 2 % 2 ? submodi_gpu_hinge_start : submodi_gpu_prox_start)(
        &task, "test", &scores, &labels, lambda, BINS, &s));
    return queue_on_shim(&task, &r, &to, &t) == SUBMOD_OK && r.status == SUBMOD_OK;
}

static bool dataset_runs(submod_rng *rng, int number)
{
    enum { CLASSES = 3 };
    static double counts[CLASSES * 2 * BINS];
    example d =
        random_example(rng, SOFTMAX, 1, CLASSES, 100 + submod_rng_below(rng, 200), false, true);
    submod_scores scores = scores_of(&d);
    submod_labels labels = labels_of(&d);
    submod_loss_settings s = settings_for(SOFTMAX, NULL);
    s.has_ignore = 1;
    s.ignore_index = IGNORED;
    submodi_gpu_tuning t = tuning(rng, number);
    bool good = true;
    for (int half = 0; good && half < 2; half++) {
        submodi_gpu_task task;
        submod_gpu_result r;
        ck_assert_ok(submodi_gpu_dataset_start(
            &task, "test", half ? SUBMODI_GPU_DATASET_LOSS : SUBMODI_GPU_DATASET_COUNTS, &scores,
            &labels, BINS, &s));
        task.counts = half ? NULL : counts;
        task.dataset = counts;
        good = queue_on_shim(&task, &r, NULL, &t) == SUBMOD_OK && r.status == SUBMOD_OK;
    }
    free_example(&d);
    return good;
}

static bool is_well(int number)
{
    submod_rng rng;
    submod_rng_seed(&rng, 200 + (uint64_t)number);
    set_order(number / 6);
    shim.races = true;
    bool (*const kinds[])(submod_rng * rng, int number) = {
        loss_is_right, few_is_right, prox_runs, loss_is_right, dataset_runs, rows_are_right};
    return kinds[number % 6](&rng, number % 6 == 5 ? number / 6 : number / 6 * 2 + number % 6 / 3);
}

/* ---- barriers ---- */

static size_t barriers_in_code(void)
{
    size_t n = 0;
    for (uint32_t i = 0; i < ptx_ours.instructions; i++) {
        n += strncmp(ptx_ours.instruction[i].opcode, "bar.", 4) == 0; /* of blocks and of warps */
    }
    return n;
}

static int first_problem; /* that reaches the barrier which is left out */

static bool all_is_well(void)
{
    bool good = true;
    for (int k = 0; good && k < PROBLEMS; k++) {
        good = is_well((first_problem + k) % PROBLEMS);
    }
    return good;
}

/* With a mutant in place of a kernel; without, the other test does the same and more. */
START_TEST(nothing_is_wrong)
{
    if (!getenv("SUBMOD_PTX_MUTANT")) {
        return;
    }
    for (int k = 0; k < PROBLEMS; k++) {
        ck_assert_msg(is_well(k), "problem %d: %s", k, submod_last_error());
    }
}
END_TEST

START_TEST(every_copy_of_a_barrier_is_needed)
{
    if (getenv("SUBMOD_PTX_MUTANT")) {
        return; /* one mistake at a time */
    }
    enum { MOST = 256 };
    static int first[MOST];
    const shim_site *sites;
    size_t count = 0;
    for (int k = 0; k < PROBLEMS; k++) {
        ck_assert_msg(is_well(k), "problem %d: %s", k, submod_last_error());
        for (size_t now = shim_sites(&sites); count < now && count < MOST; count++) {
            first[count] = k;
        }
    }
    ck_assert_uint_eq(count, barriers_in_code());
    size_t unnoticed = 0;
    for (size_t i = 0; !SANITIZED && i < count; i++) {
        shim.left_out = sites[i];
        first_problem = first[i];
        if (is_well_in_a_child(all_is_well)) {
            unnoticed++;
            printf("nobody noticed that a barrier was left out: %s:%d, line %d of the PTX, in %s\n",
                   sites[i].file, sites[i].line, sites[i].copy, sites[i].kernel);
        }
    }
    ck_assert_uint_eq(unnoticed, 0);
}
END_TEST

int main(void)
{
    if (cannot_compare()) {
        return 77;
    }
    return RUN_TESTS("gpu_ptx_races", nothing_is_wrong, every_copy_of_a_barrier_is_needed);
}
