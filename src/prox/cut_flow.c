/* A flow through the graph of a cut function, kept while the vertices are divided into parts.
 *
 * Let the parts be in an order, and z a vector. Within a part, A -> F(S + A) - F(S) - z(A), S all
 * that comes before, is the cut within the part less (z - cross)(A), and its minimisers are those
 * of a maximal flow with the excess z - cross. When z changes, the flow that is there stays within
 * the capacities: only the excess is computed anew. When a part is divided into A and the rest, A a
 * minimiser, the arcs from A to the rest are full and nothing flows back. They are closed, their
 * weights go into `cross`, and what flows within both sides stays.
 *
 * So at any time the flow within the parts and `cross` together are a base. O(arcs of the part)
 * when its scaling changes; else aim costs O(vertices), and a division O(arcs of the smaller side).
 */
#include "prox/cut_flow.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* A part gets a new scaling when its numbers have become this much smaller. */
static const double COARSE = 256;

/* The limit of weights, as a multiple of the sum of |z - cross|: several looks can be had before
 * half of it has been used. */
static const double ROOM = 8;

bool submodi_cut_flow_start(submodi_cut_flow *f, const submodi_cut *cut, submodi_flow_part *all,
                            submod_work *w)
{
    size_t n = cut->n;
    submodi_arc *arcs = submodi_take(w, cut->start[n], sizeof *arcs);
    *f = (submodi_cut_flow){.cut = cut, .net = {.nodes = n, .first = cut->start, .arcs = arcs}};
    f->net.excess = submodi_take(w, n, sizeof *f->net.excess);
    f->order = submodi_take(w, n, sizeof *f->order);
    f->rank = submodi_take(w, n, sizeof *f->rank);
    f->part = submodi_take(w, n, sizeof *f->part);
    f->want = submodi_take(w, n, sizeof *f->want);
    f->cross = submodi_take(w, n, sizeof *f->cross);
    f->degree = submodi_take(w, n, sizeof *f->degree);
    f->others = submodi_take(w, n, sizeof *f->others);
    if (!arcs || !f->net.excess || !f->order || !f->rank || !f->part || !f->want || !f->cross ||
        !f->degree || !f->others) {
        return false;
    }
    /* Nothing can flow, until the first aim chooses a scaling. */
    *all = (submodi_flow_part){.end = n, .scaling = {0, 1, 1}, .used = INFINITY};
    f->parts = 1;
    submodi_cut_arcs(cut, &all->scaling, arcs);
    submodi_ascending(f->order, n);
    submodi_ascending(f->rank, n);
    memset(f->net.excess, 0, n * sizeof *f->net.excess);
    memset(f->part, 0, n * sizeof *f->part);
    memset(f->want, 0, n * sizeof *f->want);
    for (size_t v = 0; v < n; v++) {
        f->cross[v] = 0;
        f->degree[v] = (uint32_t)(cut->start[v + 1] - cut->start[v]);
    }
    return true;
}

static inline int64_t flow_of(const submodi_cut_flow *f, const submodi_scaling *scaling, size_t a)
{
    return submodi_capacity(scaling, f->cut->neighbours[a].out) - f->net.arcs[a].residual;
}

/* Changes the scaling of a part. The flow within it is kept, or dropped. */
static void rescale(submodi_cut_flow *f, submodi_flow_part *part, submodi_scaling scaling,
                    bool keep)
{
    for (size_t i = part->begin; i < part->end; i++) {
        f->want[f->order[i]] = 0;
        f->net.excess[f->order[i]] = 0;
    }
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = f->order[i];
        for (size_t a = f->cut->start[v]; a < f->cut->start[v + 1]; a++) {
            const submodi_neighbour *u = &f->cut->neighbours[a];
            if (f->part[u->vertex] != part->id || u->opposite < a) {
                continue;
            }
            int64_t out = submodi_capacity(&scaling, u->out);
            int64_t in = submodi_capacity(&scaling, u->in);
            int64_t flow = keep ? flow_of(f, &part->scaling, a) : 0;
            flow = submodi_whole(&scaling, submodi_amount(&part->scaling, flow));
            flow = flow > out ? out : (flow < -in ? -in : flow);
            f->net.arcs[a].residual = out - flow;
            f->net.arcs[u->opposite].residual = in + flow;
            f->want[v] += flow;
            f->want[u->vertex] -= flow;
        }
    }
    part->scaling = scaling;
}

/* What the vertices of a part want if they aim at z. */
typedef struct wishes {
    submodi_excesses wanted; /* z - cross */
    double missing;          /* sum of what the flow that is there leaves of it */
} wishes;

static wishes measure(const submodi_cut_flow *f, const submodi_flow_part *part, const double *z)
{
    wishes w = {.missing = 0};
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = f->order[i];
        double wanted = z[i] - f->cross[v];
        double flow = submodi_amount(&part->scaling, f->want[v] - f->net.excess[v]);
        submodi_add_excess(&w.wanted, v, wanted);
        w.missing += fabs(wanted - flow);
    }
    return w;
}

/* Chooses a new scaling if the numbers no longer fit into the present one, or have become too small
 * for it. A flow that came near its limit, where weights are larger than that, is dropped. */
static submod_status fit(const char *who, submodi_cut_flow *f, submodi_flow_part *part,
                         const wishes *w)
{
    double heaviest = f->cut->heaviest;
    submodi_scaling best;
    submod_status status = submodi_find_scaling(who, f->cut, &w->wanted, ROOM, &best);
    if (status != SUBMOD_OK) {
        return status;
    }
    double ratio = best.root / part->scaling.root; /* finer by its square */
    bool limited = part->scaling.limit < heaviest;
    bool kept = part->used + w->missing <= part->scaling.limit || !limited;
    if (kept && ratio * ratio >= 0.5 && ratio * ratio <= COARSE) {
        part->used += w->missing;
        return SUBMOD_OK;
    }
    bool keep = best.limit >= heaviest;
    rescale(f, part, best, keep);
    part->used = keep ? w->missing : w->wanted.sum;
    return SUBMOD_OK;
}

submod_status submodi_cut_flow_aim(const char *who, submodi_cut_flow *f, submodi_flow_part *part,
                                   const double *z)
{
    wishes w = measure(f, part, z);
    submod_status status = isfinite(w.wanted.largest)
                               ? fit(who, f, part, &w)
                               : submodi_fail(SUBMOD_ENUMERIC, "%s: lambda x overflows", who);
    for (size_t i = part->begin; status == SUBMOD_OK && i < part->end; i++) {
        int32_t v = f->order[i];
        int64_t flow = f->want[v] - f->net.excess[v];
        f->want[v] = submodi_whole(&part->scaling, z[i] - f->cross[v]);
        f->net.excess[v] = f->want[v] - flow;
    }
    return status;
}

double submodi_cut_flow_base(const submodi_cut_flow *f, const submodi_flow_part *part, int32_t v)
{
    return f->cross[v] + submodi_amount(&part->scaling, f->want[v] - f->net.excess[v]);
}

double submodi_cut_flow_sort(submodi_cut_flow *f, const submodi_flow_part *part, const uint8_t *in,
                             size_t *first)
{
    size_t front = part->begin;
    size_t back = 0;
    double weight = 0;
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = f->order[i];
        if (in[v]) {
            f->order[front++] = v;
        } else {
            f->others[back++] = v;
        }
    }
    memcpy(f->order + front, f->others, back * sizeof *f->order);
    for (size_t i = part->begin; i < part->end; i++) {
        f->rank[f->order[i]] = (int32_t)i;
    }
    *first = front - part->begin;
    bool fewer = *first <= back; /* look from the smaller side */
    for (size_t i = fewer ? part->begin : front; i < (fewer ? front : part->end); i++) {
        int32_t v = f->order[i];
        for (size_t a = f->cut->start[v]; a < f->cut->start[v + 1]; a++) {
            int32_t u = f->net.arcs[a].head;
            if (in[u] != in[v] && f->part[u] == part->id) {
                weight += fewer ? f->cut->neighbours[a].out : f->cut->neighbours[a].in;
            }
        }
    }
    return weight;
}

/* Closes the arcs between a and its opposite; v, the tail of a, comes before. */
static void close(submodi_cut_flow *f, const submodi_flow_part *part, int32_t v, size_t a)
{
    const submodi_neighbour *u = &f->cut->neighbours[a];
    int64_t flow = flow_of(f, &part->scaling, a);
    f->want[v] -= flow;
    f->want[u->vertex] += flow;
    f->cross[v] += u->out;
    f->cross[u->vertex] -= u->out;
    f->degree[v]--;
    f->degree[u->vertex]--;
    f->net.arcs[a].residual = 0;
    f->net.arcs[u->opposite].residual = 0;
}

void submodi_cut_flow_split(submodi_cut_flow *f, const submodi_flow_part *part, size_t first,
                            submodi_flow_part side[2])
{
    side[0] = *part;
    side[1] = *part;
    side[0].end = part->begin + first;
    side[1].begin = part->begin + first;
    bool fewer = first <= part->end - side[1].begin;
    submodi_flow_part *moved = &side[fewer ? 0 : 1];
    moved->id = f->parts++;
    for (size_t i = moved->begin; i < moved->end; i++) {
        f->part[f->order[i]] = moved->id;
    }
    for (size_t i = moved->begin; i < moved->end; i++) {
        int32_t v = f->order[i];
        for (size_t a = f->cut->start[v]; a < f->cut->start[v + 1]; a++) {
            const submodi_arc *arc = &f->net.arcs[a];
            if (f->part[arc->head] != part->id) {
                continue;
            }
            if (fewer) {
                close(f, part, v, a);
            } else {
                close(f, part, arc->head, arc->opposite);
            }
        }
    }
}

static void put(submodi_cut_flow *f, size_t rank, int32_t v)
{
    f->order[rank] = v;
    f->rank[v] = (int32_t)rank;
}

/* Breadth-first search; the order is its queue. */
submodi_flow_part submodi_cut_flow_component(submodi_cut_flow *f, submodi_flow_part *part)
{
    submodi_flow_part component = *part;
    component.id = f->parts++;
    component.end = part->begin + 1;
    f->part[f->order[part->begin]] = component.id;
    for (size_t i = component.begin; i < component.end; i++) {
        int32_t v = f->order[i];
        for (size_t a = f->cut->start[v]; a < f->cut->start[v + 1]; a++) {
            int32_t u = f->net.arcs[a].head;
            if (f->part[u] == part->id) {
                f->part[u] = component.id;
                put(f, (size_t)f->rank[u], f->order[component.end]);
                put(f, component.end++, u);
            }
        }
    }
    part->begin = component.end;
    return component;
}
