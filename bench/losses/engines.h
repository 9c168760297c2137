/* The first table of bench-losses: where the losses stand between the limits. */
#ifndef BENCH_LOSSES_ENGINES_H
#define BENCH_LOSSES_ENGINES_H

#include <stdio.h>

#include "losses/options.h"
#include "losses/samples.h"

enum { CONTENDERS = 8 };

/* Times of one kind of data. */
typedef struct engines_result {
    const char *kind;
    size_t scores;
    double clock; /* cycles per second, the fastest seen */
    samples times[CONTENDERS][TEAMS];
    size_t workspace[CONTENDERS]; /* bytes; 0: not told */
} engines_result;

/* On one kind of data (task.h). */
engines_result engines_measure(const options *o, int kind);
void engines_print(const engines_result *r, const options *o);
void engines_json(const engines_result *r, const options *o, FILE *file);

#endif
