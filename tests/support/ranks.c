/* Ranks as threads (see ranks.h). */
#include "ranks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- the world ---- */

typedef enum operation { SUM, GATHER } operation;

/* What a rank shows to the others. */
typedef struct slot {
    operation what;
    submod_comm_type type;
    size_t count;
    const void *mine;
} slot;

typedef struct world {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ranks, waiting, gone;
    unsigned round;
    bool broken;
    slot slot[MOST_RANKS];
    ranks_plan *plan;
} world;

typedef struct rank {
    world *world;
    int me, calls;
    void (*body)(const submod_comm *comm, void *context);
    void *context;
} rank;

/* Waits for all; 0, or 1 when something is broken. */
static int meet(world *w)
{
    pthread_mutex_lock(&w->lock);
    unsigned round = w->round;
    w->waiting++;
    if (w->waiting == w->ranks) {
        w->waiting = 0;
        w->round++;
        pthread_cond_broadcast(&w->changed);
    }
    while (!w->broken && round == w->round) {
        if (w->gone) {
            w->broken = true;
            pthread_cond_broadcast(&w->changed);
        } else {
            pthread_cond_wait(&w->changed, &w->lock);
        }
    }
    int failed = w->broken && round == w->round;
    pthread_mutex_unlock(&w->lock);
    return failed;
}

static void break_world(world *w)
{
    pthread_mutex_lock(&w->lock);
    w->broken = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static bool is_broken(world *w)
{
    pthread_mutex_lock(&w->lock);
    bool broken = w->broken;
    pthread_mutex_unlock(&w->lock);
    return broken;
}

/* Whether this call is to fail; then all will. */
static int fails_now(rank *r)
{
    const ranks_plan *p = r->world->plan;
    r->calls++;
    if (p && p->failing_call == r->calls && p->failing_rank == r->me) {
        break_world(r->world);
        return 1;
    }
    return 0;
}

static size_t size_of(submod_comm_type type)
{
    return type == SUBMOD_COMM_I32 ? sizeof(int32_t) : sizeof(double);
}

static void note_sum(rank *r, submod_comm_type type, size_t count)
{
    ranks_plan *p = r->world->plan;
    if (p && r->me == 0) {
        p->calls++;
        p->sum_bytes += count * size_of(type);
        p->int32_sums += type == SUBMOD_COMM_I32 ? count : 0;
        p->double_sums += type == SUBMOD_COMM_F64 ? count : 0;
    }
}

/* Shows the others what this rank does, and sees that they do the same. 0 if so. */
static int show(rank *r, slot mine)
{
    world *w = r->world;
    if (fails_now(r) || is_broken(w)) {
        return 1;
    }
    w->slot[r->me] = mine;
    if (meet(w)) {
        return 1;
    }
    bool same = true;
    for (int k = 0; k < w->ranks; k++) {
        const slot *s = &w->slot[k];
        same = same && s->what == mine.what && s->type == mine.type && s->count == mine.count;
    }
    if (!same) {
        break_world(w);
    }
    return !same;
}

/* ---- sums ---- */

static void add_to(void *sum, const void *more, submod_comm_type type, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (type == SUBMOD_COMM_I32) {
            ((int32_t *)sum)[i] += ((const int32_t *)more)[i];
        } else {
            ((double *)sum)[i] += ((const double *)more)[i];
        }
    }
}

static int sum(void *context, void *numbers, submod_comm_type type, size_t count)
{
    rank *r = context;
    world *w = r->world;
    size_t bytes = count * size_of(type);
    void *copy = malloc(bytes + 1);
    memcpy(copy, numbers, bytes);
    note_sum(r, type, count);
    int failed = show(r, (slot){.what = SUM, .type = type, .count = count, .mine = copy});
    if (!failed) {
        memset(numbers, 0, bytes);
        for (int k = 0; k < w->ranks; k++) {
            add_to(numbers, w->slot[k].mine, type, count);
        }
        failed = meet(w);
    } /* who has failed may still be read from: the world is broken, so nobody reads any more */
    free(copy);
    return failed;
}

/* ---- bytes ---- */

static int gather(void *context, const void *mine, size_t bytes, void *all)
{
    rank *r = context;
    world *w = r->world;
    if (w->plan && r->me == 0) {
        w->plan->calls++;
        w->plan->gather_bytes += bytes;
    }
    if (show(r, (slot){.what = GATHER, .count = bytes, .mine = mine})) {
        return 1;
    }
    for (int k = 0; k < w->ranks; k++) {
        memcpy((char *)all + (size_t)k * bytes, w->slot[k].mine, bytes);
    }
    return meet(w);
}

/* ---- threads ---- */

static void *run(void *context)
{
    rank *r = context;
    world *w = r->world;
    submod_comm comm = submod_comm_alone();
    comm.context = r;
    comm.rank = r->me;
    comm.ranks = w->ranks;
    comm.sum = sum;
    comm.gather = gather;
    r->body(&comm, r->context);
    pthread_mutex_lock(&w->lock);
    w->gone++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void run_ranks(int ranks, ranks_plan *plan, void (*body)(const submod_comm *comm, void *context),
               void *context)
{
    world w = {.ranks = ranks, .plan = plan};
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    pthread_t thread[MOST_RANKS];
    rank rank_of[MOST_RANKS];
    for (int k = 0; k < ranks; k++) {
        rank_of[k] = (rank){.world = &w, .me = k, .body = body, .context = context};
        if (pthread_create(&thread[k], NULL, run, &rank_of[k]) != 0) {
            abort(); /* the others would wait for ever */
        }
    }
    for (int k = 0; k < ranks; k++) {
        pthread_join(thread[k], NULL);
    }
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
}

/* ---- memory ---- */

static _Thread_local long left = -1;
static atomic_long live;

static void *take(size_t alignment, size_t size)
{
    if (left == 0) {
        left = -1;
        return NULL;
    }
    left -= left > 0;
    void *memory = aligned_alloc(alignment, size);
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

static void release(void *memory)
{
    atomic_fetch_sub(&live, memory != NULL);
    free(memory);
}

const submod_allocator rank_allocator = {take, release};

void set_rank_allocations(long allocations)
{
    left = allocations;
}

long live_rank_allocations(void)
{
    return atomic_load(&live);
}
