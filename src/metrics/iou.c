/* IoU, Dice and accuracies: of two masks, and from confusion counts.
 *
 *   T, P, I = pixels of a class in the truth, in the prediction, in both
 *   IoU = I / (T + P - I)  (paper, Eq. 3),   Dice = 2 I / (T + P),   accuracy = I / T
 *
 * and their means over classes, where submod_absent says what a class without pixels gets.
 * O(C^2) for C classes.
 */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "metrics/confusion.h"
#include "submod/fn_internal.h"

/* ---- two masks ---- */

submod_status submod_jaccard_index(const uint8_t *prediction, const uint8_t *truth, size_t n,
                                   double *value)
{
    if (!value || (n && (!prediction || !truth))) {
        return submodi_return(
            "submod_jaccard_index",
            submodi_fail(SUBMOD_EINVAL, "%s is NULL", value ? "prediction or truth" : "value"));
    }
    size_t intersection = 0;
    size_t joined = 0;
/* Not "for simd": clang 14 adds up half of it then, with -O1. */
#pragma omp parallel for reduction(+ : intersection, joined) num_threads(submodi_threads_for(n))
    for (size_t i = 0; i < n; i++) {
        intersection += (prediction[i] != 0) & (truth[i] != 0);
        joined += (prediction[i] != 0) | (truth[i] != 0);
    }
    *value = joined ? (double)intersection / (double)joined : 1;
    return SUBMOD_OK;
}

/* ---- how to average ---- */

submod_metric_settings submod_metric_defaults(void)
{
    return (submod_metric_settings){.absent = SUBMOD_ABSENT_ONE};
}

/* chosen[c] = 1 for the classes of the list, or for all if there is no list. */
static submod_status choose_list(const submod_metric_settings *s, size_t classes, uint8_t *chosen)
{
    if (!s->class_list) {
        memset(chosen, 1, classes);
        return s->class_count == 0
                   ? SUBMOD_OK
                   : submodi_fail(SUBMOD_EINVAL, "class_count = %zu must be 0 without a class_list",
                                  s->class_count);
    }
    submod_status status =
        submodi_check_elements("class_list", s->class_list, s->class_count, classes);
    memset(chosen, 0, classes);
    for (size_t i = 0; status == SUBMOD_OK && i < s->class_count; i++) {
        chosen[s->class_list[i]] = 1;
    }
    return status;
}

static submod_status choose(const submod_metric_settings *s, size_t classes, uint8_t *chosen)
{
    submod_status status = choose_list(s, classes, chosen);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (s->has_leave_out) {
        if (s->leave_out < 0 || (size_t)s->leave_out >= classes) {
            return submodi_fail(SUBMOD_EINVAL, "leave_out = %d is not in [0, %zu)",
                                (int)s->leave_out, classes);
        }
        chosen[s->leave_out] = 0;
    }
    if (!memchr(chosen, 1, classes)) {
        return submodi_fail(SUBMOD_EINVAL, "no class is left to average over");
    }
    return SUBMOD_OK;
}

static bool is_convention(submod_absent absent)
{
    switch (absent) {
    case SUBMOD_ABSENT_ONE:
    case SUBMOD_ABSENT_ZERO:
    case SUBMOD_ABSENT_SKIP:
    case SUBMOD_ABSENT_TRUTH: return true;
    }
    return false;
}

submod_status submodi_averaging_init(submodi_averaging *a, size_t classes,
                                     const submod_metric_settings *settings)
{
    submod_metric_settings s = settings ? *settings : submod_metric_defaults();
    if (!is_convention(s.absent)) {
        return submodi_fail(SUBMOD_EINVAL, "absent = %d is unknown; see submod_absent",
                            (int)s.absent);
    }
    /* One block, the sums first because of their alignment. */
    int64_t *sums = submodi_alloc(classes, 2 * sizeof *sums + sizeof *a->chosen);
    if (!sums) {
        return submodi_out_of_memory();
    }
    *a = (submodi_averaging){s.absent, classes, sums, sums + classes,
                             (uint8_t *)(sums + 2 * classes)};
    submod_status status = choose(&s, classes, a->chosen);
    if (status != SUBMOD_OK) {
        submodi_averaging_clear(a);
    }
    return status;
}

void submodi_averaging_clear(submodi_averaging *a)
{
    submodi_free(a->truth);
    a->truth = NULL;
}

/* ---- per class ---- */

void submodi_sum_classes(submodi_averaging *a, const submod_confusion *c)
{
    size_t C = a->classes;
    memset(a->truth, 0, C * sizeof *a->truth);
    memset(a->prediction, 0, C * sizeof *a->prediction);
    for (size_t t = 0; t < C; t++) {
        for (size_t p = 0; p < C; p++) {
            a->truth[t] += c->counts[t * C + p];
            a->prediction[p] += c->counts[t * C + p];
        }
    }
}

double submodi_quotient(submod_absent absent, double numerator, double denominator)
{
    if (denominator > 0) {
        return numerator / denominator;
    }
    return absent == SUBMOD_ABSENT_ONE ? 1 : absent == SUBMOD_ABSENT_ZERO ? 0 : NAN;
}

double submodi_iou(submod_absent absent, int64_t truth, int64_t prediction, int64_t both)
{
    if (absent == SUBMOD_ABSENT_TRUTH && truth == 0) {
        return NAN;
    }
    double I = (double)both;
    return submodi_quotient(absent, I, (double)truth + (double)prediction - I);
}

typedef struct class_values {
    double iou, dice, accuracy;
} class_values;

static class_values class_metrics(const submodi_averaging *a, const submod_confusion *c, size_t k)
{
    int64_t both = c->counts[k * a->classes + k];
    double iou = submodi_iou(a->absent, a->truth[k], a->prediction[k], both);
    if (a->absent == SUBMOD_ABSENT_TRUTH && a->truth[k] == 0) {
        return (class_values){iou, NAN, NAN};
    }
    double I = (double)both;
    double T = (double)a->truth[k];
    double P = (double)a->prediction[k];
    return (class_values){iou, submodi_quotient(a->absent, 2 * I, T + P),
                          submodi_quotient(a->absent, I, T)};
}

/* ---- over classes ---- */

double submodi_mean_iou(submodi_averaging *a, const submod_confusion *c)
{
    submodi_mean m = {0, 0};
    submodi_sum_classes(a, c);
    for (size_t k = 0; k < a->classes; k++) {
        if (a->chosen[k]) {
            submodi_mean_add(&m, class_metrics(a, c, k).iou);
        }
    }
    return submodi_mean_value(&m);
}

static submod_metrics all_means(const submodi_averaging *a, const submod_confusion *c)
{
    submodi_mean iou = {0, 0};
    submodi_mean dice = {0, 0};
    submodi_mean accuracy = {0, 0};
    double right = 0;    /* pixels */
    double weighted = 0; /* IoU times pixels of its class */
    double weight = 0;
    for (size_t k = 0; k < a->classes; k++) {
        right += (double)c->counts[k * a->classes + k];
        if (!a->chosen[k]) {
            continue;
        }
        class_values v = class_metrics(a, c, k);
        submodi_mean_add(&iou, v.iou);
        submodi_mean_add(&dice, v.dice);
        submodi_mean_add(&accuracy, v.accuracy);
        if (a->truth[k] > 0) {
            weighted += (double)a->truth[k] * v.iou;
            weight += (double)a->truth[k];
        }
    }
    return (submod_metrics){.mean_iou = submodi_mean_value(&iou),
                            .mean_dice = submodi_mean_value(&dice),
                            .mean_accuracy = submodi_mean_value(&accuracy),
                            .pixel_accuracy = submodi_quotient(a->absent, right, (double)c->total),
                            .frequency_weighted_iou = submodi_quotient(a->absent, weighted, weight),
                            .averaged = (size_t)iou.count,
                            .pixels = c->total};
}

submod_status submod_confusion_metrics(const submod_confusion *confusion, double *iou, double *dice,
                                       double *accuracy, submod_metrics *metrics,
                                       const submod_metric_settings *settings)
{
    submodi_averaging a;
    submod_status status = submodi_check_given("confusion", confusion);
    status =
        status ? status : submodi_averaging_init(&a, (size_t)confusion->rule.classes, settings);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_confusion_metrics", status);
    }
    submodi_sum_classes(&a, confusion);
    for (size_t k = 0; k < a.classes; k++) {
        class_values v = class_metrics(&a, confusion, k);
        if (iou) {
            iou[k] = v.iou;
        }
        if (dice) {
            dice[k] = v.dice;
        }
        if (accuracy) {
            accuracy[k] = v.accuracy;
        }
    }
    if (metrics) {
        *metrics = all_means(&a, confusion);
    }
    submodi_averaging_clear(&a);
    return SUBMOD_OK;
}
