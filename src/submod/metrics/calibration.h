/* Bins of confidences: what a calibration keeps, and how a batch comes into it. */
#ifndef SUBMODI_METRICS_CALIBRATION_H
#define SUBMODI_METRICS_CALIBRATION_H

#include "submod/metrics/fraction.h"
#include "submod/tensors/labels.h"
#include <submod/scoring.h>

typedef struct submodi_bin {
    int64_t count, right;
    submodi_fraction confidence;
} submodi_bin;

struct submod_calibration {
    submodi_label_rule rule;
    size_t bins;
    bool from_logits;
    submodi_bin *rows; /* (C + 1) x (bins + 1) */
};

static inline size_t submodi_calibration_classes(const submod_calibration *s)
{
    return (size_t)s->rule.classes;
}

static inline size_t submodi_calibration_cells(const submod_calibration *s)
{
    return (submodi_calibration_classes(s) + 1) * (s->bins + 1);
}

/* Pixels that were counted: the same in each row. */
static inline int64_t submodi_calibration_total(const submod_calibration *s)
{
    int64_t sum = 0;
    for (size_t k = 0; k <= s->bins; k++) {
        sum += s->rows[k].count;
    }
    return sum;
}

static inline void submodi_bins_add(submodi_bin *to, const submodi_bin *from, size_t cells)
{
    for (size_t i = 0; i < cells; i++) {
        to[i].count += from[i].count;
        to[i].right += from[i].right;
        submodi_fraction_add(&to[i].confidence, from[i].confidence);
    }
}

#endif
