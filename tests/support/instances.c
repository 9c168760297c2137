/* A random instance of every family of set functions, and random labels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <submod/select.h>

#include "combinations.h"
#include "support.h"

static submod_fn *jaccard(size_t n, submod_rng *rng, double share)
{
    uint8_t mask[64];
    submod_fn *fn = NULL;
    for (size_t i = 0; i < n; i++) {
        mask[i] = submod_rng_uniform(rng) < share;
    }
    ck_assert_ok(submod_fn_jaccard(n, mask, &fn));
    return fn;
}

static submod_fn *jaccard_mixed(size_t n, submod_rng *rng)
{
    return jaccard(n, rng, 0.5);
}

static submod_fn *jaccard_no_foreground(size_t n, submod_rng *rng)
{
    return jaccard(n, rng, 0);
}

static submod_fn *jaccard_all_foreground(size_t n, submod_rng *rng)
{
    return jaccard(n, rng, 1);
}

static submod_fn *hamming(size_t n, submod_rng *rng)
{
    submod_fn *fn = NULL;
    (void)rng;
    ck_assert_ok(submod_fn_hamming(n, &fn));
    return fn;
}

static submod_fn *modular(size_t n, submod_rng *rng)
{
    double w[64];
    submod_fn *fn = NULL;
    random_vector(rng, w, n, 0);
    ck_assert_ok(submod_fn_modular(n, w, &fn));
    return fn;
}

/* Increments in descending order, the last ones negative. */
static submod_fn *cardinality(size_t n, submod_rng *rng)
{
    double h[65] = {0};
    double increment = 2;
    submod_fn *fn = NULL;
    for (size_t k = 0; k < n; k++) {
        h[k + 1] = h[k] + increment;
        increment -= 5 * submod_rng_uniform(rng) / (double)n;
    }
    ck_assert_ok(submod_fn_concave(
        n, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = n + 1, .g = h}, &fn));
    return fn;
}

static submod_fn *square_root(size_t n, submod_rng *rng)
{
    submod_fn *fn = NULL;
    (void)rng;
    ck_assert_ok(submod_fn_concave(n, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    return fn;
}

static submod_fn *logarithm(size_t n, submod_rng *rng)
{
    submod_fn *fn = NULL;
    (void)rng;
    ck_assert_ok(submod_fn_concave(n, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_LOG1P}, &fn));
    return fn;
}

static submod_fn *truncation(size_t n, submod_rng *rng)
{
    submod_fn *fn = NULL;
    ck_assert_ok(
        submod_fn_concave(n, NULL,
                          &(submod_concave){.kind = SUBMOD_CONCAVE_MIN,
                                            .parameter = (double)(submod_rng_below(rng, n + 2))},
                          &fn));
    return fn;
}

static submod_fn *coverage(size_t n, submod_rng *rng)
{
    enum { ITEMS = 12 };
    size_t start[65] = {0};
    int32_t items[64 * ITEMS];
    double weight[ITEMS];
    submod_fn *fn = NULL;
    for (size_t e = 0; e < n; e++) {
        start[e + 1] = start[e] + submod_rng_below(rng, 5);
        for (size_t i = start[e]; i < start[e + 1]; i++) {
            items[i] = (int32_t)submod_rng_below(rng, ITEMS); /* now and then twice the same */
        }
    }
    for (size_t i = 0; i < ITEMS; i++) {
        weight[i] = submod_rng_uniform(rng);
    }
    ck_assert_ok(submod_fn_coverage(n, start, items, ITEMS, weight, &fn));
    return fn;
}

static submod_fn *cut(size_t n, submod_rng *rng, int directed)
{
    enum { EDGES = 40 };
    int32_t tail[EDGES];
    int32_t head[EDGES];
    double weight[EDGES];
    submod_fn *fn = NULL;
    for (size_t i = 0; i < EDGES; i++) { /* with loops and parallel edges */
        tail[i] = (int32_t)submod_rng_below(rng, n);
        head[i] = (int32_t)submod_rng_below(rng, n);
        weight[i] = submod_rng_uniform(rng);
    }
    ck_assert_ok(submod_fn_cut(n, EDGES, tail, head, weight, directed, &fn));
    return fn;
}

static submod_fn *cut_directed(size_t n, submod_rng *rng)
{
    return cut(n, rng, 1);
}

static submod_fn *cut_undirected(size_t n, submod_rng *rng)
{
    return cut(n, rng, 0);
}

static submod_fn *facility(size_t n, submod_rng *rng)
{
    enum { CLIENTS = 7 };
    double benefit[CLIENTS * 64];
    submod_fn *fn = NULL;
    for (size_t i = 0; i < CLIENTS * n; i++) {
        benefit[i] = submod_rng_uniform(rng);
    }
    ck_assert_ok(submod_fn_facility(n, CLIENTS, benefit, &fn));
    return fn;
}

/* B B' + I, with B square. */
static submod_fn *logdet(size_t n, submod_rng *rng)
{
    double *B = malloc(n * n * sizeof *B);
    double *K = malloc(n * n * sizeof *K);
    submod_fn *fn = NULL;
    ck_assert(B && K);
    random_vector(rng, B, n * n, 0);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            K[i * n + j] = i == j;
            for (size_t k = 0; k < n; k++) {
                K[i * n + j] += B[i * n + k] * B[j * n + k];
            }
        }
    }
    ck_assert_ok(submod_fn_logdet(n, K, &fn));
    free(B);
    free(K);
    return fn;
}

static submod_fn *iwata(size_t n, submod_rng *rng)
{
    submod_fn *fn = NULL;
    (void)rng;
    ck_assert_ok(make_iwata(n, &fn));
    return fn;
}

/* Weights of [0, 1), among them zeros and equal ones. */
static void random_weights(submod_rng *rng, double *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t kind = submod_rng_below(rng, 4);
        w[i] = kind == 0 ? 0 : kind == 1 ? 0.5 : submod_rng_uniform(rng);
    }
}

static submod_fn *concave(size_t n, submod_rng *rng)
{
    double w[64];
    submod_fn *fn = NULL;
    submod_concave_kind kind = (submod_concave_kind)submod_rng_below(rng, 4);
    random_weights(rng, w, n);
    ck_assert_ok(submod_fn_concave(
        n, w, &(submod_concave){.kind = kind, .parameter = 0.1 + 0.9 * submod_rng_uniform(rng)},
        &fn));
    return fn;
}

static submod_fn *concave_equal_weights(size_t n, submod_rng *rng)
{
    double w[64];
    submod_fn *fn = NULL;
    for (size_t i = 0; i < n; i++) {
        w[i] = 0.3;
    }
    ck_assert_ok(
        submod_fn_concave(n, w,
                          &(submod_concave){.kind = SUBMOD_CONCAVE_POWER,
                                            .parameter = 0.1 + 0.9 * submod_rng_uniform(rng)},
                          &fn));
    return fn;
}

/* Up, level, and down again. */
static submod_fn *concave_points(size_t n, submod_rng *rng)
{
    double w[64];
    double t[5] = {0};
    double g[5] = {0};
    double slope = 2;
    submod_fn *fn = NULL;
    random_weights(rng, w, n);
    for (int i = 1; i < 5; i++) {
        t[i] = t[i - 1] + 0.05 * (double)n * (0.1 + submod_rng_uniform(rng));
        g[i] = g[i - 1] + slope * (t[i] - t[i - 1]);
        slope -= 2 * submod_rng_uniform(rng);
    }
    ck_assert_ok(submod_fn_concave(
        n, w, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = 5, .t = t, .g = g}, &fn));
    return fn;
}

/* Entropy of the share of the weight: symmetric. */
static submod_status entropy(const void *ctx, double t, double *value)
{
    double p = fmin(1, t / *(const double *)ctx);
    *value = (p > 0 ? -p * log(p) : 0) + (p < 1 ? -(1 - p) * log1p(-p) : 0);
    return SUBMOD_OK;
}

static submod_fn *concave_custom(size_t n, submod_rng *rng)
{
    double w[64];
    double *total = malloc(sizeof *total);
    submod_concave g = {
        .kind = SUBMOD_CONCAVE_CUSTOM, .value = entropy, .ctx = total, .destroy = free};
    submod_fn *fn = NULL;
    ck_assert_ptr_nonnull(total);
    random_weights(rng, w, n);
    *total = 0.01;
    for (size_t i = 0; i < n; i++) {
        *total += w[i];
    }
    ck_assert_ok(submod_fn_concave(n, w, &g, &fn));
    return fn;
}

/* Lists of 0 to 6 distinct elements; returns how many lists. */
enum { LISTS = 7, LONGEST = 6 };

static size_t random_lists(submod_rng *rng, size_t n, size_t start[LISTS + 1],
                           int32_t elements[LISTS * LONGEST])
{
    int32_t order[64];
    size_t longest = n < LONGEST ? n : LONGEST;
    start[0] = 0;
    for (size_t i = 0; i < LISTS; i++) {
        size_t k = submod_rng_below(rng, longest + 1);
        random_order(rng, order, n);
        memcpy(elements + start[i], order, k * sizeof *order);
        start[i + 1] = start[i] + k;
    }
    return LISTS;
}

static submod_fn *groups(size_t n, submod_rng *rng)
{
    size_t start[LISTS + 1];
    int32_t elements[LISTS * LONGEST];
    double weight[LISTS];
    submod_concave_kind kind = (submod_concave_kind)submod_rng_below(rng, 4);
    submod_fn *fn = NULL;
    size_t m = random_lists(rng, n, start, elements);
    random_weights(rng, weight, m);
    ck_assert_ok(submod_fn_groups(
        n, &(submod_groups){.count = m, .start = start, .elements = elements, .weight = weight},
        &(submod_concave){.kind = kind, .parameter = 0.1 + 0.9 * submod_rng_uniform(rng)}, &fn));
    return fn;
}

static submod_fn *groups_with_amounts(size_t n, submod_rng *rng)
{
    size_t start[LISTS + 1];
    int32_t elements[LISTS * LONGEST];
    double amount[LISTS * LONGEST];
    submod_concave_kind kind = (submod_concave_kind)submod_rng_below(rng, 4);
    submod_fn *fn = NULL;
    size_t m = random_lists(rng, n, start, elements);
    random_weights(rng, amount, start[m]);
    ck_assert_ok(submod_fn_groups(
        n, &(submod_groups){.count = m, .start = start, .elements = elements, .amount = amount},
        &(submod_concave){.kind = kind, .parameter = 0.1 + 0.9 * submod_rng_uniform(rng)}, &fn));
    return fn;
}

static submod_fn *hypergraph(size_t n, submod_rng *rng)
{
    size_t start[LISTS + 1];
    int32_t nodes[LISTS * LONGEST];
    double weight[LISTS];
    submod_concave_kind kind =
        (submod_concave_kind)(SUBMOD_CONCAVE_ALL_OR_NOTHING + submod_rng_below(rng, 4));
    submod_fn *fn = NULL;
    size_t m = random_lists(rng, n, start, nodes);
    random_weights(rng, weight, m);
    ck_assert_ok(submod_fn_groups(
        n, &(submod_groups){.count = m, .start = start, .elements = nodes, .weight = weight},
        &(submod_concave){.kind = kind}, &fn));
    return fn;
}

/* ---- combinations ---- */

static submod_fn *sum(size_t n, submod_rng *rng)
{
    submod_fn *terms[3] = {jaccard_mixed(n, rng), cut_directed(n, rng), logdet(n, rng)};
    const double coefficient[3] = {2, 0.5, 1};
    submod_fn *fn = NULL;
    ck_assert_ok(combine_sum(terms, coefficient, 3, &fn));
    for (int i = 0; i < 3; i++) {
        submod_fn_free(terms[i]);
    }
    return fn;
}

static submod_fn *scale(size_t n, submod_rng *rng)
{
    submod_fn *inner = jaccard_mixed(n, rng);
    submod_fn *fn = NULL;
    ck_assert_ok(combine_scaled(inner, 3, &fn));
    submod_fn_free(inner);
    return fn;
}

static submod_fn *add_modular(size_t n, submod_rng *rng)
{
    submod_fn *inner = jaccard_mixed(n, rng);
    submod_fn *fn = NULL;
    double w[64];
    random_vector(rng, w, n, 0);
    ck_assert_ok(combine_plus(inner, w, &fn));
    submod_fn_free(inner);
    return fn;
}

static submod_fn *restriction_of(submod_fn *inner, size_t n, submod_rng *rng)
{
    int32_t order[64];
    submod_fn *fn = NULL;
    random_order(rng, order, submod_fn_size(inner));
    ck_assert_ok(submod_fn_restrict(inner, order, n, &fn));
    submod_fn_free(inner);
    return fn;
}

static submod_fn *contraction_of(submod_fn *inner, size_t n, submod_rng *rng)
{
    int32_t order[64];
    submod_fn *fn = NULL;
    random_order(rng, order, submod_fn_size(inner));
    ck_assert_ok(submod_fn_contract(inner, order, submod_fn_size(inner) - n, &fn));
    submod_fn_free(inner);
    return fn;
}

static submod_fn *restriction_cut(size_t n, submod_rng *rng)
{
    return restriction_of(cut_directed(n + 3, rng), n, rng);
}

static submod_fn *contraction_logdet(size_t n, submod_rng *rng)
{
    return contraction_of(logdet(n + 3, rng), n, rng);
}

static submod_fn *restriction_jaccard(size_t n, submod_rng *rng)
{
    return restriction_of(jaccard_mixed(n + 3, rng), n, rng);
}

static submod_fn *contraction_jaccard(size_t n, submod_rng *rng)
{
    return contraction_of(jaccard_mixed(n + 3, rng), n, rng);
}

/* A smaller function on some of the elements. */
static submod_fn *embedding_of(submod_fn *inner, size_t n, submod_rng *rng)
{
    int32_t order[64];
    submod_fn *fn = NULL;
    random_order(rng, order, n);
    ck_assert_ok(combine_embedded(inner, n, order, &fn));
    submod_fn_free(inner);
    return fn;
}

static submod_fn *embedding_jaccard(size_t n, submod_rng *rng)
{
    return embedding_of(jaccard_mixed(n / 2, rng), n, rng);
}

static submod_fn *embedding_logdet(size_t n, submod_rng *rng)
{
    return embedding_of(logdet((n + 1) / 2, rng), n, rng);
}

/* Overlapping embedded terms beside one of all elements. */
static submod_fn *sum_of_embeddings(size_t n, submod_rng *rng)
{
    submod_fn *terms[5] = {embedding_jaccard(n, rng), embedding_logdet(n, rng),
                           cut_undirected(n, rng), embedding_of(square_root(n, rng), n, rng),
                           embedding_of(cut_directed(n / 2, rng), n, rng)};
    const double coefficient[5] = {1, 0.25, 0.5, 2, 0};
    submod_fn *fn = NULL;
    ck_assert_ok(combine_sum(terms, coefficient, 5, &fn));
    for (int i = 0; i < 5; i++) {
        submod_fn_free(terms[i]);
    }
    return fn;
}

/* ---- custom: square roots of counts in three groups, by eval alone ---- */

static submod_status grouped_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const uint8_t *group = ctx;
    double count[3] = {0};
    for (size_t i = 0; i < k; i++) {
        count[group[set[i]]]++;
    }
    *value = sqrt(count[0]) + 2 * sqrt(count[1]) + 0.5 * sqrt(count[2]);
    return SUBMOD_OK;
}

static submod_fn *custom(size_t n, submod_rng *rng)
{
    uint8_t *group = malloc(n);
    submod_fn *fn = NULL;
    ck_assert_ptr_nonnull(group);
    for (size_t i = 0; i < n; i++) {
        group[i] = (uint8_t)submod_rng_below(rng, 3);
    }
    submod_fn_ops ops = {.eval = grouped_eval, .destroy = free};
    ck_assert_ok(submod_fn_custom(n, &ops, group, &fn));
    return fn;
}

/* ---- functions of two counts ---- */

static submod_fn *two_counts(size_t n, submod_rng *rng, double share, submod_measure measure)
{
    uint8_t mask[64];
    submod_fn *fn = NULL;
    for (size_t i = 0; i < n; i++) {
        mask[i] = submod_rng_uniform(rng) < share;
    }
    ck_assert_ok(submod_fn_counts(n, mask, NULL, &measure, &fn));
    return fn;
}

static submod_fn *tversky(size_t n, submod_rng *rng)
{
    static const double alphas[] = {0, 0.3, 1, 4}, betas[] = {1, 1.5, 7};
    double alpha = alphas[submod_rng_below(rng, 4)], beta = betas[submod_rng_below(rng, 3)];
    return two_counts(n, rng, 0.5, submod_tversky(alpha, beta));
}

static submod_fn *tversky_no_foreground(size_t n, submod_rng *rng)
{
    return two_counts(n, rng, 0, submod_tversky(0.7, 2));
}

static submod_fn *tversky_all_foreground(size_t n, submod_rng *rng)
{
    return two_counts(n, rng, 1, submod_tversky(0.7, 2));
}

/* Concave of a sum: all second differences are strictly below 0. */
static double root_measure(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return sqrt((2 * a + b) / (2 * P + N));
}

/* Linear in a and in b, but not in both: F is not concave, yet submodular. */
static double bilinear_measure(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    double s = P > 0 ? a / P : 0, t = N > 0 ? b / N : 0;
    return 1 - (1 - s) * (1 - t);
}

static submod_fn *two_counts_root(size_t n, submod_rng *rng)
{
    return two_counts(n, rng, 0.4,
                      submod_measure_custom(&(submod_measure_ops){.value = root_measure}, NULL));
}

static submod_fn *two_counts_bilinear(size_t n, submod_rng *rng)
{
    return two_counts(
        n, rng, 0.4, submod_measure_custom(&(submod_measure_ops){.value = bilinear_measure}, NULL));
}

/* Now and then a weight of 0, or two that are equal. */
static submod_fn *two_counts_weighted(size_t n, submod_rng *rng)
{
    uint8_t mask[64];
    double weight[64];
    submod_fn *fn = NULL;
    for (size_t i = 0; i < n; i++) {
        mask[i] = submod_rng_below(rng, 2) == 0;
        weight[i] = submod_rng_below(rng, 3) ? submod_rng_uniform(rng)
                                             : 0.5 * (double)submod_rng_below(rng, 4);
    }
    submod_measure measures[] = {
        submod_jaccard(), submod_tversky(0.4, 3),
        submod_measure_custom(&(submod_measure_ops){.value = root_measure}, NULL),
        submod_measure_custom(&(submod_measure_ops){.value = bilinear_measure}, NULL)};
    weight[0] = 1;
    ck_assert_ok(submod_fn_counts(n, mask, weight, &measures[submod_rng_below(rng, 4)], &fn));
    return fn;
}

const family families[] = {
    {"jaccard", jaccard_mixed, 1},
    {"jaccard, no foreground", jaccard_no_foreground, 1},
    {"jaccard, all foreground", jaccard_all_foreground, 1},
    {"hamming", hamming, 1},
    {"modular", modular, 0},
    {"cardinality", cardinality, 0},
    {"sqrt", square_root, 1},
    {"log1p", logarithm, 1},
    {"truncation", truncation, 1},
    {"coverage", coverage, 1},
    {"directed cut", cut_directed, 0},
    {"undirected cut", cut_undirected, 0},
    {"facility", facility, 1},
    {"logdet", logdet, 0},
    {"iwata", iwata, 0},
    {"sum", sum, 0},
    {"scale", scale, 1},
    {"add_modular", add_modular, 0},
    {"restricted cut", restriction_cut, 0},
    {"restricted jaccard", restriction_jaccard, 1},
    {"contracted logdet", contraction_logdet, 0},
    {"contracted jaccard", contraction_jaccard, 1},
    {"concave", concave, 1},
    {"concave, equal weights", concave_equal_weights, 1},
    {"concave by points", concave_points, 0},
    {"concave of one's own", concave_custom, 0},
    {"groups", groups, 1},
    {"groups with amounts", groups_with_amounts, 1},
    {"hypergraph", hypergraph, 0},
    {"embedded jaccard", embedding_jaccard, 1},
    {"embedded logdet", embedding_logdet, 0},
    {"sum of embeddings", sum_of_embeddings, 0},
    {"tversky", tversky, 1},
    {"tversky, no foreground", tversky_no_foreground, 1},
    {"tversky, all foreground", tversky_all_foreground, 1},
    {"two counts, root", two_counts_root, 1},
    {"two counts, bilinear", two_counts_bilinear, 1},
    {"two counts, weighted", two_counts_weighted, 1},
    {"custom", custom, 1}, /* tests take the last for one without a minimiser */
};
const size_t family_count = sizeof families / sizeof families[0];

const family *family_named(const char *name)
{
    size_t f = 0;
    while (f < family_count && strcmp(families[f].name, name) != 0) {
        f++;
    }
    ck_assert_msg(f < family_count, "no family is called %s", name);
    return &families[f];
}

void random_labels(submod_rng *rng, size_t n, size_t classes, int64_t ignore, int64_t *prediction,
                   int64_t *truth)
{
    for (size_t i = 0; i < n; i++) {
        int is_void = submod_rng_below(rng, 8) == 0;
        truth[i] = is_void ? ignore : (int64_t)submod_rng_below(rng, classes);
        prediction[i] = is_void ? 200 : (int64_t)submod_rng_below(rng, classes);
    }
}
