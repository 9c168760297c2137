/* Maximum flow by push-relabel (Goldberg and Tarjan), from many nodes to few.
 *
 * Active nodes wait in a queue. From time to time labels are reset to exact distances (Cherkassky
 * and Goldberg's global relabelling) and the queue is filled by decreasing distance, so that flows
 * join on their way. If there are fewer sources than sinks, the network is mirrored: demands are
 * pushed against the arcs. With few sinks, distances vary and paths stay useful for long; with
 * sinks everywhere, every path would be a single arc. O(nodes^3). */
#include <string.h>

#include "base/internal.h"
#include "submod/flow.h"

typedef struct preflow {
    submodi_network *net;
    const int32_t *nodes;
    size_t count;
    bool mirrored;     /* excesses and arcs are those of the mirrored network */
    uint32_t *label;   /* a lower bound of the distance to a sink; FAR: no path */
    uint32_t *current; /* arcs before it are not admissible at the present label */
    int32_t *found;    /* nodes by distance, from global relabelling */
    int32_t *queue;    /* ring buffer of active nodes */
    uint8_t *queued;
    size_t front, length;
    uint64_t effort; /* since the last global relabelling */
} preflow;

static const uint32_t FAR = UINT32_MAX - 1;

/* Effort of a relabelling besides its arc visits. Relabelling globally after effort 2 nodes +
 * arcs / 2 was the fastest multiple on genrmf and on grids. */
enum { RELABEL_EFFORT = 12 };

static inline int64_t excess_of(const preflow *f, int32_t v)
{
    return f->mirrored ? -f->net->excess[v] : f->net->excess[v];
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

/* Sets the labels to distances, by breadth-first search from the sinks. Returns how many nodes have
 * a path to one. */
static size_t compute_distances(preflow *f)
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
            if (f->label[w] == FAR && submodi_arc_of(net, a, !f->mirrored)->residual > 0) {
                f->label[w] = f->label[v] + 1;
                f->found[end++] = w;
            }
        }
        net->effort += net->first[v + 1] - net->first[v];
    }
    return end;
}

/* Makes the labels exact and fills the queue. */
static void relabel_globally(preflow *f)
{
    size_t found = compute_distances(f);
    f->front = 0;
    f->length = 0;
    f->effort = 0;
    while (found-- > 0) {
        if (excess_of(f, f->found[found]) > 0) {
            enqueue(f, f->found[found]);
        }
    }
}

/* Pushes excess of v along admissible arcs. Returns false if some is left. */
static bool push(preflow *f, int32_t v)
{
    submodi_network *net = f->net;
    for (uint32_t a = f->current[v]; excess_of(f, v) > 0; a++) {
        f->current[v] = a;
        if (a == net->first[v + 1]) {
            return false;
        }
        int32_t w = net->arcs[a].head;
        submodi_arc *arc = submodi_arc_of(net, a, f->mirrored);
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

/* Sets the label of v to one more than its lowest residual neighbour's. */
static void relabel(preflow *f, int32_t v)
{
    submodi_network *net = f->net;
    uint32_t lowest = (uint32_t)f->count; /* no path is longer */
    f->label[v] = FAR;
    for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
        uint32_t below = f->label[net->arcs[a].head];
        if (below < lowest && submodi_arc_of(net, a, f->mirrored)->residual > 0) {
            lowest = below;
            f->label[v] = below + 1;
        }
    }
    size_t arcs = net->first[v + 1] - net->first[v];
    f->current[v] = (uint32_t)net->first[v];
    f->effort += arcs + RELABEL_EFFORT;
    net->effort += arcs;
}

static submod_status allocate(preflow *f, submod_work *w)
{
    size_t n = f->net->nodes;
    f->label = submodi_work_alloc(w, n, sizeof *f->label);
    f->current = submodi_work_alloc(w, n, sizeof *f->current);
    f->queued = submodi_work_alloc(w, n, sizeof *f->queued);
    f->found = submodi_work_alloc(w, f->count, sizeof *f->found);
    f->queue = submodi_work_alloc(w, f->count, sizeof *f->queue);
    TRY(submodi_work_status(w));
    memset(f->label, 0, n * sizeof *f->label); /* labels outside the nodes are read, never used */
    return SUBMOD_OK;
}

static submod_status run(preflow *f)
{
    const submodi_network *net = f->net;
    size_t arcs = 0, sources = 0, sinks = 0;
    for (size_t i = 0; i < f->count; i++) {
        int32_t v = f->nodes[i];
        sources += net->excess[v] > 0;
        sinks += net->excess[v] < 0;
        arcs += net->first[v + 1] - net->first[v];
    }
    f->mirrored = sources < sinks;
    bool cancelled = submodi_cancelled();
    relabel_globally(f);
    while (f->length && !cancelled) {
        int32_t v = dequeue(f);
        if (!push(f, v)) {
            relabel(f, v);
            enqueue(f, v);
        }
        if (f->effort > 2 * f->count + arcs / 2) {
            cancelled = submodi_cancelled();
            relabel_globally(f);
        }
    }
    return cancelled ? SUBMOD_ECANCELLED : SUBMOD_OK;
}

submod_status submodi_push_relabel(submodi_network *net, const int32_t *nodes, size_t count,
                                   submod_work *work)
{
    submodi_scope scope;
    preflow f = {.net = net, .nodes = nodes, .count = count};
    submod_status status = allocate(&f, submodi_scope_open(&scope, work));
    status = status ? status : run(&f);
    submodi_scope_close(&scope);
    return status;
}
