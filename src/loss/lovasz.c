/* Lovász-Softmax, Lovász-Sigmoid and the Lovász hinge: three ways to errors, two engines. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "loss/baseline_passes.h"
#include "loss/tensors/rows.h"
#include "loss/tile.h"
#include "submod/fn_internal.h"

submod_loss_settings submod_loss_defaults(void)
{
    return (submod_loss_settings){.from_logits = 1,
                                  .engine = SUBMOD_ENGINE_EXACT,
                                  .delta = 0x1p-13,
                                  .accuracy = 0x1p-24,
                                  .classes = SUBMOD_CLASSES_PRESENT};
}

static submod_status run_engine(submodi_batch *batch, double *loss, double *group_loss,
                                const submod_gradient *gradient, submod_loss_info *info,
                                submod_work *work)
{
    if (!group_loss) {
        return submodi_out_of_memory();
    }
    memset(group_loss, 0, batch->groups * sizeof *group_loss);
    if (batch->settings.engine == SUBMOD_ENGINE_COUNTING) {
        return submodi_loss_counting(batch, loss, group_loss, gradient, info, work);
    }
    return batch->settings.engine == SUBMOD_ENGINE_EXACT
               ? submodi_loss_exact(batch, loss, group_loss, gradient, info, work)
               : submodi_loss_histogram(batch, loss, group_loss, gradient, info, work);
}

/* No derivative by a probability or score exceeds F(P, N), which is 1 unless the measure is custom.
 * What a unit of weight adds is more, if a bin has less of it; but not less than 2^-52. */
submod_status submodi_require_slopes(const submodi_batch *batch, const submod_gradient *gradient)
{
    double of_unit = batch->settings.pixel_weights ? 0x1p52 : 1;
    if (!gradient || batch->measure.type != SUBMOD_MEASURE_CUSTOM ||
        2 * fmax(fabs(gradient->scale), of_unit) * batch->most <= (double)FLT_MAX) {
        return SUBMOD_OK;
    }
    return submodi_fail(SUBMOD_ENUMERIC,
                        "gradient.scale = %g times the custom measure's F(P, N), %g on "
                        "average, is too large for a float",
                        gradient->scale, batch->most);
}

submod_status submodi_lovasz(submodi_kind kind, const submod_scores *scores,
                             const submod_labels *labels, double *loss,
                             const submod_gradient *gradient, const submod_loss_settings *settings,
                             submod_loss_info *info, submod_work *work)
{
    submodi_batch batch;
    submod_status status = submodi_batch_start(&batch, kind, scores, labels, settings);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_loss_info i = {0};
    double value = 0;
    double *group_loss = NULL;
    status = submodi_batch_prepare(&batch, gradient, w);
    status = status ? status : submodi_require_slopes(&batch, gradient);
    if (status == SUBMOD_OK) {
        group_loss = submodi_work_alloc(w, batch.groups, sizeof *group_loss);
        status = run_engine(&batch, &value, group_loss, gradient, &i, w);
    }
    if (status == SUBMOD_OK) {
        submodi_write_groups(&batch, scores->batch, group_loss);
    }
    i.pixels = batch.valid;
    i.terms = batch.terms;
    i.workspace = w->used + w->spilled - scope.used - scope.spilled;
    submodi_scope_close(&scope);
    if (status == SUBMOD_OK) {
        submodi_copy_out(loss, &value, 1, sizeof *loss);
        submodi_copy_out(info, &i, 1, sizeof *info);
    }
    return status;
}

submod_status submod_lovasz_softmax(const submod_scores *scores, const submod_labels *labels,
                                    double *loss, const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_loss_info *info,
                                    submod_work *work)
{
    return submodi_return("submod_lovasz_softmax",
                          submodi_lovasz(SUBMODI_LOVASZ_SOFTMAX, scores, labels, loss, gradient,
                                         settings, info, work));
}

submod_status submod_lovasz_sigmoid(const submod_scores *scores, const submod_labels *labels,
                                    double *loss, const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_loss_info *info,
                                    submod_work *work)
{
    return submodi_return("submod_lovasz_sigmoid",
                          submodi_lovasz(SUBMODI_LOVASZ_SIGMOID, scores, labels, loss, gradient,
                                         settings, info, work));
}

submod_status submod_lovasz_hinge(const submod_scores *scores, const submod_labels *labels,
                                  double *loss, const submod_gradient *gradient,
                                  const submod_loss_settings *settings, submod_loss_info *info,
                                  submod_work *work)
{
    return submodi_return(
        "submod_lovasz_hinge",
        submodi_lovasz(SUBMODI_LOVASZ_HINGE, scores, labels, loss, gradient, settings, info, work));
}

/* ---- the hinge of any set function ---- */

typedef struct margins {
    double *margin; /* of one image */
    float *side;    /* 1 or -1 by its label, 0 where it has no margin */
} margins;

static void read_margins(const void *context, const submodi_tile *tile)
{
    const margins *m = context;
    for (size_t i = 0; i < tile->n; i++) {
        float s = tile->codes[i] == 1 ? 1.0F : tile->codes[i] == 0 ? -1.0F : 0.0F;
        double margin = s == 0 ? 0 : 1 - (double)s * (double)tile->v[i];
        m->margin[tile->first + i] = margin > 0 ? margin : 0;
        m->side[tile->first + i] = margin > 0 ? s : 0;
    }
}

/* Losses and gradients of all images into work, so that nothing is written before all is known. */
static submod_status solve_images(const submodi_batch *batch, const submod_fn *fn,
                                  float *derivative, double *loss, submod_work *w)
{
    size_t n = batch->scores.pixels;
    double *margin = submodi_work_alloc(w, n, sizeof *margin);
    double *g = submodi_work_alloc(w, n, sizeof *g);
    if (!margin || !g) {
        return submodi_out_of_memory();
    }
    for (size_t b = 0; b < batch->scores.batch; b++) {
        float *side = derivative + b * n;
        const margins m = {margin, side};
        if (!submodi_visit(batch, b, 1, 0, SUBMODI_LABELS | SUBMODI_SCORES, read_margins, &m)) {
            return submodi_batch_bad_score(batch);
        }
        double value;
        submod_status status = submod_lovasz(fn, margin, &value, g, NULL, SUBMOD_TIES_AVERAGE, w);
        if (status != SUBMOD_OK) {
            return status;
        }
        *loss += value / (double)batch->scores.batch;
        for (size_t i = 0; i < n; i++) {
            side[i] = (float)(-(double)side[i] * g[i] / (double)batch->scores.batch);
        }
    }
    return SUBMOD_OK;
}

/* Before anything is written. */
static submod_status require_fits(const submodi_batch *batch, const submod_gradient *gradient,
                                  const float *derivative)
{
    size_t n = batch->scores.pixels;
    bool fits = true;
    for (size_t b = 0; gradient && b < batch->scores.batch; b++) {
        fits = submodi_row_fits(gradient, b, 0, 0, n, derivative + b * n) && fits;
    }
    return fits ? SUBMOD_OK
                : submodi_fail(SUBMOD_ENUMERIC,
                               "the gradient times its scale, or added to what is there, "
                               "overflows a float");
}

static submod_status lovasz_hinge_function(const submod_fn *fn, const submod_scores *scores,
                                           const submod_labels *labels, double *loss,
                                           const submod_gradient *gradient,
                                           const submod_loss_settings *settings, submod_work *work)
{
    submodi_batch batch;
    submod_status status = submodi_batch_start(&batch, SUBMODI_ANY_HINGE, scores, labels, settings);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (!fn) {
        return submodi_fail(SUBMOD_EINVAL, "fn is NULL");
    }
    if (batch.given.pixel_weights) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "pixel_weights must be NULL: fn says what its pixels count for; "
                            "make a function of the weights, or take submod_lovasz_hinge");
    }
    if (submod_fn_size(fn) != scores->pixels) {
        return submodi_fail(SUBMOD_EINVAL,
                            "fn has %zu elements; it must have one per pixel of an image, %zu",
                            submod_fn_size(fn), scores->pixels);
    }
    if (submodi_is_hamming(fn)) {
        return submodi_hamming_hinge(scores, labels, loss, gradient, settings, work);
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    size_t n = scores->pixels;
    double value = 0;
    float *derivative = NULL;
    status = submodi_batch_prepare(&batch, gradient, w);
    if (status == SUBMOD_OK) {
        derivative = submodi_work_alloc(w, scores->batch * n, sizeof *derivative);
        status =
            derivative ? solve_images(&batch, fn, derivative, &value, w) : submodi_out_of_memory();
    }
    status = status ? status : require_fits(&batch, gradient, derivative);
    if (status == SUBMOD_OK && loss) {
        *loss = value;
    }
    for (size_t b = 0; status == SUBMOD_OK && gradient && b < scores->batch; b++) {
        submodi_store_row(gradient, b, 0, 0, n, derivative + b * n);
    }
    submodi_scope_close(&scope);
    return status;
}

submod_status submod_lovasz_hinge_function(const submod_fn *fn, const submod_scores *scores,
                                           const submod_labels *labels, double *loss,
                                           const submod_gradient *gradient,
                                           const submod_loss_settings *settings, submod_work *work)
{
    return submodi_return(
        "submod_lovasz_hinge_function",
        lovasz_hinge_function(fn, scores, labels, loss, gradient, settings, work));
}
