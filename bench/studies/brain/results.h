/* The results of study brain, and the files that are written from them. */
#ifndef SUBMOD_STUDY_BRAIN_RESULTS_H
#define SUBMOD_STUDY_BRAIN_RESULTS_H

#include "brain/train.h"

enum { BRAIN_LINEAR, BRAIN_HIDDEN, BRAIN_MODELS };
enum { BRAIN_JACCARD, BRAIN_DICE, BRAIN_INDICES };

/* Indices of the test slices, in percent. */
typedef double brain_index[BRAIN_INDICES][BRAIN_FOLDS][BRAIN_MOST_CLASSES];

typedef struct brain_results {
    brain_classes classes;
    brain_slices slices;
    size_t folds; /* that were run */
    /* With the step size that was best on the validation slices: */
    double eta[BRAIN_MODELS][BRAIN_LOSSES];
    brain_index of[BRAIN_MODELS][BRAIN_LOSSES];
    const uint8_t *prediction[BRAIN_MODELS][BRAIN_LOSSES]; /* slices x pixels; borrowed */
} brain_results;

/* table.csv, bars.csv and table_claims.csv; the first and last printed too. */
bool brain_write_tables(const study_options *options, const brain_results *r);
/* slice.csv: colours of the image, the truth, and the predictions by two losses. */
bool brain_write_slice(const study_options *options, const brain_results *r);

/* Whether class c is the first of its name, hence has a column in the tables. */
bool brain_is_column(const brain_classes *classes, size_t c);

#endif
