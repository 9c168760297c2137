/* Adding up the losses of single images over ranks (see group_losses.h). */
#include "dist/group_losses.h"

#include <string.h>

#include "base/internal.h"

/* What a rank sends: how many groups, valid pixels and terms it has; then the losses of its groups,
 * and the most that they can be, filled up to the size that all have. */
enum { GROUPS, VALID, TERMS, HEAD };

static size_t size_of(const submodi_global *whole)
{
    return HEAD + 2 * (size_t)whole->most_groups;
}

double *submodi_group_losses_take(const submodi_global *whole, submod_work *work)
{
    return submodi_work_alloc(work, (size_t)whole->comm.ranks + 1, size_of(whole) * sizeof(double));
}

static void write(const submodi_global *whole, const double *share, double *mine)
{
    const submodi_batch *batch = &whole->batch;
    memset(mine, 0, size_of(whole) * sizeof *mine);
    mine[GROUPS] = (double)batch->groups;
    mine[VALID] = (double)batch->valid;
    mine[TERMS] = (double)batch->terms;
    memcpy(mine + HEAD, share, batch->groups * sizeof *share);
    if (batch->measure.type == SUBMOD_MEASURE_CUSTOM) {
        memcpy(mine + HEAD + whole->most_groups, batch->group_most, batch->groups * sizeof *share);
    }
}

submod_status submodi_group_losses_gather(submodi_global *whole, const double *share, double *room,
                                          double *loss)
{
    submodi_batch *batch = &whole->batch;
    size_t size = size_of(whole);
    double *all = room + size;
    write(whole, share, room);
    submod_status status = submodi_comm_gather(&whole->comm, room, size * sizeof *room, all);
    if (status != SUBMOD_OK) {
        return status;
    }
    *loss = 0;
    batch->most = batch->measure.type == SUBMOD_MEASURE_CUSTOM ? 0 : 1;
    batch->valid = 0;
    batch->terms = 0;
    for (int r = 0; r < whole->comm.ranks; r++) {
        const double *x = all + (size_t)r * size;
        for (size_t g = 0; g < (size_t)x[GROUPS]; g++) {
            *loss += x[HEAD + g];
            batch->most += x[HEAD + whole->most_groups + g];
        }
        batch->valid += (uint64_t)x[VALID];
        batch->terms += (size_t)x[TERMS];
    }
    return SUBMOD_OK;
}
