/* The prox of a measure up to delta, without a sort: O(p + K log K) for K bins.
 *
 * Every x is moved to x', the middle of its bin, by at most half a bin. The prox is isotone:
 * raising entries of x lowers none of u. And adding a constant to x adds it to u. So if
 * |x - x'| <= e in all entries, then |u - u'| <= e in all entries. All pixels of one bin and label
 * have the same u', the prox of one weighted point.
 *
 * The error is measured: the largest |x - x'| there was, plus the rounding of u' to float. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "prox/two_counts/two_counts_prox.h"
#include "submod/measure_internal.h"

/* Number of partial sums. It is fixed, so results do not depend on the number of threads. */
enum { PARTS = 64 };

typedef struct bins {
    const char *who;
    size_t n;
    const float *x;
    const uint8_t *foreground;
    const submod_measure *measure;
    double lambda;
    double low, width;
    double largest; /* |u| <= this */
    size_t bins;
    int threads;
    uint32_t *count; /* bins x {background, foreground}: pixels, later the number of the point */
    /* one point per bin and label that has pixels */
    size_t points;
    double *value;
    submodi_prox_pair *pair;
    float *rounded; /* u rounded to float, as returned */
    double *multiplicity;
    uint32_t *mask;
} bins;

static size_t slot_of(const bins *h, size_t i)
{
    size_t bin = (size_t)(((double)h->x[i] - h->low) / h->width);
    bin = bin < h->bins ? bin : h->bins - 1;
    return 2 * bin + (h->foreground[i] != 0);
}

/* F of one pixel, of the kind where it is larger. */
static submod_status largest_gain(const bins *h, double P, double N, double *most)
{
    submodi_increment rise;
    double of_fg = 0;
    double of_bg = 0;
    submod_status status = submodi_increment_from(h->measure, P, N, 0, 0, &rise);
    if (status == SUBMOD_OK && P > 0) {
        status = submodi_increment_by(&rise, 1, 0, &of_fg);
    }
    if (status == SUBMOD_OK && N > 0) {
        status = submodi_increment_by(&rise, 0, 1, &of_bg);
    }
    *most = fmax(fabs(of_fg), fabs(of_bg));
    return status;
}

/* Finds the range of x and a bound on |u|: no s is larger than F of one pixel. Refuses NaN and
 * Inf. */
static submod_status find_range(bins *h, double *high)
{
    submod_status status = submodi_require_finite_f32(h->who, "x", h->x, h->n);
    if (status != SUBMOD_OK) {
        return status;
    }
    float lo = FLT_MAX;
    float hi = -FLT_MAX;
    size_t P = 0;
#pragma omp simd reduction(min : lo) reduction(max : hi) reduction(+ : P)
    for (size_t i = 0; i < h->n; i++) {
        lo = h->x[i] < lo ? h->x[i] : lo;
        hi = h->x[i] > hi ? h->x[i] : hi;
        P += h->foreground[i] != 0;
    }
    h->low = h->n ? (double)lo : 0;
    *high = h->n ? (double)hi : 0;
    double most;
    status = largest_gain(h, (double)P, (double)(h->n - P), &most);
    h->largest = fmax(fabs(h->low), fabs(*high)) + most / h->lambda;
    return status;
}

/* Chooses as many bins as delta needs, with room for rounding: of u to float, and in slot_of, which
 * moves an edge by less than 2^-20 of a bin. If rounding u takes more than half of delta, the bins
 * use half of delta, and the measured error may exceed delta. */
static submod_status choose_bins(bins *h, double delta)
{
    double high = 0;
    submod_status status = find_range(h, &high);
    if (status != SUBMOD_OK) {
        return status;
    }
    h->width = 2 * (1 - 0x1p-20) * fmax(delta - 0x1p-24 * h->largest, delta / 2);
    double wanted = floor((high - h->low) / h->width) + 1;
    if (!(wanted <= (double)SUBMOD_PROX_BINS_MAX)) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "%s: x from %g to %g with delta = %g needs %g bins, more than %d: "
                            "use a larger delta or the exact prox",
                            h->who, h->low, high, delta, wanted, SUBMOD_PROX_BINS_MAX);
    }
    h->bins = (size_t)wanted;
    /* No wider than the range needs: a large delta must not move x far out of its range. */
    h->width = high > h->low ? (high - h->low) / wanted : DBL_MIN;
    return SUBMOD_OK;
}

/* Counts the pixels of each slot. Each thread counts its share in a table of its own. */
static submod_status count_pixels(bins *h, submod_work *w)
{
    size_t slots = 2 * h->bins;
    /* With many slots, adding up several tables would dominate. */
    size_t tables = slots <= h->n / 8 ? (size_t)h->threads : 1;
    h->count = submodi_take(w, slots * tables, sizeof *h->count);
    if (!h->count) {
        return submodi_nomem(h->who);
    }
    memset(h->count, 0, slots * tables * sizeof *h->count);
#pragma omp parallel for num_threads((int)tables)
    for (size_t t = 0; t < tables; t++) {
        uint32_t *mine = h->count + t * slots;
        for (size_t i = h->n * t / tables; i < h->n * (t + 1) / tables; i++) {
            mine[slot_of(h, i)]++;
        }
    }
    h->points = 0;
    for (size_t k = 0; k < slots; k++) {
        for (size_t t = 1; t < tables; t++) {
            h->count[k] += h->count[t * slots + k];
        }
        h->points += h->count[k] > 0;
    }
    return SUBMOD_OK;
}

static bool take_points(bins *h, submod_work *w)
{
    h->value = submodi_take(w, h->points, sizeof *h->value);
    h->pair = submodi_take(w, h->points, sizeof *h->pair);
    h->rounded = submodi_take(w, h->points, sizeof *h->rounded);
    h->multiplicity = submodi_take(w, h->points, sizeof *h->multiplicity);
    h->mask = submodi_take(w, submodi_mask_words(h->points), sizeof *h->mask);
    return h->value && h->pair && h->rounded && h->multiplicity && h->mask;
}

/* Makes a point of each slot that has pixels. count then holds the number of the point. */
static void make_points(bins *h)
{
    memset(h->mask, 0, submodi_mask_words(h->points) * sizeof *h->mask);
    size_t point = 0;
    for (size_t k = 0; k < 2 * h->bins; k++) {
        size_t bin = k / 2;
        if (h->count[k]) {
            h->value[point] = h->low + ((double)bin + 0.5) * h->width;
            h->multiplicity[point] = h->count[k];
            h->mask[point / 32] |= (uint32_t)(k & 1) << point % 32;
            h->count[k] = (uint32_t)point++;
        }
    }
}

/* Sums and a maximum over pixels. */
typedef struct sums {
    double distance, miss; /* |u - x|^2, |u - x + s / lambda|^2 */
    double moved;          /* largest |x - x'| */
} sums;

static sums sum_part(const bins *h, size_t begin, size_t end)
{
    sums part = {0, 0, 0};
    for (size_t i = begin; i < end; i++) {
        size_t point = h->count[slot_of(h, i)];
        double step = (double)h->rounded[point] - (double)h->x[i];
        double miss = step + h->pair[point].s / h->lambda;
        part.distance += step * step;
        part.miss += miss * miss;
        part.moved = fmax(part.moved, fabs((double)h->x[i] - h->value[point]));
    }
    return part;
}

static sums sum_pixels(const bins *h)
{
    sums part[PARTS];
    sums total = {0, 0, 0};
#pragma omp parallel for num_threads(h->threads)
    for (size_t t = 0; t < PARTS; t++) {
        part[t] = sum_part(h, h->n * t / PARTS, h->n * (t + 1) / PARTS);
    }
    for (size_t t = 0; t < PARTS; t++) {
        total.distance += part[t].distance;
        total.miss += part[t].miss;
        total.moved = fmax(total.moved, part[t].moved);
    }
    return total;
}

/* Rounds u to float; returns the largest change. */
static double round_points(bins *h)
{
    double largest = 0;
    for (size_t k = 0; k < h->points; k++) {
        h->rounded[k] = (float)h->pair[k].u;
        double change = fabs(h->pair[k].u - (double)h->rounded[k]);
        largest = change > largest ? change : largest; /* fmax here breaks gcc 12 for ARM */
    }
    return largest;
}

static submod_status solve(bins *h, submod_prox_info *info, double *error, submod_work *w)
{
    submod_status status = count_pixels(h, w);
    if (status == SUBMOD_OK && !take_points(h, w)) {
        status = submodi_nomem(h->who);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    make_points(h);
    submodi_extension f = {0};
    submodi_two_kinds_problem p = {.who = h->who,
                                   .n = h->points,
                                   .x = h->value,
                                   .mask = h->mask,
                                   .multiplicity = h->multiplicity,
                                   .measure = h->measure,
                                   .lambda = h->lambda,
                                   .form = SUBMODI_U_FLOAT};
    status = submodi_two_counts_prox(&p, h->pair, &f, info, w);
    if (status != SUBMOD_OK) {
        return status;
    }
    double rounding = round_points(h);
    sums total = sum_pixels(h);
    *error = total.moved + rounding;
    info->error = *error;
    info->primal = f.value + h->lambda / 2 * total.distance;
    info->gap = f.excess + h->lambda / 2 * total.miss;
    info->dual = info->primal - info->gap;
    return isfinite(info->primal) && isfinite(*error)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: u or the objective overflows", h->who);
}

static void write_pixels(const bins *h, float *u)
{
#pragma omp parallel for num_threads(h->threads)
    for (size_t i = 0; i < h->n; i++) {
        u[i] = h->rounded[h->count[slot_of(h, i)]];
    }
}

static submod_status require_arguments(const bins *h, double delta)
{
    if (h->n > INT32_MAX || (h->n && (!h->x || !h->foreground))) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: x and foreground must not be NULL, n must be <= 2^31 - 1", h->who);
    }
    if (!(delta > 0 && isfinite(delta))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: delta = %g must be finite and > 0", h->who, delta);
    }
    return submodi_require_positive(h->who, "lambda", h->lambda);
}

static submod_status run(bins *h, double delta, double start, float *u, double *error,
                         submod_prox_info *info, submod_work *work)
{
    submod_status status = require_arguments(h, delta);
    status = status ? status : choose_bins(h, delta);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_prox_info found = {0};
    double guaranteed = 0;
    status = solve(h, &found, &guaranteed, w);
    if (status == SUBMOD_OK) {
        if (u) {
            write_pixels(h, u);
        }
        found.seconds = submodi_seconds() - start;
        submodi_copy_out(error, &guaranteed, 1, sizeof *error);
        submodi_copy_out(info, &found, 1, sizeof *info);
        status = guaranteed <= delta ? SUBMOD_OK : SUBMOD_INACCURATE;
    }
    submodi_scope_close(&scope);
    return status;
}

submod_status submod_prox_jaccard_histogram(size_t n, const float *x, const uint8_t *foreground,
                                            double lambda, double delta, float *u, double *error,
                                            submod_prox_info *info, submod_work *work)
{
    double start = submodi_seconds();
    submod_measure jaccard = submod_jaccard();
    bins h = {.who = "submod_prox_jaccard_histogram",
              .n = n,
              .x = x,
              .foreground = foreground,
              .measure = &jaccard,
              .lambda = lambda,
              .threads = submodi_threads_for(n)};
    return run(&h, delta, start, u, error, info, work);
}

submod_status submod_prox_two_counts_histogram(size_t n, const float *x, const uint8_t *foreground,
                                               const submod_measure *measure, double lambda,
                                               double delta, float *u, double *error,
                                               submod_prox_info *info, submod_work *work)
{
    double start = submodi_seconds();
    submod_measure m;
    bins h = {.who = "submod_prox_two_counts_histogram",
              .n = n,
              .x = x,
              .foreground = foreground,
              .measure = &m,
              .lambda = lambda,
              .threads = submodi_threads_for(n)};
    submod_status status = submodi_read_measure("measure", measure, &m);
    return status ? status : run(&h, delta, start, u, error, info, work);
}
