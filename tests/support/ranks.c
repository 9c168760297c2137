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

enum { MOST_PENDING = 16 };

/* A sum in two halves: copies of what each rank has started it with. */
typedef struct pending {
    void *copy[MOST_RANKS];
    submod_comm_type type[MOST_RANKS];
    size_t count[MOST_RANKS];
    int started, finished;
} pending;

typedef struct world {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ranks, waiting, gone;
    unsigned round;
    bool broken;
    slot slot[MOST_RANKS];
    pending pending[MOST_PENDING];
    ranks_plan *plan;
} world;

typedef struct rank {
    world *world;
    int me, calls;
    size_t started;
    void (*body)(const submod_comm *comm, void *context);
    void *context;
} rank;

typedef struct request {
    size_t number;
    void *numbers;
} request;

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

static int start_sum(void *context, void *numbers, submod_comm_type type, size_t count, void **out)
{
    rank *r = context;
    world *w = r->world;
    size_t bytes = count * size_of(type);
    if (fails_now(r)) {
        return 1;
    }
    note_sum(r, type, count);
    void *copy = malloc(bytes + 1);
    memcpy(copy, numbers, bytes);
    memset(numbers, 0x5a, bytes); /* nobody may look at them now */
    request *q = malloc(sizeof *q);
    *q = (request){r->started++, numbers};
    pthread_mutex_lock(&w->lock);
    pending *p = &w->pending[q->number % MOST_PENDING];
    p->copy[r->me] = copy;
    p->type[r->me] = type;
    p->count[r->me] = count;
    p->started++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    *out = q;
    return 0;
}

/* With the lock. Whether all have started the same sum. */
static bool is_whole(world *w, const pending *p)
{
    while (!w->broken && p->started < w->ranks) {
        if (w->gone) {
            w->broken = true;
            pthread_cond_broadcast(&w->changed);
        } else {
            pthread_cond_wait(&w->changed, &w->lock);
        }
    }
    bool same = !w->broken;
    for (int k = 0; same && k < w->ranks; k++) {
        same = p->count[k] == p->count[0] && p->type[k] == p->type[0];
    }
    return same;
}

static int finish_sum(void *context, void *token)
{
    rank *r = context;
    world *w = r->world;
    request q = *(request *)token;
    free(token);
    if (fails_now(r)) {
        return 1;
    }
    pthread_mutex_lock(&w->lock);
    pending *p = &w->pending[q.number % MOST_PENDING];
    bool whole = is_whole(w, p);
    if (whole) {
        memset(q.numbers, 0, p->count[0] * size_of(p->type[0]));
        for (int k = 0; k < w->ranks; k++) {
            add_to(q.numbers, p->copy[k], p->type[k], p->count[k]);
        }
        p->finished++;
        if (p->finished == w->ranks) {
            for (int k = 0; k < w->ranks; k++) {
                free(p->copy[k]);
            }
            *p = (pending){.started = 0};
        }
    }
    pthread_mutex_unlock(&w->lock);
    return !whole;
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
    if (!w->plan || !w->plan->without_halves) {
        comm.start_sum = start_sum;
        comm.finish_sum = finish_sum;
    }
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
    for (int i = 0; i < MOST_PENDING; i++) {
        for (int k = 0; k < ranks; k++) {
            free(w.pending[i].copy[k]);
        }
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
