#include "submod/losses/batch.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "submod/handle.h"
#include "submod/losses/activation_loops.h"
#include "submod/losses/shares.h"
#include "submod/tensors/rows.h"

/* ---- checks ---- */

submod_status submodi_problem_start(submodi_problem *p, const char *who,
                                    const submod_scores *scores, const submod_labels *labels,
                                    submodi_activation of_logits, bool binary,
                                    const submod_loss_settings *settings)
{
    if (!scores || !labels) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, scores ? "labels" : "scores");
    }
    if (binary && scores->classes != 1) {
        return submodi_fail(SUBMOD_EINVAL, "%s: one score per pixel, not %zu", who,
                            scores->classes);
    }
    const submod_loss_settings s = settings ? *settings : submod_loss_defaults();
    bool plain = s.from_logits || of_logits == SUBMODI_SCORE; /* a score is never a probability */
    *p = (submodi_problem){.who = who,
                           .scores = *scores,
                           .labels = *labels,
                           .multilabel = binary,
                           .activation = plain ? of_logits : SUBMODI_PROBABILITY,
                           .settings = s};
    return SUBMOD_OK;
}

submod_status submodi_problem_start_hinge(submodi_problem *p, const char *who,
                                          const submod_scores *scores, const submod_labels *labels,
                                          const submod_loss_settings *settings)
{
    submod_status status =
        submodi_problem_start(p, who, scores, labels, SUBMODI_SCORE, true, settings);
    if (status == SUBMOD_OK) {
        p->settings.classes = SUBMOD_CLASSES_ALL;
        p->settings.class_weight = NULL;
    }
    return status;
}

submod_status submodi_require_gradient(const char *who, const submod_gradient *gradient,
                                       const submod_scores *scores)
{
    if (gradient && !gradient->data && scores->batch && scores->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "%s: gradient has no data", who);
    }
    if (gradient && scores->batch && scores->classes && scores->pixels &&
        ((scores->pixels > 1 && gradient->pixel_stride == 0) ||
         (scores->classes > 1 && gradient->class_stride == 0) ||
         (scores->batch > 1 && gradient->batch_stride == 0))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: gradient overlaps itself, it has a stride of 0",
                            who);
    }
    if (gradient && !submodi_reachable((size_t[]){scores->batch, scores->classes, scores->pixels},
                                       (ptrdiff_t[]){gradient->batch_stride, gradient->class_stride,
                                                     gradient->pixel_stride},
                                       sizeof *gradient->data)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the strides of the gradient lead out of memory",
                            who);
    }
    if (gradient && !isfinite((float)gradient->scale)) {
        return submodi_fail(SUBMOD_ENONFINITE, "%s: gradient scale = %g", who, gradient->scale);
    }
    return SUBMOD_OK;
}

static submod_status require_labels(const submodi_problem *p)
{
    submod_labels first = p->labels;
    if (p->multilabel) {
        first.class_stride = 0;
    }
    bool some = first.batch && first.pixels;
    if (p->multilabel && some && p->scores.classes > 1 && p->labels.class_stride == 0) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: labels have class_stride 0, but %zu classes need labels each",
                            p->who, p->scores.classes);
    }
    return submodi_labels_require(p->who, "labels", &first);
}

submod_status submodi_require_several_classes(const char *who, size_t classes)
{
    return classes != 1
               ? SUBMOD_OK
               : submodi_fail(
                     SUBMOD_EINVAL,
                     "%s: the softmax of one class is always 1, and the loss says nothing; "
                     "for one score per pixel take the hinge or the sigmoid loss",
                     who);
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
    if (p->activation == SUBMODI_SOFTMAX) {
        submod_status status = submodi_require_several_classes(p->who, s->classes);
        if (status != SUBMOD_OK) {
            return status;
        }
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

/* No offset into scores and labels overflows; their counts are in range already. */
static submod_status require_reach(const submodi_problem *p)
{
    const submod_scores *s = &p->scores;
    const submod_labels *l = &p->labels;
    const size_t count[3] = {s->batch, s->classes, s->pixels};
    size_t size = s->type == SUBMOD_SCORE_F32 ? sizeof(float) : sizeof(uint16_t);
    if (!submodi_reachable(count, (ptrdiff_t[]){s->batch_stride, s->class_stride, s->pixel_stride},
                           size)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the strides of scores lead out of memory", p->who);
    }
    if (p->multilabel &&
        !submodi_reachable(count, (ptrdiff_t[]){l->batch_stride, l->class_stride, l->pixel_stride},
                           submodi_label_size(l->type))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the strides of labels lead out of memory", p->who);
    }
    return SUBMOD_OK;
}

submod_status submodi_require_bins(const char *who, size_t bins, double delta)
{
    if (bins != 0 && (bins < 2 || bins > (size_t)1 << 20 || (bins & (bins - 1)) != 0)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: bins = %zu is no power of two from 2 to 2^20", who,
                            bins);
    }
    if (bins == 0 && !(delta >= 0x1p-21 && delta <= 1)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: delta = %g is not in [2^-21, 1]", who, delta);
    }
    return SUBMOD_OK;
}

submod_status submodi_require_weights(const char *who, const double *weight, size_t C,
                                      const int32_t *list, size_t count)
{
    if (!weight) {
        return SUBMOD_OK;
    }
    submod_status status = submodi_require_nonnegative(who, "class_weight", weight, C);
    bool some = false;
    for (size_t i = 0; status == SUBMOD_OK && !some && i < (list ? count : C); i++) {
        some = weight[list ? (size_t)list[i] : i] > 0;
    }
    return status != SUBMOD_OK || some
               ? status
               : submodi_fail(SUBMOD_EINVAL,
                              "%s: class_weight is 0 for every class%s; the loss would always be 0",
                              who, list ? " of class_list" : "");
}

submod_status submodi_require_loss_settings(const char *who, const submod_loss_settings *s,
                                            size_t C)
{
    if (s->engine != SUBMOD_ENGINE_EXACT && s->engine != SUBMOD_ENGINE_HISTOGRAM) {
        return submodi_fail(SUBMOD_EINVAL, "%s: engine = %d is unknown", who, (int)s->engine);
    }
    if (s->engine == SUBMOD_ENGINE_HISTOGRAM) {
        submod_status status = submodi_require_bins(who, s->bins, s->delta);
        if (status != SUBMOD_OK) {
            return status;
        }
    }
    bool listed = s->classes == SUBMOD_CLASSES_LIST;
    if (listed && s->class_count == 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: class_list is empty; name at least one class", who);
    }
    if (listed) {
        submod_status status =
            submodi_require_set(who, C, "class_list", s->class_list, s->class_count);
        if (status != SUBMOD_OK) {
            return status;
        }
    } else if (s->classes != SUBMOD_CLASSES_PRESENT && s->classes != SUBMOD_CLASSES_ALL) {
        return submodi_fail(SUBMOD_EINVAL, "%s: classes = %d is unknown", who, (int)s->classes);
    }
    return submodi_require_weights(who, s->class_weight, C, listed ? s->class_list : NULL,
                                   s->class_count);
}

/* ---- labels ---- */

/* All classes share their labels unless the problem is multilabel. */
static submod_labels labels_of_class(const submodi_problem *p, size_t c)
{
    return p->multilabel ? submodi_labels_of_class(&p->labels, c) : p->labels;
}

static submod_status bad_label(const submodi_problem *p, size_t c, size_t b, size_t i)
{
    submod_labels view = labels_of_class(p, c);
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
                        uint64_t *foreground, uint64_t *valid)
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
            foreground[codes[i]]++; /* there is room for the ignored ones */
        }
    }
    return bad == 0;
}

size_t submodi_problem_codes(const submodi_problem *p, size_t b, size_t c, size_t t, int32_t *codes)
{
    submod_labels view = labels_of_class(p, c);
    size_t first = t * SUBMODI_TILE;
    size_t left = p->scores.pixels - first;
    size_t n = left < SUBMODI_TILE ? left : SUBMODI_TILE;
    submodi_labels_read(&view, b, first, n, &p->rule, codes);
    return n;
}

/* The words for the first bad label. */
static submod_status find_bad_label(const submodi_problem *p)
{
    for (size_t b = 0; b < p->scores.batch; b++) {
        for (size_t c = 0; c < (p->multilabel ? p->scores.classes : 1); c++) {
            for (size_t t = 0; t < p->tiles_per_image; t++) {
                int32_t codes[SUBMODI_TILE];
                size_t n = submodi_problem_codes(p, b, c, t, codes);
                for (size_t i = 0; i < n; i++) {
                    if (codes[i] > p->rule.classes) {
                        return bad_label(p, c, b, t * SUBMODI_TILE + i);
                    }
                }
            }
        }
    }
    return submodi_fail(SUBMOD_EINVAL, "%s: the labels changed during the call", p->who);
}

/* Adds the labels of one group to its counts, one table of classes + 1 per thread; false if some
 * label is bad. */
static bool count_group(const submodi_problem *p, size_t group, int threads, uint64_t *table,
                        uint64_t *valid)
{
    size_t C = p->scores.classes;
    size_t rows = p->multilabel ? C : 1;
    size_t tiles = p->images_per_group * rows * p->tiles_per_image;
    uint64_t good = 0;
    int bad = 0;
    memset(table, 0, (size_t)threads * (C + 1) * sizeof *table);
#pragma omp parallel for num_threads(threads) reduction(+ : good) reduction(| : bad)
    for (size_t i = 0; i < tiles; i++) {
        int32_t codes[SUBMODI_TILE];
        size_t row = i / p->tiles_per_image;
        size_t n = submodi_problem_codes(p, group * p->images_per_group + row / rows, row % rows,
                                         i % p->tiles_per_image, codes);
        uint64_t *mine = table + (size_t)omp_get_thread_num() * (C + 1);
        bad |= !count_codes(p, codes, n, mine + row % rows, &good);
    }
    *valid += good;
    return !bad;
}

static submod_status count_labels(submodi_problem *p, submod_work *work)
{
    size_t C = p->scores.classes;
    int threads =
        submodi_threads_for(p->images_per_group * p->scores.pixels * (p->multilabel ? C : 1));
    uint64_t *table = submodi_take(work, (size_t)threads, (C + 1) * sizeof *table);
    if (!table) {
        return submodi_nomem(p->who);
    }
    p->valid = 0;
    for (size_t g = 0; g < p->groups; g++) {
        if (!count_group(p, g, threads, table, &p->valid)) {
            return find_bad_label(p);
        }
        for (size_t c = 0; c < C; c++) {
            uint64_t sum = 0;
            for (size_t t = 0; t < (size_t)threads; t++) {
                sum += table[t * (C + 1) + c];
            }
            p->foreground[g * C + c] = (double)sum;
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

static bool is_taken(const submod_loss_settings *s, size_t c, double foreground)
{
    return s->classes == SUBMOD_CLASSES_ALL ||
           (s->classes == SUBMOD_CLASSES_PRESENT && foreground > 0) ||
           (s->classes == SUBMOD_CLASSES_LIST && is_listed(s, c));
}

double submodi_class_weight(const submod_loss_settings *s, size_t c)
{
    double weight = s->class_weight ? s->class_weight[c] : 1;
    return is_taken(s, c, 1) ? weight : 0;
}

size_t submodi_class_coefficients(const submod_loss_settings *s, size_t C, const double *foreground,
                                  size_t groups, double *coefficient)
{
    for (size_t c = 0; c < C; c++) {
        coefficient[c] = is_taken(s, c, foreground[c]);
    }
    submodi_shares(s->class_weight, coefficient, C, groups, coefficient);
    size_t terms = 0;
    for (size_t c = 0; c < C; c++) {
        terms += coefficient[c] > 0;
    }
    return terms;
}

submod_status submodi_problem_shape(submodi_problem *p)
{
    submod_status status = require_labels(p);
    if (status == SUBMOD_OK) {
        status = require_scores(p);
    }
    if (status == SUBMOD_OK) {
        status = require_reach(p);
    }
    if (status == SUBMOD_OK) {
        status = submodi_require_loss_settings(p->who, &p->settings, p->scores.classes);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    if (p->scores.pixels == 0) { /* no groups of nothing, however many images it is */
        p->scores.batch = p->labels.batch = 0;
    }
    p->rule = (submodi_label_rule){.classes = p->multilabel ? 2 : (int32_t)p->scores.classes,
                                   .has_ignore = p->settings.has_ignore != 0,
                                   .ignore_index = p->settings.ignore_index};
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
    size_t segments = submodi_times(p->groups, C);
    p->foreground = submodi_take(work, segments, sizeof *p->foreground);
    p->coefficient = submodi_take(work, segments, sizeof *p->coefficient);
    if (!p->foreground || !p->coefficient) {
        return submodi_nomem(p->who);
    }
    status = count_labels(p, work);
    p->terms = 0;
    for (size_t g = 0; status == SUBMOD_OK && g < p->groups; g++) {
        p->terms += submodi_class_coefficients(&p->settings, C, p->foreground + g * C, p->groups,
                                               p->coefficient + g * C);
    }
    return status;
}
