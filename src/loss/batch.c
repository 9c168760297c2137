/* Batches: what each loss takes, checked, counted and cut into groups (see batch.h). */
#include "loss/batch.h"

#include <math.h>

#include "base/internal.h"
#include "loss/label_counts.h"
#include "loss/shares.h"
#include "loss/tensors/pixel_weights.h"
#include "loss/tensors/rows.h"
#include "loss/tile.h"
#include "submod/fn_internal.h"

/* ---- the losses ---- */

/* What a loss looks at among the settings. */
enum { LOGITS = 1, ENGINE = 2, GROUPS = 4, CLASSES = 8, MEASURE = 16, WEIGHTS = 32, IGNORE = 64 };
enum { LOVASZ = ENGINE | GROUPS | MEASURE | WEIGHTS | IGNORE };
enum { OVERLAP = LOGITS | GROUPS | CLASSES | WEIGHTS };

typedef struct row {
    submodi_activation of_logits;
    bool multilabel;     /* labels are 0 or 1 per class */
    bool binary;         /* one score per pixel */
    bool takes_infinite; /* accepts infinite scores of the right sign, whose error is 0 */
    unsigned looks_at;
} row;

static const row rows[SUBMODI_KINDS] = {
    [SUBMODI_LOVASZ_SOFTMAX] = {SUBMODI_SOFTMAX, false, false, false, LOVASZ | LOGITS | CLASSES},
    [SUBMODI_LOVASZ_SIGMOID] = {SUBMODI_SIGMOID, true, false, false, LOVASZ | LOGITS | CLASSES},
    [SUBMODI_LOVASZ_HINGE] = {SUBMODI_SCORE, true, true, true, LOVASZ},
    [SUBMODI_ANY_HINGE] = {SUBMODI_SCORE, true, true, true, IGNORE},
    [SUBMODI_DATASET] = {SUBMODI_SOFTMAX, false, false, false, LOGITS | WEIGHTS | IGNORE},
    [SUBMODI_CROSS_ENTROPY] = {SUBMODI_SCORE, false, false, false, GROUPS | WEIGHTS | IGNORE},
    [SUBMODI_HINGE] = {SUBMODI_SCORE, true, true, true, GROUPS | WEIGHTS | IGNORE},
    [SUBMODI_HINGE_PROX] = {SUBMODI_SCORE, true, true, false, GROUPS | WEIGHTS | IGNORE},
    [SUBMODI_RAHMAN_WANG] = {SUBMODI_SIGMOID, true, true, false,
                             LOGITS | GROUPS | WEIGHTS | IGNORE},
    [SUBMODI_OVERLAP] = {SUBMODI_SOFTMAX, false, false, false, OVERLAP | IGNORE},
    [SUBMODI_METRIC] = {SUBMODI_SOFTMAX, false, false, false, OVERLAP},
    [SUBMODI_PROX] = {SUBMODI_SCORE, true, false, false, IGNORE},
};

/* The defaults but for what is looked at; all classes count where they cannot be chosen. */
static submod_loss_settings looked_at(const submod_loss_settings *given, unsigned looks_at)
{
    submod_loss_settings s = submod_loss_defaults();
    if (looks_at & IGNORE) {
        s.has_ignore = given->has_ignore;
        s.ignore_index = given->ignore_index;
    }
    if (looks_at & LOGITS) {
        s.from_logits = given->from_logits;
    }
    if (looks_at & ENGINE) {
        s.engine = given->engine;
        s.delta = given->delta;
        s.bins = given->bins;
        s.accuracy = given->accuracy;
    }
    if (looks_at & GROUPS) {
        s.per_image = given->per_image;
        s.group_loss = given->group_loss;
    }
    if (looks_at & CLASSES) {
        s.classes = given->classes;
        s.class_list = given->class_list;
        s.class_count = given->class_count;
        s.class_weight = given->class_weight;
    } else {
        s.classes = SUBMOD_CLASSES_ALL;
    }
    if (looks_at & MEASURE) {
        s.measure = given->measure;
    }
    if (looks_at & WEIGHTS) {
        s.pixel_weights = given->pixel_weights;
    }
    return s;
}

submod_status submodi_require_bins(size_t bins, double delta)
{
    if (bins != 0 && (bins < 2 || bins > (size_t)1 << 20 || (bins & (bins - 1)) != 0)) {
        return submodi_fail(SUBMOD_EINVAL, "bins = %zu must be a power of two from 2 to 2^20",
                            bins);
    }
    if (bins == 0 && !(delta >= 0x1p-21 && delta <= 1)) {
        return submodi_fail(SUBMOD_EINVAL, "delta = %g must be in [2^-21, 1]", delta);
    }
    return SUBMOD_OK;
}

static submod_status require_engine(const submod_loss_settings *s)
{
    if (!(s->accuracy >= 0 && s->accuracy <= 1)) {
        return submodi_fail(SUBMOD_EINVAL, "accuracy = %g must be in [0, 1]", s->accuracy);
    }
    if (s->engine != SUBMOD_ENGINE_EXACT && s->engine != SUBMOD_ENGINE_HISTOGRAM &&
        s->engine != SUBMOD_ENGINE_COUNTING) {
        return submodi_fail(SUBMOD_EINVAL, "engine = %d is unknown; see submod_engine",
                            (int)s->engine);
    }
    bool histogram = s->engine == SUBMOD_ENGINE_HISTOGRAM;
    return histogram ? submodi_require_bins(s->bins, s->delta) : SUBMOD_OK;
}

submod_status submodi_batch_start(submodi_batch *batch, submodi_kind kind,
                                  const submod_scores *scores, const submod_labels *labels,
                                  const submod_loss_settings *settings)
{
    const row *r = &rows[kind];
    *batch = (submodi_batch){.multilabel = r->multilabel, .takes_infinite = r->takes_infinite};
    submod_status status = submodi_check_given("scores", scores);
    status = status ? status : submodi_check_given("labels", labels);
    if (status == SUBMOD_OK && r->binary && scores->classes != 1) {
        status = submodi_fail(SUBMOD_EINVAL, "scores.classes = %zu must be 1: one score per pixel",
                              scores->classes);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    batch->given = settings ? *settings : submod_loss_defaults();
    batch->scores = *scores;
    batch->labels = *labels;
    batch->settings = looked_at(&batch->given, r->looks_at);
    batch->activation = batch->settings.from_logits ? r->of_logits : SUBMODI_PROBABILITY;
    status = require_engine(&batch->settings); /* before pointers are followed */
    return status ? status
                  : submodi_read_measure("measure", batch->settings.measure, &batch->measure);
}

/* ---- checks ---- */

submod_status submodi_require_gradient(const submod_gradient *gradient, const submod_scores *scores)
{
    if (gradient && !gradient->data && scores->batch && scores->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "gradient.data is NULL");
    }
    if (gradient && scores->batch && scores->classes && scores->pixels &&
        ((scores->pixels > 1 && gradient->pixel_stride == 0) ||
         (scores->classes > 1 && gradient->class_stride == 0) ||
         (scores->batch > 1 && gradient->batch_stride == 0))) {
        return submodi_fail(
            SUBMOD_EINVAL,
            "gradient has a stride of 0, so it overlaps itself; strides must not be 0");
    }
    if (gradient && !submodi_reachable((size_t[]){scores->batch, scores->classes, scores->pixels},
                                       (ptrdiff_t[]){gradient->batch_stride, gradient->class_stride,
                                                     gradient->pixel_stride},
                                       sizeof *gradient->data)) {
        return submodi_fail(SUBMOD_EINVAL, "the strides of gradient reach beyond all memory");
    }
    if (gradient && !isfinite((float)gradient->scale)) {
        return submodi_fail(SUBMOD_ENONFINITE, "gradient.scale = %g must be finite as a float",
                            gradient->scale);
    }
    return SUBMOD_OK;
}

static submod_status require_labels(const submodi_batch *batch)
{
    submod_labels first = batch->labels;
    if (batch->multilabel) {
        first.class_stride = 0;
    }
    bool some = first.batch && first.pixels;
    if (batch->multilabel && some && batch->scores.classes > 1 && batch->labels.class_stride == 0) {
        return submodi_fail(
            SUBMOD_EINVAL,
            "labels.class_stride must not be 0: each of %zu classes has labels of its own",
            batch->scores.classes);
    }
    return submodi_labels_require("labels", &first);
}

submod_status submodi_require_several_classes(size_t classes)
{
    return classes != 1
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL,
                              "the softmax of one class is always 1, and the loss says nothing; "
                              "for one score per pixel take the hinge or the sigmoid loss");
}

static submod_status require_scores(const submodi_batch *batch)
{
    const submod_scores *s = &batch->scores;
    if (s->classes == 0 || s->classes > INT32_MAX / 4) {
        return submodi_fail(SUBMOD_EINVAL, "scores.classes = %zu must be from 1 to 2^29 - 1",
                            s->classes);
    }
    if (batch->activation == SUBMODI_SOFTMAX) {
        submod_status status = submodi_require_several_classes(s->classes);
        if (status != SUBMOD_OK) {
            return status;
        }
    }
    if (s->batch && s->pixels > INT32_MAX / s->batch) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%zu images of %zu pixels are too many; at most 2^31 - 1 pixels in all",
                            s->batch, s->pixels);
    }
    submod_status status = submodi_scores_require("scores", s);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (batch->labels.batch != s->batch || batch->labels.pixels != s->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "labels are %zu x %zu, scores %zu x %zu (x %zu classes)",
                            batch->labels.batch, batch->labels.pixels, s->batch, s->pixels,
                            s->classes);
    }
    return SUBMOD_OK;
}

/* No offset into labels of each class overflows; their counts are in range already. */
static submod_status require_reach(const submodi_batch *batch)
{
    const submod_scores *s = &batch->scores;
    const submod_labels *l = &batch->labels;
    const size_t count[3] = {s->batch, s->classes, s->pixels};
    if (batch->multilabel &&
        !submodi_reachable(count, (ptrdiff_t[]){l->batch_stride, l->class_stride, l->pixel_stride},
                           submodi_label_size(l->type))) {
        return submodi_fail(SUBMOD_EINVAL, "the strides of labels reach beyond all memory");
    }
    return SUBMOD_OK;
}

submod_status submodi_require_weights(const double *weight, size_t C, const int32_t *list,
                                      size_t count)
{
    if (!weight) {
        return SUBMOD_OK;
    }
    submod_status status = submodi_check_all_nonnegative("class_weight", weight, C);
    bool some = false;
    for (size_t i = 0; status == SUBMOD_OK && !some && i < (list ? count : C); i++) {
        some = weight[list ? (size_t)list[i] : i] > 0;
    }
    return status != SUBMOD_OK || some
               ? status
               : submodi_fail(SUBMOD_EINVAL,
                              "class_weight is 0 for every class%s; the loss would always be 0",
                              list ? " of class_list" : "");
}

submod_status submodi_require_loss_settings(const submod_loss_settings *s, size_t C)
{
    submod_status status = require_engine(s);
    if (status != SUBMOD_OK) {
        return status;
    }
    bool listed = s->classes == SUBMOD_CLASSES_LIST;
    if (listed && s->class_count == 0) {
        return submodi_fail(SUBMOD_EINVAL, "class_list is empty; name at least one class");
    }
    if (listed) {
        status = submodi_check_elements("class_list", s->class_list, s->class_count, C);
    } else if (s->classes != SUBMOD_CLASSES_PRESENT && s->classes != SUBMOD_CLASSES_ALL) {
        status = submodi_fail(SUBMOD_EINVAL, "classes = %d is unknown; see submod_classes",
                              (int)s->classes);
    }
    const int32_t *list = listed ? s->class_list : NULL;
    return status ? status : submodi_require_weights(s->class_weight, C, list, s->class_count);
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

void submodi_write_groups(const submodi_batch *batch, size_t images, const double *share)
{
    double *to = batch->settings.group_loss;
    size_t groups = batch->settings.per_image ? images : 1;
    for (size_t g = 0; to && g < groups; g++) {
        to[g] = batch->groups ? (double)batch->all_groups * share[g] : 0;
    }
}

/* ---- the measure ---- */

/* What it costs to have nothing, all of the foreground, and everything wrong. */
static bool ask_custom(const submodi_batch *batch, size_t segment, double *F,
                       submodi_measure_failure *failure)
{
    double P = batch->foreground[segment];
    double N = batch->background[segment];
    double a[] = {0, P, P};
    double b[] = {0, 0, N};
    return submodi_measure_values(&batch->measure, batch->unit[segment / batch->scores.classes], 3,
                                  a, b, P, N, F, failure);
}

/* Of a custom measure we know that it is increasing: if it has the same value at both ends it does
 * not change between them. */
static submod_status ask_custom_segment(submodi_batch *batch, size_t s, double *most)
{
    double F[3];
    submodi_measure_failure failure;
    if (!ask_custom(batch, s, F, &failure)) {
        return submodi_measure_failed(&failure);
    }
    batch->foreground_is_all[s] = batch->foreground[s] > 0 && F[1] == F[2];
    batch->worst[s] = F[2];
    *most += batch->coefficient[s] * F[2];
    return SUBMOD_OK;
}

/* group_most is added up group by group, so that it is the same for any split of a batch. */
static submod_status ask_measure(submodi_batch *batch)
{
    bool custom = batch->measure.type == SUBMOD_MEASURE_CUSTOM;
    submodi_form form = submodi_form_of(&batch->measure);
    size_t C = batch->scores.classes;
    submod_status status = SUBMOD_OK;
    for (size_t g = 0; g < batch->groups; g++) {
        batch->group_most[g] = 0;
        for (size_t s = g * C; status == SUBMOD_OK && s < (g + 1) * C; s++) {
            double P = batch->foreground[s];
            bool used = batch->coefficient[s] > 0 && P + batch->background[s] > 0;
            batch->worst[s] = 1;
            batch->foreground_is_all[s] =
                used && !custom && submodi_form_foreground_is_all(form, P);
            if (used && custom) {
                status = ask_custom_segment(batch, s, &batch->group_most[g]);
            }
        }
    }
    batch->most = custom ? 0 : 1;
    for (size_t g = 0; custom && g < batch->groups; g++) {
        batch->most += batch->group_most[g];
    }
    return status;
}

/* ---- shape and memory ---- */

submod_status submodi_batch_shape(submodi_batch *batch, const submod_gradient *gradient)
{
    const submod_scores *scores = &batch->scores;
    submod_status status = require_labels(batch);
    status = status ? status : require_scores(batch);
    status = status ? status : require_reach(batch);
    status = status ? status : submodi_require_loss_settings(&batch->settings, scores->classes);
    status = status ? status : submodi_require_gradient(gradient, scores);
    if (status == SUBMOD_OK && batch->settings.pixel_weights) {
        status = submodi_pixel_weights_require(batch->settings.pixel_weights, scores->batch,
                                               scores->pixels);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    /* A batch of nothing has no groups, however large its other side. */
    if (batch->scores.batch == 0 || batch->scores.pixels == 0) {
        batch->scores.batch = batch->labels.batch = 0;
        batch->scores.pixels = batch->labels.pixels = 0;
    }
    batch->rule =
        (submodi_label_rule){.classes = batch->multilabel ? 2 : (int32_t)batch->scores.classes,
                             .has_ignore = batch->settings.has_ignore != 0,
                             .ignore_index = batch->settings.ignore_index};
    batch->images_per_group =
        batch->settings.per_image || batch->scores.batch == 0 ? 1 : batch->scores.batch;
    batch->groups = batch->scores.batch / batch->images_per_group;
    batch->tile = submodi_tile_pixels(batch->scores.classes);
    batch->tiles_per_image = (batch->scores.pixels + batch->tile - 1) / batch->tile;
    batch->all_groups = batch->groups;
    batch->all_pixels = batch->scores.batch * batch->scores.pixels;
    return SUBMOD_OK;
}

submod_status submodi_batch_look(submodi_batch *batch, submod_work *work)
{
    size_t C = batch->scores.classes;
    size_t segments = submodi_times(batch->groups, C);
    batch->threads = submodi_threads_for(batch->scores.batch * batch->scores.pixels * C);
    batch->memory = submodi_tiles_take(batch, work);
    batch->foreground = submodi_work_alloc(work, segments, sizeof *batch->foreground);
    batch->background = submodi_work_alloc(work, segments, sizeof *batch->background);
    batch->coefficient = submodi_work_alloc(work, segments, sizeof *batch->coefficient);
    batch->foreground_is_all = submodi_work_alloc(work, segments, sizeof *batch->foreground_is_all);
    batch->worst = submodi_work_alloc(work, segments, sizeof *batch->worst);
    batch->group_most = submodi_work_alloc(work, batch->groups, sizeof *batch->group_most);
    batch->largest_weight = submodi_work_alloc(work, batch->groups, sizeof *batch->largest_weight);
    batch->unit = submodi_work_alloc(work, batch->groups, sizeof *batch->unit);
    if (!batch->memory || !batch->foreground || !batch->background || !batch->coefficient ||
        !batch->foreground_is_all || !batch->worst || !batch->group_most ||
        !batch->largest_weight || !batch->unit) {
        return submodi_out_of_memory();
    }
    return submodi_weights_look(batch, work);
}

submod_status submodi_batch_count(submodi_batch *batch, submod_work *work)
{
    submodi_weights_keep(batch);
    return submodi_labels_count(batch, work);
}

submod_status submodi_batch_decide(submodi_batch *batch)
{
    size_t C = batch->scores.classes;
    batch->terms = 0;
    for (size_t g = 0; g < batch->groups; g++) {
        batch->terms += submodi_class_coefficients(&batch->settings, C, batch->foreground + g * C,
                                                   batch->all_groups, batch->coefficient + g * C);
    }
    return ask_measure(batch);
}

submod_status submodi_batch_open(submodi_batch *batch, submod_work *work)
{
    submod_status status = submodi_batch_look(batch, work);
    status = status ? status : submodi_batch_count(batch, work);
    return status ? status : submodi_batch_decide(batch);
}

submod_status submodi_batch_prepare(submodi_batch *batch, const submod_gradient *gradient,
                                    submod_work *work)
{
    submod_status status = submodi_batch_shape(batch, gradient);
    return status == SUBMOD_OK ? submodi_batch_open(batch, work) : status;
}

submodi_batch submodi_batch_group(const submodi_batch *batch, size_t group)
{
    submodi_batch one = *batch;
    size_t C = batch->scores.classes;
    size_t image = group * batch->images_per_group;
    one.groups = 1;
    one.scores = submodi_scores_from(&batch->scores, image);
    one.labels = submodi_labels_from(&batch->labels, image);
    one.scores.batch = one.labels.batch = batch->images_per_group;
    one.notes = (submodi_notes){NULL, NULL, NULL, NULL};
    one.weight = batch->weight ? batch->weight + image * batch->scores.pixels : NULL;
    one.largest_weight += group;
    one.unit += group;
    one.group_most += group;
    one.foreground += group * C;
    one.background += group * C;
    one.coefficient += group * C;
    one.foreground_is_all += group * C;
    one.worst += group * C;
    one.terms = 0;
    for (size_t c = 0; c < C; c++) {
        one.terms += one.coefficient[c] > 0;
    }
    return one;
}
