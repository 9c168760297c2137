/* Splits a measure F of two counts into f + g, f submodular and g supermodular.
 *
 * Both hold if each second difference of g, in aa, bb and ab, is at least that of F and at least 0.
 * g(0, 0) = g(1, 0) = g(0, 1) = 0 makes it as small as it can be, and rising.
 *
 * Tversky with 1/2 <= beta < 1: only the difference in aa is above 0, and it is largest at b = 0.
 * So every such g is at least the one that has it there and depends on a alone:
 *
 *     g(a) = F(a, 0) - a F(1, 0) = beta r a (a - 1) / ((P - r a) (P - r)),   r = 1 - beta.
 *
 * Any other F: a scan of all pairs (a, b) for the largest second differences along each line.
 */
#include "submod/losses/parts.h"

#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"

enum { MOST_PAIRS = 1 << 26 };

/* ---- the measure ---- */

static submod_status read_measure(const char *who, const submod_measure *given, submod_measure *m)
{
    *m = submod_measure_tversky(0.5, 0.5);
    submod_status status = submodi_read_settings(who, "submod_measure_tversky", given, m);
    if (status != SUBMOD_OK || m->type != SUBMOD_MEASURE_TVERSKY || !(m->beta < 1)) {
        return status ? status : submodi_read_measure(who, "measure", given, m);
    }
    if (!(m->beta >= 1e-12)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: measure.beta = %g must be from 1e-12 to 1e12", who,
                            m->beta);
    }
    submod_measure other = submod_measure_tversky(m->alpha, 1); /* alpha is checked as ever */
    return submodi_read_measure(who, "measure", &other, &other);
}

/* ---- by formula ---- */

static void split_tversky(submodi_parts *parts)
{
    double P = (double)parts->P;
    double rest = 1 - parts->measure.beta;
    for (size_t a = 2; a <= parts->P; a++) {
        double x = (double)a;
        parts->A[a] = parts->measure.beta * rest * x * (x - 1) / ((P - rest * x) * (P - rest));
    }
}

/* ---- by a scan ---- */

/* F(a, 0 .. N). counts: room for 2 (N + 1) numbers. */
static submod_status fill_row(const char *who, const submodi_parts *parts, size_t a, double *counts,
                              double *row)
{
    const submod_measure *m = &parts->measure;
    double P = (double)parts->P;
    double N = (double)parts->N;
    size_t width = parts->N + 1;
    for (size_t b = 0; b < width; b++) {
        counts[b] = (double)a;
        counts[width + b] = (double)b;
    }
    if (m->type == SUBMOD_MEASURE_CUSTOM) {
        submodi_measure_failure failure;
        return submodi_measure_values(m, 1, width, counts, counts + width, P, N, row, &failure)
                   ? SUBMOD_OK
                   : submodi_measure_failed(who, &failure);
    }
    for (size_t b = 0; b < width; b++) {
        row[b] = submodi_measure_value(m, (double)a, (double)b, P, N);
    }
    return SUBMOD_OK;
}

/* x if it is above 0 by more than rounding of numbers of this size. */
static double above_rounding(double x, double size)
{
    return x > 8 * DBL_EPSILON * size ? x : 0;
}

/* With rows a - 2, a - 1 and a of F: the largest second difference in aa that ends at a, to A[a].
 */
static void scan_down(submodi_parts *parts, size_t a, double *const row[3])
{
    for (size_t b = 0; b <= parts->N; b++) {
        double size = fabs(row[0][b]) + 2 * fabs(row[1][b]) + fabs(row[2][b]);
        double second = row[2][b] - 2 * row[1][b] + row[0][b];
        parts->A[a] = fmax(parts->A[a], above_rounding(second, size));
    }
}

/* The same in bb, to B[b], of row a, and in ab, to c, of row a and the one before it. */
static void scan_across(submodi_parts *parts, size_t a, const double *before, const double *row)
{
    for (size_t b = 1; b <= parts->N; b++) {
        double size = fabs(row[b]) + 2 * fabs(row[b - 1]);
        if (b > 1) {
            double second = row[b] - 2 * row[b - 1] + row[b - 2];
            parts->B[b] = fmax(parts->B[b], above_rounding(second, size + fabs(row[b - 2])));
        }
        if (a > 0) {
            double mixed = (row[b] - row[b - 1]) - (before[b] - before[b - 1]);
            size += fabs(before[b]) + fabs(before[b - 1]);
            parts->c = fmax(parts->c, above_rounding(mixed, size));
        }
    }
}

/* Second differences become sums of sums. */
static void add_up_twice(double *x, size_t last)
{
    double slope = 0;
    for (size_t i = 2; i <= last; i++) {
        slope += x[i];
        x[i] = x[i - 1] + slope;
    }
}

static submod_status scan(const char *who, submodi_parts *parts, submod_work *work)
{
    size_t width = parts->N + 1;
    double *row[3];
    double *counts = submodi_take(work, submodi_times(5, width), sizeof *counts);
    if (!counts) {
        return submodi_nomem(who);
    }
    for (size_t r = 0; r < 3; r++) {
        row[r] = counts + (2 + r) * width;
    }
    for (size_t a = 0; a <= parts->P; a++) {
        double *oldest = row[0];
        row[0] = row[1];
        row[1] = row[2];
        row[2] = oldest;
        submod_status status = fill_row(who, parts, a, counts, row[2]);
        if (status != SUBMOD_OK) {
            return status;
        }
        if (a > 1) {
            scan_down(parts, a, row);
        }
        scan_across(parts, a, row[1], row[2]);
    }
    add_up_twice(parts->A, parts->P);
    add_up_twice(parts->B, parts->N);
    parts->foreground_only = parts->c == 0 && (parts->N == 0 || parts->B[parts->N] == 0);
    return SUBMOD_OK;
}

submod_status submodi_parts_make(submodi_parts *parts, const char *who,
                                 const submod_measure *measure, size_t P, size_t N,
                                 submod_work *work)
{
    *parts = (submodi_parts){.P = P, .N = N, .foreground_only = true};
    submod_status status = read_measure(who, measure, &parts->measure);
    if (status != SUBMOD_OK) {
        return status;
    }
    const submod_measure *m = &parts->measure;
    bool submodular = m->type != SUBMOD_MEASURE_CUSTOM &&
                      (m->type != SUBMOD_MEASURE_TVERSKY || m->beta >= 1 || P == 0);
    bool known = submodular || (m->type == SUBMOD_MEASURE_TVERSKY && m->beta >= 0.5);
    if (!known && submodi_times(P + 1, N + 1) > MOST_PAIRS) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "%s: %zu x %zu pairs of counts are too many to look for the parts of "
                            "this measure; at most 2^26",
                            who, P + 1, N + 1);
    }
    parts->A = submodi_take(work, P + 1, sizeof *parts->A);
    parts->B = submodi_take(work, N + 1, sizeof *parts->B);
    if (!parts->A || !parts->B) {
        return submodi_nomem(who);
    }
    memset(parts->A, 0, (P + 1) * sizeof *parts->A);
    memset(parts->B, 0, (N + 1) * sizeof *parts->B);
    if (known && !submodular) {
        split_tversky(parts);
    }
    return known ? SUBMOD_OK : scan(who, parts, work);
}

/* ---- values ---- */

static double gain_of_F(const submodi_parts *parts, double a, double b, double t, bool background)
{
    const submod_measure *m = &parts->measure;
    double P = (double)parts->P;
    double N = (double)parts->N;
    if (m->type != SUBMOD_MEASURE_CUSTOM) {
        return submodi_form_gain(submodi_form_of(m), P, N, a, b, t, background);
    }
    double after = submodi_measure_value(m, background ? a : a + t, background ? b + t : b, P, N);
    return (after - submodi_measure_value(m, a, b, P, N)) / t;
}

double submodi_parts_gain(const submodi_parts *parts, size_t a, size_t b, size_t t, bool background)
{
    double of_g = background ? (parts->B[b + t] - parts->B[b]) / (double)t + parts->c * (double)a
                             : (parts->A[a + t] - parts->A[a]) / (double)t + parts->c * (double)b;
    return gain_of_F(parts, (double)a, (double)b, (double)t, background) - of_g;
}
