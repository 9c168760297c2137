/* Minimisers of cut functions by maximum flow: against all subsets, by duality on genrmf, and of
 * many parts at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "combinations.h"
#include "depth.h"
#include "problems.h"
#include "submod/flow.h"
#include "support.h"

enum { N = 8 };

/* Whole-number weights and z: many minimisers, whose intersection and union are known exactly. */
START_TEST(ties_by_all_subsets)
{
    enum { EDGES = 14 };
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    int several = 0;
    for (int repeat = 0; repeat < repeats(2000); repeat++) {
        int32_t tail[EDGES], head[EDGES], block[N];
        double weight[EDGES], z[N];
        submod_fn *fn = NULL;
        for (int i = 0; i < EDGES; i++) {
            tail[i] = (int32_t)submod_rng_below(&rng, N);
            head[i] = (int32_t)submod_rng_below(&rng, N);
            weight[i] = 0.1 * (double)submod_rng_below(&rng, 4); /* 0.1: sums round */
        }
        for (int i = 0; i < N; i++) {
            block[i] = i;
            z[i] = 0.1 * ((double)submod_rng_below(&rng, 9) - 4);
        }
        ck_assert_ok(submod_fn_cut(N, EDGES, tail, head, weight, repeat % 2, &fn));
        double *F = subset_values(fn);
        double lowest = INFINITY;
        uint32_t expected[2] = {(1u << N) - 1, 0};
        for (int pass = 0; pass < 2; pass++) {
            for (uint32_t set = 0; set < 1u << N; set++) {
                double value = F[set];
                for (int i = 0; i < N; i++) {
                    value -= set >> i & 1 ? z[i] : 0;
                }
                lowest = pass ? lowest : fmin(lowest, value);
                if (pass && value <= lowest + 1e-12) {
                    expected[0] &= set;
                    expected[1] |= set;
                }
            }
        }
        several += expected[0] != expected[1];
        for (int largest = 0; largest < 2; largest++) {
            uint8_t in[N];
            double value;
            ck_assert_ok(minimize_minor(fn, NULL, 0, block, N, z, largest, in, &value));
            uint32_t found = 0;
            for (int i = 0; i < N; i++) {
                found |= (uint32_t)in[i] << i;
            }
            ck_assert_near(value, lowest, 1e-12);
            ck_assert_uint_eq(found, expected[largest]);
        }
        free(F);
        submod_fn_free(fn);
    }
    ck_assert_int_ge(several, repeats(2000) / 4);
}
END_TEST

/* ---- maximum flow = minimum cut ---- */

/* Breadth-first search from s = 0 for a path to t along residual capacities; arcs are pairs 2i,
 * 2i + 1. Returns the flow that was added, 0 when there is no path. */
static double augment(const problem_graph *g, double *residual, const size_t *start,
                      const size_t *out, int64_t *parent, int32_t *queue)
{
    int32_t t = (int32_t)g->n - 1;
    for (size_t v = 0; v < g->n; v++) {
        parent[v] = -1;
    }
    size_t end = 0;
    queue[end++] = 0;
    parent[0] = INT64_MAX;
    for (size_t i = 0; i < end && parent[t] < 0; i++) {
        for (size_t j = start[queue[i]]; j < start[queue[i] + 1]; j++) {
            size_t a = out[j];
            int32_t v = a % 2 ? g->tail[a / 2] : g->head[a / 2];
            if (residual[a] > 0 && parent[v] < 0) {
                parent[v] = (int64_t)a;
                queue[end++] = v;
            }
        }
    }
    if (parent[t] < 0) {
        return 0;
    }
    double amount = INFINITY;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t v = t; v != 0;) {
            size_t a = (size_t)parent[v];
            if (pass) {
                residual[a] -= amount;
                residual[a ^ 1] += amount;
            } else {
                amount = fmin(amount, residual[a]);
            }
            v = a % 2 ? g->head[a / 2] : g->tail[a / 2];
        }
    }
    return amount;
}

/* Edmonds and Karp, slow and obvious; whole capacities: exact. */
static double slow_max_flow(const problem_graph *g)
{
    double *residual = calloc(2 * g->m, sizeof *residual);
    size_t *start = calloc(g->n + 2, sizeof *start);
    size_t *out = malloc(2 * g->m * sizeof *out);
    int64_t *parent = malloc(g->n * sizeof *parent);
    int32_t *queue = malloc(g->n * sizeof *queue);
    ck_assert(residual && start && out && parent && queue);
    for (size_t i = 0; i < g->m; i++) {
        residual[2 * i] = g->weight[i];
        start[g->tail[i] + 2]++;
        start[g->head[i] + 2]++;
    }
    for (size_t v = 0; v < g->n; v++) {
        start[v + 2] += start[v + 1];
    }
    for (size_t i = 0; i < g->m; i++) {
        out[start[g->tail[i] + 1]++] = 2 * i;
        out[start[g->head[i] + 1]++] = 2 * i + 1;
    }
    double flow = 0;
    for (double more = 1; more > 0;) {
        more = augment(g, residual, start, out, parent, queue);
        flow += more;
    }
    free(residual);
    free(start);
    free(out);
    free(parent);
    free(queue);
    return flow;
}

/* The whole block's minimum. */
static double minimum(const submod_fn *fn, int largest, uint8_t *in)
{
    size_t n = submod_fn_size(fn);
    int32_t *block = malloc(n * sizeof *block);
    double *z = calloc(n, sizeof *z);
    double value;
    ck_assert(block && z);
    for (size_t e = 0; e < n; e++) {
        block[e] = (int32_t)e;
    }
    ck_assert_ok(minimize_minor(fn, NULL, 0, block, n, z, largest, in, &value));
    free(block);
    free(z);
    return value;
}

static void compare_genrmf(size_t a, size_t b, submod_rng *rng)
{
    problem_graph g = problem_genrmf(a, b, 0, 4, rng);
    ck_assert_uint_eq(g.n, a * a * b);
    ck_assert_uint_eq(g.m, 4 * a * (a - 1) * b + a * a * (b - 1));
    submod_fn *fn = problem_st_cut(&g);
    ck_assert_ptr_nonnull(fn);
    double from_source = 0;
    for (size_t i = 0; i < g.m; i++) {
        from_source += g.tail[i] == 0 ? g.weight[i] : 0;
    }
    double flow = slow_max_flow(&g);
    uint8_t *small = malloc(g.n), *large = malloc(g.n);
    ck_assert(small && large);
    ck_assert_near(minimum(fn, 0, small) + from_source, flow, 0);
    ck_assert_near(minimum(fn, 1, large) + from_source, flow, 0);
    for (size_t e = 0; e < g.n - 2; e++) {
        ck_assert(small[e] <= large[e]);
    }
    free(small);
    free(large);
    submod_fn_free(fn);
    problem_graph_clear(&g);
}

START_TEST(genrmf_duality)
{
    submod_rng rng;
    size_t a, b;
    submod_rng_seed(&rng, 2);
    problem_genrmf_long(9, &a, &b);
    ck_assert(a == 5 && b == 23);
    compare_genrmf(a, b, &rng); /* 575 vertices, 2390 arcs */
    problem_genrmf_wide(9, &a, &b);
    ck_assert(a == 12 && b == 3);
    compare_genrmf(a, b, &rng); /* 432 vertices, 1872 arcs */
    for (int repeat = 0; repeat < 20; repeat++) {
        compare_genrmf(2 + submod_rng_below(&rng, 4), 2 + submod_rng_below(&rng, 8), &rng);
    }
}
END_TEST

/* F(A) = cut({s} + A) - cut({s}) by the combinations of function.h: the same function. */
START_TEST(st_cut_is_a_minor)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    problem_graph g = problem_genrmf(3, 4, 0, 4, &rng);
    submod_fn *direct = problem_st_cut(&g), *cut = NULL, *given = NULL, *minor = NULL;
    size_t n = g.n - 2;
    int32_t *inner = malloc(n * sizeof *inner);
    uint8_t *in[2] = {malloc(n), malloc(n)};
    ck_assert(inner && in[0] && in[1]);
    ck_assert_ok(submod_fn_cut(g.n, g.m, g.tail, g.head, g.weight, 1, &cut));
    ck_assert_ok(submod_fn_contract(cut, (int32_t[]){0}, 1, &given));
    for (size_t e = 0; e < n; e++) {
        inner[e] = (int32_t)e; /* vertex e + 1 */
    }
    ck_assert_ok(submod_fn_restrict(given, inner, n, &minor));
    for (int largest = 0; largest < 2; largest++) {
        ck_assert_near(minimum(direct, largest, in[0]), minimum(minor, largest, in[1]), 0);
        ck_assert_mem_eq(in[0], in[1], n);
    }
    for (int repeat = 0; repeat < 100; repeat++) {
        size_t k = submod_rng_below(&rng, n + 1);
        double a, b;
        random_order(&rng, inner, n);
        ck_assert_ok(submod_fn_eval(direct, inner, k, &a));
        ck_assert_ok(submod_fn_eval(minor, inner, k, &b));
        ck_assert_near(a, b, 1e-9);
    }
    submod_fn_free(direct);
    submod_fn_free(cut);
    submod_fn_free(given);
    submod_fn_free(minor);
    free(inner);
    free(in[0]);
    free(in[1]);
    problem_graph_clear(&g);
}
END_TEST

/* All parts of an order in one call: what minimize says for each. */
START_TEST(parts_one_by_one)
{
    enum { SIZE = 200, PARTS = 9 };
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int repeat = 0; repeat < 50; repeat++) {
        submod_fn *shifted = problem_watts_strogatz(SIZE, &rng), *fn = NULL;
        ck_assert_ptr_nonnull(shifted);
        ck_assert_ok(combine_scaled(shifted, 0.5 + submod_rng_uniform(&rng), &fn));
        ck_assert_ptr_nonnull(fn->minimize_parts);
        int32_t order[SIZE], rank[SIZE];
        double z[SIZE];
        uint8_t in[SIZE], alone[SIZE];
        submodi_part parts[PARTS];
        random_order(&rng, order, SIZE);
        for (int32_t i = 0; i < SIZE; i++) {
            rank[order[i]] = i;
            z[i] = 4 * submod_rng_normal(&rng);
        }
        for (size_t j = 0; j < PARTS; j++) { /* with gaps between them */
            parts[j].begin = j * SIZE / PARTS + submod_rng_below(&rng, 5);
            parts[j].end = (j + 1) * SIZE / PARTS - submod_rng_below(&rng, 5);
        }
        ck_assert_ok(submodi_fn_minimize_parts(fn, order, rank, parts, PARTS, z, in));
        for (size_t j = 0; j < PARTS; j++) {
            size_t begin = parts[j].begin, size = parts[j].end - begin;
            ck_assert_ok(
                minimize_minor(fn, order, begin, order + begin, size, z + begin, 0, alone, NULL));
            ck_assert_mem_eq(in + begin, alone, size);
        }
        submod_fn_free(fn);
        submod_fn_free(shifted);
    }
}
END_TEST

/* Random forests: handing over from the leaves and flow give the same sides. With a circle some
 * nodes are left. */
START_TEST(forests)
{
    enum { SIZE = 60 };
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int repeat = 0; repeat < 500; repeat++) {
        size_t n = 1 + submod_rng_below(&rng, SIZE), pairs = 0;
        int32_t end[SIZE][2];
        size_t first[SIZE + 1] = {0};
        uint32_t place[SIZE + 1];
        submodi_arc arcs[2][2 * SIZE];
        int64_t excess[2][SIZE];
        int32_t nodes[SIZE], list[SIZE];
        uint8_t reached[2][SIZE];
        for (size_t v = 1; v < n; v++) { /* to an earlier vertex, or a new tree */
            if (submod_rng_below(&rng, 5)) {
                end[pairs][0] = (int32_t)v;
                end[pairs++][1] = (int32_t)(repeat % 2 ? v - 1 : submod_rng_below(&rng, v));
            }
        }
        int circle = n > 1 && repeat % 10 == 0; /* possibly a pair of parallel edges */
        if (circle && pairs) {
            end[pairs][0] = end[0][0];
            end[pairs++][1] = end[0][1];
        }
        for (size_t i = 0; i < 2 * pairs; i++) {
            first[end[i / 2][i % 2] + 1]++;
        }
        for (size_t v = 0; v < n; v++) {
            first[v + 1] += first[v];
            place[v] = (uint32_t)first[v];
            nodes[v] = (int32_t)v;
            excess[0][v] = excess[1][v] = (int64_t)submod_rng_below(&rng, 21) - 10;
        }
        for (size_t i = 0; i < pairs; i++) {
            uint32_t a = place[end[i][0]]++, b = place[end[i][1]]++;
            arcs[0][a] = (submodi_arc){1 + (int64_t)submod_rng_below(&rng, 8), end[i][1], b};
            arcs[0][b] = (submodi_arc){(int64_t)submod_rng_below(&rng, 8), end[i][0], a};
        }
        memcpy(arcs[1], arcs[0], 2 * pairs * sizeof **arcs);
        submodi_network net[2];
        for (int i = 0; i < 2; i++) {
            net[i] = (submodi_network){n, first, arcs[i], excess[i], 0};
        }
        uint32_t degree[SIZE], left[SIZE];
        for (size_t v = 0; v < n; v++) {
            degree[v] = (uint32_t)(first[v + 1] - first[v]);
        }
        bool forest = submodi_prune(&net[0], nodes, n, degree, left, list) == 0;
        ck_assert_int_eq(forest, !(circle && pairs));
        if (!forest) { /* what was handed over does no harm */
            ck_assert_ok(submodi_max_flow(&net[0], nodes, n, 1, NULL));
        }
        ck_assert_ok(submodi_max_flow(&net[1], nodes, n, 1, NULL));
        for (int backwards = 0; backwards < 2; backwards++) {
            for (int i = 0; i < 2; i++) {
                submodi_reach(&net[i], nodes, n, backwards, 0, reached[i], list);
            }
            ck_assert_mem_eq(reached[0], reached[1], n);
        }
    }
}
END_TEST

/* ---- the methods one by one ---- */

/* A network of its own, and copies of it. */
typedef struct copy {
    submodi_network net;
    size_t *first;
} copy;

static copy make_network(size_t n, size_t pairs, int64_t capacity, int64_t most, submod_rng *rng)
{
    copy c = {.net = {.nodes = n}};
    int32_t(*end)[2] = malloc(pairs * sizeof *end);
    uint32_t *place = calloc(n, sizeof *place);
    c.first = calloc(n + 1, sizeof *c.first);
    c.net.arcs = malloc(2 * pairs * sizeof *c.net.arcs);
    c.net.excess = malloc(n * sizeof *c.net.excess);
    ck_assert(end && place && c.first && c.net.arcs && c.net.excess);
    for (size_t i = 0; i < pairs; i++) { /* no loops */
        end[i][0] = (int32_t)submod_rng_below(rng, n);
        end[i][1] = (end[i][0] + 1 + (int32_t)submod_rng_below(rng, n - 1)) % (int32_t)n;
        c.first[end[i][0] + 1]++;
        c.first[end[i][1] + 1]++;
    }
    for (size_t v = 0; v < n; v++) {
        c.first[v + 1] += c.first[v];
        place[v] = (uint32_t)c.first[v];
        c.net.excess[v] = (int64_t)submod_rng_below(rng, 2 * (uint64_t)most + 1) - most;
    }
    for (size_t i = 0; i < pairs; i++) {
        uint32_t a = place[end[i][0]]++, b = place[end[i][1]]++;
        uint64_t range = (uint64_t)capacity + 1;
        c.net.arcs[a] = (submodi_arc){(int64_t)submod_rng_below(rng, range), end[i][1], b};
        c.net.arcs[b] = (submodi_arc){(int64_t)submod_rng_below(rng, range), end[i][0], a};
    }
    c.net.first = c.first;
    free(end);
    free(place);
    return c;
}

static submodi_network copy_of(const submodi_network *net)
{
    submodi_network other = *net;
    size_t arcs = net->first[net->nodes];
    other.arcs = malloc(arcs * sizeof *other.arcs);
    other.excess = malloc(net->nodes * sizeof *other.excess);
    ck_assert(other.arcs && other.excess);
    memcpy(other.arcs, net->arcs, arcs * sizeof *other.arcs);
    memcpy(other.excess, net->excess, net->nodes * sizeof *other.excess);
    return other;
}

/* What left each node went along its arcs, and no arc carries more than it can. */
static void check_flow(const submodi_network *before, const submodi_network *after)
{
    for (size_t v = 0; v < before->nodes; v++) {
        int64_t out = 0;
        for (size_t a = before->first[v]; a < before->first[v + 1]; a++) {
            uint32_t b = before->arcs[a].opposite;
            int64_t flow = before->arcs[a].residual - after->arcs[a].residual;
            ck_assert_int_ge(after->arcs[a].residual, 0);
            ck_assert_int_eq(flow, after->arcs[b].residual - before->arcs[b].residual);
            out += flow;
        }
        ck_assert_int_eq(before->excess[v] - after->excess[v], out);
    }
}

/* Shortest ways, push and relabel, both, and both after they were interrupted: flows that are
 * maximal, with the same sides. */
START_TEST(methods_agree)
{
    enum { METHODS = 4, LARGEST = 60 };
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (int repeat = 0; repeat < repeats(1500); repeat++) {
        size_t n = 2 + submod_rng_below(&rng, LARGEST - 1);
        size_t pairs = 1 + submod_rng_below(&rng, 4 * n);
        int64_t capacity = repeat % 3 ? 10 : (int64_t)1 << 59;
        copy c = make_network(n, pairs, capacity, repeat % 2 ? 2 : 12, &rng);
        if (repeat % 5 == 0) { /* few take, or few give */
            for (size_t v = 3; v < n; v++) {
                int64_t size = c.net.excess[v] < 0 ? -c.net.excess[v] : c.net.excess[v];
                c.net.excess[v] = repeat % 10 ? size : -size;
            }
        }
        int32_t nodes[LARGEST], list[LARGEST];
        uint8_t reached[METHODS][2][LARGEST];
        for (size_t v = 0; v < n; v++) {
            nodes[v] = (int32_t)v;
        }
        for (int method = 0; method < METHODS; method++) {
            submodi_network net = copy_of(&c.net);
            bool maximal = true;
            if (method == 0 || method == 3) {
                ck_assert_ok(
                    submodi_ibfs(&net, nodes, n, method ? 8 : UINT64_MAX / 2, &maximal, NULL));
            }
            if (method == 1 || method == 3) {
                ck_assert_ok(submodi_push_relabel(&net, nodes, n, NULL));
            } else if (method == 2) {
                ck_assert_ok(submodi_max_flow(&net, nodes, n, 1, NULL));
            }
            ck_assert(method || maximal);
            check_flow(&c.net, &net);
            for (int backwards = 0; backwards < 2; backwards++) {
                uint8_t *side = reached[method][backwards];
                submodi_reach(&net, nodes, n, backwards, 0, side, list);
                ck_assert_mem_eq(side, reached[0][backwards], n);
            }
            for (size_t v = 0; v < n; v++) {
                ck_assert(!reached[method][0][v] || !reached[method][1][v]);
            }
            free(net.arcs);
            free(net.excess);
        }
        free(c.first);
        free(c.net.arcs);
        free(c.net.excess);
    }
}
END_TEST

/* Looks at arcs, as a multiple of their number, to solve an instance of genrmf. */
static double looks_at_genrmf(size_t a, size_t b, submod_rng *rng)
{
    problem_graph g = problem_genrmf(a, b, 0, 4, rng);
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_cut(g.n, g.m, g.tail, g.head, g.weight, 1, &fn));
    const submodi_cut *cut = fn->ctx;
    submodi_scaling one = {.limit = 1e9, .root = 1, .inverse = 1};
    submodi_cut_flow flow;
    submodi_flow_part all = {.id = 0};
    submod_work *work = NULL;
    int32_t *nodes = malloc(g.n * sizeof *nodes);
    ck_assert_ptr_nonnull(nodes);
    submodi_ascending(nodes, g.n);
    ck_assert_ok(submod_work_create(&work));
    submodi_scope scope;
    ck_assert_ok(submodi_flow_start(&flow, cut, 1, submodi_scope_open(&scope, work)));
    memset(flow.part, 0, g.n * sizeof *flow.part);
    submodi_flow_rescale(&flow, &all, nodes, g.n, one, false);
    submodi_network net = flow.net;
    net.excess[0] = 1 << 30;
    net.excess[g.n - 1] = -(1 << 30);
    ck_assert_ok(submodi_max_flow(&net, nodes, g.n, SUBMODI_VISITS_WARM, NULL));
    int64_t left = 0;
    for (size_t v = 0; v < g.n; v++) {
        left += net.excess[v] > 0 ? net.excess[v] : 0;
    }
    ck_assert_near((double)((1 << 30) - left), slow_max_flow(&g), 0);
    double looks = (double)net.effort / (double)cut->start[g.n];
    submodi_scope_close(&scope);
    submod_work_free(work);
    free(nodes);
    submod_fn_free(fn);
    problem_graph_clear(&g);
    return looks;
}

/* The bound is O(nodes^3); what these take is far below, and grows slowly. */
START_TEST(genrmf_effort)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (int k = 7; k <= 13; k += 2) { /* up to 9100 nodes */
        size_t a, b;
        problem_genrmf_long(k, &a, &b);
        ck_assert_double_le(looks_at_genrmf(a, b, &rng), 40);
        problem_genrmf_wide(k, &a, &b);
        ck_assert_double_le(looks_at_genrmf(a, b, &rng), 120);
    }
}
END_TEST

/* Weights from 1e-310 to 1e300, and sums that overflow. */
START_TEST(extreme_weights)
{
    const int32_t tail[3] = {0, 1, 2}, head[3] = {1, 2, 3}, block[4] = {0, 1, 2, 3};
    const double scale[] = {1e-310, 1e-300, 1e-10, 1, 1e10, 1e300};
    uint8_t in[4];
    for (size_t i = 0; i < sizeof scale / sizeof *scale; i++) {
        double c = scale[i], w[3] = {c, 3 * c, c}, z[4] = {2 * c, -c / 2, 2 * c, -3 * c};
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_cut(4, 3, tail, head, w, 0, &fn));
        ck_assert_ok(minimize_minor(fn, NULL, 0, block, 4, z, 0, in, NULL));
        ck_assert(in[0] == 1 && in[1] == 1 && in[2] == 1 && in[3] == 0);
        submod_fn_free(fn);
    }
    /* The weights at a vertex overflow: no harm, unless they are the cost of a vertex. */
    submod_fn *fn = NULL;
    const double z[4] = {1, -2, 3, -1};
    ck_assert_ok(submod_fn_cut(4, 3, tail, head, (double[]){1e308, 1e308, 1e308}, 0, &fn));
    ck_assert_ok(minimize_minor(fn, NULL, 0, block, 4, z, 0, in, NULL));
    ck_assert(in[0] && in[1] && in[2] && in[3]);
    memset(in, 7, sizeof in);
    ck_assert_int_eq(minimize_minor(fn, (int32_t[]){0, 2}, 2, (int32_t[]){1}, 1, z, 0, in, NULL),
                     SUBMOD_ENUMERIC);
    ck_assert_int_eq(in[0], 7);
    submod_fn_free(fn);
}
END_TEST

/* A grid where all supply is far from all demand: the work stays far from quadratic. */
START_TEST(long_ways)
{
    enum { SIDE = 200, SIZE = SIDE * SIDE };
    int32_t *tail = malloc(2 * SIZE * sizeof *tail), *head = malloc(2 * SIZE * sizeof *head);
    double *weight = malloc(2 * SIZE * sizeof *weight), *w = calloc(SIZE, sizeof *w);
    uint8_t *in = malloc(SIZE);
    submod_fn *cut = NULL, *fn = NULL;
    size_t m = 0;
    ck_assert(tail && head && weight && w && in);
    for (int32_t i = 0; i < SIZE; i++) {
        for (int down = 0; down < 2; down++) {
            if (down ? i + SIDE < SIZE : i % SIDE + 1 < SIDE) {
                tail[m] = i;
                head[m] = down ? i + SIDE : i + 1;
                weight[m++] = i % SIDE == SIDE / 2 && !down ? 0.5 : 1; /* the bottleneck */
            }
        }
        w[i] = i % SIDE == 0 ? -10 : i % SIDE == SIDE - 1 ? 10 : 0;
    }
    ck_assert_ok(submod_fn_cut(SIZE, m, tail, head, weight, 0, &cut));
    ck_assert_ok(combine_plus(cut, w, &fn));
    ck_assert_near(minimum(fn, 0, in), 0.5 * SIDE - 10 * SIDE, 1e-9);
    for (int i = 0; i < SIZE; i++) {
        ck_assert_int_eq(in[i], i % SIDE <= SIDE / 2);
    }
    submod_fn_free(cut);
    submod_fn_free(fn);
    free(tail);
    free(head);
    free(weight);
    free(w);
    free(in);
}
END_TEST

int main(void)
{
    return RUN_TESTS("maxflow", ties_by_all_subsets, genrmf_duality, st_cut_is_a_minor,
                     parts_one_by_one, forests, methods_agree, genrmf_effort, extreme_weights,
                     long_ways);
}
