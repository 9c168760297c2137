/* The counts behind all metrics. */
#ifndef SUBMODI_METRICS_CONFUSION_H
#define SUBMODI_METRICS_CONFUSION_H

#include <math.h>

#include "loss/tensors/labels.h"
#include <submod/metric.h>

struct submod_confusion {
    submodi_label_rule rule;
    int64_t total; /* sum of the counts */
    int64_t *counts;
};

static inline size_t submodi_confusion_cells(const submod_confusion *c)
{
    return (size_t)c->rule.classes * (size_t)c->rule.classes;
}

/* Requires two views that can be compared pixel by pixel. */
submod_status submodi_require_pair(const submod_labels *prediction, const submod_labels *truth);

/* Adds the images first .. first+images-1 of two views that were checked; all or nothing. */
submod_status submodi_confusion_count(submod_confusion *c, const submod_labels *prediction,
                                      const submod_labels *truth, size_t first, size_t images);

/* Refuses groups of classes that submod_confusion_regroup would refuse. */
submod_status submodi_require_regrouping(size_t classes, const int32_t *truth_group,
                                         const int32_t *prediction_group, size_t groups);

/* submod_confusion_create, without a name in error messages. */
submod_status submodi_confusion_new(size_t classes, submod_confusion **confusion,
                                    const submod_metric_settings *settings);

/* ---- means ---- */

/* A mean over classes, images or batches; NaN is left out. */
typedef struct submodi_mean {
    double sum;
    uint64_t count;
} submodi_mean;

/* Adds x `times` times. */
static inline void submodi_mean_add_times(submodi_mean *m, double x, uint64_t times)
{
    if (!isnan(x)) {
        m->sum += x * (double)times;
        m->count += times;
    }
}

static inline void submodi_mean_add(submodi_mean *m, double x)
{
    submodi_mean_add_times(m, x, 1);
}

/* NaN if nothing was added. */
static inline double submodi_mean_value(const submodi_mean *m)
{
    return m->count ? m->sum / (double)m->count : NAN;
}

/* How to average, and the sums per class that this needs. */
typedef struct submodi_averaging {
    submod_absent absent;
    size_t classes;
    int64_t *truth, *prediction; /* pixels per class of the last counts */
    uint8_t *chosen; /* per class: 1 if it takes part in means; all in the block at truth */
} submodi_averaging;

/* Checks and copies what the settings say about means. */
submod_status submodi_averaging_init(submodi_averaging *a, size_t classes,
                                     const submod_metric_settings *settings);
void submodi_averaging_clear(submodi_averaging *a);

/* 0/0 is what the convention says, NaN for "left out". */
double submodi_quotient(submod_absent absent, double numerator, double denominator);
/* IoU of a class with these pixels in the truth, in the prediction and in both. */
double submodi_iou(submod_absent absent, int64_t truth, int64_t prediction, int64_t both);

/* a->truth and a->prediction from the counts. */
void submodi_sum_classes(submodi_averaging *a, const submod_confusion *c);

/* NaN when every class is left out. */
double submodi_mean_iou(submodi_averaging *a, const submod_confusion *c);

#endif
