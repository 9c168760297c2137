/* Cutting records into ranges: owners get no more than they should, and pieces are all there is. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dist/pieces.h"
#include "support.h"

enum { MOST_RANKS = 9, MOST_CLASSES = 6 };

/* Ascending keys: from a stretch of their own, all of a few, or of all floats. */
static uint32_t next_key(submod_rng *rng, uint32_t key, int rank, unsigned how)
{
    switch (how) {
    case 0: return key + 1;
    case 1: return (key == 0 ? (uint32_t)rank * 100000 : key) + 1;
    default: return key + 1 + (uint32_t)submod_rng_below(rng, 50000);
    }
}

static submodi_records random_records(submod_rng *rng, int rank, size_t classes, size_t most,
                                      unsigned how)
{
    submodi_records x = {.classes = classes};
    x.first = malloc((classes + 1) * sizeof *x.first);
    x.key = malloc((classes * most + 1) * sizeof *x.key);
    uint32_t *count = malloc((classes * most + 1) * sizeof *count);
    size_t at = 0;
    for (size_t c = 0; c < classes; c++) {
        uint32_t key = 0;
        x.first[c] = at;
        for (size_t n = submod_rng_below(rng, 3) ? submod_rng_below(rng, most + 1) : 0; n > 0;
             n--) {
            key = next_key(rng, key, rank, how);
            x.key[at] = key;
            count[at++] = 1 + (uint32_t)submod_rng_below(rng, 5);
        }
    }
    x.first[classes] = at;
    x.number = count;
    return x;
}

/* Piece by piece what belongs to it, found by looking at all records. */
static void check_pieces(const submodi_records *x, const submodi_pieces *p)
{
    const uint32_t *count = x->number;
    const submodi_piece *piece = p->out;
    for (int r = 0; r < p->ranks; r++) {
        size_t begin, end, records = 0;
        submodi_owned_classes(p->split, r, &begin, &end);
        for (size_t c = begin; c < end; c++, piece++) {
            submodi_piece expected = {0, 0, 0};
            for (size_t i = x->first[c]; i < x->first[c + 1]; i++) {
                uint64_t place = submodi_place_of(c, x->key[i]);
                bool before = place < p->split[r];
                expected.records += !before && place < p->split[r + 1];
                expected.a += before && !(x->key[i] & 1) ? count[i] : 0;
                expected.b += before && x->key[i] & 1 ? count[i] : 0;
            }
            ck_assert_uint_eq(piece->records, expected.records);
            ck_assert_double_eq(piece->a, expected.a);
            ck_assert_double_eq(piece->b, expected.b);
            records += piece->records;
        }
        ck_assert_uint_eq(p->records_out[r], records);
    }
}

static void check_one(submod_rng *rng, int ranks, size_t classes, size_t most, unsigned how)
{
    submodi_records x[MOST_RANKS];
    submodi_samples samples[MOST_RANKS];
    submodi_sample scratch[MOST_RANKS * SUBMODI_SAMPLES];
    uint64_t owned[MOST_RANKS] = {0};
    uint64_t all = 0, sent = 0;
    for (int r = 0; r < ranks; r++) {
        x[r] = random_records(rng, r, classes, submod_rng_below(rng, most + 1), how);
        submodi_samples_choose(&x[r], r, ranks, &samples[r]);
        all += x[r].first[classes];
    }
    for (int r = 0; r < ranks; r++) {
        submodi_scope scope;
        submod_work *w = submodi_scope_open(&scope, NULL);
        submodi_pieces p;
        ck_assert(submodi_pieces_take(&p, r, ranks, classes, w));
        submodi_split(samples, ranks, classes, scratch, p.split);
        ck_assert(submodi_pieces_cut(&p, &x[r], w));
        check_pieces(&x[r], &p);
        for (int k = 0; k < ranks; k++) {
            owned[k] += p.records_out[k];
            sent += p.records_out[k];
        }
        submodi_scope_close(&scope);
    }
    ck_assert_uint_eq(sent, all);
    for (int r = 0; r < ranks; r++) {
        double share = (double)all / ranks + 3 * (double)all / SUBMODI_SAMPLES;
        ck_assert_msg((double)owned[r] <= share + 3 * ranks, "%d of %d owns %llu of %llu", r, ranks,
                      (unsigned long long)owned[r], (unsigned long long)all);
    }
    for (int r = 0; r < ranks; r++) {
        free(x[r].first);
        free(x[r].key);
        free(x[r].number);
    }
}

START_TEST(pieces_and_balance)
{
    submod_rng rng;
    submod_rng_seed(&rng, 128);
    for (int trial = 0; trial < 600; trial++) {
        check_one(&rng, 1 + (int)submod_rng_below(&rng, MOST_RANKS),
                  1 + submod_rng_below(&rng, MOST_CLASSES), trial % 3 ? 300 : 5000,
                  (unsigned)submod_rng_below(&rng, 3));
    }
}
END_TEST

/* Where ranks have the same errors, samples at different places make cuts finer than one rank's
 * samples are: owners differ by little. */
START_TEST(alike_ranks)
{
    enum { N = 100000 };
    static uint32_t key[N];
    size_t first[] = {0, N};
    submodi_samples samples[MOST_RANKS];
    submodi_sample scratch[MOST_RANKS * SUBMODI_SAMPLES];
    uint64_t split[MOST_RANKS + 1];
    for (uint32_t i = 0; i < N; i++) {
        key[i] = i;
    }
    submodi_records x = {.classes = 1, .first = first, .key = key};
    for (int r = 0; r < MOST_RANKS; r++) {
        submodi_samples_choose(&x, r, MOST_RANKS, &samples[r]);
    }
    submodi_split(samples, MOST_RANKS, 1, scratch, split);
    for (int r = 0; r + 1 < MOST_RANKS; r++) { /* the last has the rest */
        double part = (double)(split[r + 1] - split[r]) / N;
        ck_assert_double_ge(part, 0.98 / MOST_RANKS);
        ck_assert_double_le(part, 1.02 / MOST_RANKS);
    }
}
END_TEST

/* All ranks must make the same cuts, whatever their qsort does with equals: so the order in which
 * samples at one place come in has no part in them. */
START_TEST(same_cuts_in_any_order)
{
    submod_rng rng;
    submod_rng_seed(&rng, 129);
    submodi_samples samples[MOST_RANKS];
    submodi_sample scratch[MOST_RANKS * SUBMODI_SAMPLES];
    uint64_t split[MOST_RANKS + 1], other[MOST_RANKS + 1];
    for (int trial = 0; trial < 200; trial++) {
        size_t places = 1 + submod_rng_below(&rng, 20);
        for (int r = 0; r < MOST_RANKS; r++) {
            samples[r].records = submod_rng_below(&rng, 1000);
            for (size_t j = 0; j < SUBMODI_SAMPLES; j++) {
                samples[r].place[j] = j * places / SUBMODI_SAMPLES;
            }
        }
        submodi_split(samples, MOST_RANKS, 1, scratch, split);
        for (int r = 0; r < MOST_RANKS / 2; r++) { /* the other way round */
            submodi_samples swap = samples[r];
            samples[r] = samples[MOST_RANKS - 1 - r];
            samples[MOST_RANKS - 1 - r] = swap;
        }
        submodi_split(samples, MOST_RANKS, 1, scratch, other);
        ck_assert_mem_eq(split, other, sizeof split);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("splitters", pieces_and_balance, alike_ranks, same_cuts_in_any_order);
}
