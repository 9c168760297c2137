/* Maximum flow along shortest ways, by incremental breadth-first search (Goldberg, Hed, Kaplan,
 * Tarjan and Werneck, 2011).
 *
 * Two forests grow towards each other level by level: one from the nodes that have something to
 * give, along residual capacities, the other from those that take, against them. Where they meet,
 * flow is sent from root to root. Arcs that it fills up leave orphans behind. An orphan looks for
 * a parent one level below its own; else it moves up to the lowest level that it can have, and its
 * children become orphans; if that is beyond the levels grown so far it leaves the forest. Levels
 * only rise, so all ways are shortest ones, and the bound is O(nodes^2 arcs). Where ways are short,
 * as on most images, a few looks at each arc are enough.
 *
 * The trees of Boykov and Kolmogorov are similar, but their ways have any length and there is no
 * such bound.
 */
#include "submod/functions/maxflow.h"

#include <string.h>

#include "base/cancel.h"
#include "base/memory.h"

/* The forests: from the givers and from the takers. */
enum { GIVE, TAKE, SIDES };

/* In place of the arc to the parent. */
static const uint32_t ROOT = UINT32_MAX;
static const uint32_t ORPHAN = UINT32_MAX - 1;

/* Arcs looked at between two checks of the cancel flag. */
enum { PATIENCE = 1 << 18 };

typedef struct forests {
    submodi_network *net;
    int32_t *level;        /* 1 at the roots; positive: GIVE, negative: TAKE, 0: in no forest */
    uint32_t *parent;      /* the arc to it */
    uint32_t *current;     /* no arc before this one leads to a parent at the present level */
    uint8_t *listed;       /* flags: in which fronts the node is */
    int32_t *front[SIDES]; /* nodes of the highest level, and some that have left it */
    size_t length[SIDES];
    int32_t *next; /* the front of the next level, while one grows */
    size_t next_length;
    int32_t depth[SIDES]; /* the levels of the fronts */
    int32_t limit[SIDES]; /* the highest level that a node may have */
    int32_t *orphans;     /* a ring with room for all nodes */
    size_t first_orphan, orphan_count;
} forests;

static inline int32_t signed_level(int side, int32_t level)
{
    return side == GIVE ? level : -level;
}

/* The arc that flow would take between a node of the forest and the head of one of its arcs a:
 * towards the head if `away`, else from it. */
static inline submodi_arc *along(const forests *f, uint32_t a, bool away)
{
    submodi_arc *arc = &f->net->arcs[a];
    return away ? arc : &f->net->arcs[arc->opposite];
}

/* The flag in `listed` of the front of a level. Two fronts of a side exist at a time. */
static inline uint8_t flag_of(int side, int32_t level)
{
    return (uint8_t)(1 << (2 * side + (level & 1)));
}

/* Puts v, which has just got the highest level of its side, on the list of that level. */
static void list_node(forests *f, int side, int32_t v)
{
    uint8_t flag = flag_of(side, f->limit[side]);
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

/* Finds a parent for v on the level below its own; false: there is none. */
static bool find_parent(forests *f, int side, int32_t v)
{
    const submodi_network *net = f->net;
    int32_t below = f->level[v] - signed_level(side, 1);
    if (below == 0) {
        return false;
    }
    for (uint32_t a = f->current[v]; a < net->first[v + 1]; a++) {
        if (f->level[net->arcs[a].head] == below && along(f, a, side == TAKE)->residual > 0) {
            f->parent[v] = a;
            f->current[v] = a;
            return true;
        }
    }
    return false;
}

/* Moves v to the lowest level that it can have, all below its own excluded; 0 if there is none. */
static void move_up(forests *f, int side, int32_t v)
{
    const submodi_network *net = f->net;
    int32_t least = signed_level(side, f->level[v]);
    int32_t lowest = f->limit[side];
    f->parent[v] = ORPHAN;
    for (size_t a = net->first[v]; a < net->first[v + 1] && lowest > least; a++) {
        int32_t level = signed_level(side, f->level[net->arcs[a].head]);
        if (level > 0 && level < lowest && along(f, (uint32_t)a, side == TAKE)->residual > 0) {
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
        move_up(f, side, v);
    }
}

static void adopt_all(forests *f)
{
    while (f->orphan_count) {
        int32_t v = f->orphans[f->first_orphan];
        f->first_orphan = wrapped(f, f->first_orphan + 1);
        f->orphan_count--;
        if (f->level[v] > 0) {
            adopt(f, GIVE, v);
        } else {
            adopt(f, TAKE, v);
        }
    }
}

/* ---- ways from root to root ---- */

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The most that can flow between v and its root; at most `amount`. */
static int64_t narrowest(const forests *f, int side, int32_t v, int64_t amount)
{
    while (f->parent[v] != ROOT) {
        amount = smaller(amount, along(f, f->parent[v], side == TAKE)->residual);
        v = f->net->arcs[f->parent[v]].head;
    }
    int64_t excess = f->net->excess[v];
    return smaller(amount, side == GIVE ? excess : -excess);
}

/* Sends that much from the root to v, or from v to the root. */
static void send(forests *f, int side, int32_t v, int64_t amount)
{
    submodi_network *net = f->net;
    while (f->parent[v] != ROOT) {
        submodi_arc *arc = along(f, f->parent[v], side == TAKE);
        int32_t above = net->arcs[f->parent[v]].head;
        arc->residual -= amount;
        net->arcs[arc->opposite].residual += amount;
        if (arc->residual == 0) {
            add_orphan_first(f, v);
        }
        v = above;
        net->effort++;
    }
    net->excess[v] -= side == GIVE ? amount : -amount;
    if (net->excess[v] == 0) {
        add_orphan_first(f, v);
    }
}

/* Sends what can be sent along an arc from one forest to the other, and makes both whole again. */
static void augment(forests *f, submodi_arc *arc)
{
    int32_t giver = f->net->arcs[arc->opposite].head;
    int32_t taker = arc->head;
    int64_t amount = narrowest(f, GIVE, giver, narrowest(f, TAKE, taker, arc->residual));
    arc->residual -= amount;
    f->net->arcs[arc->opposite].residual += amount;
    send(f, GIVE, giver, amount);
    send(f, TAKE, taker, amount);
    adopt_all(f);
}

/* ---- growing ---- */

/* Takes all into the forest that can be reached from v, a node of the front. */
static inline void grow_from(forests *f, int side, int32_t v)
{
    const submodi_network *net = f->net;
    const int32_t level = signed_level(side, f->depth[side]);
    for (size_t a = net->first[v]; a < net->first[v + 1] && f->level[v] == level; a++) {
        int32_t w = net->arcs[a].head;
        submodi_arc *arc = along(f, (uint32_t)a, side == GIVE);
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

/* Grows one more level. false: cancelled. */
static bool grow(forests *f, int side)
{
    f->limit[side] = f->depth[side] + 1;
    f->next_length = 0;
    bool cancelled = submodi_cancelled();
    uint64_t check = f->net->effort + PATIENCE;
    for (size_t i = 0; i < f->length[side] && !cancelled; i++) {
        int32_t v = f->front[side][i];
        f->listed[v] &= (uint8_t)~flag_of(side, f->depth[side]);
        if (f->level[v] == signed_level(side, f->depth[side])) {
            if (side == GIVE) {
                grow_from(f, GIVE, v);
            } else {
                grow_from(f, TAKE, v);
            }
        }
        if (f->net->effort > check) {
            cancelled = submodi_cancelled();
            check = f->net->effort + PATIENCE;
        }
    }
    int32_t *done = f->front[side];
    f->front[side] = f->next;
    f->length[side] = f->next_length;
    f->next = done;
    f->depth[side]++;
    return !cancelled;
}

/* ---- the flow ---- */

static void plant(forests *f, const int32_t *nodes, size_t count)
{
    submodi_network *net = f->net;
    memset(f->level, 0, net->nodes * sizeof *f->level);
    memset(f->listed, 0, net->nodes);
    for (int side = GIVE; side < SIDES; side++) {
        f->depth[side] = 1;
        f->limit[side] = 1;
    }
    for (size_t i = 0; i < count; i++) {
        int32_t v = nodes[i];
        if (net->excess[v]) {
            int side = net->excess[v] > 0 ? GIVE : TAKE;
            f->level[v] = signed_level(side, 1);
            f->parent[v] = ROOT;
            f->current[v] = (uint32_t)net->first[v];
            list_node(f, side, v);
        }
    }
}

submod_status submodi_shortest_ways(submodi_network *net, const int32_t *nodes, size_t count,
                                    uint64_t effort, bool *maximal, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    forests f = {.net = net};
    f.level = submodi_take(w, net->nodes, sizeof *f.level);
    f.parent = submodi_take(w, net->nodes, sizeof *f.parent);
    f.current = submodi_take(w, net->nodes, sizeof *f.current);
    f.listed = submodi_take(w, net->nodes, sizeof *f.listed);
    f.front[GIVE] = submodi_take(w, count, sizeof *f.front[GIVE]);
    f.front[TAKE] = submodi_take(w, count, sizeof *f.front[TAKE]);
    f.next = submodi_take(w, count, sizeof *f.next);
    f.orphans = submodi_take(w, net->nodes, sizeof *f.orphans);
    submod_status status = SUBMOD_ENOMEM;
    if (f.level && f.parent && f.current && f.listed && f.front[GIVE] && f.front[TAKE] && f.next &&
        f.orphans) {
        status = SUBMOD_OK;
        plant(&f, nodes, count);
    }
    uint64_t end = net->effort + effort;
    while (status == SUBMOD_OK && f.length[GIVE] && f.length[TAKE] && net->effort < end) {
        bool done = grow(&f, f.length[GIVE] < f.length[TAKE] ? GIVE : TAKE);
        status = done ? SUBMOD_OK : SUBMOD_ECANCELLED;
    }
    *maximal = !f.length[GIVE] || !f.length[TAKE];
    submodi_scope_close(&scope);
    return status;
}
