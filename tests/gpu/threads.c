/* Threads of a device as fibers: their stacks, the schedule, barriers and meetings. */
#include "threads.h"

#include <stdlib.h>
#include <string.h>

#include "stack.h"

shim_options shim = {.order = SHIM_FIRST, .starved = SUBMODI_GPU_KERNEL_COUNT};

enum { STACK = 128 << 10, MOST_SITES = 256, WARP = 32, RUBBISH = 0xa5 };

typedef enum { READY, AT_BARRIER, AT_MEETING, DONE } state;

typedef struct fiber {
    stack *stack; /* where it goes on */
    state state;
    shim_site site;       /* of the barrier it waits at */
    uint32_t meeting;     /* the site of the meeting it waits at */
    uint64_t offered;     /* what it brought */
    uint64_t taken[WARP]; /* what its warp brought */
} fiber;

/* A block that is being run: its threads are fibers[first..]. */
typedef struct resident {
    uint32_t block, first;
    bool is_done;
    uint64_t shared[MOST_SHARED / sizeof(uint64_t)];
} resident;

static struct {
    fiber *fiber; /* MOST_THREADS, made once */
    char *memory; /* of their stacks */
    const threads_launch *launch;
    resident resident[MOST_RESIDENT];
    resident *home;   /* the block that runs */
    uint32_t current; /* its fiber */
    uint32_t started; /* blocks */
    const char *wrong;
    stack *scheduler;
} the;

/* To the scheduler, until it comes back. */
static void give_way(state why)
{
    fiber *f = &the.fiber[the.current];
    f->state = why;
    stack_move(f->stack, the.scheduler);
}

static void enter(void)
{
    for (;;) {
        give_way(DONE);
        the.launch->kernel(the.launch->argument);
    }
}

static void start(uint32_t f)
{
    the.current = f;
    stack_begin(the.scheduler, the.fiber[f].stack, the.memory + (size_t)f * STACK, STACK, enter);
}

/* Stacks are made once; every thread then waits in `enter` for kernels. */
static void make_fibers(void)
{
    the.fiber = calloc(MOST_THREADS, sizeof *the.fiber);
    the.memory = malloc((size_t)MOST_THREADS * STACK);
    the.scheduler = stack_new();
    for (uint32_t f = 0; f < MOST_THREADS; f++) {
        the.fiber[f].stack = stack_new();
        start(f);
    }
}

static void go_on(uint32_t f)
{
    the.current = f;
    stack_move(the.scheduler, the.fiber[f].stack);
}

/* ---- the schedule ---- */

/* The k-th of n in the order of the schedule. */
static uint32_t in_order(uint32_t k, uint32_t n, uint32_t turned)
{
    return shim.order == SHIM_LAST ? n - 1 - k : (k + turned) % n;
}

static uint32_t turn(uint32_t n)
{
    return shim.order == SHIM_RANDOM ? (uint32_t)submod_rng_below(&shim.rng, n) : 0;
}

/* Lets the warp go on if all its lanes wait at the same meeting. Returns whether they do. */
static bool release_meeting(fiber *warp)
{
    uint64_t offered[WARP];
    for (uint32_t lane = 0; lane < WARP; lane++) {
        if (warp[lane].state != AT_MEETING || warp[lane].meeting != warp[0].meeting) {
            return false;
        }
        offered[lane] = warp[lane].offered;
    }
    for (uint32_t lane = 0; lane < WARP; lane++) {
        memcpy(warp[lane].taken, offered, sizeof offered);
        warp[lane].state = READY;
    }
    return true;
}

/* Runs the ready threads of a warp once. Returns whether something happened. */
static bool step_warp(uint32_t first)
{
    bool ran = false;
    uint32_t turned = turn(WARP);
    for (uint32_t k = 0; k < WARP; k++) {
        uint32_t lane = in_order(k, WARP, turned);
        if (the.fiber[first + lane].state == READY) {
            go_on(first + lane);
            ran = true;
        }
    }
    return release_meeting(the.fiber + first) || ran;
}

static bool same_site(const shim_site *a, const shim_site *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0;
}

/* Lets the block go on if all its threads wait at the same barrier. */
static bool release_block(const resident *r)
{
    fiber *f = the.fiber + r->first;
    for (uint32_t t = 0; t < the.launch->threads; t++) {
        if (f[t].state != AT_BARRIER || !same_site(&f[t].site, &f[0].site)) {
            return false;
        }
    }
    for (uint32_t t = 0; t < the.launch->threads; t++) {
        f[t].state = READY;
    }
    return true;
}

static bool is_done(const resident *r)
{
    for (uint32_t t = 0; t < the.launch->threads; t++) {
        if (the.fiber[r->first + t].state != DONE) {
            return false;
        }
    }
    return true;
}

/* Whether the shared memory beyond that of the kernel is as it was. */
static bool is_untouched(const resident *r)
{
    const unsigned char *byte = (const unsigned char *)r->shared;
    size_t i = the.launch->shared;
    while (i < MOST_SHARED && byte[i] == RUBBISH) {
        i++;
    }
    return i == MOST_SHARED;
}

/* The next block comes in, if there is one. */
static void begin_block(resident *r)
{
    r->is_done = the.started == the.launch->blocks;
    if (r->is_done) {
        return;
    }
    r->block = in_order(the.started++, the.launch->blocks, 0);
    memset(r->shared, RUBBISH, sizeof r->shared);
    for (uint32_t t = 0; t < the.launch->threads; t++) {
        the.fiber[r->first + t].state = READY;
    }
}

/* A warp runs as far as it can before the next one does; in random order, they take turns. */
static void step_block(resident *r)
{
    uint32_t warps = the.launch->threads / WARP;
    bool moved = false;
    uint32_t turned = turn(warps);
    the.home = r;
    for (uint32_t k = 0; k < warps; k++) {
        uint32_t first = r->first + in_order(k, warps, turned) * WARP;
        while (step_warp(first)) {
            moved = true;
            if (shim.order == SHIM_RANDOM && submod_rng_below(&shim.rng, 2)) {
                break;
            }
        }
    }
    if (is_done(r)) {
        the.wrong = is_untouched(r) ? NULL : "more shared memory was used than asked for";
        begin_block(r);
    } else if (!moved && !release_block(r)) {
        the.wrong = "threads missed a barrier, or met in different shuffles";
    }
}

/* How many blocks run at the same time. */
static uint32_t residents(void)
{
    uint32_t room = MOST_THREADS / the.launch->threads;
    room = room < MOST_RESIDENT ? room : MOST_RESIDENT;
    return shim.order == SHIM_RANDOM ? 1 + turn(room) : 1;
}

static bool runs(uint32_t n)
{
    bool some = false;
    for (uint32_t i = 0; i < n; i++) {
        some = some || !the.resident[i].is_done;
    }
    return some && !the.wrong;
}

const char *threads_run(const threads_launch *launch)
{
    if (!the.fiber) {
        make_fibers();
    }
    the.launch = launch;
    the.started = 0;
    the.wrong = NULL;
    uint32_t n = residents();
    for (uint32_t i = 0; i < n; i++) {
        the.resident[i].first = i * launch->threads;
        begin_block(&the.resident[i]);
    }
    while (runs(n)) {
        uint32_t i = turn(n);
        if (!the.resident[i].is_done) {
            step_block(&the.resident[i]);
        }
    }
    for (uint32_t f = 0; the.wrong && f < n * launch->threads; f++) {
        if (the.fiber[f].state != DONE) {
            start(f); /* what is left of its kernel is lost */
        }
    }
    return the.wrong;
}

/* ---- what the running thread asks for ---- */

thread_id threads_self(void)
{
    return (thread_id){the.current - the.home->first, the.home->block, the.launch->threads,
                       the.launch->blocks};
}

unsigned char *threads_shared(void)
{
    return (unsigned char *)the.home->shared;
}

static shim_site sites[MOST_SITES];
static size_t site_count;

size_t shim_sites(const shim_site **list)
{
    *list = sites;
    return site_count;
}

static void note(const shim_site *site)
{
    size_t s = 0;
    while (s < site_count && !same_site(&sites[s], site)) {
        s++;
    }
    if (s == site_count && s < MOST_SITES) {
        sites[site_count++] = *site;
    }
}

/* Whether a barrier does nothing this time. */
static bool is_left_out(const shim_site *site)
{
    note(site);
    return shim.left_out.line && same_site(&shim.left_out, site);
}

void threads_barrier(const shim_site *site)
{
    if (!is_left_out(site)) {
        the.fiber[the.current].site = *site;
        give_way(AT_BARRIER);
    }
}

const uint64_t *threads_meet(uint32_t meeting, uint64_t x)
{
    fiber *f = &the.fiber[the.current];
    f->meeting = meeting;
    f->offered = x;
    give_way(AT_MEETING);
    return f->taken;
}

void threads_warp_barrier(const shim_site *site, uint32_t meeting)
{
    if (!is_left_out(site)) {
        threads_meet(meeting, 0);
    }
}

void threads_maybe_give_way(void)
{
    if (shim.order == SHIM_RANDOM && submod_rng_below(&shim.rng, 8) == 0) {
        give_way(READY);
    }
}
