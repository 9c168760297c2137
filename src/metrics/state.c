/* Saves and loads what streams have counted: a confusion's counts, then other numbers, as they are
 * in memory. Loading checks before it writes.
 */
#include "metrics/state.h"

#include <string.h>

#include "base/internal.h"

static size_t words_of(const submodi_span *spans, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += spans[i].words;
    }
    return sum;
}

submod_status submodi_state_save(const submodi_span *spans, size_t n, uint64_t *words,
                                 size_t *count)
{
    submod_status status = submodi_check_given("count", count);
    if (status != SUBMOD_OK) {
        return status;
    }
    *count = words_of(spans, n);
    for (size_t i = 0; words && i < n; i++) {
        if (spans[i].words) { /* data may be NULL */
            memcpy(words, spans[i].data, spans[i].words * sizeof *words);
        }
        words += spans[i].words;
    }
    return SUBMOD_OK;
}

submod_status submodi_state_load(submod_confusion *counts, submod_confusion *scratch,
                                 const submodi_span *spans, size_t n, size_t whole,
                                 const uint64_t *words, size_t count)
{
    submod_status status = submodi_check_given("words", words);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t cells = submodi_confusion_cells(counts);
    bool fine = count == words_of(spans, n);
    if (fine) {
        submod_confusion_reset(scratch);
        fine = submod_confusion_add_counts(scratch, (const int64_t *)words) == SUBMOD_OK;
    }
    for (size_t i = 0; fine && i < whole; i++) {
        fine = words[cells + i] <= (uint64_t)scratch->total;
    }
    if (!fine) {
        return submodi_fail(SUBMOD_EINVAL, "words are not what such a stream would save");
    }
    submod_confusion_reset(counts);
    (void)submod_confusion_merge(counts, scratch); /* to nothing: cannot fail */
    words += cells;
    for (size_t i = 1; i < n; i++) {
        if (spans[i].words) { /* data may be NULL */
            memcpy(spans[i].data, words, spans[i].words * sizeof *words);
        }
        words += spans[i].words;
    }
    return SUBMOD_OK;
}
