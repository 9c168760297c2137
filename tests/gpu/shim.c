/* A backend on the CPU: launches on fibers, memory of the host, a sort of its own. */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "kernels.h"
#include "loss/activation_loops.h"
#include "threads.h"

/* a * a = 1 + 2^-12 + 2^-26, and the last term is lost when the product is rounded. The mean of the
 * softmax's derivative shows in a third class, which adds nothing to it. */
shim_rounding shim_cpu_rounding(void)
{
    const float a = 1 + 0x1p-13F;
    float p[3 * SUBMODI_LANES] = {0}, g[3 * SUBMODI_LANES] = {0}, d[3 * SUBMODI_LANES];
    const submodi_rows_in from = {g, SUBMODI_LANES, 3, SUBMODI_LANES, NULL};
    const submodi_rows_out to = {.data = d, .stride = SUBMODI_LANES, .scale = 1};
    p[0] = -(1 + 0x1p-12F);
    g[0] = 1;
    p[SUBMODI_LANES] = g[SUBMODI_LANES] = a;
    p[2 * SUBMODI_LANES] = 1;
    submodi_activations()->softmax_backward(p, SUBMODI_LANES, &from, &to);
    return d[2 * SUBMODI_LANES] < 0 ? SHIM_ONCE : SHIM_TWICE;
}

static bool used_shared[SUBMODI_GPU_KERNEL_COUNT];

bool shim_used_shared(int kernel)
{
    return used_shared[kernel];
}

static submod_status launch(const submodi_gpu_backend *b, submodi_gpu_kernel kernel,
                            uint32_t blocks, uint32_t threads, size_t shared,
                            const submodi_gpu_job *job)
{
    (void)b;
    if (threads == 0 || threads % SUBMODI_WARP != 0 || threads > MOST_THREADS ||
        shared > MOST_SHARED || blocks == 0) {
        return submodi_fail(SUBMOD_ENUMERIC, "kernel %d with %u threads, %zu bytes", (int)kernel,
                            (unsigned)threads, shared);
    }
    used_shared[kernel] |= shared > 0;
    const char *wrong =
        kernels_run(kernel, blocks, threads, (int)kernel == shim.starved ? 0 : shared, job);
    return wrong ? submodi_fail(SUBMOD_ENUMERIC, "kernel %d: %s", (int)kernel, wrong) : SUBMOD_OK;
}

static submod_status clear(const submodi_gpu_backend *b, void *memory, size_t bytes)
{
    (void)b;
    memset(memory, 0, bytes);
    return SUBMOD_OK;
}

static submod_status upload(const submodi_gpu_backend *b, double *to, const double *from, size_t n)
{
    (void)b;
    memcpy(to, from, n * sizeof *to);
    return SUBMOD_OK;
}

/* One bit per pass, stable. */
static submod_status own_sort(const submodi_gpu_sort *s, int32_t *current)
{
    int at = 0;
    for (int bit = 0; bit < s->bits; bit++, at = 1 - at) {
        size_t to = 0;
        for (uint64_t digit = 0; digit < 2; digit++) {
            for (size_t i = 0; i < s->n; i++) {
                uint64_t key = s->wide ? ((uint64_t *)s->key[at])[i] : ((uint32_t *)s->key[at])[i];
                if ((key >> bit & 1) != digit) {
                    continue;
                }
                if (s->wide) {
                    ((uint64_t *)s->key[1 - at])[to] = key;
                } else {
                    ((uint32_t *)s->key[1 - at])[to] = (uint32_t)key;
                }
                s->position[1 - at][to++] = s->position[at][i];
            }
        }
    }
    *current = at;
    return SUBMOD_OK;
}

static submod_status sort(const submodi_gpu_backend *b, const submodi_gpu_sort *s, int32_t *current)
{
    (void)b;
    if (s->scratch_bytes < submodi_gpu_sort_scratch(s->n)) {
        return submodi_fail(SUBMOD_ENOMEM, "scratch memory of a sort");
    }
    memset(s->scratch, 0x5a, s->scratch_bytes); /* it must be ours */
    return (shim.sort ? shim.sort : own_sort)(s, current);
}

submodi_gpu_backend shim_backend(void)
{
    return (submodi_gpu_backend){.launch = launch, .clear = clear, .upload = upload, .sort = sort};
}
