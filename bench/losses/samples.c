/* Times, the best and the middle one of them, and the rate of the core's clock. */
#include "losses/samples.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void samples_add(samples *s, double start)
{
    if (s->count < MOST_SAMPLES) {
        s->seconds[s->count++] = seconds() - start;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double samples_median(const samples *s)
{
    samples sorted = *s;
    size_t n = (size_t)s->count;
    qsort(sorted.seconds, n, sizeof sorted.seconds[0], ascending);
    return (sorted.seconds[(n - 1) / 2] + sorted.seconds[n / 2]) / 2;
}

double samples_best(const samples *s)
{
    double best = s->seconds[0];
    for (int i = 1; i < s->count; i++) {
        best = s->seconds[i] < best ? s->seconds[i] : best;
    }
    return best;
}

double clock_rate(void)
{
    enum { STEPS = 1000000, UNROLLED = 8 };
    /* Not a constant: some CPUs add constants on the way, in no time. */
    volatile uint64_t unknown = 3;
    uint64_t step = unknown;
    uint64_t sum = 0;
    double start = seconds();
    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; k < UNROLLED; k++) {
            sum += step;
            __asm__ volatile("" : "+r"(sum)); /* one by one */
        }
    }
    return STEPS * (double)UNROLLED / (seconds() - start);
}
