/* What bench-losses was asked for, shared by its tables. */
#ifndef BENCH_LOSSES_OPTIONS_H
#define BENCH_LOSSES_OPTIONS_H

#include <stdbool.h>

#include "losses/data.h"

typedef struct options {
    bool quick;
    int threads;      /* compared with one */
    int repeats;      /* turns of each table */
    bool no_faces;    /* the first table alone */
    bool measures;    /* the table of measures alone */
    const char *json; /* NULL: none */
} options;

/* Everything is measured with one thread and with options.threads. */
enum { TEAMS = 2 };
/* Exact and histogram, as submod_engine. */
enum { ENGINES = 2 };
static inline int team_threads(const options *o, int team)
{
    return team == 0 ? 1 : o->threads;
}

/* The plain case: labels in blocks of 32 x 32 pixels, which a trained network knows. */
static inline recipe plain_recipe(const options *o)
{
    recipe full = {.images = 4, .classes = 21, .height = 512, .width = 512, .block = 32, .lift = 3};
    recipe tiny = {.images = 2, .classes = 5, .height = 64, .width = 64, .block = 32, .lift = 3};
    return o->quick ? tiny : full;
}

#endif
