/* Making records of errors, and weights of what comes back (see records.h). */
#include "dist/records.h"

#include <string.h>

#include "base/memory.h"

bool submodi_records_take(submodi_records *x, const submodi_batch *batch, submod_work *work)
{
    size_t C = batch->scores.classes;
    *x = (submodi_records){.weighted = batch->settings.pixel_weights != NULL, .classes = C};
    x->first = submodi_take(work, C + 1, sizeof *x->first);
    x->sorted = submodi_take(work, C, sizeof *x->sorted);
    x->kept = submodi_take(work, C, sizeof *x->kept);
    if (!x->first || !x->sorted || !x->kept) {
        return false;
    }
    memset(x->first, 0, (C + 1) * sizeof *x->first);
    return true;
}

/* ---- out ---- */

/* Where the run of equal keys that begins at i ends. */
static size_t run_end(const uint64_t *record, size_t n, size_t i)
{
    uint32_t key = submodi_key_of(record[i]);
    while (i < n && submodi_key_of(record[i]) == key) {
        i++;
    }
    return i;
}

/* Sorts the errors of class c, keeps them, and counts the runs. */
static bool sort_class(submodi_records *x, const submodi_exact *errors, size_t c,
                       const submodi_rank_range *range, const submodi_rank_memory *memory,
                       submod_work *work)
{
    const submodi_batch *batch = errors->batch;
    submodi_rank_errors e = submodi_exact_errors_of(errors, 0, c);
    submodi_rank_limits limits = submodi_rank_limits_of(batch, c, range);
    const uint64_t *record = submodi_rank_records(batch, 0, &e, &limits, memory, &x->kept[c]);
    uint64_t *copy = submodi_take(work, x->kept[c], sizeof *copy);
    if (!copy) {
        return false;
    }
    memcpy(copy, record, x->kept[c] * sizeof *copy);
    x->sorted[c] = copy;
    size_t runs = 0;
    for (size_t i = 0; i < x->kept[c]; i = run_end(copy, x->kept[c], i)) {
        runs++;
    }
    x->first[c + 1] = runs;
    return true;
}

/* What n equal errors count for. Their weights are where errors were. */
static void write_number(submodi_records *x, size_t at, const uint64_t *record, size_t n,
                         const float *weight)
{
    if (!x->weighted) {
        ((uint32_t *)x->number)[at] = (uint32_t)n;
        return;
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)weight[(uint32_t)record[i]];
    }
    ((double *)x->number)[at] = sum;
}

static void write_class(submodi_records *x, const submodi_exact *errors, size_t c)
{
    const uint64_t *record = x->sorted[c];
    const float *weight = submodi_exact_errors_of(errors, 0, c).error;
    size_t at = x->first[c];
    for (size_t i = 0, end; i < x->kept[c]; i = end) {
        end = run_end(record, x->kept[c], i);
        x->key[at] = submodi_key_of(record[i]);
        write_number(x, at, record + i, end - i, weight);
        at++;
    }
}

bool submodi_records_make(submodi_records *x, const submodi_exact *errors,
                          const submodi_rank_range *range, submodi_rank_memory *memory,
                          submod_work *work)
{
    for (size_t c = 0; c < x->classes; c++) {
        x->kept[c] = 0;
        x->sorted[c] = NULL;
        if (!(errors->batch->coefficient[c] > 0)) {
            submodi_rank_errors unused = submodi_exact_errors_of(errors, 0, c);
            submodi_exact_clear(errors, &unused);
        } else if (!sort_class(x, errors, c, &range[c], memory, work)) {
            return false;
        }
    }
    for (size_t c = 0; c < x->classes; c++) {
        x->first[c + 1] += x->first[c];
    }
    size_t all = x->first[x->classes];
    x->key = submodi_take(work, all, sizeof *x->key);
    x->number = submodi_take(work, all, submodi_number_size(x->weighted));
    if (!x->key || !x->number) {
        return false;
    }
    for (size_t c = 0; c < x->classes; c++) {
        write_class(x, errors, c);
    }
    return true;
}

/* ---- and back ---- */

/* As weigh_loops.c has it: to the bit. */
static float weight_of(const submodi_records *x, size_t at, double coefficient, float weight)
{
    float w = x->weighted
                  ? (float)(coefficient * (((const double *)x->number)[at] * (double)weight))
                  : ((const float *)x->number)[at];
    return 0 + (x->key[at] & 1 ? w : -w);
}

void submodi_records_answer(const submodi_records *x, const submodi_exact *errors)
{
    for (size_t c = 0; c < x->classes; c++) {
        const uint64_t *record = x->sorted[c];
        float *to = submodi_exact_errors_of(errors, 0, c).error;
        size_t at = x->first[c];
        for (size_t i = 0; i < x->kept[c]; i++) {
            at += submodi_key_of(record[i]) != x->key[at];
            float *place = &to[(uint32_t)record[i]];
            *place = weight_of(x, at, errors->batch->coefficient[c], *place);
        }
    }
}
