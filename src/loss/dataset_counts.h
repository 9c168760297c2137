/* What a dataset keeps. */
#ifndef SUBMODI_LOSSES_DATASET_COUNTS_H
#define SUBMODI_LOSSES_DATASET_COUNTS_H

#include <stdbool.h>

#include <submod/dataset.h>

struct submod_dataset {
    size_t classes;
    size_t bins;
    bool solved;
    double *count;  /* classes x 2 bins */
    float *weight;  /* classes x 2 bins */
    uint32_t *flat; /* classes */
};

/* Refuses counts that are negative, not finite or too large. */
submod_status submodi_dataset_require_counts(const submod_dataset *d);

#endif
