/* Datasets and the layer of the hinge by the public calls of gpu.h, on a real device or on fibers
 * (machine.h). Skipped (77) where there is neither. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "machine.h"
#include "support.h"

enum { SKIPPED = 77, B = 2, C = 5, BINS = 256 };

/* Device memory of one problem, freed together. */
typedef struct blocks {
    void *block[16];
    size_t count;
} blocks;

static void *take(blocks *m, size_t bytes)
{
    return m->block[m->count++] = machine_memory(bytes);
}

static void *to_device(blocks *m, const void *host, size_t bytes)
{
    void *memory = take(m, bytes);
    machine_copy_in(memory, host, bytes);
    return memory;
}

static void free_blocks(blocks *m)
{
    while (m->count > 0) {
        machine_free(m->block[--m->count]);
    }
}

static submod_gpu_place make_place(blocks *m, size_t bytes)
{
    return (submod_gpu_place){0, NULL, take(m, bytes), bytes};
}

static submod_gpu_result fetch_result(const submod_gpu_result *device)
{
    submod_gpu_result r;
    machine_copy_out(&r, device, sizeof r);
    ck_assert_ok(submod_gpu_result_status(&r));
    return r;
}

static size_t random_pixels(submod_rng *rng)
{
    return 1 + submod_rng_below(rng, machine_is_slow() ? 300 : 70000);
}

/* ---- datasets ---- */

/* A batch as the CPU and as the device have it. */
typedef struct batch {
    example d;
    submod_scores scores[2];
    submod_labels labels[2];
    submod_pixel_weights weights[2];
    submod_loss_settings settings[2];
    blocks memory;
} batch;

static void make_batch(submod_rng *rng, kind k, batch *x)
{
    *x = (batch){.d = random_example(rng, k, B, C, random_pixels(rng), false, true)};
    example *d = &x->d;
    submod_loss_settings s = random_settings(rng, true);
    for (int i = 0; i < 2; i++) {
        x->scores[i] = scores_of(d);
        x->labels[i] = labels_of(d);
        x->weights[i] = submod_pixel_weights_f32(d->w, d->B, d->N);
        x->settings[i] = settings_for(k, &s);
        x->settings[i].pixel_weights = d->w && k != HINGE ? &x->weights[i] : NULL;
    }
    x->scores[1].data = to_device(&x->memory, d->x, d->B * d->C * d->N * sizeof *d->x);
    x->labels[1].data = to_device(&x->memory, d->y, d->B * d->N * sizeof *d->y);
    if (d->w) {
        x->weights[1].data = to_device(&x->memory, d->w, d->B * d->N * sizeof *d->w);
    }
}

static void free_batch(batch *x)
{
    free_blocks(&x->memory);
    free_example(&x->d);
}

/* Counts and the loss of one batch, from probabilities: the CPU's bits whatever it fuses. */
START_TEST(dataset)
{
    submod_rng rng;
    submod_rng_seed(&rng, 140);
    for (int repeat = 0; repeat < machine_problems(60); repeat++) {
        batch x;
        make_batch(&rng, SOFTMAX_P, &x);
        size_t n = B * C * x.d.N, size = 0;
        double counts[C * 2 * BINS], *on_device = take(&x.memory, sizeof counts), loss;
        float *g = malloc(n * sizeof *g), *got = malloc(n * sizeof *g);
        submod_gradient to = submod_gradient_dense(g, C, x.d.N), device_to = to;
        device_to.data = take(&x.memory, n * sizeof *g);
        submod_gpu_result *result = take(&x.memory, sizeof *result);
        ck_assert_ok(submod_gpu_dataset_workspace(&x.scores[1], BINS, &size, &x.settings[1]));
        submod_gpu_place place = make_place(&x.memory, size);

        submod_dataset *of_cpu = NULL;
        ck_assert_ok(submod_dataset_create(C, 0.5 / BINS, &of_cpu));
        ck_assert_ok(submod_dataset_add(of_cpu, &x.scores[0], &x.labels[0], &x.settings[0], NULL));
        ck_assert_ok(submod_gpu_dataset_counts(&x.scores[1], &x.labels[1], BINS, on_device, result,
                                               &x.settings[1], &place));
        fetch_result(result);
        machine_copy_out(counts, on_device, sizeof counts);
        const double *expected = submod_dataset_counts(of_cpu, NULL, NULL);
        for (size_t k = 0; k < C * 2 * BINS; k++) {
            ck_assert(counts[k] == expected[k]);
        }

        ck_assert_ok(submod_dataset_solve(of_cpu, &loss, NULL, &x.settings[0]));
        ck_assert_ok(
            submod_dataset_gradient(of_cpu, &x.scores[0], &x.labels[0], &to, &x.settings[0], NULL));
        ck_assert_ok(submod_gpu_dataset_loss(&x.scores[1], &x.labels[1], BINS, on_device, result,
                                             &device_to, &x.settings[1], &place));
        ck_assert_near(fetch_result(result).loss, loss, 1e-12);
        machine_copy_out(got, device_to.data, n * sizeof *got);
        ck_assert(same_floats(got, g, n));
        submod_dataset_free(of_cpu);
        free(g);
        free(got);
        free_batch(&x);
    }
}
END_TEST

/* ---- the hinge ---- */

START_TEST(hinge)
{
    submod_rng rng;
    submod_rng_seed(&rng, 141);
    for (int repeat = 0; repeat < machine_problems(60); repeat++) {
        batch x;
        make_batch(&rng, HINGE, &x);
        size_t n = B * x.d.N, size = 0;
        double lambda = exp(2 * submod_rng_normal(&rng));
        float *exact = malloc(n * sizeof *exact), *got = malloc(n * sizeof *exact);
        submod_gradient to = submod_gradient_dense(exact, 1, x.d.N), prox = to, gradient = to;
        prox.data = take(&x.memory, n * sizeof *exact);
        gradient.data = take(&x.memory, n * sizeof *exact);
        submod_gpu_result *result = take(&x.memory, sizeof *result);
        ck_assert_ok(submod_gpu_prox_workspace(&x.scores[1], BINS, &size));
        submod_gpu_place place = make_place(&x.memory, size);
        ck_assert_ok(submod_prox_hinge_layer(&x.scores[0], &x.labels[0], lambda, &to, NULL,
                                             &x.settings[0], NULL, NULL, NULL));
        ck_assert_ok(submod_gpu_prox_lovasz_hinge(&x.scores[1], &x.labels[1], lambda, BINS, &prox,
                                                  &gradient, result, &x.settings[1], &place));
        double delta = fetch_result(result).delta;
        machine_copy_out(got, prox.data, n * sizeof *got);
        for (size_t i = 0; i < n; i++) {
            ck_assert_near((double)got[i], (double)exact[i], delta);
        }
        /* The gradient is that of margins within delta: it moves by 2 lambda delta at most. */
        size_t groups = x.settings[0].per_image ? B : 1;
        machine_copy_out(got, gradient.data, n * sizeof *got);
        for (size_t i = 0; i < n; i++) {
            double expected = lambda * ((double)x.d.x[i] - (double)exact[i]) / (double)groups;
            ck_assert_near((double)got[i], expected, 2 * lambda * delta + 1e-6 * (1 + lambda));
        }
        free(exact);
        free(got);
        free_batch(&x);
    }
}
END_TEST

int main(void)
{
    setenv("CK_FORK", "no", 1); /* a device that has been looked at is lost to children */
    submod_status status = submod_gpu_available(NULL);
    if (status != SUBMOD_OK) {
        printf("skipped: %s\n", submod_last_error());
        return status == SUBMOD_EUNSUPPORTED ? SKIPPED : EXIT_FAILURE;
    }
    return RUN_TESTS("gpu_layers", dataset, hinge);
}
