/* Minimisers of F(base + A) - F(base) - z(A), F a cut function, by maximum flow.
 *
 * Taking a vertex v of the block into A costs
 *
 *     cost(v) = sum over u outside of out(u) - sum over u in base of in(u) - z(v),
 *
 * and an arc from v in A to a vertex of the block outside A costs its weight. The sum is the cut of
 * a network on the block in which v has the excess -cost(v), and A is the side that gives. Under a
 * maximal flow, A must hold all vertices that an excess can still flow to; the smallest A holds no
 * more. The largest A leaves out those from which something can still flow to a negative excess.
 *
 * The flow is a base as well: the net outflow t of each vertex along its arcs has t(A) <= F(A),
 * because no arc carries more than its weight. What remains of the excess is z - t. So minus that
 * is a base of F - z, and its negative entries add up to the minimum.
 *
 * O(edges at the block) and the flow, which prune.c finds in O(edges) if there is no cycle.
 */
#include <float.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "submod/functions/cut_network.h"

static const char who[] = "minimize of a cut function";

/* Lists of nodes. */
typedef struct scratch {
    int32_t *nodes; /* all of them, in their order */
    int32_t *list;
    uint32_t *degree;
} scratch;

static bool take_scratch(size_t nodes, scratch *s, submod_work *w)
{
    s->nodes = submodi_take(w, nodes, sizeof *s->nodes);
    s->list = submodi_take(w, nodes, sizeof *s->list);
    s->degree = submodi_take(w, nodes, sizeof *s->degree);
    return s->nodes && s->list && s->degree;
}

static submod_status solve(submodi_network *net, const scratch *s, submod_work *w)
{
    submodi_ascending(s->nodes, net->nodes);
    for (size_t v = 0; v < net->nodes; v++) {
        s->degree[v] = (uint32_t)(net->first[v + 1] - net->first[v]);
    }
    if (submodi_prune(net, s->nodes, net->nodes, s->degree, s->list) == 0) {
        return SUBMOD_OK;
    }
    submod_status status = submodi_max_flow(net, s->nodes, net->nodes, SUBMODI_LOOKS_AT_FIRST, w);
    if (status == SUBMOD_OK) {
        return SUBMOD_OK;
    }
    return status == SUBMOD_ECANCELLED ? submodi_cancel(who) : submodi_nomem(who);
}

/* ---- parts of an order ---- */

/* What the networks of the parts are built from. */
typedef struct source {
    const submodi_cut *cut;
    const int32_t *order; /* by rank; a part of the ranks is a block */
    const int32_t *rank;  /* lower than the part: in base; higher: outside */
    const double *z;      /* by rank */
} source;

/* The network under construction. */
typedef struct target {
    submodi_network net;
    size_t *first;
    uint32_t *place; /* the arc of each entry of cut->neighbours */
    double *excess;
    uint8_t *reached;
    scratch scratch;
} target;

static bool is_inside(submodi_part part, int32_t rank)
{
    return rank >= 0 && (size_t)rank >= part.begin && (size_t)rank < part.end;
}

/* Adds the vertex at rank i as a node, with its excess and arcs. Until the part is complete, an
 * arc's `opposite` is the index of its neighbour. */
static void add_node(const source *s, submodi_part part, size_t i, target *t)
{
    size_t v = t->net.nodes++;
    size_t offset = v - (i - part.begin); /* the part's first node */
    size_t arc = t->first[v];
    double excess = s->z[i];
    const submodi_cut *c = s->cut;
    for (size_t j = c->start[s->order[i]]; j < c->start[s->order[i] + 1]; j++) {
        const submodi_neighbour *u = &c->neighbours[j];
        int32_t rank = s->rank[u->vertex];
        if (is_inside(part, rank)) {
            t->place[j] = (uint32_t)arc;
            t->net.arcs[arc++] = (submodi_arc){
                .head = (int32_t)(offset + (size_t)rank - part.begin), .opposite = (uint32_t)j};
        } else {
            excess -= rank < 0 || (size_t)rank < part.begin ? -u->in : u->out;
        }
    }
    t->first[v + 1] = arc;
    t->excess[v] = excess;
}

/* Makes the nodes from `begin` on, a part, whole. */
static void set_capacities(const source *s, size_t begin, submodi_scaling scaling, target *t)
{
    submodi_network *net = &t->net;
    for (size_t v = begin; v < net->nodes; v++) {
        net->excess[v] = submodi_whole(&scaling, t->excess[v]);
        for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
            const submodi_neighbour *u = &s->cut->neighbours[net->arcs[a].opposite];
            net->arcs[a].residual = submodi_capacity(&scaling, u->out);
            net->arcs[a].opposite = t->place[u->opposite];
        }
    }
}

static bool take_target(const source *s, const submodi_part *parts, size_t nparts, target *t,
                        submod_work *w)
{
    size_t nodes = 0;
    size_t arcs = 0;
    for (size_t j = 0; j < nparts; j++) {
        nodes += parts[j].end - parts[j].begin;
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            arcs += s->cut->start[s->order[i] + 1] - s->cut->start[s->order[i]];
        }
    }
    t->first = submodi_take(w, nodes + 1, sizeof *t->first);
    t->net = (submodi_network){.first = t->first};
    t->net.arcs = submodi_take(w, arcs, sizeof *t->net.arcs);
    t->net.excess = submodi_take(w, nodes, sizeof *t->net.excess);
    t->place = submodi_take(w, s->cut->start[s->cut->n], sizeof *t->place);
    t->excess = submodi_take(w, nodes, sizeof *t->excess);
    t->reached = submodi_take(w, nodes, sizeof *t->reached);
    return take_scratch(nodes, &t->scratch, w) && t->first && t->net.arcs && t->net.excess &&
           t->place && t->excess && t->reached;
}

/* One network of all parts, which no arc connects. */
static submod_status build(const source *s, const submodi_part *parts, size_t nparts, target *t)
{
    t->first[0] = 0;
    for (size_t j = 0; j < nparts; j++) {
        size_t begin = t->net.nodes;
        submodi_excesses of = {0};
        submodi_scaling scaling;
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            add_node(s, parts[j], i, t);
            submodi_add_excess(&of, s->order[i], t->excess[t->net.nodes - 1]);
        }
        submod_status status = submodi_find_scaling(who, s->cut, &of, 1, &scaling);
        if (status != SUBMOD_OK) {
            return status;
        }
        set_capacities(s, begin, scaling, t);
    }
    return SUBMOD_OK;
}

static submod_status minimize_in(const source *s, const submodi_part *parts, size_t nparts,
                                 bool largest, uint8_t *in, submod_work *w)
{
    target t;
    if (!take_target(s, parts, nparts, &t, w)) {
        return submodi_nomem(who);
    }
    submod_status status = build(s, parts, nparts, &t);
    status = status ? status : solve(&t.net, &t.scratch, w);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_reach(&t.net, t.scratch.nodes, t.net.nodes, largest, SUBMODI_FLOW_NOISE, t.reached,
                  t.scratch.list);
    size_t v = 0;
    for (size_t j = 0; j < nparts; j++) {
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            in[i] = t.reached[v++] != largest;
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_cut_minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                         const submodi_part *parts, size_t nparts, const double *z,
                                         uint8_t *in)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    source s = {.cut = ctx, .order = order, .rank = rank, .z = z};
    submod_status status = minimize_in(&s, parts, nparts, false, in, w);
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_cut_minimize(const void *ctx, const int32_t *base, size_t nbase,
                                   const int32_t *block, size_t nblock, const double *z,
                                   int largest, uint8_t *in)
{
    const submodi_cut *c = ctx;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    int32_t *rank = submodi_take(w, c->n, sizeof *rank);
    if (!rank) {
        submodi_scope_close(&scope);
        return submodi_nomem(who);
    }
    for (size_t v = 0; v < c->n; v++) {
        rank[v] = INT32_MAX; /* outside */
    }
    for (size_t i = 0; i < nbase; i++) {
        rank[base[i]] = -1;
    }
    for (size_t i = 0; i < nblock; i++) {
        rank[block[i]] = (int32_t)i;
    }
    source s = {.cut = c, .order = block, .rank = rank, .z = z};
    submodi_part whole = {0, nblock};
    submod_status status = minimize_in(&s, &whole, 1, largest != 0, in, w);
    submodi_scope_close(&scope);
    return status;
}

/* ---- all vertices: extremes and base from one flow ---- */

/* Completes the network of all vertices, with the excess z. */
static submod_status whole_network(const submodi_cut *c, const double *z, submodi_network *net,
                                   submodi_scaling *scaling, submod_work *w)
{
    submodi_excesses of = {0};
    for (size_t v = 0; v < c->n; v++) {
        submodi_add_excess(&of, (int32_t)v, z[v]);
    }
    submod_status status = submodi_find_scaling(who, c, &of, 1, scaling);
    if (status != SUBMOD_OK) {
        return status;
    }
    net->arcs = submodi_take(w, c->start[c->n], sizeof *net->arcs);
    net->excess = submodi_take(w, c->n, sizeof *net->excess);
    if (!net->arcs || !net->excess) {
        return submodi_nomem(who);
    }
    submodi_cut_arcs(c, scaling, net->arcs);
    for (size_t v = 0; v < c->n; v++) {
        net->excess[v] = submodi_whole(scaling, z[v]);
    }
    return SUBMOD_OK;
}

submod_status submodi_cut_minimum(const void *ctx, const double *z, uint8_t *smallest,
                                  uint8_t *largest, double *s, double *size, submod_work *work)
{
    const submodi_cut *c = ctx;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submodi_network net = {.nodes = c->n, .first = c->start};
    submodi_scaling scaling = {0, 1, 1};
    scratch lists = {NULL, NULL, NULL};
    submod_status status =
        take_scratch(c->n, &lists, w) ? whole_network(c, z, &net, &scaling, w) : submodi_nomem(who);
    status = status ? status : solve(&net, &lists, w);
    if (status == SUBMOD_OK && smallest) {
        submodi_reach(&net, lists.nodes, c->n, false, SUBMODI_FLOW_NOISE, smallest, lists.list);
    }
    if (status == SUBMOD_OK && largest) {
        submodi_reach(&net, lists.nodes, c->n, true, SUBMODI_FLOW_NOISE, largest, lists.list);
    }
    for (size_t v = 0; status == SUBMOD_OK && v < c->n; v++) {
        if (largest) {
            largest[v] = !largest[v];
        }
        if (s) {
            s[v] = -submodi_amount(&scaling, net.excess[v]);
        }
    }
    *size = fmin(scaling.limit, DBL_MAX); /* F(A) <= z(A) <= sum of |z| */
    submodi_scope_close(&scope);
    return status;
}
