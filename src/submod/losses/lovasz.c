/* Lovász-Softmax, Lovász-Sigmoid and the Lovász hinge: three ways to errors, two engines. */

#include "base/error.h"
#include "base/memory.h"
#include "submod/handle.h"
#include "submod/losses/baseline_run.h"
#include "submod/losses/tile.h"
#include "submod/tensors/rows.h"
#include <submod/lovasz.h>

submod_loss_settings submod_loss_defaults(void)
{
    return (submod_loss_settings){.from_logits = 1,
                                  .engine = SUBMOD_ENGINE_EXACT,
                                  .delta = 0x1p-13,
                                  .classes = SUBMOD_CLASSES_PRESENT};
}

static submod_status solve(submodi_problem *p, double *loss, const submod_gradient *gradient,
                           submod_loss_info *info, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_loss_info i = {0};
    double value = 0;
    submod_status status = submodi_problem_prepare(p, w);
    if (status == SUBMOD_OK) {
        status = submodi_require_gradient(p->who, gradient, &p->scores);
    }
    if (status == SUBMOD_OK) {
        status = p->settings.engine == SUBMOD_ENGINE_EXACT
                     ? submodi_loss_exact(p, &value, gradient, &i, w)
                     : submodi_loss_histogram(p, &value, gradient, &i, w);
    }
    i.pixels = p->valid;
    i.terms = p->terms;
    i.workspace = w->used + w->spilled - scope.used - scope.spilled;
    submodi_scope_close(&scope);
    if (status == SUBMOD_OK && loss) {
        *loss = value;
    }
    if (status == SUBMOD_OK && info) {
        *info = i;
    }
    return status;
}

submod_status submod_lovasz_softmax(const submod_scores *scores, const submod_labels *labels,
                                    double *loss, const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_loss_info *info,
                                    submod_work *work)
{
    submodi_problem p;
    submod_status status = submodi_problem_start(&p, "submod_lovasz_softmax", scores, labels,
                                                 SUBMODI_SOFTMAX, false, settings);
    return status == SUBMOD_OK ? solve(&p, loss, gradient, info, work) : status;
}

submod_status submod_lovasz_sigmoid(const submod_scores *scores, const submod_labels *labels,
                                    double *loss, const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_loss_info *info,
                                    submod_work *work)
{
    submodi_problem p;
    submod_status status = submodi_problem_start(&p, "submod_lovasz_sigmoid", scores, labels,
                                                 SUBMODI_SIGMOID, false, settings);
    p.multilabel = true;
    return status == SUBMOD_OK ? solve(&p, loss, gradient, info, work) : status;
}

submod_status submod_lovasz_hinge(const submod_scores *scores, const submod_labels *labels,
                                  double *loss, const submod_gradient *gradient,
                                  const submod_loss_settings *settings, submod_loss_info *info,
                                  submod_work *work)
{
    submodi_problem p;
    submod_status status =
        submodi_problem_start_hinge(&p, "submod_lovasz_hinge", scores, labels, settings);
    return status == SUBMOD_OK ? solve(&p, loss, gradient, info, work) : status;
}

/* ---- the hinge of any set function ---- */

/* The margins of one image in double; false when some score is bad. */
static bool read_margins(const submodi_problem *p, size_t image, const submodi_tile_memory *memory,
                         double *margin, float *side)
{
    bool good = true;
    for (size_t t = 0; t < p->tiles_per_image; t++) {
        submodi_tile tile;
        good = submodi_tile_load(p, image, t, memory, &tile) && good;
        for (size_t i = 0; i < tile.n; i++) {
            float s = tile.codes[i] == 1 ? 1.0F : tile.codes[i] == 0 ? -1.0F : 0.0F;
            double m = s == 0 ? 0 : 1 - (double)s * (double)tile.v[i];
            margin[tile.first + i] = m > 0 ? m : 0;
            side[tile.first + i] = m > 0 ? s : 0;
        }
    }
    return good;
}

/* Losses and gradients of all images into work, so that nothing is written before all is known. */
static submod_status solve_images(const submodi_problem *p, const submod_fn *fn, float *derivative,
                                  double *loss, submod_work *w)
{
    size_t n = p->scores.pixels;
    double *margin = submodi_take(w, n, sizeof *margin);
    double *g = submodi_take(w, n, sizeof *g);
    submodi_tile_memory *memory = submodi_tiles_take(p, 1, w);
    if (!margin || !g || !memory) {
        return submodi_nomem(p->who);
    }
    for (size_t b = 0; b < p->scores.batch; b++) {
        float *side = derivative + b * n;
        if (!read_margins(p, b, memory, margin, side)) {
            return submodi_problem_bad_score(p);
        }
        double value;
        submod_status status = submod_lovasz(fn, margin, &value, g, NULL, NULL, w);
        if (status != SUBMOD_OK) {
            return status;
        }
        *loss += value / (double)p->scores.batch;
        for (size_t i = 0; i < n; i++) {
            side[i] = (float)(-(double)side[i] * g[i] / (double)p->scores.batch);
        }
    }
    return SUBMOD_OK;
}

/* Before anything is written. */
static submod_status require_fits(const submodi_problem *p, const submod_gradient *gradient,
                                  const float *derivative)
{
    size_t n = p->scores.pixels;
    bool fits = true;
    for (size_t b = 0; gradient && b < p->scores.batch; b++) {
        fits = submodi_row_fits(gradient, b, 0, 0, n, derivative + b * n) && fits;
    }
    return fits ? SUBMOD_OK
                : submodi_fail(SUBMOD_ENUMERIC,
                               "%s: the gradient times its scale, or added to what is there, "
                               "overflows a float",
                               p->who);
}

submod_status submod_lovasz_hinge_function(const submod_fn *fn, const submod_scores *scores,
                                           const submod_labels *labels, double *loss,
                                           const submod_gradient *gradient,
                                           const submod_loss_settings *settings, submod_work *work)
{
    static const char who[] = "submod_lovasz_hinge_function";
    submod_loss_settings s = submod_loss_defaults();
    s.has_ignore = settings && settings->has_ignore;
    s.ignore_index = settings ? settings->ignore_index : 0;
    submodi_problem p;
    submod_status status = submodi_problem_start(&p, who, scores, labels, SUBMODI_SCORE, true, &s);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (!fn || submod_fn_size(fn) != scores->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s of %zu elements for images of %zu pixels", who,
                            fn ? "a function" : "NULL, a function", submod_fn_size(fn),
                            scores->pixels);
    }
    if (submodi_is_hamming(fn)) {
        return submodi_hamming_hinge(scores, labels, loss, gradient, &s, work);
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    size_t n = scores->pixels;
    double value = 0;
    float *derivative = NULL;
    status = submodi_problem_prepare(&p, w);
    if (status == SUBMOD_OK) {
        status = submodi_require_gradient(who, gradient, scores);
    }
    if (status == SUBMOD_OK) {
        derivative = submodi_take(w, scores->batch * n, sizeof *derivative);
        status = derivative ? solve_images(&p, fn, derivative, &value, w) : submodi_nomem(who);
    }
    if (status == SUBMOD_OK) {
        status = require_fits(&p, gradient, derivative);
    }
    if (status == SUBMOD_OK && loss) {
        *loss = value;
    }
    for (size_t b = 0; status == SUBMOD_OK && gradient && b < scores->batch; b++) {
        submodi_store_row(gradient, b, 0, 0, n, derivative + b * n);
    }
    submodi_scope_close(&scope);
    return status;
}
