/* The prox of the Jaccard extension is one isotonic regression over the background. No recursion.
 * At more length: docs/mathematics.md, sections 6 and 7.
 *
 * There are P pixels of foreground; A holds a of them and b pixels of the background:
 *
 *     F(A) = b / (P + b) + a / (P + b).
 *
 * {u > alpha} minimises F(A) - lambda sum over A of (x - alpha). For fixed b a foreground pixel
 * belongs to it iff x > alpha + t_b, t_b = 1 / (lambda (P + b)). So foreground pixels do not
 * depend on each other and can be eliminated. What is left depends on b alone:
 *
 *     C(b) = b / (P + b) - lambda sum_{j < b} (x_j - alpha)
 *            - lambda sum_fg max(x_i - alpha - t_b, 0),
 *
 * x_j the background in descending order. Its increments D_j(alpha) = C(j+1) - C(j) rise with
 * alpha: because t_j > t_j+1, each term max(x_i - alpha - t_j, 0) - max(x_i - alpha - t_j+1, 0)
 * does. So the u_j of the background minimise sum_j Q_j(u_j) subject to u_0 >= u_1 >= .., Q_j
 * convex with Q_j' = D_j. Pooling adjacent violators solves this exactly.
 *
 * A block [j0, j1) telescopes. With all of it and the foreground [k0, k1) at one level,
 *
 *     alpha = mean of their x - (F after - F before) / (lambda * pixels),
 *     k0 = #{x_i > alpha + t_j0},  k1 = #{x_i > alpha + t_j1}.
 *
 * The level is the root of a rising piecewise linear function of alpha with breakpoints
 * x_i - t_j0 and x_i - t_j1. Newton steps find its piece, usually at once. After a few of them the
 * search halves the breakpoints that are left, so that O(log p) steps are enough.
 *
 * At most 2 roots per background pixel are searched for. A root takes O(log p) steps, a step two
 * binary searches that start at the last answer. So the worst case is at most O(p log^2 p). On
 * inputs made to be hard the tests count at most 4 p log2 p, and they refuse 10 p log2 p.
 */
#include "prox/two_counts/levels.h"

#include <math.h>
#include <stdbool.h>

/* A block of one pixel that stays one, the most frequent, must not go through memory. */
#define INLINE __attribute__((always_inline)) static inline

/* Newton steps before halving: random inputs need 1 to 3. */
enum { PATIENCE = 4 };

static void sum_foreground(submodi_levels *l)
{
    submodi_long_sum sum = {0, 0};
    for (size_t k = 0; k < l->fg.count; k++) {
        l->fg_sum[k] = sum;
        sum = submodi_long_add(sum, submodi_pixels_of(&l->fg, k) * l->fg.value[k]);
    }
    l->fg_sum[l->fg.count] = sum;
}

/* A block whose level is searched for. */
typedef struct block {
    submodi_level *level;
    double P, U, pixels; /* pixels of foreground; union before the block; background pixels in it */
    double ref;          /* value of its first point */
    double per_U;        /* 1 / U */
    double per_U_end;    /* 1 / (union after the block) */
    double t_begin, t_end;
} block;

/* The block of a level, up to background point `end`. per_U: 1 / (union before the block). */
INLINE block open_next(const submodi_levels *l, submodi_level *level, size_t end, double per_U)
{
    double before = submodi_pixels_before(&l->bg, level->first);
    double after = submodi_pixels_before(&l->bg, end);
    double per_U_end = 1 / (l->P + after);
    return (block){.level = level,
                   .P = l->P,
                   .U = l->P + before,
                   .pixels = after - before,
                   .ref = l->bg.value[level->first],
                   .per_U = per_U,
                   .per_U_end = per_U_end,
                   .t_begin = per_U * l->per_lambda,
                   .t_end = per_U_end * l->per_lambda};
}

static block open_block(const submodi_levels *l, submodi_level *level, size_t end)
{
    double U = l->P + submodi_pixels_before(&l->bg, level->first);
    return open_next(l, level, end, 1 / U);
}

/* (F after - F before) / lambda, if a pixels of the foreground come before the block and fg are in
 * it. Avoids differences of nearly equal numbers. */
INLINE double drop_of(const block *b, double per_lambda, double a, double fg)
{
    return b->U == 0 ? per_lambda : ((b->P - a) * b->pixels * b->per_U + fg) * b->t_end;
}

/* The level of the block together with the foreground [k0, k1). */
INLINE double level_with(submodi_levels *l, const block *b, size_t k0, size_t k1)
{
    l->work++;
    double a = submodi_pixels_before(&l->fg, k0);
    double fg = 0;
    double sum = b->level->offset;
    if (k1 > k0) {
        fg = submodi_pixels_before(&l->fg, k1) - a;
        sum += (l->fg_sum[k1].hi - l->fg_sum[k0].hi) + (l->fg_sum[k1].lo - l->fg_sum[k0].lo) -
               fg * b->ref;
    }
    double move = sum - drop_of(b, l->per_lambda, a, fg);
    double pixels = b->pixels + fg;
    return b->ref + (pixels == 1 ? move : move / pixels);
}

static size_t within(size_t k, size_t lo, size_t hi)
{
    return k < lo ? lo : k > hi ? hi : k;
}

/* The first k in [lo, hi] with k = hi or value[k] <= threshold. Searches outwards from hint. */
static size_t count_above(submodi_levels *l, double threshold, size_t lo, size_t hi, size_t hint)
{
    const double *value = l->fg.value;
    size_t step = 1;
    hint = within(hint, lo, hi);
    if (hint < hi && value[hint] > threshold) {
        for (lo = hint + 1; lo + step <= hi && value[lo + step - 1] > threshold; step *= 2) {
            lo += step;
            l->work++;
        }
        hi = lo + step - 1 < hi ? lo + step - 1 : hi;
    } else {
        for (hi = hint; lo + step <= hi && value[hi - step] <= threshold; step *= 2) {
            hi -= step;
            l->work++;
        }
        lo = lo + step <= hi ? hi - step + 1 : lo;
    }
    for (; lo < hi; l->work++) {
        size_t middle = lo + (hi - lo) / 2;
        if (value[middle] > threshold) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    return lo;
}

/* The ranges in which the two ends of the block's foreground lie. */
typedef struct bracket {
    size_t lo0, hi0, lo1, hi1;
} bracket;

static bool is_closed(const bracket *r)
{
    return r->hi0 == r->lo0 && r->hi1 == r->lo1;
}

/* Tightens the bracket: the root is above (below) a point where the ends are k0 and k1. Rounding
 * can contradict what was found before. Then the bracket may close, but it never turns inside
 * out. */
static void tighten(bracket *r, bool above, size_t k0, size_t k1)
{
    size_t *end0 = above ? &r->hi0 : &r->lo0;
    size_t *end1 = above ? &r->hi1 : &r->lo1;
    *end0 = within(k0, r->lo0, r->hi0);
    *end1 = within(k1, r->lo1, r->hi1);
}

/* Finds on which side of the middle breakpoint of the longer range the root lies, and tightens the
 * bracket. */
static void halve(submodi_levels *l, const block *b, bracket *r)
{
    bool first = r->hi0 - r->lo0 >= r->hi1 - r->lo1;
    size_t middle = first ? (r->lo0 + r->hi0) / 2 : (r->lo1 + r->hi1) / 2;
    double at = l->fg.value[middle] - (first ? b->t_begin : b->t_end);
    size_t k0 = first ? middle : count_above(l, at + b->t_begin, r->lo0, r->hi0, r->lo0);
    size_t k1 = first ? count_above(l, at + b->t_end, r->lo1, r->hi1, r->lo1) : middle;
    bool above = level_with(l, b, k0, k1 > k0 ? k1 : k0) > at;
    tighten(r, above, k0 + (first && !above), k1 + (!first && !above));
}

/* Finds u of a block, starting from the foreground that it has so far. What belongs to the level
 * before is not looked at: if the block wants it, the two will be pooled. */
static double settle(submodi_levels *l, const block *b)
{
    submodi_level *level = b->level;
    size_t taken = level == l->level ? 0 : level[-1].fg_end;
    bracket r = {taken, l->fg.count, taken, l->fg.count};
    size_t k0 = within(level->fg_begin, taken, l->fg.count);
    size_t k1 = level->fg_end > k0 ? level->fg_end : k0;
    double u = level_with(l, b, k0, k1);
    for (int steps = 0;; steps++) {
        size_t was0 = k0;
        size_t was1 = k1;
        k0 = count_above(l, u + b->t_begin, r.lo0, r.hi0, k0);
        k1 = count_above(l, u + b->t_end, r.lo1, r.hi1, k1);
        k1 = k1 > k0 ? k1 : k0;
        if (k0 == was0 && k1 == was1) {
            break;
        }
        double from = u;
        u = level_with(l, b, k0, k1);
        tighten(&r, u > from, k0, k1);
        if (steps >= PATIENCE && !is_closed(&r)) {
            halve(l, b, &r);
        }
        if (is_closed(&r)) {
            k0 = r.lo0;
            k1 = r.lo1 > k0 ? r.lo1 : k0;
            u = level_with(l, b, k0, k1);
            break;
        }
    }
    level->fg_begin = (uint32_t)k0;
    level->fg_end = (uint32_t)k1;
    return u;
}

/* The end of the run of equal values from background point `first` on. By symmetry their u are
 * equal too. */
INLINE size_t end_of_run(const submodi_levels *l, size_t first)
{
    size_t end = first + 1;
    while (end < l->bg.count && l->bg.value[end] == l->bg.value[first]) {
        end++;
    }
    return end;
}

/* Moves *k to where foreground of the block could begin, and *u to its level with no foreground at
 * all. Returns whether it has none indeed. Mostly true. */
INLINE bool pass_foreground(submodi_levels *l, const block *b, double *u, uint32_t *k)
{
    const double *value = l->fg.value;
    const size_t count = l->fg.count;
    size_t at = *k;
    *u = level_with(l, b, at, at);
    while (at < count && value[at] > *u + b->t_begin) {
        at++;
        *u = level_with(l, b, at, at);
    }
    bool alone =
        (at == count || value[at] <= *u + b->t_end) && (at == 0 || value[at - 1] > *u + b->t_begin);
    *k = alone ? (uint32_t)at : *k;
    return alone;
}

/* Adds a level for the run [first, end), searching its foreground near that of the level before.
 * Returns its u, or just `before` if u is not below it, because the two are then pooled. *per_U: 1
 * / union, before the run on entry, after it on return. */
INLINE double push(submodi_levels *l, size_t first, size_t end, double before, double *per_U)
{
    uint32_t near = l->count ? l->level[l->count - 1].fg_end : 0;
    submodi_level *level = &l->level[l->count++];
    *level = (submodi_level){.first = (uint32_t)first, .fg_begin = near, .fg_end = near};
    block b = open_next(l, level, end, *per_U);
    *per_U = b.per_U_end;
    double u;
    if (pass_foreground(l, &b, &u, &near)) {
        level->fg_begin = level->fg_end = near;
        return u;
    }
    if (l->count > 1) { /* at u = before, its foreground begins where the last one ended */
        level->fg_end = (uint32_t)count_above(l, before + b.t_end, near, l->fg.count, near);
        if (level_with(l, &b, near, level->fg_end) >= before) {
            return before;
        }
    }
    return settle(l, &b);
}

/* Adds levels of one pixel each, from background point `first` on, as long as no pixel is tied with
 * the next, takes foreground, or is to be pooled. The same arithmetic as in push, with all of it in
 * registers. *before: u of the last level. Returns the first point that is left. */
static size_t push_singles(submodi_levels *l, size_t first, double *before, double *per_U)
{
    const double *bg = l->bg.value;
    const double *fg = l->fg.value;
    const size_t count = l->fg.count;
    const double P = l->P;
    const double per_lambda = l->per_lambda;
    submodi_level *level = &l->level[l->count];
    size_t at = l->count ? level[-1].fg_end : 0;
    size_t j = first;
    for (; j + 1 < l->bg.count && bg[j] != bg[j + 1]; j++) {
        double per_U_end = 1 / (P + (double)(int64_t)(j + 1));
        double t_begin = *per_U * per_lambda;
        double t_end = per_U_end * per_lambda;
        double u = bg[j] - (P - (double)(int64_t)at) * *per_U * t_end;
        while (at < count && fg[at] > u + t_begin) {
            at++;
            u = bg[j] - (P - (double)(int64_t)at) * *per_U * t_end;
        }
        bool alone = (at == count || fg[at] <= u + t_end) && (at == 0 || fg[at - 1] > u + t_begin);
        if (!alone || !(u < *before)) { /* so also where P = 0 makes u NaN */
            break;
        }
        *level++ =
            (submodi_level){.first = (uint32_t)j, .fg_begin = (uint32_t)at, .fg_end = (uint32_t)at};
        *before = u;
        *per_U = per_U_end;
    }
    l->count += j - first;
    l->work += j - first;
    return j;
}

/* u of the last level but one, whose foreground is known. */
static double u_before_last(submodi_levels *l)
{
    submodi_level *level = &l->level[l->count - 2];
    block b = open_block(l, level, level[1].first);
    return level_with(l, &b, level->fg_begin, level->fg_end);
}

/* Merges the last two levels; the result ends before background point `end`. Returns its u. */
static double pool(submodi_levels *l, size_t end)
{
    submodi_level *last = &l->level[--l->count];
    submodi_level *into = last - 1;
    double pixels = submodi_pixels_before(&l->bg, end) - submodi_pixels_before(&l->bg, last->first);
    into->offset += last->offset + pixels * (l->bg.value[last->first] - l->bg.value[into->first]);
    into->fg_end = last->fg_end > into->fg_end ? last->fg_end : into->fg_end;
    block b = open_block(l, into, end);
    return settle(l, &b);
}

/* Sum of value - ref over the pixels of points [begin, end). */
static double sum_from(const submodi_point_list *list, size_t begin, size_t end, double ref)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        sum += submodi_pixels_of(list, i) * (list->value[i] - ref);
    }
    return sum;
}

/* Adds up the foreground again without prefix sums, so that s is right even where lambda is so
 * large that x and u agree in all digits. */
double submodi_level_pooled(const submodi_levels *l, const submodi_level *level, double gain)
{
    double fg = submodi_pixels_before(&l->fg, level->fg_end) -
                submodi_pixels_before(&l->fg, level->fg_begin);
    double bg =
        submodi_pixels_before(&l->bg, level[1].first) - submodi_pixels_before(&l->bg, level->first);
    double sum =
        level->offset + sum_from(&l->fg, level->fg_begin, level->fg_end, l->bg.value[level->first]);
    return (gain - l->lambda * sum) / (bg + fg);
}

void submodi_levels_solve(submodi_levels *l)
{
    l->per_lambda = 1 / l->lambda;
    l->P = submodi_pixels_before(&l->fg, l->fg.count);
    l->count = 0;
    l->work = 0;
    sum_foreground(l);
    double before = INFINITY; /* u of the level before */
    double per_U = 1 / l->P;
    bool alone = !l->bg.before; /* whether the last level was not pooled */
    for (size_t first = 0; first < l->bg.count;) {
        if (alone) {
            first = push_singles(l, first, &before, &per_U);
        }
        size_t end = end_of_run(l, first);
        double u = push(l, first, end, before, &per_U);
        alone = !l->bg.before && u < before;
        while (before <= u) {
            u = pool(l, end);
            before = l->count > 1 ? u_before_last(l) : INFINITY;
        }
        before = u;
        first = end;
    }
    uint32_t all = (uint32_t)l->fg.count;
    l->level[l->count] =
        (submodi_level){.first = (uint32_t)l->bg.count, .fg_begin = all, .fg_end = all};
    l->work += l->fg.count + l->bg.count;
}

size_t submodi_level_of(const submodi_levels *l, size_t rank)
{
    size_t lo = 0;
    for (size_t hi = l->count; lo < hi;) {
        size_t middle = lo + (hi - lo) / 2;
        if (l->level[middle + 1].first <= rank) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    return lo;
}
