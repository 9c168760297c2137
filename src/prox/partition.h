/* Divide and conquer over the level sets of u, for any way to minimise F on parts of an order. */
#ifndef SUBMODI_PROX_PARTITION_H
#define SUBMODI_PROX_PARTITION_H

#include "prox/prox_internal.h"
#include "submod/flow.h"

/* Some elements, consecutive in an order along which u falls. */
typedef struct submodi_open_part {
    size_t begin, end;      /* ranks in the order */
    bool by_median;         /* use the median next time */
    submodi_flow_part flow; /* of a cut */
} submodi_open_part;

typedef struct submodi_partition submodi_partition;

/* The oracle of F. S is the set of all elements before a part. */
typedef struct submodi_partition_oracle {
    /* Marks in[e] = 1 in all open parts for e in the smallest minimiser of F(S + A) - F(S) - z(A),
     * else 0. */
    submod_status (*minimize)(submodi_partition *p, submod_work *work);
    /* Called in order, when the first elements of a part have moved before its others. If u falls
     * between the two sides, sets *divided, updates `gain` and opens both sides. */
    submod_status (*divide)(submodi_partition *p, const submodi_open_part *part, size_t first,
                            bool *divided);
} submodi_partition_oracle;

struct submodi_partition {
    const submodi_partition_oracle *oracle;
    void *ctx;
    size_t n;
    const double *x;
    double lambda;
    double deadline;
    bool means_only; /* never use the median */
    submod_prox_info *info;
    double *u, *s;      /* the results */
    const double *gain; /* by element: F(S and the part) - F(S) when summed over a part */
    const double *base; /* by element: a base of F. If it is s, it is what s should be. */
    int32_t *order, *rank;
    double *z;     /* by rank */
    uint8_t *in;   /* by element */
    int32_t *rest; /* scratch, n */
    submodi_open_part *parts, *next;
    size_t *first; /* per open part: how many elements go first, 0 if it is not divided */
    size_t count, next_count;
    submodi_open_part *settled; /* room for n; NULL discards them */
    size_t settled_count;
};

/* Allocates the arrays for n elements; the order is 0 .. n - 1, and nothing is open. */
submod_status submodi_partition_start(submodi_partition *p, size_t n, submod_work *work);

/* Opens a part that was divided from a part of `size` elements; SIZE_MAX means from none. */
void submodi_partition_open(submodi_partition *p, const submodi_open_part *part, size_t size);

/* Returns whether u falls from the first elements of a part to its others, by `gain`. */
bool submodi_partition_falls(const submodi_partition *p, const submodi_open_part *part,
                             size_t first);

/* Divides the opened parts until all are settled. After SUBMOD_TIMELIMIT and SUBMOD_CANCELLED open
 * parts are settled as they are, with s = base. */
submod_status submodi_partition_run(submodi_partition *p, submod_work *work);

#endif
