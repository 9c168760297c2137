/* All metrics of an evaluation, from its counts. */
#include <math.h>
#include <stdlib.h>

#include "cityscapes.h"
#include "report.h"

/* ---- memory ---- */

static double *numbers(size_t n)
{
    double *values = checked_alloc(NULL, n, sizeof *values);
    for (size_t i = 0; i < n; i++) {
        values[i] = NAN;
    }
    return values;
}

static void take_memory(results *r)
{
    const options *o = r->options;
    size_t n = o->counted_classes;
    size_t groups = o->category ? category_groups(o) : 0;
    r->iou = numbers(3 * n);
    r->dice = r->iou + n;
    r->accuracy = r->dice + n;
    r->boundary_iou = o->boundary ? numbers(n) : NULL;
    r->instance_iou = o->instance_dir ? numbers(n) : NULL;
    r->category_iou = groups ? numbers(groups) : NULL;
    r->category_instance_iou = groups && o->instance_dir ? numbers(groups) : NULL;
}

void results_free(results *r)
{
    free(r->iou);
    free(r->boundary_iou);
    free(r->instance_iou);
    free(r->category_iou);
    free(r->category_instance_iou);
}

/* ---- metrics ---- */

static submod_status fill_counts(results *r)
{
    const options *o = r->options;
    return submod_confusion_metrics(r->evaluation->sum.counts, r->iou, r->dice, r->accuracy,
                                    &r->means, &o->metric);
}

static submod_status fill_categories(results *r)
{
    const options *o = r->options;
    submod_confusion *coarse = NULL;
    submod_metrics means;
    submod_metric_settings metric = submod_metric_defaults();
    metric.absent = o->metric.absent;
    metric.has_leave_out = category_groups(o) > o->categories.count;
    metric.leave_out = (int32_t)o->categories.count;
    submod_status status = submod_confusion_regroup(r->evaluation->sum.counts, o->category, NULL,
                                                    category_groups(o), &coarse);
    status = status
                 ? status
                 : submod_confusion_metrics(coarse, r->category_iou, NULL, NULL, &means, &metric);
    r->mean_category = status ? (double)NAN : means.mean_iou;
    submod_confusion_free(coarse);
    return status;
}

static submod_status fill_instances(results *r)
{
    const options *o = r->options;
    const submod_instances *s = r->evaluation->sum.instances;
    if (o->cityscapes) {
        return cityscapes_instances(s, r->instance_iou, &r->mean_instance, r->category_instance_iou,
                                    &r->mean_category_instance);
    }
    submod_status status = submod_instances_iou(s, NULL, NULL, NULL, o->counted_classes,
                                                r->instance_iou, &r->mean_instance);
    if (status == SUBMOD_OK && o->category) {
        status = submod_instances_iou(s, NULL, o->category, NULL, category_groups(o),
                                      r->category_instance_iou, &r->mean_category_instance);
    }
    return status;
}

static submod_status fill_fine(results *r)
{
    const submod_fine_grained *fine = r->evaluation->sum.fine;
    submod_status status = submod_fine_grained_get(fine, &r->fine);
    return status ? status
                  : submod_fine_grained_worst(fine, r->options->worst, &r->worst_image,
                                              &r->worst_class);
}

bool results_fill(const options *o, const evaluation *e, const string_list *problems, results *r)
{
    *r = (results){.options = o, .evaluation = e, .problems = problems};
    take_memory(r);
    submod_status status = fill_counts(r);
    if (status == SUBMOD_OK && o->category) {
        status = fill_categories(r);
    }
    if (status == SUBMOD_OK && o->boundary) {
        status =
            submod_boundary_iou(e->sum.boundary, r->boundary_iou, &r->mean_boundary, &o->metric);
    }
    if (status == SUBMOD_OK && o->instance_dir) {
        status = fill_instances(r);
    }
    if (status == SUBMOD_OK && o->worst > 0) {
        status = fill_fine(r);
    }
    if (status != SUBMOD_OK) {
        fprintf(stderr, "submod-miou: %s\n", submod_last_error());
    }
    return status == SUBMOD_OK;
}

int64_t truth_pixels(const results *r, size_t c)
{
    size_t n = r->options->counted_classes;
    const int64_t *row = submod_confusion_counts(r->evaluation->sum.counts) + c * n;
    int64_t sum = 0;
    for (size_t p = 0; p < n; p++) {
        sum += row[p];
    }
    return sum;
}

/* ---- lines ---- */

typedef struct line_list {
    result_line *lines;
    size_t count;
} line_list;

static void add(line_list *l, bool wanted, const char *name, const char *json_name, double value)
{
    if (wanted) {
        l->lines[l->count++] = (result_line){name, json_name, value};
    }
}

size_t result_lines(const results *r, result_line *lines)
{
    const options *o = r->options;
    line_list l = {lines, 0};
    bool fine = o->worst > 0;
    add(&l, true, "dataset-mIoU", "dataset_miou", r->means.mean_iou);
    add(&l, true, "image-mIoU", "image_miou", image_miou(r->evaluation));
    add(&l, true, "mean Dice", "mean_dice", r->means.mean_dice);
    add(&l, true, "pixel accuracy", "pixel_accuracy", r->means.pixel_accuracy);
    add(&l, true, "mean class accuracy", "mean_class_accuracy", r->means.mean_accuracy);
    add(&l, true, "frequency-weighted IoU", "frequency_weighted_iou",
        r->means.frequency_weighted_iou);
    add(&l, r->category_iou, "mean category IoU", "mean_category_iou", r->mean_category);
    add(&l, r->instance_iou, "mean iIoU", "mean_instance_iou", r->mean_instance);
    add(&l, r->category_instance_iou, "mean category iIoU", "mean_category_instance_iou",
        r->mean_category_instance);
    add(&l, r->boundary_iou, "mean boundary IoU", "mean_boundary_iou", r->mean_boundary);
    add(&l, fine, "mIoU^I", "miou_i", r->fine.image);
    add(&l, fine, "mIoU^I, worst", "miou_i_worst", r->worst_image);
    add(&l, fine, "mIoU^I, mean of worst", "miou_i_mean", r->fine.image_mean);
    add(&l, fine, "mIoU^C", "miou_c", r->fine.of_class);
    add(&l, fine, "mIoU^C, worst", "miou_c_worst", r->worst_class);
    add(&l, fine, "mIoU^C, mean of worst", "miou_c_mean", r->fine.class_mean);
    return l.count;
}
