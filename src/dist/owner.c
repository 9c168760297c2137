/* Merging and weighing records (see owner.h).
 *
 * The records of a class come from several ranks, each in order; sorted once more by their keys,
 * equal ones of several ranks become one run. What is ranked before the first is the sum of what
 * all ranks have before it. From there on it is the ranking of one process: counts are exact, so
 * each run adds what it adds there, to the bit.
 */
#include "dist/owner.h"

#include "base/memory.h"

/* So many runs are weighed at once. */
enum { RUNS = 256 };

bool submodi_owner_take(submodi_owner *x, size_t records, submod_work *work)
{
    x->key = submodi_take(work, records, sizeof *x->key);
    x->number = submodi_take(work, records, submodi_number_size(x->weighted));
    x->next = submodi_take(work, (size_t)x->pieces->ranks, sizeof *x->next);
    x->memory = (submodi_rank_memory){.threads = x->batch->threads};
    return x->key && x->number && x->next && submodi_rank_take(&x->memory, records, work);
}

/* One class on its way. */
typedef struct merged {
    const uint64_t *record; /* key above place, sorted */
    size_t n;
    submodi_rank_counts before;
} merged;

/* The records of owned class k, side by side and sorted. Classes are merged one after the other. */
static merged merge_class(const submodi_owner *x, size_t k)
{
    const submodi_pieces *p = x->pieces;
    merged m = {.n = 0};
    uint32_t bits = 1; /* of all keys */
    for (int r = 0; r < p->ranks; r++) {
        const submodi_piece *piece = &p->in[(size_t)r * p->owned + k];
        size_t end = x->next[r] + piece->records;
        for (size_t i = x->next[r]; i < end; i++) {
            x->memory.record[m.n++] = (uint64_t)x->key[i] << SUBMODI_OFFSET_BITS | i;
            bits |= x->key[i];
        }
        x->next[r] = end;
        m.before.a += piece->a;
        m.before.b += piece->b;
    }
    m.record = submodi_sort_records(x->memory.record, x->memory.spare, m.n, SUBMODI_OFFSET_BITS,
                                    submodi_bit_length(bits), x->memory.count, x->memory.threads);
    return m;
}

/* Runs of equal keys. */
typedef struct runs {
    size_t n;
    size_t end[RUNS]; /* of each, among the records */
    uint32_t key[RUNS];
    double count[RUNS], gain[RUNS];
} runs;

/* The next runs, from record i on. */
static void next_runs(const submodi_owner *x, const merged *m, size_t i, runs *r)
{
    for (r->n = 0; r->n < RUNS && i < m->n; r->n++) {
        uint32_t key = submodi_key_of(m->record[i]);
        double count = 0;
        for (; i < m->n && submodi_key_of(m->record[i]) == key; i++) {
            count += submodi_count_of(x->number, x->weighted, (uint32_t)m->record[i]);
        }
        r->end[r->n] = i;
        r->key[r->n] = key;
        r->count[r->n] = count;
    }
}

/* What goes back to where the counts came from, record i first. */
static size_t answer(const submodi_owner *x, const merged *m, size_t i, const runs *r,
                     double coefficient)
{
    for (size_t k = 0; k < r->n; k++) {
        for (; i < r->end[k]; i++) {
            uint32_t place = (uint32_t)m->record[i];
            if (x->weighted) {
                ((double *)x->number)[place] = r->gain[k];
            } else {
                ((float *)x->number)[place] = (float)(coefficient * r->gain[k]);
            }
        }
    }
    return i;
}

static submodi_fixed_sum weigh_class(const submodi_owner *x, size_t c, merged *m, runs *r,
                                     submodi_measure_failure *failure)
{
    int32_t largest = x->range[c].largest;
    submodi_rank_measure measure = submodi_rank_measure_of(x->batch, c, largest);
    submodi_fixed_sum value = {0, 0};
    for (size_t i = 0; i < m->n && !failure->found;) {
        next_runs(x, m, i, r);
        value = submodi_fixed_join(value,
                                   submodi_weighers()->gains(r->key, r->count, r->n, &m->before,
                                                             &measure, largest, r->gain, failure));
        i = answer(x, m, i, r, x->batch->coefficient[c]);
    }
    return value;
}

submod_status submodi_owner_weigh(submodi_owner *x, submodi_fixed_sum *value)
{
    submodi_measure_failure failure = {.found = false};
    runs r;
    size_t records = 0;
    for (int k = 0; k < x->pieces->ranks; k++) {
        x->next[k] = records;
        records += x->pieces->records_in[k];
    }
    for (size_t c = 0; c < x->batch->scores.classes; c++) {
        value[c] = (submodi_fixed_sum){0, 0};
    }
    for (size_t k = 0; k < x->pieces->owned && !failure.found; k++) {
        size_t c = x->pieces->first_class + k;
        merged m = merge_class(x, k);
        value[c] = weigh_class(x, c, &m, &r, &failure);
    }
    return failure.found ? submodi_measure_failed(x->batch->who, &failure) : SUBMOD_OK;
}
