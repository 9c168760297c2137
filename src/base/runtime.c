/* Threads, polling, time, and the choice of the instruction set. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/internal.h"
#include "base/isa.h"

/* ---- threads ---- */

/* After a fork, a thread's OpenMP team stays in the parent, and the child's next parallel section
 * would wait for it forever. So the child of a thread that had a team computes with one thread. */

static const size_t worth_it = (size_t)1 << 16; /* 0.1 ms of work, ten times the start-up */

static atomic_int requested;        /* 0 means that OpenMP decides */
static atomic_size_t parallel_from; /* 0 means worth_it */
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
    atomic_store(&requested, threads < SUBMODI_MOST_THREADS ? threads : SUBMODI_MOST_THREADS);
    return SUBMOD_OK;
}

int submod_get_num_threads(void)
{
#ifdef _OPENMP
    int threads = atomic_load_explicit(&requested, memory_order_relaxed);
    threads = threads ? threads : omp_get_max_threads();
    return alone ? 1 : threads < SUBMODI_MOST_THREADS ? threads : SUBMODI_MOST_THREADS;
#else
    return 1;
#endif
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

void submodi_run_parts(size_t parts, size_t n,
                       void (*run)(void *ctx, size_t part, size_t begin, size_t end), void *ctx)
{
    if (parts == 1) {
        run(ctx, 0, 0, n);
        return;
    }
#pragma omp parallel for num_threads((int)parts)
    for (size_t t = 0; t < parts; t++) {
        run(ctx, t, n * t / parts, n * (t + 1) / parts);
    }
}

void submodi_set_parallel_from(size_t items)
{
    atomic_store(&parallel_from, items);
}

size_t submodi_parallel_count(void)
{
    return atomic_load(&parallel_count);
}

/* ---- polling ---- */

static _Thread_local submodi_poll current_poll;

void submod_set_poll(int (*poll)(void *ctx), void *ctx)
{
    current_poll = (submodi_poll){poll, ctx};
}

submodi_poll submodi_get_poll(void)
{
    return current_poll;
}

int submod_poll(void)
{
    return submodi_cancelled();
}

/* ---- time ---- */

double submodi_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double submodi_deadline(double time_limit)
{
    return time_limit > 0 ? submodi_seconds() + time_limit : INFINITY;
}

submod_status submodi_stop(double deadline)
{
    if (deadline < INFINITY && submodi_seconds() >= deadline) {
        return SUBMOD_TIMELIMIT;
    }
    return submodi_cancelled() ? SUBMOD_CANCELLED : SUBMOD_OK;
}

/* ---- instruction set ---- */

static const char *const isa_names[] = {"baseline", "avx2", "avx512"};

/* Returns the largest instruction set that this machine and its system can run. The features tested
 * are those that SubmodLoops.cmake compiles with. */
static submodi_isa largest_isa(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
    if (avx2) {
        return avx512 ? SUBMODI_AVX512 : SUBMODI_AVX2;
    }
#endif
    return SUBMODI_BASELINE;
}

static atomic_int chosen_isa = -1; /* not yet */

void submodi_isa_choose(const char *bound)
{
    int chosen = (int)largest_isa();
    for (int i = 0; bound && i < chosen; i++) {
        chosen = strcmp(bound, isa_names[i]) == 0 ? i : chosen;
    }
    atomic_store_explicit(&chosen_isa, chosen, memory_order_relaxed);
}

submodi_isa submodi_isa_in_use(void)
{
    int isa = atomic_load_explicit(&chosen_isa, memory_order_relaxed);
    if (isa < 0) { /* threads that arrive together choose the same */
        submodi_isa_choose(getenv("SUBMOD_ISA"));
        isa = atomic_load_explicit(&chosen_isa, memory_order_relaxed);
    }
    return (submodi_isa)isa;
}

const char *submod_isa(void)
{
    return isa_names[submodi_isa_in_use()];
}
