/* What Cityscapes' own script computes: the iIoU of classes and categories from counts of label
 * ids, and the file that it writes, with all its fields. Labels that are not evaluated are left out
 * as truth and are misses as predictions; but a predicted caravan or trailer is a vehicle where it
 * comes to the iIoU of categories, as in the script. */
#include "cityscapes.h"

#include <inttypes.h>
#include <math.h>

#include "datasets.h"
#include "json.h"
#include "report.h"

/* The groups of label ids: train ids or categories. */
typedef struct id_groups {
    int32_t truth[CITYSCAPES_IDS], prediction[CITYSCAPES_IDS];
} id_groups;

static id_groups by_class(void)
{
    id_groups g;
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        int32_t train_id = cityscapes_labels[id].train_id;
        g.truth[id] = train_id == VOID_LABEL ? -1 : train_id;
        g.prediction[id] = train_id == VOID_LABEL ? CITYSCAPES_CLASSES : train_id;
    }
    return g;
}

/* all: predictions belong to their category, evaluated or not. */
static id_groups by_category(bool all)
{
    id_groups g;
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        bool evaluated = cityscapes_labels[id].train_id != VOID_LABEL;
        int32_t category = cityscapes_labels[id].category;
        g.truth[id] = evaluated ? category : -1;
        g.prediction[id] = evaluated || all ? category : CITYSCAPES_CATEGORIES;
    }
    return g;
}

submod_status cityscapes_instances(const submod_instances *instances, double *classes, double *mean,
                                   double *categories, double *category_mean)
{
    id_groups of_class = by_class();
    id_groups of_category = by_category(true);
    double size[CITYSCAPES_IDS];
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        size[id] = cityscapes_labels[id].size;
    }
    submod_status status =
        submod_instances_iou(instances, size, of_class.truth, of_class.prediction,
                             CITYSCAPES_CLASSES + 1, classes, mean);
    return status ? status
                  : submod_instances_iou(instances, size, of_category.truth, of_category.prediction,
                                         CITYSCAPES_CATEGORIES + 1, categories, category_mean);
}

/* ---- the file ---- */

/* The IoU of groups; the script leaves absent ones out, whatever --absent says. */
static submod_status group_ious(const submod_confusion *ids, const id_groups *g, size_t groups,
                                double *iou)
{
    submod_metric_settings metric = submod_metric_defaults();
    submod_confusion *coarse = NULL;
    metric.absent = SUBMOD_ABSENT_SKIP;
    submod_status status = submod_confusion_regroup(ids, g->truth, g->prediction, groups, &coarse);
    status = status ? status : submod_confusion_metrics(coarse, iou, NULL, NULL, NULL, &metric);
    submod_confusion_free(coarse);
    return status;
}

static void print_matrix(FILE *out, const int64_t *counts)
{
    fputs("  \"confMatrix\": [", out);
    for (size_t t = 0; t < CITYSCAPES_IDS; t++) {
        fputs(t ? ",\n    [" : "\n    [", out);
        for (size_t p = 0; p < CITYSCAPES_IDS; p++) {
            fprintf(out, "%s%" PRId64, p ? ", " : "", counts[t * CITYSCAPES_IDS + p]);
        }
        fputc(']', out);
    }
    fputs("\n  ],\n", out);
}

static void print_priors(FILE *out, const int64_t *counts)
{
    double rows[CITYSCAPES_IDS] = {0};
    double all = 0;
    for (size_t i = 0; i < (size_t)CITYSCAPES_IDS * CITYSCAPES_IDS; i++) {
        rows[i / CITYSCAPES_IDS] += (double)counts[i];
        all += (double)counts[i];
    }
    fputs("  \"priors\": {", out);
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        fprintf(out, "%s\"%s\": ", id ? ", " : "", cityscapes_labels[id].name);
        json_number(out, rows[id] / all, "NaN");
    }
    fputs("},\n  \"labels\": {", out);
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        fprintf(out, "%s\"%s\": %zu", id ? ", " : "", cityscapes_labels[id].name, id);
    }
    fputs("},\n", out);
}

static void print_classes(FILE *out, const char *name, const double *values)
{
    fprintf(out, "  \"%s\": {", name);
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        size_t train_id = cityscapes_labels[id].train_id;
        fprintf(out, "%s\"%s\": ", id ? ", " : "", cityscapes_labels[id].name);
        json_number(out, train_id == VOID_LABEL ? (double)NAN : values[train_id], "NaN");
    }
    fputs("},\n", out);
}

static void print_categories(FILE *out, const char *name, const double *values)
{
    fprintf(out, "  \"%s\": {\"void\": NaN", name);
    for (size_t i = 0; i < CITYSCAPES_CATEGORIES; i++) {
        fprintf(out, ", \"%s\": ", cityscapes_categories[i]);
        json_number(out, values[i], "NaN");
    }
    fputs("},\n", out);
}

static void print_average(FILE *out, const char *name, const double *values, size_t n,
                          const char *end)
{
    double sum = 0;
    double count = 0;
    for (size_t i = 0; i < n; i++) {
        sum += isnan(values[i]) ? 0 : values[i];
        count += !isnan(values[i]);
    }
    fprintf(out, "  \"%s\": ", name);
    json_number(out, count > 0 ? sum / count : (double)NAN, "NaN");
    fputs(end, out);
}

bool print_cityscapes_json(const results *r, FILE *out)
{
    id_groups of_class = by_class();
    id_groups of_category = by_category(false);
    double iou[CITYSCAPES_CLASSES + 1];
    double category_iou[CITYSCAPES_CATEGORIES + 1];
    const double *instance = r->instance_iou;
    const double *category_instance = r->category_instance_iou;
    const submod_confusion *ids = submod_instances_confusion(r->evaluation->sum.instances);
    const int64_t *counts = submod_confusion_counts(ids);
    if (group_ious(ids, &of_class, CITYSCAPES_CLASSES + 1, iou) ||
        group_ious(ids, &of_category, CITYSCAPES_CATEGORIES + 1, category_iou)) {
        fprintf(stderr, "submod-miou: %s\n", submod_last_error());
        return false;
    }
    fputs("{\n", out);
    print_matrix(out, counts);
    print_priors(out, counts);
    print_classes(out, "classScores", iou);
    print_classes(out, "classInstScores", instance);
    print_categories(out, "categoryScores", category_iou);
    print_categories(out, "categoryInstScores", category_instance);
    print_average(out, "averageScoreClasses", iou, CITYSCAPES_CLASSES, ",\n");
    print_average(out, "averageScoreInstClasses", instance, CITYSCAPES_CLASSES, ",\n");
    print_average(out, "averageScoreCategories", category_iou, CITYSCAPES_CATEGORIES, ",\n");
    print_average(out, "averageScoreInstCategories", category_instance, CITYSCAPES_CATEGORIES,
                  "\n}\n");
    return true;
}
