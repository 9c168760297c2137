/* Components of ties: the sets that a function does not separate within the levels of a vector.
 *
 * Let C be a level, S all elements before it, and G(A) = F(S + A) - F(S) for A within C. A subset A
 * separates if G(A) + G(C \ A) = G(C). These subsets form a lattice with complements, whose atoms
 * are the components. For a sum of submodular functions the two sides differ by the sum of the
 * terms' differences, none of which is negative. So the components of a sum are those of the union
 * of its terms' components, and joining them all in one forest finds them.
 *
 * Without a `join` of its own, a function separates a level completely if G is modular, which its
 * gains show, and else not at all.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

/* Rounding of a gain, a difference of two values of F. */
enum { EPSILONS = 8 };

/* Where a chain over the levels stands. */
typedef struct level_chain {
    const submod_fn *fn;
    void *state;
    double *gains; /* scratch */
    double value;
    double size; /* the largest |F| so far */
} level_chain;

/* Adds a level to the state. *modular: whether its first gains add up to its value. */
static submod_status add_level(level_chain *c, const int32_t *level, size_t k, bool *modular)
{
    double first = 0;
    double total = 0;
    double terms = 0;
    for (size_t i = 0; k > 1 && i < k; i++) {
        double g = 0;
        TRY(submodi_fn_gain(c->fn, c->state, level[i], &g));
        first += g;
        terms += fabs(g);
    }
    TRY(submodi_fn_chain(c->fn, c->state, level, k, c->gains));
    for (size_t i = 0; i < k; i++) {
        total += c->gains[i];
        c->size = fmax(c->size, fabs(c->value + total));
    }
    c->value += total;
    *modular = fabs(first - total) <= EPSILONS * DBL_EPSILON * (terms + (double)k * c->size);
    return SUBMOD_OK;
}

static submod_status join_by_gains(const submod_fn *fn, const submodi_ties *ties, int32_t *forest,
                                   submod_work *w)
{
    level_chain c = {.fn = fn,
                     .state = submodi_work_alloc(w, submodi_fn_state_size(fn), 1),
                     .gains = submodi_work_alloc(w, fn->n, sizeof *c.gains)};
    TRY(submodi_work_status(w));
    TRY(submodi_fn_reset(fn, c.state));
    for (size_t l = 0; l < ties->count; l++) {
        const int32_t *level = ties->order + ties->start[l];
        size_t k = ties->start[l + 1] - ties->start[l];
        bool modular;
        TRY(add_level(&c, level, k, &modular));
        if (!modular) {
            submodi_forest_join_all(forest, level, k);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_fn_join(const submod_fn *fn, const submodi_ties *ties, int32_t *forest,
                              submod_work *work)
{
    if (fn->modular) {
        return SUBMOD_OK;
    }
    if (fn->join) {
        return fn->join(fn->ctx, ties, forest, work);
    }
    submodi_scope scope;
    submod_status status = join_by_gains(fn, ties, forest, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return status;
}

/* ---- terms of combinations ---- */

/* Ties of a term's function. Arrays are indexed by its elements. */
typedef struct inner_ties {
    uint64_t *key; /* outer level and index of each pair of elements that has a level */
    size_t keys;
    int32_t *order, *level, *outer, *forest;
    size_t *start;
    size_t count;
} inner_ties;

static submod_status allocate(inner_ties *ties, const submodi_term *t, submod_work *w)
{
    size_t n = t->fn->n;
    *ties = (inner_ties){.key = submodi_work_alloc(w, t->count, sizeof *ties->key),
                         .order = submodi_work_alloc(w, n, sizeof *ties->order),
                         .level = submodi_work_alloc(w, n, sizeof *ties->level),
                         .outer = submodi_work_alloc(w, n, sizeof *ties->outer),
                         .forest = submodi_work_alloc(w, n, sizeof *ties->forest),
                         .start = submodi_work_alloc(w, n + 2, sizeof *ties->start)};
    return submodi_work_status(w);
}

static int by_key(const void *a, const void *b)
{
    const uint64_t *p = a;
    const uint64_t *q = b;
    return (*p > *q) - (*p < *q);
}

/* Sorts the pairs by level, without those that have none. */
static void sort_pairs(inner_ties *inner, const submodi_term *t, const submodi_ties *ties)
{
    for (size_t i = 0; i < t->count; i++) {
        int32_t level = ties->level[t->outer ? t->outer[i] : (int32_t)i];
        if (level >= 0) {
            inner->key[inner->keys++] = (uint64_t)level << 32 | i;
        }
    }
    qsort(inner->key, inner->keys, sizeof *inner->key, by_key);
}

/* The base comes first, as a level of its own. */
static void fill_ties(inner_ties *ties, const submodi_term *t)
{
    for (size_t i = 0; i < t->fn->n; i++) {
        ties->level[i] = ties->outer[i] = -1;
    }
    size_t k = 0;
    if (t->nbase) {
        ties->start[ties->count++] = 0;
    }
    for (; k < t->nbase; k++) {
        ties->order[k] = t->base[k];
        ties->level[t->base[k]] = 0;
    }
    for (size_t j = 0; j < ties->keys; j++, k++) {
        if (j == 0 || ties->key[j] >> 32 != ties->key[j - 1] >> 32) {
            ties->start[ties->count++] = k;
        }
        size_t pair = (size_t)(ties->key[j] & UINT32_MAX);
        int32_t e = t->inner ? t->inner[pair] : (int32_t)pair;
        ties->order[k] = e;
        ties->level[e] = (int32_t)ties->count - 1;
        ties->outer[e] = t->outer ? t->outer[pair] : (int32_t)pair;
    }
    ties->start[ties->count] = k;
}

static submod_status join_inside(const submodi_term *t, const submodi_ties *ties, int32_t *forest,
                                 submod_work *w)
{
    inner_ties i;
    TRY(allocate(&i, t, w));
    sort_pairs(&i, t, ties);
    fill_ties(&i, t);
    submodi_ascending(i.forest, t->fn->n);
    TRY(submodi_fn_join(t->fn, &(submodi_ties){i.order, i.start, i.count, i.level}, i.forest, w));
    for (size_t e = 0; e < t->fn->n; e++) {
        int32_t root = submodi_forest_root(i.forest, (int32_t)e);
        if (i.outer[e] >= 0 && root != (int32_t)e) {
            submodi_forest_join(forest, i.outer[e], i.outer[root]);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_term_join(const submodi_term *t, const submodi_ties *ties, int32_t *forest,
                                submod_work *work)
{
    if (!t->outer && !t->inner && !t->nbase) {
        return submodi_fn_join(t->fn, ties, forest, work);
    }
    submodi_scope scope;
    submod_status status = join_inside(t, ties, forest, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return status;
}
