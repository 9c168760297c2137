/* Maximum flow by push and relabel (Goldberg and Tarjan), from many nodes to few.
 *
 * Nodes wait in a queue; from time to time labels become exact distances (Cherkassky and Goldberg's
 * global relabelling) and the queue begins with the nodes that are farthest. So flows join on their
 * way, which no search for single ways can do, and this is the better method where much has to go
 * far. If fewer nodes give than take, the network is seen in a mirror: demands are pushed against
 * the arcs. Towards few nodes the distances differ, and ways stay the same for long; towards nodes
 * that are everywhere every way would be one step, again and again.
 *
 * O(nodes^3) in the worst case.
 */
#include <string.h>

#include "base/cancel.h"
#include "base/memory.h"
#include "submod/functions/maxflow.h"

typedef struct preflow {
    submodi_network *net;
    const int32_t *nodes;
    size_t count;
    bool mirrored;     /* all below is meant in the mirror */
    uint32_t *label;   /* a lower bound of the distance to a negative excess; FAR: no way there */
    uint32_t *current; /* arcs of the node before this one are of no use at its label */
    int32_t *found;    /* nodes by distance, when labels became exact */
    int32_t *queue;    /* a ring: nodes whose excess may still reach one */
    uint8_t *queued;
    size_t front, length;
    uint64_t effort; /* spent since the last exact labels */
} preflow;

static const uint32_t FAR = UINT32_MAX - 1;

static inline int64_t excess_of(const preflow *f, int32_t v)
{
    return f->mirrored ? -f->net->excess[v] : f->net->excess[v];
}

/* The arc that takes flow to the head of arc a, or from there. */
static inline submodi_arc *towards(const preflow *f, size_t a)
{
    submodi_arc *arc = &f->net->arcs[a];
    return f->mirrored ? &f->net->arcs[arc->opposite] : arc;
}

static inline submodi_arc *from(const preflow *f, size_t a)
{
    submodi_arc *arc = &f->net->arcs[a];
    return f->mirrored ? arc : &f->net->arcs[arc->opposite];
}

/* Sets the labels to distances, by breadth-first search backwards. Returns how many nodes have a
 * way. */
static size_t measure_distances(preflow *f)
{
    submodi_network *net = f->net;
    size_t end = 0;
    for (size_t i = 0; i < f->count; i++) {
        int32_t v = f->nodes[i];
        f->label[v] = FAR;
        f->current[v] = (uint32_t)net->first[v];
        f->queued[v] = 0;
        if (excess_of(f, v) < 0) {
            f->label[v] = 0;
            f->found[end++] = v;
        }
    }
    for (size_t next = 0; next < end; next++) {
        int32_t v = f->found[next];
        for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
            int32_t w = net->arcs[a].head;
            if (f->label[w] == FAR && from(f, a)->residual > 0) {
                f->label[w] = f->label[v] + 1;
                f->found[end++] = w;
            }
        }
        net->effort += net->first[v + 1] - net->first[v];
    }
    return end;
}

static void enqueue(preflow *f, int32_t v)
{
    if (!f->queued[v] && f->label[v] != FAR) {
        size_t back = f->front + f->length++;
        f->queue[back < f->count ? back : back - f->count] = v;
        f->queued[v] = 1;
    }
}

static int32_t dequeue(preflow *f)
{
    int32_t v = f->queue[f->front];
    f->front = f->front + 1 < f->count ? f->front + 1 : 0;
    f->length--;
    f->queued[v] = 0;
    return v;
}

/* Makes the labels exact and the queue anew. */
static void start_over(preflow *f)
{
    size_t found = measure_distances(f);
    f->front = 0;
    f->length = 0;
    f->effort = 0;
    while (found-- > 0) {
        if (excess_of(f, f->found[found]) > 0) {
            enqueue(f, f->found[found]);
        }
    }
}

/* Pushes excess of v along arcs to labels lower by one; false if some is left over. */
static bool push_down(preflow *f, int32_t v)
{
    submodi_network *net = f->net;
    for (uint32_t a = f->current[v]; excess_of(f, v) > 0; a++) {
        f->current[v] = a;
        if (a == net->first[v + 1]) {
            return false;
        }
        int32_t w = net->arcs[a].head;
        submodi_arc *arc = towards(f, a);
        if (f->label[v] == f->label[w] + 1 && arc->residual > 0) {
            int64_t most = excess_of(f, v);
            int64_t amount = most < arc->residual ? most : arc->residual;
            net->excess[v] -= f->mirrored ? -amount : amount;
            net->excess[w] += f->mirrored ? -amount : amount;
            arc->residual -= amount;
            net->arcs[arc->opposite].residual += amount;
            if (excess_of(f, w) > 0) {
                enqueue(f, w);
            }
        }
    }
    return true;
}

/* Makes the label of v one more than its lowest neighbour's. */
static void relabel(preflow *f, int32_t v)
{
    submodi_network *net = f->net;
    uint32_t lowest = (uint32_t)f->count; /* no way is longer */
    f->label[v] = FAR;
    for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
        uint32_t below = f->label[net->arcs[a].head];
        if (below < lowest && towards(f, a)->residual > 0) {
            lowest = below;
            f->label[v] = below + 1;
        }
    }
    size_t arcs = net->first[v + 1] - net->first[v];
    f->current[v] = (uint32_t)net->first[v];
    f->effort += arcs + 12; /* a visit costs as much as some arcs */
    net->effort += arcs;
}

submod_status submodi_push_relabel(submodi_network *net, const int32_t *nodes, size_t count,
                                   submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    preflow f = {.net = net, .nodes = nodes, .count = count};
    f.label = submodi_take(w, net->nodes, sizeof *f.label);
    f.current = submodi_take(w, net->nodes, sizeof *f.current);
    f.found = submodi_take(w, count, sizeof *f.found);
    f.queue = submodi_take(w, count, sizeof *f.queue);
    f.queued = submodi_take(w, net->nodes, sizeof *f.queued);
    if (!f.label || !f.current || !f.found || !f.queue || !f.queued) {
        submodi_scope_close(&scope);
        return SUBMOD_ENOMEM;
    }
    size_t arcs = 0;
    size_t givers = 0;
    size_t takers = 0;
    for (size_t i = 0; i < count; i++) {
        givers += net->excess[nodes[i]] > 0;
        takers += net->excess[nodes[i]] < 0;
        arcs += net->first[nodes[i] + 1] - net->first[nodes[i]];
    }
    f.mirrored = givers < takers;
    memset(f.label, 0, net->nodes * sizeof *f.label); /* that of the other nodes is never used */
    start_over(&f);
    bool cancelled = submodi_cancelled();
    while (f.length && !cancelled) {
        int32_t v = dequeue(&f);
        if (!push_down(&f, v)) {
            relabel(&f, v);
            enqueue(&f, v);
        }
        if (f.effort > 2 * count + arcs / 2) {
            cancelled = submodi_cancelled();
            start_over(&f);
        }
    }
    submodi_scope_close(&scope);
    return cancelled ? SUBMOD_ECANCELLED : SUBMOD_OK;
}
