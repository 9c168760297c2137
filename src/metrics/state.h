/* What a stream has counted, as whole numbers of 64 bits. */
#ifndef SUBMODI_METRICS_STATE_H
#define SUBMODI_METRICS_STATE_H

#include "metrics/confusion.h"
#include "metrics/saved.h"
#include <submod/scoring.h>

/* What a stream has counted lies in so many spans at most; these fill them in, and return how many
 * there are. The first are the counts of pixels. */
enum { SUBMODI_MOST_SPANS = 3 };
size_t submodi_miou_spans(const submod_miou *miou, submodi_span *spans);
size_t submodi_instances_spans(const submod_instances *instances, submodi_span *spans);
size_t submodi_boundary_spans(const submod_boundary *boundary, submodi_span *spans);
size_t submodi_fine_grained_spans(const submod_fine_grained *fine, submodi_span *spans);

static inline submodi_span submodi_confusion_span(const submod_confusion *c)
{
    return (submodi_span){c->counts, submodi_confusion_cells(c)};
}

/* Writes spans one after the other, and *count; words may be NULL. */
submod_status submodi_state_save(const submodi_span *spans, size_t n, uint64_t *words,
                                 size_t *count);

/* Reads them again. counts are those of the first span, and go through scratch, which has the same
 * classes. Refuses a wrong number of words, counts that are negative or too large, and
 * anything else than parts of all counted pixels in the first `whole` words behind them. Nothing is
 * changed then. */
submod_status submodi_state_load(submod_confusion *counts, submod_confusion *scratch,
                                 const submodi_span *spans, size_t n, size_t whole,
                                 const uint64_t *words, size_t count);

/* What else a file needs to make such a stream again. */
const submodi_averaging *submodi_miou_averaging(const submod_miou *miou);
const submodi_averaging *submodi_fine_grained_averaging(const submod_fine_grained *fine);
int64_t submodi_instances_first_id(const submod_instances *instances);

#endif
