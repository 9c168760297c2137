/* Components of ties: sets of elements of one level that a function does not separate.
 *
 * Let C be a level, S all elements before it, and G(A) = F(S + A) - F(S) for A within C. A subset A
 * separates if G(A) + G(C \ A) = G(C). These subsets form a lattice with complements, whose atoms
 * are the components. For a sum of submodular functions, the two sides differ by the sum of the
 * terms' differences, which are all >= 0. So A separates in the sum if and only if it separates in
 * every term, and joining the components of all terms in one forest gives those of the sum.
 *
 * A function without its own `join` is treated as separating a level completely if its gains show
 * that G is modular, and else not at all. */
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
        for (size_t i = 1; !modular && i < k; i++) {
            submodi_forest_join(forest, level[0], level[i]);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_fn_join(const submod_fn *fn, const submodi_ties *ties, int32_t *forest,
                              submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = SUBMOD_OK;
    if (!fn->modular) {
        status = fn->join ? fn->join(fn->ctx, ties, forest, w) : join_by_gains(fn, ties, forest, w);
    }
    submodi_scope_close(&scope);
    return status;
}
