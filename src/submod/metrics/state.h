/* What a stream has counted, as whole numbers of 64 bits. */
#ifndef SUBMODI_METRICS_STATE_H
#define SUBMODI_METRICS_STATE_H

#include "submod/metrics/confusion.h"

/* Numbers in memory: `words` of them. */
typedef struct submodi_span {
    void *data;
    size_t words;
} submodi_span;

/* Writes counts (may be NULL) and spans one after the other, and *count; words may be NULL. */
submod_status submodi_state_save(const char *who, const submod_confusion *counts,
                                 const submodi_span *spans, size_t n, uint64_t *words,
                                 size_t *count);

/* Reads them again; counts go through scratch, which has the same classes. Refuses a wrong number
 * of words, counts that are negative or too large, and anything else than parts of all counted
 * pixels in the first `whole` words behind them. Nothing is changed then. */
submod_status submodi_state_load(const char *who, submod_confusion *counts,
                                 submod_confusion *scratch, const submodi_span *spans, size_t n,
                                 size_t whole, const uint64_t *words, size_t count);

#endif
