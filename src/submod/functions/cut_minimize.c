/* Minimisers of F(base + A) - F(base) - z(A), F a cut function, by maximum flow.
 *
 * Taking a vertex v of the block into A costs
 *
 *     cost(v) = sum over u outside of out(u) - sum over u in base of in(u) - z(v),
 *
 * and an arc from v in A to a vertex of the block outside A costs its weight. The sum is the cut of
 * a network on the block: A is the side of the source, a negative cost is a supply, a positive cost
 * a demand. The largest A is the set of vertices that cannot reach the sink. For the smallest A the
 * network is turned around: it is the set of vertices that can reach the former source.
 *
 * Capacities become whole numbers of up to 60 bits: they are multiplied by a power of two, chosen
 * for each block. That is finer than the rounding of a sum of the numbers at one vertex, so nothing
 * is lost that the values of F would show.
 *
 * O(edges at the block) and the flow. If the block has no cycle, as on a chain, forest_cut.c does
 * without a flow.
 */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "submod/functions/cut.h"
#include "submod/functions/maxflow.h"

/* The capacities at one vertex add up to less than 2^60. Differences of up to 2^-48 of that may be
 * ties that were rounded. */
enum { BITS = 60, NOISE_BITS = 12 };

/* What the network is built from. */
typedef struct source {
    const submodi_cut *cut;
    const int32_t *order; /* by rank; a part of the ranks is a block */
    const int32_t *rank;  /* lower than the part: in base; higher: outside */
    const double *z;      /* by rank */
    bool turned;          /* build the network turned around */
} source;

/* The network under construction. */
typedef struct target {
    submodi_network net;
    uint32_t *place; /* the arc of each entry of cut->neighbours */
    double *cost;
} target;

static bool is_inside(submodi_part part, int32_t rank)
{
    return rank >= 0 && (size_t)rank >= part.begin && (size_t)rank < part.end;
}

/* Adds the vertex at rank i as a node, with its cost and arcs. Until the part is complete, an arc's
 * `opposite` is the index of its neighbour. Returns |cost| plus the weights of the node's arcs. */
static double add_node(const source *s, submodi_part part, size_t i, target *t)
{
    submodi_network *net = &t->net;
    size_t v = net->nodes++;
    size_t offset = v - (i - part.begin); /* the part's first node */
    uint32_t arc = net->first[v];
    double cost = -s->z[i];
    double inside = 0;
    const submodi_cut *c = s->cut;
    for (size_t j = c->start[s->order[i]]; j < c->start[s->order[i] + 1]; j++) {
        const submodi_neighbour *u = &c->neighbours[j];
        int32_t rank = s->rank[u->vertex];
        if (is_inside(part, rank)) {
            t->place[j] = arc;
            net->arcs[arc++] = (submodi_arc){.head = (int32_t)(offset + (size_t)rank - part.begin),
                                             .opposite = (uint32_t)j};
            inside += u->out + u->in;
        } else {
            cost += rank < 0 || (size_t)rank < part.begin ? -u->in : u->out;
        }
    }
    net->first[v + 1] = arc;
    t->cost[v] = s->turned ? -cost : cost;
    return fabs(cost) + inside;
}

/* x * root^2 as a whole number; root^2 itself may be out of range. */
static int64_t whole(double x, double root)
{
    return llrint(x * root * root);
}

/* Sets the capacities of a part, the nodes from `begin` on. largest: the most that add_node
 * returned for them. */
static void set_capacities(const source *s, size_t begin, double largest, target *t)
{
    submodi_network *net = &t->net;
    int exponent;
    frexp(largest, &exponent);
    double root = ldexp(1, (int)floor((BITS - exponent) / 2.0));
    for (size_t v = begin; v < net->nodes; v++) {
        int64_t cost = whole(t->cost[v], root);
        net->supply[v] = cost < 0 ? -cost : 0;
        net->demand[v] = cost > 0 ? cost : 0;
        for (uint32_t a = net->first[v]; a < net->first[v + 1]; a++) {
            const submodi_neighbour *u = &s->cut->neighbours[net->arcs[a].opposite];
            net->arcs[a].residual = whole(s->turned ? u->in : u->out, root);
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
    t->net.nodes = 0;
    t->net.first = submodi_take(w, nodes + 1, sizeof *t->net.first);
    t->net.arcs = submodi_take(w, arcs, sizeof *t->net.arcs);
    t->net.supply = submodi_take(w, nodes, sizeof *t->net.supply);
    t->net.demand = submodi_take(w, nodes, sizeof *t->net.demand);
    t->place = submodi_take(w, s->cut->start[s->cut->n], sizeof *t->place);
    t->cost = submodi_take(w, nodes, sizeof *t->cost);
    return t->net.first && t->net.arcs && t->net.supply && t->net.demand && t->place && t->cost;
}

static submod_status minimize_in(const source *s, const submodi_part *parts, size_t nparts,
                                 uint8_t *in, submod_work *w)
{
    static const char who[] = "minimize of a cut function";
    target t;
    if (!take_target(s, parts, nparts, &t, w)) {
        return submodi_nomem(who);
    }
    t.net.first[0] = 0;
    for (size_t j = 0; j < nparts; j++) {
        size_t begin = t.net.nodes;
        double largest = 0;
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            largest = fmax(largest, add_node(s, parts[j], i, &t));
        }
        if (!isfinite(largest)) {
            return submodi_fail(SUBMOD_ENUMERIC, "%s: the weights at a vertex overflow", who);
        }
        set_capacities(s, begin, largest, &t);
    }
    uint8_t *reaches = submodi_take(w, t.net.nodes, sizeof *reaches);
    const int64_t noise = (int64_t)1 << NOISE_BITS;
    submod_status status = reaches ? SUBMOD_OK : SUBMOD_ENOMEM;
    if (reaches && !submodi_forest_cut(&t.net, noise, reaches, w)) {
        status = submodi_max_flow(&t.net, noise, reaches, w);
    }
    if (status != SUBMOD_OK) {
        return status == SUBMOD_ECANCELLED ? submodi_cancel(who) : submodi_nomem(who);
    }
    size_t v = 0;
    for (size_t j = 0; j < nparts; j++) {
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            in[i] = reaches[v++] == s->turned;
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
    source s = {.cut = ctx, .order = order, .rank = rank, .z = z, .turned = true};
    submod_status status = minimize_in(&s, parts, nparts, in, w);
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
        return submodi_nomem("minimize of a cut function");
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
    source s = {.cut = c, .order = block, .rank = rank, .z = z, .turned = !largest};
    submodi_part whole = {0, nblock};
    submod_status status = minimize_in(&s, &whole, 1, in, w);
    submodi_scope_close(&scope);
    return status;
}
