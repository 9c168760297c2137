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
/* Frees the content of *to and moves that of *from there; *from is then empty. */
void submodi_combination_move(submod_combination *to, submod_combination *from);
/* Allocates *new, to be filled and then moved to where it belongs. So the old content stays until
 * the new one is complete. */
submod_status submodi_combination_room(const char *who, size_t n, size_t count,
                                       submod_combination *new);

#endif
