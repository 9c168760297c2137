/* The functions by which ranks reach each other, checked and called (see comm.h). */
#include "dist/comm.h"

#include <stdio.h>
#include <string.h>

#include "base/internal.h"

/* So that sums of their 32-bit parts are exact in doubles. */
enum { MOST_RANKS = 1 << 20 };

submod_comm submod_comm_alone(void)
{
    return (submod_comm){.rank = 0, .ranks = 1};
}

/* ---- the table ---- */

static submod_status require_functions(const submod_comm *c)
{
    const char *missing = !c->sum ? "sum" : !c->gather ? "gather" : NULL;
    if (missing) {
        return submodi_fail(SUBMOD_EINVAL, "comm.%s is NULL; with %d ranks it must be given",
                            missing, c->ranks);
    }
    return SUBMOD_OK;
}

submod_status submodi_comm_read(const submod_comm *given, submod_comm *comm)
{
    submod_comm c = given ? *given : submod_comm_alone();
    submod_status status = SUBMOD_OK;
    if (c.ranks < 1 || c.ranks > MOST_RANKS || c.rank < 0 || c.rank >= c.ranks) {
        status = submodi_fail(SUBMOD_EINVAL,
                              "comm is rank %d of %d; ranks must be from 1 to 2^20, rank in "
                              "0 .. ranks - 1",
                              c.rank, c.ranks);
    }
    if (status == SUBMOD_OK && c.ranks > 1) {
        status = require_functions(&c);
    }
    if (status == SUBMOD_OK) {
        *comm = c;
    }
    return status;
}

/* ---- the calls ---- */

/* SUBMOD_ECOMM: the function has called submod_fail, so that there are words of its own. */
static submod_status outcome(const char *name, int code)
{
    char why[128];
    if (code == 0) {
        return SUBMOD_OK;
    }
    if (code == SUBMOD_ECOMM) {
        snprintf(why, sizeof why, "%s", submod_last_error());
    } else {
        snprintf(why, sizeof why, "it returned %d", code);
    }
    return submodi_fail(SUBMOD_ECOMM,
                        "comm.%s: %s: other ranks could not be reached; this comm must not be "
                        "used again",
                        name, why);
}

submod_status submodi_comm_sum(const submod_comm *comm, void *numbers, submod_comm_type type,
                               size_t count)
{
    return comm->ranks == 1 ? SUBMOD_OK
                            : outcome("sum", comm->sum(comm->context, numbers, type, count));
}

submod_status submodi_comm_gather(const submod_comm *comm, const void *mine, size_t bytes,
                                  void *all)
{
    if (comm->ranks == 1) {
        memcpy(all, mine, bytes);
        return SUBMOD_OK;
    }
    return outcome("gather", comm->gather(comm->context, mine, bytes, all));
}
