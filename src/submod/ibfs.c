/* Maximum flow by incremental breadth-first search (Goldberg, Hed, Kaplan, Tarjan and Werneck
 * 2011).
 *
 * Two forests grow towards each other level by level: one from the sources along residual arcs, one
 * from the sinks against them. Where they meet, the path from root to root is augmented. Arcs that
 * become saturated leave orphans. An orphan adopts a parent one level below its own if it finds
 * one. Otherwise it rises to the lowest possible level and its children become orphans; beyond the
 * levels grown so far it leaves the forest. Levels only rise, so all augmenting paths are shortest
 * paths, which gives the bound O(nodes^2 arcs). The similar trees of Boykov and Kolmogorov have no
 * such bound. */
#include <string.h>

#include "base/internal.h"
#include "submod/flow.h"

enum { SOURCE, SINK, SIDES };

/* Values of `parent` other than an arc. */
static const uint32_t ROOT = UINT32_MAX;
static const uint32_t ORPHAN = UINT32_MAX - 1;

enum { POLL_EVERY = 1 << 18 }; /* arc visits between two checks for cancelling */

typedef struct forests {
    submodi_network *net;
    int32_t *level;        /* 1 at the roots, positive: SOURCE, negative: SINK, 0: in no forest */
    uint32_t *parent;      /* the arc to it */
    uint32_t *current;     /* no earlier arc leads to a parent at the present level */
    uint8_t *listed;       /* flags: the fronts that list the node */
    int32_t *front[SIDES]; /* nodes of the highest level, and some that have left it */
    size_t length[SIDES];
    int32_t *next; /* the front of the next level, while it grows */
    size_t next_length;
    int32_t depth[SIDES]; /* level of the front */
    int32_t limit[SIDES]; /* highest possible level of a node */
    int32_t *orphans;     /* ring buffer for all nodes */
    size_t first_orphan, orphan_count;
    uint64_t end, poll; /* efforts at which to stop, and to check for cancelling */
    bool cancelled;
} forests;

static inline int32_t signed_level(int side, int32_t level)
{
    return side == SOURCE ? level : -level;
}

/* Returns the flag in `listed` for the front of a level. Two fronts of a side exist at a time. */
static inline uint8_t front_flag(int side, int32_t level)
{
    return (uint8_t)(1 << (2 * side + (level & 1)));
}

/* Lists v, which has just got the highest level of its side. */
static void list_node(forests *f, int side, int32_t v)
{
    uint8_t flag = front_flag(side, f->limit[side]);
    if (f->listed[v] & flag) {
        return;
    }
    f->listed[v] |= flag;
    if (f->limit[side] > f->depth[side]) {
        f->next[f->next_length++] = v;
    } else {
        f->front[side][f->length[side]++] = v;
    }
}

/* ---- orphans ---- */

static size_t wrapped(const forests *f, size_t place)
{
    return place < f->net->nodes ? place : place - f->net->nodes;
}

static void add_orphan_last(forests *f, int32_t v)
{
    f->parent[v] = ORPHAN;
    f->orphans[wrapped(f, f->first_orphan + f->orphan_count++)] = v;
}

static void add_orphan_first(forests *f, int32_t v)
{
    f->parent[v] = ORPHAN;
    f->first_orphan = wrapped(f, f->first_orphan + f->net->nodes - 1);
    f->orphan_count++;
    f->orphans[f->first_orphan] = v;
}

static void abandon_children(forests *f, int side, int32_t v)
{
    const submodi_network *net = f->net;
    for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
        int32_t w = net->arcs[a].head;
        if (signed_level(side, f->level[w]) > 0 && f->parent[w] == net->arcs[a].opposite) {
            add_orphan_last(f, w);
        }
    }
}

/* Finds a parent for v one level below its own. */
static bool find_parent(forests *f, int side, int32_t v)
{
    const submodi_network *net = f->net;
    int32_t below = f->level[v] - signed_level(side, 1);
    if (below == 0) {
        return false;
    }
    for (uint32_t a = f->current[v]; a < net->first[v + 1]; a++) {
        if (f->level[net->arcs[a].head] == below &&
            submodi_arc_of(net, a, side == SOURCE)->residual > 0) {
            f->parent[v] = a;
            f->current[v] = a;
            return true;
        }
    }
    return false;
}

/* Moves v to the lowest possible level from its own on, or out of the forest. */
static void rise(forests *f, int side, int32_t v)
{
    const submodi_network *net = f->net;
    int32_t least = signed_level(side, f->level[v]);
    int32_t lowest = f->limit[side];
    f->parent[v] = ORPHAN;
    for (size_t a = net->first[v]; a < net->first[v + 1] && lowest > least; a++) {
        int32_t level = signed_level(side, f->level[net->arcs[a].head]);
        if (level > 0 && level < lowest && submodi_arc_of(net, a, side == SOURCE)->residual > 0) {
            lowest = level;
            f->parent[v] = (uint32_t)a;
            f->current[v] = (uint32_t)a;
        }
    }
    bool stays = f->parent[v] != ORPHAN;
    f->level[v] = stays ? signed_level(side, lowest + 1) : 0;
    if (stays && lowest + 1 == f->limit[side]) {
        list_node(f, side, v);
    }
}

static void adopt(forests *f, int side, int32_t v)
{
    f->net->effort += f->net->first[v + 1] - f->net->first[v] + 1;
    if (!find_parent(f, side, v)) {
        abandon_children(f, side, v);
        rise(f, side, v);
    }
}

static void adopt_all(forests *f)
{
    while (f->orphan_count) {
        int32_t v = f->orphans[f->first_orphan];
        f->first_orphan = wrapped(f, f->first_orphan + 1);
        f->orphan_count--;
        if (f->level[v] > 0) {
            adopt(f, SOURCE, v);
        } else {
            adopt(f, SINK, v);
        }
    }
}

/* ---- augmenting paths ---- */

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns how much can flow between v and its root, at most `amount`. */
static int64_t path_residual(const forests *f, int side, int32_t v, int64_t amount)
{
    while (f->parent[v] != ROOT) {
        amount = smaller(amount, submodi_arc_of(f->net, f->parent[v], side == SOURCE)->residual);
        v = f->net->arcs[f->parent[v]].head;
    }
    int64_t excess = f->net->excess[v];
    return smaller(amount, side == SOURCE ? excess : -excess);
}

/* Sends `amount` from the root to v, or from v to the root. */
static void send(forests *f, int side, int32_t v, int64_t amount)
{
    submodi_network *net = f->net;
    while (f->parent[v] != ROOT) {
        submodi_arc *arc = submodi_arc_of(f->net, f->parent[v], side == SOURCE);
        int32_t above = net->arcs[f->parent[v]].head;
        arc->residual -= amount;
        net->arcs[arc->opposite].residual += amount;
        if (arc->residual == 0) {
            add_orphan_first(f, v);
        }
        v = above;
        net->effort++;
    }
    net->excess[v] -= side == SOURCE ? amount : -amount;
    if (net->excess[v] == 0) {
        add_orphan_first(f, v);
    }
}

/* Augments the path through an arc from one forest to the other, and repairs both. */
static void augment(forests *f, submodi_arc *arc)
{
    int32_t tail = f->net->arcs[arc->opposite].head;
    int32_t head = arc->head;
    int64_t amount = path_residual(f, SOURCE, tail, path_residual(f, SINK, head, arc->residual));
    arc->residual -= amount;
    f->net->arcs[arc->opposite].residual += amount;
    send(f, SOURCE, tail, amount);
    send(f, SINK, head, amount);
    adopt_all(f);
}

/* ---- growing ---- */

/* Adds all unlabelled nodes that can be reached from v, a node of the front. */
static inline void grow_from(forests *f, int side, int32_t v)
{
    const submodi_network *net = f->net;
    const int32_t level = signed_level(side, f->depth[side]);
    for (size_t a = net->first[v]; a < net->first[v + 1] && f->level[v] == level; a++) {
        int32_t w = net->arcs[a].head;
        submodi_arc *arc = submodi_arc_of(net, a, side == SINK);
        while (signed_level(side, f->level[w]) < 0 && arc->residual > 0 && f->level[v] == level) {
            augment(f, arc);
        }
        if (f->level[w] == 0 && arc->residual > 0 && f->level[v] == level) {
            f->level[w] = signed_level(side, f->limit[side]);
            f->parent[w] = net->arcs[a].opposite;
            f->current[w] = (uint32_t)net->first[w];
            list_node(f, side, w);
        }
    }
    f->net->effort += net->first[v + 1] - net->first[v];
}

static bool may_continue(forests *f)
{
    if (f->net->effort >= f->poll) {
        f->cancelled = submodi_cancelled();
        f->poll = f->net->effort + POLL_EVERY;
    }
    return !f->cancelled && f->net->effort < f->end;
}

/* Grows one more level. */
static void grow(forests *f, int side)
{
    f->limit[side] = f->depth[side] + 1;
    f->next_length = 0;
    for (size_t i = 0; i < f->length[side] && may_continue(f); i++) {
        int32_t v = f->front[side][i];
        f->listed[v] &= (uint8_t)~front_flag(side, f->depth[side]);
        if (f->level[v] == signed_level(side, f->depth[side])) {
            if (side == SOURCE) {
                grow_from(f, SOURCE, v);
            } else {
                grow_from(f, SINK, v);
            }
        }
    }
    int32_t *done = f->front[side];
    f->front[side] = f->next;
    f->length[side] = f->next_length;
    f->next = done;
    f->depth[side]++;
}

/* ---- the flow ---- */

static submod_status allocate(forests *f, size_t count, submod_work *w)
{
    size_t n = f->net->nodes;
    f->level = submodi_work_alloc(w, n, sizeof *f->level);
    f->parent = submodi_work_alloc(w, n, sizeof *f->parent);
    f->current = submodi_work_alloc(w, n, sizeof *f->current);
    f->listed = submodi_work_alloc(w, n, sizeof *f->listed);
    f->orphans = submodi_work_alloc(w, n, sizeof *f->orphans);
    f->front[SOURCE] = submodi_work_alloc(w, count, sizeof *f->front[SOURCE]);
    f->front[SINK] = submodi_work_alloc(w, count, sizeof *f->front[SINK]);
    f->next = submodi_work_alloc(w, count, sizeof *f->next);
    return submodi_work_status(w);
}

static void plant(forests *f, const int32_t *nodes, size_t count)
{
    submodi_network *net = f->net;
    memset(f->level, 0, net->nodes * sizeof *f->level);
    memset(f->listed, 0, net->nodes);
    for (size_t i = 0; i < count; i++) {
        int32_t v = nodes[i];
        if (net->excess[v]) {
            int side = net->excess[v] > 0 ? SOURCE : SINK;
            f->level[v] = signed_level(side, 1);
            f->parent[v] = ROOT;
            f->current[v] = (uint32_t)net->first[v];
            list_node(f, side, v);
        }
    }
}

submod_status submodi_ibfs(submodi_network *net, const int32_t *nodes, size_t count,
                           uint64_t effort, bool *maximal, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    forests f = {.net = net, .depth = {1, 1}, .limit = {1, 1}};
    f.end = net->effort + effort;
    f.poll = net->effort;
    submod_status status = allocate(&f, count, w);
    if (status == SUBMOD_OK) {
        plant(&f, nodes, count);
    }
    *maximal = false;
    while (status == SUBMOD_OK && !*maximal && may_continue(&f)) {
        *maximal = !f.length[SOURCE] || !f.length[SINK];
        if (!*maximal) {
            grow(&f, f.length[SOURCE] < f.length[SINK] ? SOURCE : SINK);
        }
    }
    submodi_scope_close(&scope);
    return f.cancelled ? SUBMOD_ECANCELLED : status;
}
