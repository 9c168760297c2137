/* A call with host pointers: dense copies go to the device and back. Labels are checked on the way,
 * so that the error messages are those of the CPU. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "gpu/losses.h"
#include "submod/losses/tile.h"
#include "submod/tensors/pixel_weights.h"
#include "submod/tensors/rows.h"

/* Host and device memory of one call. */
typedef struct buffers {
    size_t entries, label_entries, weights, groups, workspace_bytes;
    float *row_data;   /* host: scores, then the gradient, dense */
    int32_t *codes;    /* host: labels, dense */
    float *row_weight; /* host: weights of pixels, dense */
    char *workspace;   /* device, one block for all: */
    submod_gpu_result *result;
    double *group_loss;
    float *scores;
    float *gradient;
    int32_t *labels;
    float *pixel_weights;
} buffers;

/* The next count things of so many bytes lie behind those before; false: out of size_t. */
static bool lay(size_t count, size_t size, size_t *at, size_t *end)
{
    *at = *end;
    return submodi_add_size(end, count, size);
}

static submod_status allocate(const submodi_gpu_backend *b, bool with_gradient, buffers *m)
{
    size_t bytes = m->workspace_bytes;
    size_t result, group_loss, scores, gradient, labels, weights;
    bool good = lay(1, sizeof *m->result, &result, &bytes) &&
                lay(m->groups, sizeof *m->group_loss, &group_loss, &bytes) &&
                lay(m->entries, sizeof *m->scores, &scores, &bytes) &&
                lay(with_gradient ? m->entries : 0, sizeof *m->gradient, &gradient, &bytes) &&
                lay(m->label_entries, sizeof *m->labels, &labels, &bytes) &&
                lay(m->weights, sizeof *m->pixel_weights, &weights, &bytes);
    void *block = NULL;
    submod_status status = good ? b->allocate(b, bytes, &block) : submodi_nomem(b->who);
    if (status == SUBMOD_OK) {
        m->workspace = block;
        m->result = (submod_gpu_result *)(void *)(m->workspace + result);
        m->group_loss = (double *)(void *)(m->workspace + group_loss);
        m->scores = (float *)(void *)(m->workspace + scores);
        m->gradient = (float *)(void *)(m->workspace + gradient);
        m->labels = (int32_t *)(void *)(m->workspace + labels);
        m->pixel_weights = (float *)(void *)(m->workspace + weights);
    }
    return status;
}

/* Weights of pixels as dense floats. */
static submod_status copy_weights(const submodi_gpu_backend *b, const submodi_batch *batch,
                                  const buffers *m)
{
    const submod_pixel_weights *view = batch->settings.pixel_weights;
    size_t n = batch->scores.pixels;
    for (size_t image = 0; image < batch->scores.batch; image++) {
        submodi_pixel_weights_read(view, image, 0, n, m->row_weight + image * n);
    }
    return b->copy_in(b, m->pixel_weights, m->row_weight, m->weights * sizeof *m->row_weight);
}

/* Scores as dense floats, labels as dense codes, among which rule.classes is the ignored one. */
static submod_status copy_in(const submodi_gpu_backend *b, const submodi_batch *batch,
                             const buffers *m)
{
    size_t C = batch->scores.classes;
    size_t n = batch->scores.pixels;
    for (size_t r = 0; r < batch->scores.batch * C; r++) {
        float *to = m->row_data + r * n;
        const float *row = submodi_row(&batch->scores, r / C, r % C, 0, n, to);
        if (row != to) {
            memcpy(to, row, n * sizeof *to);
        }
    }
    size_t rows = submodi_label_rows(batch);
    for (size_t r = 0; r < batch->scores.batch * rows; r++) {
        submod_labels view = submodi_labels_for(batch, r % rows);
        submodi_labels_read(&view, r / rows, 0, n, &batch->rule, m->codes + r * n);
    }
    submod_status status = b->copy_in(b, m->scores, m->row_data, m->entries * sizeof *m->row_data);
    status =
        status ? status : b->copy_in(b, m->labels, m->codes, m->label_entries * sizeof *m->codes);
    return status == SUBMOD_OK && m->weights ? copy_weights(b, batch, m) : status;
}

/* The batch as the device sees it; *weights is its view of them. */
static submodi_batch on_device(const submodi_batch *batch, const buffers *m,
                               submod_pixel_weights *weights)
{
    size_t B = batch->scores.batch;
    size_t C = batch->scores.classes;
    size_t n = batch->scores.pixels;
    submodi_batch d = *batch;
    d.scores = submod_scores_f32(m->scores, B, C, n);
    d.labels = batch->multilabel ? submod_labels_multilabel(m->labels, SUBMOD_LABEL_I32, B, C, n)
                                 : submod_labels_i32(m->labels, B, n);
    d.rule.has_ignore = true;
    d.rule.ignore_index = d.rule.classes;
    *weights = submod_pixel_weights_f32(m->pixel_weights, B, n);
    d.settings.pixel_weights = batch->settings.pixel_weights ? weights : NULL;
    d.settings.group_loss = batch->settings.group_loss ? m->group_loss : NULL;
    return d;
}

/* Runs on buffers that are there; *r is what the device says. */
static submod_status solve(const submodi_gpu_backend *b, const submodi_batch *batch,
                           submodi_gpu_plan *plan, const buffers *m,
                           const submod_gradient *gradient, submod_gpu_result *r)
{
    size_t C = batch->scores.classes;
    size_t n = batch->scores.pixels;
    submod_pixel_weights weights;
    submodi_batch d = on_device(batch, m, &weights);
    submod_gradient dense = submod_gradient_dense(m->gradient, C, n);
    submodi_gpu_plan_place(plan, &d, gradient ? &dense : NULL, m->result, m->workspace);
    submod_status status = copy_in(b, batch, m);
    status = status ? status : submodi_gpu_run(b, &d, plan);
    status = status ? status : b->copy_out(b, r, m->result, sizeof *r);
    if (status == SUBMOD_OK && r->status != SUBMOD_OK) {
        return submodi_batch_bad_score(batch); /* the labels have been checked */
    }
    if (status == SUBMOD_OK && batch->settings.group_loss) {
        status = b->copy_out(b, batch->settings.group_loss, m->group_loss,
                             m->groups * sizeof *m->group_loss);
    }
    if (status == SUBMOD_OK && gradient) {
        status = b->copy_out(b, m->row_data, m->gradient, m->entries * sizeof *m->row_data);
    }
    for (size_t i = 0; status == SUBMOD_OK && gradient && i < batch->scores.batch * C; i++) {
        submodi_store_row(gradient, i / C, i % C, 0, n, m->row_data + i * n);
    }
    return status;
}

/* Memory of both kinds around solve. */
static submod_status solve_with_memory(const submodi_gpu_backend *b, const submodi_batch *batch,
                                       submodi_gpu_plan *plan, const submod_gradient *gradient,
                                       submod_work *work, submod_gpu_result *r)
{
    size_t images = batch->scores.batch * batch->scores.pixels;
    buffers m = {.entries = images * batch->scores.classes,
                 .label_entries = images * submodi_label_rows(batch),
                 .weights = batch->settings.pixel_weights ? images : 0,
                 .groups = batch->settings.group_loss ? plan->job.group_losses : 0,
                 .workspace_bytes = plan->bytes};
    m.row_data = submodi_take(work, m.entries, sizeof *m.row_data);
    m.codes = submodi_take(work, m.label_entries, sizeof *m.codes);
    m.row_weight = submodi_take(work, m.weights, sizeof *m.row_weight);
    if (!m.row_data || !m.codes || !m.row_weight) {
        return submodi_nomem(batch->who);
    }
    submod_status status = allocate(b, gradient != NULL, &m);
    status = status ? status : solve(b, batch, plan, &m, gradient, r);
    b->release(b, m.workspace);
    return status;
}

submod_status submodi_gpu_host(const submodi_gpu_backend *b, int device, submodi_gpu_task *task,
                               const submod_gradient *gradient, const submodi_gpu_tuning *tuning,
                               submod_gpu_result *r, size_t *bytes)
{
    submodi_batch *batch = &task->batch;
    submodi_gpu_backend of_machine;
    submodi_gpu_plan plan;
    submod_status status = submodi_batch_shape(batch, gradient);
    status = status ? status : submodi_gpu_plan_make(task, tuning, &plan);
    if (status == SUBMOD_OK && !b) {
        status = submodi_gpu_connect(batch->who, device, NULL, &of_machine);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    status = submodi_batch_open(batch, w);
    if (status == SUBMOD_OK) {
        status = solve_with_memory(b ? b : &of_machine, batch, &plan, gradient, w, r);
    }
    submodi_scope_close(&scope);
    *bytes = plan.bytes;
    return status;
}
