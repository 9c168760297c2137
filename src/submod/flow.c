/* Maximum flow: the choice of the method, leaves, sides of minimum cuts, and fixed-point numbers.
 *
 * Milliseconds on one core, from no flow. Grids have edges of weight g and noise of standard
 * deviation 1 at the vertices.
 *                                           IBFS    push-relabel    16 visits, then push-relabel
 *     genrmf long (a = 13, b = 181)          390              32              73
 *     genrmf wide (a = 64, b = 8)            885             284             374
 *     512^2 pixels, 8 neighbours, g = 1       37             450              41
 *     256^2 pixels, 8 neighbours, g = 8      191             126             166
 *     512^2, from one side to the other     4190              84             366
 *     Watts-Strogatz, n = 50,000              74              86              70
 * With 6 visits the third column is 53, 349, 39, 234 (256^2), 191: less where everything goes far,
 * more under strong smoothing. Proxes of cuts, with warm flows, take up to twice as long with 16.
 *
 * We wrote our own because no library in Debian fits: igraph is GPL, with capacities in double and
 * a graph object to build for every call; LEMON, Boost and OGDF are C++.
 */
#include "submod/flow.h"

#include "base/internal.h"

submod_status submodi_max_flow(submodi_network *net, const int32_t *nodes, size_t count,
                               uint64_t visits, submod_work *work)
{
    uint64_t arcs = count;
    for (size_t i = 0; i < count; i++) {
        arcs += net->first[nodes[i] + 1] - net->first[nodes[i]];
    }
    bool maximal = false;
    TRY(submodi_ibfs(net, nodes, count, visits * arcs, &maximal, work));
    return maximal ? SUBMOD_OK : submodi_push_relabel(net, nodes, count, work);
}

/* ---- leaves ---- */

/* Replaces the degree of a node that has passed its excess on. */
static const uint32_t DONE = UINT32_MAX;

static void pass_on(submodi_network *net, int32_t v, submodi_arc *out)
{
    submodi_arc *in = &net->arcs[out->opposite];
    int64_t amount = net->excess[v];
    amount = amount > out->residual ? out->residual : amount;
    amount = amount < -in->residual ? -in->residual : amount;
    out->residual -= amount;
    in->residual += amount;
    net->excess[v] -= amount;
    net->excess[out->head] += amount;
}

/* Returns the arc of a leaf to its only neighbour; NULL if it has no capacity. */
static submodi_arc *only_arc(const submodi_network *net, int32_t v, const uint32_t *degree)
{
    for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
        submodi_arc *arc = &net->arcs[a];
        bool carries = arc->residual > 0 || net->arcs[arc->opposite].residual > 0;
        if (carries && degree[arc->head] != DONE) {
            return arc;
        }
    }
    return NULL;
}

size_t submodi_prune(submodi_network *net, const int32_t *nodes, size_t count, uint32_t *degree,
                     int32_t *list)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (degree[nodes[i]] == 1) {
            list[end++] = nodes[i];
        }
    }
    for (size_t next = 0; next < end; next++) {
        int32_t v = list[next];
        submodi_arc *arc = degree[v] == 1 ? only_arc(net, v, degree) : NULL;
        net->effort += net->first[v + 1] - net->first[v];
        if (arc) {
            pass_on(net, v, arc);
            degree[v] = DONE;
            if (--degree[arc->head] == 1) {
                list[end++] = arc->head;
            }
        }
    }
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        left += degree[nodes[i]] != 0 && degree[nodes[i]] != DONE;
    }
    return left;
}

/* ---- sides ---- */

void submodi_reach(submodi_network *net, const int32_t *nodes, size_t count, bool backwards,
                   int64_t rounding, uint8_t *reached, int32_t *list)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t excess = net->excess[nodes[i]];
        reached[nodes[i]] = (backwards ? -excess : excess) > rounding;
        if (reached[nodes[i]]) {
            list[end++] = nodes[i];
        }
    }
    for (size_t next = 0; next < end; next++) {
        int32_t v = list[next];
        for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
            const submodi_arc *arc = &net->arcs[a];
            int64_t residual = backwards ? net->arcs[arc->opposite].residual : arc->residual;
            if (residual > rounding && !reached[arc->head]) {
                reached[arc->head] = 1;
                list[end++] = arc->head;
            }
        }
        net->effort += net->first[v + 1] - net->first[v];
    }
}

/* ---- fixed-point numbers ---- */

static submod_status overflow(const submodi_cut *cut, const submodi_excesses *sizes)
{
    double weight = 0;
    int32_t tail = 0, head = 0;
    for (size_t v = 0; v < cut->n; v++) {
        for (size_t j = cut->start[v]; j < cut->start[v + 1]; j++) {
            if (cut->neighbours[j].out > weight) {
                weight = cut->neighbours[j].out;
                tail = (int32_t)v;
                head = cut->neighbours[j].vertex;
            }
        }
    }
    return submodi_fail(
        SUBMOD_ENUMERIC,
        "the weights overflow (%g on the edge of elements %d and %d, with %g at element %d); "
        "an element's edge weights, in both directions, or all elements' |weights| must have a "
        "finite sum",
        weight, (int)tail, (int)head, sizes->largest, (int)sizes->vertex);
}

/* Returns the exponent of a + b, also if the sum overflows. */
static int exponent_of_sum(double a, double b)
{
    int exponent;
    bool overflows = !isfinite(a + b);
    (void)frexp(overflows ? a / 2 + b / 2 : a + b, &exponent);
    return exponent + overflows;
}

/* No flow exceeds half the sum of all |excess|. Clamping capacities to the sum keeps huge weights
 * from pushing all other numbers below the rounding. */
submod_status submodi_find_scaling(const submodi_cut *cut, const submodi_excesses *sizes,
                                   double room, submodi_scaling *scaling)
{
    double limit = room * sizes->sum, capacity = fmin(limit, cut->heaviest);
    if (!isfinite(sizes->largest) || !isfinite(capacity)) {
        return overflow(cut, sizes);
    }
    int exponent = exponent_of_sum(sizes->largest, capacity);
    double root = ldexp(1, (int)floor((SUBMODI_FLOW_BITS - exponent) / 2.0));
    *scaling = (submodi_scaling){.limit = limit, .root = root, .inverse = 1 / root};
    return SUBMOD_OK;
}

void submodi_cut_arcs(const submodi_cut *cut, const submodi_scaling *scaling, submodi_arc *arcs)
{
    for (size_t j = 0; j < cut->start[cut->n]; j++) {
        const submodi_neighbour *u = &cut->neighbours[j];
        arcs[j] = (submodi_arc){.residual = submodi_capacity(scaling, u->out),
                                .head = u->vertex,
                                .opposite = u->opposite};
    }
}
