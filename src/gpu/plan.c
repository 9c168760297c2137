/* How the work is cut and where things lie in the workspace (see plan.h). */
#include "gpu/plan.h"

#include <math.h>

#include "base/internal.h"
#include "loss/histogram.h"

/* ---- views and options ---- */

static void set_strides(int64_t *to, ptrdiff_t batch, ptrdiff_t class, ptrdiff_t pixel)
{
    to[0] = batch;
    to[1] = class;
    to[2] = pixel;
}

static submodi_gpu_output output(const submod_gradient *g)
{
    submodi_gpu_output to = {.data = NULL};
    if (g) {
        to.data = g->data;
        to.scale = (float)g->scale;
        to.accumulate = g->accumulate != 0;
        set_strides(to.stride, g->batch_stride, g->class_stride, g->pixel_stride);
    }
    return to;
}

static bool is_of_dataset(submodi_gpu_method method)
{
    return method == SUBMODI_GPU_DATASET_COUNTS || method == SUBMODI_GPU_DATASET_LOSS;
}

static bool is_global(submodi_gpu_method method)
{
    return method == SUBMODI_GPU_GLOBAL_RANGE || method == SUBMODI_GPU_GLOBAL_COUNTS ||
           method == SUBMODI_GPU_GLOBAL_LOSS;
}

/* A dataset is one group, also if this batch adds nothing to it; so is a batch on several devices.
 */
static size_t groups_of(const submodi_gpu_task *task)
{
    return is_of_dataset(task->method) ? 1
           : is_global(task->method)   ? task->all_pixels > 0
                                       : task->batch.groups;
}

static submodi_gpu_job describe(const submodi_gpu_task *task)
{
    const submodi_batch *batch = &task->batch;
    return (submodi_gpu_job){.classes = (uint32_t)batch->scores.classes,
                             .pixels = (uint32_t)batch->scores.pixels,
                             .groups = (uint32_t)groups_of(task),
                             .per_group =
                                 (uint32_t)(batch->images_per_group * batch->scores.pixels),
                             .activation = batch->activation,
                             .takes_infinite = batch->takes_infinite,
                             .multilabel = batch->multilabel,
                             .only_present = batch->settings.classes == SUBMOD_CLASSES_PRESENT,
                             .group_losses = (uint32_t)task->group_losses,
                             .method = task->method,
                             .lambda = task->lambda,
                             .prox = output(task->prox),
                             .dataset = task->dataset,
                             .counts = task->counts,
                             .global = task->global,
                             .reach = task->reach,
                             .measure = submodi_form_of(&batch->measure)};
}

/* So many bits that the weights of a group's pixels, 1 at most each, add up to 2^52 units at most.
 */
static int unit_bits(const submodi_gpu_task *task)
{
    uint64_t own = submodi_group_pixels(&task->batch);
    uint64_t pixels = is_global(task->method) ? task->all_pixels : own;
    int bits = 52;
    for (uint64_t n = 1; n < pixels; n *= 2) {
        bits--;
    }
    return bits;
}

static void view(const submodi_batch *batch, const submod_gradient *g, submodi_gpu_job *j)
{
    const submod_scores *s = &batch->scores;
    const submod_labels *l = &batch->labels;
    const submod_pixel_weights *weights = batch->settings.pixel_weights;
    j->scores = s->data;
    j->score_type = s->type;
    set_strides(j->score_stride, s->batch_stride, s->class_stride, s->pixel_stride);
    j->labels = l->data;
    j->label_type = l->type;
    set_strides(j->label_stride, l->batch_stride, l->class_stride, l->pixel_stride);
    j->label_classes = batch->rule.classes;
    j->has_ignore = batch->rule.has_ignore;
    j->ignore_index = batch->rule.ignore_index;
    if (weights) {
        j->pixel_weights = weights->data;
        set_strides(j->weight_stride, weights->batch_stride, 0, weights->pixel_stride);
    }
    j->group_loss = batch->settings.group_loss;
    j->gradient = output(g);
}

/* ---- cutting ---- */

/* A pixel's classes belong together for the softmax alone. */
static void cut_pixels(submodi_gpu_plan *plan)
{
    submodi_gpu_job *j = &plan->job;
    const submodi_gpu_tuning *t = &plan->tuning;
    bool softmax = j->activation == SUBMODI_SOFTMAX;
    j->slices = softmax ? 1 : j->classes;
    plan->pixel_threads = t->threads;
    size_t per_thread = j->classes * sizeof(float);
    while (softmax && plan->pixel_threads > SUBMODI_WARP &&
           plan->pixel_threads * per_thread > t->stage_bytes) {
        plan->pixel_threads /= 2;
    }
    j->staged = softmax && plan->pixel_threads * per_thread <= t->stage_bytes;
    if (!j->staged) {
        plan->pixel_threads = t->threads;
    }
    plan->stage = j->staged ? plan->pixel_threads * per_thread : 0;
}

/* Threads and shared memory where classes are few. Each warp may have to turn rows round, in odd
 * numbers of floats (kernel_few.h); what is left is for counters of 16 bits, and later for weights.
 * Blocks are cut here, as each has its place in the workspace: of fewer than 2^16 pixels. */
static void cut_few(submodi_gpu_plan *plan)
{
    submodi_gpu_job *j = &plan->job;
    const submodi_gpu_tuning *t = &plan->tuning;
    size_t per_thread = (j->classes | 1) * sizeof(float);
    plan->pixel_threads = t->threads;
    while (plan->pixel_threads > SUBMODI_WARP &&
           plan->pixel_threads * per_thread > t->stage_bytes) {
        plan->pixel_threads /= 2;
    }
    plan->stage = plan->pixel_threads * per_thread;
    j->staged = plan->stage <= t->stage_bytes;
    plan->stage = j->staged ? plan->stage : 0;
    size_t room = t->stage_bytes - plan->stage + t->window_bytes;
    size_t window = room / (j->classes * sizeof(uint32_t)) * 2;
    j->window = (uint32_t)(window < j->bins ? window : j->bins);
    plan->window = (size_t)j->classes * (j->window / 2) * sizeof(uint32_t);
    uint64_t most = t->few_blocks / plan->wave + 1;
    uint64_t pixels = (uint64_t)plan->pixel_threads * t->few_pixels;
    uint64_t wanted = (j->per_group + pixels - 1) / pixels;
    uint64_t largest = UINT16_MAX / SUBMODI_WARP * SUBMODI_WARP; /* chunks are whole warps */
    uint64_t least = (j->per_group + largest - 1) / largest;
    j->chunks = (uint32_t)(wanted < most ? wanted : most);
    j->chunks = (uint32_t)(j->chunks < least ? least : j->chunks);
    enum { TOGETHER = 16 };
    j->parts = (j->chunks + TOGETHER - 1) / TOGETHER;
}

/* Whether the classes of a pixel are next to each other, and pixels after that. */
static bool has_rows(const int64_t *stride)
{
    int64_t of_class = stride[1] < 0 ? -stride[1] : stride[1];
    int64_t of_pixel = stride[2] < 0 ? -stride[2] : stride[2];
    return of_class < of_pixel;
}

/* Once the arrays are known: whether rows are turned round, and the room for weights then. */
static void turn_rows(submodi_gpu_plan *plan)
{
    submodi_gpu_job *j = &plan->job;
    const submodi_gpu_tuning *t = &plan->tuning;
    j->score_rows = j->staged && has_rows(j->score_stride);
    j->gradient_rows = j->staged && j->gradient.data && has_rows(j->gradient.stride);
    size_t stage = j->score_rows || j->gradient_rows ? plan->stage : 0;
    size_t room = t->stage_bytes - stage + t->window_bytes;
    size_t slots = room / sizeof(float) / j->classes; /* a place for how many are the same, too */
    size_t window = slots < 2 ? 0 : slots - 2;
    j->table_window = (uint32_t)(window < j->bins ? window : j->bins);
    plan->weights = (size_t)j->classes * (j->table_window + (size_t)2) * sizeof(float) + stage;
    plan->stage = j->score_rows ? plan->stage : 0;
}

/* As many as the CPU takes. Where delta decides, the range of the hinge may be twice the largest
 * margin; if there is none, the CPU takes half as many and the result says so. */
static void choose_bins(const submodi_batch *batch, submodi_gpu_job *j)
{
    size_t given = batch->settings.bins;
    j->doubled = !given && batch->activation == SUBMODI_SCORE;
    j->bins = given ? (uint32_t)given : submodi_histogram_bins(batch->settings.delta) << j->doubled;
}

/* Of workspace, see place_all: count and table for both labels, for the prox tops and ends too. */
static size_t bytes_per_bin(const submodi_gpu_plan *plan)
{
    size_t loss = 2 * (plan->counter + sizeof *plan->job.table);
    return plan->prox ? loss + 4 * sizeof *plan->job.tops + 16 * sizeof *plan->job.ends : loss;
}

static void cut_bins(const submodi_batch *batch, submodi_gpu_plan *plan)
{
    submodi_gpu_job *j = &plan->job;
    const submodi_gpu_tuning *t = &plan->tuning;
    size_t classes = j->slices == 1 ? j->classes : 1;
    choose_bins(batch, j);
    size_t window = t->window_bytes / (classes * plan->counter);
    j->window = (uint32_t)(window < 2 * (size_t)j->bins ? window : 2 * (size_t)j->bins);
    plan->window = classes * j->window * plan->counter;
    size_t of_group = (size_t)j->classes * j->bins * bytes_per_bin(plan);
    size_t wave = t->table_bytes / of_group;
    plan->wave = (uint32_t)(wave < j->groups ? wave : j->groups);
    plan->wave = plan->wave > 0 ? plan->wave : 1;
    if (plan->few) {
        cut_few(plan);
    }
}

static void cut_sorting(submodi_gpu_plan *plan)
{
    submodi_gpu_job *j = &plan->job;
    const submodi_gpu_tuning *t = &plan->tuning;
    plan->wave = j->groups;
    j->padded = 1;
    while (j->per_group <= t->small && j->padded < j->per_group) {
        j->padded *= 2;
    }
    j->tile = t->tile;
    j->tiles = (uint32_t)(((uint64_t)j->per_group + t->tile - 1) / t->tile);
    j->wide = j->per_group < t->large;
    if (j->per_group > t->small) {
        size_t together = t->together / j->per_group;
        together = together < plan->segments ? together : plan->segments;
        plan->sort_together = (uint32_t)(j->wide && together > 0 ? together : 1);
    }
}

/* ---- the workspace ---- */

typedef struct layout {
    char *memory; /* NULL: sizes alone */
    size_t used;
    bool overflow;
} layout;

enum { ALIGN = 256 };

static void *place(layout *l, size_t count, size_t size)
{
    if (count > (SIZE_MAX / 2 - l->used) / size) {
        l->overflow = true;
        return NULL;
    }
    void *at = l->memory ? l->memory + l->used : NULL;
    l->used += (count * size + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static void place_all(submodi_gpu_plan *plan, layout *l)
{
    submodi_gpu_job *j = &plan->job;
    size_t S = plan->segments;
    size_t sums = j->multilabel ? S : j->groups;
    j->value = place(l, S, sizeof *j->value);
    j->foreground = place(l, S, sizeof *j->foreground);
    j->all = place(l, sums, sizeof *j->all);
    j->valid = plan->weighted ? place(l, sums, sizeof *j->valid) : j->all;
    if (plan->prox) {
        j->range = place(l, S, 2 * sizeof *j->range);
        j->delta = place(l, 1, sizeof *j->delta);
    }
    plan->cleared = l->used;
    j->coefficient = place(l, S, sizeof *j->coefficient);
    j->class_weight = place(l, j->classes, sizeof *j->class_weight);
    j->terms = place(l, j->groups, sizeof *j->terms);
    j->largest = place(l, 1, sizeof *j->largest);
    j->heaviest = place(l, submodi_gpu_weight_groups(j), sizeof *j->heaviest);
    if (j->method != SUBMODI_GPU_EXACT) {
        size_t tables = submodi_times(plan->wave, j->classes);
        j->count = place(l, tables, 2 * (size_t)j->bins * plan->counter);
        j->table = place(l, tables, (2 * (size_t)j->bins + 1) * sizeof *j->table);
        if (plan->few) {
            size_t blocks = submodi_times(plan->wave, j->chunks);
            size_t words = plan->window / sizeof *j->partial;
            j->partial = place(l, submodi_times(blocks, words), sizeof *j->partial);
            j->flat = place(l, tables, sizeof *j->flat);
        }
        if (plan->prox) {
            j->tops = place(l, tables, 4 * ((size_t)j->bins + 1) * sizeof *j->tops);
            j->ends = place(l, tables, 16 * (size_t)j->bins * sizeof *j->ends);
        }
        return;
    }
    j->key = place(l, submodi_times(S, j->per_group), sizeof *j->key);
    size_t sorted = submodi_times(plan->sort_together, j->per_group);
    size_t tiles = submodi_times(plan->sort_together, j->tiles);
    for (int i = 0; i < 2; i++) {
        j->sorting[i] = place(l, sorted, j->wide ? sizeof(uint64_t) : sizeof(uint32_t));
        j->position[i] = place(l, sorted, sizeof *j->position[i]);
    }
    if (plan->weighted) {
        size_t ranks = submodi_times(plan->sort_together, j->per_group + (size_t)1);
        j->before = place(l, ranks, sizeof *j->before);
        j->tile_all = place(l, tiles, sizeof *j->tile_all);
    }
    j->tile_count = place(l, tiles, sizeof *j->tile_count);
    j->tile_value = place(l, tiles, sizeof *j->tile_value);
    plan->scratch_bytes = sorted > 0 ? submodi_gpu_sort_scratch(sorted) : 0;
    plan->scratch = place(l, plan->scratch_bytes, 1);
}

submod_status submodi_gpu_plan_make(const submodi_gpu_task *task, const submodi_gpu_tuning *tuning,
                                    submodi_gpu_plan *plan)
{
    const submodi_batch *batch = &task->batch;
    if (batch->groups > INT32_MAX / batch->scores.classes) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "%zu groups of %zu classes are more than 2^31 - 1 on a device",
                            batch->groups, batch->scores.classes);
    }
    const submodi_gpu_job job = describe(task);
    bool weighted = batch->settings.pixel_weights != NULL;
    *plan = (submodi_gpu_plan){.job = job,
                               .tuning = *tuning,
                               .prox = task->method == SUBMODI_GPU_PROX ||
                                       task->method == SUBMODI_GPU_PROX_HINGE,
                               .dataset = is_of_dataset(task->method),
                               .global = is_global(task->method),
                               .segments = (size_t)job.groups * job.classes,
                               .weighted = weighted,
                               .counter = weighted ? sizeof(uint64_t) : sizeof(uint32_t)};
    plan->few = (plan->global || plan->dataset || task->method == SUBMODI_GPU_HISTOGRAM) &&
                job.activation == SUBMODI_SOFTMAX && !weighted && job.classes <= tuning->few;
    plan->job.wide_counters = weighted || task->method == SUBMODI_GPU_GLOBAL_LOSS;
    plan->job.unit_bits = weighted ? unit_bits(task) : 0;
    plan->job.unit = ldexp(1, -plan->job.unit_bits);
    cut_pixels(plan);
    if (task->method == SUBMODI_GPU_EXACT) {
        cut_sorting(plan);
    } else {
        cut_bins(batch, plan);
    }
    layout l = {NULL, 0, false};
    place_all(plan, &l);
    plan->bytes = l.used;
    return l.overflow ? submodi_out_of_memory() : SUBMOD_OK;
}

void submodi_gpu_plan_place(submodi_gpu_plan *plan, const submodi_batch *batch,
                            const submod_gradient *gradient, submod_gpu_result *result,
                            void *memory)
{
    layout l = {memory, 0, false};
    view(batch, gradient, &plan->job);
    plan->job.result = result;
    place_all(plan, &l);
    if (plan->few) {
        turn_rows(plan);
    }
    if (plan->job.method == SUBMODI_GPU_GLOBAL_LOSS) {
        plan->job.count = plan->job.global; /* begins with them */
    }
}
