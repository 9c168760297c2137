/* The race detector: what each byte remembers, and the search for a conflict. */
#include "races.h"

#include <stdio.h>
#include <stdlib.h>

#include "ptx.h"

enum { WARP = 32 };

/* Somebody was here. */
typedef struct visit {
    thread_moment when;
    uint32_t instruction;
    bool is_there;
    bool by_others; /* of its warp, too, at the same clock */
} visit;

/* The last visits of a kind: of all; of another warp than that one's; of another block. */
typedef enum { LAST, OTHER_WARP, OTHER_BLOCK, VISITS } which;

typedef struct cell {
    uint64_t address;
    uint32_t launch; /* 0: never used */
    visit write;
    visit read[VISITS], strong_read[VISITS], atomic[VISITS];
} cell;

static struct {
    cell *cell; /* a hash table; what is of another launch is free */
    size_t room, used;
    uint32_t launch;
    const ptx_module *module;
    char message[1200];
} the;

/* ---- the table ---- */

static size_t place_of(uint64_t address)
{
    return (size_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 20) % the.room;
}

static cell *find(uint64_t address)
{
    size_t i = place_of(address);
    while (the.cell[i].launch == the.launch && the.cell[i].address != address) {
        i = i + 1 == the.room ? 0 : i + 1;
    }
    return &the.cell[i];
}

static void grow(void)
{
    cell *old = the.cell;
    size_t n = the.room;
    the.room = n ? 2 * n : 1 << 12;
    the.cell = calloc(the.room, sizeof *the.cell);
    for (size_t i = 0; i < n; i++) {
        if (old[i].launch == the.launch) {
            *find(old[i].address) = old[i];
        }
    }
    free(old);
}

static cell *cell_of(uint64_t address)
{
    if (2 * the.used >= the.room) {
        grow();
    }
    cell *c = find(address);
    if (c->launch != the.launch) {
        memset(c, 0, sizeof *c);
        c->address = address;
        c->launch = the.launch;
        the.used++;
    }
    return c;
}

/* ---- conflicts ---- */

/* Whether a visit was made by another thread and is not known to be over. */
static bool is_open(const visit *v, const thread_moment *now)
{
    if (!v->is_there) {
        return false;
    }
    bool own = v->when.block == now->block && v->when.thread == now->thread;
    if (own && v->by_others) { /* the others of its warp were there at the same time */
        return v->when.barriers == now->barriers && v->when.clock == now->clock;
    }
    return !own && !threads_was_before(&v->when);
}

static const visit *open_one(const visit v[VISITS], const thread_moment *now)
{
    for (int k = 0; k < VISITS; k++) {
        if (is_open(&v[k], now)) {
            return &v[k];
        }
    }
    return NULL;
}

static void describe(char *to, size_t room, uint32_t number)
{
    const ptx_instruction *i = &the.module->instruction[number];
    snprintf(to, room, "%s (line %u of the PTX; %s:%d%s%s)", i->text, (unsigned)i->ptx_line,
             i->file, i->line, *i->called_from ? ", from " : "", i->called_from);
}

static void report(const visit *v, uint32_t number, const thread_moment *now, ptx_space space)
{
    char first[500], second[500];
    describe(first, sizeof first, v->instruction);
    describe(second, sizeof second, number);
    snprintf(the.message, sizeof the.message,
             "a race in %s memory: %s of thread %u in block %u, and %s of thread %u in block %u",
             space == PTX_SHARED ? "shared" : "global", first, (unsigned)v->when.thread,
             (unsigned)v->when.block, second, (unsigned)now->thread, (unsigned)now->block);
    threads_fail(the.message);
}

/* ---- memory of visits ---- */

static bool same_warp(const thread_moment *a, const thread_moment *b)
{
    return a->block == b->block && a->thread / WARP == b->thread / WARP;
}

static void remember(visit v[VISITS], const visit *new)
{
    const visit last = v[LAST];
    v[LAST] = *new;
    if (!last.is_there) {
        return;
    }
    if (last.when.block != new->when.block) {
        v[OTHER_BLOCK] = last;
    }
    if (!same_warp(&last.when, &new->when)) {
        v[OTHER_WARP] = last;
    } else if (last.when.barriers == new->when.barriers && last.when.clock == new->when.clock) {
        v[LAST].by_others = last.by_others || last.when.thread != new->when.thread;
    }
}

static void on_byte(uint64_t address, uint32_t number, ptx_space space, ptx_way way,
                    const thread_moment *now)
{
    cell *c = cell_of(address);
    const visit new = {*now, number, true, false};
    bool reads = way == PTX_LOAD || way == PTX_STRONG_LOAD;
    bool plain = way == PTX_LOAD || way == PTX_STORE;
    const visit *conflict = is_open(&c->write, now) ? &c->write : NULL;
    if (!conflict && plain) {
        conflict = open_one(c->atomic, now);
    }
    if (!conflict && !reads) {
        conflict = open_one(c->read, now);
    }
    if (!conflict && way == PTX_STORE) {
        conflict = open_one(c->strong_read, now);
    }
    if (conflict) {
        report(conflict, number, now, space);
    }
    if (way == PTX_STORE) {
        c->write = new;
    } else {
        remember(!reads ? c->atomic : plain ? c->read : c->strong_read, &new);
    }
}

/* ---- hooks ---- */

static void on_access(uint32_t number, ptx_space space, ptx_way way, uint64_t address,
                      uint32_t bytes)
{
    if (space != PTX_GLOBAL && space != PTX_SHARED) {
        return;
    }
    const thread_moment now = threads_now();
    if (space == PTX_SHARED) { /* each block has its own, whichever memory it gets here */
        address = (UINT64_C(1) << 63) + (uint64_t)now.block * MOST_SHARED + address -
                  (uint64_t)threads_shared();
    }
    for (uint32_t k = 0; k < bytes; k++) {
        on_byte(address + k, number, space, way, &now);
    }
}

static void begin(const ptx_module *module, const ptx_kernel *kernel, uint32_t blocks,
                  uint32_t threads)
{
    (void)kernel, (void)blocks, (void)threads;
    the.module = module;
    the.used = 0;
    if (++the.launch == 0) { /* all numbers have been used */
        memset(the.cell, 0, the.room * sizeof *the.cell);
        the.launch = 1;
    }
}

void races_watch(void)
{
    ptx_hooks.access = on_access;
    ptx_hooks.begin = begin;
}

void races_stop(void)
{
    ptx_hooks.access = NULL;
    ptx_hooks.begin = NULL;
}
