/* Creates, merges and frees the streams of a report, and puts what they have counted one after the
 * other. */
#include "streams.h"

#include <stdlib.h>
#include <string.h>

#include "datasets.h"

submod_status streams_create(const options *o, streams *s)
{
    size_t n = o->counted_classes;
    const submod_metric_settings *metric = &o->metric;
    submod_status status = submod_confusion_create(n, &s->counts, metric);
    if (status == SUBMOD_OK && o->boundary) {
        status = submod_boundary_create(n, &s->boundary, metric);
    }
    if (status == SUBMOD_OK && o->worst > 0) {
        status = submod_fine_grained_create(n, &s->fine, metric);
    }
    if (status == SUBMOD_OK && o->instance_dir) {
        status = o->cityscapes
                     ? submod_instances_create(CITYSCAPES_IDS, o->first_id, &s->instances, NULL)
                     : submod_instances_create(n, o->first_id, &s->instances, metric);
    }
    return status;
}

submod_status streams_merge(streams *s, const streams *other)
{
    submod_status status = submod_confusion_merge(s->counts, other->counts);
    if (status == SUBMOD_OK && s->boundary) {
        status = submod_boundary_merge(s->boundary, other->boundary);
    }
    if (status == SUBMOD_OK && s->fine) {
        status = submod_fine_grained_merge(s->fine, other->fine);
    }
    if (status == SUBMOD_OK && s->instances) {
        status = submod_instances_merge(s->instances, other->instances);
    }
    return status;
}

void streams_free(streams *s)
{
    submod_confusion_free(s->counts);
    submod_boundary_free(s->boundary);
    submod_fine_grained_free(s->fine);
    submod_instances_free(s->instances);
}

/* ---- as words ---- */

uint64_t *words_add(word_list *words, size_t count)
{
    if (count > words->capacity - words->count) {
        words->capacity = 2 * words->capacity + count;
        words->items = checked_alloc(words->items, words->capacity, sizeof *words->items);
    }
    words->count += count;
    return words->items + words->count - count;
}

/* A stream of scoring.h: all of them have such a function. */
typedef submod_status words_function(const streams *s, uint64_t *words, size_t *count);

static submod_status boundary_words(const streams *s, uint64_t *words, size_t *count)
{
    return submod_boundary_words(s->boundary, words, count);
}

static submod_status fine_words(const streams *s, uint64_t *words, size_t *count)
{
    return submod_fine_grained_words(s->fine, words, count);
}

static submod_status instances_words(const streams *s, uint64_t *words, size_t *count)
{
    return submod_instances_words(s->instances, words, count);
}

static submod_status confusion_words(const streams *s, uint64_t *words, size_t *count)
{
    size_t classes = submod_confusion_classes(s->counts);
    *count = classes * classes;
    if (words) {
        memcpy(words, submod_confusion_counts(s->counts), *count * sizeof *words);
    }
    return SUBMOD_OK;
}

static submod_status save_stream(const streams *s, words_function *words_of, word_list *words)
{
    size_t count = 0;
    submod_status status = words_of(s, NULL, &count);
    if (status == SUBMOD_OK) {
        *words_add(words, 1) = count;
        status = words_of(s, words_add(words, count), &count);
    }
    return status;
}

submod_status streams_save(const streams *s, word_list *words)
{
    submod_status status = save_stream(s, confusion_words, words);
    if (status == SUBMOD_OK && s->boundary) {
        status = save_stream(s, boundary_words, words);
    }
    if (status == SUBMOD_OK && s->fine) {
        status = save_stream(s, fine_words, words);
    }
    if (status == SUBMOD_OK && s->instances) {
        status = save_stream(s, instances_words, words);
    }
    return status;
}

/* The words of the next stream; NULL if there are too few. */
static const uint64_t *next(const uint64_t **words, size_t *left, size_t *count)
{
    if (*left == 0 || **words > *left - 1) {
        return NULL;
    }
    const uint64_t *found = *words + 1;
    *count = (size_t) * *words;
    *words += 1 + *count;
    *left -= 1 + *count;
    return found;
}

/* Whether the next stream is there, with the counts of so many classes. */
static bool next_fits(const uint64_t **words, size_t *left, size_t classes)
{
    size_t count = 0;
    return next(words, left, &count) && count >= classes * classes;
}

bool streams_fit(const options *o, const uint64_t *words, size_t count)
{
    size_t n = o->counted_classes; /* at most 65537: its square does not wrap */
    return next_fits(&words, &count, n) && (!o->boundary || next_fits(&words, &count, n)) &&
           (o->worst <= 0 || next_fits(&words, &count, n)) &&
           (!o->instance_dir || next_fits(&words, &count, o->cityscapes ? CITYSCAPES_IDS : n)) &&
           count == 0;
}

submod_status streams_load(streams *s, const uint64_t *words, size_t count)
{
    size_t n = 0;
    size_t classes = submod_confusion_classes(s->counts);
    const uint64_t *own = next(&words, &count, &n);
    submod_status status = own && n == classes * classes
                               ? submod_confusion_add_counts(s->counts, (const int64_t *)own)
                               : SUBMOD_EINVAL;
    if (status == SUBMOD_OK && s->boundary) {
        own = next(&words, &count, &n);
        status = submod_boundary_set_words(s->boundary, own, n);
    }
    if (status == SUBMOD_OK && s->fine) {
        own = next(&words, &count, &n);
        status = submod_fine_grained_set_words(s->fine, own, n);
    }
    if (status == SUBMOD_OK && s->instances) {
        own = next(&words, &count, &n);
        status = submod_instances_set_words(s->instances, own, n);
    }
    return status == SUBMOD_OK && count ? SUBMOD_EINVAL : status;
}
