/* The second table of bench-losses: every face of the losses against the plain case. */
#ifndef BENCH_LOSSES_FACES_H
#define BENCH_LOSSES_FACES_H

#include <stdio.h>

#include "losses/options.h"

/* Time per score of a face relative to the plain case of the same engine and number of threads. */
typedef struct face_result {
    const char *name;
    double best_ns[ENGINES][TEAMS];
    double best_ratio[ENGINES][TEAMS];
    double median_ratio[ENGINES][TEAMS];
} face_result;

extern const size_t faces_count;

/* Measures and prints row after row; results has room for faces_count. */
void faces_measure(const options *o, face_result *results);
void face_json(const face_result *r, const options *o, FILE *file);

#endif
