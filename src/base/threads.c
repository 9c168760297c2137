#include <omp.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/threads.h"

enum { MOST_THREADS = 256 };

static atomic_int wanted; /* 0: OpenMP decides */

submod_status submod_set_num_threads(int threads)
{
    if (threads < 0) {
        return submodi_fail(SUBMOD_EINVAL, "submod_set_num_threads: %d is negative", threads);
    }
    atomic_store(&wanted, threads < MOST_THREADS ? threads : MOST_THREADS);
    return SUBMOD_OK;
}

int submod_get_num_threads(void)
{
    int threads = atomic_load(&wanted);
    threads = threads ? threads : omp_get_max_threads();
    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

int submodi_threads_for(size_t items)
{
    const size_t worth_it = (size_t)1 << 16; /* some 0.1 ms of work, ten times the start-up */
    return items < worth_it ? 1 : submod_get_num_threads();
}
