/* iIoU: the share of each instance that was found counts, not its size (Cordts et al. 2016).
 *
 * What is kept is a confusion matrix of instances: share[t][p] = the sum over the instances of
 * class t of the part of their pixels that was predicted as p. Row t adds up to the number of
 * instances of class t. With the pixels' own counts, for the false positives, it gives the iIoU of
 * classes and of any groups of them.
 *
 * Instances are found by sorting: neighbouring pixels with the same id, truth and prediction are
 * one run, and the sorted runs of an instance are neighbours. O(pixels + runs log runs).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "metrics/confusion.h"
#include "metrics/fraction.h"
#include "metrics/state.h"
#include <submod/scoring.h>

enum { TILE = 1024 };

struct submod_instances {
    int64_t first_id;
    submod_confusion *pixels, *batch; /* batch: during a call only */
    submodi_fraction *share;          /* C x C */
    int64_t *count, *area;            /* per class: instances and their pixels; behind share */
};

/* ---- create and free ---- */

submod_status submod_instances_create(size_t classes, int64_t first_id,
                                      submod_instances **instances,
                                      const submod_metric_settings *settings)
{
    submod_status status = submodi_check_given("instances", instances);
    submod_instances *s = status ? NULL : submodi_alloc(1, sizeof *s);
    if (!s) {
        return submodi_return("submod_instances_create", status ? status : submodi_out_of_memory());
    }
    *s = (submod_instances){.first_id = first_id};
    status = submodi_confusion_new(classes, &s->pixels, settings);
    status = status ? status : submodi_confusion_new(classes, &s->batch, settings);
    if (status == SUBMOD_OK) {
        size_t rows = classes + 1; /* the last one: two numbers per class */
        s->share = submodi_alloc(submodi_times(rows, classes), sizeof *s->share);
        status = s->share ? SUBMOD_OK : submodi_out_of_memory();
    }
    if (status != SUBMOD_OK) {
        submod_instances_free(s);
        return submodi_return("submod_instances_create", status);
    }
    s->count = (int64_t *)(void *)(s->share + classes * classes);
    s->area = s->count + classes;
    submod_instances_reset(s);
    *instances = s;
    return SUBMOD_OK;
}

void submod_instances_free(submod_instances *instances)
{
    if (instances) {
        submod_confusion_free(instances->pixels);
        submod_confusion_free(instances->batch);
        submodi_free(instances->share);
        submodi_free(instances);
    }
}

static size_t classes_of(const submod_instances *s)
{
    return (size_t)s->pixels->rule.classes;
}

void submod_instances_reset(submod_instances *instances)
{
    if (instances) {
        size_t C = classes_of(instances);
        submod_confusion_reset(instances->pixels);
        memset(instances->share, 0, (C + 1) * C * sizeof *instances->share);
    }
}

const submod_confusion *submod_instances_confusion(const submod_instances *instances)
{
    return instances ? instances->pixels : NULL;
}

int64_t submodi_instances_first_id(const submod_instances *instances)
{
    return instances->first_id;
}

/* ---- runs ---- */

/* Pixels that follow each other and are the same in everything. */
typedef struct run {
    int64_t id;
    int32_t truth, prediction;
    int64_t length;
} run;

/* The views of one call. */
typedef struct views {
    const submod_labels *prediction, *truth, *ids;
} views;

static void append(run *runs, size_t *count, run r)
{
    run *last = *count ? &runs[*count - 1] : NULL;
    if (last && last->id == r.id && last->truth == r.truth && last->prediction == r.prediction) {
        last->length += r.length;
    } else {
        runs[(*count)++] = r;
    }
}

/* The runs of instances in image b, at most `pixels` of them. */
static size_t find_runs(const submod_instances *s, const views *v, size_t b, run *runs)
{
    const submodi_label_rule *rule = &s->pixels->rule;
    const submodi_label_rule predicted = {.classes = rule->classes};
    int32_t truth[TILE];
    int32_t prediction[TILE];
    size_t count = 0;
    for (size_t first = 0; first < v->truth->pixels; first += TILE) {
        size_t rest = v->truth->pixels - first;
        size_t n = rest < TILE ? rest : TILE;
        submodi_labels_read(v->truth, b, first, n, rule, truth);
        submodi_labels_read(v->prediction, b, first, n, &predicted, prediction);
        for (size_t i = 0; i < n; i++) {
            int64_t id = submodi_label(v->ids, b, first + i);
            if (id >= s->first_id && truth[i] < rule->classes) {
                append(runs, &count, (run){id, truth[i], prediction[i], 1});
            }
        }
    }
    return count;
}

static int by_instance(const void *left, const void *right)
{
    const run *a = left;
    const run *b = right;
    if (a->id != b->id) {
        return a->id < b->id ? -1 : 1;
    }
    if (a->truth != b->truth) {
        return a->truth < b->truth ? -1 : 1;
    }
    return (a->prediction > b->prediction) - (a->prediction < b->prediction);
}

/* Adds the instance whose runs, n of them, are sorted by prediction. */
static void add_instance(submod_instances *s, const run *runs, size_t n)
{
    size_t truth = (size_t)runs[0].truth;
    int64_t size = 0;
    for (size_t i = 0; i < n; i++) {
        size += runs[i].length;
    }
    for (size_t i = 0, end; i < n; i = end) {
        int64_t hits = 0;
        for (end = i; end < n && runs[end].prediction == runs[i].prediction; end++) {
            hits += runs[end].length;
        }
        submodi_fraction_add(&s->share[truth * classes_of(s) + (size_t)runs[i].prediction],
                             submodi_fraction_of((double)hits / (double)size));
    }
    s->count[truth]++;
    s->area[truth] += size;
}

static void add_image(submod_instances *s, const views *v, size_t b, run *runs)
{
    size_t n = find_runs(s, v, b, runs);
    if (n) {
        qsort(runs, n, sizeof *runs, by_instance);
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && runs[end].id == runs[i].id && runs[end].truth == runs[i].truth;
             end++) {
        }
        add_instance(s, runs + i, end - i);
    }
}

/* ---- streaming ---- */

static submod_status instances_add(submod_instances *instances, const submod_labels *prediction,
                                   const submod_labels *truth, const submod_labels *ids)
{
    const views v = {prediction, truth, ids};
    submod_status status = submodi_check_given("instances", instances);
    status = status ? status : submodi_require_pair(prediction, truth);
    status = status ? status : submodi_labels_require("ids", ids);
    if (status == SUBMOD_OK && (ids->batch != truth->batch || ids->pixels != truth->pixels)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "ids must have the shape of truth, %zu images of %zu pixels",
                            truth->batch, truth->pixels);
    }
    if (status != SUBMOD_OK || truth->batch == 0 || truth->pixels == 0) {
        return status;
    }
    submod_confusion_reset(instances->batch);
    status = submodi_confusion_count(instances->batch, prediction, truth, 0, truth->batch);
    run *runs = status ? NULL : submodi_alloc(truth->pixels, sizeof *runs);
    status = status || runs ? status : submodi_out_of_memory();
    status = status ? status : submod_confusion_merge(instances->pixels, instances->batch);
    for (size_t b = 0; status == SUBMOD_OK && b < truth->batch; b++) {
        add_image(instances, &v, b, runs);
    }
    submodi_free(runs);
    return status;
}

submod_status submod_instances_add(submod_instances *instances, const submod_labels *prediction,
                                   const submod_labels *truth, const submod_labels *ids)
{
    return submodi_return("submod_instances_add", instances_add(instances, prediction, truth, ids));
}

submod_status submod_instances_merge(submod_instances *instances, const submod_instances *other)
{
    submod_status status = submodi_check_given("instances", instances);
    status = status ? status : submodi_check_given("other", other);
    status = status ? status : submod_confusion_merge(instances->pixels, other->pixels);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_instances_merge", status);
    }
    size_t C = classes_of(instances);
    for (size_t i = 0; i < C * C; i++) {
        submodi_fraction_add(&instances->share[i], other->share[i]);
    }
    for (size_t c = 0; c < 2 * C; c++) { /* the areas follow */
        instances->count[c] += other->count[c];
    }
    return SUBMOD_OK;
}

/* Counts and areas first, which are never negative. */
size_t submodi_instances_spans(const submod_instances *instances, submodi_span *spans)
{
    size_t C = classes_of(instances);
    spans[0] = submodi_confusion_span(instances->pixels);
    spans[1] = (submodi_span){instances->count, 2 * C};
    spans[2] = (submodi_span){instances->share, 2 * C * C};
    return 3;
}

submod_status submod_instances_words(const submod_instances *instances, uint64_t *words,
                                     size_t *count)
{
    submod_status status = submodi_check_given("instances", instances);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_instances_words", status);
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_instances_spans(instances, spans);
    return submodi_return("submod_instances_words", submodi_state_save(spans, n, words, count));
}

/* Whether no share is above the number of instances of its class; words behind those of pixels. */
static bool are_shares(const submod_instances *s, const uint64_t *words)
{
    size_t C = classes_of(s);
    const uint64_t *share = words + 2 * C;
    for (size_t i = 0; i < C * C; i++, share += 2) {
        uint64_t most = words[i / C];
        if (share[0] > most || (share[0] == most && share[1] > 0)) {
            return false;
        }
    }
    return true;
}

static submod_status instances_set_words(submod_instances *instances, const uint64_t *words,
                                         size_t count)
{
    submod_status status = submodi_check_given("instances", instances);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_instances_spans(instances, spans);
    if (words && count == spans[0].words + spans[1].words + spans[2].words &&
        !are_shares(instances, words + spans[0].words)) {
        return submodi_fail(SUBMOD_EINVAL, "words are not shares of instances");
    }
    return submodi_state_load(instances->pixels, instances->batch, spans, n, spans[1].words, words,
                              count);
}

submod_status submod_instances_set_words(submod_instances *instances, const uint64_t *words,
                                         size_t count)
{
    return submodi_return("submod_instances_set_words",
                          instances_set_words(instances, words, count));
}

/* ---- iIoU ---- */

static double mean_size(const submod_instances *s, size_t c)
{
    return s->count[c] ? (double)s->area[c] / (double)s->count[c] : 0;
}

submod_status submod_instances_sizes(const submod_instances *instances, int64_t *count,
                                     double *average_size)
{
    submod_status status = submodi_check_given("instances", instances);
    for (size_t c = 0; status == SUBMOD_OK && c < classes_of(instances); c++) {
        if (count) {
            count[c] = instances->count[c];
        }
        if (average_size) {
            average_size[c] = mean_size(instances, c);
        }
    }
    return submodi_return("submod_instances_sizes", status);
}

/* How classes are put together, and what they weigh. NULL: each by itself, sizes as seen. */
typedef struct grouping {
    const double *size;
    const int32_t *truth, *prediction;
} grouping;

static int64_t group_of(const int32_t *group, size_t c)
{
    return group ? group[c] : (int64_t)c;
}

/* Whether class t is in the truth. */
static bool has_pixels(const submod_instances *s, size_t t)
{
    size_t C = classes_of(s);
    int64_t sum = 0;
    for (size_t p = 0; p < C; p++) {
        sum |= s->pixels->counts[t * C + p];
    }
    return sum != 0;
}

static double group_iou(const submod_instances *s, const grouping *g, int64_t group)
{
    size_t C = classes_of(s);
    double found = 0;
    double all = 0;
    bool any = false;
    int64_t false_positives = 0;
    for (size_t t = 0; t < C; t++) {
        bool inside = group_of(g->truth, t) == group;
        double size = !inside ? 0 : g->size ? g->size[t] : mean_size(s, t);
        if (inside && size == 0) {
            if (g->size || has_pixels(s, t)) {
                return NAN; /* a class without instances */
            }
            inside = false; /* not there at all */
        }
        any |= inside;
        all += size * (double)s->count[t];
        for (size_t p = 0; p < C; p++) {
            if (group_of(g->prediction ? g->prediction : g->truth, p) != group) {
                continue;
            }
            if (inside) {
                found += size * submodi_fraction_value(s->share[t * C + p]);
            } else if (group_of(g->truth, t) >= 0) {
                false_positives += s->pixels->counts[t * C + p];
            }
        }
    }
    double joined = all + (double)false_positives;
    return any && joined > 0 ? found / joined : (double)NAN;
}

static submod_status instances_iou(const submod_instances *instances, const double *average_size,
                                   const int32_t *truth_group, const int32_t *prediction_group,
                                   size_t groups, double *iou, double *mean)
{
    const grouping g = {average_size, truth_group, prediction_group};
    submod_status status = submodi_check_given("instances", instances);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t C = classes_of(instances);
    if (average_size) {
        status = submodi_check_all_nonnegative("average_size", average_size, C);
    }
    if (status == SUBMOD_OK && !truth_group && (prediction_group || groups != C)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "without truth_group there must be no prediction_group, and "
                            "groups = %zu must be %zu, the number of classes",
                            groups, C);
    }
    if (status == SUBMOD_OK && truth_group) {
        status = submodi_require_regrouping(C, truth_group, prediction_group, groups);
    }
    submodi_mean m = {0, 0};
    for (size_t k = 0; status == SUBMOD_OK && k < groups; k++) {
        double value = group_iou(instances, &g, (int64_t)k);
        submodi_mean_add(&m, value);
        if (iou) {
            iou[k] = value;
        }
    }
    if (status == SUBMOD_OK && mean) {
        *mean = submodi_mean_value(&m);
    }
    return status;
}

submod_status submod_instances_iou(const submod_instances *instances, const double *average_size,
                                   const int32_t *truth_group, const int32_t *prediction_group,
                                   size_t groups, double *iou, double *mean)
{
    return submodi_return(
        "submod_instances_iou",
        instances_iou(instances, average_size, truth_group, prediction_group, groups, iou, mean));
}
