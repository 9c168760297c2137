/* Results for people and for programs. */
#ifndef MIOU_REPORT_H
#define MIOU_REPORT_H

#include <stdio.h>

#include "evaluate.h"
#include "options.h"

/* Numbers per class or category are NaN where they are left out, and the arrays NULL where they
 * were not asked for. */
typedef struct results {
    const options *options;
    const evaluation *evaluation;
    const string_list *problems;
    submod_metrics means;
    double *iou, *dice, *accuracy; /* per class */
    double *boundary_iou, *instance_iou;
    double *category_iou, *category_instance_iou; /* per category */
    double mean_boundary, mean_instance, mean_category, mean_category_instance;
    submod_fine_grained_values fine;
    double worst_image, worst_class;
} results;

/* False, with a message on stderr, when the library fails. Free in any case. */
bool results_fill(const options *o, const evaluation *e, const string_list *problems, results *r);
void results_free(results *r);

/* Pixels of class c in the truth. */
int64_t truth_pixels(const results *r, size_t c);

/* One number of the results, with its names in the table and in JSON. */
typedef struct result_line {
    const char *name, *json_name;
    double value;
} result_line;

/* All that there are, at most MOST_LINES; returns how many. */
enum { MOST_LINES = 32 };
size_t result_lines(const results *r, result_line *lines);

void print_table(const results *r, FILE *out);
void print_json(const results *r, FILE *out);

#endif
