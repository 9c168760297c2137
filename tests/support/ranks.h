/* Ranks as threads of one process: a submod_comm for tests, without MPI.
 *
 * All functions check that the ranks make the same call with the same sizes, and fail instead of
 * hanging: when they do not, when a rank has ended, and when a failure was asked for. Once one has
 * failed, all fail. */
#ifndef SUBMOD_TESTS_RANKS_H
#define SUBMOD_TESTS_RANKS_H

#include <stdbool.h>
#include <submod.h>

enum { MOST_RANKS = 8 };

/* What is to happen, and what has happened. All 0: nothing special. */
typedef struct ranks_plan {
    int failing_rank; /* whose transport fails, */
    int failing_call; /* in this one of its calls, from 1 on; 0: never */
    /* Counted on rank 0: calls, bytes handed to sums and gathers, and numbers of either type. */
    size_t calls, sum_bytes, gather_bytes;
    size_t int32_sums, double_sums;
} ranks_plan;

/* Runs body on so many threads, each with its own comm, and waits for all. plan may be NULL. Body
 * must not use ck_assert: let it write down what it finds. */
void run_ranks(int ranks, ranks_plan *plan, void (*body)(const submod_comm *comm, void *context),
               void *context);

/* An allocator for threads: each has its own number of allocations that still succeed. */
extern const submod_allocator rank_allocator;
/* This thread's: negative: no limit. Then one fails, and the limit is gone. */
void set_rank_allocations(long allocations);
/* Not yet freed, of all threads. */
long live_rank_allocations(void);

#endif
