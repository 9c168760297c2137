/* On a real device: the same comparisons, and a captured stream. Skipped (77) where there is none.
 */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "support.h"

enum { SKIPPED = 77 };

/* By the public functions with host pointers, on device 0. */
static submod_status on_device(const batch *d, double *loss, const submod_gradient *g,
                               submod_loss_info *info, const submod_loss_settings *s,
                               const void *context)
{
    (void)context;
    submod_scores scores = scores_of(d);
    submod_labels labels = labels_of(d);
    if (d->kind == HINGE) {
        return submod_gpu_lovasz_hinge_host(&scores, &labels, loss, g, info, s, 0);
    }
    return is_multilabel(d->kind) ? submod_gpu_lovasz_sigmoid_host(&scores, input_of(d->kind),
                                                                   &labels, loss, g, info, s, 0)
                                  : submod_gpu_lovasz_softmax_host(&scores, input_of(d->kind),
                                                                   &labels, loss, g, info, s, 0);
}

/* The bits of a softmax or sigmoid are those of a CPU that fuses multiplications and additions
 * (base/simd.h says when ours does); of another one, other kinds of problems are compared. */
static bool cpu_fuses(void)
{
#if defined(__x86_64__) && !defined(__clang__)
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#elif defined(__x86_64__) && !defined(__FMA__)
    return false;
#else
    return true;
#endif
}

static kind random_kind(submod_rng *rng)
{
    static const kind without_exp[] = {SOFTMAX_P, SIGMOID_P, HINGE};
    return cpu_fuses() ? (kind)submod_rng_below(rng, KINDS) : without_exp[submod_rng_below(rng, 3)];
}

START_TEST(random_problems)
{
    static const size_t sizes[] = {1, 31, 33, 257, 2048, 2049, 70001};
    submod_rng rng;
    submod_rng_seed(&rng, 95);
    for (int repeat = 0; repeat < 700; repeat++) {
        batch d = random_batch(&rng, random_kind(&rng), submod_rng_below(&rng, 4),
                               1 + submod_rng_below(&rng, 30), sizes[repeat % 7],
                               submod_rng_below(&rng, 2), true);
        submod_loss_settings s = random_settings(&rng, true);
        s.class_weight = NULL;
        const char *what = compare(&d, &s, on_device, NULL);
        ck_assert_msg(!what, "kind %d, engine %d, %zu x %zu x %zu: %s", (int)d.kind, (int)s.engine,
                      d.B, d.C, d.N, what);
        free_batch(&d);
    }
}
END_TEST

#define ck_assert_cuda(call) ck_assert_int_eq(call, cudaSuccess)

/* Captured once, launched three times, with other scores each time. */
START_TEST(captured_stream)
{
    enum { B = 2, C = 5, N = 3000, ENTRIES = B * C * N };
    submod_rng rng;
    submod_rng_seed(&rng, 96);
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)engine;
        float *x, *g;
        int64_t *y;
        submod_gpu_result *result, host;
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        submod_scores scores = submod_scores_f32(NULL, B, C, N);
        submod_gpu_place place = {0};
        ck_assert_ok(submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &scores, SUBMOD_INPUT_LOGITS, &s,
                                               &place.workspace_bytes));
        ck_assert_cuda(cudaMalloc((void **)&x, ENTRIES * sizeof *x));
        ck_assert_cuda(cudaMalloc((void **)&g, ENTRIES * sizeof *g));
        ck_assert_cuda(cudaMalloc((void **)&y, B * N * sizeof *y));
        ck_assert_cuda(cudaMalloc((void **)&result, sizeof *result));
        ck_assert_cuda(cudaMalloc(&place.workspace, place.workspace_bytes));
        ck_assert_cuda(cudaStreamCreate(&stream));
        place.stream = stream;
        scores.data = x;
        submod_labels labels = submod_labels_i64(y, B, N);
        submod_gradient to = submod_gradient_dense(g, C, N);
        ck_assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        ck_assert_ok(submod_gpu_lovasz_softmax(&scores, SUBMOD_INPUT_LOGITS, &labels, result, &to,
                                               &s, &place));
        ck_assert_cuda(cudaStreamEndCapture(stream, &graph));
        ck_assert_cuda(cudaGraphInstantiate(&executable, graph, 0));
        for (int repeat = 0; repeat < 3; repeat++) {
            batch d = random_batch(&rng, SOFTMAX, B, C, N, false, false);
            float *expected = malloc(ENTRIES * sizeof *expected),
                  *got = malloc(ENTRIES * sizeof *got);
            submod_gradient cpu = submod_gradient_dense(expected, C, N);
            double loss;
            ck_assert_ok(on_cpu(&d, &loss, &cpu, NULL, &s));
            ck_assert_cuda(cudaMemcpy(x, d.x, ENTRIES * sizeof *x, cudaMemcpyHostToDevice));
            ck_assert_cuda(cudaMemcpy(y, d.y, B * N * sizeof *y, cudaMemcpyHostToDevice));
            ck_assert_cuda(cudaGraphLaunch(executable, stream));
            ck_assert_cuda(cudaStreamSynchronize(stream));
            ck_assert_cuda(cudaMemcpy(&host, result, sizeof host, cudaMemcpyDeviceToHost));
            ck_assert_cuda(cudaMemcpy(got, g, ENTRIES * sizeof *g, cudaMemcpyDeviceToHost));
            ck_assert_ok(submod_gpu_result_status(&host));
            ck_assert_near(host.loss, loss, cpu_fuses() ? 1e-13 : 2 * s.delta);
            ck_assert(!cpu_fuses() || same_floats(got, expected, ENTRIES));
            free(expected);
            free(got);
            free_batch(&d);
        }
        cudaGraphExecDestroy(executable);
        cudaGraphDestroy(graph);
        cudaStreamDestroy(stream);
        cudaFree(x);
        cudaFree(g);
        cudaFree(y);
        cudaFree(result);
        cudaFree(place.workspace);
    }
}
END_TEST

int main(void)
{
    if (submod_gpu_available(NULL) != SUBMOD_OK) {
        printf("skipped: %s\n", submod_last_error());
        return SKIPPED;
    }
    return RUN_TESTS("gpu_device", random_problems, captured_stream);
}
