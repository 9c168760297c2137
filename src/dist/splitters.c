/* Cutting the records of all ranks into ranges (see splitters.h). */
#include "dist/splitters.h"

#include <stdlib.h>

static uint64_t place_at(const submodi_records *x, size_t i, size_t *c)
{
    while (i >= x->first[*c + 1]) {
        (*c)++;
    }
    return submodi_place_of(*c, x->key[i]);
}

/* Sample j stands for records j n / SAMPLES to (j + 1) n / SAMPLES. Ranks choose theirs at
 * different parts of that: where all have errors alike, the samples of all still lie evenly. */
void submodi_samples_choose(const submodi_records *x, int rank, int ranks, submodi_samples *mine)
{
    size_t n = x->first[x->classes];
    size_t c = 0;
    double shift = ((double)rank + 0.5) / (double)ranks;
    mine->records = n;
    for (size_t j = 0; j < SUBMODI_SAMPLES; j++) {
        size_t at = (size_t)((double)n * (((double)j + shift) / SUBMODI_SAMPLES));
        mine->place[j] = n > 0 ? place_at(x, at < n ? at : n - 1, &c) : 0;
    }
}

/* Of samples at one place, by what they stand for: all ranks must come to the same cuts, and what
 * qsort makes of equals differs from system to system, and with the memory that is left. */
static int by_place(const void *a, const void *b)
{
    const submodi_sample *x = a;
    const submodi_sample *y = b;
    int order = (x->place > y->place) - (x->place < y->place);
    return order ? order : (x->stands_for > y->stands_for) - (x->stands_for < y->stands_for);
}

void submodi_split(const submodi_samples *all, int ranks, size_t classes, submodi_sample *scratch,
                   uint64_t *split)
{
    size_t samples = (size_t)ranks * SUBMODI_SAMPLES;
    double total = 0;
    for (size_t i = 0; i < samples; i++) {
        const submodi_samples *of = &all[i / SUBMODI_SAMPLES];
        scratch[i] = (submodi_sample){of->place[i % SUBMODI_SAMPLES], (double)of->records};
        total += scratch[i].stands_for;
    }
    qsort(scratch, samples, sizeof *scratch, by_place);
    double before = 0; /* whole numbers: exact in any order */
    int r = 1;
    split[0] = 0;
    for (size_t i = 0; i < samples; i++) {
        while (r < ranks && before * (double)ranks >= (double)r * total) {
            split[r++] = scratch[i].place;
        }
        before += scratch[i].stands_for;
    }
    for (; r <= ranks; r++) {
        split[r] = submodi_place_of(classes, 0);
    }
}

void submodi_owned_classes(const uint64_t *split, int r, size_t *begin, size_t *end)
{
    *begin = (size_t)(split[r] >> 32);
    *end = split[r] < split[r + 1] ? (size_t)((split[r + 1] - 1) >> 32) + 1 : *begin;
}
