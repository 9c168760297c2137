/* Sums over groups of elements: F(A) = sum of weight_i g(amount of A in group i), as a sum of
 * embedded functions, so that solvers see the parts.
 *
 * Costs are those of a sum with lists from elements to groups (sum.c): push, gain O(groups of the
 * element). Without amounts, groups of equal size share one table.
 */
#include "submod/functions/groups.h"

#include <string.h>

#include "base/internal.h"
#include "submod/functions/cardinality.h"

static size_t size_of(const submodi_groups *g, size_t i)
{
    return g->start[i + 1] - g->start[i];
}

/* ---- checks ---- */

/* last: scratch, n numbers. */
static submod_status find_twice(const submodi_groups *g, size_t *last)
{
    memset(last, 0, g->n * sizeof *last);
    for (size_t i = 0; i < g->m; i++) {
        for (size_t j = g->start[i]; j < g->start[i + 1]; j++) {
            int32_t e = g->elements[j];
            if (last[e] == i + 1) {
                return submodi_fail(
                    SUBMOD_EINVAL, "%s: %s[%zu] = %d occurs twice in list %zu, which begins at %zu",
                    g->who, g->elements_as, j, (int)e, i, g->start[i]);
            }
            last[e] = i + 1;
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_require_groups(const submodi_groups *g, submod_fn **fn)
{
    submod_status status = submodi_require_size(g->who, g->n, fn);
    status = status ? status : submodi_require_given(g->who, "start", g->start);
    if (status == SUBMOD_OK) {
        status = submodi_require_lists(g->who, g->m, g->start, g->elements_as, g->elements, g->n);
    }
    if (status == SUBMOD_OK && g->weight) {
        status = submodi_require_nonnegative(g->who, "weight", g->weight, g->m);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t *last = submodi_alloc(g->n, sizeof *last);
    status = last ? find_twice(g, last) : submodi_nomem(g->who);
    submodi_free(last);
    return status;
}

/* ---- the sum ---- */

typedef struct builder {
    const submodi_groups *g;
    submod_term *terms; /* their functions are shares of the builder's own */
    size_t count;
    submod_fn **by_size; /* if alike: functions of groups of this size, NULL if none was made */
    size_t largest;      /* group */
} builder;

static void clear(builder *b)
{
    for (size_t i = 0; b->terms && i < b->count; i++) {
        submod_fn_free((submod_fn *)b->terms[i].fn);
    }
    for (size_t k = 0; b->by_size && k <= b->largest; k++) {
        submod_fn_free(b->by_size[k]);
    }
    submodi_free(b->terms);
    submodi_free(b->by_size);
}

static bool allocate(builder *b)
{
    for (size_t i = 0; i < b->g->m; i++) {
        b->largest = size_of(b->g, i) > b->largest ? size_of(b->g, i) : b->largest;
    }
    b->terms = submodi_alloc(b->g->m + 1, sizeof *b->terms);
    b->by_size = submodi_alloc(b->largest + 1, sizeof(submod_fn *));
    for (size_t k = 0; b->by_size && k <= b->largest; k++) {
        b->by_size[k] = NULL;
    }
    return b->terms && b->by_size;
}

/* The function of group i, a share for the caller. */
static submod_status function_of(builder *b, size_t i, submod_fn **fn)
{
    const submodi_groups *g = b->g;
    size_t k = size_of(g, i);
    if (!g->alike) {
        return g->make(g, i, k, fn);
    }
    submod_status status = b->by_size[k] ? SUBMOD_OK : g->make(g, i, k, &b->by_size[k]);
    *fn = status == SUBMOD_OK ? submod_fn_retain(b->by_size[k]) : NULL;
    return status;
}

static submod_status add_group(builder *b, size_t i)
{
    const submodi_groups *g = b->g;
    submod_fn *inside = NULL;
    TRY(function_of(b, i, &inside));
    b->terms[b->count++] =
        (submod_term){inside, g->weight ? g->weight[i] : 1, g->elements + g->start[i]};
    return SUBMOD_OK;
}

submod_status submodi_fn_from_groups(const submodi_groups *g, const char *name, submod_fn **fn)
{
    builder b = {.g = g};
    submod_status status = allocate(&b) ? SUBMOD_OK : submodi_nomem(g->who);
    if (status == SUBMOD_OK && g->along) {
        b.terms[b.count++] = (submod_term){submod_fn_retain(g->along), 1, NULL};
    }
    for (size_t i = 0; status == SUBMOD_OK && i < g->m; i++) {
        status = size_of(g, i) >= g->least ? add_group(&b, i) : SUBMOD_OK;
    }
    status = status ? status : submod_fn_combine(g->n, b.terms, b.count, NULL, fn);
    if (status == SUBMOD_OK) {
        (*fn)->ops.name = name;
    }
    clear(&b);
    return status;
}

/* ---- concave functions of groups ---- */

typedef struct shapes {
    submod_concave_kind kind;
    double parameter;
    const double *amount;
} shapes;

static submod_status of_cardinality(const submodi_groups *g, size_t i, size_t k, submod_fn **fn)
{
    const shapes *s = g->ctx;
    submodi_shape h;
    (void)i;
    submod_status status = submodi_shape_built_in(g->who, s->kind, s->parameter, &h);
    return status ? status : submodi_fn_cardinality(g->who, "cardinality", k, &h, fn);
}

static submod_status of_amounts(const submodi_groups *g, size_t i, size_t k, submod_fn **fn)
{
    const shapes *s = g->ctx;
    return submod_fn_concave(k, s->amount + g->start[i], s->kind, s->parameter, fn);
}

submod_status submod_fn_groups(size_t n, size_t m, const size_t *start, const int32_t *elements,
                               const double *amount, const double *weight, submod_concave_kind kind,
                               double parameter, submod_fn **fn)
{
    static const char who[] = "submod_fn_groups";
    const shapes s = {kind, parameter, amount};
    const submodi_groups g = {.who = who,
                              .n = n,
                              .m = m,
                              .start = start,
                              .elements_as = "elements",
                              .elements = elements,
                              .weight = weight,
                              .make = amount ? of_amounts : of_cardinality,
                              .ctx = &s,
                              .alike = !amount,
                              .least = 1};
    submodi_shape unused;
    submod_status status = submodi_require_groups(&g, fn);
    status = status ? status : submodi_shape_built_in(who, kind, parameter, &unused);
    if (status == SUBMOD_OK && amount) {
        status = submodi_require_nonnegative(who, "amount", amount, start[m]);
    }
    return status ? status : submodi_fn_from_groups(&g, "groups", fn);
}
