/* A sum of cut functions is the cut of one graph: weights are multiplied by the coefficients, and
 * parallel edges are joined.
 *
 * The edges of all pieces, each from its lower to its higher vertex, are sorted by the lower vertex
 * (counting sort). Then those of one lower vertex are joined with the help of a mark at the higher
 * one. O(n + m) time and memory.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/functions/cut.h"

typedef struct edges {
    size_t m;
    int32_t *tail, *head; /* tail < head */
    double *out, *in;
} edges;

static bool take_edges(edges *e, size_t m, submod_work *w)
{
    double **vectors[] = {&e->out, &e->in, NULL};
    e->m = 0;
    e->tail = submodi_take(w, m, sizeof *e->tail);
    e->head = submodi_take(w, m, sizeof *e->head);
    return e->tail && e->head && submodi_take_vectors(w, m, vectors);
}

static void put(edges *e, size_t at, int32_t tail, int32_t head, double out, double in)
{
    e->tail[at] = tail;
    e->head[at] = head;
    e->out[at] = out;
    e->in[at] = in;
}

/* Each edge has two entries in the lists; the first of them stands for it. */
static void add_piece(edges *e, const submodi_cut_piece *piece)
{
    const submodi_cut *c = piece->fn->ctx;
    for (size_t v = 0; v < c->n; v++) {
        for (size_t j = c->start[v]; j < c->start[v + 1]; j++) {
            const submodi_neighbour *u = &c->neighbours[j];
            int32_t a = piece->elements ? piece->elements[v] : (int32_t)v;
            int32_t b = piece->elements ? piece->elements[u->vertex] : u->vertex;
            double out = piece->coefficient * u->out;
            double in = piece->coefficient * u->in;
            if (u->opposite > j && (out > 0 || in > 0)) {
                put(e, e->m++, a < b ? a : b, a < b ? b : a, a < b ? out : in, a < b ? in : out);
            }
        }
    }
}

/* to = from, by tail. next: n + 1 numbers of scratch. */
static void sort_by_tail(const edges *from, size_t n, size_t *next, edges *to)
{
    memset(next, 0, (n + 1) * sizeof *next);
    for (size_t i = 0; i < from->m; i++) {
        next[from->tail[i] + 1]++;
    }
    for (size_t v = 0; v < n; v++) {
        next[v + 1] += next[v];
    }
    for (size_t i = 0; i < from->m; i++) {
        put(to, next[from->tail[i]]++, from->tail[i], from->head[i], from->out[i], from->in[i]);
    }
    to->m = from->m;
}

/* Joins parallel edges in place; the edges are sorted by tail. mark: n numbers of scratch. Returns
 * the largest weight. */
static double join_parallel(edges *e, size_t n, size_t *mark)
{
    size_t m = 0;
    size_t begin = 0; /* of the edges with this tail */
    double largest = 0;
    memset(mark, 0, n * sizeof *mark);
    for (size_t i = 0; i < e->m; i++) {
        begin = i > 0 && e->tail[i] == e->tail[i - 1] ? begin : m;
        size_t *at = &mark[e->head[i]]; /* one more than the place of an edge to this head */
        if (*at > begin) {
            e->out[*at - 1] += e->out[i];
            e->in[*at - 1] += e->in[i];
        } else {
            put(e, m, e->tail[i], e->head[i], e->out[i], e->in[i]);
            *at = ++m;
        }
        largest = fmax(largest, fmax(e->out[*at - 1], e->in[*at - 1]));
    }
    e->m = m;
    return largest;
}

static submod_status merge(const char *who, size_t n, const submodi_cut_piece *pieces, size_t count,
                           submod_fn **fn, submod_work *w)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const submodi_cut *c = pieces[i].fn->ctx;
        total += c->start[c->n] / 2;
    }
    edges all;
    edges sorted;
    size_t *scratch = submodi_take(w, n + 1, sizeof *scratch);
    if (!take_edges(&all, total, w) || !take_edges(&sorted, total, w) || !scratch) {
        return submodi_nomem(who);
    }
    for (size_t i = 0; i < count; i++) {
        add_piece(&all, &pieces[i]);
    }
    sort_by_tail(&all, n, scratch, &sorted);
    double largest = join_parallel(&sorted, n, scratch);
    if (!isfinite(largest)) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: the weights of the cuts overflow", who);
    }
    if (sorted.m > UINT32_MAX / 2) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "%s: the cuts have %zu edges, more than 2^31 - 1",
                            who, sorted.m);
    }
    submodi_cut_edges joined = {sorted.m, sorted.tail, sorted.head, sorted.out, sorted.in};
    return submodi_cut_new(who, n, &joined, fn);
}

submod_status submodi_cut_merge(const char *who, size_t n, const submodi_cut_piece *pieces,
                                size_t count, submod_fn **fn)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    submod_status status = merge(who, n, pieces, count, fn, w);
    submodi_scope_close(&scope);
    return status;
}
