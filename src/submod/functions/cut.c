/* Cut of a sparse graph: F(A) = weight of the arcs from A to its complement. An undirected edge is
 * a pair of opposite arcs.
 *
 * Each vertex keeps the list of its neighbours u with the weights of the arcs to and from u, so
 *     F(A + v) - F(A) = sum over u outside A of out(u)  -  sum over u in A of in(u).
 *
 * With d(v) edges at v: push, gain O(d(v)); chain by push; eval O(n + sum of d); minimize: a
 * maximum flow, cut_minimize.c. State: one byte per vertex.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/functions/cut.h"
#include "submod/inseparable.h"

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

static submod_status push(const void *ctx, void *state, int32_t v, double *result)
{
    uint8_t *in = state;
    gain(ctx, state, v, result);
    in[v] = 1;
    return SUBMOD_OK;
}

/* By the definition, not as a sum of gains: nothing cancels. */
static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const submodi_cut *c = ctx;
    uint8_t *in = submodi_alloc(c->n, 1);
    if (!in) {
        return submodi_nomem("eval of a cut function");
    }
    memset(in, 0, c->n);
    for (size_t i = 0; i < k; i++) {
        in[set[i]] = 1;
    }
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        double at_vertex = 0;
        for (size_t j = c->start[set[i]]; j < c->start[set[i] + 1]; j++) {
            /* a product, not a branch that nobody can predict */
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

static submod_status require_edges(const char *who, size_t n, size_t m, const int32_t *tail,
                                   const int32_t *head)
{
    for (size_t i = 0; i < m; i++) {
        const bool bad_tail = tail[i] < 0 || (size_t)tail[i] >= n;
        if (bad_tail || head[i] < 0 || (size_t)head[i] >= n) {
            return submodi_fail(SUBMOD_EINVAL, "%s: %s[%zu] = %d is not in [0, %zu)", who,
                                bad_tail ? "tail" : "head", i, (int)(bad_tail ? tail : head)[i], n);
        }
    }
    return SUBMOD_OK;
}

static void destroy(void *ctx)
{
    submodi_cut *c = ctx;
    submodi_free(c->start);
    submodi_free(c->neighbours);
    submodi_paths_free(c->paths);
    submodi_free(c);
}

static submodi_cut *allocate(size_t n, size_t m)
{
    submodi_cut *c = submodi_alloc(1, sizeof *c);
    if (!c) {
        return NULL;
    }
    c->n = n;
    c->paths = NULL;
    c->start = submodi_alloc(n + 2, sizeof *c->start);
    c->neighbours = submodi_alloc(m, 2 * sizeof *c->neighbours);
    if (!c->start || !c->neighbours) {
        destroy(c);
        return NULL;
    }
    return c;
}

/* Counting sort of the edge ends by vertex. While the lists are filled, start[v + 1] is where the
 * next neighbour of v goes, so start has one more entry than it needs in the end. */
static void build_lists(submodi_cut *c, const submodi_cut_edges *edges)
{
    size_t m = edges->m;
    const int32_t *tail = edges->tail;
    const int32_t *head = edges->head;
    memset(c->start, 0, (c->n + 2) * sizeof *c->start);
    for (size_t i = 0; i < m; i++) {
        if (tail[i] != head[i]) {
            c->start[tail[i] + 2]++;
            c->start[head[i] + 2]++;
        }
    }
    for (size_t v = 0; v < c->n; v++) {
        c->start[v + 2] += c->start[v + 1];
    }
    for (size_t i = 0; i < m; i++) {
        if (tail[i] != head[i]) {
            double out = edges->out[i];
            double in = edges->in ? edges->in[i] : 0;
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

submod_status submodi_cut_new(const char *who, size_t n, const submodi_cut_edges *edges,
                              submod_fn **fn)
{
    submodi_cut *c = allocate(n, edges->m);
    if (!c) {
        return submodi_nomem(who);
    }
    build_lists(c, edges);
    if (!submodi_cut_find_paths(c)) {
        destroy(c);
        return submodi_nomem(who);
    }
    c->heaviest = heaviest_vertex(c);
    submod_fn_ops ops = {.eval = eval,
                         .state_size = n,
                         .reset = reset,
                         .push = push,
                         .gain = gain,
                         .minimize = submodi_cut_minimize,
                         .destroy = destroy};
    submodi_traits traits = {
        .minimize_parts = submodi_cut_minimize_parts, .join = join, .minimum = submodi_cut_minimum};
    return submodi_fn_new("cut", n, &ops, &traits, c, fn);
}

submod_status submod_fn_cut(size_t n, size_t m, const int32_t *tail, const int32_t *head,
                            const double *weight, int directed, submod_fn **fn)
{
    static const char who[] = "submod_fn_cut";
    submod_status status = submodi_require_size(who, n, fn);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (m && (!tail || !head || !weight)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: tail, head or weight is NULL", who);
    }
    if (m > UINT32_MAX / 2) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "%s: m = %zu must be at most 2^31 - 1", who, m);
    }
    status = require_edges(who, n, m, tail, head);
    status = status ? status : submodi_require_nonnegative(who, "weight", weight, m);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_cut_edges edges = {m, tail, head, weight, directed ? NULL : weight};
    return submodi_cut_new(who, n, &edges, fn);
}
