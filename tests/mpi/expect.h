/* What the tests under mpirun share: a check that ends the whole job, so that no rank waits for one
 * that has failed. */
#ifndef SUBMOD_TESTS_EXPECT_H
#define SUBMOD_TESTS_EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod.h>
#include <submod/mpi.h>

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, \
                    submod_last_error()); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
            exit(1); \
        } \
    } while (0)

/* The status is `wanted`, and the error message contains `words`. */
#define EXPECT_ERROR(call, wanted, words) \
    do { \
        EXPECT((call) == (wanted)); \
        EXPECT(strstr(submod_last_error(), words)); \
    } while (0)

#endif
