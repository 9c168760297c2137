/* The number of threads, also after a fork. A thread's OpenMP team stays behind in the parent, and
 * the child's next parallel section would wait for it for ever. So a thread that had a team when it
 * forked computes alone in the child. */
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/threads.h"

enum { MOST_THREADS = 256 };

static const size_t worth_it = (size_t)1 << 16; /* 0.1 ms of work, ten times the start-up */

static atomic_int wanted;           /* 0: OpenMP decides */
static atomic_size_t parallel_from; /* 0: worth_it */
static atomic_size_t parallel_count;

static _Thread_local bool has_team; /* this thread has run a parallel section */
static _Thread_local bool alone;    /* its team was lost in a fork */

static void after_fork_in_child(void)
{
    alone = has_team;
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork_in_child); /* fails only without memory */
}

submod_status submod_set_num_threads(int threads)
{
    if (threads < 0) {
        return submodi_fail(SUBMOD_EINVAL, "submod_set_num_threads: threads = %d must be >= 0",
                            threads);
    }
    atomic_store(&wanted, threads < MOST_THREADS ? threads : MOST_THREADS);
    return SUBMOD_OK;
}

int submod_get_num_threads(void)
{
    if (alone) {
        return 1;
    }
    int threads = atomic_load(&wanted);
    threads = threads ? threads : omp_get_max_threads();
    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

int submodi_threads_for(size_t items)
{
    size_t from = atomic_load_explicit(&parallel_from, memory_order_relaxed);
    int threads = items < (from ? from : worth_it) ? 1 : submod_get_num_threads();
    if (threads > 1) {
        atomic_fetch_add_explicit(&parallel_count, 1, memory_order_relaxed);
    }
    if (threads > 1 && !has_team) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        has_team = pthread_once(&once, watch_forks) == 0;
    }
    return threads;
}

void submodi_set_parallel_from(size_t items)
{
    atomic_store(&parallel_from, items);
}

size_t submodi_parallel_count(void)
{
    return atomic_load(&parallel_count);
}
