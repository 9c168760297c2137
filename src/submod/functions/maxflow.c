/* Maximum flow by push and relabel (Goldberg and Tarjan). Active nodes wait in a queue; from time
 * to time labels become exact distances to the sink (Cherkassky and Goldberg's global relabelling).
 *
 * Only the first half of the method is needed: a preflow that brings as much as possible to the
 * sink. Supply that cannot get there stays where it is; the cut is known nevertheless. Capacities
 * are whole numbers: nothing rounds, and the bound of O(n^3) operations holds for all of them. The
 * search for augmenting paths along trees that are kept (Boykov and Kolmogorov) is faster on some
 * images but has no such bound.
 *
 * We wrote our own because no library in Debian fits: igraph is in C, but under the GPL, with
 * capacities in double and a graph object to build for every call; LEMON, Boost and OGDF are C++.
 */
#include "submod/functions/maxflow.h"

#include <string.h>

#include "base/cancel.h"
#include "base/memory.h"

typedef struct preflow {
    submodi_network *net;
    uint32_t *label;   /* a lower bound of the distance to the sink; nodes + 1: no way there */
    uint32_t *current; /* arcs of the node before this one are of no use at its label */
    int32_t *queue;    /* a ring: nodes whose supply may still reach the sink */
    uint8_t *queued;
    size_t front, length;
    uint64_t effort; /* spent since the last exact labels */
} preflow;

static uint32_t no_way(const preflow *f)
{
    return (uint32_t)f->net->nodes + 1;
}

/* Sets the labels to distances along residual capacities larger than `rounding`, by breadth-first
 * search from the sink. list has room for all nodes. */
static void measure_distances(const preflow *f, int64_t rounding, int32_t *list)
{
    const submodi_network *net = f->net;
    size_t end = 0;
    for (size_t v = 0; v < net->nodes; v++) {
        f->label[v] = no_way(f);
        if (net->demand[v] > rounding) {
            f->label[v] = 1;
            list[end++] = (int32_t)v;
        }
    }
    for (size_t next = 0; next < end; next++) {
        int32_t v = list[next];
        for (uint32_t a = net->first[v]; a < net->first[v + 1]; a++) {
            int32_t w = net->arcs[a].head;
            if (f->label[w] == no_way(f) && net->arcs[net->arcs[a].opposite].residual > rounding) {
                f->label[w] = f->label[v] + 1;
                list[end++] = w;
            }
        }
    }
}

static void enqueue(preflow *f, int32_t v)
{
    if (!f->queued[v] && f->label[v] != no_way(f)) {
        size_t back = f->front + f->length++;
        f->queue[back < f->net->nodes ? back : back - f->net->nodes] = v;
        f->queued[v] = 1;
    }
}

static int32_t dequeue(preflow *f)
{
    int32_t v = f->queue[f->front];
    f->front = f->front + 1 < f->net->nodes ? f->front + 1 : 0;
    f->length--;
    f->queued[v] = 0;
    return v;
}

/* Makes the labels exact and the queue anew. */
static void start_over(preflow *f)
{
    const submodi_network *net = f->net;
    measure_distances(f, 0, f->queue);
    memcpy(f->current, net->first, net->nodes * sizeof *f->current);
    memset(f->queued, 0, net->nodes);
    f->front = 0;
    f->length = 0;
    f->effort = 0;
    for (size_t v = 0; v < net->nodes; v++) {
        if (net->supply[v] > 0) {
            enqueue(f, (int32_t)v);
        }
    }
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Pushes supply of v along arcs to labels lower by one; false if some is left over. */
static bool push_down(preflow *f, int32_t v)
{
    submodi_network *net = f->net;
    if (f->label[v] == 1) { /* to the sink */
        int64_t amount = smaller(net->supply[v], net->demand[v]);
        net->supply[v] -= amount;
        net->demand[v] -= amount;
    }
    for (uint32_t a = f->current[v]; net->supply[v] > 0; a++) {
        f->current[v] = a;
        if (a == net->first[v + 1]) {
            return false;
        }
        submodi_arc *arc = &net->arcs[a];
        if (arc->residual > 0 && f->label[v] == f->label[arc->head] + 1) {
            int64_t amount = smaller(net->supply[v], arc->residual);
            net->supply[v] -= amount;
            net->supply[arc->head] += amount;
            arc->residual -= amount;
            net->arcs[arc->opposite].residual += amount;
            enqueue(f, arc->head);
        }
    }
    return true;
}

/* Makes the label of v one more than its lowest neighbour's. The sink is none of them: supply is
 * left over, so the demand of v itself is met. */
static void relabel(preflow *f, int32_t v)
{
    const submodi_network *net = f->net;
    uint32_t lowest = no_way(f) - 1;
    for (uint32_t a = net->first[v]; a < net->first[v + 1]; a++) {
        uint32_t below = f->label[net->arcs[a].head];
        if (net->arcs[a].residual > 0 && below < lowest) {
            lowest = below;
        }
    }
    f->label[v] = lowest + 1;
    f->current[v] = net->first[v];
    f->effort += net->first[v + 1] - net->first[v] + 12; /* a visit costs as much as some arcs */
}

submod_status submodi_max_flow(submodi_network *net, int64_t rounding, uint8_t *reaches,
                               submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    preflow f = {.net = net};
    f.label = submodi_take(w, net->nodes, sizeof *f.label);
    f.current = submodi_take(w, net->nodes, sizeof *f.current);
    f.queue = submodi_take(w, net->nodes, sizeof *f.queue);
    f.queued = submodi_take(w, net->nodes, sizeof *f.queued);
    if (!f.label || !f.current || !f.queue || !f.queued) {
        submodi_scope_close(&scope);
        return SUBMOD_ENOMEM;
    }
    uint64_t patience = 2 * (uint64_t)net->nodes + net->first[net->nodes] / 2;
    start_over(&f);
    bool cancelled = submodi_cancelled();
    while (f.length && !cancelled) {
        int32_t v = dequeue(&f);
        if (!push_down(&f, v)) {
            relabel(&f, v);
            enqueue(&f, v);
        }
        if (f.effort > patience) {
            cancelled = submodi_cancelled();
            start_over(&f);
        }
    }
    measure_distances(&f, rounding, f.queue);
    for (size_t v = 0; v < net->nodes; v++) {
        reaches[v] = f.label[v] != no_way(&f);
    }
    submodi_scope_close(&scope);
    return cancelled ? SUBMOD_ECANCELLED : SUBMOD_OK;
}
