/* What the proxes of functions of two counts share: sorted lists, and sums over the result (see
 * two_kinds.h). All O(n). */
#include "prox/two_counts/two_kinds.h"

#include <math.h>

#include "base/internal.h"

void submodi_mask_fill(const uint8_t *foreground, size_t n, uint32_t *mask)
{
    memset(mask, 0, submodi_mask_words(n) * sizeof *mask);
    for (size_t i = 0; i < n; i++) {
        mask[i / 32] |= (uint32_t)(foreground[i] != 0) << i % 32;
    }
}

submodi_point_list submodi_sorted_points(const submodi_two_kinds_problem *p,
                                         const submodi_sorted *sorted, size_t count)
{
    double *value = (void *)sorted->spare;
#pragma omp parallel for num_threads(submodi_threads_for(count))
    for (size_t rank = 0; rank < count; rank++) {
        value[rank] = p->x[submodi_sorted_index(sorted, rank)];
    }
    return (submodi_point_list){.value = value, .count = count};
}

bool submodi_sum_pixels(const submodi_two_kinds_problem *p, const submodi_sorted *sorted,
                        submodi_point_list *list, submod_work *w)
{
    double *before = submodi_take(w, list->count + 1, sizeof *before);
    if (!before) {
        return false;
    }
    before[0] = 0;
    for (size_t rank = 0; rank < list->count; rank++) {
        before[rank + 1] = before[rank] + p->multiplicity[submodi_sorted_index(sorted, rank)];
    }
    list->before = before;
    return true;
}

submod_status submodi_require_range(const submodi_two_kinds_problem *p, double low, double high)
{
    double pixels = (double)p->n;
    for (size_t i = 0; p->multiplicity && i < p->n; i++) {
        pixels += p->multiplicity[i];
    }
    double sum = 2 * pixels * fmax(fabs(high), fabs(low));
    return isfinite(sum) && isfinite(1 / p->lambda) && isfinite(p->lambda * pixels * (high - low))
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "%s: x from %g to %g with lambda = %g overflows double precision",
                              p->who, low, high, p->lambda);
}

submodi_origin submodi_origin_of(const submodi_sorted *sorted)
{
    return (submodi_origin){sorted->record, (UINT64_C(1) << sorted->index_bits) - 1};
}

static void add_sums(submodi_pair_sums *to, const submodi_pair_sums *more)
{
    to->distance += more->distance;
    to->residual += more->residual;
    to->terms += more->terms;
    to->beyond += more->beyond;
}

/* The sums of a part of the pixels; point i goes to lane i % LANES, as in sums_loops.c. */
static submodi_pair_sums sum_part(const submodi_two_kinds_problem *p, const submodi_prox_pair *pair,
                                  size_t begin, size_t end)
{
    enum { LANES = 4, KINDS = 4 };
    const double lambda = p->lambda;
    const double per_lambda = 1 / lambda;
    double sum[KINDS][LANES] = {{0}};
    for (size_t i = begin; i < end; i += LANES) {
        size_t lanes = end - i < LANES ? end - i : LANES;
        double u[LANES] = {0};
        double s[LANES] = {0};
        double x[LANES] = {0};
        double pixels[LANES] = {1, 1, 1, 1};
        for (size_t k = 0; k < lanes; k++) {
            u[k] = pair[i + k].u;
            s[k] = pair[i + k].s;
            x[k] = p->x[i + k];
            pixels[k] = p->multiplicity ? p->multiplicity[i + k] : 1;
        }
        for (size_t k = 0; k < LANES; k++) {
            double dual = s[k] * per_lambda;
            double step = u[k] - x[k];
            double miss = step + dual;
            sum[0][k] += pixels[k] * (lambda * step * step);
            sum[1][k] += pixels[k] * (lambda * miss * miss);
            sum[2][k] += pixels[k] * (lambda * x[k] * x[k] + dual * s[k]);
            sum[3][k] += pixels[k] * (s[k] * ((u[k] > 0 ? u[k] : 0) - u[k]));
        }
    }
    double total[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        total[k] = (sum[k][0] + sum[k][2]) + (sum[k][1] + sum[k][3]);
    }
    return (submodi_pair_sums){total[0], total[1], total[2], total[3]};
}

/* Parts do not depend on the number of threads. */
submodi_pair_sums submodi_sum_pairs(const submodi_two_kinds_problem *p,
                                    const submodi_prox_pair *pair)
{
    enum { PARTS = 64 };
    submodi_pair_sums part[PARTS];
#pragma omp parallel for num_threads(submodi_threads_for(p->n))
    for (size_t t = 0; t < PARTS; t++) {
        part[t] = sum_part(p, pair, p->n * t / PARTS, p->n * (t + 1) / PARTS);
    }
    for (size_t t = 1; t < PARTS; t++) {
        add_sums(&part[0], &part[t]);
    }
    if (p->form != SUBMODI_U_HINGE) {
        part[0].beyond = 0;
    }
    return part[0];
}

bool submodi_extension_finite(const submodi_extension *f)
{
    return isfinite(f->value) && isfinite(f->excess) && isfinite(f->sums.distance) &&
           isfinite(f->sums.residual) && isfinite(f->sums.beyond);
}

void submodi_pairs_out(const submodi_prox_pair *pair, size_t n, double *u, double *s)
{
#pragma omp parallel for num_threads(submodi_threads_for(n)) if (u && s)
    for (size_t i = 0; i < n; i++) {
        if (u) {
            u[i] = pair[i].u;
        }
        if (s) {
            s[i] = pair[i].s;
        }
    }
}
