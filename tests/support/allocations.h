/* Allocators that watch. */
#ifndef SUBMOD_TESTS_ALLOCATIONS_H
#define SUBMOD_TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <submod.h>

typedef struct allocation_counts {
    long live;     /* not yet freed */
    long left;     /* that still succeed; negative: no limit */
    bool only_one; /* fails when none is left; else all that follow do too */
} allocation_counts;

extern allocation_counts allocations;
/* Counts, and fails when it is told to. For one thread. */
extern const submod_allocator counting_allocator;
/* Fills memory with rubbish, and a test fails when something was written around what it frees. */
extern const submod_allocator guarding_allocator;

#endif
