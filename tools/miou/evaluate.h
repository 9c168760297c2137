/* The comparison itself: files in, counts out. */
#ifndef MIOU_EVALUATE_H
#define MIOU_EVALUATE_H

#include "options.h"
#include "pairs.h"

typedef struct evaluation {
    submod_confusion *counts; /* of all images without a problem */
    size_t images;            /* how many these are */
    double image_miou;        /* their mean mIoU; NaN for none */
} evaluation;

/* Files that cannot be used are named in *problems. False, with a message on stderr, when the
 * library fails. Free the result in any case. */
bool evaluate(const options *o, const pair_list *pairs, evaluation *e, string_list *problems);
void evaluation_free(evaluation *e);

#endif
