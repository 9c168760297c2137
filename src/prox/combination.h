/* The inside of a submod_combination. */
#ifndef SUBMODI_COMBINATION_H
#define SUBMODI_COMBINATION_H

#include "prox/wolfe/vertices.h"
#include <submod/certificate.h>

struct submod_combination {
    size_t n, count;
    int32_t *orders; /* count x n */
    double *weights; /* count */
};

/* Empties it; accepts NULL. */
void submodi_combination_clear(submod_combination *combination);
/* Frees the content of *to and moves that of *from there; *from is then empty. */
void submodi_combination_move(submod_combination *to, submod_combination *from);
/* Copies the orders and weights of the points; the weights sum to 1. */
submod_status submodi_combination_from(submod_combination *combination, const char *who,
                                       const submodi_vertices *points);

#endif
