/* Maximum flow: the choice of the method, leaves, sides of minimum cuts, and the flow of a cut.
 *
 * Milliseconds on one core, from no flow. Images show a disc with noise of standard deviation 1;
 * edges have weight g. The last columns switch to push-relabel after so many visits per arc.
 *                                           IBFS    push-relabel     16     48
 *     genrmf long (a = 13, b = 181)          377              14     32     81
 *     genrmf wide (a = 64, b = 8)            558             173    166    225
 *     512^2 pixels, 8 neighbours, g = 1       48             423     46     46
 *     256^2 pixels, 8 neighbours, g = 8      142             125    137    198
 *     256^2 pixels, 4 neighbours, g = 10      27              47     59     27
 *     512^2, from one side to the other     7407             927   1147   1374
 *     Watts-Strogatz, n = 50,000              57              63     53     53
 * Fewer visits are faster where all flow goes far, but switching shortly before IBFS would have
 * finished can double the time of an image. Proxes of cuts, with warm flows, take up to twice as
 * long with 16 visits as with 6.
 *
 * No library in Debian fits: igraph is GPL, has double capacities and needs a new graph object for
 * every call; LEMON, Boost and OGDF are C++. */
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
static submodi_arc *only_arc(const submodi_network *net, int32_t v, const uint32_t *left)
{
    for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
        submodi_arc *arc = &net->arcs[a];
        bool carries = arc->residual > 0 || net->arcs[arc->opposite].residual > 0;
        if (carries && left[arc->head] != DONE) {
            return arc;
        }
    }
    return NULL;
}

size_t submodi_prune(submodi_network *net, const int32_t *nodes, size_t count,
                     const uint32_t *degree, uint32_t *left, int32_t *list)
{
    size_t end = 0, open = 0;
    for (size_t i = 0; i < count; i++) {
        left[nodes[i]] = degree[nodes[i]];
        if (left[nodes[i]] == 1) {
            list[end++] = nodes[i];
        }
    }
    for (size_t next = 0; next < end; next++) {
        int32_t v = list[next];
        submodi_arc *arc = left[v] == 1 ? only_arc(net, v, left) : NULL;
        net->effort += net->first[v + 1] - net->first[v];
        if (arc) {
            pass_on(net, v, arc);
            left[v] = DONE;
            if (--left[arc->head] == 1) {
                list[end++] = arc->head;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        open += left[nodes[i]] != 0 && left[nodes[i]] != DONE;
    }
    return open;
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

enum { FLOW_BITS = 60 };

/* A part gets a new scaling when its numbers have shrunk by this factor. */
static const double COARSE = 256;

/* Statistics of the excesses that a part's vertices need. */
typedef struct demand {
    double largest, sum; /* of |z - cross|; the sum may overflow */
    int32_t vertex;      /* with the largest */
    double missing;      /* part of the sum that the present flow does not carry */
} demand;

static demand find_demand(const submodi_cut_flow *f, const submodi_flow_part *part,
                          const int32_t *vertices, size_t count, const double *z)
{
    demand d = {0};
    bool fresh = part->scaling.root == 0;
    for (size_t i = 0; i < count; i++) {
        int32_t v = vertices[i];
        double wanted = z[i] - f->cross[v];
        if (!(fabs(wanted) <= d.largest)) {
            d.largest = fabs(wanted);
            d.vertex = v;
        }
        d.sum += fabs(wanted);
        d.missing += fabs(fresh ? wanted : z[i] - submodi_flow_base(f, part, v));
    }
    return d;
}

static submod_status overflow(const submodi_cut *cut, const demand *d)
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
        weight, (int)tail, (int)head, d->largest, (int)d->vertex);
}

/* Returns the exponent of a + b, also if the sum overflows. */
static int exponent_of_sum(double a, double b)
{
    int exponent;
    bool overflows = !isfinite(a + b);
    (void)frexp(overflows ? a / 2 + b / 2 : a + b, &exponent);
    return exponent + overflows;
}

/* No flow exceeds half the sum of all |excess|. Clamping capacities to a multiple of the sum keeps
 * huge weights from pushing all other numbers below the rounding. */
static submod_status find_scaling(const submodi_cut_flow *f, const demand *d,
                                  submodi_scaling *scaling)
{
    double limit = f->room * d->sum, capacity = fmin(limit, f->cut->heaviest);
    if (!isfinite(d->largest) || !isfinite(capacity)) {
        return overflow(f->cut, d);
    }
    int exponent = exponent_of_sum(d->largest, capacity);
    double root = ldexp(1, (int)floor((FLOW_BITS - exponent) / 2.0));
    *scaling = (submodi_scaling){.limit = limit, .root = root, .inverse = 1 / root};
    return SUBMOD_OK;
}

/* ---- the flow of a cut ---- */

submod_status submodi_flow_start(submodi_cut_flow *f, const submodi_cut *cut, double room,
                                 submod_work *w)
{
    size_t n = cut->n;
    *f = (submodi_cut_flow){.cut = cut, .room = room, .net = {.nodes = n, .first = cut->start}};
    f->net.arcs = submodi_work_alloc(w, cut->start[n], sizeof *f->net.arcs);
    f->net.excess = submodi_work_alloc(w, n, sizeof *f->net.excess);
    f->part = submodi_work_alloc(w, n, sizeof *f->part);
    f->want = submodi_work_alloc(w, n, sizeof *f->want);
    f->cross = submodi_work_alloc(w, n, sizeof *f->cross);
    f->degree = submodi_work_alloc(w, n, sizeof *f->degree);
    return submodi_work_status(w);
}

static int64_t flow_within(const submodi_cut_flow *f, const submodi_scaling *scaling, size_t a)
{
    return submodi_capacity(scaling, f->cut->neighbours[a].out) - f->net.arcs[a].residual;
}

/* Returns the flow of arc a, in the present scaling `from`, in a new one. */
static int64_t converted(const submodi_cut_flow *f, const submodi_scaling *from,
                         const submodi_scaling *to, size_t a)
{
    const submodi_neighbour *u = &f->cut->neighbours[a];
    int64_t flow = submodi_to_fixed(to, submodi_from_fixed(from, flow_within(f, from, a)));
    int64_t out = submodi_capacity(to, u->out), in = submodi_capacity(to, u->in);
    return flow > out ? out : (flow < -in ? -in : flow);
}

void submodi_flow_rescale(submodi_cut_flow *f, submodi_flow_part *part, const int32_t *vertices,
                          size_t count, submodi_scaling scaling, bool keep)
{
    submodi_arc *arcs = f->net.arcs;
    const uint32_t id = part->id;
    const bool whole = count == f->cut->n;
    for (size_t i = 0; i < count; i++) {
        int32_t v = vertices[i];
        int64_t want = 0;
        uint32_t degree = 0;
        for (size_t a = f->cut->start[v], end = f->cut->start[v + 1]; a < end; a++) {
            const submodi_neighbour *u = &f->cut->neighbours[a];
            int64_t residual = 0;
            if (whole || f->part[u->vertex] == id) {
                int64_t flow = keep ? converted(f, &part->scaling, &scaling, a) : 0;
                residual = submodi_capacity(&scaling, u->out) - flow;
                want += flow;
                degree++;
            } else {
                arcs[u->opposite].residual = 0;
            }
            arcs[a] = (submodi_arc){residual, u->vertex, u->opposite};
        }
        f->want[v] = want;
        f->net.excess[v] = 0;
        f->degree[v] = degree;
    }
    part->scaling = scaling;
}

/* Drops a flow that came near its limit if some weights exceed the limit. */
submod_status submodi_flow_aim(submodi_cut_flow *f, submodi_flow_part *part,
                               const int32_t *vertices, size_t count, const double *z)
{
    const demand d = find_demand(f, part, vertices, count, z);
    const double heaviest = f->cut->heaviest;
    submodi_scaling best = {0};
    TRY(find_scaling(f, &d, &best));
    bool fresh = part->scaling.root == 0;
    bool room = part->used + d.missing <= part->scaling.limit || part->scaling.limit >= heaviest;
    double finer = fresh ? 0 : best.root / part->scaling.root; /* its square */
    if (room && finer * finer >= 0.5 && finer * finer <= COARSE) {
        part->used += d.missing;
    } else {
        bool keep = !fresh && best.limit >= heaviest;
        submodi_flow_rescale(f, part, vertices, count, best, keep);
        part->used = keep ? d.missing : d.sum;
    }
    for (size_t i = 0; i < count; i++) {
        int32_t v = vertices[i];
        int64_t flow = f->want[v] - f->net.excess[v];
        f->want[v] = submodi_to_fixed(&part->scaling, z[i] - f->cross[v]);
        f->net.excess[v] = f->want[v] - flow;
    }
    return SUBMOD_OK;
}

/* Moves a flow and a weight of arc a from v to head between the parts' own flow and `cross`. */
static void move(submodi_cut_flow *f, int32_t v, int32_t head, int64_t flow, double weight)
{
    f->want[v] += flow;
    f->want[head] -= flow;
    f->cross[v] -= weight;
    f->cross[head] += weight;
}

void submodi_flow_close(submodi_cut_flow *f, const submodi_scaling *scaling, int32_t v, size_t a)
{
    const submodi_neighbour *u = &f->cut->neighbours[a];
    move(f, v, u->vertex, -flow_within(f, scaling, a), -u->out);
    f->degree[v]--;
    f->degree[u->vertex]--;
    f->net.arcs[a].residual = 0;
    f->net.arcs[u->opposite].residual = 0;
    f->closed[a] = SUBMODI_LEAVES;
    f->closed[u->opposite] = SUBMODI_ENTERS;
}

void submodi_flow_reopen(submodi_cut_flow *f, const submodi_scaling *scaling, int32_t v, size_t a)
{
    const submodi_neighbour *u = &f->cut->neighbours[a];
    int64_t flow = submodi_capacity(scaling, u->out);
    move(f, v, u->vertex, flow, u->out);
    f->degree[v]++;
    f->degree[u->vertex]++;
    f->net.arcs[u->opposite].residual = submodi_capacity(scaling, u->in) + flow;
    f->closed[a] = f->closed[u->opposite] = SUBMODI_WITHIN;
}
