#include "submod/loss_problem.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "submod/activation.h"
#include "submod/function_impl.h"
#include "submod/pointwise.h"
#include "submod/rows.h"

/* ---- checks ---- */

submod_status submodi_require_views(const char *who, const submod_scores *scores,
                                    const submod_labels *labels)
{
    return scores && labels
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, scores ? "labels" : "scores");
}

submod_status submodi_require_input(const char *who, submod_input input)
{
    return input == SUBMOD_INPUT_LOGITS || input == SUBMOD_INPUT_PROBABILITIES
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL, "%s: input = %d is unknown", who, (int)input);
}

submod_status submodi_require_gradient(const char *who, const submod_gradient *gradient,
                                       const submod_scores *scores)
{
    if (gradient && !gradient->data && scores->batch && scores->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "%s: gradient has no data", who);
    }
    if (gradient && !isfinite((float)gradient->scale)) {
        return submodi_fail(SUBMOD_ENONFINITE, "%s: gradient scale = %g", who, gradient->scale);
    }
    return SUBMOD_OK;
}

static submod_status require_scores(const submodi_problem *p)
{
    const submod_scores *s = &p->scores;
    if (s->type != SUBMOD_SCORE_F32 && s->type != SUBMOD_SCORE_F16 &&
        s->type != SUBMOD_SCORE_BF16) {
        return submodi_fail(SUBMOD_EINVAL, "%s: scores have the unknown type %d", p->who,
                            (int)s->type);
    }
    if (s->classes == 0 || s->classes > INT32_MAX / 4) {
        return submodi_fail(SUBMOD_EINVAL, "%s: scores of %zu classes", p->who, s->classes);
    }
    if (s->batch && s->pixels > INT32_MAX / s->batch) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %zu images of %zu pixels are more than 2^31 - 1",
                            p->who, s->batch, s->pixels);
    }
    if (!s->data && s->batch && s->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "%s: scores have no data", p->who);
    }
    if (p->labels.batch != s->batch || p->labels.pixels != s->pixels) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: labels are %zu x %zu, scores %zu x %zu (x %zu classes)", p->who,
                            p->labels.batch, p->labels.pixels, s->batch, s->pixels, s->classes);
    }
    return SUBMOD_OK;
}

submod_status submodi_require_loss_settings(const char *who, const submod_loss_settings *s,
                                            size_t C)
{
    if (s->engine != SUBMOD_ENGINE_EXACT && s->engine != SUBMOD_ENGINE_HISTOGRAM) {
        return submodi_fail(SUBMOD_EINVAL, "%s: engine = %d is unknown", who, (int)s->engine);
    }
    if (s->engine == SUBMOD_ENGINE_HISTOGRAM && !(s->delta >= 0x1p-21 && s->delta <= 1)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: delta = %g is not in [2^-21, 1]", who, s->delta);
    }
    if (s->classes == SUBMOD_CLASSES_LIST) {
        submod_status status =
            submodi_require_set(who, C, "class_list", s->class_list, s->class_count);
        if (status != SUBMOD_OK) {
            return status;
        }
    } else if (s->classes != SUBMOD_CLASSES_PRESENT && s->classes != SUBMOD_CLASSES_ALL) {
        return submodi_fail(SUBMOD_EINVAL, "%s: classes = %d is unknown", who, (int)s->classes);
    }
    return s->class_weight ? submodi_require_nonnegative(who, "class_weight", s->class_weight, C)
                           : SUBMOD_OK;
}

/* ---- from arguments to a problem ---- */

submod_status submodi_problem_start(const char *who, const submod_scores *scores,
                                    submod_input input, const submod_labels *labels,
                                    submodi_activation of_logits,
                                    const submod_loss_settings *settings, submodi_problem *p)
{
    submod_status status = submodi_require_views(who, scores, labels);
    if (status == SUBMOD_OK) {
        status = submodi_require_input(who, input);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    *p = (submodi_problem){.who = who,
                           .scores = *scores,
                           .labels = *labels,
                           .activation =
                               input == SUBMOD_INPUT_LOGITS ? of_logits : SUBMODI_PROBABILITY,
                           .settings = settings ? *settings : submod_loss_defaults()};
    return SUBMOD_OK;
}

submod_status submodi_problem_start_hinge(const char *who, const submod_scores *scores,
                                          const submod_labels *labels,
                                          const submod_loss_settings *settings, submodi_problem *p)
{
    submod_status status = submodi_require_views(who, scores, labels);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (scores->classes != 1) {
        return submodi_fail(SUBMOD_EINVAL, "%s: one score per pixel, not %zu", who,
                            scores->classes);
    }
    *p = (submodi_problem){.who = who,
                           .scores = *scores,
                           .labels = *labels,
                           .multilabel = true,
                           .activation = SUBMODI_SCORE,
                           .settings = settings ? *settings : submod_loss_defaults()};
    p->settings.classes = SUBMOD_CLASSES_ALL;
    p->settings.class_weight = NULL;
    return SUBMOD_OK;
}

/* ---- labels ---- */

submod_labels submodi_labels_of_class(const submodi_problem *p, size_t c)
{
    static const size_t size[] = {
        [SUBMOD_LABEL_U8] = 1, [SUBMOD_LABEL_I32] = 4, [SUBMOD_LABEL_I64] = 8};
    submod_labels view = p->labels;
    ptrdiff_t bytes = (ptrdiff_t)c * p->label_class_stride * (ptrdiff_t)size[view.type];
    view.data = (const char *)view.data + (p->multilabel ? bytes : 0);
    return view;
}

static submod_status bad_label(const submodi_problem *p, size_t c, size_t b, size_t i)
{
    submod_labels view = submodi_labels_of_class(p, c);
    long long label = (long long)submodi_label(&view, b, i);
    if (p->multilabel && p->scores.classes > 1) {
        return submodi_fail(SUBMOD_EINVAL, "%s: labels[%zu][%zu][%zu] = %lld is not 0 or 1", p->who,
                            b, c, i, label);
    }
    return submodi_fail(SUBMOD_EINVAL, "%s: labels[%zu][%zu] = %lld is not in [0, %d)", p->who, b,
                        i, label, (int)p->rule.classes);
}

/* Adds one row of codes to the counts; false if there is a bad label among them. */
static bool count_codes(const submodi_problem *p, const int32_t *codes, size_t n,
                        double *foreground, uint64_t *valid)
{
    uint32_t good = 0;
    uint32_t bad = 0;
    uint32_t ones = 0;
    for (size_t i = 0; i < n; i++) {
        good += codes[i] < p->rule.classes;
        bad += codes[i] > p->rule.classes;
        ones += codes[i] == 1;
    }
    *valid += good;
    if (p->multilabel) {
        *foreground += ones;
    } else if (!bad) {
        for (size_t i = 0; i < n; i++) {
            if (codes[i] < p->rule.classes) {
                foreground[codes[i]]++;
            }
        }
    }
    return bad == 0;
}

static submod_status count_labels(submodi_problem *p)
{
    size_t C = p->scores.classes;
    for (size_t i = 0; i < p->groups * C; i++) {
        p->foreground[i] = 0;
    }
    p->valid = 0;
    for (size_t b = 0; b < p->scores.batch; b++) {
        double *foreground = p->foreground + b / p->images_per_group * C;
        for (size_t c = 0; c < (p->multilabel ? C : 1); c++) {
            submod_labels view = submodi_labels_of_class(p, c);
            for (size_t first = 0; first < p->scores.pixels; first += SUBMODI_TILE) {
                int32_t codes[SUBMODI_TILE];
                size_t left = p->scores.pixels - first;
                size_t n = left < SUBMODI_TILE ? left : SUBMODI_TILE;
                submodi_labels_read(&view, b, first, n, &p->rule, codes);
                if (!count_codes(p, codes, n, foreground + c, &p->valid)) {
                    size_t bad = 0;
                    while (codes[bad] <= p->rule.classes) {
                        bad++;
                    }
                    return bad_label(p, c, b, first + bad);
                }
            }
        }
    }
    return SUBMOD_OK;
}

/* ---- coefficients ---- */

static bool is_listed(const submod_loss_settings *s, size_t c)
{
    for (size_t i = 0; i < s->class_count; i++) {
        if ((size_t)s->class_list[i] == c) {
            return true;
        }
    }
    return false;
}

double submodi_class_weight(const submod_loss_settings *s, size_t c)
{
    bool taken = s->classes != SUBMOD_CLASSES_LIST || is_listed(s, c);
    double weight = s->class_weight ? s->class_weight[c] : 1;
    return taken ? weight : 0;
}

size_t submodi_class_coefficients(const submod_loss_settings *s, size_t C, const double *foreground,
                                  size_t groups, double *coefficient)
{
    for (size_t c = 0; c < C; c++) {
        bool absent = s->classes == SUBMOD_CLASSES_PRESENT && !(foreground[c] > 0);
        coefficient[c] = absent ? 0 : submodi_class_weight(s, c);
    }
    return submodi_normalise_weights(coefficient, C, groups);
}

submod_status submodi_problem_shape(submodi_problem *p)
{
    submod_status status = submodi_labels_require(p->who, "labels", &p->labels);
    if (status == SUBMOD_OK) {
        status = require_scores(p);
    }
    if (status == SUBMOD_OK) {
        status = submodi_require_loss_settings(p->who, &p->settings, p->scores.classes);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t C = p->scores.classes;
    p->rule = (submodi_label_rule){.classes = p->multilabel ? 2 : (int32_t)C,
                                   .has_ignore = p->settings.has_ignore != 0,
                                   .ignore_label = p->settings.ignore_label};
    p->images_per_group = p->settings.per_image || p->scores.batch == 0 ? 1 : p->scores.batch;
    p->groups = p->scores.batch / p->images_per_group;
    p->tiles_per_image = (p->scores.pixels + SUBMODI_TILE - 1) / SUBMODI_TILE;
    return SUBMOD_OK;
}

submod_status submodi_problem_prepare(submodi_problem *p, submod_work *work)
{
    submod_status status = submodi_problem_shape(p);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t C = p->scores.classes;
    p->foreground = submodi_take(work, p->groups * C, sizeof *p->foreground);
    p->coefficient = submodi_take(work, p->groups * C, sizeof *p->coefficient);
    if (!p->foreground || !p->coefficient) {
        return submodi_nomem(p->who);
    }
    status = count_labels(p);
    p->terms = 0;
    for (size_t g = 0; status == SUBMOD_OK && g < p->groups; g++) {
        p->terms += submodi_class_coefficients(&p->settings, C, p->foreground + g * C, p->groups,
                                               p->coefficient + g * C);
    }
    return status;
}

/* ---- tiles ---- */

submodi_tile_memory submodi_tile_memory_take(const submodi_problem *p, submod_work *work)
{
    size_t rows = p->scores.classes;
    submodi_tile_memory m;
    m.v = submodi_take(work, rows, SUBMODI_TILE * sizeof *m.v);
    m.g = submodi_take(work, rows, SUBMODI_TILE * sizeof *m.g);
    m.codes = submodi_take(work, p->multilabel ? rows : 1, SUBMODI_TILE * sizeof *m.codes);
    return m;
}

submodi_tile_memory *submodi_tiles_take(const submodi_problem *p, int threads, submod_work *work)
{
    submodi_tile_memory *tile = submodi_take(work, (size_t)threads, sizeof *tile);
    bool good = tile != NULL;
    for (int t = 0; good && t < threads; t++) {
        tile[t] = submodi_tile_memory_take(p, work);
        good = tile[t].v && tile[t].g && tile[t].codes;
    }
    return good ? tile : NULL;
}

bool submodi_tile_load(const submodi_problem *p, size_t image, size_t t,
                       const submodi_tile_memory *memory, submodi_tile *tile)
{
    size_t C = p->scores.classes;
    size_t first = t * SUBMODI_TILE;
    size_t left = p->scores.pixels - first;
    size_t n = left < SUBMODI_TILE ? left : SUBMODI_TILE;
    *tile = (submodi_tile){image, first, n, memory->codes, memory->v, memory->g};
    for (size_t c = 0; c < (p->multilabel ? C : 1); c++) {
        submod_labels view = submodi_labels_of_class(p, c);
        submodi_labels_read(&view, image, first, n, &p->rule, memory->codes + c * SUBMODI_TILE);
    }
    bool good = true;
    for (size_t c = 0; c < C; c++) {
        float *v = memory->v + c * SUBMODI_TILE;
        submodi_load_row(&p->scores, image, c, first, n, v);
        submodi_prefetch_row(&p->scores, image, c, first + SUBMODI_TILE, SUBMODI_TILE);
        good = submodi_finite_row(v, n) && good;
        if (p->activation == SUBMODI_SIGMOID) {
            submodi_sigmoid(n, v);
        } else if (p->activation == SUBMODI_PROBABILITY) {
            good = submodi_clamp_probability(n, v) && good;
        }
    }
    if (p->activation == SUBMODI_SOFTMAX) {
        submodi_softmax(C, n, memory->v);
    }
    return good;
}

submod_status submodi_problem_bad_score(const submodi_problem *p)
{
    for (size_t b = 0; b < p->scores.batch; b++) {
        for (size_t c = 0; c < p->scores.classes; c++) {
            for (size_t i = 0; i < p->scores.pixels; i++) {
                float x;
                submodi_load_row(&p->scores, b, c, i, 1, &x);
                if (!isfinite(x)) {
                    return submodi_fail(SUBMOD_ENONFINITE, "%s: scores[%zu][%zu][%zu] is %g",
                                        p->who, b, c, i, (double)x);
                }
                float clamped = x;
                if (p->activation == SUBMODI_PROBABILITY &&
                    !submodi_clamp_probability(1, &clamped)) {
                    return submodi_fail(SUBMOD_EINVAL,
                                        "%s: scores[%zu][%zu][%zu] = %g is no probability", p->who,
                                        b, c, i, (double)x);
                }
            }
        }
    }
    return submodi_fail(SUBMOD_ENONFINITE, "%s: the scores changed during the call", p->who);
}

void submodi_tile_store(const submodi_problem *p, const submodi_tile *tile,
                        const submod_gradient *gradient)
{
    size_t C = p->scores.classes;
    if (p->activation == SUBMODI_SOFTMAX) {
        submodi_softmax_backward(tile->v, C, tile->n, tile->g);
    }
    for (size_t c = 0; c < C; c++) {
        float *g = tile->g + c * SUBMODI_TILE;
        if (p->activation == SUBMODI_SIGMOID) {
            float *score =
                tile->v + c * SUBMODI_TILE; /* the probabilities are not needed any more */
            submodi_load_row(&p->scores, tile->image, c, tile->first, tile->n, score);
            submodi_sigmoid_backward(score, tile->n, g);
        }
        submodi_store_row(gradient, tile->image, c, tile->first, tile->n, g);
    }
}
