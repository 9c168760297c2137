/* The errors of this rank that have to be ranked, sorted and compressed: per class, in descending
 * order, one record for all equal errors of one label, with what they count for together.
 *
 * A record is a key of rank.c, by the largest error of all ranks, and a number. Numbers have 4
 * bytes; 8 if pixels have weights. On the way out it is the count, an integer, or the sum of
 * weights. On the way back it is the weight of each pixel, the coefficient included, or what a unit
 * of weight adds. */
#ifndef SUBMODI_DIST_RECORDS_H
#define SUBMODI_DIST_RECORDS_H

#include "submod/losses/exact.h"

typedef struct submodi_records {
    bool weighted; /* pixels have weights, on all ranks */
    size_t classes;
    size_t *first; /* classes + 1: records first[c] .. first[c + 1] - 1 are of class c */
    uint32_t *key; /* ascending within a class */
    void *number;
    const uint64_t **sorted; /* per class: the errors behind its records, with their places */
    size_t *kept;            /* and how many they are */
} submodi_records;

static inline size_t submodi_number_size(bool weighted)
{
    return weighted ? sizeof(double) : sizeof(uint32_t);
}

static inline double submodi_count_of(const void *number, bool weighted, size_t i)
{
    return weighted ? ((const double *)number)[i] : (double)((const uint32_t *)number)[i];
}

/* Memory for the classes; the rest is taken as it is known. False: out of memory. */
bool submodi_records_take(submodi_records *x, const submodi_batch *batch, submod_work *work);

/* The records of all errors that can carry weight; range: per class, of all ranks. The errors give
 * way, as in submodi_rank_records. False: out of memory. */
bool submodi_records_make(submodi_records *x, const submodi_exact *errors,
                          const submodi_rank_range *range, submodi_rank_memory *memory,
                          submod_work *work);

/* When the numbers have come back: the weights of all pixels, where errors were. */
void submodi_records_answer(const submodi_records *x, const submodi_exact *errors);

#endif
