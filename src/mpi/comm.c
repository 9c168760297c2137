/* The table submod_comm over MPI (see submod/mpi.h).
 *
 * Uses the public headers of libsubmod alone, as it is a library of its own. All memory is taken
 * when the comm is made: what fails on one rank alone would leave the others waiting. */
#include <submod/mpi.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <submod/dist.h>
#include <submod/extend.h>

/* The most numbers or bytes in one call of MPI, which counts in int. A test lowers it. */
#ifndef SUBMODI_MPI_MOST
#define SUBMODI_MPI_MOST INT_MAX
#endif

typedef struct channel {
    submod_comm comm; /* what the caller has; its context is the channel */
    MPI_Comm mpi;     /* a duplicate of the caller's */
} channel;

static submod_status fail(const char *function, int code)
{
    char theirs[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, theirs, &length) != MPI_SUCCESS) {
        snprintf(theirs, sizeof theirs, "error %d", code);
    }
    return submod_fail(SUBMOD_ECOMM, "%s: %s", function, theirs);
}

/* The size of the piece that begins at `begin`, of count in all; 0: there is none. */
static int piece(size_t count, size_t begin)
{
    if (begin >= count) {
        return 0;
    }
    size_t rest = count - begin;
    return rest < SUBMODI_MPI_MOST ? (int)rest : SUBMODI_MPI_MOST;
}

/* ---- sums ---- */

static MPI_Datatype number_type(submod_comm_type type)
{
    return type == SUBMOD_COMM_I32 ? MPI_INT32_T : MPI_DOUBLE;
}

static size_t number_size(submod_comm_type type)
{
    return type == SUBMOD_COMM_I32 ? sizeof(int32_t) : sizeof(double);
}

static int sum(void *context, void *numbers, submod_comm_type type, size_t count)
{
    const channel *c = context;
    int part;
    for (size_t begin = 0; (part = piece(count, begin)) > 0; begin += (size_t)part) {
        char *at = (char *)numbers + begin * number_size(type);
        int code = MPI_Allreduce(MPI_IN_PLACE, at, part, number_type(type), MPI_SUM, c->mpi);
        if (code != MPI_SUCCESS) {
            return fail("MPI_Allreduce", code);
        }
    }
    return 0;
}

/* ---- bytes ---- */

/* More than one call can take: rank after rank tells the others. */
static int gather_large(const channel *c, const void *mine, size_t bytes, char *all)
{
    memcpy(all + (size_t)c->comm.rank * bytes, mine, bytes);
    for (int rank = 0; rank < c->comm.ranks; rank++, all += bytes) {
        int part;
        for (size_t begin = 0; (part = piece(bytes, begin)) > 0; begin += (size_t)part) {
            int code = MPI_Bcast(all + begin, part, MPI_BYTE, rank, c->mpi);
            if (code != MPI_SUCCESS) {
                return fail("MPI_Bcast", code);
            }
        }
    }
    return 0;
}

static int gather(void *context, const void *mine, size_t bytes, void *all)
{
    const channel *c = context;
    if (bytes == 0) {
        return 0;
    }
    if (bytes > SUBMODI_MPI_MOST) {
        return gather_large(c, mine, bytes, all);
    }
    int count = (int)bytes;
    int code = MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, c->mpi);
    return code == MPI_SUCCESS ? 0 : fail("MPI_Allgather", code);
}

/* ---- making one ---- */

static submod_status check_arguments(MPI_Comm mpi, submod_comm *const *comm)
{
    int begun = 0, ended = 0, inter = 0;
    if (!comm) {
        return submod_fail(SUBMOD_EINVAL, "submod_mpi_comm_create: comm is NULL");
    }
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (!begun || ended) {
        return submod_fail(SUBMOD_EINVAL, "submod_mpi_comm_create: MPI must be running: call it "
                                          "after MPI_Init and before MPI_Finalize");
    }
    if (mpi == MPI_COMM_NULL) {
        return submod_fail(SUBMOD_EINVAL, "submod_mpi_comm_create: mpi is MPI_COMM_NULL");
    }
    int code = MPI_Comm_test_inter(mpi, &inter);
    if (code != MPI_SUCCESS) {
        return fail("submod_mpi_comm_create: MPI_Comm_test_inter", code);
    }
    return inter ? submod_fail(SUBMOD_EINVAL, "submod_mpi_comm_create: mpi must have one group of "
                                              "ranks; merge it by MPI_Intercomm_merge first")
                 : SUBMOD_OK;
}

/* The caller's communicator may be one where errors end the process. It is not while this lasts. */
static int duplicate(MPI_Comm theirs, MPI_Comm *own)
{
    MPI_Errhandler handler;
    int code = MPI_Comm_get_errhandler(theirs, &handler);
    if (code != MPI_SUCCESS) {
        return code;
    }
    MPI_Comm_set_errhandler(theirs, MPI_ERRORS_RETURN);
    code = MPI_Comm_dup(theirs, own);
    MPI_Comm_set_errhandler(theirs, handler);
    MPI_Errhandler_free(&handler);
    return code == MPI_SUCCESS ? MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN) : code;
}

/* NULL when memory runs out. */
static channel *allocate(int rank, int ranks)
{
    channel *c = malloc(sizeof *c);
    if (!c) {
        return NULL;
    }
    c->comm = submod_comm_alone();
    c->comm.context = c;
    c->comm.rank = rank;
    c->comm.ranks = ranks;
    c->comm.sum = sum;
    c->comm.gather = gather;
    return c;
}

/* Makes the channel on all ranks, or on none. */
static submod_status open_channel(MPI_Comm mpi, channel **made)
{
    int rank = 0, ranks = 1;
    MPI_Comm_rank(mpi, &rank);
    MPI_Comm_size(mpi, &ranks);
    channel *c = allocate(rank, ranks);
    int all_have = c != NULL;
    int code = MPI_Allreduce(MPI_IN_PLACE, &all_have, 1, MPI_INT, MPI_MIN, mpi);
    if (code != MPI_SUCCESS || !all_have) {
        free(c);
        return code != MPI_SUCCESS
                   ? fail("submod_mpi_comm_create: MPI_Allreduce", code)
                   : submod_fail(SUBMOD_ENOMEM, "submod_mpi_comm_create: out of memory on a rank");
    }
    c->mpi = mpi;
    *made = c;
    return SUBMOD_OK;
}

submod_status submod_mpi_comm_create(MPI_Comm mpi, submod_comm **comm)
{
    submod_status status = check_arguments(mpi, comm);
    if (status) {
        return status;
    }
    MPI_Comm own = MPI_COMM_NULL;
    int code = duplicate(mpi, &own);
    if (code != MPI_SUCCESS) {
        return fail("submod_mpi_comm_create: MPI_Comm_dup", code);
    }
    channel *made = NULL;
    status = open_channel(own, &made);
    if (status) {
        MPI_Comm_free(&own);
        return status;
    }
    *comm = &made->comm;
    return SUBMOD_OK;
}

void submod_mpi_comm_free(submod_comm *comm)
{
    if (!comm) {
        return;
    }
    channel *c = comm->context;
    int ended = 0;
    MPI_Finalized(&ended);
    if (!ended) {
        MPI_Comm_free(&c->mpi);
    }
    free(c);
}
