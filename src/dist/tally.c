/* Counting errors over ranks (see tally.h). */
#include "dist/tally.h"

#include <string.h>

#include "base/internal.h"

static size_t bins_of(const submodi_tally *t)
{
    return t->whole->batch.scores.classes * submodi_table_size(&t->h);
}

bool submodi_tally_take(submodi_tally *tally, submodi_global *whole, uint32_t most_bins,
                        submod_work *work)
{
    *tally = (submodi_tally){.whole = whole, .h = {.batch = &whole->batch}};
    tally->h.how.K = most_bins;
    size_t sums = submodi_label_sums(&whole->batch);
    size_t bins = submodi_times(whole->batch.scores.classes, submodi_table_size(&tally->h));
    tally->numbers =
        bins < SIZE_MAX - sums ? submodi_work_alloc(work, bins + sums, sizeof(double)) : NULL;
    tally->labels = submodi_work_alloc(work, sums, sizeof *tally->labels);
    return tally->numbers && tally->labels;
}

/* No entry exceeds the number of labels: of pixels, or, where each class has its own, that times
 * the classes. */
static submod_comm_type type_for(const submodi_batch *batch)
{
    uint64_t rows = submodi_label_rows(batch);
    bool small = !batch->settings.pixel_weights && batch->all_pixels <= INT32_MAX / rows;
    return small ? SUBMOD_COMM_I32 : SUBMOD_COMM_F64;
}

/* ---- numbers of either type ---- */

static void write_numbers(submodi_tally *t, size_t first, const double *from, size_t count)
{
    if (t->type == SUBMOD_COMM_F64) {
        memcpy((double *)t->numbers + first, from, count * sizeof *from);
        return;
    }
    int32_t *to = (int32_t *)t->numbers + first;
    for (size_t i = 0; i < count; i++) {
        to[i] = (int32_t)from[i];
    }
}

static double number(const submodi_tally *t, size_t i)
{
    return t->type == SUBMOD_COMM_F64 ? ((const double *)t->numbers)[i]
                                      : (double)((const int32_t *)t->numbers)[i];
}

/* ---- counting ---- */

/* This rank's part of the numbers. */
static submod_status count(submodi_tally *t, submod_work *work)
{
    submodi_batch *batch = &t->whole->batch;
    size_t size = submodi_table_size(&t->h);
    double *total = submodi_work_alloc(work, 1, size * sizeof *total);
    if (!total || !submodi_histogram_take(&t->h, true, work)) {
        return submodi_out_of_memory();
    }
    if (batch->groups && !submodi_histogram_count(&t->h, 0)) {
        return submodi_batch_bad_score(batch);
    }
    for (size_t c = 0; c < batch->scores.classes; c++) {
        memset(total, 0, size * sizeof *total);
        if (batch->groups) {
            submodi_histogram_add_to(&t->h, 0, c, total);
        }
        write_numbers(t, c * size, total, size);
    }
    return SUBMOD_OK;
}

submod_status submodi_tally_sum(submodi_tally *tally, submod_status mine, submod_work *work)
{
    submodi_global *whole = tally->whole;
    size_t bins = bins_of(tally);
    size_t labels = submodi_label_sums(&whole->batch);
    tally->type = type_for(&whole->batch);
    mine = mine ? mine : count(tally, work);
    if (mine != SUBMOD_OK) {
        memset(tally->numbers, 0, bins * sizeof(double));
    }
    submodi_label_sums_write(&whole->batch, mine, tally->labels);
    write_numbers(tally, bins, tally->labels, labels);
    submod_status status =
        submodi_comm_sum(&whole->comm, tally->numbers, tally->type, bins + labels);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (size_t i = 0; i < labels; i++) {
        tally->labels[i] = number(tally, bins + i);
    }
    return submodi_label_sums_read(whole, mine, tally->labels);
}

void submodi_tally_add_to(const void *tally, size_t group, size_t c, double *total)
{
    const submodi_tally *t = tally;
    size_t size = submodi_table_size(&t->h);
    (void)group; /* there is one */
    for (size_t k = 0; k < size; k++) {
        total[k] += number(t, c * size + k);
    }
}
