/* What an owner does: the records of all ranks in its range, class by class, merged and weighed. */
#ifndef SUBMODI_DIST_OWNER_H
#define SUBMODI_DIST_OWNER_H

#include "dist/pieces.h"

/* Places of records have 31 bits. */
#define SUBMODI_MOST_OWNED (UINT64_C(1) << 31)

typedef struct submodi_owner {
    const submodi_batch *batch;
    const submodi_pieces *pieces;    /* that have come in */
    const submodi_rank_range *range; /* per class, of all ranks */
    bool weighted;
    uint32_t *key; /* of the records that come in, rank after rank */
    void *number;  /* theirs: counts, then what goes back */
    size_t *next;  /* per rank: the first of its records that is not yet merged */
    submodi_rank_memory memory;
} submodi_owner;

/* Memory for so many records, fewer than SUBMODI_MOST_OWNED. False: out of memory. */
bool submodi_owner_take(submodi_owner *x, size_t records, submod_work *work);

/* Answers all records; value: per class, what those of this owner add. SUBMOD_ECALLBACK: a custom
 * measure failed. */
submod_status submodi_owner_weigh(submodi_owner *x, submodi_fixed_sum *value);

#endif
