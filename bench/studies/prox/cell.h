/* How far Algorithm 2, repaired and as printed, is from the prox of the Jaccard loss, in random
 * problems of one kind. */
#ifndef SUBMOD_STUDY_PROX_CELL_H
#define SUBMOD_STUDY_PROX_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum prox_version {
    PROX_REPAIRED, /* SUBMOD_PROX_ALGORITHM_2 */
    PROX_PRINTED,  /* SUBMOD_PROX_ALGORITHM_2_PRINTED */
    PROX_VERSIONS
} prox_version;

/* What becomes of the objective f(u) + lambda/2 |u - x|^2, counted in the decrease from u = x to
 * its minimum: 0 is the minimum, 1 is as good as to stay at x. */
typedef struct prox_tally {
    int fails;                       /* cases that miss more than prox_negligible */
    int worse;                       /* cases that miss more than 1 */
    double mean_missed, most_missed; /* share of the decrease */
} prox_tally;

extern const double prox_negligible; /* share of the decrease */

typedef struct prox_cell {
    /* Margins are centre + spread * normal, foreground has probability 1/2. hinge: f(max(u, 0))
     * instead of f(u). */
    bool hinge;
    double centre, spread;
    size_t p;
    double step;  /* 1 / (lambda p): how far a pixel moves on average, without the hinge */
    int versions; /* the first ones of the list are measured */
    /* Results. */
    int cases;
    prox_tally tally[PROX_VERSIONS];
    double seconds[PROX_VERSIONS], exact_seconds; /* a call */
} prox_cell;

static inline double prox_lambda(const prox_cell *c)
{
    return 1 / (c->step * (double)c->p);
}

/* Fills in the results of so many cases. Cells of equal p and seed get the same normals and the
 * same foreground. With the hinge a case without a margin above 0 is drawn again: there, x is the
 * prox. False after saying why. */
bool prox_measure(prox_cell *c, int cases, uint64_t seed);

#endif
