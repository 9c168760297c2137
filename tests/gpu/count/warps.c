/* Accesses of lanes put together to requests of warps (see warps.h). */
#include "warps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/backend.h"
#include "ptx.h"

enum { LANES = 32, SECTOR = 32, BANKS = 32, MOST_NAMES = 16 };

/* ---- state ---- */

/* What some lanes of a warp did together. */
typedef struct request {
    uint64_t key; /* 0: free */
    uint32_t lanes;
    uint8_t space, way, bytes;
    uint64_t address[LANES];
} request;

typedef struct name {
    array which;
    uint64_t begin, end;
} name;

enum { MOST_HEADS = 16, IS_BARRIER = 0x80 };

/* A thread of the block that runs. */
typedef struct lane {
    uint32_t last; /* instruction */
    uint32_t time; /* instructions so far */
    /* Barriers so far, and how often it went round a loop since the last one. */
    uint16_t barriers, rounds;
    uint32_t head[MOST_HEADS], went[MOST_HEADS]; /* where it went back to, and when */
    uint32_t heads;
    uint64_t count[KINDS_OF_INSTRUCTIONS];
} lane;

static struct {
    tally *of_kernels;
    tally *now; /* of the kernel that runs */
    const ptx_module *module;
    uint8_t *kind; /* of each instruction of the module */
    uint32_t block, threads;
    lane lane[MOST_THREADS];
    uint32_t *seen; /* per thread and instruction of the kernel: when it was there last */
    uint32_t first, instructions; /* of the kernel */
    request *table;               /* open addressing; size is a power of two */
    size_t size, used;
    name names[MOST_NAMES];
    int named;
} the;

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "bench-gpu-count: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ---- one request ---- */

static array array_of(uint64_t address)
{
    for (int i = 0; i < the.named; i++) {
        if (address >= the.names[i].begin && address < the.names[i].end) {
            return the.names[i].which;
        }
    }
    return REST;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many different numbers there are; they get sorted. */
static uint32_t different(uint64_t *x, uint32_t n)
{
    uint32_t count = n > 0;
    bool ascending = true;
    for (uint32_t i = 1; i < n && ascending; i++) {
        ascending = x[i - 1] <= x[i];
    }
    if (!ascending) {
        qsort(x, n, sizeof *x, compare);
    }
    for (uint32_t i = 1; i < n; i++) {
        count += x[i] != x[i - 1];
    }
    return count;
}

static void add_global(const request *r)
{
    uint64_t x[2 * LANES];
    uint32_t n = 0;
    array which = array_of(r->address[0]);
    if (r->way == PTX_ATOMIC) {
        memcpy(x, r->address, r->lanes * sizeof *x);
        the.now->atomics += r->lanes;
        the.now->atomic_repeats += r->lanes - different(x, r->lanes);
        return;
    }
    for (uint32_t i = 0; i < r->lanes; i++) {
        x[n++] = r->address[i] / SECTOR;
        uint64_t last = (r->address[i] + r->bytes - 1) / SECTOR;
        if (last != x[n - 1]) {
            x[n++] = last;
        }
    }
    bool writes = r->way == PTX_STORE || r->way == PTX_STRONG_STORE;
    (writes ? the.now->sectors_written : the.now->sectors_read)[which] += different(x, n);
    (writes ? the.now->bytes_written : the.now->bytes_read)[which] += r->lanes * r->bytes;
}

/* Turns of shared memory: in each, a bank serves one word; an atomic has a turn for each lane. */
static void add_shared(const request *r)
{
    uint64_t word[LANES];
    uint32_t in_bank[BANKS] = {0}, lanes_in_bank[BANKS] = {0};
    uint32_t most = 0, most_lanes = 0;
    for (uint32_t i = 0; i < r->lanes; i++) {
        word[i] = r->address[i] / 4;
        uint32_t of_bank = ++lanes_in_bank[word[i] % BANKS];
        most_lanes = of_bank > most_lanes ? of_bank : most_lanes;
    }
    uint32_t words = different(word, r->lanes);
    for (uint32_t i = 0; i < r->lanes; i++) {
        if (i == 0 || word[i] != word[i - 1]) {
            uint32_t of_bank = ++in_bank[word[i] % BANKS];
            most = of_bank > most ? of_bank : most;
        }
    }
    if (r->way == PTX_ATOMIC) {
        the.now->shared_atomics += r->lanes;
        the.now->shared_atomic_requests++;
        the.now->shared_atomic_passes += most_lanes;
        the.now->shared_atomic_repeats += r->lanes - words;
    } else {
        the.now->shared_requests++;
        the.now->shared_passes += most;
    }
}

/* ---- a block ---- */

/* A warp issues what its busiest lane does: lanes that are elsewhere wait. */
static void add_instructions(void)
{
    for (uint32_t first = 0; first < the.threads; first += LANES) {
        for (int k = 0; k < KINDS_OF_INSTRUCTIONS; k++) {
            uint64_t most = 0;
            for (uint32_t i = first; i < first + LANES; i++) {
                uint64_t own = the.lane[i].count[k];
                most = own > most ? own : most;
            }
            the.now->instructions[k] += most;
        }
    }
}

static void finish_block(void)
{
    for (size_t i = 0; the.used > 0 && i < the.size; i++) {
        const request *r = &the.table[i];
        if (r->key && r->space == PTX_GLOBAL) {
            add_global(r);
        } else if (r->key && r->space == PTX_SHARED) {
            add_shared(r);
        }
    }
    if (the.used > 0) {
        memset(the.table, 0, the.size * sizeof *the.table);
    }
    the.used = 0;
    add_instructions();
    memset(the.lane, 0, sizeof the.lane);
    memset(the.seen, 0, (size_t)the.threads * the.instructions * sizeof *the.seen);
}

/* The thread that runs; blocks come one after the other. */
static lane *lane_now(uint32_t *thread)
{
    thread_id self = threads_self();
    if (self.block != the.block) {
        finish_block();
        the.block = self.block;
    }
    *thread = self.thread;
    return &the.lane[self.thread];
}

/* ---- hooks ---- */

static size_t place_of(const request *table, size_t size, uint64_t key)
{
    size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (size - 1);
    while (table[i].key && table[i].key != key) {
        i = (i + 1) & (size - 1);
    }
    return i;
}

static void grow(void)
{
    size_t size = 2 * the.size;
    request *table = take(size, sizeof *table);
    for (size_t i = 0; i < the.size; i++) {
        if (the.table[i].key) {
            table[place_of(table, size, the.table[i].key)] = the.table[i];
        }
    }
    free(the.table);
    the.table = table;
    the.size = size;
}

static void on_access(uint32_t number, ptx_space space, ptx_way way, uint64_t address,
                      uint32_t bytes)
{
    if (space != PTX_GLOBAL && space != PTX_SHARED) {
        return;
    }
    uint32_t thread;
    const lane *l = lane_now(&thread);
    uint64_t key = (uint64_t)1 << 63 | (uint64_t)(thread / LANES) << 56 |
                   (uint64_t)l->barriers << 36 | (uint64_t)l->rounds << 20 | number;
    if (2 * the.used >= the.size) {
        grow();
    }
    request *r = &the.table[place_of(the.table, the.size, key)];
    if (!r->key) {
        the.used++;
        r->key = key;
        r->space = (uint8_t)space;
        r->way = (uint8_t)way;
        r->bytes = (uint8_t)bytes;
    }
    if (r->lanes == LANES) {
        fprintf(stderr, "bench-gpu-count: an instruction of a warp with more than 32 lanes\n");
        exit(EXIT_FAILURE);
    }
    r->address[r->lanes++] = address;
}

/* A jump back is the next round of a loop if the lane was there before and has not been further up
 * since; else it comes back from code that was put aside. */
static bool goes_round(lane *l, uint32_t number, uint32_t seen)
{
    bool again = seen > 0;
    uint32_t own = l->heads;
    for (uint32_t i = 0; i < l->heads; i++) {
        again = again && !(l->head[i] < number && l->went[i] > seen);
        own = l->head[i] == number ? i : own;
    }
    if (again && own < MOST_HEADS) {
        l->heads += own == l->heads;
        l->head[own] = number;
        l->went[own] = l->time;
    }
    return again;
}

static void on_instruction(uint32_t number)
{
    uint32_t thread;
    lane *l = lane_now(&thread);
    uint32_t *seen = &the.seen[(size_t)thread * the.instructions + (number - the.first)];
    uint8_t kind = the.kind[number];
    l->time++;
    if (number <= l->last && goes_round(l, number, *seen)) {
        l->rounds++;
    }
    if (kind & IS_BARRIER) {
        l->barriers++;
        l->rounds = 0;
    }
    *seen = l->time;
    l->last = number;
    l->count[kind & ~IS_BARRIER]++;
}

/* ---- kinds of instructions ---- */

static bool begins(const char *text, const char *const *with)
{
    for (; *with; with++) {
        if (strncmp(text, *with, strlen(*with)) == 0) {
            return true;
        }
    }
    return false;
}

static instruction_kind kind_of(const char *opcode)
{
    static const char *const memory[] = {"ld.", "st.", "atom.", "red.", NULL};
    static const char *const control[] = {"bra",  "ret",  "exit",   "bar",
                                          "shfl", "vote", "membar", NULL};
    static const char *const divide[] = {"div.", "rem.", NULL};
    static const char *const convert[] = {"cvt.", "rcp", "div", "sqrt", "ex2", "lg2", NULL};
    static const char *const moves[] = {"mov", "selp", "setp", "neg", "abs", NULL};
    if (begins(opcode, memory)) {
        return MEMORY;
    }
    if (begins(opcode, control)) {
        return CONTROL;
    }
    if (begins(opcode, divide) && !strstr(opcode, ".f")) {
        return DIVIDE;
    }
    if (begins(opcode, convert)) {
        return CONVERT;
    }
    if (strstr(opcode, ".f64")) {
        return FLOAT64;
    }
    return strstr(opcode, ".f32") && !begins(opcode, moves) ? FLOAT32 : INTEGER;
}

/* ---- launches ---- */

static const char *const names[] = {
#define SUBMODI_GPU_NAME(name) "submodi_gpu_global_" #name "E",
    SUBMODI_GPU_KERNELS(SUBMODI_GPU_NAME)
#undef SUBMODI_GPU_NAME
};

static void on_begin(const ptx_module *module, const ptx_kernel *kernel, uint32_t blocks,
                     uint32_t threads)
{
    (void)blocks;
    if (the.module != module) {
        free(the.kind);
        the.kind = take(module->instructions, 1);
        for (uint32_t i = 0; i < module->instructions; i++) {
            const char *opcode = module->instruction[i].opcode;
            bool barrier = strncmp(opcode, "bar.sync", 8) == 0;
            the.kind[i] = (uint8_t)(kind_of(opcode) | (barrier ? IS_BARRIER : 0));
        }
        the.module = module;
    }
    for (int k = 0; k < SUBMODI_GPU_KERNEL_COUNT; k++) {
        if (strstr(kernel->name, names[k])) {
            the.now = &the.of_kernels[k];
        }
    }
    the.now->launches++;
    the.block = 0;
    the.threads = threads;
    the.first = kernel->first;
    the.instructions = kernel->count;
    free(the.seen);
    the.seen = take((size_t)threads * kernel->count, sizeof *the.seen);
    memset(the.lane, 0, sizeof the.lane);
}

void warps_name(array which, const void *begin, size_t bytes)
{
    if (begin && the.named < MOST_NAMES) {
        the.names[the.named++] = (name){which, (uint64_t)begin, (uint64_t)begin + bytes};
    }
}

void warps_forget_names(void)
{
    the.named = 0;
}

void warps_begin(tally *of_kernels)
{
    the.of_kernels = of_kernels;
    the.size = the.size ? the.size : (size_t)1 << 15;
    the.table = the.table ? the.table : take(the.size, sizeof *the.table);
    ptx_hooks.access = on_access;
    ptx_hooks.instruction = on_instruction;
    ptx_hooks.begin = on_begin;
    ptx_hooks.end = finish_block;
}

void warps_end(void)
{
    memset(&ptx_hooks, 0, sizeof ptx_hooks);
}

void tally_add(tally *to, const tally *from)
{
    uint64_t *sum = (uint64_t *)to;
    const uint64_t *x = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *sum; i++) {
        sum[i] += x[i];
    }
}
