/* Allocators for tests: one that counts and fails on demand, one that guards its memory. */
#ifndef SUBMOD_TESTS_ALLOCATIONS_H
#define SUBMOD_TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <submod.h>

typedef struct allocation_counts {
    long live;     /* not yet freed */
    long left;     /* so many still succeed; negative: no limit */
    long failed;   /* so many have not succeeded */
    bool only_one; /* only one fails when none is left; else all later ones fail too */
} allocation_counts;

extern allocation_counts allocations;
/* Counts allocations, and fails when none is left. For one thread. */
extern const submod_allocator counting_allocator;
/* Fills memory with rubbish. The test fails if something was written around a block. */
extern const submod_allocator guarding_allocator;

#endif
