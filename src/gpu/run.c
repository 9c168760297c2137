/* The order of launches. Everything here depends on arguments alone, never on data, so that a
 * stream can be captured. */
#include "base/sort.h"
#include "gpu/plan.h"

/* A queue that stops at the first failure. */
typedef struct queue {
    const submodi_gpu_backend *b;
    submod_status status;
} queue;

static void launch(queue *q, submodi_gpu_kernel kernel, uint64_t blocks, uint32_t threads,
                   size_t shared, const submodi_gpu_job *job)
{
    if (q->status == SUBMOD_OK && blocks > 0) {
        q->status = q->b->launch(q->b, kernel, (uint32_t)blocks, threads, shared, job);
    }
}

static void clear(queue *q, void *memory, size_t bytes)
{
    if (q->status == SUBMOD_OK && bytes > 0) {
        q->status = q->b->clear(q->b, memory, bytes);
    }
}

/* Weights of all classes, some at a time. */
static void upload_weights(queue *q, const submodi_batch *batch, double *class_weight)
{
    enum { SOME = 256 };
    size_t C = batch->scores.classes;
    for (size_t first = 0; first < C && q->status == SUBMOD_OK; first += SOME) {
        double weight[SOME];
        size_t n = C - first < SOME ? C - first : SOME;
        for (size_t c = 0; c < n; c++) {
            weight[c] = submodi_class_weight(&batch->settings, first + c);
        }
        q->status = q->b->upload(q->b, class_weight + first, weight, n);
    }
}

/* One pass over the pixels of groups first .. first+groups-1. */
static void pass(queue *q, submodi_gpu_kernel kernel, const submodi_gpu_plan *plan, uint32_t first,
                 uint32_t groups, uint32_t threads, size_t shared, submodi_gpu_job job)
{
    uint64_t most = plan->tuning.blocks / ((uint64_t)groups * job.slices) + 1;
    uint64_t pixels = (uint64_t)threads * plan->tuning.pixels;
    uint64_t wanted = (job.per_group + pixels - 1) / pixels;
    job.first_group = first;
    job.chunks = (uint32_t)(wanted < most ? wanted : most);
    launch(q, kernel, (uint64_t)groups * job.slices * job.chunks, threads, shared, &job);
}

static bool has_pixels(const submodi_gpu_job *j)
{
    return j->per_group > 0 && j->groups > 0;
}

/* Foreground counts. */
static void count_labels(queue *q, const submodi_gpu_plan *plan)
{
    submodi_gpu_job job = plan->job;
    uint32_t threads = plan->tuning.threads;
    size_t room = plan->tuning.window_bytes / plan->counter;
    uint32_t wanted = job.multilabel ? 1 : job.classes;
    job.slices = job.multilabel ? job.classes : 1;
    job.label_counters = (uint32_t)(wanted < room ? wanted : room);
    size_t shared = SUBMODI_BLOCK_SCRATCH + job.label_counters * plan->counter;
    if (plan->weighted && has_pixels(&job)) {
        pass(q, SUBMODI_GPU_KERNEL_weights, plan, 0, job.groups, threads, sizeof(uint32_t), job);
    }
    if (has_pixels(&job)) {
        pass(q, SUBMODI_GPU_KERNEL_labels, plan, 0, job.groups, threads, shared, job);
    }
}

/* What each class counts for, by its foreground in the batch or in the dataset. */
static void share_out(queue *q, const submodi_gpu_plan *plan)
{
    uint32_t threads = plan->tuning.threads;
    if (plan->job.method == SUBMODI_GPU_GLOBAL_LOSS) {
        launch(q, SUBMODI_GPU_KERNEL_global_totals, 1, threads, 0, &plan->job);
    }
    if (plan->job.method == SUBMODI_GPU_DATASET_LOSS) {
        launch(q, SUBMODI_GPU_KERNEL_dataset_classes, plan->job.classes, threads,
               SUBMODI_BLOCK_SCRATCH, &plan->job);
    }
    launch(q, SUBMODI_GPU_KERNEL_coefficients, ((uint64_t)plan->job.groups + threads - 1) / threads,
           threads, 0, &plan->job);
}

/* The kernels of one kind of histogram. */
typedef struct histogram {
    submodi_gpu_kernel before; /* looks at everything once */
    bool always;               /* else only if the groups do not fit into one wave */
    submodi_gpu_kernel count, solve, write;
    size_t solve_shared;
} histogram;

static void run_histogram(queue *q, const submodi_gpu_plan *plan, const histogram *h)
{
    const submodi_gpu_job *j = &plan->job;
    uint32_t threads = plan->pixel_threads;
    if (h->always || plan->wave < j->groups) {
        pass(q, h->before, plan, 0, j->groups, threads, 2 * sizeof(uint32_t), *j);
    }
    for (uint32_t first = 0; first < j->groups; first += plan->wave) {
        submodi_gpu_job job = *j;
        uint32_t groups = j->groups - first < plan->wave ? j->groups - first : plan->wave;
        uint64_t tables = (uint64_t)groups * j->classes;
        job.first_group = first;
        clear(q, j->count, tables * 2 * j->bins * plan->counter);
        pass(q, h->count, plan, first, groups, threads, plan->window + plan->stage, job);
        launch(q, h->solve, tables, plan->tuning.threads, h->solve_shared, &job);
        if (j->gradient.data || j->prox.data) {
            pass(q, h->write, plan, first, groups, threads, plan->stage, job);
        }
    }
}

/* A softmax of few classes (kernel_few.h). Blocks have been cut; each has its place for counters.
 */
static void count_few(queue *q, const submodi_gpu_plan *plan, uint32_t groups,
                      const submodi_gpu_job *job)
{
    uint64_t blocks = (uint64_t)groups * job->chunks;
    uint64_t tables = (uint64_t)groups * job->classes;
    launch(q, SUBMODI_GPU_KERNEL_few_count, blocks, plan->pixel_threads, plan->window + plan->stage,
           job);
    launch(q, SUBMODI_GPU_KERNEL_few_collect, tables * job->parts, plan->tuning.threads, 0, job);
}

static void write_few(queue *q, const submodi_gpu_plan *plan, uint32_t groups,
                      const submodi_gpu_job *job)
{
    if (job->gradient.data && has_pixels(job)) {
        launch(q, SUBMODI_GPU_KERNEL_few_gradient, (uint64_t)groups * job->chunks,
               plan->pixel_threads, plan->weights, job);
    }
}

/* Weights of bins, and the gradient. */
static void solve_few(queue *q, const submodi_gpu_plan *plan, uint32_t groups,
                      const submodi_gpu_job *job)
{
    launch(q, SUBMODI_GPU_KERNEL_solve, (uint64_t)groups * job->classes, plan->tuning.threads,
           SUBMODI_BLOCK_SCRATCH + sizeof(uint32_t), job);
    write_few(q, plan, groups, job);
}

static void run_few(queue *q, const submodi_gpu_plan *plan)
{
    const submodi_gpu_job *j = &plan->job;
    if (plan->wave < j->groups) {
        pass(q, SUBMODI_GPU_KERNEL_check, plan, 0, j->groups, plan->pixel_threads, sizeof(uint32_t),
             *j);
    }
    for (uint32_t first = 0; first < j->groups; first += plan->wave) {
        submodi_gpu_job job = *j;
        uint32_t groups = j->groups - first < plan->wave ? j->groups - first : plan->wave;
        job.first_group = first;
        clear(q, j->count, (size_t)groups * j->classes * 2 * j->bins * plan->counter);
        count_few(q, plan, groups, &job);
        solve_few(q, plan, groups, &job);
    }
}

/* ---- a batch on several devices: the largest weight and margin, the counts, the loss ---- */

static void run_global_range(queue *q, const submodi_gpu_plan *plan)
{
    const submodi_gpu_job *j = &plan->job;
    if (has_pixels(j) && j->activation == SUBMODI_SCORE) {
        pass(q, SUBMODI_GPU_KERNEL_check, plan, 0, 1, plan->pixel_threads, sizeof(uint32_t), *j);
    }
    launch(q, SUBMODI_GPU_KERNEL_global_range, 1, SUBMODI_WARP, 0, j);
}

static void run_global_counts(queue *q, const submodi_gpu_plan *plan)
{
    const submodi_gpu_job *j = &plan->job;
    enum { BLOCKS = 128 };
    clear(q, j->count, (size_t)j->classes * 2 * j->bins * plan->counter);
    if (has_pixels(j) && plan->few) {
        count_few(q, plan, 1, j);
    } else if (has_pixels(j)) {
        pass(q, SUBMODI_GPU_KERNEL_count, plan, 0, 1, plan->pixel_threads,
             plan->window + plan->stage, *j);
    }
    launch(q, SUBMODI_GPU_KERNEL_global_counts, BLOCKS, plan->tuning.threads, 0, j);
}

static void run_global_loss(queue *q, const submodi_gpu_plan *plan)
{
    const submodi_gpu_job *j = &plan->job;
    uint64_t tables = (uint64_t)j->groups * j->classes; /* none, if no device has pixels */
    if (plan->few) {
        solve_few(q, plan, j->groups, j);
        return;
    }
    launch(q, SUBMODI_GPU_KERNEL_solve, tables, plan->tuning.threads, SUBMODI_BLOCK_SCRATCH, j);
    if (has_pixels(j) && j->gradient.data) {
        pass(q, SUBMODI_GPU_KERNEL_gradient, plan, 0, 1, plan->pixel_threads, plan->stage, *j);
    }
}

static void run_loss_histogram(queue *q, const submodi_gpu_plan *plan)
{
    const histogram h = {.before = SUBMODI_GPU_KERNEL_check,
                         .always = plan->job.activation == SUBMODI_SCORE,
                         .count = SUBMODI_GPU_KERNEL_count,
                         .solve = SUBMODI_GPU_KERNEL_solve,
                         .write = SUBMODI_GPU_KERNEL_gradient,
                         .solve_shared = SUBMODI_BLOCK_SCRATCH};
    run_histogram(q, plan, &h);
}

static void run_prox(queue *q, const submodi_gpu_plan *plan)
{
    const histogram h = {.before = SUBMODI_GPU_KERNEL_prox_range,
                         .always = true,
                         .count = SUBMODI_GPU_KERNEL_prox_count,
                         .solve = SUBMODI_GPU_KERNEL_prox_solve,
                         .write = plan->job.method == SUBMODI_GPU_PROX
                                      ? SUBMODI_GPU_KERNEL_prox_write
                                      : SUBMODI_GPU_KERNEL_hinge_write,
                         .solve_shared = SUBMODI_BLOCK_SCRATCH + 2 * sizeof(uint32_t)};
    run_histogram(q, plan, &h);
}

/* The counts of a batch of any size. */
static void run_dataset_counts(queue *q, const submodi_gpu_plan *plan)
{
    const submodi_gpu_job *j = &plan->job;
    clear(q, j->count, (size_t)j->classes * 2 * j->bins * plan->counter);
    if (has_pixels(j) && plan->few) {
        count_few(q, plan, 1, j);
    } else if (has_pixels(j)) {
        pass(q, SUBMODI_GPU_KERNEL_count, plan, 0, 1, plan->pixel_threads,
             plan->window + plan->stage, *j);
    }
    launch(q, SUBMODI_GPU_KERNEL_dataset_counts, j->classes, plan->tuning.threads,
           SUBMODI_BLOCK_SCRATCH, j);
}

/* What the dataset has decides; of the batch the labels have been looked at, and scores are before
 * anything is written. */
static void run_dataset_loss(queue *q, const submodi_gpu_plan *plan)
{
    const submodi_gpu_job *j = &plan->job;
    uint32_t threads = plan->tuning.threads;
    launch(q, SUBMODI_GPU_KERNEL_dataset_solve, j->classes, threads,
           SUBMODI_BLOCK_SCRATCH + threads * sizeof(double) + sizeof(uint32_t), j);
    if (has_pixels(j)) {
        pass(q, SUBMODI_GPU_KERNEL_check, plan, 0, 1, plan->pixel_threads, sizeof(uint32_t), *j);
    }
    if (plan->few) {
        write_few(q, plan, 1, j);
    } else if (has_pixels(j) && j->gradient.data) {
        pass(q, SUBMODI_GPU_KERNEL_gradient, plan, 0, 1, plan->pixel_threads, plan->stage, *j);
    }
}

static void sort(queue *q, const submodi_gpu_plan *plan, submodi_gpu_job *job)
{
    int key_bits = job->activation == SUBMODI_SCORE ? 32 : 31;
    submodi_gpu_sort s = {.wide = job->wide,
                          .key = {job->sorting[0], job->sorting[1]},
                          .position = {job->position[0], job->position[1]},
                          .n = job->sorted_segments * job->per_group,
                          .bits = job->wide ? 32 + (int)submodi_bit_length(job->sorted_segments - 1)
                                            : key_bits,
                          .scratch = plan->scratch,
                          .scratch_bytes = plan->scratch_bytes};
    if (q->status == SUBMOD_OK) {
        q->status = q->b->sort(q->b, &s, &job->current);
    }
}

/* Segments first .. first+n-1: gathered, sorted, weighed. */
static void rank_together(queue *q, const submodi_gpu_plan *plan, uint32_t first, uint32_t n)
{
    submodi_gpu_job job = plan->job;
    uint32_t threads = plan->tuning.threads;
    uint64_t tiles = (uint64_t)n * job.tiles;
    uint64_t gather = (uint64_t)n * job.per_group / threads + 1;
    job.first_segment = first;
    job.sorted_segments = n;
    launch(q, SUBMODI_GPU_KERNEL_gather,
           gather < plan->tuning.blocks ? gather : plan->tuning.blocks, threads, 0, &job);
    sort(q, plan, &job);
    launch(q, SUBMODI_GPU_KERNEL_tile_count, tiles, threads, SUBMODI_BLOCK_SCRATCH, &job);
    launch(q, SUBMODI_GPU_KERNEL_tile_scan, n, threads, SUBMODI_BLOCK_SCRATCH, &job);
    if (plan->weighted) {
        launch(q, SUBMODI_GPU_KERNEL_tile_before, tiles, threads, SUBMODI_BLOCK_SCRATCH, &job);
    }
    launch(q, SUBMODI_GPU_KERNEL_weigh, tiles, threads, SUBMODI_BLOCK_SCRATCH, &job);
    launch(q, SUBMODI_GPU_KERNEL_tile_sum, n, threads, SUBMODI_BLOCK_SCRATCH, &job);
}

static void run_exact(queue *q, const submodi_gpu_plan *plan)
{
    const submodi_gpu_job *j = &plan->job;
    uint32_t S = (uint32_t)plan->segments;
    pass(q, SUBMODI_GPU_KERNEL_keys, plan, 0, j->groups, plan->pixel_threads, plan->stage, *j);
    if (plan->sort_together == 0) {
        size_t sums = plan->weighted ? j->per_group + (size_t)1 : 0;
        launch(q, SUBMODI_GPU_KERNEL_small, S, plan->tuning.threads,
               SUBMODI_BLOCK_SCRATCH + (j->padded + sums) * sizeof(uint64_t), j);
    }
    for (uint32_t s = 0; plan->sort_together > 0 && s < S; s += plan->sort_together) {
        uint32_t n = S - s < plan->sort_together ? S - s : plan->sort_together;
        rank_together(q, plan, s, n);
    }
    if (j->gradient.data) {
        pass(q, SUBMODI_GPU_KERNEL_gradient, plan, 0, j->groups, plan->pixel_threads, plan->stage,
             *j);
    }
}

static void run_method(queue *q, const submodi_gpu_plan *plan)
{
    switch (plan->job.method) {
    case SUBMODI_GPU_EXACT: run_exact(q, plan); break;
    case SUBMODI_GPU_HISTOGRAM:
        if (plan->few) {
            run_few(q, plan);
        } else {
            run_loss_histogram(q, plan);
        }
        break;
    case SUBMODI_GPU_PROX:
    case SUBMODI_GPU_PROX_HINGE: run_prox(q, plan); break;
    case SUBMODI_GPU_DATASET_COUNTS: run_dataset_counts(q, plan); break;
    case SUBMODI_GPU_DATASET_LOSS: run_dataset_loss(q, plan); break;
    case SUBMODI_GPU_GLOBAL_RANGE: run_global_range(q, plan); break;
    case SUBMODI_GPU_GLOBAL_COUNTS: run_global_counts(q, plan); break;
    case SUBMODI_GPU_GLOBAL_LOSS: run_global_loss(q, plan); break;
    }
}

submod_status submodi_gpu_run(const submodi_gpu_backend *b, const submodi_batch *batch,
                              const submodi_gpu_plan *plan)
{
    queue q = {b, SUBMOD_OK};
    const submodi_gpu_job *j = &plan->job;
    clear(&q, j->value, plan->cleared);
    launch(&q, SUBMODI_GPU_KERNEL_begin, 1, SUBMODI_WARP, 0, j);
    upload_weights(&q, batch, j->class_weight);
    if (j->method != SUBMODI_GPU_GLOBAL_LOSS) { /* all are counted already */
        count_labels(&q, plan);
    }
    share_out(&q, plan);
    if (has_pixels(j) || plan->dataset || plan->global) {
        run_method(&q, plan);
    }
    launch(&q, SUBMODI_GPU_KERNEL_finish, 1, plan->tuning.threads, SUBMODI_BLOCK_SCRATCH, j);
    return q.status;
}
