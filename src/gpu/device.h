/* The thin layer under all kernels: which thread am I, barriers, shuffles, atomics, shared memory.
 *
 * Kernels are functions of this layer and of one job, in the common subset of C11 and CUDA C++.
 * nvcc compiles them for devices (cuda.cu); a C compiler compiles the same source over functions
 * that a test defines, where every thread of a block is a fiber (tests/gpu/threads.h).
 *
 * SUBMODI_BARRIER must be reached by all threads of the block, a shuffle, a ballot and
 * SUBMODI_WARP_BARRIER by all of the warp. Barriers order memory: what was written before is seen
 * by the others after. Shuffles and ballots move registers and order nothing.
 */
#ifndef SUBMODI_GPU_DEVICE_H
#define SUBMODI_GPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__

#define SUBMODI_DEVICE static __device__ __forceinline__
#define SUBMODI_KERNEL static __device__ __forceinline__
#define SUBMODI_BARRIER() __syncthreads()
#define SUBMODI_WARP_BARRIER() __syncwarp()
#define SUBMODI_UNROLL _Pragma("unroll")

SUBMODI_DEVICE uint32_t submodi_thread(void)
{
    return threadIdx.x;
}
SUBMODI_DEVICE uint32_t submodi_threads(void)
{
    return blockDim.x;
}
SUBMODI_DEVICE uint32_t submodi_block(void)
{
    return blockIdx.x;
}
SUBMODI_DEVICE uint32_t submodi_blocks(void)
{
    return gridDim.x;
}
/* The block's dynamic shared memory, aligned to 16 bytes. */
SUBMODI_DEVICE void *submodi_shared(void)
{
    extern __shared__ int4 submodi_shared_memory[];
    return submodi_shared_memory;
}
/* x of the lane `distance` below or above in the warp; any value where there is none. */
SUBMODI_DEVICE uint64_t submodi_shuffle_up(uint64_t x, uint32_t distance)
{
    return __shfl_up_sync(0xffffffffU, (unsigned long long)x, distance);
}
SUBMODI_DEVICE double submodi_shuffle_down(double x, uint32_t distance)
{
    return __shfl_down_sync(0xffffffffU, x, distance);
}
/* x of the warp's first lane. */
SUBMODI_DEVICE uint64_t submodi_shuffle_first(uint64_t x)
{
    return __shfl_sync(0xffffffffU, (unsigned long long)x, 0);
}
/* Bit k: what lane k of the warp says. */
SUBMODI_DEVICE uint32_t submodi_ballot(bool yes)
{
    return __ballot_sync(0xffffffffU, yes);
}
/* Returns what was there before. */
SUBMODI_DEVICE uint32_t submodi_atomic_add(uint32_t *to, uint32_t x)
{
    return atomicAdd(to, x);
}
SUBMODI_DEVICE void submodi_atomic_add64(uint64_t *to, uint64_t x)
{
    atomicAdd((unsigned long long *)to, (unsigned long long)x);
}
SUBMODI_DEVICE void submodi_atomic_max(uint32_t *to, uint32_t x)
{
    atomicMax(to, x);
}
SUBMODI_DEVICE void submodi_atomic_min64(uint64_t *to, uint64_t x)
{
    atomicMin((unsigned long long *)to, (unsigned long long)x);
}

#else

#define SUBMODI_DEVICE static inline
#define SUBMODI_KERNEL static
/* Barriers have names in tests, which leave out one after the other. */
#define SUBMODI_BARRIER() submodi_barrier(__FILE__, __LINE__)
#define SUBMODI_WARP_BARRIER() submodi_warp_barrier(__FILE__, __LINE__)
#define SUBMODI_UNROLL

uint32_t submodi_thread(void);
uint32_t submodi_threads(void);
uint32_t submodi_block(void);
uint32_t submodi_blocks(void);
void *submodi_shared(void);
void submodi_barrier(const char *file, int line);
uint64_t submodi_shuffle_up(uint64_t x, uint32_t distance);
double submodi_shuffle_down(double x, uint32_t distance);
uint64_t submodi_shuffle_first(uint64_t x);
uint32_t submodi_ballot(bool yes);
void submodi_warp_barrier(const char *file, int line);
uint32_t submodi_atomic_add(uint32_t *to, uint32_t x);
void submodi_atomic_add64(uint64_t *to, uint64_t x);
void submodi_atomic_max(uint32_t *to, uint32_t x);
void submodi_atomic_min64(uint64_t *to, uint64_t x);

#endif

#endif
