/* The prox of a hinge layer from counts of margins: O(pixels), and a small problem of at most
 * 2 (K + 1) weighted points whose size does not depend on the pixels.
 *
 * Margins m move to m~ on a grid, by at most e, and those below 0 to 0. What is below 0 has a part
 * in the prox of f(max(m, 0)) by being counted alone: it stays where it is, and f(max(., 0)) of the
 * others does not see it. With s the base of the prox of f at m~,
 *
 *     d = min(s, lambda max(m, 0))
 *
 * takes the place of that of hinge_layer.c. d >= 0 and d(A) <= F(A) hold as there, so d is a
 * feasible dual of the problem that was asked for. Its error: x - prox(x) is nonexpansive in the
 * 2-norm as prox(x) is, and prox(x) is also in the max norm; so |d - d*|_2 <= lambda |m - m~|_2 and
 * |d - d*| <= 2 lambda e in all entries (docs/mathematics.md, section 6). Margins that lie on the
 * grid, such as those of few different scores, are exact. */
#include "dist/margin_counts.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "prox/two_counts/two_counts_prox.h"

/* ---- reading ---- */

static void read_tile(const void *context, const submodi_tile *tile)
{
    const submodi_margins *m = context;
    size_t first = tile->image * m->layer->batch.scores.pixels + tile->first;
    for (size_t i = 0; i < tile->n; i++) {
        double side = submodi_side(tile->codes[i]);
        m->layer->derivative[first + i] = side;
        m->margin[first + i] = 1 - side * (double)tile->v[i];
    }
}

static bool take_memory(submodi_margins *m, submod_work *w)
{
    size_t slots = submodi_margin_slots(m);
    m->pixels = m->layer->batch.scores.batch * m->layer->batch.scores.pixels;
    /* With many slots, adding up several tables would dominate. */
    m->tables = slots <= m->pixels / 8 ? (size_t)m->layer->batch.threads : 1;
    m->margin = submodi_take(w, m->pixels, sizeof *m->margin);
    m->count = submodi_take(w, slots * m->tables, sizeof *m->count);
    return m->margin && m->count;
}

submod_status submodi_margins_read(submodi_margins *m, double *largest, submod_work *w)
{
    const submodi_batch *batch = &m->layer->batch;
    if (!take_memory(m, w)) {
        return submodi_nomem(batch->who);
    }
    if (!submodi_visit(batch, 0, batch->scores.batch, 0, SUBMODI_LABELS | SUBMODI_SCORES, read_tile,
                       m)) {
        return submodi_batch_bad_score(batch);
    }
    double most = 0;
    for (size_t i = 0; i < m->pixels; i++) {
        bool higher = m->layer->derivative[i] != 0 && m->margin[i] > most;
        most = higher ? m->margin[i] : most;
    }
    *largest = most;
    return SUBMOD_OK;
}

/* ---- counting ---- */

/* The grid point next to a margin. */
static size_t place_of(const submodi_margins *m, double margin)
{
    return margin > 0 ? (size_t)rint(margin / m->step) : 0;
}

static size_t slot_of(const submodi_margins *m, size_t i)
{
    return 2 * place_of(m, m->margin[i]) + (m->layer->derivative[i] > 0);
}

/* h: the power of two that lets K steps of it reach the largest margin; 1 / K when none is above 0.
 * Dividing by it is exact. */
static double step_for(double largest, size_t K)
{
    int exponent = 1;
    bool whole = largest <= 0 || frexp(largest, &exponent) == 0.5;
    return ldexp(1, whole ? exponent - 1 : exponent) / (double)K;
}

static void count_part(const submodi_margins *m, size_t begin, size_t end, int32_t *count)
{
    memset(count, 0, submodi_margin_slots(m) * sizeof *count);
    for (size_t i = begin; i < end; i++) {
        if (m->layer->derivative[i] != 0) {
            count[slot_of(m, i)]++;
        }
    }
}

void submodi_margins_count(submodi_margins *m, double largest)
{
    size_t slots = submodi_margin_slots(m);
    size_t tables = m->tables;
    m->step = step_for(largest, m->K);
#pragma omp parallel for num_threads((int)tables)
    for (size_t t = 0; t < tables; t++) {
        count_part(m, m->pixels * t / tables, m->pixels * (t + 1) / tables, m->count + t * slots);
    }
    for (size_t t = 1; t < tables; t++) {
        for (size_t k = 0; k < slots; k++) {
            m->count[k] += m->count[t * slots + k];
        }
    }
}

/* ---- solving ---- */

/* Makes a point of each slot that has pixels; count then holds its number. */
static void make_points(submodi_margins *m, const double *total, double *value,
                        double *multiplicity, uint32_t *mask)
{
    int32_t point = 0;
    for (size_t k = 0; k < submodi_margin_slots(m); k++) {
        if (total[k] > 0) {
            size_t place = k / 2;
            value[point] = (double)place * m->step;
            multiplicity[point] = total[k];
            mask[point / 32] |= (uint32_t)(k & 1) << point % 32;
            m->count[k] = point++;
        }
    }
}

static size_t count_points(const submodi_margins *m, const double *total)
{
    size_t points = 0;
    for (size_t k = 0; k < submodi_margin_slots(m); k++) {
        points += total[k] > 0;
    }
    return points;
}

submod_status submodi_margins_solve(submodi_margins *m, const double *total, submod_prox_info *info,
                                    submod_work *w)
{
    const submodi_layer *layer = m->layer;
    size_t n = count_points(m, total);
    size_t words = submodi_mask_words(n);
    double *value = NULL;
    double *multiplicity = NULL;
    double **vectors[] = {&value, &multiplicity, &m->base, NULL};
    uint32_t *mask = submodi_take(w, words, sizeof *mask);
    submodi_prox_pair *pair = submodi_take(w, n, sizeof *pair);
    if (!submodi_take_vectors(w, n, vectors) || !mask || !pair) {
        return submodi_nomem(layer->batch.who);
    }
    memset(mask, 0, words * sizeof *mask);
    make_points(m, total, value, multiplicity, mask);
    submodi_two_kinds_problem p = {.who = layer->batch.who,
                                   .n = n,
                                   .x = value,
                                   .mask = mask,
                                   .multiplicity = multiplicity,
                                   .measure = &layer->measure,
                                   .lambda = layer->lambda};
    submodi_extension unasked;
    submod_status status = submodi_two_counts_prox(&p, pair, &unasked, info, w);
    if (status == SUBMOD_OK) {
        submodi_pairs_out(pair, n, NULL, m->base);
    }
    return status;
}

/* ---- looking up ---- */

double submodi_margins_apply(const submodi_margins *m)
{
    double lambda = m->layer->lambda;
    double *side = m->layer->derivative;
    double moved = 0;
#pragma omp parallel for num_threads(submodi_threads_for(m->pixels)) reduction(max : moved)
    for (size_t i = 0; i < m->pixels; i++) {
        if (side[i] != 0) {
            double margin = m->margin[i];
            double on_grid = (double)place_of(m, margin) * m->step;
            double by = margin > 0 ? fabs(margin - on_grid) : 0;
            double s = m->base[m->count[slot_of(m, i)]];
            side[i] *= -submodi_hinge_dual(s, margin, lambda);
            moved = by > moved ? by : moved;
        }
    }
    return moved;
}
