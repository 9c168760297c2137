/* Ranks of MPI for submod/dist.h. Library submod_mpi; libsubmod itself does not know MPI, and
 * <submod.h> does not include this header.
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
 *     submod_comm *comm;
 *     status = submod_mpi_comm_create(MPI_COMM_WORLD, &comm);
 *     status = submod_dist_lovasz_softmax(comm, &scores, &labels, &loss, ..);
 *     submod_mpi_comm_free(comm);
 *     MPI_Finalize();
 *
 * Threads: MPI is called from the thread that calls the library, from no other, while the library
 * computes with threads of its own. MPI_THREAD_FUNNELED is enough when that is the main thread.
 *
 * Sizes: more than 2^31 - 1 numbers or bytes go in several pieces.
 *
 * Errors: a function of MPI that fails makes the call of dist.h fail with SUBMOD_ECOMM and MPI's
 * words. When a process dies, though, most MPIs end the whole job: docs/scale.md. */
#ifndef SUBMOD_MPI_H
#define SUBMOD_MPI_H

#include <mpi.h>

#include <submod/dist.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ranks of an MPI communicator. Collective: every rank of mpi calls it. mpi is duplicated, so
 * that messages here never meet the caller's own; errors in the duplicate are returned, whatever is
 * set for mpi. *comm and copies of what it points to can be used until submod_mpi_comm_free.
 * SUBMOD_EINVAL: comm is NULL, mpi is MPI_COMM_NULL or an inter-communicator, or it is before
 * MPI_Init or after MPI_Finalize. SUBMOD_ENOMEM, on all ranks: a rank has no memory. SUBMOD_ECOMM:
 * MPI has failed. */
SUBMOD_API submod_status submod_mpi_comm_create(MPI_Comm mpi, submod_comm **comm);

/* Collective, as MPI_Comm_free is. Accepts NULL. After MPI_Finalize it
 * frees what is left. */
SUBMOD_API void submod_mpi_comm_free(submod_comm *comm);

#ifdef __cplusplus
}
#endif

#endif
