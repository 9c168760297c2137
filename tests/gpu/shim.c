/* A backend on the CPU: fibers as threads, their schedule, and the calls that kernels make. */
#include "shim.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "base/error.h"
#include "gpu/kernel_exact.h"
#include "gpu/kernel_gradient.h"
#include "gpu/kernel_labels.h"
#include "gpu/kernel_prox.h"

shim_options shim = {
    .order = SHIM_FIRST, .starved = SUBMODI_GPU_KERNEL_COUNT, .allocations_left = -1};

/* ---- fibers ---- */

enum { MOST_THREADS = 1024, STACK = 128 << 10, SHARED = 48 << 10, MOST_SITES = 64 };

/* Where a stack was left, and moving from one to another. swapcontext asks the system about signals
 * each time, which makes it slow; sanitizers understand nothing else. */
#if defined(__SANITIZE_ADDRESS__)
typedef ucontext_t place;

static void move(place *from, place *to)
{
    swapcontext(from, to);
}
#else
typedef struct place {
    jmp_buf buffer;
} place;

static void move(place *from, place *to)
{
    if (_setjmp(from->buffer) == 0) {
        _longjmp(to->buffer, 1);
    }
}
#endif

typedef enum { READY, AT_BARRIER, AT_SHUFFLE, DONE } state;

typedef enum { UP, DOWN, TO_FIRST } shuffle_kind;

typedef struct fiber {
    place place; /* where it goes on */
    state state;
    shim_site site;               /* of the barrier it waits at */
    shuffle_kind kind;            /* of the shuffle it waits at */
    uint64_t offered;             /* to it */
    uint64_t taken[SUBMODI_WARP]; /* what its warp offered */
} fiber;

static struct {
    fiber *fiber; /* MOST_THREADS, made once */
    char *stack;
    uint32_t threads, blocks, block;
    uint32_t current;
    place scheduler;
    void (*kernel)(const submodi_gpu_job *job);
    const submodi_gpu_job *job;
    uint64_t shared[SHARED / sizeof(uint64_t)];
} the;

static shim_site sites[MOST_SITES];
static size_t site_count;

/* To the scheduler, until it comes back. */
static void give_way(state why)
{
    fiber *f = &the.fiber[the.current];
    f->state = why;
    move(&f->place, &the.scheduler);
}

static void enter(void)
{
    for (;;) {
        give_way(DONE);
        the.kernel(the.job);
    }
}

static void go_on(uint32_t t)
{
    the.current = t;
    move(&the.scheduler, &the.fiber[t].place);
}

/* Stacks are made once; every thread then waits in `enter` for kernels. */
static void make_fibers(void)
{
    the.fiber = calloc(MOST_THREADS, sizeof *the.fiber);
    the.stack = malloc((size_t)MOST_THREADS * STACK);
    for (uint32_t t = 0; t < MOST_THREADS; t++) {
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = the.stack + (size_t)t * STACK;
        context.uc_stack.ss_size = STACK;
        context.uc_link = NULL;
        makecontext(&context, enter, 0);
        the.current = t;
#if defined(__SANITIZE_ADDRESS__)
        move(&the.scheduler, &context);
#else
        if (_setjmp(the.scheduler.buffer) == 0) {
            setcontext(&context);
        }
#endif
    }
}

/* The k-th of n in the order of the schedule. */
static uint32_t in_order(uint32_t k, uint32_t n, uint32_t turned)
{
    return shim.order == SHIM_LAST ? n - 1 - k : (k + turned) % n;
}

static uint32_t turn(uint32_t n)
{
    return shim.order == SHIM_RANDOM ? (uint32_t)submod_rng_below(&shim.rng, n) : 0;
}

/* Runs the ready threads of a warp once; lets all go on if they wait at a shuffle. Returns whether
 * something happened. */
static bool step_warp(uint32_t first)
{
    fiber *f = the.fiber + first;
    bool ran = false;
    uint32_t turned = turn(SUBMODI_WARP);
    for (uint32_t k = 0; k < SUBMODI_WARP; k++) {
        uint32_t lane = in_order(k, SUBMODI_WARP, turned);
        if (f[lane].state == READY) {
            go_on(first + lane);
            ran = true;
        }
    }
    for (uint32_t lane = 0; lane < SUBMODI_WARP; lane++) {
        if (f[lane].state != AT_SHUFFLE || f[lane].kind != f[0].kind) {
            return ran;
        }
    }
    for (uint32_t lane = 0; lane < SUBMODI_WARP; lane++) {
        for (uint32_t other = 0; other < SUBMODI_WARP; other++) {
            f[lane].taken[other] = f[other].offered;
        }
        f[lane].state = READY;
    }
    return true;
}

static bool same_site(const shim_site *a, const shim_site *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0;
}

/* Lets the block go on if all its threads wait at the same barrier. */
static bool release_block(void)
{
    for (uint32_t t = 0; t < the.threads; t++) {
        const fiber *f = &the.fiber[t];
        if (f->state != AT_BARRIER || !same_site(&f->site, &the.fiber[0].site)) {
            return false;
        }
    }
    for (uint32_t t = 0; t < the.threads; t++) {
        the.fiber[t].state = READY;
    }
    return true;
}

static bool is_done(void)
{
    for (uint32_t t = 0; t < the.threads; t++) {
        if (the.fiber[t].state != DONE) {
            return false;
        }
    }
    return true;
}

enum { RUBBISH = 0xa5 };

/* Whether the shared memory beyond that of the kernel is as it was. */
static bool is_untouched(size_t shared)
{
    const unsigned char *byte = (const unsigned char *)the.shared;
    size_t i = shared;
    while (i < SHARED && byte[i] == RUBBISH) {
        i++;
    }
    return i == SHARED;
}

/* A warp runs as far as it can before the next one does; in random order, they take turns. NULL, or
 * what is wrong. */
static const char *run_block(size_t shared)
{
    uint32_t warps = the.threads / SUBMODI_WARP;
    memset(the.shared, RUBBISH, sizeof the.shared);
    for (uint32_t t = 0; t < the.threads; t++) {
        the.fiber[t].state = READY;
    }
    while (!is_done()) {
        bool moved = false;
        uint32_t turned = turn(warps);
        for (uint32_t k = 0; k < warps; k++) {
            uint32_t first = in_order(k, warps, turned) * SUBMODI_WARP;
            while (step_warp(first)) {
                moved = true;
                if (shim.order == SHIM_RANDOM && submod_rng_below(&shim.rng, 2)) {
                    break;
                }
            }
        }
        if (!moved && !release_block()) {
            return "threads missed a barrier, or met in different shuffles";
        }
    }
    return is_untouched(shared) ? NULL : "more shared memory was used than asked for";
}

/* ---- the layer under the kernels ---- */

uint32_t submodi_thread(void)
{
    return the.current;
}

uint32_t submodi_threads(void)
{
    return the.threads;
}

uint32_t submodi_block(void)
{
    return the.block;
}

uint32_t submodi_blocks(void)
{
    return the.blocks;
}

void *submodi_shared(void)
{
    return the.shared;
}

void submodi_barrier(const char *file, int line)
{
    const shim_site here = {file, line};
    size_t s = 0;
    while (s < site_count && !same_site(&sites[s], &here)) {
        s++;
    }
    if (s == site_count && s < MOST_SITES) {
        sites[site_count++] = here;
    }
    if (shim.left_out.line && same_site(&shim.left_out, &here)) {
        return;
    }
    the.fiber[the.current].site = here;
    give_way(AT_BARRIER);
}

static uint64_t shuffle(shuffle_kind kind, uint64_t x, int64_t distance, uint64_t outside)
{
    uint32_t self = the.current;
    the.fiber[self].kind = kind;
    the.fiber[self].offered = x;
    give_way(AT_SHUFFLE);
    int64_t lane = self % SUBMODI_WARP + distance;
    return lane >= 0 && lane < SUBMODI_WARP ? the.fiber[self].taken[lane] : outside;
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
    return shuffle(TO_FIRST, x, -(int64_t)(the.current % SUBMODI_WARP), 0);
}

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

float submodi_multiply_add(float a, float b, float c)
{
    static shim_rounding of_cpu = SHIM_AS_CPU; /* not asked yet */
    if (of_cpu == SHIM_AS_CPU) {
        of_cpu = shim_cpu_rounding();
    }
    shim_rounding rounding = shim.rounding == SHIM_AS_CPU ? of_cpu : shim.rounding;
    return rounding == SHIM_ONCE ? fmaf(a, b, c) : a * b + c;
}

static void maybe_give_way(void)
{
    if (shim.order == SHIM_RANDOM && submod_rng_below(&shim.rng, 8) == 0) {
        give_way(READY);
    }
}

uint32_t submodi_atomic_add(uint32_t *to, uint32_t x)
{
    uint32_t before = *to;
    *to += x;
    maybe_give_way();
    return before;
}

void submodi_atomic_max(uint32_t *to, uint32_t x)
{
    *to = x > *to ? x : *to;
    maybe_give_way();
}

void submodi_atomic_min64(uint64_t *to, uint64_t x)
{
    *to = x < *to ? x : *to;
    maybe_give_way();
}

/* ---- the backend ---- */

static void (*const kernels[])(const submodi_gpu_job *job) = {
#define SUBMODI_GPU_NAME(name) submodi_gpu_kernel_##name,
    SUBMODI_GPU_KERNELS(SUBMODI_GPU_NAME)
#undef SUBMODI_GPU_NAME
};

static bool used_shared[SUBMODI_GPU_KERNEL_COUNT];

bool shim_used_shared(int kernel)
{
    return used_shared[kernel];
}

static submod_status launch(const submodi_gpu_backend *b, submodi_gpu_kernel kernel,
                            uint32_t blocks, uint32_t threads, size_t shared,
                            const submodi_gpu_job *job)
{
    if (threads == 0 || threads % SUBMODI_WARP != 0 || threads > MOST_THREADS || shared > SHARED ||
        blocks == 0) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: kernel %d with %u threads, %zu bytes", b->who,
                            (int)kernel, (unsigned)threads, shared);
    }
    if (!the.fiber) {
        make_fibers();
    }
    used_shared[kernel] |= shared > 0;
    shared = (int)kernel == shim.starved ? 0 : shared;
    submodi_gpu_job copy = *job;
    the.kernel = kernels[kernel];
    the.job = &copy;
    the.threads = threads;
    the.blocks = blocks;
    for (uint32_t k = 0; k < blocks; k++) {
        the.block = shim.order == SHIM_LAST ? blocks - 1 - k : k;
        const char *wrong = run_block(shared);
        if (wrong) {
            return submodi_fail(SUBMOD_ENUMERIC, "%s: kernel %d: %s", b->who, (int)kernel, wrong);
        }
    }
    return SUBMOD_OK;
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
    if (s->scratch_bytes < submodi_gpu_sort_scratch(s->n)) {
        return submodi_fail(SUBMOD_ENOMEM, "%s: scratch memory of a sort", b->who);
    }
    memset(s->scratch, 0x5a, s->scratch_bytes); /* it must be ours */
    return (shim.sort ? shim.sort : own_sort)(s, current);
}

static long live;

static submod_status allocate(const submodi_gpu_backend *b, size_t bytes, void **memory)
{
    if (shim.allocations_left == 0) {
        return submodi_nomem(b->who);
    }
    shim.allocations_left -= shim.allocations_left > 0;
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*memory) {
        return submodi_nomem(b->who);
    }
    memset(*memory, 0xa5, bytes);
    live++;
    return SUBMOD_OK;
}

static void release(const submodi_gpu_backend *b, void *memory)
{
    (void)b;
    live -= memory != NULL;
    free(memory);
}

static submod_status copy(const submodi_gpu_backend *b, void *to, const void *from, size_t bytes)
{
    (void)b;
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
    return SUBMOD_OK;
}

submodi_gpu_backend shim_backend(const char *who)
{
    return (submodi_gpu_backend){.who = who,
                                 .launch = launch,
                                 .clear = clear,
                                 .upload = upload,
                                 .sort = sort,
                                 .allocate = allocate,
                                 .release = release,
                                 .copy_in = copy,
                                 .copy_out = copy};
}

size_t shim_sites(const shim_site **list)
{
    *list = sites;
    return site_count;
}

long shim_live_allocations(void)
{
    return live;
}
