/* Who ranks what. All records of all ranks have one order: by class, then by key. It is cut into
 * ranges, one for each rank, its owner, that hold about equally many.
 *
 * Where to cut is found by regular samples: each rank says how many records it has and shows every
 * so-manyth of them, ranks at different places. Of n records in all, an owner gets no more than
 * n / ranks + 3 n / SUBMODI_SAMPLES, as no cut is further off than what is between two samples; and
 * hardly more than n / ranks if the ranks have errors alike. Cuts change who ranks what, not the
 * result: all that matters is that all ranks make the same. */
#ifndef SUBMODI_DIST_SPLITTERS_H
#define SUBMODI_DIST_SPLITTERS_H

#include "dist/records.h"

enum { SUBMODI_SAMPLES = 128 };

/* What a rank shows. */
typedef struct submodi_samples {
    uint64_t wants; /* whether it wants an answer: it has a gradient */
    uint64_t records;
    uint64_t place[SUBMODI_SAMPLES]; /* ascending */
} submodi_samples;

/* A place in the order of all records. */
static inline uint64_t submodi_place_of(size_t c, uint32_t key)
{
    return (uint64_t)c << 32 | key;
}

void submodi_samples_choose(const submodi_records *x, int rank, int ranks, submodi_samples *mine);

typedef struct submodi_sample {
    uint64_t place;
    double stands_for; /* records */
} submodi_sample;

/* split[0 .. ranks]: rank r owns the places from split[r] to below split[r + 1]. scratch: room for
 * SUBMODI_SAMPLES per rank. */
void submodi_split(const submodi_samples *all, int ranks, size_t classes, submodi_sample *scratch,
                   uint64_t *split);

/* The classes that owner r has places of: *begin .. *end - 1. */
void submodi_owned_classes(const uint64_t *split, int r, size_t *begin, size_t *end);

#endif
