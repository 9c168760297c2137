/* Results for people and for programs. */
#ifndef MIOU_REPORT_H
#define MIOU_REPORT_H

#include <stdio.h>

#include "evaluate.h"
#include "options.h"

typedef struct results {
    const options *options;
    const evaluation *evaluation;
    const string_list *problems;
    submod_metrics means;
    double *iou, *dice, *accuracy; /* per class */
} results;

/* False, with a message on stderr, when the library fails. Free in any case. */
bool results_fill(const options *o, const evaluation *e, const string_list *problems, results *r);
void results_free(results *r);

void print_table(const results *r, FILE *out);
void print_json(const results *r, FILE *out);

#endif
