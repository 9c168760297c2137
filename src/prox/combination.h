/* Combinations under construction. */
#ifndef SUBMODI_COMBINATION_H
#define SUBMODI_COMBINATION_H

#include <submod/prox.h>

/* Checks what a user hands in: weights >= 0, not all 0, and orders that are permutations. */
submod_status submodi_combination_check(const submod_combination *c);
/* Allocates *new, to be filled and then moved to where it belongs. */
submod_status submodi_combination_alloc(size_t n, size_t count, submod_combination *new);
/* Frees the content of *to and moves that of *from there; *from is then empty. */
void submodi_combination_move(submod_combination *to, submod_combination *from);

#endif
