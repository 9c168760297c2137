/* The inside of a submod_combination. */
#ifndef SUBMODI_COMBINATION_H
#define SUBMODI_COMBINATION_H

#include <submod/certificate.h>

struct submod_combination {
    size_t n, count;
    int32_t *orders; /* count x n */
    double *weights; /* count */
};

/* Empties it; accepts NULL. */
void submodi_combination_clear(submod_combination *combination);
/* Moves the content of *from, which is then empty, to *to, whose own is freed. */
void submodi_combination_move(submod_combination *to, submod_combination *from);
/* *new gets room for content to be written, then moved to where it belongs: that keeps its old one
 * until all of the new is there. */
submod_status submodi_combination_room(const char *who, size_t n, size_t count,
                                       submod_combination *new);

#endif
