/* The streams of counts that a report needs. */
#ifndef MIOU_STREAMS_H
#define MIOU_STREAMS_H

#include <submod/scoring.h>

#include "options.h"

/* Counts of what was asked for; NULL for the rest. */
typedef struct streams {
    submod_confusion *counts;
    submod_boundary *boundary;
    submod_fine_grained *fine;
    submod_instances *instances; /* of Cityscapes: of label ids, nothing ignored */
} streams;

/* What was created before a failure is to be freed, too. */
submod_status streams_create(const options *o, streams *s);
submod_status streams_merge(streams *s, const streams *other);
void streams_free(streams *s);

/* Numbers one after the other. */
typedef struct word_list {
    uint64_t *items;
    size_t count, capacity;
} word_list;

/* Adds room for `count` more, and returns it. */
uint64_t *words_add(word_list *words, size_t count);

/* Adds what each stream has counted, with how many words that are before it. */
submod_status streams_save(const streams *s, word_list *words);
/* Whether the front of `count` words can be what such streams have saved, by its lengths: at least
 * the counts of pixels of each are there, so that streams take no more memory than a few times what
 * the words do. */
bool streams_fit(const options *o, const uint64_t *words, size_t count);
/* Into new streams, from the front of `count` words; there must not be more or fewer. */
submod_status streams_load(streams *s, const uint64_t *words, size_t count);

#endif
