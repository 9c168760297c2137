/* The results of study brain, how they are scored (score.c), and the files that are written from
 * them (tables.c, picture.c).
 */
#ifndef SUBMOD_STUDY_BRAIN_RESULTS_H
#define SUBMOD_STUDY_BRAIN_RESULTS_H

#include "brain/train.h"

enum { BRAIN_LINEAR, BRAIN_HIDDEN, BRAIN_MODELS };
enum { BRAIN_JACCARD, BRAIN_DICE, BRAIN_INDICES };
enum { BRAIN_SEEDS = 3 };

typedef struct brain_results {
    brain_classes classes;
    brain_slices slices;
    size_t folds, seeds; /* that were run */
    /* With the step size that was best on the validation slices of the fold: */
    double eta[BRAIN_MODELS][BRAIN_LOSSES][BRAIN_FOLDS];
    /* slices x pixels; each slice by the model of the fold that tests it. Freed by the owner. */
    uint8_t *prediction[BRAIN_MODELS][BRAIN_LOSSES][BRAIN_SEEDS];
} brain_results;

/* Indices in percent of each class over the slices z with chosen[z]; NaN for a class that these do
 * not show. False after saying why. */
typedef double brain_index[BRAIN_INDICES][BRAIN_MOST_CLASSES];
bool brain_score(const brain_results *r, const uint8_t *prediction, const bool *chosen,
                 brain_index of);
/* The mean over the classes named like class c; c = 0: the mean over the names, as in the
 * supplement. NaN counts for nothing. */
double brain_mean(const brain_classes *classes, const double *of_class, size_t c);
/* Whether class c is the first of its name, hence has a column in the tables. */
bool brain_is_column(const brain_classes *classes, size_t c);
/* Whether a fold that was run tests the slice. */
bool brain_is_tested(const brain_results *r, size_t slice);

/* table.csv, bars.csv and table_claims.csv; the first and last printed too. */
bool brain_write_tables(const study_options *options, const brain_results *r);
/* slice.csv: colours of the image, the truth, and the predictions by two losses; legend.csv: the
 * colours of the structures. Hands over what stands below the panels. */
bool brain_write_slice(const study_options *options, const brain_results *r, study_values *values);

#endif
