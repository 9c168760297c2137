/* Jaccard loss of a set of mispredicted pixels (paper, Eq. 6), by integer counts.
 *
 *   P pixels in the foreground, a / b mispredicted pixels of the foreground / background:
 *     F(a, b) = (a + b) / (P + b);     P = 0:  F = 1 if b > 0 else 0.
 *   Increments (measures/gain.h), never computed as differences of F:
 *     foreground pixel   1 / (P + b)
 *     background pixel   (P - a) / ((P + b) (P + b + 1));   P = 0:  1 for the first, then 0.
 *
 * eval O(k); push, gain O(1); chain O(k); tied O(k); minimize O(k log k). State: the two counts.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/threads.h"
#include "submod/functions/jaccard.h"
#include "submod/inseparable.h"
#include "submod/measures/gain.h"

typedef struct jaccard {
    int64_t P;
    uint32_t foreground[]; /* one bit per pixel: random look-ups hit the cache more often */
} jaccard;

static inline int64_t is_foreground(const jaccard *j, int32_t e)
{
    return j->foreground[e >> 5] >> (e & 31) & 1;
}

typedef struct counts {
    int64_t a, b;
} counts;

static counts count(const jaccard *j, const int32_t *set, size_t k)
{
    counts c = {0, 0};
    for (size_t i = 0; i < k; i++) {
        c.a += is_foreground(j, set[i]);
    }
    c.b = (int64_t)k - c.a;
    return c;
}

static double value(int64_t P, counts c)
{
    return c.a + c.b == 0 ? 0 : (double)(c.a + c.b) / (double)(P + c.b);
}

/* What each of `more` pixels of one label adds on average after the counts c. */
static double gain_of(const jaccard *j, counts c, int64_t more, bool background)
{
    return submodi_jaccard_gain((double)j->P, (double)c.a, (double)c.b, (double)more, background);
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *result)
{
    const jaccard *j = ctx;
    *result = value(j->P, count(j, set, k));
    return SUBMOD_OK;
}

static submod_status reset(const void *ctx, void *state)
{
    (void)ctx;
    *(counts *)state = (counts){0, 0};
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const jaccard *j = ctx;
    const counts *c = state;
    *result = gain_of(j, *c, 1, !is_foreground(j, e));
    return SUBMOD_OK;
}

static submod_status push(const void *ctx, void *state, int32_t e, double *result)
{
    const jaccard *j = ctx;
    counts *c = state;
    gain(ctx, state, e, result);
    c->a += is_foreground(j, e);
    c->b += !is_foreground(j, e);
    return SUBMOD_OK;
}

/* Algorithm 1 of the paper, but without its differences. There are no branches on the labels: in
 * sorted order they are as good as random. c: the counts before these elements, P + b > 0. Returns
 * the counts after them. */
static counts chain_part(const jaccard *j, counts c, const int32_t *elements, size_t k,
                         double *gains)
{
    int64_t I = j->P - c.a; /* intersection */
    int64_t U = j->P + c.b; /* union */
    for (size_t i = 0; i < k; i++) {
        int64_t fg = is_foreground(j, elements[i]);
        int64_t if_background = fg - 1; /* all bits or none */
        int64_t numerator = fg + (I & if_background);
        int64_t denominator = U * (1 + (U & if_background));
        gains[i] = (double)numerator / (double)denominator;
        I -= fg;
        U += 1 - fg;
    }
    return (counts){j->P - I, U - j->P};
}

/* One part per thread. All parts are counted, then each is chained from the counts before it. */
static counts chain_parallel(const jaccard *j, counts c, const int32_t *elements, size_t k,
                             double *gains, int threads)
{
    enum { MAX_PARTS = 256 };
    counts before[MAX_PARTS + 1] = {c};
    size_t parts = threads < MAX_PARTS ? (size_t)threads : MAX_PARTS;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            size_t begin = k * p / parts;
            before[p + 1] = count(j, elements + begin, k * (p + 1) / parts - begin);
        }
#pragma omp single
        for (size_t p = 0; p < parts; p++) {
            before[p + 1].a += before[p].a;
            before[p + 1].b += before[p].b;
        }
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            size_t begin = k * p / parts;
            chain_part(j, before[p], elements + begin, k * (p + 1) / parts - begin, gains + begin);
        }
    }
    return before[parts];
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    const jaccard *j = ctx;
    counts *c = state;
    if (k && j->P + c->b == 0) { /* no foreground at all: only the first pixel counts */
        push(ctx, state, *elements++, gains++);
        k--;
    }
    int threads = submodi_threads_for(k);
    *c = threads == 1 ? chain_part(j, *c, elements, k, gains)
                      : chain_parallel(j, *c, elements, k, gains, threads);
    return SUBMOD_OK;
}

/* Takes the foreground first, where all increments are equal; then the background, averaged. */
static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    const jaccard *j = ctx;
    counts *c = state;
    counts block = count(j, elements, k);
    double of_foreground = gain_of(j, *c, block.a, false);
    c->a += block.a;
    double of_background = gain_of(j, *c, block.b, true);
    c->b += block.b;
    for (size_t i = 0; i < k; i++) {
        gains[i] = is_foreground(j, elements[i]) ? of_foreground : of_background;
    }
    return SUBMOD_OK;
}

/* ---- minimize ---- */

/* P = 0: F jumps to 1 with the first pixel and stays there. */
static void minimize_without_foreground(bool base_empty, size_t k, const double *z, int largest,
                                        uint8_t *in)
{
    double positive = 0;
    for (size_t i = 0; i < k; i++) {
        positive += fmax(z[i], 0);
    }
    double cost = base_empty ? 1 : 0;
    bool take = largest ? positive >= cost : positive > cost;
    for (size_t i = 0; i < k; i++) {
        in[i] = take && (largest ? z[i] >= 0 : z[i] > 0);
    }
}

/* A minimiser consists of the a largest z of the foreground and the b largest of the background.
 * For given b, a foreground pixel belongs to it iff z > 1 / (P + b). This threshold falls with b,
 * so one sweep over b, with a second pointer over the foreground, finds the best pair. sorted: the
 * order of the block, by descending z. */
static void sweep(const jaccard *j, counts base, const int32_t *block, size_t k, const double *z,
                  const submodi_sorted *sorted, int largest, size_t *best_a, size_t *best_b)
{
    double fg_sum = 0;
    double bg_sum = 0;
    double bg_size = 0; /* sum of |z| */
    size_t a = 0;
    size_t b = 0;
    size_t fg_rank = 0; /* the foreground pixels at ranks below this one are in */
    size_t bg_rank = 0;
    double lowest = INFINITY;
    double side = largest ? 1 : -1; /* ties, up to rounding, go to the larger or smaller set */
    for (;;) {
        double threshold = (1 - side * SUBMODI_ROUNDING) / (double)(j->P + base.b + (int64_t)b);
        for (; fg_rank < k; fg_rank++) {
            int32_t i = submodi_sorted_index(sorted, fg_rank);
            if (is_foreground(j, block[i])) {
                if (z[i] < threshold) {
                    break;
                }
                fg_sum += z[i];
                a++;
            }
        }
        double v =
            value(j->P, (counts){base.a + (int64_t)a, base.b + (int64_t)b}) - fg_sum - bg_sum;
        double margin = side * SUBMODI_ROUNDING * (1 + fabs(fg_sum) + bg_size);
        if (isinf(lowest) || v < lowest + margin) {
            lowest = fmin(lowest, v);
            *best_a = a;
            *best_b = b;
        }
        while (bg_rank < k && is_foreground(j, block[submodi_sorted_index(sorted, bg_rank)])) {
            bg_rank++;
        }
        if (bg_rank == k) {
            return;
        }
        bg_sum += z[submodi_sorted_index(sorted, bg_rank)];
        bg_size += fabs(z[submodi_sorted_index(sorted, bg_rank)]);
        bg_rank++;
        b++;
    }
}

static submod_status minimize(const void *ctx, const int32_t *base, size_t nbase,
                              const int32_t *block, size_t nblock, const double *z, int largest,
                              uint8_t *in)
{
    const jaccard *j = ctx;
    if (j->P == 0) {
        minimize_without_foreground(nbase == 0, nblock, z, largest, in);
        return SUBMOD_OK;
    }
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, NULL);
    submod_status status = nblock ? submodi_sort_f64(z, nblock, w, &sorted) : SUBMOD_OK;
    if (status != SUBMOD_OK) {
        submodi_scope_close(&scope);
        return submodi_nomem("minimize of a jaccard function");
    }
    if (nblock) {
        size_t take[2] = {0, 0}; /* how many of the background, of the foreground */
        sweep(j, count(j, base, nbase), block, nblock, z, &sorted, largest, &take[1], &take[0]);
        for (size_t rank = 0; rank < nblock; rank++) {
            int32_t i = submodi_sorted_index(&sorted, rank);
            size_t *left = &take[is_foreground(j, block[i])];
            in[i] = *left > 0;
            *left -= in[i];
        }
    }
    submodi_scope_close(&scope);
    return SUBMOD_OK;
}

/* After the counts c, with more.a and more.b pixels to come: the foreground alone is modular, and
 * so is the background once nothing of the foreground is left. Any other mixture is one block. */
static bool holds_together(const jaccard *j, counts c, counts more)
{
    bool curved = j->P ? c.a < j->P : c.b == 0;
    return more.b && curved;
}

static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    (void)work;
    const jaccard *j = ctx;
    counts before = {0, 0};
    for (size_t l = 0; l < ties->count; l++) {
        const int32_t *level = ties->order + ties->start[l];
        size_t k = ties->start[l + 1] - ties->start[l];
        counts more = count(j, level, k);
        if (holds_together(j, before, more)) {
            submodi_forest_join_all(forest, level, k);
        }
        before = (counts){before.a + more.a, before.b + more.b};
    }
    return SUBMOD_OK;
}

const uint32_t *submodi_jaccard_mask(const submod_fn *fn)
{
    return fn->ops.eval == eval ? ((const jaccard *)fn->ctx)->foreground : NULL;
}

submod_status submod_fn_jaccard(size_t n, const uint8_t *foreground, submod_fn **fn)
{
    static const char who[] = "submod_fn_jaccard";
    submod_status status = submodi_require_size(who, n, fn);
    status = status ? status : submodi_require_given(who, "foreground", foreground);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t words = n / 32 + 1;
    jaccard *j = submodi_alloc(sizeof *j + words * sizeof *j->foreground, 1);
    if (!j) {
        return submodi_nomem(who);
    }
    j->P = 0;
    memset(j->foreground, 0, words * sizeof *j->foreground);
    for (size_t e = 0; e < n; e++) {
        uint32_t bit = foreground[e] != 0;
        j->foreground[e / 32] |= bit << e % 32;
        j->P += bit;
    }
    submod_fn_ops ops = {.eval = eval,
                         .state_size = sizeof(counts),
                         .reset = reset,
                         .push = push,
                         .gain = gain,
                         .chain = chain,
                         .tied = tied,
                         .minimize = minimize,
                         .destroy = submodi_free};
    submodi_traits traits = {.join = join};
    return submodi_fn_new("jaccard", n, &ops, &traits, j, fn);
}
