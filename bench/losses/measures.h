/* The second table of bench-losses: measures and pixel weights against plain Jaccard, in both
 * engines. */
#ifndef BENCH_LOSSES_MEASURES_H
#define BENCH_LOSSES_MEASURES_H

#include <stdio.h>

#include "losses/options.h"
#include "losses/samples.h"

enum { MEASURES = 6 };

/* Times of one kind of data. */
typedef struct measures_result {
    const char *kind;
    size_t scores;
    samples times[MEASURES][ENGINES][TEAMS];
} measures_result;

/* On one kind of data (task.h). */
measures_result measures_measure(const options *o, int kind);
void measures_print(const measures_result *r, const options *o);
void measures_json(const measures_result *r, const options *o, FILE *file);

#endif
