/* A piece of the prox, and the set that splits it (kernel_prox.h): of all sets between its ends,
 * (the i top bins of the foreground, the j top bins of the background), the one where
 *
 *     M(i, j) = F - lambda sum of (Y - alpha)
 *
 * is lowest. In every row j of M the lowest place i is looked for.
 *
 * Jaccard: it is known, foreground with Y > alpha + 1 / (lambda (P + b)); the lanes take the rows.
 *
 * Other measures: a second difference of F in a and b is <= 0, and so is that of M, a Monge matrix:
 * the lowest places of its rows ascend (src/submod/monge.c has the same on the CPU).
 * Once every other row is done, one between two is looked at between their places alone. A halving
 * of the stride costs I + J values of M at most, all of them (I + J) log2 J; a lane takes a short
 * row, all lanes together a long one. Until a piece is written to the table, the entries of its
 * background bins have the places of its rows.
 *
 * M is rounded. If i was taken for row j', a row j < j' is looked at up to i alone; should its
 * lowest place be i' > i, then
 *     M(i, j) - M(i', j) <= M(i, j') - M(i', j')
 * which is no more than two roundings hid in row j'; likewise for rows above it. So a halving adds
 * two roundings of a value to what the search can miss, 40 at most in all. */
#ifndef SUBMODI_GPU_KERNEL_PROX_SEARCH_H
#define SUBMODI_GPU_KERNEL_PROX_SEARCH_H

#include "gpu/block.h"
#include "loss/tensors/float_bits.h"
#include "submod/measure_internal.h"

/* Of the r top bins of a label: pixels and sum of Y, for r = 0 .. K. */
typedef struct submodi_gpu_tops {
    double *pixels, *sum;
} submodi_gpu_tops;

typedef struct submodi_gpu_prox {
    uint32_t K;
    bool hinge;
    submodi_form measure;
    double P, N, lambda; /* lambda in units of the grid */
    double given_lambda; /* as it is */
    submodi_gpu_tops foreground, background;
    float *table; /* 2 K entries: background, then foreground, both from the lowest bin on */
} submodi_gpu_prox;

/* A set of the chain: so many top bins of foreground and background. */
typedef struct submodi_gpu_set {
    uint32_t i, j;
} submodi_gpu_set;

SUBMODI_DEVICE double submodi_gpu_sum_of(const submodi_gpu_prox *p, submodi_gpu_set s)
{
    return p->foreground.sum[s.i] + p->background.sum[s.j];
}

/* The pixels between two sets, if all of them are at one level. */
typedef struct submodi_gpu_piece {
    submodi_gpu_set from, to;
    double a, b;                 /* pixels of `from` */
    submodi_form_increment rise; /* F less that of `from` */
    double pixels;
    double sum;       /* of Y, of `from` */
    double ref;       /* a whole number near the mean of Y */
    double level;     /* alpha - ref */
    double tolerance; /* rounding of what is compared with 0 */
} submodi_gpu_piece;

/* Where M is about 0, and so no term of it larger than those here, it is rounded by a few 2^-53 of
 * what F and the level are made of. */
SUBMODI_DEVICE submodi_gpu_piece submodi_gpu_piece_of(const submodi_gpu_prox *p,
                                                      submodi_gpu_set from, submodi_gpu_set to)
{
    submodi_gpu_piece s;
    s.from = from;
    s.to = to;
    s.a = p->foreground.pixels[from.i];
    s.b = p->background.pixels[from.j];
    s.rise = submodi_form_increment_from(p->measure, p->P, p->N, s.a, s.b);
    double f = p->foreground.pixels[to.i] - s.a;
    double g = p->background.pixels[to.j] - s.b;
    s.pixels = f + g;
    s.sum = submodi_gpu_sum_of(p, from);
    double sum = submodi_gpu_sum_of(p, to) - s.sum;
    s.ref = s.pixels > 0 ? floor(sum / s.pixels) : 0;
    double rest = sum - s.ref * s.pixels; /* exact */
    double gain = submodi_form_increment_by(&s.rise, f, g);
    s.level = s.pixels > 0 ? (rest - gain / p->lambda) / s.pixels : 0;
    s.tolerance = 0x1p-48 * (gain + p->lambda * rest);
    return s;
}

/* M of a set between the ends, against `from`. */
SUBMODI_DEVICE double submodi_gpu_gain(const submodi_gpu_prox *p, const submodi_gpu_piece *s,
                                       submodi_gpu_set t)
{
    double f = p->foreground.pixels[t.i] - s->a;
    double g = p->background.pixels[t.j] - s->b;
    double pixels = f + g;
    double sum = submodi_gpu_sum_of(p, t) - s->sum - s->ref * pixels;
    bool inside = pixels > 0 && pixels < s->pixels;
    return inside
               ? submodi_form_increment_by(&s->rise, f, g) - p->lambda * (sum - s->level * pixels)
               : 0;
}

/* ---- the lowest of several ---- */

typedef struct submodi_gpu_lowest {
    double value;
    double at;
} submodi_gpu_lowest;

/* That of all lanes, the first of several. All lanes get `at`, lane 0 the value too. */
SUBMODI_DEVICE submodi_gpu_lowest submodi_gpu_lowest_of_warp(submodi_gpu_lowest x)
{
    for (uint32_t half = SUBMODI_WARP / 2; half > 0; half /= 2) {
        submodi_gpu_lowest other;
        other.value = submodi_shuffle_down(x.value, half);
        other.at = submodi_shuffle_down(x.at, half);
        if (other.value < x.value || (other.value == x.value && other.at < x.at)) {
            x = other;
        }
    }
    x.at = (double)submodi_shuffle_first((uint64_t)x.at);
    return x;
}

SUBMODI_DEVICE void submodi_gpu_keep_lower(submodi_gpu_lowest *best, double value, double at)
{
    if (value < best->value) {
        best->value = value;
        best->at = at;
    }
}

/* ---- Jaccard ---- */

/* The best set with j bins of background. */
SUBMODI_DEVICE submodi_gpu_set submodi_gpu_best_with(const submodi_gpu_prox *p,
                                                     const submodi_gpu_piece *s, uint32_t j)
{
    double U = p->P + p->background.pixels[j];
    double threshold = s->ref + s->level + (U > 0 ? 1 / (p->lambda * U) : 0);
    double bins = ceil(p->K - (threshold + 1) / 2); /* Y of rank r is 2 (K - r) - 1 */
    submodi_gpu_set t;
    t.i = bins <= s->from.i ? s->from.i : bins >= s->to.i ? s->to.i : (uint32_t)bins;
    t.j = j;
    return t;
}

SUBMODI_DEVICE void submodi_gpu_try_rows(const submodi_gpu_prox *p, const submodi_gpu_piece *s,
                                         submodi_gpu_lowest *best)
{
    for (uint32_t j = s->from.j + submodi_lane(); j <= s->to.j; j += SUBMODI_WARP) {
        submodi_gpu_keep_lower(best, submodi_gpu_gain(p, s, submodi_gpu_best_with(p, s, j)), j);
    }
}

/* ---- other measures ---- */

/* The place of row j, kept as the bits of a float; j is below that of the last row. */
SUBMODI_DEVICE uint32_t submodi_gpu_place_of(const submodi_gpu_prox *p, uint32_t j)
{
    return submodi_to_bits(p->table[p->K - 1 - j]);
}

/* Keeps it, and the row if it is lower than those before. */
SUBMODI_DEVICE void submodi_gpu_keep_row(const submodi_gpu_prox *p, uint32_t j,
                                         submodi_gpu_lowest x, submodi_gpu_lowest *best)
{
    p->table[p->K - 1 - j] = submodi_from_bits((uint32_t)x.at);
    submodi_gpu_keep_lower(best, x.value, j);
}

/* Row j, looked at between two places. */
typedef struct submodi_gpu_look {
    uint32_t j, first, last;
} submodi_gpu_look;

enum { SUBMODI_GPU_SHORT_LOOK = 8 };

SUBMODI_DEVICE bool submodi_gpu_is_long(const submodi_gpu_look *r)
{
    return r->last - r->first >= SUBMODI_GPU_SHORT_LOOK;
}

/* Row number k of those at this stride. `last`: the place of the last row. */
SUBMODI_DEVICE submodi_gpu_look submodi_gpu_look_at(const submodi_gpu_prox *p,
                                                    const submodi_gpu_piece *s, uint32_t k,
                                                    uint32_t stride, uint32_t last)
{
    uint32_t rank = stride * (2 * k + 1); /* the first row has rank 1, the last one no rank */
    submodi_gpu_look r;
    r.j = s->from.j + rank - 1;
    r.first = rank == stride ? s->from.i : submodi_gpu_place_of(p, r.j - stride);
    r.last = s->to.j - r.j > stride ? submodi_gpu_place_of(p, r.j + stride) : last;
    return r;
}

/* The lowest of every so-manieth place of a row, from `skip` after its first one on. */
SUBMODI_DEVICE submodi_gpu_lowest submodi_gpu_scan(const submodi_gpu_prox *p,
                                                   const submodi_gpu_piece *s,
                                                   const submodi_gpu_look *r, uint32_t skip,
                                                   uint32_t step)
{
    submodi_gpu_lowest x;
    x.value = INFINITY;
    x.at = r->first;
    submodi_gpu_set t;
    t.j = r->j;
    for (t.i = r->first + skip; t.i <= r->last; t.i += step) {
        submodi_gpu_keep_lower(&x, submodi_gpu_gain(p, s, t), t.i);
    }
    return x;
}

/* For all lanes: up to 32 rows at this stride, from number k on. */
SUBMODI_DEVICE void submodi_gpu_search_some(const submodi_gpu_prox *p, const submodi_gpu_piece *s,
                                            uint32_t k, uint32_t count, uint32_t stride,
                                            uint32_t last, submodi_gpu_lowest *best)
{
    submodi_gpu_look r;
    submodi_gpu_lowest x;
    bool is_long = false;
    if (k + submodi_lane() < count) {
        r = submodi_gpu_look_at(p, s, k + submodi_lane(), stride, last);
        is_long = submodi_gpu_is_long(&r);
        if (!is_long) {
            x = submodi_gpu_scan(p, s, &r, 0, 1);
            submodi_gpu_keep_row(p, r.j, x, best);
        }
    }
    for (uint32_t left = submodi_ballot(is_long); left; left /= 2, k++) {
        if (left % 2) {
            r = submodi_gpu_look_at(p, s, k, stride, last);
            x = submodi_gpu_lowest_of_warp(
                submodi_gpu_scan(p, s, &r, submodi_lane(), SUBMODI_WARP));
            if (submodi_lane() == 0) {
                submodi_gpu_keep_row(p, r.j, x, best);
            }
        }
    }
}

/* All rows, the last one first. Returns its place. */
SUBMODI_DEVICE uint32_t submodi_gpu_search_rows(const submodi_gpu_prox *p,
                                                const submodi_gpu_piece *s,
                                                submodi_gpu_lowest *best)
{
    submodi_gpu_look r;
    r.j = s->to.j;
    r.first = s->from.i;
    r.last = s->to.i;
    submodi_gpu_lowest x =
        submodi_gpu_lowest_of_warp(submodi_gpu_scan(p, s, &r, submodi_lane(), SUBMODI_WARP));
    if (submodi_lane() == 0) {
        submodi_gpu_keep_lower(best, x.value, r.j);
    }
    uint32_t rows = s->to.j - s->from.j; /* others */
    uint32_t stride = 1;
    while (stride <= rows / 2) {
        stride *= 2;
    }
    for (; stride > 0; stride /= 2) {
        uint32_t count = (rows / stride + 1) / 2;
        for (uint32_t k = 0; k < count; k += SUBMODI_WARP) {
            submodi_gpu_search_some(p, s, k, count, stride, (uint32_t)x.at, best);
        }
        SUBMODI_WARP_BARRIER(); /* the places have been written */
    }
    return (uint32_t)x.at;
}

/* ---- the split ---- */

/* The set between the ends with the lowest M below 0; `from` if there is none. All lanes of the
 * warp get it. */
SUBMODI_DEVICE submodi_gpu_set submodi_gpu_split(const submodi_gpu_prox *p,
                                                 const submodi_gpu_piece *s)
{
    const double none = 0x1p32;
    submodi_gpu_lowest best;
    best.value = -s->tolerance;
    best.at = none;
    if (p->measure.type == SUBMOD_MEASURE_JACCARD) {
        submodi_gpu_try_rows(p, s, &best);
        best = submodi_gpu_lowest_of_warp(best);
        return best.at < none ? submodi_gpu_best_with(p, s, (uint32_t)best.at) : s->from;
    }
    uint32_t last = submodi_gpu_search_rows(p, s, &best);
    best = submodi_gpu_lowest_of_warp(best);
    submodi_gpu_set t = s->from;
    if (best.at < none) {
        t.j = (uint32_t)best.at;
        t.i = t.j == s->to.j ? last : submodi_gpu_place_of(p, t.j);
    }
    return t;
}

#endif
