/* A program outside this project, under mpirun: exit code 0 if the ranks reach each other. */
#include <stdio.h>
#include <submod/mpi.h>

int main(int argc, char **argv)
{
    int provided;
    submod_comm *comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    if (submod_mpi_comm_create(MPI_COMM_WORLD, &comm)) {
        fprintf(stderr, "%s\n", submod_last_error());
        return 1;
    }
    int32_t sum = comm->rank + 1;
    int failed = comm->sum(comm->context, &sum, SUBMOD_COMM_I32, 1);
    int wrong = failed || sum != comm->ranks * (comm->ranks + 1) / 2;
    submod_mpi_comm_free(comm);
    MPI_Finalize();
    return wrong;
}
