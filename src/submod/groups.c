/* Sums over groups of elements: F(A) = sum of weight_i g(amount of A in group i), as a combination
 * of one function for each group, so that solvers see the parts. Without amounts, groups of equal
 * size share one table.
 *
 * Kinds that are 0 where nothing or all of the group is in A are cuts of hypergraphs. For a group
 * of k = 2 or 3 elements the only other value is c = g(1) = g(k - 1), so it is an ordinary edge of
 * weight c or a triangle of edges of weight c / 2. The product is the cut of a clique of edges of
 * weight 1 for any k. Such groups are collected in one ordinary cut. */
#include <string.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

static size_t size_of(const submod_groups *g, size_t i)
{
    return g->start[i + 1] - g->start[i];
}

static double weight_of(const submod_groups *g, size_t i)
{
    return g->weight ? g->weight[i] : 1;
}

static submod_status check_groups(size_t n, const submod_groups *g, submod_fn **fn,
                                  submod_work *work)
{
    TRY(submodi_check_size(n, fn));
    TRY(submodi_check_given("groups", g));
    TRY(submodi_check_given("start", g->start));
    TRY(submodi_check_lists(g->count, g->start, "elements", g->elements, n));
    TRY(g->weight ? submodi_check_all_nonnegative("weight", g->weight, g->count) : SUBMOD_OK);
    if (g->amount) {
        TRY(submodi_check_all_nonnegative("amount", g->amount, g->start[g->count]));
    }
    size_t *last = submodi_work_alloc(work, n, sizeof *last); /* group of each element, from 1 */
    TRY(submodi_work_status(work));
    memset(last, 0, n * sizeof *last);
    for (size_t i = 0; i < g->count; i++) {
        for (size_t j = g->start[i]; j < g->start[i + 1]; j++) {
            size_t *of_element = &last[g->elements[j]];
            if (*of_element == i + 1) {
                return submodi_fail(SUBMOD_EINVAL, "elements[%zu] = %d occurs twice in list %zu", j,
                                    (int)g->elements[j], i);
            }
            *of_element = i + 1;
        }
    }
    return SUBMOD_OK;
}

/* ---- a callback that several functions share ---- */

typedef struct shared_callback {
    submod_concave g;
    atomic_size_t owners;
} shared_callback;

static submod_status shared_value(const void *ctx, double t, double *value)
{
    const shared_callback *shared = ctx;
    return shared->g.value(shared->g.ctx, t, value);
}

static void release_shared(void *ctx)
{
    shared_callback *shared = ctx;
    if (atomic_fetch_sub(&shared->owners, 1) == 1) {
        if (shared->g.destroy) {
            shared->g.destroy(shared->g.ctx);
        }
        submodi_free(shared);
    }
}

/* ---- the sum ---- */

typedef struct group_sum {
    size_t n;
    const submod_groups *g;
    const submod_concave *concave;
    size_t least;            /* groups with fewer elements become ordinary edges */
    double edges;            /* a whole number */
    size_t large;            /* other groups that are not empty */
    size_t largest;          /* group */
    shared_callback *shared; /* of a custom kind, with one share for the sum under construction */
    submod_term *terms;      /* with functions that the sum owns */
    size_t count;
    submod_fn **by_size; /* without amounts: a term's function of groups of this size, or NULL */
} group_sum;

static void count_groups(group_sum *s)
{
    for (size_t i = 0; i < s->g->count; i++) {
        size_t k = size_of(s->g, i);
        s->edges += k < s->least ? 0.5 * (double)k * ((double)k - 1) : 0;
        s->large += k >= s->least && k > 0;
        s->largest = k > s->largest ? k : s->largest;
    }
}

/* The cut of all groups of fewer than `least` elements: cliques of edges of weight g(1) / (k - 1),
 * which is 1 for the product. */
static submod_status cut_of_edges(const group_sum *s, submod_fn **cut, submod_work *work)
{
    const submod_groups *g = s->g;
    int32_t *tail = submodi_work_alloc(work, (size_t)s->edges, sizeof *tail);
    int32_t *head = submodi_work_alloc(work, (size_t)s->edges, sizeof *head);
    double *weight = submodi_work_alloc(work, (size_t)s->edges, sizeof *weight);
    size_t count = 0;
    TRY(submodi_work_status(work));
    for (size_t i = 0; i < g->count; i++) {
        size_t k = size_of(g, i);
        double each = s->concave->kind >= SUBMOD_CONCAVE_PRODUCT ? 1 : 1 / ((double)k - 1);
        for (size_t a = g->start[i]; k < s->least && a < g->start[i + 1]; a++) {
            for (size_t b = a + 1; b < g->start[i + 1]; b++) {
                tail[count] = g->elements[a];
                head[count] = g->elements[b];
                weight[count++] = each * weight_of(g, i);
            }
        }
    }
    return submod_fn_cut(s->n, count, tail, head, weight, 0, cut);
}

static submod_status share_callback(group_sum *s)
{
    s->shared = submodi_alloc(1, sizeof *s->shared);
    if (!s->shared) {
        return submodi_out_of_memory();
    }
    s->shared->g = *s->concave;
    s->shared->g.destroy = NULL; /* until the sum is made, ctx is the caller's */
    atomic_init(&s->shared->owners, 1);
    return SUBMOD_OK;
}

static submod_status new_function(const group_sum *s, size_t i, submod_fn **fn)
{
    const double *amount = s->g->amount ? s->g->amount + s->g->start[i] : NULL;
    submod_concave g = *s->concave;
    if (!s->shared) {
        return submod_fn_concave(size_of(s->g, i), amount, &g, fn);
    }
    g.value = shared_value;
    g.ctx = s->shared;
    g.destroy = release_shared;
    TRY(submod_fn_concave(size_of(s->g, i), amount, &g, fn));
    atomic_fetch_add(&s->shared->owners, 1);
    return SUBMOD_OK;
}

static submod_status add_group(group_sum *s, size_t i)
{
    submod_fn **same = &s->by_size[size_of(s->g, i)], *fn = NULL;
    if (*same) {
        fn = submod_fn_retain(*same);
    } else {
        TRY(new_function(s, i, &fn));
    }
    *same = s->g->amount ? NULL : fn;
    s->terms[s->count++] = (submod_term){fn, weight_of(s->g, i), s->g->elements + s->g->start[i]};
    return SUBMOD_OK;
}

static submod_status combine(group_sum *s, submod_fn **fn, submod_work *work)
{
    count_groups(s);
    if (s->edges > INT32_MAX) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "more than 2^31 - 1 ordinary edges; try SUBMOD_CONCAVE_PRODUCT");
    }
    if (s->least && !s->large) {
        return cut_of_edges(s, fn, work);
    }
    s->terms = submodi_work_alloc(work, s->large + 1, sizeof *s->terms);
    s->by_size = submodi_work_alloc(work, s->largest + 1, sizeof(submod_fn *));
    TRY(submodi_work_status(work));
    memset(s->by_size, 0, (s->largest + 1) * sizeof(submod_fn *));
    TRY(s->concave->kind == SUBMOD_CONCAVE_CUSTOM ? share_callback(s) : SUBMOD_OK);
    if (s->edges > 0) {
        submod_fn *cut = NULL;
        TRY(cut_of_edges(s, &cut, work));
        s->terms[s->count++] = (submod_term){cut, 1, NULL};
    }
    for (size_t i = 0; i < s->g->count; i++) {
        TRY(size_of(s->g, i) && size_of(s->g, i) >= s->least ? add_group(s, i) : SUBMOD_OK);
    }
    TRY(submod_fn_combine(s->n, s->terms, s->count, NULL, fn));
    (*fn)->ops.name = "groups";
    if (s->shared) {
        s->shared->g.destroy = s->concave->destroy;
    }
    return SUBMOD_OK;
}

static submod_status make(size_t n, const submod_groups *groups, const submod_concave *concave,
                          submod_fn **fn, submod_work *work)
{
    TRY(check_groups(n, groups, fn, work));
    TRY(submodi_check_concave(concave, "amount", groups->amount));
    bool clique = concave->kind == SUBMOD_CONCAVE_CLIQUE;
    group_sum s = {.n = n, .g = groups, .concave = concave};
    s.least = clique ? SIZE_MAX : concave->kind >= SUBMOD_CONCAVE_ALL_OR_NOTHING ? 4 : 0;
    submod_status status = combine(&s, fn, work);
    for (size_t i = 0; i < s.count; i++) {
        submod_fn_free((submod_fn *)s.terms[i].fn);
    }
    if (s.shared) {
        release_shared(s.shared);
    }
    return status;
}

submod_status submod_fn_groups(size_t n, const submod_groups *groups, const submod_concave *concave,
                               submod_fn **fn)
{
    submodi_scope scope;
    submod_status status = make(n, groups, concave, fn, submodi_scope_open(&scope, NULL));
    submodi_scope_close(&scope);
    return submodi_return("submod_fn_groups", status);
}
