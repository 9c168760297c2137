/* The functions of submod/mpi.h, each rank against what it can compute by itself. Run with 1 to 4
 * ranks, and once more with the pieces of a message cut to a few bytes (CMakeLists.txt here). */
#include "expect.h"

enum { COUNT = 23 };

/* What rank r has at place i. */
static int32_t number(int r, size_t i)
{
    return (int32_t)(1000 * r) - (int32_t)(7 * i);
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    EXPECT(memory);
    return memory;
}

static void expect_sums(const submod_comm *comm, const int32_t *small, const double *large)
{
    for (size_t i = 0; i < COUNT; i++) {
        int64_t expected = 0;
        for (int r = 0; r < comm->ranks; r++) {
            expected += number(r, i);
        }
        EXPECT(small[i] == expected);
        EXPECT(large[i] == 0x1p40 * (double)expected);
    }
    EXPECT(small[COUNT] == -1 && large[COUNT] == -1);
}

static void fill(const submod_comm *comm, int32_t *small, double *large)
{
    for (size_t i = 0; i < COUNT; i++) {
        small[i] = number(comm->rank, i);
        large[i] = 0x1p40 * number(comm->rank, i);
    }
    small[COUNT] = -1;
    large[COUNT] = -1;
}

static void sums(const submod_comm *comm)
{
    int32_t small[COUNT + 1];
    double large[COUNT + 1];
    fill(comm, small, large);
    EXPECT(comm->sum(comm->context, small, SUBMOD_COMM_I32, COUNT) == 0);
    EXPECT(comm->sum(comm->context, large, SUBMOD_COMM_F64, COUNT) == 0);
    expect_sums(comm, small, large);
    EXPECT(comm->sum(comm->context, NULL, SUBMOD_COMM_F64, 0) == 0);
}

static void gathers(const submod_comm *comm)
{
    size_t ranks = (size_t)comm->ranks;
    for (size_t bytes = 0; bytes <= COUNT; bytes++) {
        unsigned char mine[COUNT], *all = allocate(ranks * bytes);
        for (size_t i = 0; i < COUNT; i++) {
            mine[i] = (unsigned char)number(comm->rank, i);
        }
        all[ranks * bytes] = 77;
        EXPECT(comm->gather(comm->context, mine, bytes, all) == 0);
        for (size_t r = 0; r < ranks; r++) {
            for (size_t i = 0; i < bytes; i++) {
                EXPECT(all[r * bytes + i] == (unsigned char)number((int)r, i));
            }
        }
        EXPECT(all[ranks * bytes] == 77);
        free(all);
    }
}

/* MPI refuses this address on each rank, before it sends anything. */
static void errors_come_with_words_of_mpi(MPI_Comm mpi)
{
    submod_comm *comm;
    char mine[4] = "abc";
    EXPECT(submod_mpi_comm_create(mpi, &comm) == SUBMOD_OK);
    EXPECT_ERROR(comm->gather(comm->context, mine, sizeof mine, MPI_IN_PLACE), SUBMOD_ECOMM,
                 "MPI_Allgather: MPI_ERR_ARG");
    submod_mpi_comm_free(comm);
}

static void expect_fatal_still(MPI_Comm mpi)
{
    MPI_Errhandler handler;
    EXPECT(MPI_Comm_get_errhandler(mpi, &handler) == MPI_SUCCESS);
    EXPECT(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

static void refuses_what_is_no_group_of_ranks(int rank, int ranks)
{
    submod_comm *comm = NULL;
    EXPECT_ERROR(submod_mpi_comm_create(MPI_COMM_WORLD, NULL), SUBMOD_EINVAL, "comm is NULL");
    EXPECT_ERROR(submod_mpi_comm_create(MPI_COMM_NULL, &comm), SUBMOD_EINVAL, "MPI_COMM_NULL");
    if (ranks > 1) {
        MPI_Comm half, inter;
        MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 5, &inter);
        EXPECT_ERROR(submod_mpi_comm_create(inter, &comm), SUBMOD_EINVAL, "one group");
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    EXPECT(comm == NULL);
}

/* The caller's own messages, of any source and tag, are not met by those of the comm. */
static void everything(MPI_Comm mpi, int world_rank)
{
    submod_comm *comm;
    int own = 0, wildcard = -1, rank, ranks;
    MPI_Request request;
    MPI_Comm_rank(mpi, &rank);
    MPI_Comm_size(mpi, &ranks);
    MPI_Irecv(&wildcard, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, mpi, &request);
    EXPECT(submod_mpi_comm_create(mpi, &comm) == SUBMOD_OK);
    EXPECT(comm->rank == rank && comm->ranks == ranks);
    sums(comm);
    gathers(comm);
    submod_mpi_comm_free(comm);
    own = 12345 + world_rank;
    MPI_Send(&own, 1, MPI_INT, rank, 3, mpi);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(wildcard == own);
}

int main(int argc, char **argv)
{
    submod_comm *comm = NULL, *late = NULL;
    int provided, rank, ranks;
    /* EXPECT cannot end the job yet; a wrong status is kept until it can. */
    submod_status early = submod_mpi_comm_create(MPI_COMM_WORLD, &comm);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    EXPECT(early == SUBMOD_EINVAL && strstr(submod_last_error(), "after MPI_Init"));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    MPI_Comm parity;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &parity);
    everything(MPI_COMM_WORLD, rank);
    everything(parity, rank);
    MPI_Comm_free(&parity);
    expect_fatal_still(MPI_COMM_WORLD);
    refuses_what_is_no_group_of_ranks(rank, ranks);
    errors_come_with_words_of_mpi(MPI_COMM_WORLD);
    submod_mpi_comm_free(NULL);

    EXPECT(submod_mpi_comm_create(MPI_COMM_WORLD, &late) == SUBMOD_OK);
    MPI_Finalize();
    submod_mpi_comm_free(late);
    return submod_mpi_comm_create(MPI_COMM_WORLD, &comm) == SUBMOD_EINVAL ? 0 : 1;
}
