/* A flow through the graph of a cut function, kept while the vertices are divided into parts.
 *
 * Let the parts be in an order, and z a vector. Within a part, A -> F(S + A) - F(S) - z(A), S all
 * that comes before, is the cut within the part less (z - cross)(A), and its minimisers are those
 * of a maximal flow with the excess z - cross. When z changes, the flow that is there stays within
 * the capacities: only the excess is computed anew. When a part is divided into A and the rest, A a
 * minimiser, the arcs from A to the rest are full and nothing flows back. They are closed, their
 * weights go into `cross`, and what flows within both sides stays.
 *
 * When parts are joined again, the arcs between them carry what they carried.
 *
 * So at any time the flow within the parts and `cross` together are a base. O(arcs of the part)
 * when its scaling changes; else aim costs O(vertices), and a division O(arcs of the smaller side).
 */
#include "prox/cut_flow.h"

#include <string.h>

#include "base/internal.h"

/* A part gets a new scaling when its numbers have become this much smaller. */
static const double COARSE = 256;

/* The limit of weights, as a multiple of the sum of |z - cross|: several looks can be had before
 * half of it has been used. */
static const double ROOM = 8;

submod_status submodi_cut_flow_start(submodi_cut_flow *f, const submodi_cut *cut,
                                     const int32_t *order, submodi_open_part *all, submod_work *w)
{
    size_t n = cut->n;
    submodi_arc *arcs = submodi_work_alloc(w, cut->start[n], sizeof *arcs);
    *f = (submodi_cut_flow){.cut = cut,
                            .net = {.nodes = n, .first = cut->start, .arcs = arcs},
                            .order = order,
                            .ids = 1};
    f->net.excess = submodi_work_alloc(w, n, sizeof *f->net.excess);
    f->part = submodi_work_alloc(w, n, sizeof *f->part);
    f->want = submodi_work_alloc(w, n, sizeof *f->want);
    f->cross = submodi_work_alloc(w, n, sizeof *f->cross);
    f->degree = submodi_work_alloc(w, n, sizeof *f->degree);
    f->closed = submodi_work_alloc(w, cut->start[n], sizeof *f->closed);
    TRY(submodi_work_status(w));
    /* Nothing can flow, until the first aim chooses a scaling. */
    *all = (submodi_open_part){.end = n, .scaling = {0, 1, 1}, .used = INFINITY};
    submodi_cut_arcs(cut, &all->scaling, arcs);
    memset(f->closed, SUBMODI_ARC_WITHIN, cut->start[n]);
    memset(f->net.excess, 0, n * sizeof *f->net.excess);
    memset(f->part, 0, n * sizeof *f->part);
    memset(f->want, 0, n * sizeof *f->want);
    for (size_t v = 0; v < n; v++) {
        f->cross[v] = 0;
        f->degree[v] = (uint32_t)(cut->start[v + 1] - cut->start[v]);
    }
    return SUBMOD_OK;
}

static inline int64_t flow_of(const submodi_cut_flow *f, const submodi_scaling *scaling, size_t a)
{
    return submodi_capacity(scaling, f->cut->neighbours[a].out) - f->net.arcs[a].residual;
}

/* What flows through an arc, which may have been closed. */
static inline double amount_of(const submodi_cut_flow *f, const submodi_scaling *scaling, size_t a)
{
    switch (f->closed[a]) {
    case SUBMODI_ARC_LEAVES: return f->cut->neighbours[a].out;
    case SUBMODI_ARC_ENTERS: return -f->cut->neighbours[a].in;
    default: return submodi_from_fixed(scaling, flow_of(f, scaling, a));
    }
}

/* The parts that the vertices of a new part come from: old[label[v]]. */
typedef struct origin {
    const submodi_open_part *old;
    const int32_t *label; /* NULL: all come from old[0] */
} origin;

/* Changes the scaling of a part. The flow within it is kept, or dropped. */
static void rescale(submodi_cut_flow *f, submodi_open_part *part, origin from,
                    submodi_scaling scaling, bool keep)
{
    for (size_t i = part->begin; i < part->end; i++) {
        f->want[f->order[i]] = 0;
        f->net.excess[f->order[i]] = 0;
    }
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = f->order[i];
        const submodi_scaling *old = &from.old[from.label ? from.label[v] : 0].scaling;
        for (size_t a = f->cut->start[v]; a < f->cut->start[v + 1]; a++) {
            const submodi_neighbour *u = &f->cut->neighbours[a];
            if (f->part[u->vertex] != part->id || u->opposite < a) {
                continue;
            }
            int64_t out = submodi_capacity(&scaling, u->out);
            int64_t in = submodi_capacity(&scaling, u->in);
            int64_t flow = submodi_to_fixed(&scaling, keep ? amount_of(f, old, a) : 0);
            flow = flow > out ? out : (flow < -in ? -in : flow);
            f->net.arcs[a].residual = out - flow;
            f->net.arcs[u->opposite].residual = in + flow;
            f->closed[a] = f->closed[u->opposite] = SUBMODI_ARC_WITHIN;
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

static wishes measure(const submodi_cut_flow *f, const submodi_open_part *part, const double *z)
{
    wishes w = {.missing = 0};
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = f->order[i];
        double wanted = z[i] - f->cross[v];
        double flow = submodi_from_fixed(&part->scaling, f->want[v] - f->net.excess[v]);
        submodi_add_excess(&w.wanted, v, wanted);
        w.missing += fabs(wanted - flow);
    }
    return w;
}

/* Chooses a new scaling if the numbers no longer fit into the present one, or have become too small
 * for it, or if the part was joined (from.label is given). A flow that came near its limit, where
 * weights are larger than that, is dropped. */
static submod_status fit(submodi_cut_flow *f, submodi_open_part *part, origin from, const wishes *w)
{
    double heaviest = f->cut->heaviest;
    submodi_scaling best;
    TRY(submodi_find_scaling(f->cut, &w->wanted, ROOM, &best));
    double ratio = best.root / part->scaling.root; /* finer by its square */
    bool limited = part->scaling.limit < heaviest;
    bool kept = part->used + w->missing <= part->scaling.limit || !limited;
    if (!from.label && kept && ratio * ratio >= 0.5 && ratio * ratio <= COARSE) {
        part->used += w->missing;
        return SUBMOD_OK;
    }
    bool keep = best.limit >= heaviest;
    rescale(f, part, from, best, keep);
    part->used = keep ? w->missing : w->wanted.sum;
    return SUBMOD_OK;
}

submod_status submodi_cut_flow_aim(submodi_cut_flow *f, submodi_open_part *part, const double *z)
{
    wishes w = measure(f, part, z);
    if (!isfinite(w.wanted.largest)) {
        return submodi_fail(SUBMOD_ENUMERIC, "lambda x overflows");
    }
    const submodi_open_part old = *part;
    TRY(fit(f, part, (origin){.old = &old}, &w));
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = f->order[i];
        int64_t flow = f->want[v] - f->net.excess[v];
        f->want[v] = submodi_to_fixed(&part->scaling, z[i] - f->cross[v]);
        f->net.excess[v] = f->want[v] - flow;
    }
    return SUBMOD_OK;
}

double submodi_cut_flow_base(const submodi_cut_flow *f, const submodi_open_part *part, int32_t v)
{
    return f->cross[v] + submodi_from_fixed(&part->scaling, f->want[v] - f->net.excess[v]);
}

double submodi_cut_flow_between(const submodi_cut_flow *f, const submodi_open_part *part,
                                const uint8_t *in, size_t first)
{
    double weight = 0;
    size_t middle = part->begin + first;
    bool fewer = first <= part->end - middle; /* look from the smaller side */
    for (size_t i = fewer ? part->begin : middle; i < (fewer ? middle : part->end); i++) {
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
static void close(submodi_cut_flow *f, const submodi_open_part *part, int32_t v, size_t a)
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
    f->closed[a] = SUBMODI_ARC_LEAVES;
    f->closed[u->opposite] = SUBMODI_ARC_ENTERS;
}

void submodi_cut_flow_divide(submodi_cut_flow *f, const submodi_open_part *part,
                             submodi_open_part side[2])
{
    bool fewer = side[0].end - side[0].begin <= side[1].end - side[1].begin;
    submodi_open_part *moved = &side[fewer ? 0 : 1];
    moved->id = f->ids++;
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

/* Takes the closed arcs among the vertices of a part out of `cross`. */
static void reopen(submodi_cut_flow *f, const submodi_open_part *part)
{
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = f->order[i];
        for (size_t a = f->cut->start[v]; a < f->cut->start[v + 1]; a++) {
            const submodi_neighbour *u = &f->cut->neighbours[a];
            if (f->closed[a] == SUBMODI_ARC_LEAVES && f->part[u->vertex] == part->id) {
                f->cross[v] -= u->out;
                f->cross[u->vertex] += u->out;
                f->degree[v]++;
                f->degree[u->vertex]++;
            }
        }
    }
}

submod_status submodi_cut_flow_join(submodi_cut_flow *f, submodi_open_part *part,
                                    const submodi_open_part *old, const int32_t *label,
                                    const double *z)
{
    reopen(f, part);
    wishes w = measure(f, part, z);
    w.missing = w.wanted.sum;
    return isfinite(w.wanted.largest) ? fit(f, part, (origin){.old = old, .label = label}, &w)
                                      : submodi_fail(SUBMOD_ENUMERIC, "lambda x overflows");
}
