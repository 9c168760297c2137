/* Time, traffic and fraction of the roofline of the losses on a GPU.
 *
 *   bench-gpu [BATCH CLASSES PIXELS]          8 21 2097152 unless told otherwise
 *
 * Each engine is warmed up, then timed by CUDA's events over some calls; the fastest counts. Bytes
 * are those of the traffic model in docs/gpu.md, bandwidth is bytes / time, and the roofline is
 * what a copy within the device reaches in the same run. Says so and stops where there is no
 * device.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <submod.h>

static void require(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "bench-gpu: %s\n", cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}

static void require_ok(submod_status status)
{
    if (status != SUBMOD_OK) {
        fprintf(stderr, "bench-gpu: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

static void *device_memory(size_t bytes)
{
    void *memory;
    require(cudaMalloc(&memory, bytes));
    return memory;
}

typedef struct data {
    submod_scores scores;
    submod_labels labels;
    submod_gradient gradient;
    submod_gpu_result *result;
    size_t entries; /* scores */
    size_t pixels;
} data;

/* Scores of a network that has learnt something: N(0, 1), and 4 more at the label. */
static data make_data(size_t B, size_t C, size_t N)
{
    data d = {.entries = B * C * N, .pixels = B * N};
    float *x = malloc(d.entries * sizeof *x);
    uint8_t *y = malloc(d.pixels);
    if (!x || !y) {
        fprintf(stderr, "bench-gpu: out of memory\n");
        exit(EXIT_FAILURE);
    }
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t i = 0; i < d.entries; i++) {
        x[i] = (float)submod_rng_normal(&rng);
    }
    for (size_t i = 0; i < d.pixels; i++) {
        y[i] = (uint8_t)submod_rng_below(&rng, C < 256 ? C : 256);
        x[(i / N * C + y[i]) * N + i % N] += 4;
    }
    float *on_device = device_memory(d.entries * sizeof *x);
    uint8_t *labels = device_memory(d.pixels);
    require(cudaMemcpy(on_device, x, d.entries * sizeof *x, cudaMemcpyHostToDevice));
    require(cudaMemcpy(labels, y, d.pixels, cudaMemcpyHostToDevice));
    d.scores = submod_scores_f32(on_device, B, C, N);
    d.labels = submod_labels_u8(labels, B, N);
    d.gradient = submod_gradient_dense(device_memory(d.entries * sizeof *x), C, N);
    d.result = device_memory(sizeof *d.result);
    free(x);
    free(y);
    return d;
}

/* One thing to be timed. */
typedef struct subject {
    const data *d;
    const submod_loss_settings *settings; /* NULL: a copy of the scores */
    const submod_gpu_place *place;
} subject;

static void run(const subject *s)
{
    if (s->settings) {
        require_ok(submod_gpu_lovasz_softmax(&s->d->scores, SUBMOD_INPUT_LOGITS, &s->d->labels,
                                             s->d->result, &s->d->gradient, s->settings, s->place));
    } else {
        require(cudaMemcpyAsync(s->d->gradient.data, s->d->scores.data,
                                s->d->entries * sizeof(float), cudaMemcpyDeviceToDevice, 0));
    }
}

/* Milliseconds of the fastest of some runs. */
static double fastest(const subject *s)
{
    enum { REPEATS = 20 };
    cudaEvent_t begin, end;
    double best = 1e30;
    require(cudaEventCreate(&begin));
    require(cudaEventCreate(&end));
    run(s);
    for (int i = 0; i < REPEATS; i++) {
        float ms;
        require(cudaEventRecord(begin, 0));
        run(s);
        require(cudaEventRecord(end, 0));
        require(cudaEventSynchronize(end));
        require(cudaEventElapsedTime(&ms, begin, end));
        best = ms < best ? ms : best;
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return best;
}

/* docs/gpu.md: bytes per score and per label of an engine. */
static double bytes_of(const data *d, submod_engine engine)
{
    double per_score = engine == SUBMOD_ENGINE_HISTOGRAM ? 12 : 152;
    return per_score * (double)d->entries + 3.0 * (double)d->pixels;
}

int main(int argc, char **argv)
{
    size_t shape[3] = {8, 21, (size_t)1024 * 2048};
    for (int i = 0; i < 3 && argc == 4; i++) {
        shape[i] = (size_t)strtoull(argv[i + 1], NULL, 10);
    }
    if ((argc != 1 && argc != 4) || !shape[0] || !shape[1] || !shape[2]) {
        fprintf(stderr, "usage: bench-gpu [BATCH CLASSES PIXELS]\n");
        return 2;
    }
    if (submod_gpu_available(NULL) != SUBMOD_OK) {
        printf("nothing to measure: %s\n", submod_last_error());
        return 0;
    }
    data d = make_data(shape[0], shape[1], shape[2]);
    subject copy = {.d = &d};
    double roofline = 8 * (double)d.entries / fastest(&copy) * 1e-6;
    printf("%zu x %zu x %zu; a copy within the device: %.0f GB/s\n", shape[0], shape[1], shape[2],
           roofline);
    printf("%-10s %10s %10s %10s %12s\n", "engine", "ms", "GB", "GB/s", "of roofline");
    for (int engine = 1; engine >= 0; engine--) {
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)engine;
        submod_gpu_place place = {0};
        submod_gpu_result host;
        require_ok(submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &d.scores, SUBMOD_INPUT_LOGITS, &s,
                                             &place.workspace_bytes));
        place.workspace = device_memory(place.workspace_bytes);
        subject loss = {&d, &s, &place};
        double ms = fastest(&loss);
        double gb = bytes_of(&d, s.engine) * 1e-9;
        printf("%-10s %10.3f %10.2f %10.0f %11.0f%%\n", engine ? "histogram" : "exact", ms, gb,
               gb / ms * 1e3, gb / ms * 1e5 / roofline);
        require(cudaMemcpy(&host, d.result, sizeof host, cudaMemcpyDeviceToHost));
        require_ok(submod_gpu_result_status(&host));
        cudaFree(place.workspace);
    }
    return 0;
}
