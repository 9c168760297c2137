/* Time, traffic and fraction of the roofline of the losses and the prox on a GPU.
 *
 *   bench-gpu [BATCH CLASSES HEIGHT WIDTH]    default: 8 21 1024 2048; up to 256 classes
 *
 * Losses are measured on three batches: scores that are random (standard normal), trained (labels
 * in squares of 32 x 32 pixels, whose scores are lifted by 3) and confident (by 12). The prox takes
 * the trained ones. Each engine is warmed up, then CUDA's events time some calls; the fastest
 * counts. Bytes are those of the traffic model in docs/gpu.md, and bandwidth is bytes / time. The
 * roofline is the bandwidth of a copy within the device in the same run. Without a device the
 * program says so and stops.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <submod.h>

#include "losses/data.h"

static void require_cuda(cudaError_t error)
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
    require_cuda(cudaMalloc(&memory, bytes));
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

static data make_data(const recipe *r)
{
    batch b = batch_make(r);
    data d = {.entries = b.count, .pixels = b.images * b.pixels};
    uint8_t *y = allocate(d.pixels, 1);
    for (size_t i = 0; i < d.pixels; i++) {
        y[i] = (uint8_t)b.labels[i];
    }
    float *on_device = device_memory(b.count * sizeof *b.scores);
    uint8_t *labels = device_memory(d.pixels);
    require_cuda(
        cudaMemcpy(on_device, b.scores, b.count * sizeof *b.scores, cudaMemcpyHostToDevice));
    require_cuda(cudaMemcpy(labels, y, d.pixels, cudaMemcpyHostToDevice));
    d.scores = submod_scores_f32(on_device, b.images, b.classes, b.pixels);
    d.labels = submod_labels_u8(labels, b.images, b.pixels);
    d.gradient = submod_gradient_dense(device_memory(b.count * sizeof(float)), b.classes, b.pixels);
    d.result = device_memory(sizeof *d.result);
    free(y);
    batch_free(&b);
    return d;
}

static void free_data(data *d)
{
    require_cuda(cudaFree((void *)d->scores.data));
    require_cuda(cudaFree((void *)d->labels.data));
    require_cuda(cudaFree(d->gradient.data));
    require_cuda(cudaFree(d->result));
}

/* The same scores as images of 64 x 64 for the prox; a tenth of the pixels is foreground. */
static data make_images(const data *d)
{
    enum { PIXELS = 64 * 64 };
    data images = *d;
    size_t count = d->entries / PIXELS;
    images.entries = images.pixels = count * PIXELS;
    uint8_t *y = malloc(images.pixels + 1);
    if (!y) {
        fprintf(stderr, "bench-gpu: out of memory\n");
        exit(EXIT_FAILURE);
    }
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (size_t i = 0; i < images.pixels; i++) {
        y[i] = submod_rng_below(&rng, 10) == 0;
    }
    uint8_t *labels = device_memory(images.pixels + 1);
    require_cuda(cudaMemcpy(labels, y, images.pixels, cudaMemcpyHostToDevice));
    images.scores = submod_scores_f32(d->scores.data, count, 1, PIXELS);
    images.labels = submod_labels_u8(labels, count, PIXELS);
    images.gradient = submod_gradient_dense(d->gradient.data, 1, PIXELS);
    free(y);
    return images;
}

/* One thing to be timed. docs/gpu.md explains the bytes per score and per label. */
typedef struct subject {
    const char *name;
    enum { COPY, LOSS, PROX } what;
    submod_engine engine;
    double per_score, per_label;
} subject;

static const double lambda = 1;
static const size_t bins = 1024;

static void find_workspace(const subject *s, const data *d, submod_gpu_place *place)
{
    submod_loss_settings settings = submod_loss_defaults();
    settings.engine = s->engine;
    if (s->what != COPY) {
        require_ok(s->what == PROX
                       ? submod_gpu_prox_workspace(&d->scores, bins, &place->workspace_bytes)
                       : submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &d->scores,
                                                   &place->workspace_bytes, &settings));
        place->workspace = device_memory(place->workspace_bytes);
    }
}

static void run(const subject *s, const data *d, const submod_gpu_place *place)
{
    submod_loss_settings settings = submod_loss_defaults();
    settings.engine = s->engine;
    switch (s->what) {
    case COPY:
        require_cuda(cudaMemcpyAsync(d->gradient.data, d->scores.data, d->entries * sizeof(float),
                                     cudaMemcpyDeviceToDevice, 0));
        break;
    case LOSS:
        require_ok(submod_gpu_lovasz_softmax(&d->scores, &d->labels, d->result, &d->gradient,
                                             &settings, place));
        break;
    case PROX:
        require_ok(submod_gpu_prox_jaccard(&d->scores, &d->labels, lambda, bins, &d->gradient,
                                           d->result, NULL, place));
    }
}

/* The fastest of some runs, in milliseconds. */
static double fastest(const subject *s, const data *d, const submod_gpu_place *place)
{
    enum { REPEATS = 20 };
    cudaEvent_t begin, end;
    double best = 1e30;
    require_cuda(cudaEventCreate(&begin));
    require_cuda(cudaEventCreate(&end));
    run(s, d, place);
    for (int i = 0; i < REPEATS; i++) {
        float ms;
        require_cuda(cudaEventRecord(begin, 0));
        run(s, d, place);
        require_cuda(cudaEventRecord(end, 0));
        require_cuda(cudaEventSynchronize(end));
        require_cuda(cudaEventElapsedTime(&ms, begin, end));
        best = ms < best ? ms : best;
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return best;
}

/* Prints a line and returns the bandwidth in GB/s. roofline = 0: this run is the roofline. */
static double measure(const char *which, const subject *s, const data *d, double roofline)
{
    submod_gpu_place place = {0};
    find_workspace(s, d, &place);
    double ms = fastest(s, d, &place);
    double gb = (s->per_score * (double)d->entries + s->per_label * (double)d->pixels) * 1e-9;
    double rate = gb / ms * 1e3;
    printf("%-10s %-10s %10.3f %10.2f %10.0f %11.0f%%\n", which, s->name, ms, gb, rate,
           100 * rate / (roofline > 0 ? roofline : rate));
    if (s->what != COPY) {
        submod_gpu_result host;
        require_cuda(cudaMemcpy(&host, d->result, sizeof host, cudaMemcpyDeviceToHost));
        require_ok(submod_gpu_result_status(&host));
    }
    require_cuda(cudaFree(place.workspace));
    return rate;
}

static const struct {
    const char *name;
    size_t block;
    double lift;
} batches[] = {{"random", 1, 0}, {"trained", 32, 3}, {"confident", 32, 12}};

static const subject copy = {"copy", COPY, SUBMOD_ENGINE_EXACT, 8, 0};
static const subject losses[] = {{"histogram", LOSS, SUBMOD_ENGINE_HISTOGRAM, 12, 3},
                                 {"exact", LOSS, SUBMOD_ENGINE_EXACT, 152, 3}};
static const subject prox = {"prox", PROX, SUBMOD_ENGINE_HISTOGRAM, 16, 4};

static void measure_all(const size_t shape[4])
{
    double roofline = 0;
    printf("%zu x %zu x %zu x %zu; prox: images of 64 x 64\n", shape[0], shape[1], shape[2],
           shape[3]);
    printf("%-10s %-10s %10s %10s %10s %12s\n", "", "", "ms", "GB", "GB/s", "of roofline");
    for (size_t k = 0; k < sizeof batches / sizeof *batches; k++) {
        const recipe r = {shape[0], shape[1],         shape[2],
                          shape[3], batches[k].block, batches[k].lift};
        data d = make_data(&r);
        if (k == 0) {
            roofline = measure(batches[k].name, &copy, &d, 0);
        }
        for (int i = 0; i < 2; i++) {
            measure(batches[k].name, &losses[i], &d, roofline);
        }
        if (k == 1) {
            data images = make_images(&d);
            measure(batches[k].name, &prox, &images, roofline);
            require_cuda(cudaFree((void *)images.labels.data));
        }
        free_data(&d);
    }
}

int main(int argc, char **argv)
{
    size_t shape[4] = {8, 21, 1024, 2048};
    for (int i = 0; i < 4 && argc == 5; i++) {
        shape[i] = (size_t)strtoull(argv[i + 1], NULL, 10);
    }
    if ((argc != 1 && argc != 5) || !shape[0] || !shape[1] || !shape[2] || !shape[3] ||
        shape[1] > 256) {
        fprintf(stderr, "usage: bench-gpu [BATCH CLASSES HEIGHT WIDTH]\n");
        return 2;
    }
    if (submod_gpu_available(NULL) != SUBMOD_OK) {
        printf("nothing to measure: %s\n", submod_last_error());
        return 0;
    }
    measure_all(shape);
    return 0;
}
