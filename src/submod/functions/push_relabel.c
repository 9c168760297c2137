/* Maximum flow by push and relabel (Goldberg and Tarjan). Nodes with something to give wait in a
 * queue; from time to time labels become exact distances (Cherkassky and Goldberg's global
 * relabelling).
 *
 * Flow from many nodes joins on its way, which no search for single ways can do. So this is the
 * better method where much has to go far, and O(nodes^3) in the worst case.
 */
#include <string.h>

#include "base/cancel.h"
#include "base/memory.h"
#include "submod/functions/maxflow.h"

typedef struct preflow {
    submodi_network *net;
    const int32_t *nodes;
    size_t count;
    uint32_t *label;   /* a lower bound of the distance to a negative excess; FAR: no way there */
    uint32_t *current; /* arcs of the node before this one are of no use at its label */
    int32_t *queue;    /* a ring: nodes whose excess may still reach one */
    uint8_t *queued;
    size_t front, length;
    uint64_t effort; /* spent since the last exact labels */
} preflow;

static const uint32_t FAR = UINT32_MAX - 1;

/* Sets the labels to distances, by breadth-first search backwards. */
static void measure_distances(preflow *f)
{
    submodi_network *net = f->net;
    size_t end = 0;
    for (size_t i = 0; i < f->count; i++) {
        int32_t v = f->nodes[i];
        f->label[v] = FAR;
        f->current[v] = (uint32_t)net->first[v];
        f->queued[v] = 0;
        if (net->excess[v] < 0) {
            f->label[v] = 0;
            f->queue[end++] = v;
        }
    }
    for (size_t next = 0; next < end; next++) {
        int32_t v = f->queue[next];
        for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
            int32_t w = net->arcs[a].head;
            if (f->label[w] == FAR && net->arcs[net->arcs[a].opposite].residual > 0) {
                f->label[w] = f->label[v] + 1;
                f->queue[end++] = w;
            }
        }
        net->effort += net->first[v + 1] - net->first[v];
    }
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
    measure_distances(f);
    f->front = 0;
    f->length = 0;
    f->effort = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->net->excess[f->nodes[i]] > 0) {
            enqueue(f, f->nodes[i]);
        }
    }
}

/* Pushes excess of v along arcs to labels lower by one; false if some is left over. */
static bool push_down(preflow *f, int32_t v)
{
    submodi_network *net = f->net;
    for (uint32_t a = f->current[v]; net->excess[v] > 0; a++) {
        f->current[v] = a;
        if (a == net->first[v + 1]) {
            return false;
        }
        submodi_arc *arc = &net->arcs[a];
        if (arc->residual > 0 && f->label[v] == f->label[arc->head] + 1) {
            int64_t amount = net->excess[v] < arc->residual ? net->excess[v] : arc->residual;
            net->excess[v] -= amount;
            net->excess[arc->head] += amount;
            arc->residual -= amount;
            net->arcs[arc->opposite].residual += amount;
            if (net->excess[arc->head] > 0) {
                enqueue(f, arc->head);
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
        if (net->arcs[a].residual > 0 && below < lowest) {
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
    f.queue = submodi_take(w, count, sizeof *f.queue);
    f.queued = submodi_take(w, net->nodes, sizeof *f.queued);
    if (!f.label || !f.current || !f.queue || !f.queued) {
        submodi_scope_close(&scope);
        return SUBMOD_ENOMEM;
    }
    size_t arcs = 0;
    for (size_t i = 0; i < count; i++) {
        arcs += net->first[nodes[i] + 1] - net->first[nodes[i]];
    }
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
