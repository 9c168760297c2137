/* Weighted coverage: element e covers a list of items; F(A) = weight of the items covered by A.
 *
 * With d(e) items covered by e: push, gain O(d(e)); chain by push; eval O(m + sum of d).
 * State: one byte per item.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/handle.h"

typedef struct coverage {
    size_t m;
    double *weight; /* m */
    size_t *start;  /* n + 1 */
    int32_t *items; /* start[n] of them, each at most once per element */
} coverage;

static submod_status reset(const void *ctx, void *state)
{
    const coverage *c = ctx;
    memset(state, 0, c->m);
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const coverage *c = ctx;
    const uint8_t *covered = state;
    double sum = 0;
    for (size_t i = c->start[e]; i < c->start[e + 1]; i++) {
        sum += covered[c->items[i]] ? 0 : c->weight[c->items[i]];
    }
    *result = sum;
    return SUBMOD_OK;
}

static submod_status push(const void *ctx, void *state, int32_t e, double *result)
{
    const coverage *c = ctx;
    uint8_t *covered = state;
    gain(ctx, state, e, result);
    for (size_t i = c->start[e]; i < c->start[e + 1]; i++) {
        covered[c->items[i]] = 1;
    }
    return SUBMOD_OK;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const coverage *c = ctx;
    uint8_t *covered = submodi_alloc(c->m, 1);
    if (!covered) {
        return submodi_nomem("eval of a coverage function");
    }
    reset(ctx, covered);
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        double more;
        push(ctx, covered, set[i], &more);
        sum += more;
    }
    *value = sum;
    submodi_free(covered);
    return SUBMOD_OK;
}

static void destroy(void *ctx)
{
    coverage *c = ctx;
    submodi_free(c->weight);
    submodi_free(c->start);
    submodi_free(c->items);
    submodi_free(c);
}

static coverage *allocate(size_t n, size_t m, size_t entries)
{
    coverage *c = submodi_alloc(1, sizeof *c);
    if (!c) {
        return NULL;
    }
    c->m = m;
    c->weight = submodi_alloc(m, sizeof *c->weight);
    c->start = submodi_alloc(n + 1, sizeof *c->start);
    c->items = submodi_alloc(entries, sizeof *c->items);
    if (!c->weight || !c->start || !c->items) {
        destroy(c);
        return NULL;
    }
    return c;
}

/* Copies the lists without an element's repeated items; last is scratch, m numbers. */
static void copy_lists(coverage *c, size_t n, const size_t *start, const int32_t *items,
                       size_t *last)
{
    memset(last, 0, c->m * sizeof *last);
    size_t next = 0;
    for (size_t e = 0; e < n; e++) {
        c->start[e] = next;
        for (size_t i = start[e]; i < start[e + 1]; i++) {
            if (last[items[i]] != e + 1) {
                last[items[i]] = e + 1;
                c->items[next++] = items[i];
            }
        }
    }
    c->start[n] = next;
}

submod_status submod_fn_coverage(size_t n, const size_t *start, const int32_t *items, size_t m,
                                 const double *weight, submod_fn **fn)
{
    static const char who[] = "submod_fn_coverage";
    submod_status status = submodi_require_size(who, n, fn);
    status = status ? status : submodi_require_given(who, "start", start);
    status = status || !m ? status : submodi_require_given(who, "weight", weight);
    if (status == SUBMOD_OK && m > INT32_MAX) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: m = %zu must be at most 2^31 - 1", who, m);
    }
    status = status ? status : submodi_require_lists(who, n, start, "items", items, m);
    status = status ? status : submodi_require_nonnegative(who, "weight", weight, m);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t *last = submodi_alloc(m, sizeof *last);
    coverage *c = last ? allocate(n, m, start[n]) : NULL;
    if (!c) {
        submodi_free(last);
        return submodi_nomem(who);
    }
    if (m) {
        memcpy(c->weight, weight, m * sizeof *weight);
    }
    copy_lists(c, n, start, items, last);
    submodi_free(last);
    submod_fn_ops ops = {.eval = eval,
                         .state_size = m,
                         .reset = reset,
                         .push = push,
                         .gain = gain,
                         .destroy = destroy};
    return submodi_fn_new("coverage", n, &ops, NULL, c, fn);
}
