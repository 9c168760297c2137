/* Weighted coverage and facility location, as custom set functions. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <submod/select.h>

#include "checks.h"

static submod_status check_size(const char *caller, size_t n, submod_fn **fn)
{
    TRY(check_given(caller, "fn, the address for the result,", fn));
    if (n == 0 || n > INT32_MAX) {
        return submod_fail(SUBMOD_EINVAL, "%s: n = %zu must be in [1, 2^31 - 1]", caller, n);
    }
    return SUBMOD_OK;
}

static submod_status check_nonnegative(const char *caller, const char *name, const double *x,
                                       size_t n)
{
    TRY(n ? check_given(caller, name, x) : SUBMOD_OK);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return submod_fail(SUBMOD_ENONFINITE, "%s: %s[%zu] is %g; it must be finite", caller,
                               name, i, isnan(x[i]) ? (double)NAN : x[i]);
        }
        if (x[i] < 0) {
            return submod_fail(SUBMOD_EINVAL, "%s: %s[%zu] = %g must be >= 0", caller, name, i,
                               x[i]);
        }
    }
    return SUBMOD_OK;
}

/* ---- coverage ----
 *
 * With d(e) items covered by e: gain O(d(e)); chain by gains; eval O(m + sum of d). State: one byte
 * per item.
 */

typedef struct coverage {
    size_t m;
    double *weight; /* m */
    size_t *start;  /* n + 1 */
    int32_t *items; /* start[n] of them, each at most once per element */
} coverage;

static submod_status coverage_reset(const void *ctx, void *state)
{
    const coverage *c = ctx;
    memset(state, 0, c->m);
    return SUBMOD_OK;
}

static submod_status coverage_gain(const void *ctx, void *state, int32_t e, double *gain)
{
    const coverage *c = ctx;
    const uint8_t *covered = state;
    double sum = 0;
    for (size_t i = c->start[e]; i < c->start[e + 1]; i++) {
        sum += covered[c->items[i]] ? 0 : c->weight[c->items[i]];
    }
    *gain = sum;
    return SUBMOD_OK;
}

static submod_status coverage_chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                                    double *gains)
{
    const coverage *c = ctx;
    uint8_t *covered = state;
    for (size_t j = 0; j < k; j++) {
        int32_t e = elements[j];
        coverage_gain(ctx, state, e, &gains[j]);
        for (size_t i = c->start[e]; i < c->start[e + 1]; i++) {
            covered[c->items[i]] = 1;
        }
    }
    return SUBMOD_OK;
}

static submod_status coverage_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const coverage *c = ctx;
    uint8_t few[4096]; /* no allocation for small functions */
    uint8_t *covered = c->m <= sizeof few ? few : submod_alloc(c->m, 1);
    if (!covered) {
        return SUBMOD_ENOMEM;
    }
    coverage_reset(ctx, covered);
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        double gain;
        coverage_chain(ctx, covered, &set[i], 1, &gain);
        sum += gain;
    }
    *value = sum;
    if (covered != few) {
        submod_free(covered);
    }
    return SUBMOD_OK;
}

static void coverage_destroy(void *ctx)
{
    coverage *c = ctx;
    submod_free(c->weight);
    submod_free(c->start);
    submod_free(c->items);
    submod_free(c);
}

static submod_status check_lists(const char *caller, size_t n, const size_t *start,
                                 const int32_t *items, size_t m)
{
    TRY(check_given(caller, "start", start));
    if (start[0] != 0) {
        return submod_fail(SUBMOD_EINVAL, "%s: start[0] = %zu must be 0", caller, start[0]);
    }
    for (size_t e = 0; e < n; e++) {
        if (start[e + 1] < start[e]) {
            return submod_fail(SUBMOD_EINVAL, "%s: start[%zu] = %zu must be >= start[%zu] = %zu",
                               caller, e + 1, start[e + 1], e, start[e]);
        }
    }
    TRY(start[n] ? check_given(caller, "items", items) : SUBMOD_OK);
    for (size_t i = 0; i < start[n]; i++) {
        TRY(check_index(caller, "items", i, items[i], m));
    }
    return SUBMOD_OK;
}

/* Copies the lists without an element's repeated items; last: scratch for m numbers. */
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

static coverage *new_coverage(size_t n, size_t m, size_t entries)
{
    coverage *c = submod_alloc(1, sizeof *c);
    if (!c) {
        return NULL;
    }
    *c = (coverage){.m = m,
                    .weight = submod_alloc(m, sizeof *c->weight),
                    .start = submod_alloc(n + 1, sizeof *c->start),
                    .items = submod_alloc(entries, sizeof *c->items)};
    if (!c->weight || !c->start || !c->items) {
        coverage_destroy(c);
        return NULL;
    }
    return c;
}

/* Makes the handle, which owns ctx; frees ctx on failure. */
static submod_status make(size_t n, const submod_fn_ops *ops, void *ctx, submod_fn **fn)
{
    submod_status status = submod_fn_custom(n, ops, ctx, fn);
    if (status != SUBMOD_OK) {
        ops->destroy(ctx);
    }
    return status;
}

submod_status submod_fn_coverage(size_t n, const size_t *start, const int32_t *items, size_t m,
                                 const double *weight, submod_fn **fn)
{
    static const char caller[] = "submod_fn_coverage";
    TRY(check_size(caller, n, fn));
    if (m > INT32_MAX) {
        return submod_fail(SUBMOD_EINVAL, "%s: m = %zu must be at most 2^31 - 1", caller, m);
    }
    TRY(check_lists(caller, n, start, items, m));
    TRY(check_nonnegative(caller, "weight", weight, m));
    size_t *last = submod_alloc(m, sizeof *last);
    coverage *c = last ? new_coverage(n, m, start[n]) : NULL;
    if (c) {
        for (size_t i = 0; i < m; i++) {
            c->weight[i] = weight[i];
        }
        copy_lists(c, n, start, items, last);
    }
    submod_free(last);
    const submod_fn_ops ops = {.name = "coverage",
                               .eval = coverage_eval,
                               .state_size = m,
                               .reset = coverage_reset,
                               .chain = coverage_chain,
                               .gain = coverage_gain,
                               .destroy = coverage_destroy};
    return c ? make(n, &ops, c, fn) : out_of_memory(caller);
}

/* ---- facility location ----
 *
 * gain O(m); chain by gains; eval O(m k). State: the largest benefit of each client so far. The
 * matrix is kept with one contiguous column per element.
 */

/* The loops, for one instruction set. Sums have a fixed order, so their bits are the same. */
typedef struct facility_loops {
    double (*excess)(const double *a, const double *b, size_t n);
    void (*raise)(double *best, const double *column, size_t n);
} facility_loops;

typedef struct facility {
    size_t m;
    const facility_loops *loops;
    double benefit[]; /* benefit[e * m .. e * m + m - 1] are those of element e */
} facility;

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* Entry i goes to lane i % LANES; lanes are added in halves, which registers of any width can do,
 * and the last entries one after the other. */
enum { LANES = 32 };

/* Returns the sum of max(0, a - b). */
INLINE double excess(const double *a, const double *b, size_t n)
{
    double lane[LANES] = {0};
    double rest = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            lane[l] += a[i + l] > b[i + l] ? a[i + l] - b[i + l] : 0;
        }
    }
    for (size_t half = LANES / 2; half > 0; half /= 2) {
        for (size_t l = 0; l < half; l++) {
            lane[l] += lane[l + half];
        }
    }
    for (; i < n; i++) {
        rest += a[i] > b[i] ? a[i] - b[i] : 0;
    }
    return lane[0] + rest;
}

INLINE void raise(double *restrict best, const double *restrict column, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        best[i] = column[i] > best[i] ? column[i] : best[i];
    }
}

#define LOOPS(isa, attribute) \
    attribute static double excess_##isa(const double *a, const double *b, size_t n) \
    { \
        return excess(a, b, n); \
    } \
    attribute static void raise_##isa(double *best, const double *column, size_t n) \
    { \
        raise(best, column, n); \
    } \
    static const facility_loops loops_##isa = {excess_##isa, raise_##isa};

LOOPS(baseline, )
#if defined(__GNUC__) && defined(__x86_64__)
LOOPS(avx2, __attribute__((target("avx2"))))
LOOPS(avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#endif

/* Returns the loops for the instruction set that libsubmod uses. */
static const facility_loops *choose_loops(void)
{
#if defined(__GNUC__) && defined(__x86_64__)
    if (strcmp(submod_isa(), "avx512") == 0) {
        return &loops_avx512;
    }
    if (strcmp(submod_isa(), "avx2") == 0) {
        return &loops_avx2;
    }
#endif
    return &loops_baseline;
}

static submod_status facility_reset(const void *ctx, void *state)
{
    const facility *f = ctx;
    memset(state, 0, f->m * sizeof(double));
    return SUBMOD_OK;
}

static submod_status facility_gain(const void *ctx, void *state, int32_t e, double *gain)
{
    const facility *f = ctx;
    *gain = f->loops->excess(f->benefit + (size_t)e * f->m, state, f->m);
    return SUBMOD_OK;
}

static submod_status facility_chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                                    double *gains)
{
    const facility *f = ctx;
    for (size_t j = 0; j < k; j++) {
        facility_gain(ctx, state, elements[j], &gains[j]);
        f->loops->raise(state, f->benefit + (size_t)elements[j] * f->m, f->m);
    }
    return SUBMOD_OK;
}

/* Takes the clients in groups whose best benefits fit on the stack. */
static submod_status facility_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    enum { GROUP = 256 };
    const facility *f = ctx;
    double sum = 0;
    for (size_t first = 0; first < f->m; first += GROUP) {
        size_t count = f->m - first < GROUP ? f->m - first : GROUP;
        double best[GROUP] = {0};
        for (size_t i = 0; i < k; i++) {
            f->loops->raise(best, f->benefit + (size_t)set[i] * f->m + first, count);
        }
        for (size_t i = 0; i < count; i++) {
            sum += best[i];
        }
    }
    *value = sum;
    return SUBMOD_OK;
}

submod_status submod_fn_facility(size_t n, size_t m, const double *benefit, submod_fn **fn)
{
    static const char caller[] = "submod_fn_facility";
    TRY(check_size(caller, n, fn));
    TRY(m ? check_given(caller, "benefit", benefit) : SUBMOD_OK);
    if (m > (SIZE_MAX - sizeof(facility)) / sizeof(double) / n) {
        return out_of_memory(caller);
    }
    TRY(check_nonnegative(caller, "benefit", benefit, m * n));
    facility *f = submod_alloc(sizeof *f + m * n * sizeof(double), 1);
    if (!f) {
        return out_of_memory(caller);
    }
    f->m = m;
    f->loops = choose_loops();
    for (size_t i = 0; i < m; i++) {
        for (size_t e = 0; e < n; e++) {
            f->benefit[e * m + i] = benefit[i * n + e];
        }
    }
    const submod_fn_ops ops = {.name = "facility",
                               .eval = facility_eval,
                               .state_size = m * sizeof(double),
                               .reset = facility_reset,
                               .chain = facility_chain,
                               .gain = facility_gain,
                               .destroy = submod_free};
    return make(n, &ops, f, fn);
}
