/* Divide and conquer over the level sets of u, for any way to minimise F on parts of an order. */
#ifndef SUBMODI_PROX_PARTITION_H
#define SUBMODI_PROX_PARTITION_H

#include "prox/prox_internal.h"
#include "submod/flow.h"

/* Some elements, consecutive in an order along which u falls. The cut's flow uses the last three
 * fields. */
typedef struct submodi_open_part {
    size_t begin, end; /* ranks in the order */
    bool by_median;    /* at the next look */
    uint32_t id;       /* no other part has it */
    submodi_scaling scaling;
    double used; /* bounds what has flowed through any arc since the scaling was chosen */
} submodi_open_part;

typedef struct submodi_partition submodi_partition;

/* What the search needs to know about F. S is all that comes before a part, S' the part too. */
typedef struct submodi_partition_oracle {
    /* Writes the elements' gains by rank: numbers with the mean (F(S') - F(S)) / size; base: a base
     * of A -> F(S + A) - F(S). NULL: those that are there are both. */
    void (*gains)(const submodi_partition *p, const submodi_open_part *part, bool base);
    /* Marks in[e] = 1 in all open parts for e in the smallest minimiser of F(S + A) - F(S) - z(A),
     * else 0. */
    submod_status (*minimize)(submodi_partition *p, submod_work *work);
    /* The order within the open parts has changed. May be NULL. */
    submod_status (*reordered)(submodi_partition *p);
    /* Returns F(S + A) + F(S' - A) - F(S) - F(S'), A the first elements of the part, if gains
     * belongs to the parts from before the division. NULL means 0. */
    double (*between)(const submodi_partition *p, const submodi_open_part *part, size_t first);
    /* The part is divided in two; may be NULL. */
    void (*divide)(submodi_partition *p, const submodi_open_part *part, submodi_open_part side[2]);
    /* Moves elements that nothing connects to the others to the front of a part and returns them as
     * a part of their own; the rest remains, empty if all are connected. NULL: F is never
     * separable. */
    submodi_open_part (*component)(submodi_partition *p, submodi_open_part *part);
    /* u = alpha on this part. */
    void (*settle)(submodi_partition *p, const submodi_open_part *part, double alpha);
} submodi_partition_oracle;

struct submodi_partition {
    const submodi_partition_oracle *oracle;
    void *ctx;
    size_t n;
    const double *x;
    double lambda;
    double deadline;
    bool means_only; /* never look with the median */
    submod_prox_info *info;
    int32_t *order, *rank;
    double *gain, *z;         /* by rank */
    double *local_x, *scaled; /* by rank, scratch */
    uint8_t *in;              /* by element */
    int32_t *rest;            /* scratch, n */
    submodi_open_part *parts, *next;
    size_t *first; /* per open part: how many elements go first, 0 if it is not divided */
    size_t count, next_count;
};

/* Allocates the arrays for n elements; the order is 0 .. n - 1, and nothing is open. */
submod_status submodi_partition_start(submodi_partition *p, size_t n, submod_work *work);

/* Opens the components of a part that came from one of this size; SIZE_MAX: from none. */
void submodi_partition_open(submodi_partition *p, submodi_open_part part, size_t size);

/* Divides the opened parts until all are settled. After SUBMOD_TIMELIMIT and SUBMOD_CANCELLED open
 * parts are left in p->parts. */
submod_status submodi_partition_run(submodi_partition *p, submod_work *work);

/* Computes z of a part for alpha = mean x - mean gain / lambda. Returns alpha. */
double submodi_partition_level(submodi_partition *p, const submodi_open_part *part);

#endif
