/* What the threads of a block do together: scans and sums, in an order that is always the same.
 * The number of threads is a multiple of the warp, at most 1024. scratch is shared memory of
 * SUBMODI_BLOCK_SCRATCH bytes. Others may follow a scan at once; after a sum a barrier has to come
 * before scratch is used again. */
#ifndef SUBMODI_GPU_BLOCK_H
#define SUBMODI_GPU_BLOCK_H

#include "gpu/device.h"
#include "gpu/job.h"

SUBMODI_DEVICE uint32_t submodi_lane(void)
{
    return submodi_thread() % SUBMODI_WARP;
}

/* The sum of x over the threads before this one; *total that over all. */
SUBMODI_DEVICE uint64_t submodi_block_scan(uint64_t x, uint64_t *scratch, uint64_t *total)
{
    uint32_t lane = submodi_lane();
    uint32_t warp = submodi_thread() / SUBMODI_WARP;
    uint32_t warps = submodi_threads() / SUBMODI_WARP;
    uint64_t sum = x; /* of this warp's lanes up to this one */
    for (uint32_t d = 1; d < SUBMODI_WARP; d *= 2) {
        uint64_t below = submodi_shuffle_up(sum, d);
        sum += lane >= d ? below : 0;
    }
    uint64_t *before = scratch + SUBMODI_WARP; /* of each warp, then the total */
    if (lane == SUBMODI_WARP - 1) {
        scratch[warp] = sum;
    }
    SUBMODI_BARRIER();
    if (warp == 0) {
        uint64_t of_warp = lane < warps ? scratch[lane] : 0;
        uint64_t upto = of_warp;
        for (uint32_t d = 1; d < SUBMODI_WARP; d *= 2) {
            uint64_t below = submodi_shuffle_up(upto, d);
            upto += lane >= d ? below : 0;
        }
        before[lane] = upto - of_warp;
        if (lane == SUBMODI_WARP - 1) {
            before[SUBMODI_WARP] = upto;
        }
    }
    SUBMODI_BARRIER();
    /* The next scan or sum may follow without a barrier: until its own first one, nobody writes
     * what is read here. */
    *total = before[SUBMODI_WARP];
    return before[warp] + sum - x;
}

/* The sum of x over the threads before this one, added up in their order; *total that over all.
 * shared: a number per thread. */
SUBMODI_DEVICE double submodi_block_scan_doubles(double x, double *shared, double *total)
{
    shared[submodi_thread()] = x;
    SUBMODI_BARRIER();
    double before = 0;
    *total = 0;
    for (uint32_t t = 0; t < submodi_threads(); t++) {
        before = t == submodi_thread() ? *total : before;
        *total += shared[t];
    }
    return before;
}

/* The sum of x over all threads, for thread 0; the others get something else. */
SUBMODI_DEVICE double submodi_block_sum(double x, double *scratch)
{
    uint32_t lane = submodi_lane();
    uint32_t warp = submodi_thread() / SUBMODI_WARP;
    uint32_t warps = submodi_threads() / SUBMODI_WARP;
    for (uint32_t d = SUBMODI_WARP / 2; d > 0; d /= 2) {
        x += submodi_shuffle_down(x, d);
    }
    if (lane == 0) {
        scratch[warp] = x;
    }
    SUBMODI_BARRIER();
    double sum = 0;
    for (uint32_t w = 0; submodi_thread() == 0 && w < warps; w++) {
        sum += scratch[w];
    }
    return sum;
}

#endif
