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

/* Computes F by its definition, not as a sum of gains, so that nothing cancels. */
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

/* Within a level, F is the cut of the edges inside plus a modular function. */
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
 * This is the cut within the ground set less (z - cross)(A). Arcs between the ground set and other
 * vertices are closed (flow.h): they leave if the vertex is outside and enter if it is in the base.
 * Under a maximal flow with the excess z - cross, A must hold all vertices that a positive excess
 * can still reach; the smallest A holds no more. The largest A leaves out only vertices from which
 * a negative excess can be reached. Minus the excess that remains is a base of the minor less z.
 * Cost: O(n + edges at the ground set) and the flow. */

typedef struct network {
    submodi_cut_flow flow;
    submodi_flow_part part; /* the last one */
    const int32_t *nodes;   /* vertices of all parts */
    size_t count;
    int32_t *list; /* scratch */
    uint8_t *reached;
} network;

/* Makes the vertices of a part nodes. Ranks below the part are its base, ranks above it outside;
 * a part of all vertices needs none. */
static submod_status add_part(network *net, const int32_t *order, const int32_t *rank,
                              submodi_part part, const double *z)
{
    submodi_cut_flow *f = &net->flow;
    const submodi_cut *c = f->cut;
    const size_t size = part.end - part.begin;
    net->part = (submodi_flow_part){.id = net->part.id + 1};
    for (size_t i = part.begin; i < part.end; i++) {
        int32_t v = order[i];
        double cross = 0;
        for (size_t j = c->start[v]; j < c->start[v + 1] && size < c->n; j++) {
            const submodi_neighbour *u = &c->neighbours[j];
            int64_t at = rank[u->vertex];
            bool before = at < (int64_t)part.begin, after = at >= (int64_t)part.end;
            cross += before ? -u->in : (after ? u->out : 0);
        }
        f->cross[v] = cross;
        f->part[v] = net->part.id;
    }
    return submodi_flow_aim(f, &net->part, order + part.begin, size, z + part.begin);
}

/* The vertices of a single part are read where they are; those of several are put together. */
static submod_status solve(network *net, const submodi_cut *c, const int32_t *order,
                           const int32_t *rank, const submodi_part *parts, size_t nparts,
                           const double *z, submod_work *w)
{
    int32_t *joined = submodi_work_alloc(w, nparts == 1 ? 0 : c->n, sizeof *joined);
    *net = (network){.nodes = nparts == 1 ? order + parts->begin : joined,
                     .list = submodi_work_alloc(w, c->n, sizeof *net->list),
                     .reached = submodi_work_alloc(w, c->n, sizeof *net->reached)};
    TRY(submodi_flow_start(&net->flow, c, 1, w));
    submodi_network *all = &net->flow.net;
    memset(net->flow.part, 0, c->n * sizeof *net->flow.part);
    for (size_t j = 0; j < nparts; j++) {
        const size_t size = parts[j].end - parts[j].begin;
        TRY(add_part(net, order, rank, parts[j], z));
        if (nparts > 1) {
            memcpy(joined + net->count, order + parts[j].begin, size * sizeof *joined);
        }
        net->count += size;
    }
    if (submodi_prune(all, net->nodes, net->count, net->flow.degree, net->flow.degree, net->list)) {
        submod_status status =
            submodi_max_flow(all, net->nodes, net->count, SUBMODI_VISITS_COLD, w);
        return status == SUBMOD_ECANCELLED ? submodi_fail(status, "the caller cancelled it")
                                           : status;
    }
    return SUBMOD_OK;
}

/* Marks in net->reached the vertices that an excess can reach, or that can reach one. */
static void find_side(network *net, bool backwards)
{
    submodi_reach(&net->flow.net, net->nodes, net->count, backwards, SUBMODI_FLOW_NOISE,
                  net->reached, net->list);
}

static submod_status minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                    const submodi_part *parts, size_t nparts, const double *z,
                                    uint8_t *in)
{
    network net;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    submod_status status = solve(&net, ctx, order, rank, parts, nparts, z, w);
    if (status == SUBMOD_OK) {
        find_side(&net, false);
    }
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            in[i] = net.reached[order[i]];
        }
    }
    submodi_scope_close(&scope);
    return status;
}

static submod_status minimize_minor(const submodi_cut *c, const submod_minor *minor,
                                    const double *z, uint8_t *smallest, uint8_t *largest, double *s,
                                    submod_work *w)
{
    const submodi_part ground = {0, minor->nground};
    network net;
    size_t ranks = minor->nground < c->n ? c->n : 0;
    int32_t *rank = submodi_work_alloc(w, ranks, sizeof *rank);
    TRY(submodi_work_status(w));
    for (size_t v = 0; v < ranks; v++) {
        rank[v] = INT32_MAX; /* outside */
    }
    for (size_t i = 0; i < minor->nbase; i++) {
        rank[minor->base[i]] = -1;
    }
    for (size_t i = 0; ranks && i < minor->nground; i++) {
        rank[minor->ground[i]] = (int32_t)i;
    }
    TRY(solve(&net, c, minor->ground, rank, &ground, 1, z, w));
    if (smallest) {
        find_side(&net, false);
    }
    for (size_t i = 0; smallest && i < minor->nground; i++) {
        smallest[i] = net.reached[minor->ground[i]];
    }
    if (largest) {
        find_side(&net, true);
    }
    for (size_t i = 0; largest && i < minor->nground; i++) {
        largest[i] = !net.reached[minor->ground[i]];
    }
    for (size_t i = 0; s && i < minor->nground; i++) {
        s[i] = -submodi_from_fixed(&net.part.scaling, net.flow.net.excess[minor->ground[i]]);
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

static size_t degree(const submodi_cut *c, size_t v)
{
    return c->start[v + 1] - c->start[v];
}

/* Writes the path that starts at v from position `end` on. Returns its end. */
static size_t append_path(const submodi_cut *c, size_t end, int32_t v, submodi_paths *p)
{
    int32_t from = -1;
    for (bool last = false; !last;) {
        size_t j = c->start[v]; /* of the neighbour other than `from` */
        j += j < c->start[v + 1] && c->neighbours[j].vertex == from;
        last = j == c->start[v + 1];
        p->in_order &= (size_t)v == end;
        p->order[end] = v;
        p->out[end] = last ? 0 : c->neighbours[j].out;
        p->in[end++] = last ? 0 : c->neighbours[j].in;
        from = v;
        v = last ? v : c->neighbours[j].vertex;
    }
    return end;
}

/* Follows each path from its end with the lower number. Returns how many vertices lie on paths; the
 * others lie on circles. done: n zeros. */
static size_t lay_out(const submodi_cut *c, uint8_t *done, submodi_paths *p)
{
    size_t end = 0;
    for (size_t v = 0; v < c->n; v++) {
        if (degree(c, v) < 2 && !done[v]) {
            p->begin[p->count++] = end;
            end = append_path(c, end, (int32_t)v, p);
            done[p->order[end - 1]] = 1;
        }
    }
    p->begin[p->count] = end;
    return end;
}

/* Fills c->paths. */
static submod_status find_paths(submodi_cut *c)
{
    size_t n = c->n;
    for (size_t v = 0; v < n; v++) {
        if (degree(c, v) > 2) {
            return SUBMOD_OK;
        }
    }
    submodi_paths *p = submodi_alloc(1, sizeof *p);
    uint8_t *done = submodi_alloc(n, sizeof *done);
    bool found = false, enough = p && done;
    if (p) {
        *p = (submodi_paths){.in_order = true,
                             .begin = submodi_alloc(n + 1, sizeof *p->begin),
                             .order = submodi_alloc(n, sizeof *p->order),
                             .out = submodi_alloc(n, sizeof *p->out),
                             .in = submodi_alloc(n, sizeof *p->in)};
        enough = done && p->begin && p->order && p->out && p->in;
    }
    if (enough) {
        memset(done, 0, n);
        found = lay_out(c, done, p) == n;
    }
    submodi_free(done);
    c->paths = found ? p : NULL;
    if (!found) {
        free_paths(p);
    }
    return enough ? SUBMOD_OK : submodi_out_of_memory();
}

/* ---- construction ----
 *
 * A counting sort of the edge ends by vertex: all edges are added twice, first to count them. While
 * the lists are filled, start[v + 1] is where the next neighbour of v goes, so start has one more
 * entry than it needs in the end.
 */

typedef enum adding { COUNT, FILL } adding;

static void destroy(void *ctx)
{
    submodi_cut *c = ctx;
    submodi_free(c->start);
    submodi_free(c->neighbours);
    free_paths(c->paths);
    submodi_free(c);
}

/* A graph without edges, with room for m. */
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
    memset(c->start, 0, (n + 2) * sizeof *c->start);
    return c;
}

static inline void add_edge(submodi_cut *c, adding pass, int32_t tail, int32_t head, double out,
                            double in)
{
    if (tail == head) {
        return;
    }
    if (pass == COUNT) {
        c->start[tail + 2]++;
        c->start[head + 2]++;
        return;
    }
    size_t at_tail = c->start[tail + 1]++;
    size_t at_head = c->start[head + 1]++;
    c->neighbours[at_tail] = (submodi_neighbour){out, in, head, (uint32_t)at_head};
    c->neighbours[at_head] = (submodi_neighbour){in, out, tail, (uint32_t)at_tail};
}

static void end_counting(submodi_cut *c)
{
    for (size_t v = 0; v < c->n; v++) {
        c->start[v + 2] += c->start[v + 1];
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

/* Makes the function of a graph that has all its edges. Takes ownership of the graph, even on
 * failure. */
static submod_status finish(submodi_cut *c, submod_fn **fn)
{
    submod_status status = find_paths(c);
    if (status != SUBMOD_OK) {
        destroy(c);
        return status;
    }
    c->heaviest = heaviest_vertex(c);
    const submod_fn f = {.ops = {.name = "cut",
                                 .eval = eval,
                                 .state_size = c->n,
                                 .reset = reset,
                                 .chain = chain,
                                 .gain = gain,
                                 .minimize = minimize,
                                 .destroy = destroy},
                         .kind = SUBMODI_CUT,
                         .minimize_parts = minimize_parts,
                         .join = join,
                         .ctx = c,
                         .n = c->n};
    return submodi_fn_new(&f, fn);
}

static submod_status check_edges(size_t n, size_t m, const int32_t *tail, const int32_t *head,
                                 const double *weight)
{
    if (m && (!tail || !head || !weight)) {
        return submodi_fail(SUBMOD_EINVAL, "tail, head or weight is NULL");
    }
    if (m > UINT32_MAX / 2) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "m = %zu must be at most 2^31 - 1", m);
    }
    for (size_t i = 0; i < m; i++) {
        const bool bad_tail = tail[i] < 0 || (size_t)tail[i] >= n;
        if (bad_tail || head[i] < 0 || (size_t)head[i] >= n) {
            return submodi_fail(SUBMOD_EINVAL, "%s[%zu] = %d is not in [0, %zu)",
                                bad_tail ? "tail" : "head", i, (int)(bad_tail ? tail : head)[i], n);
        }
    }
    return submodi_check_all_nonnegative("weight", weight, m);
}

static submod_status make(size_t n, size_t m, const int32_t *tail, const int32_t *head,
                          const double *weight, bool directed, submod_fn **fn)
{
    TRY(submodi_check_size(n, fn));
    TRY(check_edges(n, m, tail, head, weight));
    submodi_cut *c = allocate(n, m);
    if (!c) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < m; i++) {
        add_edge(c, COUNT, tail[i], head[i], 0, 0);
    }
    end_counting(c);
    for (size_t i = 0; i < m; i++) {
        add_edge(c, FILL, tail[i], head[i], weight[i], directed ? 0 : weight[i]);
    }
    return finish(c, fn);
}

submod_status submod_fn_cut(size_t n, size_t m, const int32_t *tail, const int32_t *head,
                            const double *weight, int directed, submod_fn **fn)
{
    return submodi_return("submod_fn_cut", make(n, m, tail, head, weight, directed != 0, fn));
}

/* ---- sums of cuts ---- */

/* Each edge has two entries in the lists; the first of them stands for it. */
static void add_cut(submodi_cut *to, adding pass, const submod_term *cut)
{
    const submodi_cut *c = cut->fn->ctx;
    const int32_t *at = cut->elements;
    for (int32_t v = 0; (size_t)v < c->n; v++) {
        for (size_t j = c->start[v]; j < c->start[v + 1]; j++) {
            const submodi_neighbour *u = &c->neighbours[j];
            double out = cut->coefficient * u->out, in = cut->coefficient * u->in;
            if (u->opposite > j && (out > 0 || in > 0)) {
                add_edge(to, pass, at ? at[v] : v, at ? at[u->vertex] : u->vertex, out, in);
            }
        }
    }
}

/* Joins parallel edges. The first edge between two vertices is the first in both lists. mark: n
 * zeros; moved: scratch by entry. Returns the largest weight. */
static double join_parallel(submodi_cut *c, size_t *mark, uint32_t *moved)
{
    submodi_neighbour *list = c->neighbours;
    double largest = 0;
    size_t end = 0, next = 0;
    for (size_t v = 0; v < c->n; v++) {
        size_t j = next;
        next = c->start[v + 1];
        c->start[v] = end;
        for (; j < next; j++) {
            size_t *at = &mark[list[j].vertex]; /* one more than its place in the new list of v */
            if (*at > c->start[v]) {
                list[*at - 1].out += list[j].out;
                list[*at - 1].in += list[j].in;
            } else {
                list[end] = list[j];
                *at = ++end;
            }
            moved[j] = (uint32_t)(*at - 1);
            largest = fmax(largest, list[*at - 1].out);
        }
    }
    c->start[c->n] = end;
    for (size_t j = 0; j < end; j++) {
        list[j].opposite = moved[list[j].opposite];
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
    size_t *mark = submodi_work_alloc(w, n, sizeof *mark);
    uint32_t *moved = submodi_work_alloc(w, 2 * total, sizeof *moved);
    TRY(submodi_work_status(w));
    submodi_cut *c = allocate(n, total);
    if (!c) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < count; i++) {
        add_cut(c, COUNT, &cuts[i]);
    }
    end_counting(c);
    for (size_t i = 0; i < count; i++) {
        add_cut(c, FILL, &cuts[i]);
    }
    memset(mark, 0, n * sizeof *mark);
    if (!isfinite(join_parallel(c, mark, moved))) {
        destroy(c);
        return submodi_fail(SUBMOD_ENUMERIC, "the weights of the cuts overflow");
    }
    return finish(c, fn);
}

submod_status submodi_cut_merge(size_t n, const submod_term *cuts, size_t count, submod_fn **fn)
{
    submodi_scope scope;
    submod_status status = merge(n, cuts, count, fn, submodi_scope_open(&scope, NULL));
    submodi_scope_close(&scope);
    return status;
}
