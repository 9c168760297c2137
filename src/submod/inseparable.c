/* Inseparable sets within the levels of a vector.
 *
 * Let C be a level, S all that comes before it, and G(A) = F(S + A) - F(S) for A within C. A subset
 * A separates if G(A) + G(C \ A) = G(C). Those subsets form a lattice with complements; its atoms
 * are the blocks. For a sum of submodular functions the difference of both sides is the sum of
 * those of the terms, none of which is below 0. So the blocks of a sum are the components of the
 * union of its terms' blocks, and joining in one forest finds them.
 *
 * For a function that does not say, either G is modular and every element is a block, or the level
 * counts as one. G is modular iff its first gains add up to G(C).
 */
#include "submod/inseparable.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

static const char who[] = "blocks of a function";

/* The rounding of a gain: it is a difference of values of F. */
enum { EPSILONS = 8 };

/* Whether F is modular on a level, given the set before it as state, to which the level is added.
 * *size: the largest |F| so far; gains: room for the level. */
static submod_status is_modular(const submod_fn *fn, void *state, const int32_t *level, size_t k,
                                double *gains, double *value, double *size, bool *modular)
{
    double first = 0;
    double total = 0;
    double terms = 0;
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && k > 1 && i < k; i++) {
        double g = 0;
        status = submodi_fn_gain(fn, state, level[i], &g);
        first += g;
        terms += fabs(g);
    }
    status = status ? status : submodi_fn_chain(fn, state, level, k, gains);
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        total += gains[i];
        *size = fmax(*size, fabs(*value + total));
    }
    *value += total;
    *modular = fabs(first - total) <= EPSILONS * DBL_EPSILON * (terms + (double)k * *size);
    return status;
}

static submod_status join_by_gains(const submod_fn *fn, const submodi_ties *ties, int32_t *forest,
                                   submod_work *w)
{
    void *state = submodi_take(w, submodi_fn_state_size(fn), 1);
    double *gains = submodi_take(w, fn->n, sizeof *gains);
    submod_status status = state && gains ? submodi_fn_reset(fn, state) : submodi_nomem(who);
    double value = 0;
    double size = 0;
    for (size_t l = 0; status == SUBMOD_OK && l < ties->count; l++) {
        const int32_t *level = ties->order + ties->start[l];
        size_t k = ties->start[l + 1] - ties->start[l];
        bool modular;
        status = is_modular(fn, state, level, k, gains, &value, &size, &modular);
        if (status == SUBMOD_OK && !modular) {
            submodi_forest_join_all(forest, level, k);
        }
    }
    return status;
}

submod_status submodi_fn_join(const submod_fn *fn, const submodi_ties *ties, int32_t *forest,
                              submod_work *work)
{
    if (fn->traits.modular) {
        return SUBMOD_OK;
    }
    if (fn->traits.join) {
        return fn->traits.join(fn->ctx, ties, forest, work);
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = join_by_gains(fn, ties, forest, w);
    submodi_scope_close(&scope);
    return status;
}

/* ---- a function inside another ---- */

typedef struct inner_ties {
    uint64_t *key; /* level and place in the list of pairs, one for each that has a level */
    size_t keys;
    int32_t *order, *level, *outer, *forest; /* by element of the function inside */
    size_t *start;
    size_t count;
} inner_ties;

static bool take_ties(inner_ties *t, const submodi_inside *in, submod_work *w)
{
    size_t n = in->fn->n;
    t->key = submodi_take(w, in->count, sizeof *t->key);
    t->order = submodi_take(w, n, sizeof *t->order);
    t->level = submodi_take(w, n, sizeof *t->level);
    t->outer = submodi_take(w, n, sizeof *t->outer);
    t->forest = submodi_take(w, n, sizeof *t->forest);
    t->start = submodi_take(w, n + 2, sizeof *t->start);
    return t->key && t->order && t->level && t->outer && t->forest && t->start;
}

static int by_key(const void *a, const void *b)
{
    const uint64_t *p = a;
    const uint64_t *q = b;
    return (*p > *q) - (*p < *q);
}

/* Sorts the pairs by level; those without one are left out. */
static void sort_pairs(inner_ties *t, const submodi_inside *in, const submodi_ties *ties)
{
    t->keys = 0;
    for (size_t i = 0; i < in->count; i++) {
        int32_t level = ties->level[in->outer ? in->outer[i] : (int32_t)i];
        if (level >= 0) {
            t->key[t->keys++] = (uint64_t)level << 32 | i;
        }
    }
    qsort(t->key, t->keys, sizeof *t->key, by_key);
}

/* Opens the next level at place k of the order. */
static void open_level(inner_ties *t, size_t k)
{
    t->start[t->count++] = k;
}

/* The base comes first, as a level of its own. */
static void fill_ties(inner_ties *t, const submodi_inside *in)
{
    for (size_t i = 0; i < in->fn->n; i++) {
        t->level[i] = t->outer[i] = -1;
    }
    size_t k = 0;
    t->count = 0;
    if (in->nbase) {
        open_level(t, 0);
    }
    for (; k < in->nbase; k++) {
        t->order[k] = in->base[k];
        t->level[in->base[k]] = 0;
    }
    for (size_t j = 0; j < t->keys; j++, k++) {
        if (j == 0 || t->key[j] >> 32 != t->key[j - 1] >> 32) {
            open_level(t, k);
        }
        size_t pair = (size_t)(t->key[j] & UINT32_MAX);
        int32_t e = in->inner ? in->inner[pair] : (int32_t)pair;
        t->order[k] = e;
        t->level[e] = (int32_t)t->count - 1;
        t->outer[e] = in->outer ? in->outer[pair] : (int32_t)pair;
    }
    t->start[t->count] = k;
}

submod_status submodi_fn_join_inside(const submodi_inside *in, const submodi_ties *ties,
                                     int32_t *forest, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    inner_ties t;
    size_t n = in->fn->n;
    submod_status status = take_ties(&t, in, w) ? SUBMOD_OK : submodi_nomem(who);
    if (status == SUBMOD_OK) {
        sort_pairs(&t, in, ties);
        fill_ties(&t, in);
        submodi_ascending(t.forest, n);
        status = submodi_fn_join(in->fn, &(submodi_ties){t.order, t.start, t.count, t.level},
                                 t.forest, w);
    }
    for (size_t e = 0; status == SUBMOD_OK && e < n; e++) {
        int32_t root = submodi_forest_root(t.forest, (int32_t)e);
        if (t.outer[e] >= 0 && root != (int32_t)e) {
            submodi_forest_join(forest, t.outer[e], t.outer[root]);
        }
    }
    submodi_scope_close(&scope);
    return status;
}
