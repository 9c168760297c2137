/* Trees of set functions, made of bytes (see trees.h). */
#include "trees.h"
#include "combinations.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod/select.h>

#include "support.h"

enum { EDGES = 14, GROUPS = 4 };

void tree_vector(dice *d, numbers kind, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = dice_real(d, kind);
    }
}

double tree_lambda(dice *d)
{
    return dice_below(d, 4) ? 0.25 + (double)dice_below(d, 16)
                            : pow(10, 600 * ((double)dice_below(d, 65536) / 65535) - 300);
}

/* Weights >= 0, and never NaN: a leaf that is refused is a dull input. */
static numbers weight_kind(dice *d)
{
    numbers kind = dice_numbers(d);
    return kind == NUMBERS_ANY ? NUMBERS_TIED : kind;
}

static void weights(dice *d, size_t n, double *w)
{
    numbers kind = weight_kind(d);
    for (size_t i = 0; i < n; i++) {
        w[i] = fabs(dice_real(d, kind));
    }
}

/* ---- leaves ---- */

static submod_status cut(dice *d, size_t n, submod_fn **fn)
{
    int32_t tail[EDGES], head[EDGES];
    double weight[EDGES];
    size_t m = dice_below(d, EDGES + 1);
    bool line = dice_once_in(d, 3);
    weights(d, EDGES, weight);
    for (size_t k = 0; k < m; k++) {
        tail[k] = (int32_t)(line ? k % n : dice_below(d, n));
        head[k] = (int32_t)(line ? (k + 1) % n : dice_below(d, n));
    }
    return submod_fn_cut(n, line && m > n - 1 ? n - 1 : m, tail, head, weight,
                         (int)dice_below(d, 2), fn);
}

static submod_status coverage(dice *d, size_t n, submod_fn **fn)
{
    size_t start[TREES_MOST + 1] = {0};
    int32_t items[3 * TREES_MOST];
    double weight[EDGES];
    weights(d, EDGES, weight);
    for (size_t e = 0; e < n; e++) {
        start[e + 1] = start[e] + dice_below(d, 4);
        for (size_t k = start[e]; k < start[e + 1]; k++) {
            items[k] = (int32_t)dice_below(d, EDGES);
        }
    }
    return submod_fn_coverage(n, start, items, EDGES, weight, fn);
}

/* Distinct elements, the subset `mask` of n. */
static size_t members(size_t mask, size_t n, int32_t *elements)
{
    size_t k = 0;
    for (size_t e = 0; e < n; e++) {
        if (mask >> e & 1) {
            elements[k++] = (int32_t)e;
        }
    }
    return k;
}

static submod_status groups(dice *d, size_t n, submod_fn **fn)
{
    size_t start[GROUPS + 1] = {0};
    int32_t elements[GROUPS * TREES_MOST];
    double amount[GROUPS * TREES_MOST], weight[GROUPS];
    for (size_t i = 0; i < GROUPS; i++) {
        start[i + 1] = start[i] + members(dice_bits(d, 1), n, elements + start[i]);
    }
    weights(d, start[GROUPS], amount);
    weights(d, GROUPS, weight);
    if (dice_below(d, 2)) {
        return submod_fn_groups(
            n,
            &(submod_groups){
                .count = GROUPS, .start = start, .elements = elements, .weight = weight},
            &(submod_concave){
                .kind = (submod_concave_kind)(SUBMOD_CONCAVE_ALL_OR_NOTHING + dice_below(d, 4))},
            fn);
    }
    return submod_fn_groups(n,
                            &(submod_groups){.count = GROUPS,
                                             .start = start,
                                             .elements = elements,
                                             .amount = dice_below(d, 2) ? amount : NULL,
                                             .weight = weight},
                            &(submod_concave){.kind = (submod_concave_kind)dice_below(d, 4),
                                              .parameter = (1 + (double)dice_below(d, 256)) / 256},
                            fn);
}

/* A concave table: slopes that do not rise. */
static submod_status cardinality(dice *d, size_t n, submod_fn **fn)
{
    double h[TREES_MOST + 1] = {0};
    numbers kind = weight_kind(d);
    double slope = dice_real(d, kind);
    for (size_t k = 1; k <= n; k++) {
        h[k] = h[k - 1] + slope;
        slope -= fabs(dice_real(d, kind));
    }
    return submod_fn_concave(
        n, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = n + 1, .g = h}, fn);
}

static submod_status two_counts(dice *d, size_t n, submod_fn **fn)
{
    uint8_t mask[TREES_MOST];
    double weight[TREES_MOST];
    submod_measure measure = dice_below(d, 2) ? submod_jaccard()
                                              : submod_tversky((double)dice_below(d, 4) / 2,
                                                               1 + (double)dice_below(d, 4) / 2);
    weights(d, n, weight);
    for (size_t e = 0; e < n; e++) {
        mask[e] = (uint8_t)dice_below(d, 2);
    }
    return dice_below(d, 2) ? submod_fn_counts(n, mask, weight, &measure, fn)
                            : submod_fn_counts(n, mask, NULL, &measure, fn);
}

static submod_status other(dice *d, size_t n, submod_fn **fn)
{
    double w[4 * TREES_MOST];
    switch (dice_below(d, 4)) {
    case 0: tree_vector(d, weight_kind(d), n, w); return submod_fn_modular(n, w, fn);
    case 1: weights(d, 3 * n, w); return submod_fn_facility(n, 3, w, fn);
    default:
        weights(d, n, w);
        return submod_fn_concave(
            n, w,
            &(submod_concave){.kind = (submod_concave_kind)dice_below(d, 4),
                              .parameter = (1 + (double)dice_below(d, 256)) / 256},
            fn);
    }
}

/* The largest |F|; Inf if the library refuses a value. */
static double largest_value(const submod_fn *fn)
{
    int32_t set[TREES_MOST];
    double largest = 0;
    for (size_t mask = 0; fn && mask < (size_t)1 << submod_fn_size(fn); mask++) {
        double value = 0;
        size_t k = members(mask, submod_fn_size(fn), set);
        submod_status status = submod_fn_eval(fn, set, k, &value);
        FUZZ_CHECK(status == SUBMOD_OK || submod_last_error()[0], "a status without words");
        FUZZ_CHECK(status != SUBMOD_OK || isfinite(value), "F is %g", value);
        largest = status == SUBMOD_OK ? fmax(largest, fabs(value)) : INFINITY;
    }
    return largest;
}

static tree leaf(dice *d, size_t n)
{
    submod_status (*const made[])(dice *, size_t, submod_fn **) = {cut,         coverage,   groups,
                                                                   cardinality, two_counts, other};
    enum { MADE = sizeof made / sizeof *made };
    size_t which = dice_below(d, MADE + 4);
    submod_fn *fn = NULL;
    if (which >= MADE) { /* as the tests make them, from a seed */
        submod_rng rng;
        submod_rng_seed(&rng, dice_bits(d, 2));
        const family *made_by = &families[dice_below(d, family_count)];
        fn = made_by->make(n, &rng);
        double hidden = strstr(made_by->name, "contract") ? 100 : 0;
        return (tree){fn, largest_value(fn) + hidden};
    }
    submod_status status = made[which](d, n, &fn);
    FUZZ_CHECK((status == SUBMOD_OK) == (fn != NULL), "leaf %zu: status %d", which, (int)status);
    FUZZ_CHECK(fn || submod_last_error()[0], "leaf %zu: status %d without words", which,
               (int)status);
    return (tree){fn, largest_value(fn)};
}

/* ---- combinations ---- */

static tree sum(dice *d, size_t n, int depth)
{
    submod_fn *terms[4] = {NULL};
    double c[4];
    size_t count = 1 + dice_below(d, 4);
    bool all = true, weighted = dice_below(d, 2);
    tree t = {NULL, 0};
    weights(d, count, c);
    for (size_t k = 0; k < count; k++) {
        tree term = tree_make(d, n, depth);
        terms[k] = term.fn;
        t.size += weighted ? c[k] * term.size : term.size;
        all = all && term.fn;
    }
    if (all) {
        (void)combine_sum(terms, weighted ? c : NULL, count, &t.fn);
    }
    for (size_t k = 0; k < count; k++) {
        submod_fn_free(terms[k]);
    }
    return t;
}

static void any_order(dice *d, size_t n, int32_t *order)
{
    submod_rng rng;
    submod_rng_seed(&rng, dice_bits(d, 1));
    random_order(&rng, order, n);
}

/* Restriction or contraction of a larger one. */
static tree minor(dice *d, size_t n, int depth, bool restriction)
{
    int32_t order[TREES_MOST];
    size_t whole = n + dice_below(d, TREES_MOST - n + 1);
    any_order(d, whole, order);
    tree inner = tree_make(d, whole, depth), t = {NULL, 2 * inner.size};
    if (inner.fn && restriction) {
        (void)submod_fn_restrict(inner.fn, order, n, &t.fn);
    } else if (inner.fn) {
        (void)submod_fn_contract(inner.fn, order, whole - n, &t.fn);
    }
    submod_fn_free(inner.fn);
    return t;
}

static tree embedding(dice *d, size_t n, int depth)
{
    int32_t order[TREES_MOST];
    size_t part = 2 + dice_below(d, n - 1);
    any_order(d, n, order);
    tree inner = tree_make(d, part, depth), t = {NULL, inner.size};
    if (inner.fn) {
        (void)combine_embedded(inner.fn, n, order, &t.fn);
    }
    submod_fn_free(inner.fn);
    return t;
}

static tree changed(dice *d, size_t n, int depth, bool scale)
{
    double w[TREES_MOST];
    tree_vector(d, weight_kind(d), n, w);
    tree inner = tree_make(d, n, depth), t = {NULL, inner.size};
    if (inner.fn && scale) {
        t.size *= fabs(w[0]);
        (void)combine_scaled(inner.fn, fabs(w[0]), &t.fn);
    } else if (inner.fn) {
        for (size_t i = 0; i < n; i++) {
            t.size += fabs(w[i]);
        }
        (void)combine_plus(inner.fn, w, &t.fn);
    }
    submod_fn_free(inner.fn);
    return t;
}

/* ---- hostile numbers ---- */

static int32_t any_index(dice *d)
{
    static const int32_t ends[] = {-1, INT32_MIN, INT32_MAX, TREES_MOST, EDGES};
    size_t roll = dice_below(d, 8);
    return roll < 5 ? ends[roll] : (int32_t)dice_bits(d, 4);
}

/* Any start but the last, which says how many elements there are: that is trusted. */
static void spoil_start(dice *d, size_t *start, size_t last)
{
    size_t k = dice_below(d, last + 1);
    start[k] = k == last ? dice_below(d, start[last] + 1) : (size_t)dice_bits(d, 8);
}

static submod_status hostile_sets(dice *d, size_t n, submod_fn **fn)
{
    size_t start[TREES_MOST + 1] = {0};
    int32_t items[2 * TREES_MOST] = {0};
    double weight[TREES_MOST] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t k = 0; k < n; k++) {
        start[k + 1] = 2 * (k + 1);
        items[2 * k] = (int32_t)k;
        items[2 * k + 1] = (int32_t)((k + 1) % n);
    }
    switch (dice_below(d, 3)) {
    case 0: items[dice_below(d, 2 * n)] = any_index(d); break;
    case 1: weight[dice_below(d, n)] = dice_real(d, NUMBERS_ANY); break;
    default: spoil_start(d, start, n);
    }
    switch (dice_below(d, 3)) {
    case 0: return submod_fn_coverage(n, start, items, n, weight, fn);
    case 1:
        return submod_fn_groups(
            n, &(submod_groups){.count = n, .start = start, .elements = items, .weight = weight},
            &(submod_concave){.kind = (submod_concave_kind)dice_bits(d, 1)}, fn);
    default:
        return submod_fn_groups(
            n, &(submod_groups){.count = n, .start = start, .elements = items, .weight = weight},
            &(submod_concave){.kind = (submod_concave_kind)dice_bits(d, 1),
                              .parameter = dice_real(d, NUMBERS_ANY)},
            fn);
    }
}

static submod_status hostile_numbers(dice *d, size_t n, submod_fn **fn)
{
    int32_t tail[TREES_MOST], head[TREES_MOST];
    double w[3 * TREES_MOST + 1];
    for (size_t k = 0; k < n; k++) {
        tail[k] = (int32_t)k;
        head[k] = (int32_t)((k + 1) % n);
    }
    for (size_t k = 0; k < 3 * TREES_MOST + 1; k++) {
        w[k] = dice_once_in(d, 8) ? dice_real(d, NUMBERS_ANY) : 1;
    }
    switch (dice_below(d, 5)) {
    case 0:
        (dice_below(d, 2) ? tail : head)[dice_below(d, n)] = any_index(d);
        return submod_fn_cut(n, n, tail, head, w, (int)dice_below(d, 2), fn);
    case 1:
        return submod_fn_concave(
            n, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = n + 1, .g = w}, fn);
    case 2: return submod_fn_modular(n, w, fn);
    case 3: return submod_fn_facility(n, 3, w, fn);
    default:
        return submod_fn_concave(n, w,
                                 &(submod_concave){.kind = (submod_concave_kind)dice_bits(d, 1),
                                                   .parameter = dice_real(d, NUMBERS_ANY)},
                                 fn);
    }
}

/* Of a good function of n elements. */
static submod_status hostile_minor(dice *d, size_t n, submod_fn **fn)
{
    int32_t chosen[TREES_MOST];
    double h[TREES_MOST + 1];
    submod_fn *inner = NULL;
    for (size_t k = 0; k <= n; k++) {
        h[k] = sqrt((double)k);
    }
    members(SIZE_MAX, n, chosen);
    chosen[dice_below(d, n)] = any_index(d);
    FUZZ_CHECK(
        submod_fn_concave(n, NULL,
                          &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = n + 1, .g = h},
                          &inner) == SUBMOD_OK,
        "no square root");
    submod_status status;
    switch (dice_below(d, 4)) {
    case 0: status = submod_fn_restrict(inner, chosen, 1 + dice_below(d, n), fn); break;
    case 1: status = submod_fn_contract(inner, chosen, dice_below(d, n), fn); break;
    case 2: status = combine_embedded(inner, n + dice_below(d, 2), chosen, fn); break;
    default: status = combine_scaled(inner, dice_real(d, NUMBERS_ANY), fn);
    }
    submod_fn_free(inner);
    return status;
}

void tree_try_hostile(dice *d, size_t n)
{
    submod_status (*const made[])(dice *, size_t, submod_fn **) = {hostile_sets, hostile_numbers,
                                                                   hostile_minor};
    size_t which = dice_below(d, 3);
    submod_fn *fn = NULL;
    submod_status status = made[which](d, n, &fn);
    FUZZ_CHECK((status == SUBMOD_OK) == (fn != NULL), "hostile %zu: status %d", which, (int)status);
    FUZZ_CHECK(fn || submod_last_error()[0], "hostile %zu: status %d without words", which,
               (int)status);
    if (fn && submod_fn_size(fn) <= TREES_MOST) {
        (void)largest_value(fn);
    }
    submod_fn_free(fn);
}

static void show(const tree *t, int depth)
{
    fprintf(stderr, "depth %d: %s, size %g:", depth, submod_fn_name(t->fn), t->size);
    for (size_t mask = 0; mask < (size_t)1 << submod_fn_size(t->fn); mask++) {
        int32_t set[TREES_MOST];
        double value = NAN;
        (void)submod_fn_eval(t->fn, set, members(mask, submod_fn_size(t->fn), set), &value);
        fprintf(stderr, " %.9g", value);
    }
    fprintf(stderr, "\n");
}

tree tree_make(dice *d, size_t n, int depth)
{
    tree t;
    switch (dice_below(d, depth ? 9 : 1)) {
    case 1:
    case 2: t = sum(d, n, depth - 1); break;
    case 3: t = minor(d, n, depth - 1, true); break;
    case 4: t = minor(d, n, depth - 1, false); break;
    case 5: t = embedding(d, n, depth - 1); break;
    case 6: t = changed(d, n, depth - 1, false); break;
    case 7: t = changed(d, n, depth - 1, true); break;
    default: t = leaf(d, n);
    }
    FUZZ_CHECK(!t.fn || submod_fn_size(t.fn) == n, "%zu elements, not %zu", submod_fn_size(t.fn),
               n);
    if (t.fn && fuzz_shows()) {
        show(&t, depth);
    }
    t.size += DBL_MIN; /* below it numbers have fewer digits */
    return t;
}

/* ---- values ---- */

/* By pushes, from the first element to the last. */
static void check_chain(const tree *t, const double *F)
{
    size_t n = submod_fn_size(t->fn);
    int32_t order[TREES_MOST];
    double gains[TREES_MOST], value = 0;
    members(SIZE_MAX, n, order);
    if (submod_fn_chain(t->fn, order, n, gains, NULL) != SUBMOD_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        value += gains[i];
        FUZZ_CHECK(fuzz_near(value, F[((size_t)2 << i) - 1], 1e-9 * t->size),
                   "%s: %zu gains add up to %.17g, F is %.17g", submod_fn_name(t->fn), i + 1, value,
                   F[((size_t)2 << i) - 1]);
    }
}

bool tree_values(const tree *t, double *F)
{
    int32_t set[TREES_MOST];
    if (!(t->size <= DBL_MAX / 1024)) {
        return false;
    }
    for (size_t mask = 0; mask < (size_t)1 << submod_fn_size(t->fn); mask++) {
        size_t k = members(mask, submod_fn_size(t->fn), set);
        submod_status status = submod_fn_eval(t->fn, set, k, &F[mask]);
        FUZZ_CHECK(status == SUBMOD_OK, "F has no value, but its parts have");
        F[mask] -= mask ? F[0] : 0;
    }
    F[0] = 0;
    check_chain(t, F);
    return true;
}

double tree_base_rounding(const tree *t, submod_prox_method method, const double *x, double lambda)
{
    bool on_x = method == SUBMOD_PROX_SUM || method == SUBMOD_PROX_CHAIN;
    double largest = on_x ? max_abs(x, submod_fn_size(t->fn)) : 0;
    return 1e-9 * t->size + 64 * DBL_EPSILON * lambda * largest;
}
