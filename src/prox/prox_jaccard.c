/* The levels of the prox of the Jaccard extension: one isotonic regression over the background,
 * because for b background pixels a foreground pixel belongs to {u > alpha} iff x > alpha + t_b,
 * t_b = 1 / (lambda (P + b)); docs/mathematics.md, section 7, has the proof. A level that begins
 * after j0 and ends after j1 background pixels, with the foreground [k0, k1), has
 *
 *     alpha = mean of its x - (F after - F before) / (lambda * pixels),
 *     k0 = #{x_i > alpha + t_j0},  k1 = #{x_i > alpha + t_j1}.
 *
 * alpha is the root of a rising piecewise linear function with breakpoints x_i - t_j0 and
 * x_i - t_j1. At most 2 roots per background pixel are computed. */
#include "base/internal.h"
#include "base/sums.h"
#include "prox/points.h"

/* Newton steps before halving: random inputs need 1 to 3. */
enum { PATIENCE = 4 };

typedef struct solver {
    submodi_points *points;
    const submodi_point_list *bg, *fg;
    double P;
    double per_lambda;               /* 1 / lambda */
    submodi_compensated_sum *fg_sum; /* prefix sums of the foreground's values */
} solver;

static void sum_foreground(const solver *s)
{
    submodi_compensated_sum sum = {0, 0};
    for (size_t k = 0; k < s->fg->count; k++) {
        s->fg_sum[k] = sum;
        sum = submodi_compensated_add(sum, submodi_pixels_of(s->fg, k) * s->fg->value[k]);
    }
    s->fg_sum[s->fg->count] = sum;
}

/* ---- the root of one level ----
 *
 * Until all levels are found, offset is the sum of x - ref over the background pixels, and gain is
 * 0 but for those of push_singles. */

/* A level with what its root depends on. */
typedef struct block {
    submodi_level *level;
    double U, pixels;      /* union before the level; background pixels in it */
    double ref;            /* value of its first point */
    double per_U;          /* 1 / U */
    double t_begin, t_end; /* 1 / (lambda union) before and after it */
} block;

static inline block block_of(const solver *s, submodi_level *level)
{
    double before = submodi_pixels_before(s->bg, level->begin[0]);
    double after = submodi_pixels_before(s->bg, level->end[0]);
    double per_U = 1 / (s->P + before);
    return (block){.level = level,
                   .U = s->P + before,
                   .pixels = after - before,
                   .ref = s->bg->value[level->begin[0]],
                   .per_U = per_U,
                   .t_begin = per_U * s->per_lambda,
                   .t_end = s->per_lambda / (s->P + after)};
}

/* Returns the value of the level together with the foreground [k0, k1). The fall, (F after - F
 * before) / lambda, avoids differences of nearly equal numbers. */
static inline double value_with(const solver *s, const block *b, size_t k0, size_t k1)
{
    s->points->work++;
    double a = submodi_pixels_before(s->fg, k0);
    double fg = 0;
    double sum = b->level->offset;
    if (k1 > k0) {
        fg = submodi_pixels_before(s->fg, k1) - a;
        sum += (s->fg_sum[k1].hi - s->fg_sum[k0].hi) + (s->fg_sum[k1].lo - s->fg_sum[k0].lo) -
               fg * b->ref;
    }
    double fall = b->U == 0 ? s->per_lambda : ((s->P - a) * b->pixels * b->per_U + fg) * b->t_end;
    double pixels = b->pixels + fg;
    return b->ref + (pixels == 1 ? sum - fall : (sum - fall) / pixels);
}

static size_t within(size_t k, size_t lo, size_t hi)
{
    return k < lo ? lo : k > hi ? hi : k;
}

/* Returns the first k in [lo, hi] with k = hi or value[k] <= threshold. Searches outwards from
 * hint. */
static size_t count_above(const solver *s, double threshold, size_t lo, size_t hi, size_t hint)
{
    const double *value = s->fg->value;
    size_t k = within(hint, lo, hi);
    for (size_t step = 1; k < hi && value[k] > threshold; step *= 2, s->points->work++) {
        lo = k + 1;
        k = hi - k > step ? k + step : hi;
    }
    hi = k;
    for (size_t step = 1; k > lo && value[k - 1] <= threshold; step *= 2, s->points->work++) {
        hi = k - 1;
        k = k - lo > step ? k - step : lo;
    }
    for (lo = k; lo < hi; s->points->work++) {
        size_t middle = lo + (hi - lo) / 2;
        if (value[middle] > threshold) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    return lo;
}

/* The foreground of a level. */
typedef struct range {
    size_t begin, end;
} range;

/* Finds the foreground of a level by bisection of the breakpoints of the end with more left. */
static range halve(const solver *s, const block *b, size_t least)
{
    const double t[2] = {b->t_begin, b->t_end};
    size_t lo[2] = {least, least};
    size_t hi[2] = {s->fg->count, s->fg->count};
    while (lo[0] < hi[0] || lo[1] < hi[1]) {
        int end = hi[1] - lo[1] > hi[0] - lo[0];
        size_t k[2];
        k[end] = lo[end] + (hi[end] - lo[end]) / 2;
        double at = s->fg->value[k[end]] - t[end];
        k[1 - end] = count_above(s, at + t[1 - end], lo[1 - end], hi[1 - end], lo[1 - end]);
        bool above = value_with(s, b, k[0], k[1] > k[0] ? k[1] : k[0]) > at;
        k[end] += !above;
        memcpy(above ? hi : lo, k, sizeof k);
    }
    return (range){lo[0], lo[1] > lo[0] ? lo[1] : lo[0]};
}

/* Takes a Newton step: returns the foreground that belongs to the level if its value is u. */
static inline range foreground_at(const solver *s, const block *b, double u, size_t least, range r)
{
    size_t begin = count_above(s, u + b->t_begin, least, s->fg->count, r.begin);
    size_t end = count_above(s, u + b->t_end, least, s->fg->count, r.end);
    return (range){begin, end > begin ? end : begin};
}

/* Finds the foreground of a level, starting from what it has so far, and returns its value. Ignores
 * the foreground of the previous level; if needed, the two levels are pooled later. */
static double find_root(const solver *s, submodi_level *level)
{
    const block b = block_of(s, level);
    size_t least = level == s->points->level ? 0 : level[-1].end[1];
    range r = {within(level->begin[1], least, s->fg->count), level->end[1]};
    r.end = r.end > r.begin ? r.end : r.begin;
    double u = value_with(s, &b, r.begin, r.end);
    for (int steps = 0; steps <= PATIENCE; steps++) {
        range next = steps < PATIENCE ? foreground_at(s, &b, u, least, r) : halve(s, &b, least);
        if (next.begin == r.begin && next.end == r.end) {
            break;
        }
        r = next;
        u = value_with(s, &b, r.begin, r.end);
    }
    level->begin[1] = (uint32_t)r.begin;
    level->end[1] = (uint32_t)r.end;
    return u;
}

/* ---- pooling ---- */

/* Adds levels of one point each, from background point `first` on, as long as no point is tied with
 * the next, takes foreground, or is to be pooled: the most frequent case, with all of it in
 * registers. *before: u of the last level. Returns the first point that is left. */
static size_t push_singles(const solver *s, size_t first, double *before)
{
    submodi_points *p = s->points;
    const double *bg = s->bg->value;
    const double *fg = s->fg->value;
    const size_t count = s->fg->count;
    const double P = s->P;
    submodi_level *level = &p->level[p->count];
    size_t at = p->count ? level[-1].end[1] : 0;
    double left = P - submodi_pixels_before(s->fg, at);
    double per_U = 1 / (P + submodi_pixels_before(s->bg, first));
    size_t j = first;
    for (; j + 1 < s->bg->count && bg[j] != bg[j + 1]; j++) {
        double per_U_end = 1 / (P + submodi_pixels_before(s->bg, j + 1));
        double t_begin = per_U * s->per_lambda;
        double t_end = per_U_end * s->per_lambda;
        double u = bg[j] - left * per_U * t_end;
        while (at < count && fg[at] > u + t_begin) {
            at++;
            left = P - submodi_pixels_before(s->fg, at);
            u = bg[j] - left * per_U * t_end;
        }
        bool alone = (at == count || fg[at] <= u + t_end) && (at == 0 || fg[at - 1] > u + t_begin);
        if (!alone || !(u < *before)) { /* also true where P = 0 makes u NaN */
            break;
        }
        uint32_t k = (uint32_t)at;
        *level++ = (submodi_level){.gain = left * per_U * per_U_end,
                                   .begin = {(uint32_t)j, k},
                                   .end = {(uint32_t)j + 1, k}};
        *before = u;
        per_U = per_U_end;
    }
    p->count += j - first;
    p->work += j - first;
    return j;
}

/* Merges the last two levels. Returns the value of the result. */
static double pool(const solver *s)
{
    const submodi_level *last = &s->points->level[--s->points->count];
    submodi_level *into = &s->points->level[s->points->count - 1];
    double pixels = submodi_pixels_in(s->bg, last->begin[0], last->end[0]);
    into->offset +=
        last->offset + pixels * (s->bg->value[last->begin[0]] - s->bg->value[into->begin[0]]);
    into->gain = 0;
    into->end[0] = last->end[0];
    into->end[1] = last->end[1] > into->end[1] ? last->end[1] : into->end[1];
    return find_root(s, into);
}

/* Returns u of the last level but one, whose foreground is known. */
static double u_before_last(const solver *s)
{
    submodi_level *level = &s->points->level[s->points->count - 2];
    block b = block_of(s, level);
    return value_with(s, &b, level->begin[1], level->end[1]);
}

static void find_levels(const solver *s)
{
    submodi_points *p = s->points;
    double before = INFINITY; /* u of the level before */
    for (size_t first = 0; first < s->bg->count;) {
        first = push_singles(s, first, &before);
        size_t end = first + 1;
        while (end < s->bg->count && s->bg->value[end] == s->bg->value[first]) {
            end++;
        }
        /* A level of equal values, whose u are equal by symmetry; its foreground is near that of
         * the level before. */
        uint32_t near = p->count ? p->level[p->count - 1].end[1] : 0;
        submodi_level *level = &p->level[p->count++];
        *level = (submodi_level){.begin = {(uint32_t)first, near}, .end = {(uint32_t)end, near}};
        double u = find_root(s, level);
        while (before <= u) {
            u = pool(s);
            before = p->count > 1 ? u_before_last(s) : INFINITY;
        }
        before = u;
        first = end;
    }
}

submod_status submodi_jaccard_levels(submodi_points *p, submod_work *work)
{
    solver s = {.points = p,
                .bg = &p->list[0],
                .fg = &p->list[1],
                .P = p->total[1],
                .per_lambda = 1 / p->lambda};
    s.fg_sum = submodi_work_alloc(work, s.fg->count + 1, sizeof *s.fg_sum);
    TRY(submodi_work_status(work));
    sum_foreground(&s);
    find_levels(&s);
    p->work += s.fg->count + s.bg->count;
#pragma omp parallel for num_threads(submodi_threads_for(p->count))
    for (size_t k = 0; k < p->count; k++) {
        if (p->level[k].gain == 0) {
            (void)submodi_pool_points(p, &p->level[k]); /* Jaccard does not fail */
        }
    }
    return SUBMOD_OK;
}
