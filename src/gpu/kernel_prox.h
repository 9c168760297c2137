/* The prox of a measure for every segment, up to the width of its bins:
 *
 *     u = argmin over u of  f(u) + lambda/2 |u - x|^2
 *
 * x is counted in K bins between its smallest and largest entry, and every entry moves to the
 * middle of its bin. The prox is nonexpansive in the max norm, so u moves by half a bin at most.
 * All pixels of one bin and label share one u.
 *
 * Solving (docs/mathematics.md, sections 6 and 7), in units of half a bin, values Y = 1, 3, ..
 * 2 K - 1: sets are (the i top bins of the foreground, the j top bins of the background), and the
 * level sets of u are a chain of them. Between two sets of the chain all of u is the constant
 *     alpha = mean of Y - (F(S1) - F(S0)) / (lambda pixels),
 * unless some set between them has F - lambda sum of (Y - alpha) below that of its ends: then the
 * best one is in the chain too. Such pieces know nothing of each other: they are split in rounds,
 * a warp per piece, all pieces of a round at once; kernel_prox_search.h finds the set. Sums of Y
 * are whole numbers, exact in doubles.
 *
 * The hinge (docs/mathematics.md, section 6): x are its margins, as far as they are above 0, as the
 * others do not move; F is what it is, of sets of those. The prox is max(u, 0), and its gradient
 * lambda (x - max(u, 0)): taken at the middles of bins, since half a bin would be too much for it.
 */
#ifndef SUBMODI_GPU_KERNEL_PROX_H
#define SUBMODI_GPU_KERNEL_PROX_H

#include "gpu/kernel_prox_search.h"
#include "gpu/pixel.h"

/* ---- the range of x ---- */

/* Floats as integers that order alike, and back. */
SUBMODI_DEVICE uint32_t submodi_gpu_ordered(float x)
{
    uint32_t bits = submodi_to_bits(x);
    return bits >> 31 ? ~bits : bits | UINT32_C(0x80000000);
}

SUBMODI_DEVICE float submodi_gpu_unordered(uint32_t key)
{
    return submodi_from_bits(key >> 31 ? key & UINT32_C(0x7fffffff) : ~key);
}

/* The number that moves: x, or a margin. */
SUBMODI_DEVICE float submodi_gpu_prox_value(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                            uint32_t c, int32_t code)
{
    float v = submodi_gpu_score(j, x, c);
    return j->method == SUBMODI_GPU_PROX_HINGE ? submodi_gpu_error(j, v, code == 1) : v;
}

/* Whether it does. */
SUBMODI_DEVICE bool submodi_gpu_prox_moves(const submodi_gpu_job *j, int32_t code, float value)
{
    return code < j->label_classes && (j->method != SUBMODI_GPU_PROX_HINGE || value > 0);
}

/* range[0] = largest, range[1] = complement of the smallest, as ordered integers; both start at 0.
 */
SUBMODI_KERNEL void submodi_gpu_kernel_prox_range(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    uint32_t *of_block = (uint32_t *)submodi_shared();
    if (submodi_thread() < 2) {
        of_block[submodi_thread()] = 0;
    }
    SUBMODI_BARRIER();
    uint32_t high = 0;
    uint32_t low = 0;
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, n, NULL);
        int32_t code = submodi_gpu_label(j, &x, s.first_class);
        float v = submodi_gpu_prox_value(j, &x, s.first_class, code);
        float score = submodi_gpu_score(j, &x, s.first_class);
        bool good = submodi_gpu_check_score(j, &x, s.first_class, score);
        if (good && submodi_gpu_prox_moves(j, code, v)) {
            uint32_t key = submodi_gpu_ordered(v);
            high = key > high ? key : high;
            low = ~key > low ? ~key : low;
        }
    }
    submodi_atomic_max(&of_block[0], high);
    submodi_atomic_max(&of_block[1], low);
    SUBMODI_BARRIER();
    if (submodi_thread() < 2) {
        uint64_t segment = (uint64_t)s.group * j->classes + s.first_class;
        submodi_atomic_max(&j->range[2 * segment + submodi_thread()], of_block[submodi_thread()]);
    }
}

/* The bins of a segment. */
typedef struct submodi_gpu_grid {
    double low, width; /* width 0: all x are the same */
    double unit;       /* of levels: half a bin; without width any number would do */
} submodi_gpu_grid;

SUBMODI_DEVICE submodi_gpu_grid submodi_gpu_grid_of(const submodi_gpu_job *j, uint64_t segment)
{
    double high = (double)submodi_gpu_unordered(j->range[2 * segment]);
    submodi_gpu_grid g;
    g.low = (double)submodi_gpu_unordered(~j->range[2 * segment + 1]);
    g.width = (high - g.low) / j->bins;
    g.unit = g.width > 0 ? g.width / 2 : 1;
    return g;
}

SUBMODI_DEVICE uint32_t submodi_gpu_prox_bin(const submodi_gpu_job *j, const submodi_gpu_grid *g,
                                             float x, bool foreground)
{
    double at = g->width > 0 ? ((double)x - g->low) / g->width : 0;
    uint32_t bin = at < (double)j->bins ? (uint32_t)at : j->bins - 1;
    return foreground ? bin + j->bins : bin;
}

/* ---- counting, as for the losses ---- */

SUBMODI_KERNEL void submodi_gpu_kernel_prox_count(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    uint32_t *shared = (uint32_t *)submodi_shared();
    uint64_t segment = (uint64_t)s.group * j->classes + s.first_class;
    uint64_t table = segment - (uint64_t)j->first_group * j->classes;
    uint32_t *count = (uint32_t *)j->count + table * 2 * j->bins;
    submodi_gpu_grid g = submodi_gpu_grid_of(j, segment);
    for (uint32_t k = submodi_thread(); k < j->window; k += submodi_threads()) {
        shared[k] = 0;
    }
    SUBMODI_BARRIER();
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, n, NULL);
        int32_t code = submodi_gpu_label(j, &x, s.first_class);
        float v = submodi_gpu_prox_value(j, &x, s.first_class, code);
        if (submodi_gpu_prox_moves(j, code, v) && !submodi_is_special(v)) {
            uint32_t bin = submodi_gpu_prox_bin(j, &g, v, code == 1);
            submodi_atomic_add(bin < j->window ? &shared[bin] : &count[bin], 1);
        }
    }
    SUBMODI_BARRIER();
    for (uint32_t k = submodi_thread(); k < j->window; k += submodi_threads()) {
        if (shared[k]) {
            submodi_atomic_add(&count[k], shared[k]);
        }
    }
}

/* ---- solving: one block per segment ---- */

/* The ends of a piece. */
typedef struct submodi_gpu_ends {
    submodi_gpu_set from, to;
} submodi_gpu_ends;

SUBMODI_DEVICE void submodi_gpu_fill_tops(const submodi_gpu_tops *t, const uint32_t *count,
                                          uint32_t K, uint64_t *scratch)
{
    uint64_t pixels = 0;
    uint64_t sum = 0;
    for (uint32_t base = 0; base < K; base += submodi_threads()) {
        uint32_t r = base + submodi_thread();
        uint64_t own = r < K ? count[K - 1 - r] : 0;
        uint64_t Y = r < K ? 2 * (uint64_t)(K - 1 - r) + 1 : 0;
        uint64_t total, total_sum;
        uint64_t before = submodi_block_scan(own, scratch, &total);
        uint64_t before_sum = submodi_block_scan(own * Y, scratch, &total_sum);
        if (r < K) {
            t->pixels[r] = (double)(pixels + before);
            t->sum[r] = (double)(sum + before_sum);
        }
        pixels += total;
        sum += total_sum;
    }
    if (submodi_thread() == 0) {
        t->pixels[K] = (double)pixels;
        t->sum[K] = (double)sum;
    }
}

/* For the hinge the table has how far a margin x falls, by s / lambda and to 0 at most, times
 * lambda if that is above 1: so a float holds both the way and s. */
SUBMODI_DEVICE float submodi_gpu_fall(double lambda, double x, double s)
{
    double fall = lambda > 1 ? fmin(s, lambda * x) : fmin(s / lambda, x);
    return (float)fmax(fall, 0.0);
}

/* What the table has for rank r of a piece whose pixels are at one level. */
SUBMODI_DEVICE float submodi_gpu_entry(const submodi_gpu_prox *p, const submodi_gpu_grid *g,
                                       const submodi_gpu_piece *s, uint32_t r)
{
    if (!p->hinge) {
        return (float)(g->low + g->width / 2 * s->ref + g->unit * s->level);
    }
    double Y = 2 * (double)(p->K - r) - 1;
    return submodi_gpu_fall(p->given_lambda, g->low + g->width / 2 * Y,
                            p->lambda * (Y - s->ref - s->level));
}

/* A piece that cannot be split is at one level: the lanes write it to the table. */
SUBMODI_DEVICE void submodi_gpu_write_piece(const submodi_gpu_prox *p, const submodi_gpu_grid *g,
                                            const submodi_gpu_piece *s)
{
    uint32_t K = p->K;
    for (uint32_t r = s->from.i + submodi_lane(); r < s->to.i; r += SUBMODI_WARP) {
        p->table[K + K - 1 - r] = submodi_gpu_entry(p, g, s, r);
    }
    for (uint32_t r = s->from.j + submodi_lane(); r < s->to.j; r += SUBMODI_WARP) {
        p->table[K - 1 - r] = submodi_gpu_entry(p, g, s, r);
    }
}

/* The pieces of a round, and those of the next one. */
typedef struct submodi_gpu_round {
    const submodi_gpu_ends *now;
    uint32_t count;
    submodi_gpu_ends *next;
    uint32_t *next_count; /* shared, starts at 0 */
} submodi_gpu_round;

SUBMODI_DEVICE void submodi_gpu_split_all(const submodi_gpu_prox *p, const submodi_gpu_grid *g,
                                          const submodi_gpu_round *r)
{
    uint32_t warps = submodi_threads() / SUBMODI_WARP;
    for (uint32_t k = submodi_thread() / SUBMODI_WARP; k < r->count; k += warps) {
        submodi_gpu_piece s = submodi_gpu_piece_of(p, r->now[k].from, r->now[k].to);
        submodi_gpu_set t = submodi_gpu_split(p, &s);
        if (t.i == s.from.i && t.j == s.from.j) {
            submodi_gpu_write_piece(p, g, &s);
        } else if (submodi_lane() == 0) {
            uint32_t at = submodi_atomic_add(r->next_count, 2);
            r->next[at].from = s.from;
            r->next[at].to = r->next[at + 1].from = t;
            r->next[at + 1].to = s.to;
        }
    }
}

/* All rounds. ends: room for two rounds of 2 K pieces, which is what there can be; count: shared,
 * of these two. */
SUBMODI_DEVICE void submodi_gpu_solve_pieces(const submodi_gpu_prox *p, const submodi_gpu_grid *g,
                                             submodi_gpu_ends *ends, uint32_t *count)
{
    submodi_gpu_ends *of_round[2] = {ends, ends + 2 * (uint64_t)p->K};
    if (submodi_thread() == 0) {
        ends->from.i = ends->from.j = 0;
        ends->to.i = ends->to.j = p->K;
    }
    uint32_t pieces = 1;
    for (int turn = 0; pieces > 0; turn = 1 - turn) {
        if (submodi_thread() == 0) {
            count[1 - turn] = 0;
        }
        SUBMODI_BARRIER(); /* ... and what comes before this loop has been written */
        submodi_gpu_round r;
        r.now = of_round[turn];
        r.count = pieces;
        r.next = of_round[1 - turn];
        r.next_count = &count[1 - turn];
        submodi_gpu_split_all(p, g, &r);
        SUBMODI_BARRIER(); /* the next round has been written */
        pieces = count[1 - turn];
    }
}

/* How far u may be off: half a bin, what a piece of so many pixels can hide by rounding (at worst a
 * single pixel's level: what M is tolerated and rounded by, and the threshold of Jaccard, in units
 * of half a bin and relative to how far u falls), and the rounding of u to float; all rounded up.
 * The search in rows can miss some 40 roundings of M more, which are 5 tolerances. Inf where u may
 * leave the range of float. */
SUBMODI_DEVICE float submodi_gpu_prox_delta(const submodi_gpu_job *j, const submodi_gpu_grid *g,
                                            uint64_t pixels)
{
    double times = j->measure.type == SUBMOD_MEASURE_JACCARD ? 1 : 8;
    double hidden = times * (0x1p-46 + 0x1p-51 * j->bins) * (double)pixels;
    double largest = fmax(fabs(g->low), fabs(g->low + g->width * j->bins));
    /* A margin falls, to 0 at most, and is rounded on its way from a score and back. */
    bool hinge = j->method == SUBMODI_GPU_PROX_HINGE;
    largest += hinge ? 1 : 1 / j->lambda;
    double relative = (hinge ? 0x1p-22 : 0x1p-24) + times * 0x1p-47 * (double)pixels;
    double rounding = relative * largest + 0x1p-149;
    double delta = (g->width / 2 * (1 + hidden) + rounding) * (1 + 0x1p-20);
    return largest < 0x1.fffffep127 ? (float)delta : INFINITY;
}

SUBMODI_KERNEL void submodi_gpu_kernel_prox_solve(const submodi_gpu_job *j)
{
    uint32_t K = j->bins;
    uint64_t segment = (uint64_t)j->first_group * j->classes + submodi_block();
    submodi_gpu_grid g = submodi_gpu_grid_of(j, segment);
    const uint32_t *count = (const uint32_t *)j->count + (uint64_t)submodi_block() * 2 * K;
    double *tops = j->tops + (uint64_t)submodi_block() * 4 * (K + (uint64_t)1);
    submodi_gpu_ends *ends = (submodi_gpu_ends *)j->ends + (uint64_t)submodi_block() * 4 * K;
    uint64_t *scratch = (uint64_t *)submodi_shared();
    uint32_t *counters = (uint32_t *)submodi_shared() + SUBMODI_BLOCK_SCRATCH / sizeof(uint32_t);
    bool nothing_moves = j->range[2 * segment] == 0;
    if (nothing_moves || !submodi_gpu_all_good(j)) {
        return;
    }
    if (submodi_thread() == 0) {
        float delta = submodi_gpu_prox_delta(j, &g, j->valid[segment]);
        submodi_atomic_max(j->delta, submodi_to_bits(delta));
    }
    submodi_gpu_prox p;
    p.K = K;
    p.hinge = j->method == SUBMODI_GPU_PROX_HINGE;
    p.measure = j->measure;
    p.P = (double)j->foreground[segment];
    p.N = (double)(j->valid[segment] - j->foreground[segment]);
    /* u does not change long before that, and is beyond all floats long before that */
    p.lambda = fmax(fmin(j->lambda * g.unit, 0x1p200), 0x1p-400);
    p.given_lambda = j->lambda;
    p.foreground.pixels = tops;
    p.foreground.sum = tops + (K + 1);
    p.background.pixels = tops + 2 * ((uint64_t)K + 1);
    p.background.sum = tops + 3 * ((uint64_t)K + 1);
    p.table = j->table + (uint64_t)submodi_block() * (2 * (uint64_t)K + 1);
    submodi_gpu_fill_tops(&p.foreground, count + K, K, scratch);
    submodi_gpu_fill_tops(&p.background, count, K, scratch);
    submodi_gpu_solve_pieces(&p, &g, ends, counters);
}

/* ---- looking up ---- */

/* The table of a segment of this wave. */
SUBMODI_DEVICE const float *submodi_gpu_prox_table(const submodi_gpu_job *j, uint64_t segment)
{
    uint64_t of_wave = segment - (uint64_t)j->first_group * j->classes;
    return j->table + of_wave * (2 * (uint64_t)j->bins + 1);
}

SUBMODI_KERNEL void submodi_gpu_kernel_prox_write(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    if (!submodi_gpu_all_good(j)) {
        return;
    }
    uint64_t segment = (uint64_t)s.group * j->classes + s.first_class;
    const float *table = submodi_gpu_prox_table(j, segment);
    submodi_gpu_grid g = submodi_gpu_grid_of(j, segment);
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, n, NULL);
        int32_t code = submodi_gpu_label(j, &x, s.first_class);
        float v = submodi_gpu_score(j, &x, s.first_class);
        if (code < j->label_classes) {
            v = table[submodi_gpu_prox_bin(j, &g, v, code == 1)];
        }
        submodi_gpu_store(&j->gradient, &x, s.first_class, v);
    }
}

#endif
