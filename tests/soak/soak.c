/* Mixed calls from several threads for a long time: results stay what a single thread found in the
 * beginning, and memory stays flat.
 *
 *     submod-soak MINUTES THREADS
 *
 * Prints a line every ten seconds, and ends with status 1 when a call has failed or found something
 * else, when the library has kept an allocation, or when the process has grown by more than 32 MiB
 * since the first sixth of the time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

enum { SIDE = 192, MOST_THREADS = 64, ROOM = 32 << 20, PAUSE = 10 };

/* ---- memory ---- */

static atomic_long live; /* allocations of the library */

static void *counted_alloc(size_t alignment, size_t size)
{
    void *memory = aligned_alloc(alignment, size);
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

static void counted_free(void *memory)
{
    atomic_fetch_sub(&live, memory != NULL);
    free(memory);
}

/* Bytes of this process in memory; 0 where the system does not say. */
static long resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%*s %ld", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE);
}

/* ---- callers ---- */

static call_data *data;
static call_sites sites;
static digest *alone;
static atomic_bool stop;
static atomic_ulong calls, wrong;

static void complain(size_t k, submod_status status)
{
    char name[CALL_NAME];
    call_site_name(&sites.at[k], name);
    atomic_fetch_add(&wrong, 1);
    fprintf(stderr, "soak: %s: %s\n", name, status < 0 ? submod_last_error() : "another result");
}

/* A call that must be refused, between the others. */
static void be_refused(void)
{
    double value = 7;
    if (submod_lovasz(data->subjects[0].fn, NULL, &value, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL) !=
            SUBMOD_EINVAL ||
        value != 7) {
        atomic_fetch_add(&wrong, 1);
        fprintf(stderr, "soak: bad input was taken\n");
    }
}

static void *call_on(void *context)
{
    submod_rng rng;
    submod_work *work = NULL;
    submod_rng_seed(&rng, *(const uint64_t *)context);
    while (!atomic_load(&stop)) {
        size_t k = submod_rng_below(&rng, sites.count);
        if (submod_rng_below(&rng, 50) == 0) { /* a new workspace now and then */
            submod_work_free(work);
            work = NULL;
            be_refused();
        }
        if (!work && submod_work_create(&work)) {
            complain(k, SUBMOD_ENOMEM);
            break;
        }
        submod_work *mine = submod_rng_below(&rng, 2) ? work : NULL;
        call_result r = call_make(&sites.at[k], data, mine, -1);
        if (r.bits != alone[k]) {
            complain(k, r.status);
        }
        atomic_fetch_add(&calls, 1);
    }
    submod_work_free(work);
    return NULL;
}

static bool prepare(void)
{
    const submod_allocator counted = {counted_alloc, counted_free};
    data = submod_set_allocator(&counted) == SUBMOD_OK ? call_data_new(SIDE, 0) : NULL;
    if (!data) {
        return false;
    }
    sites = call_sites_new(data, false);
    alone = malloc(sites.count * sizeof *alone);
    for (size_t k = 0; alone && k < sites.count; k++) {
        call_result r = call_make(&sites.at[k], data, NULL, -1);
        alone[k] = r.bits;
        if (r.status < 0) {
            return false;
        }
    }
    return alone != NULL;
}

/* Prints how things are until the time is up; the growth since the first sixth. */
static long watch(double minutes)
{
    struct timespec pause = {.tv_sec = PAUSE};
    long rounds = (long)(minutes * 60 / PAUSE), start = 0, most = 0;
    rounds = rounds < 6 ? 6 : rounds;
    printf("seconds\tcalls\twrong\tlive allocations\tresident MiB\n");
    for (long round = 1; round <= rounds; round++) {
        nanosleep(&pause, NULL);
        long now = resident();
        start = round <= rounds / 6 && now > start ? now : start;
        most = now > most ? now : most;
        printf("%ld\t%lu\t%lu\t%ld\t%.1f\n", round * PAUSE, atomic_load(&calls),
               atomic_load(&wrong), atomic_load(&live), (double)now / (1 << 20));
        fflush(stdout);
    }
    return most - start;
}

int main(int argc, char **argv)
{
    double minutes = argc > 1 ? atof(argv[1]) : 60;
    size_t threads = argc > 2 ? (size_t)atoi(argv[2]) : 4;
    pthread_t thread[MOST_THREADS];
    uint64_t seed[MOST_THREADS];
    if (threads < 1 || threads > MOST_THREADS || !prepare()) {
        fprintf(stderr, "soak: cannot start: %s\n", submod_last_error());
        return 2;
    }
    long before = atomic_load(&live);
    for (size_t i = 0; i < threads; i++) {
        seed[i] = i;
        if (pthread_create(&thread[i], NULL, call_on, &seed[i])) {
            fprintf(stderr, "soak: no more threads\n");
            return 2;
        }
    }
    long growth = watch(minutes);
    atomic_store(&stop, true);
    for (size_t i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
    }
    long kept = atomic_load(&live) - before;
    printf("soak: %zu threads, %lu calls of %zu kinds, %lu wrong; %ld allocations kept; grown by "
           "%.1f MiB "
           "since the first sixth\n",
           threads, atomic_load(&calls), sites.count, atomic_load(&wrong), kept,
           (double)growth / (1 << 20));
    call_sites_free(&sites);
    call_data_free(data);
    free(alone);
    return atomic_load(&wrong) || kept || growth > ROOM;
}
