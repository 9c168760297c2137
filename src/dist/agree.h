/* Ranks agree on whether all can go on, on what must be the same everywhere, and on the sizes of
 * the whole.
 *
 * A rank that cannot go on does not leave: it says so where all meet next. So nothing that can fail
 * on one rank alone may stand between a call of these and the next collective call, unless its
 * status is handed to that. SUBMOD_ECOMM alone is not agreed on. */
#ifndef SUBMODI_DIST_AGREE_H
#define SUBMODI_DIST_AGREE_H

#include "dist/comm.h"

/* All ranks return the same: SUBMOD_OK if all did so well, else the status of the lowest rank that
 * failed. Ranks that failed with that status keep their error message; the others get one that
 * names the rank. One gather of 8 bytes. */
submod_status submodi_agree_status(const submod_comm *comm, submod_status mine);
/* The same, and the largest of all their numbers. */
submod_status submodi_agree_largest(const submod_comm *comm, submod_status mine, float number,
                                    float *largest);

enum { SUBMODI_FIELDS = 20 };

/* What a rank says of itself before all else; all 0 in the beginning. */
typedef struct submodi_facts {
    uint64_t field[SUBMODI_FIELDS]; /* what must be the same on all: numbers, or hashes */
    uint64_t groups, pixels;        /* what is its own */
    float largest;                  /* weight of its pixels */
    int32_t status;                 /* set by submodi_agree */
} submodi_facts;

/* What all ranks say together. */
typedef struct submodi_totals {
    uint64_t groups, pixels; /* sums, at most UINT64_MAX */
    uint64_t most_groups;    /* of a rank */
    float largest;
} submodi_totals;

/* One gather of the facts. As submodi_agree_status, and SUBMOD_EINVAL on all when a field differs:
 * "settings.delta of rank 1 is not that of rank 0". names: of the fields, ended by NULL; the name
 * of the call is compared before them. Up to 64 ranks it needs no memory; if it cannot have any for
 * more, it fails on this rank alone. */
submod_status submodi_agree(const char *caller, const submod_comm *comm, submod_status mine,
                            const char *const *names, const submodi_facts *facts,
                            submodi_totals *totals);

/* SUBMOD_EINVAL: 2^52 pixels or more. Counts of fewer, and sums of their rounded weights, are exact
 * in doubles. */
submod_status submodi_totals_require_exact(const submodi_totals *totals);

/* A hash of bytes (FNV-1a): different ones for different bytes, but for accidents. */
uint64_t submodi_hash(const void *bytes, size_t count);

/* The bits of a number, as a field. */
uint64_t submodi_field_of(double x);

#endif
