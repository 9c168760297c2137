/* Kernels from their source on fibers: the layer of device.h, over threads.h. */
#include <math.h>
#include <string.h>

#include "gpu/kernel_dataset.h"
#include "gpu/kernel_exact.h"
#include "gpu/kernel_few.h"
#include "gpu/kernel_global.h"
#include "gpu/kernel_gradient.h"
#include "gpu/kernel_hinge.h"
#include "gpu/kernel_labels.h"
#include "gpu/kernel_prox.h"
#include "kernels.h"
#include "threads.h"

/* ---- the layer under the kernels ---- */

uint32_t submodi_thread(void)
{
    return threads_self().thread;
}

uint32_t submodi_threads(void)
{
    return threads_self().threads;
}

uint32_t submodi_block(void)
{
    return threads_self().block;
}

uint32_t submodi_blocks(void)
{
    return threads_self().blocks;
}

void *submodi_shared(void)
{
    return threads_shared();
}

void submodi_barrier(const char *file, int line)
{
    threads_barrier(&(shim_site){file, line});
}

/* What is beyond the warp does harm. Lanes that meet in different shuffles wait for ever. */
typedef enum { UP, DOWN, TO_FIRST, BALLOT, OF_BARRIERS } shuffle_kind;

static uint64_t shuffle(shuffle_kind kind, uint64_t x, int64_t distance, uint64_t outside)
{
    int64_t lane = submodi_thread() % SUBMODI_WARP + distance;
    const uint64_t *of_warp = threads_meet(kind, x);
    return lane >= 0 && lane < SUBMODI_WARP ? of_warp[lane] : outside;
}

uint64_t submodi_shuffle_up(uint64_t x, uint32_t distance)
{
    return shuffle(UP, x, -(int64_t)distance, UINT64_C(0xdeadbeefdeadbeef));
}

double submodi_shuffle_down(double x, uint32_t distance)
{
    const double nan = NAN;
    uint64_t bits, outside;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&outside, &nan, sizeof outside);
    bits = shuffle(DOWN, bits, distance, outside);
    memcpy(&x, &bits, sizeof bits);
    return x;
}

uint64_t submodi_shuffle_first(uint64_t x)
{
    return shuffle(TO_FIRST, x, -(int64_t)(submodi_thread() % SUBMODI_WARP), 0);
}

uint32_t submodi_ballot(bool yes)
{
    const uint64_t *of_warp = threads_meet(BALLOT, yes);
    uint32_t all = 0;
    for (uint32_t lane = 0; lane < SUBMODI_WARP; lane++) {
        all |= (uint32_t)of_warp[lane] << lane;
    }
    return all;
}

void submodi_warp_barrier(const char *file, int line)
{
    threads_warp_barrier(&(shim_site){file, line}, OF_BARRIERS + (uint32_t)line);
}

float submodi_multiply_add(float a, float b, float c)
{
    static shim_rounding of_cpu = SHIM_AS_CPU; /* not asked yet */
    if (of_cpu == SHIM_AS_CPU) {
        of_cpu = shim_cpu_rounding();
    }
    shim_rounding rounding = shim.rounding == SHIM_AS_CPU ? of_cpu : shim.rounding;
    return rounding == SHIM_ONCE ? fmaf(a, b, c) : a * b + c;
}

uint32_t submodi_atomic_add(uint32_t *to, uint32_t x)
{
    uint32_t before = *to;
    *to += x;
    threads_maybe_give_way();
    return before;
}

void submodi_atomic_add64(uint64_t *to, uint64_t x)
{
    *to += x;
    threads_maybe_give_way();
}

void submodi_atomic_max(uint32_t *to, uint32_t x)
{
    *to = x > *to ? x : *to;
    threads_maybe_give_way();
}

void submodi_atomic_min64(uint64_t *to, uint64_t x)
{
    *to = x < *to ? x : *to;
    threads_maybe_give_way();
}

/* ---- the table ---- */

static void (*const kernels[])(const submodi_gpu_job *job) = {
#define SUBMODI_GPU_NAME(name) submodi_gpu_kernel_##name,
    SUBMODI_GPU_KERNELS(SUBMODI_GPU_NAME)
#undef SUBMODI_GPU_NAME
};

typedef struct call {
    void (*kernel)(const submodi_gpu_job *job);
    submodi_gpu_job job;
} call;

static void run(const void *argument)
{
    const call *c = argument;
    c->kernel(&c->job);
}

const char *kernels_run(submodi_gpu_kernel kernel, uint32_t blocks, uint32_t threads, size_t shared,
                        const submodi_gpu_job *job)
{
    call c = {kernels[kernel], *job};
    return threads_run(&(threads_launch){run, &c, blocks, threads, shared});
}
