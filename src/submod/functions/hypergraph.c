/* Cut of a hypergraph: F(A) = sum of weight_e h(|A & e|), where h(0) = h(|e|) = 0 and
 *
 *   all or nothing   h(j) = 1
 *   small side       h(j) = min(j, |e| - j)
 *   product, clique  h(j) = j (|e| - j).
 *
 * An edge of k = 2 or 3 nodes has one value c = h(1) = h(k - 1). An ordinary edge, or a triangle of
 * edges of weight c / 2, has the same. The product is the cut of a clique of edges of weight 1 for
 * any k. Such edges are collected in one ordinary cut; all others are embedded functions of the
 * cardinality. Costs are those of the cut and of the sum (groups.c).
 */
#include "base/internal.h"
#include "submod/functions/groups.h"

enum { SMALL = 3 }; /* edges of at most so many nodes are ordinary ones */

static double height(submod_hypergraph_kind kind, size_t j, size_t k)
{
    switch (kind) {
    case SUBMOD_HYPERGRAPH_ALL_OR_NOTHING: return 0 < j && j < k;
    case SUBMOD_HYPERGRAPH_SMALL_SIDE: return (double)(j < k - j ? j : k - j);
    default: return (double)j * (double)(k - j);
    }
}

/* submodi_group_function: of an edge with k nodes. */
static submod_status of_edge(const submodi_groups *g, size_t i, size_t k, submod_fn **fn)
{
    const submod_hypergraph_kind *kind = g->ctx;
    double *h = submodi_alloc(k + 1, sizeof *h);
    (void)i;
    if (!h) {
        return submodi_nomem(g->who);
    }
    for (size_t j = 0; j <= k; j++) {
        h[j] = height(*kind, j, k);
    }
    submod_status status = submod_fn_cardinality(k, h, fn);
    submodi_free(h);
    return status;
}

/* ---- ordinary edges ---- */

typedef struct pairs {
    int32_t *tail, *head;
    double *weight;
    size_t count;
} pairs;

/* How many ordinary edges there will be, if hyperedges of fewer than `least` nodes become cliques.
 * SIZE_MAX: too many. *large: how many hyperedges do not. */
static size_t count_pairs(const submodi_groups *g, size_t *large)
{
    size_t total = 0;
    *large = 0;
    for (size_t i = 0; i < g->m; i++) {
        size_t k = g->start[i + 1] - g->start[i];
        size_t more = k < g->least ? submodi_times(k, k ? k - 1 : 0) / 2 : 0;
        total = more > SIZE_MAX - total ? SIZE_MAX : total + more;
        *large += k >= g->least;
    }
    return total;
}

/* Appends the clique of edge i, each of its edges of this weight. */
static void add_clique(pairs *p, const submodi_groups *g, size_t i, double weight)
{
    for (size_t a = g->start[i]; a < g->start[i + 1]; a++) {
        for (size_t b = a + 1; b < g->start[i + 1]; b++) {
            p->tail[p->count] = g->elements[a];
            p->head[p->count] = g->elements[b];
            p->weight[p->count] = weight;
            p->count++;
        }
    }
}

/* The cut of all hyperedges of fewer than `least` nodes: edges of weight h(1) / (k - 1), which is
 * 1 for the product. */
static submod_status cut_of_pairs(const submodi_groups *g, size_t count, submod_fn **cut)
{
    const submod_hypergraph_kind *kind = g->ctx;
    pairs p = {.tail = submodi_alloc(count, sizeof *p.tail),
               .head = submodi_alloc(count, sizeof *p.head),
               .weight = submodi_alloc(count, sizeof *p.weight)};
    submod_status status = p.tail && p.head && p.weight ? SUBMOD_OK : submodi_nomem(g->who);
    for (size_t i = 0; status == SUBMOD_OK && i < g->m; i++) {
        size_t k = g->start[i + 1] - g->start[i];
        if (k >= 2 && k < g->least) {
            double each = height(*kind, 1, k) / (double)(k - 1);
            add_clique(&p, g, i, each * (g->weight ? g->weight[i] : 1));
        }
    }
    status = status ? status : submod_fn_cut(g->n, p.count, p.tail, p.head, p.weight, 0, cut);
    submodi_free(p.tail);
    submodi_free(p.head);
    submodi_free(p.weight);
    return status;
}

submod_status submod_fn_hypergraph(size_t n, size_t m, const size_t *start, const int32_t *nodes,
                                   const double *weight, submod_hypergraph_kind kind,
                                   submod_fn **fn)
{
    static const char who[] = "submod_fn_hypergraph";
    submodi_groups g = {.who = who,
                        .n = n,
                        .m = m,
                        .start = start,
                        .elements_as = "nodes",
                        .elements = nodes,
                        .weight = weight,
                        .make = of_edge,
                        .ctx = &kind,
                        .alike = true,
                        .least = kind == SUBMOD_HYPERGRAPH_CLIQUE ? SIZE_MAX : SMALL + 1};
    submod_status status = submodi_require_groups(&g, fn);
    if (status == SUBMOD_OK && ((int)kind < 0 || (int)kind > SUBMOD_HYPERGRAPH_CLIQUE)) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: kind = %d is unknown; see submod_hypergraph_kind",
                              who, (int)kind);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t large = 0; /* edges that are no ordinary ones */
    size_t count = count_pairs(&g, &large);
    if (count > INT32_MAX) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "%s: more than 2^31 - 1 ordinary edges; try SUBMOD_HYPERGRAPH_PRODUCT",
                            who);
    }
    if (large == 0) {
        return cut_of_pairs(&g, count, fn);
    }
    submod_fn *cut = NULL;
    status = count ? cut_of_pairs(&g, count, &cut) : SUBMOD_OK;
    g.along = cut;
    status = status ? status : submodi_fn_from_groups(&g, "hypergraph", fn);
    submod_fn_free(cut);
    return status;
}
