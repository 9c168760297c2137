/* The comparison itself: files in, counts out. */
#ifndef MIOU_EVALUATE_H
#define MIOU_EVALUATE_H

#include <submod/scoring.h>

#include "options.h"
#include "pairs.h"

/* Counts of what was asked for; NULL for the rest. */
typedef struct streams {
    submod_confusion *counts;
    submod_boundary *boundary;
    submod_fine_grained *fine;
    submod_instances *instances; /* of Cityscapes: of label ids, nothing ignored */
} streams;

typedef struct evaluation {
    streams sum;       /* of all images without a problem */
    size_t images;     /* how many these are */
    double image_miou; /* their mean mIoU; NaN for none */
} evaluation;

/* Files that cannot be used are named in *problems. False, with a message on stderr, when the
 * library fails. Free the result in any case. */
bool evaluate(const options *o, const pair_list *pairs, evaluation *e, string_list *problems);
void evaluation_free(evaluation *e);

#endif
