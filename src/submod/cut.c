/* Cut of a sparse graph: F(A) = weight of the arcs from A to its complement. An undirected edge is
 * a pair of opposite arcs.
 *
 * Each vertex keeps the list of its neighbours u with the weights of the arcs to and from u, so
 *     F(A + v) - F(A) = sum over u outside A of out(u)  -  sum over u in A of in(u).
 *
 * With d(v) edges at v: gain O(d(v)); chain by gains; eval O(n + sum of d); minimize by a maximum
 * flow. State: one byte per vertex.
 */
#include <string.h>

#include "base/internal.h"
#include "submod/flow.h"

/* ---- values ---- */

static submod_status reset(const void *ctx, void *state)
{
    const submodi_cut *c = ctx;
    memset(state, 0, c->n);
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t v, double *result)
{
    const submodi_cut *c = ctx;
    const uint8_t *in = state;
    double sum = 0;
    for (size_t i = c->start[v]; i < c->start[v + 1]; i++) {
        const submodi_neighbour *u = &c->neighbours[i];
        sum += in[u->vertex] ? -u->in : u->out;
    }
    *result = sum;
    return SUBMOD_OK;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    uint8_t *in = state;
    for (size_t i = 0; i < k; i++) {
        gain(ctx, state, elements[i], &gains[i]);
        in[elements[i]] = 1;
    }
    return SUBMOD_OK;
}

/* By the definition, not as a sum of gains: nothing cancels. */
static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const submodi_cut *c = ctx;
    uint8_t *in = submodi_alloc(c->n, 1);
    if (!in) {
        return submodi_out_of_memory();
    }
    memset(in, 0, c->n);
    for (size_t i = 0; i < k; i++) {
        in[set[i]] = 1;
    }
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        double at_vertex = 0;
        for (size_t j = c->start[set[i]]; j < c->start[set[i] + 1]; j++) {
            /* a product, because the branch is unpredictable */
            at_vertex += (double)(1 - in[c->neighbours[j].vertex]) * c->neighbours[j].out;
        }
        sum += at_vertex;
    }
    *value = sum;
    submodi_free(in);
    return SUBMOD_OK;
}

/* Within a level the cut is that of the edges inside, plus a modular function. */
static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    (void)work;
    const submodi_cut *c = ctx;
    for (size_t v = 0; v < c->n; v++) {
        for (size_t i = c->start[v]; i < c->start[v + 1]; i++) {
            const submodi_neighbour *u = &c->neighbours[i];
            if (u->out > 0 && ties->level[v] >= 0 && ties->level[v] == ties->level[u->vertex]) {
                submodi_forest_join(forest, (int32_t)v, u->vertex);
            }
        }
    }
    return SUBMOD_OK;
}

/* ---- minimisers of F(base + A) - F(base) - z(A) ----
 *
 * Adding a vertex v of the ground set to A costs
 *
 *     cost(v) = sum over u outside of out(u) - sum over u in base of in(u) - z(v),
 *
 * and an arc from v in A to a vertex of the ground set outside A costs its weight. The sum is the
 * cut of a network on the ground set with excess -cost(v), and A is its source side. Under a
 * maximal flow, A must hold all vertices that a positive excess can still reach; the smallest A
 * holds no more. The largest A leaves out those from which a negative excess can be reached.
 *
 * The net outflow t of each vertex along its arcs is a base as well: t(A) is at most the cut of A.
 * Minus the excess that remains is hence a base of the minor less z, and its negative entries add
 * up to the minimum. Cost: O(edges at the ground set) and the flow.
 */

/* Ranks below a part are its base, ranks above it are outside. */
typedef struct source {
    const submodi_cut *cut;
    const int32_t *order; /* vertices by rank */
    const int32_t *rank;
    const double *z; /* by rank */
} source;

typedef struct target {
    submodi_network net;
    size_t *first;
    uint32_t *place; /* the arc of each entry of cut->neighbours */
    double *excess;
    int32_t *nodes, *list;
    uint32_t *degree;
} target;

static submod_status allocate_target(target *t, size_t nodes, size_t arcs, submod_work *w)
{
    t->nodes = submodi_work_alloc(w, nodes, sizeof *t->nodes);
    t->list = submodi_work_alloc(w, nodes, sizeof *t->list);
    t->degree = submodi_work_alloc(w, nodes, sizeof *t->degree);
    t->net.arcs = submodi_work_alloc(w, arcs, sizeof *t->net.arcs);
    t->net.excess = submodi_work_alloc(w, nodes, sizeof *t->net.excess);
    return submodi_work_status(w);
}

static submod_status solve(target *t, submod_work *w)
{
    submodi_network *net = &t->net;
    submodi_ascending(t->nodes, net->nodes);
    for (size_t v = 0; v < net->nodes; v++) {
        t->degree[v] = (uint32_t)(net->first[v + 1] - net->first[v]);
    }
    if (submodi_prune(net, t->nodes, net->nodes, t->degree, t->list) == 0) {
        return SUBMOD_OK;
    }
    submod_status status = submodi_max_flow(net, t->nodes, net->nodes, SUBMODI_VISITS_COLD, w);
    return status == SUBMOD_ECANCELLED ? submodi_fail(status, "the caller cancelled it") : status;
}

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

/* Adds one part to the network; no arc connects it to others. */
static submod_status add_part(const source *s, submodi_part part, target *t,
                              submodi_scaling *scaling)
{
    submodi_network *net = &t->net;
    size_t begin = net->nodes;
    submodi_excesses of = {0};
    for (size_t i = part.begin; i < part.end; i++) {
        add_node(s, part, i, t);
        submodi_add_excess(&of, s->order[i], t->excess[net->nodes - 1]);
    }
    TRY(submodi_find_scaling(s->cut, &of, 1, scaling));
    for (size_t v = begin; v < net->nodes; v++) {
        net->excess[v] = submodi_to_fixed(scaling, t->excess[v]);
        for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
            const submodi_neighbour *u = &s->cut->neighbours[net->arcs[a].opposite];
            net->arcs[a].residual = submodi_capacity(scaling, u->out);
            net->arcs[a].opposite = t->place[u->opposite];
        }
    }
    return SUBMOD_OK;
}

static submod_status allocate_parts(const source *s, const submodi_part *parts, size_t nparts,
                                    target *t, submod_work *w)
{
    size_t nodes = 0;
    size_t arcs = 0;
    for (size_t j = 0; j < nparts; j++) {
        nodes += parts[j].end - parts[j].begin;
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            arcs += s->cut->start[s->order[i] + 1] - s->cut->start[s->order[i]];
        }
    }
    t->first = submodi_work_alloc(w, nodes + 1, sizeof *t->first);
    t->place = submodi_work_alloc(w, s->cut->start[s->cut->n], sizeof *t->place);
    t->excess = submodi_work_alloc(w, nodes, sizeof *t->excess);
    TRY(allocate_target(t, nodes, arcs, w));
    t->first[0] = 0;
    t->net.first = t->first;
    t->net.nodes = 0;
    return SUBMOD_OK;
}

static submod_status minimize_all_parts(const source *s, const submodi_part *parts, size_t nparts,
                                        uint8_t *in, submod_work *w)
{
    target t;
    submodi_scaling scaling;
    uint8_t *reached = submodi_work_alloc(w, s->cut->n, sizeof *reached);
    TRY(allocate_parts(s, parts, nparts, &t, w));
    for (size_t j = 0; j < nparts; j++) {
        TRY(add_part(s, parts[j], &t, &scaling));
    }
    TRY(solve(&t, w));
    submodi_reach(&t.net, t.nodes, t.net.nodes, false, SUBMODI_FLOW_NOISE, reached, t.list);
    for (size_t j = 0, v = 0; j < nparts; j++) {
        memcpy(in + parts[j].begin, reached + v, parts[j].end - parts[j].begin);
        v += parts[j].end - parts[j].begin;
    }
    return SUBMOD_OK;
}

static submod_status minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                    const submodi_part *parts, size_t nparts, const double *z,
                                    uint8_t *in)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    source s = {.cut = ctx, .order = order, .rank = rank, .z = z};
    submod_status status = minimize_all_parts(&s, parts, nparts, in, w);
    submodi_scope_close(&scope);
    return status;
}

/* Builds the network of a minor. */
static submod_status build_minor(const submodi_cut *c, const submod_minor *minor, const double *z,
                                 target *t, submodi_scaling *scaling, submod_work *w)
{
    int32_t *rank = submodi_work_alloc(w, c->n, sizeof *rank);
    TRY(submodi_work_status(w));
    for (size_t v = 0; v < c->n; v++) {
        rank[v] = INT32_MAX; /* outside */
    }
    for (size_t i = 0; i < minor->nbase; i++) {
        rank[minor->base[i]] = -1;
    }
    for (size_t i = 0; i < minor->nground; i++) {
        rank[minor->ground[i]] = (int32_t)i;
    }
    source s = {.cut = c, .order = minor->ground, .rank = rank, .z = z};
    submodi_part whole = {0, minor->nground};
    TRY(allocate_parts(&s, &whole, 1, t, w));
    return add_part(&s, whole, t, scaling);
}

/* Builds the network of all vertices in their order: its arcs are those of the cut's own lists. */
static submod_status build_whole(const submodi_cut *c, const double *z, target *t,
                                 submodi_scaling *scaling, submod_work *w)
{
    submodi_excesses of = {0};
    for (size_t v = 0; v < c->n; v++) {
        submodi_add_excess(&of, (int32_t)v, z[v]);
    }
    TRY(submodi_find_scaling(c, &of, 1, scaling));
    TRY(allocate_target(t, c->n, c->start[c->n], w));
    t->net.first = c->start;
    t->net.nodes = c->n;
    submodi_cut_arcs(c, scaling, t->net.arcs);
    for (size_t v = 0; v < c->n; v++) {
        t->net.excess[v] = submodi_to_fixed(scaling, z[v]);
    }
    return SUBMOD_OK;
}

static bool is_whole(const submodi_cut *c, const submod_minor *minor)
{
    bool whole = minor->nground == c->n;
    for (size_t i = 0; whole && i < c->n; i++) {
        whole = minor->ground[i] == (int32_t)i;
    }
    return whole;
}

static submod_status minimize_minor(const submodi_cut *c, const submod_minor *minor,
                                    const double *z, uint8_t *smallest, uint8_t *largest, double *s,
                                    submod_work *w)
{
    target t = {0};
    submodi_scaling scaling;
    TRY(is_whole(c, minor) ? build_whole(c, z, &t, &scaling, w)
                           : build_minor(c, minor, z, &t, &scaling, w));
    TRY(solve(&t, w));
    size_t n = minor->nground;
    if (smallest) {
        submodi_reach(&t.net, t.nodes, n, false, SUBMODI_FLOW_NOISE, smallest, t.list);
    }
    if (largest) {
        submodi_reach(&t.net, t.nodes, n, true, SUBMODI_FLOW_NOISE, largest, t.list);
    }
    for (size_t v = 0; largest && v < n; v++) {
        largest[v] = !largest[v];
    }
    for (size_t v = 0; s && v < n; v++) {
        s[v] = -submodi_from_fixed(&scaling, t.net.excess[v]);
    }
    return SUBMOD_OK;
}

static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *base)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    submod_status status = minimize_minor(ctx, minor, z, smallest, largest, base, w);
    submodi_scope_close(&scope);
    return status;
}

/* ---- paths ----
 *
 * A graph that consists of paths is laid out once, so that its prox reads straight through. O(n);
 * for other graphs the first vertex with a third edge ends the search.
 */

static void free_paths(submodi_paths *p)
{
    if (p) {
        submodi_free(p->begin);
        submodi_free(p->order);
        submodi_free(p->out);
        submodi_free(p->in);
        submodi_free(p);
    }
}

static submodi_paths *new_paths(size_t n)
{
    submodi_paths *p = submodi_alloc(1, sizeof *p);
    if (!p) {
        return NULL;
    }
    *p = (submodi_paths){.begin = submodi_alloc(n + 1, sizeof *p->begin),
                         .order = submodi_alloc(n, sizeof *p->order),
                         .in_order = true,
                         .out = submodi_alloc(n, sizeof *p->out),
                         .in = submodi_alloc(n, sizeof *p->in)};
    if (!p->begin || !p->order || !p->out || !p->in) {
        free_paths(p);
        return NULL;
    }
    return p;
}

static size_t degree(const submodi_cut *c, size_t v)
{
    return c->start[v + 1] - c->start[v];
}

/* Appends the path that starts at v, from `end` on. Returns its end, and its last vertex in *v. */
static size_t append_path(const submodi_cut *c, size_t end, int32_t *v, submodi_paths *p)
{
    int32_t from = -1;
    for (;;) {
        size_t j = c->start[*v]; /* of the neighbour other than `from` */
        j += j < c->start[*v + 1] && c->neighbours[j].vertex == from;
        bool last = j == c->start[*v + 1];
        p->in_order &= (size_t)*v == end;
        p->order[end] = *v;
        p->out[end] = last ? 0 : c->neighbours[j].out;
        p->in[end++] = last ? 0 : c->neighbours[j].in;
        if (last) {
            return end;
        }
        from = *v;
        *v = c->neighbours[j].vertex;
    }
}

/* Follows each path from its end with the lower number. Returns how many vertices lie on paths; the
 * others lie on circles. done: n zeros. */
static size_t lay_out(const submodi_cut *c, uint8_t *done, submodi_paths *p)
{
    size_t end = 0;
    for (size_t v = 0; v < c->n; v++) {
        if (degree(c, v) < 2 && !done[v]) {
            int32_t last = (int32_t)v;
            p->begin[p->count++] = end;
            end = append_path(c, end, &last, p);
            done[last] = 1;
        }
    }
    p->begin[p->count] = end;
    return end;
}

/* Fills c->paths. */
static submod_status find_paths(submodi_cut *c)
{
    for (size_t v = 0; v < c->n; v++) {
        if (degree(c, v) > 2) {
            return SUBMOD_OK;
        }
    }
    uint8_t *done = submodi_alloc(c->n, sizeof *done);
    submodi_paths *p = new_paths(c->n);
    submod_status status = done && p ? SUBMOD_OK : submodi_out_of_memory();
    if (status == SUBMOD_OK) {
        memset(done, 0, c->n);
        c->paths = lay_out(c, done, p) == c->n ? p : NULL;
    }
    if (!c->paths) {
        free_paths(p);
    }
    submodi_free(done);
    return status;
}

/* ---- construction ---- */

/* m edges, at most 2^31 - 1: out[i] is the weight of the arc tail[i] -> head[i], in[i] that of the
 * arc back; in = NULL means 0. */
typedef struct edges {
    size_t m;
    const int32_t *tail, *head;
    const double *out, *in;
} edges;

static void destroy(void *ctx)
{
    submodi_cut *c = ctx;
    submodi_free(c->start);
    submodi_free(c->neighbours);
    free_paths(c->paths);
    submodi_free(c);
}

static submodi_cut *allocate(size_t n, size_t m)
{
    submodi_cut *c = submodi_alloc(1, sizeof *c);
    if (!c) {
        return NULL;
    }
    *c = (submodi_cut){.n = n,
                       .start = submodi_alloc(n + 2, sizeof *c->start),
                       .neighbours = submodi_alloc(m, 2 * sizeof *c->neighbours)};
    if (!c->start || !c->neighbours) {
        destroy(c);
        return NULL;
    }
    return c;
}

/* Counting sort of the edge ends by vertex. While the lists are filled, start[v + 1] is where the
 * next neighbour of v goes, so start has one more entry than it needs in the end. */
static void build_lists(submodi_cut *c, const edges *e)
{
    const int32_t *tail = e->tail;
    const int32_t *head = e->head;
    memset(c->start, 0, (c->n + 2) * sizeof *c->start);
    for (size_t i = 0; i < e->m; i++) {
        if (tail[i] != head[i]) {
            c->start[tail[i] + 2]++;
            c->start[head[i] + 2]++;
        }
    }
    for (size_t v = 0; v < c->n; v++) {
        c->start[v + 2] += c->start[v + 1];
    }
    for (size_t i = 0; i < e->m; i++) {
        if (tail[i] != head[i]) {
            double out = e->out[i];
            double in = e->in ? e->in[i] : 0;
            size_t at_tail = c->start[tail[i] + 1]++;
            size_t at_head = c->start[head[i] + 1]++;
            c->neighbours[at_tail] = (submodi_neighbour){out, in, head[i], (uint32_t)at_head};
            c->neighbours[at_head] = (submodi_neighbour){in, out, tail[i], (uint32_t)at_tail};
        }
    }
}

static double heaviest_vertex(const submodi_cut *c)
{
    double heaviest = 0;
    for (size_t v = 0; v < c->n; v++) {
        double sum = 0;
        for (size_t j = c->start[v]; j < c->start[v + 1]; j++) {
            sum += c->neighbours[j].out + c->neighbours[j].in;
        }
        heaviest = sum > heaviest ? sum : heaviest;
    }
    return heaviest;
}

static submod_status new_cut(size_t n, const edges *e, submod_fn **fn)
{
    submodi_cut *c = allocate(n, e->m);
    if (!c) {
        return submodi_out_of_memory();
    }
    build_lists(c, e);
    submod_status status = find_paths(c);
    if (status != SUBMOD_OK) {
        destroy(c);
        return status;
    }
    c->heaviest = heaviest_vertex(c);
    const submod_fn f = {.ops = {.name = "cut",
                                 .eval = eval,
                                 .state_size = n,
                                 .reset = reset,
                                 .chain = chain,
                                 .gain = gain,
                                 .minimize = minimize,
                                 .destroy = destroy},
                         .kind = SUBMODI_CUT,
                         .minimize_parts = minimize_parts,
                         .join = join,
                         .ctx = c,
                         .n = n};
    return submodi_fn_new(&f, fn);
}

static submod_status check_edges(size_t n, size_t m, const int32_t *tail, const int32_t *head)
{
    for (size_t i = 0; i < m; i++) {
        const bool bad_tail = tail[i] < 0 || (size_t)tail[i] >= n;
        if (bad_tail || head[i] < 0 || (size_t)head[i] >= n) {
            return submodi_fail(SUBMOD_EINVAL, "%s[%zu] = %d is not in [0, %zu)",
                                bad_tail ? "tail" : "head", i, (int)(bad_tail ? tail : head)[i], n);
        }
    }
    return SUBMOD_OK;
}

static submod_status make(size_t n, const edges *e, submod_fn **fn)
{
    if (e->m && (!e->tail || !e->head || !e->out)) {
        return submodi_fail(SUBMOD_EINVAL, "tail, head or weight is NULL");
    }
    if (e->m > UINT32_MAX / 2) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "m = %zu must be at most 2^31 - 1", e->m);
    }
    TRY(check_edges(n, e->m, e->tail, e->head));
    TRY(submodi_check_all_nonnegative("weight", e->out, e->m));
    return new_cut(n, e, fn);
}

submod_status submod_fn_cut(size_t n, size_t m, const int32_t *tail, const int32_t *head,
                            const double *weight, int directed, submod_fn **fn)
{
    const edges e = {m, tail, head, weight, directed ? NULL : weight};
    submod_status status = submodi_check_size(n, fn);
    return submodi_return("submod_fn_cut", status ? status : make(n, &e, fn));
}

/* ---- sums of cuts ----
 *
 * The lists of a graph with the edges of all cuts bring parallel edges together; each vertex then
 * joins its edges to higher vertices with the help of a mark there. O(n + m).
 */

typedef struct edge_list {
    size_t m;
    int32_t *tail, *head;
    double *out, *in;
} edge_list;

static edge_list new_list(size_t m, submod_work *w)
{
    return (edge_list){.tail = submodi_work_alloc(w, m, sizeof(int32_t)),
                       .head = submodi_work_alloc(w, m, sizeof(int32_t)),
                       .out = submodi_work_alloc(w, m, sizeof(double)),
                       .in = submodi_work_alloc(w, m, sizeof(double))};
}

static edges edges_of(const edge_list *e)
{
    return (edges){e->m, e->tail, e->head, e->out, e->in};
}

static void append_edge(edge_list *e, int32_t tail, int32_t head, double out, double in)
{
    e->tail[e->m] = tail;
    e->head[e->m] = head;
    e->out[e->m] = out;
    e->in[e->m++] = in;
}

/* Each edge has two entries in the lists; the first of them stands for it. */
static void append_cut(edge_list *e, const submod_term *cut)
{
    const submodi_cut *c = cut->fn->ctx;
    for (size_t v = 0; v < c->n; v++) {
        for (size_t j = c->start[v]; j < c->start[v + 1]; j++) {
            const submodi_neighbour *u = &c->neighbours[j];
            double out = cut->coefficient * u->out;
            double in = cut->coefficient * u->in;
            if (u->opposite > j && (out > 0 || in > 0)) {
                int32_t tail = cut->elements ? cut->elements[v] : (int32_t)v;
                append_edge(e, tail, cut->elements ? cut->elements[u->vertex] : u->vertex, out, in);
            }
        }
    }
}

/* Writes the edges of a graph with parallel ones joined. mark: scratch for n numbers. Returns the
 * largest weight. */
static double join_parallel(const submodi_cut *c, size_t *mark, edge_list *e)
{
    double largest = 0;
    memset(mark, 0, c->n * sizeof *mark);
    for (size_t v = 0; v < c->n; v++) {
        size_t begin = e->m; /* of the edges with this tail */
        for (size_t j = c->start[v]; j < c->start[v + 1]; j++) {
            const submodi_neighbour *u = &c->neighbours[j];
            if ((size_t)u->vertex < v) {
                continue;
            }
            size_t *at = &mark[u->vertex]; /* one more than the index of an edge to it */
            if (*at > begin) {
                e->out[*at - 1] += u->out;
                e->in[*at - 1] += u->in;
            } else {
                append_edge(e, (int32_t)v, u->vertex, u->out, u->in);
                *at = e->m;
            }
            largest = fmax(largest, fmax(e->out[*at - 1], e->in[*at - 1]));
        }
    }
    return largest;
}

static submod_status merge(size_t n, const submod_term *cuts, size_t count, submod_fn **fn,
                           submod_work *w)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const submodi_cut *c = cuts[i].fn->ctx;
        total += c->start[c->n] / 2;
    }
    if (total > UINT32_MAX / 2) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "the cuts have %zu edges, more than 2^31 - 1",
                            total);
    }
    edge_list all = new_list(total, w), joined = new_list(total, w);
    size_t *mark = submodi_work_alloc(w, n, sizeof *mark);
    TRY(submodi_work_status(w));
    for (size_t i = 0; i < count; i++) {
        append_cut(&all, &cuts[i]);
    }
    edges e = edges_of(&all);
    submodi_cut *parallel = allocate(n, e.m);
    if (!parallel) {
        return submodi_out_of_memory();
    }
    build_lists(parallel, &e);
    double largest = join_parallel(parallel, mark, &joined);
    destroy(parallel);
    if (!isfinite(largest)) {
        return submodi_fail(SUBMOD_ENUMERIC, "the weights of the cuts overflow");
    }
    e = edges_of(&joined);
    return new_cut(n, &e, fn);
}

submod_status submodi_cut_merge(size_t n, const submod_term *cuts, size_t count, submod_fn **fn)
{
    submodi_scope scope;
    submod_status status = merge(n, cuts, count, fn, submodi_scope_open(&scope, NULL));
    submodi_scope_close(&scope);
    return status;
}
