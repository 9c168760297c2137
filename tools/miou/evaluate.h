/* The comparison itself: files in, counts out. */
#ifndef MIOU_EVALUATE_H
#define MIOU_EVALUATE_H

#include "options.h"
#include "pairs.h"
#include "streams.h"

typedef struct evaluation {
    streams sum;       /* of all images without a problem */
    string_list names; /* of these images, ascending */
    double *scores;    /* the mIoU of each; NaN for those that are left out of the mean */
} evaluation;

/* The mean of the scores, NaN for none. */
double image_miou(const evaluation *e);

/* Files that cannot be used are named in *problems. False, with a message on stderr, when the
 * library fails. Free the result in any case. */
bool evaluate(const options *o, const pair_list *pairs, evaluation *e, string_list *problems);
void evaluation_free(evaluation *e);

#endif
