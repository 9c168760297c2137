/* A chunk of sorted records, and the runs of equal keys in it: what weigh_loops.c weighs at a time.
 */
#ifndef SUBMODI_LOSSES_WEIGH_CHUNK_H
#define SUBMODI_LOSSES_WEIGH_CHUNK_H

#include "loss/activation_loops.h"
#include "loss/rank_loops.h"
#include "loss/tensors/vector.h"

/* Records are weighed in chunks. A tied block, a run of equal keys, shares what it adds; a chunk
 * ends where a run ends. Of Hamming each record is a run. */
enum { SUBMODI_CHUNK = 256 };

typedef struct submodi_chunk {
    size_t n;
    uint32_t key[SUBMODI_CHUNK + SUBMODI_LANES];
    int32_t before[SUBMODI_CHUNK]; /* background records of the chunk that come before the run */
    int32_t first[SUBMODI_CHUNK];  /* where the run of a record begins */
    int32_t length[SUBMODI_CHUNK]; /* of the run */
    size_t ties;
    int32_t tie[SUBMODI_CHUNK + SUBMODI_LANES]; /* records with the key of the one before */
} submodi_chunk;

/* How many of the next records make a chunk: up to the end of a run; 0 if one run is longer. */
static inline size_t submodi_chunk_length(const uint64_t *record, size_t n, bool joins)
{
    size_t length = n < SUBMODI_CHUNK ? n : SUBMODI_CHUNK;
    while (joins && length < n && length > 0 &&
           submodi_key_of(record[length]) == submodi_key_of(record[length - 1])) {
        length--;
    }
    return length;
}

/* n keys, as if nothing were tied. */
static inline void submodi_chunk_open(submodi_chunk *x, size_t n)
{
    int32_t background = 0;
    x->n = n;
    x->ties = 0;
    for (size_t j = 0; j < n; j++) {
        x->first[j] = (int32_t)j;
        x->length[j] = 1;
    }
    for (size_t j = 0; j < n; j++) {
        x->before[j] = background;
        background += (int32_t)(x->key[j] & 1);
    }
}

/* Where a key is that of the record before. */
static inline void submodi_chunk_find_ties(submodi_chunk *x)
{
    for (size_t j = 1; j < x->n; j += V_LANES) {
        v_int lane = v_lane_numbers() + (int32_t)j;
        v_int key = v_load_int((const int32_t *)x->key + j);
        v_mask same = v_equal(key, v_load_int((const int32_t *)x->key + j - 1));
        x->ties +=
            v_compress(same & v_below(lane, v_all_int((int32_t)x->n)), lane, x->tie + x->ties);
    }
}

static inline void submodi_chunk_join(submodi_chunk *x)
{
    submodi_chunk_find_ties(x);
    for (size_t k = 0; k < x->ties; k++) {
        int32_t j = x->tie[k];
        int32_t first = x->first[j - 1];
        x->first[j] = first;
        x->before[j] = x->before[first];
        if (k + 1 == x->ties || x->tie[k + 1] > j + 1) { /* the last of its run */
            for (int32_t i = first; i <= j; i++) {
                x->length[i] = j + 1 - first;
            }
        }
    }
}

/* ---- a number per record, and one per run ---- */

/* Where the records that follow tie k end: at the next tie. */
static inline size_t submodi_chunk_stretch_end(const submodi_chunk *x, size_t k)
{
    return k + 1 < x->ties ? (size_t)x->tie[k + 1] : x->n;
}

/* From a number per record to one per run. */
static inline void submodi_chunk_drop_ties(const submodi_chunk *x, double *number)
{
    for (size_t k = 0; k < x->ties; k++) {
        size_t end = submodi_chunk_stretch_end(x, k);
        for (size_t j = (size_t)x->tie[k] + 1; j < end; j++) {
            number[j - k - 1] = number[j];
        }
    }
}

/* And back. */
static inline void submodi_chunk_repeat_ties(const submodi_chunk *x, double *number)
{
    for (size_t k = x->ties; k-- > 0;) {
        for (size_t j = submodi_chunk_stretch_end(x, k); j-- > (size_t)x->tie[k];) {
            number[j] = number[j - k - 1];
        }
    }
}

#endif
