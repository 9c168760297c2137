/* How ranks come to the same status (see agree.h): each rank gathers the statuses of all. */
#include "dist/agree.h"

#include <math.h>
#include <string.h>

#include "base/internal.h"

/* Ranks for whose facts there is always room: no allocation that could fail. */
enum { FEW_RANKS = 64, MANY_STATUSES = 1024 };

/* ---- statuses ---- */

/* Fails with the status of the lowest rank that failed. A rank that failed so keeps its own error
 * message. */
static submod_status fail_with(submod_status mine, int lowest, submod_status failed)
{
    return mine == failed ? mine
                          : submodi_fail(failed, "rank %d failed: %s; see its error message",
                                         lowest, submod_status_string(failed));
}

typedef struct opinion {
    int32_t status;
    float number;
} opinion;

static submod_status hear(const submod_comm *comm, opinion mine, opinion *all, float *largest)
{
    submod_status status = submodi_comm_gather(comm, &mine, sizeof mine, all);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (int r = 0; r < comm->ranks; r++) {
        if (all[r].status != SUBMOD_OK) {
            return fail_with(mine.status, r, (submod_status)all[r].status);
        }
    }
    float most = all[0].number;
    for (int r = 1; r < comm->ranks; r++) {
        most = fmaxf(most, all[r].number);
    }
    *largest = most;
    return SUBMOD_OK;
}

submod_status submodi_agree_largest(const submod_comm *comm, submod_status mine, float number,
                                    float *largest)
{
    const opinion me = {mine, number};
    opinion few[MANY_STATUSES];
    if (comm->ranks == 1) {
        *largest = number;
        return mine;
    }
    if (comm->ranks <= MANY_STATUSES) {
        return hear(comm, me, few, largest);
    }
    opinion *many = submodi_alloc((size_t)comm->ranks, sizeof *many);
    submod_status status = many ? hear(comm, me, many, largest) : submodi_out_of_memory();
    submodi_free(many);
    return status;
}

submod_status submodi_agree_status(const submod_comm *comm, submod_status mine)
{
    float largest;
    return submodi_agree_largest(comm, mine, 0, &largest);
}

/* ---- facts ---- */

uint64_t submodi_hash(const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t submodi_field_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* With the name of the call, which comes before the fields. */
typedef struct sheet {
    uint64_t call;
    submodi_facts facts;
} sheet;

static submod_status compare(int rank, const char *const *names, const sheet *first,
                             const sheet *other)
{
    if (first->call != other->call) {
        return submodi_fail(SUBMOD_EINVAL,
                            "rank %d makes another call than rank 0; all ranks must make the same "
                            "calls in the same order",
                            rank);
    }
    for (size_t i = 0; names[i]; i++) {
        if (first->facts.field[i] != other->facts.field[i]) {
            return submodi_fail(SUBMOD_EINVAL,
                                "%s of rank %d is not that of rank 0; all ranks must have the "
                                "same",
                                names[i], rank);
        }
    }
    return SUBMOD_OK;
}

/* UINT64_MAX if it overflows. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add_up(const sheet *all, int ranks, submodi_totals *totals)
{
    *totals = (submodi_totals){0};
    for (int r = 0; r < ranks; r++) {
        const submodi_facts *f = &all[r].facts;
        totals->groups = plus(totals->groups, f->groups);
        totals->pixels = plus(totals->pixels, f->pixels);
        totals->most_groups = f->groups > totals->most_groups ? f->groups : totals->most_groups;
        totals->largest = fmaxf(totals->largest, f->largest);
    }
}

/* First that all are well, then that all want the same: what a rank wants that has failed is not
 * known. */
static submod_status weigh(const submod_comm *comm, const char *const *names, const sheet *mine,
                           sheet *all, submodi_totals *totals)
{
    submod_status status = submodi_comm_gather(comm, mine, sizeof *mine, all);
    for (int r = 0; status == SUBMOD_OK && r < comm->ranks; r++) {
        if (all[r].facts.status != SUBMOD_OK) {
            status = fail_with(mine->facts.status, r, (submod_status)all[r].facts.status);
        }
    }
    for (int r = 1; status == SUBMOD_OK && r < comm->ranks; r++) {
        status = compare(r, names, &all[0], &all[r]);
    }
    if (status == SUBMOD_OK) {
        add_up(all, comm->ranks, totals);
    }
    return status;
}

submod_status submodi_agree(const char *caller, const submod_comm *comm, submod_status mine,
                            const char *const *names, const submodi_facts *facts,
                            submodi_totals *totals)
{
    sheet few[FEW_RANKS];
    sheet me = {submodi_hash(caller, strlen(caller)), *facts};
    me.facts.status = mine;
    if (comm->ranks == 1) {
        add_up(&me, 1, totals);
        return mine;
    }
    if (comm->ranks <= FEW_RANKS) {
        return weigh(comm, names, &me, few, totals);
    }
    sheet *many = submodi_alloc((size_t)comm->ranks, sizeof *many);
    submod_status status = many ? weigh(comm, names, &me, many, totals) : submodi_out_of_memory();
    submodi_free(many);
    return status;
}

submod_status submodi_totals_require_exact(const submodi_totals *totals)
{
    return totals->pixels < UINT64_C(1) << 52
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL,
                              "all ranks together have %llu pixels; they must be fewer than "
                              "2^52",
                              (unsigned long long)totals->pixels);
}
