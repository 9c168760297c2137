/* Counts that ranks have made by themselves, added up: datasets and confusions (see dist.h).
 *
 * What is there stays until the sums are known: the numbers travel in a copy. Counts of a confusion
 * are whole numbers of 63 bits: as int32 if their total fits, else as two doubles each, its upper
 * and its lower 32 bits. Sums of those are exact for up to 2^20 ranks. */
#include <string.h>

#include "base/internal.h"
#include "dist/agree.h"
#include "metrics/confusion.h"

/* ---- datasets ---- */

submod_status submod_dist_dataset_sum(const submod_comm *comm, submod_dataset *dataset)
{
    static const char *const names[] = {"the number of classes", "the number of bins", NULL};
    submod_comm c;
    submod_status status = submodi_comm_read(comm, &c);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_dist_dataset_sum", status);
    }
    size_t classes = 0;
    size_t bins = 0;
    double *count = submod_dataset_counts(dataset, &classes, &bins);
    size_t numbers = 2 * classes * bins;
    double *sum = submodi_alloc(numbers, sizeof *sum);
    status = submodi_check_given("dataset", dataset);
    status = status || sum ? status : submodi_out_of_memory();
    const submodi_facts facts = {.field = {classes, bins}};
    submodi_totals totals;
    status = submodi_agree("submod_dist_dataset_sum", &c, status, names, &facts, &totals);
    if (status == SUBMOD_OK && count && sum) { /* they are: said again for static analysis */
        memcpy(sum, count, numbers * sizeof *sum);
        status = submodi_comm_sum(&c, sum, SUBMOD_COMM_F64, numbers);
        submodi_copy_out(status ? NULL : count, sum, numbers, sizeof *sum);
    }
    submodi_free(sum);
    return submodi_return("submod_dist_dataset_sum", status);
}

/* ---- confusions ---- */

static submod_status sum_small(const submod_comm *comm, int64_t *count, size_t n, void *room)
{
    int32_t *number = room;
    for (size_t i = 0; i < n; i++) {
        number[i] = (int32_t)count[i];
    }
    submod_status status = submodi_comm_sum(comm, number, SUBMOD_COMM_I32, n);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        count[i] = number[i];
    }
    return status;
}

/* Their total is known to fit, so no sum overflows. */
static submod_status sum_large(const submod_comm *comm, int64_t *count, size_t n, void *room)
{
    double *half = room;
    for (size_t i = 0; i < n; i++) {
        half[2 * i] = (double)(count[i] >> 32);
        half[2 * i + 1] = (double)(count[i] & UINT32_MAX);
    }
    submod_status status = submodi_comm_sum(comm, half, SUBMOD_COMM_F64, 2 * n);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        count[i] = ((int64_t)half[2 * i] << 32) + (int64_t)half[2 * i + 1];
    }
    return status;
}

/* Memory for a copy of the counts and for the numbers that travel. */
typedef struct copies {
    int64_t *count;
    void *room;
} copies;

static submod_status sum_counts(const submod_comm *comm, submod_confusion *confusion,
                                const copies *x, uint64_t total)
{
    size_t cells = submodi_confusion_cells(confusion);
    memcpy(x->count, confusion->counts, cells * sizeof *x->count);
    submod_status status = total <= INT32_MAX ? sum_small(comm, x->count, cells, x->room)
                                              : sum_large(comm, x->count, cells, x->room);
    if (status == SUBMOD_OK) {
        memcpy(confusion->counts, x->count, cells * sizeof *x->count);
        confusion->total = (int64_t)total;
    }
    return status;
}

submod_status submod_dist_confusion_sum(const submod_comm *comm, submod_confusion *confusion)
{
    static const char *const names[] = {"the number of classes", NULL};
    submod_comm c;
    submod_status status = submodi_comm_read(comm, &c);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_dist_confusion_sum", status);
    }
    size_t cells = confusion ? submodi_confusion_cells(confusion) : 0;
    const copies x = {submodi_alloc(cells, sizeof *x.count), submodi_alloc(cells, 16)};
    status = submodi_check_given("confusion", confusion);
    if (status == SUBMOD_OK && (!x.count || !x.room)) {
        status = submodi_out_of_memory();
    }
    const submodi_facts facts = {.field = {cells},
                                 .pixels = confusion ? (uint64_t)confusion->total : 0};
    submodi_totals totals = {0};
    status = submodi_agree("submod_dist_confusion_sum", &c, status, names, &facts, &totals);
    if (status == SUBMOD_OK && totals.pixels > INT64_MAX) {
        status = submodi_fail(SUBMOD_EINVAL,
                              "all ranks together have counted more than 2^63 - 1 pixels");
    }
    if (status == SUBMOD_OK && confusion && x.count && x.room) { /* they are, again */
        status = sum_counts(&c, confusion, &x, totals.pixels);
    }
    submodi_free(x.count);
    submodi_free(x.room);
    return submodi_return("submod_dist_confusion_sum", status);
}
