/* The level sets of the prox of F(a, b), F submodular, by walks and looks. docs/mathematics.md,
 * section 7, has the proofs.
 *
 * A level set takes the largest values of each kind: it is a corner (a, b) of the lattice, and the
 * level sets are corners along one path from (0, 0) to (P, N). A part is a piece of that path
 * between two level sets that are known: some points of each kind. At first all are one part.
 *
 * A walk guesses the path through a part: always on to the kind whose next point has the larger
 * lambda x - g, g its gain. Its gains g are a base s of the part, so wherever
 * every lambda x - g before a place is larger than every one after it, the place is a level set.
 * Parts of one point are then done; so are parts of one kind, by isotonic regression.
 *
 * Where a walk does not cut, isotonic regression along it proposes blocks whose levels fall. A look
 * at a block tells whether it is at one level: whether no corner in it lies below 0 in F - s, s =
 * lambda (x - level), which lowest.c finds. If so, s is a base on this block as well as g. With s
 * there, and g on the blocks that failed, the same test finds more level sets. Blocks that passed
 * and stand alone are done.
 *
 * If not even that cuts, the lowest corner of the part as one block is a level set inside, or the
 * part is at one level. Such cuts may be lopsided. The larger side, if it has more than 7/8, is
 * then cut at half of what is known about the range of its levels, counted in floating-point
 * numbers: at most 64 such halvings are there. So a point takes part in O(log p + 64) walks and
 * looks; a walk costs O(p) and a look O(p log p). In practice a few walks leave little to look at.
 */
#include "prox/two_counts/blocks.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "prox/long_sum.h"
#include "submod/measures/values.h"

#define INLINE __attribute__((always_inline)) static inline

enum { LOPSIDED = 8, BATCH = 1024 };

typedef enum step { WALK, LOOK, SPLIT, HALVE } step;

typedef struct part {
    uint32_t fg_begin, fg_end, bg_begin, bg_end;
    step next;
    double low, high; /* of its levels */
} part;

/* Consecutive entries of the path at one mean of x - g / lambda. */
typedef struct pool {
    uint32_t begin; /* rank */
    double x, g;    /* means over its pixels */
    double pixels;
} pool;

/* Consecutive entries of the path that no level set is known to cut. */
typedef struct segment {
    uint32_t begin; /* rank; it ends where the next one begins */
    double low;     /* the least lambda x - s in it */
} segment;

typedef struct solver {
    submodi_blocks *b;
    uint8_t *is_fg;  /* by rank: the path */
    double *gain[2]; /* by point of each kind, background first: per pixel, along the last walk */
    double *sum[2];  /* prefix sums of s for a look */
    pool *pools;     /* of the part that is looked at */
    segment *segment;
    size_t segments;
    part *open, *next;
    size_t opens, nexts;
    submod_work *work;
} solver;

static size_t size_of(const part *p)
{
    return (size_t)(p->fg_end - p->fg_begin) + (p->bg_end - p->bg_begin);
}

/* Whether q has most of p. */
static bool is_lopsided(const part *p, const part *q)
{
    return LOPSIDED * size_of(q) > (LOPSIDED - 1) * size_of(p);
}

static size_t rank_of(const part *p)
{
    return (size_t)p->fg_begin + p->bg_begin;
}

static bool is_one_kind(const part *p)
{
    return p->fg_begin == p->fg_end || p->bg_begin == p->bg_end;
}

static submod_status start_at(const submodi_blocks *b, size_t fg, size_t bg, submodi_rise *rise)
{
    return submodi_rise_from(b->who, b->measure, b->P, b->N, submodi_pixels_before(&b->fg, fg),
                             submodi_pixels_before(&b->bg, bg), rise);
}

submod_status submodi_block_gain(const submodi_blocks *b, size_t fg_begin, size_t bg_begin,
                                 const submodi_block *block, double *gain)
{
    submodi_rise rise;
    double f = submodi_pixels_before(&b->fg, fg_begin + block->fg) -
               submodi_pixels_before(&b->fg, fg_begin);
    double g = submodi_pixels_before(&b->bg, bg_begin + block->bg) -
               submodi_pixels_before(&b->bg, bg_begin);
    submod_status status = start_at(b, fg_begin, bg_begin, &rise);
    return status ? status : submodi_rise_by(&rise, f, g, gain);
}

/* ---- walks ----
 *
 * Where a value costs little, the gains that choose the way are those at the place itself. A
 * measure that gives many values at once is asked for those along a whole path instead, chosen by
 * the gains of the walk before; the second and third walk are then nearly as good. */

static bool is_greedy(const submodi_blocks *b)
{
    return b->measure->type != SUBMOD_MEASURE_CUSTOM || !b->measure->values;
}

/* Where a walk is: points and pixels of both kinds, background first. */
typedef struct place {
    size_t at[2];
    double pixels[2];
    double value; /* F there; custom measures only */
} place;

/* What the next point of a kind would add: to each of its pixels, and F after it. */
typedef struct offer {
    double gain, value;
} offer;

INLINE offer offer_of(const submodi_blocks *b, submodi_form form, const place *w, bool fg)
{
    double more = submodi_pixels_of(fg ? &b->fg : &b->bg, w->at[fg]);
    if (form.type == SUBMOD_MEASURE_CUSTOM) {
        const submod_measure *m = b->measure;
        double A = w->pixels[1] + (fg ? more : 0);
        double B = w->pixels[0] + (fg ? 0 : more);
        double value = m->value(A < b->P ? A : b->P, B < b->N ? B : b->N, b->P, b->N, m->ctx);
        return (offer){(value - w->value) / more, value};
    }
    double a = w->pixels[1] < b->P ? w->pixels[1] : b->P;
    return (offer){.gain = submodi_form_gain(form, b->P, b->N, a, w->pixels[0], more, !fg)};
}

/* Goes on by one point of a kind, which is the next on the path. */
INLINE void go_on(solver *s, place *w, bool fg, offer taken)
{
    size_t i = w->at[fg]++;
    s->is_fg[w->at[0] + w->at[1] - 1] = fg;
    s->gain[fg][i] = taken.gain;
    w->pixels[fg] += submodi_pixels_of(fg ? &s->b->fg : &s->b->bg, i);
    w->value = taken.value;
}

/* A walk by the gains at each place itself. */
INLINE void walk_greedily(solver *s, const part *p, submodi_form form, double value)
{
    const submodi_blocks *b = s->b;
    const double lambda = b->lambda;
    place w = {
        {p->bg_begin, p->fg_begin},
        {submodi_pixels_before(&b->bg, p->bg_begin), submodi_pixels_before(&b->fg, p->fg_begin)},
        value};
    while (w.at[1] < p->fg_end && w.at[0] < p->bg_end) {
        offer of_fg = offer_of(b, form, &w, true);
        offer of_bg = offer_of(b, form, &w, false);
        bool fg = lambda * b->fg.value[w.at[1]] - of_fg.gain >=
                  lambda * b->bg.value[w.at[0]] - of_bg.gain;
        go_on(s, &w, fg, fg ? of_fg : of_bg);
    }
    while (w.at[1] < p->fg_end) {
        go_on(s, &w, true, offer_of(b, form, &w, true));
    }
    while (w.at[0] < p->bg_end) {
        go_on(s, &w, false, offer_of(b, form, &w, false));
    }
}

/* The path by the gains of the last walk. */
static void choose_path(solver *s, const part *p)
{
    const double lambda = s->b->lambda;
    const double *fg = s->b->fg.value;
    const double *bg = s->b->bg.value;
    const double *g_fg = s->gain[1];
    const double *g_bg = s->gain[0];
    size_t i = p->fg_begin;
    size_t j = p->bg_begin;
    size_t k = rank_of(p);
    while (i < p->fg_end && j < p->bg_end) {
        size_t first = lambda * fg[i] - g_fg[i] >= lambda * bg[j] - g_bg[j];
        s->is_fg[k++] = (uint8_t)first;
        i += first;
        j += 1 - first;
    }
    memset(s->is_fg + k, 1, p->fg_end - i);
    memset(s->is_fg + k + (p->fg_end - i), 0, p->bg_end - j);
}

/* Gains along the path, by values of F at BATCH corners at a time. */
static submod_status weigh(solver *s, const part *p)
{
    const submodi_blocks *b = s->b;
    double A[BATCH];
    double B[BATCH];
    double F[BATCH];
    submodi_rise rise;
    size_t at[2] = {p->bg_begin, p->fg_begin};
    size_t end = rank_of(p) + size_of(p);
    submod_status status = start_at(b, at[1], at[0], &rise);
    double before = 0;
    for (size_t k = rank_of(p); status == SUBMOD_OK && k < end;) {
        size_t count = end - k < BATCH ? end - k : BATCH;
        size_t from[2] = {at[0], at[1]};
        for (size_t i = 0; i < count; i++) {
            at[s->is_fg[k + i]]++;
            A[i] = submodi_pixels_before(&b->fg, at[1]);
            B[i] = submodi_pixels_before(&b->bg, at[0]);
        }
        status = submodi_rises(&rise, count, A, B, F);
        for (size_t i = 0; status == SUBMOD_OK && i < count; i++) {
            bool fg = s->is_fg[k + i];
            double more = submodi_pixels_of(fg ? &b->fg : &b->bg, from[fg]);
            s->gain[fg][from[fg]++] = (F[i] - before) / more;
            before = F[i];
        }
        k += count;
    }
    return status;
}

/* Adds entries of the path from rank `begin` on to the last segment, or to a new one: every
 * lambda x - s before a cut is larger than every one after it. low, high: its range among them. */
static void add_segment(solver *s, size_t begin, double low, double high)
{
    segment last = {(uint32_t)begin, low};
    for (; s->segments && s->segment[s->segments - 1].low <= high; s->segments--) {
        const segment *before = &s->segment[s->segments - 1];
        last.begin = before->begin;
        last.low = last.low < before->low ? last.low : before->low;
    }
    s->segment[s->segments++] = last;
}

/* ---- blocks ---- */

static double ref_of(const submodi_blocks *b, const part *p)
{
    return p->fg_begin < p->fg_end ? b->fg.value[p->fg_begin] : b->bg.value[p->bg_begin];
}

/* Sum of value - ref over the pixels of points [begin, end). */
static double sum_from(const submodi_point_list *list, size_t begin, size_t end, double ref)
{
    submodi_long_sum sum = {0, 0};
    for (size_t i = begin; i < end; i++) {
        sum = submodi_long_add(sum, submodi_pixels_of(list, i) * (list->value[i] - ref));
    }
    return sum.hi + sum.lo;
}

static submodi_block block_of(const part *p)
{
    return (submodi_block){.fg = p->fg_end - p->fg_begin, .bg = p->bg_end - p->bg_begin};
}

/* The part as one block. */
static submod_status pool_part(const submodi_blocks *b, const part *p, submodi_block *block)
{
    double gain;
    double ref = ref_of(b, p);
    double pixels =
        submodi_pixels_before(&b->fg, p->fg_end) - submodi_pixels_before(&b->fg, p->fg_begin) +
        submodi_pixels_before(&b->bg, p->bg_end) - submodi_pixels_before(&b->bg, p->bg_begin);
    double sum = sum_from(&b->fg, p->fg_begin, p->fg_end, ref) +
                 sum_from(&b->bg, p->bg_begin, p->bg_end, ref);
    *block = block_of(p);
    submod_status status = submodi_block_gain(b, p->fg_begin, p->bg_begin, block, &gain);
    block->offset = (gain - b->lambda * sum) / pixels;
    return status;
}

static void settle(solver *s, const part *p, const submodi_block *block)
{
    s->b->block[rank_of(p)] = *block;
    s->b->count++;
}

static void open_part(solver *s, part p, step next)
{
    p.next = next;
    s->next[s->nexts++] = p;
}

/* The part with s = offset + lambda (x - ref): its lowest corner in F - s. */
static submod_status look_at(solver *s, const part *p, double ref, double offset,
                             submodi_corner *found)
{
    const submodi_blocks *b = s->b;
    const submodi_point_list *list[2] = {&b->bg, &b->fg};
    const size_t begin[2] = {p->bg_begin, p->fg_begin};
    const size_t end[2] = {p->bg_end, p->fg_end};
    submodi_prefixes kind[2];
    for (int k = 0; k < 2; k++) {
        submodi_long_sum sum = {0, 0};
        s->sum[k][0] = 0;
        for (size_t i = begin[k]; i < end[k]; i++) {
            double share = offset + b->lambda * (list[k]->value[i] - ref);
            sum = submodi_long_add(sum, submodi_pixels_of(list[k], i) * share);
            s->sum[k][i + 1 - begin[k]] = sum.hi + sum.lo;
        }
        kind[k] = (submodi_prefixes){.count = end[k] - begin[k],
                                     .amount = list[k]->before ? list[k]->before + begin[k] : NULL,
                                     .first = (double)begin[k],
                                     .sum = s->sum[k]};
    }
    submodi_rise rise;
    submod_status status = start_at(b, begin[1], begin[0], &rise);
    return status ? status
                  : submodi_find_lowest(&rise, &kind[1], &kind[0], 0, found, &s->b->work, s->work);
}

static bool is_inside(const part *p, const submodi_corner *c)
{
    size_t corner = c->fg + c->bg;
    return corner > 0 && corner < size_of(p);
}

/* The part of the path from rank `begin` to rank `end`; at: the points before it, moved behind it.
 */
static part piece(const solver *s, const part *of, size_t begin, size_t end, size_t at[2])
{
    part p = *of;
    p.fg_begin = (uint32_t)at[1];
    p.bg_begin = (uint32_t)at[0];
    for (size_t k = begin; k < end; k++) {
        at[s->is_fg[k]]++;
    }
    p.fg_end = (uint32_t)at[1];
    p.bg_end = (uint32_t)at[0];
    return p;
}

/* Isotonic regression along the path of a part. Returns the number of pools. */
static size_t regress(solver *s, const part *p)
{
    const submodi_blocks *b = s->b;
    const submodi_point_list *list[2] = {&b->bg, &b->fg};
    size_t at[2] = {p->bg_begin, p->fg_begin};
    pool *pools = s->pools;
    size_t count = 0;
    size_t end = rank_of(p) + size_of(p);
    for (size_t k = rank_of(p); k < end; k++) {
        bool fg = s->is_fg[k];
        size_t i = at[fg]++;
        pool last = {(uint32_t)k, list[fg]->value[i], s->gain[fg][i],
                     submodi_pixels_of(list[fg], i)};
        for (; count; count--) {
            const pool *before = &pools[count - 1];
            if (b->lambda * (before->x - last.x) > before->g - last.g) {
                break;
            }
            double share = before->pixels / (before->pixels + last.pixels);
            last.x += share * (before->x - last.x);
            last.g += share * (before->g - last.g);
            last.pixels += before->pixels;
            last.begin = before->begin;
        }
        pools[count++] = last;
    }
    return count;
}

/* ---- steps ---- */

/* Gains that are not finite: a custom measure has failed, which shows in its value as well. */
static submod_status check_gains(const solver *s, const part *p)
{
    bool good = submodi_all_finite(s->gain[1] + p->fg_begin, p->fg_end - p->fg_begin) &&
                submodi_all_finite(s->gain[0] + p->bg_begin, p->bg_end - p->bg_begin);
    return good ? SUBMOD_OK
                : submodi_fail(SUBMOD_ECALLBACK,
                               "%s: the measure gave NaN or Inf; it must be finite", s->b->who);
}

/* Finds a path through a part and the gains along it. */
static submod_status walk_along(solver *s, const part *p)
{
    submodi_form form = submodi_form_of(s->b->measure);
    s->b->work += size_of(p);
    if (!is_greedy(s->b)) {
        choose_path(s, p);
        return weigh(s, p);
    }
    if (form.type == SUBMOD_MEASURE_CUSTOM) {
        submodi_rise rise;
        submod_status status = start_at(s->b, p->fg_begin, p->bg_begin, &rise);
        if (status != SUBMOD_OK) {
            return status;
        }
        walk_greedily(s, p, form, rise.value);
        return check_gains(s, p);
    }
    walk_greedily(s, p, form, 0);
    return SUBMOD_OK;
}

/* lambda x - g of the next point of the path at rank k; at: the points before it. */
static double key_at(const solver *s, size_t k, size_t at[2])
{
    bool fg = s->is_fg[k];
    size_t i = at[fg]++;
    double x = (fg ? s->b->fg : s->b->bg).value[i];
    return s->b->lambda * x - s->gain[fg][i];
}

static submod_status walk(solver *s, const part *p)
{
    submod_status status = walk_along(s, p);
    size_t end = rank_of(p) + size_of(p);
    size_t at[2] = {p->bg_begin, p->fg_begin};
    s->segments = 0;
    for (size_t k = rank_of(p); status == SUBMOD_OK && k < end; k++) {
        double key = key_at(s, k, at);
        add_segment(s, k, key, key);
    }
    at[0] = p->bg_begin;
    at[1] = p->fg_begin;
    for (size_t i = 0; status == SUBMOD_OK && i < s->segments; i++) {
        size_t from = s->segment[i].begin;
        size_t to = i + 1 < s->segments ? s->segment[i + 1].begin : end;
        part q = piece(s, p, from, to, at);
        if (to - from == 1) {
            bool fg = s->is_fg[from];
            submodi_block block = block_of(&q);
            block.offset = s->gain[fg][at[fg] - 1];
            settle(s, &q, &block);
        } else {
            /* A greedy walk through it would go the same way again. */
            open_part(s, q, is_greedy(s->b) || is_lopsided(p, &q) ? LOOK : WALK);
        }
    }
    return status;
}

/* Adds a pool, part q of the path, as a segment. *block: the pool as a block, if it is at one
 * level; without points, if it is not. */
static submod_status add_pool(solver *s, const part *q, submodi_block *block)
{
    submodi_corner found = {0};
    double ref = ref_of(s->b, q);
    submod_status status = pool_part(s->b, q, block);
    if (status == SUBMOD_OK && !is_one_kind(q)) {
        status = look_at(s, q, ref, block->offset, &found);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    double low = s->b->lambda * ref - block->offset;
    double high = low;
    if (is_inside(q, &found)) {
        size_t at[2] = {q->bg_begin, q->fg_begin};
        low = INFINITY;
        high = -INFINITY;
        for (size_t k = rank_of(q); k < rank_of(q) + size_of(q); k++) {
            double key = key_at(s, k, at);
            low = key < low ? key : low;
            high = key > high ? key : high;
        }
        block->fg = block->bg = 0;
    }
    add_segment(s, rank_of(q), low, high);
    return SUBMOD_OK;
}

static submod_status look(solver *s, const part *p)
{
    submod_status status = SUBMOD_OK;
    size_t count = regress(s, p);
    s->segments = 0;
    size_t end = rank_of(p) + size_of(p);
    size_t at[2] = {p->bg_begin, p->fg_begin};
    for (size_t i = 0; status == SUBMOD_OK && i < count; i++) {
        size_t to = i + 1 < count ? s->pools[i + 1].begin : end;
        part q = piece(s, p, s->pools[i].begin, to, at);
        status = add_pool(s, &q, &s->b->block[rank_of(&q)]);
    }
    at[0] = p->bg_begin;
    at[1] = p->fg_begin;
    for (size_t i = 0; status == SUBMOD_OK && i < s->segments; i++) {
        size_t to = i + 1 < s->segments ? s->segment[i + 1].begin : end;
        part q = piece(s, p, s->segment[i].begin, to, at);
        const submodi_block *block = &s->b->block[rank_of(&q)];
        if ((size_t)block->fg + block->bg == size_of(&q)) {
            s->b->count++; /* a block that passed, alone */
        } else {
            open_part(s, q, is_lopsided(p, &q) ? SPLIT : WALK);
        }
    }
    return status;
}

/* Both sides of a corner inside the part; `at`: the level that was looked at. */
static submod_status split(solver *s, const part *p, const submodi_corner *c, double at,
                           step larger)
{
    submod_status status = SUBMOD_OK;
    part side[2] = {*p, *p};
    side[0].fg_end = side[1].fg_begin = p->fg_begin + (uint32_t)c->fg;
    side[0].bg_end = side[1].bg_begin = p->bg_begin + (uint32_t)c->bg;
    side[0].low = fmax(side[0].low, at);
    side[1].high = fmin(side[1].high, at);
    for (int i = 0; i < 2; i++) {
        if (size_of(&side[i]) > 1) {
            open_part(s, side[i], is_lopsided(p, &side[i]) ? larger : WALK);
        } else if (status == SUBMOD_OK) {
            submodi_block block;
            status = pool_part(s->b, &side[i], &block);
            settle(s, &side[i], &block);
        }
    }
    return status;
}

/* Whether the level falls from the first side of a corner to the second, as it must: else rounding
 * has made the corner, or F is not submodular. */
static submod_status falls(solver *s, const part *p, const submodi_corner *c, bool *yes)
{
    submodi_block block[2];
    part side[2] = {*p, *p};
    side[0].fg_end = side[1].fg_begin = p->fg_begin + (uint32_t)c->fg;
    side[0].bg_end = side[1].bg_begin = p->bg_begin + (uint32_t)c->bg;
    submod_status status = pool_part(s->b, &side[0], &block[0]);
    status = status ? status : pool_part(s->b, &side[1], &block[1]);
    double lambda = s->b->lambda;
    *yes = !status && lambda * (ref_of(s->b, &side[0]) - ref_of(s->b, &side[1])) >
                          block[0].offset - block[1].offset;
    return status;
}

static submod_status split_part(solver *s, const part *p)
{
    submodi_block block;
    submodi_corner found;
    double ref = ref_of(s->b, p);
    submod_status status = pool_part(s->b, p, &block);
    status = status ? status : look_at(s, p, ref, block.offset, &found);
    bool inside = status == SUBMOD_OK && is_inside(p, &found);
    if (inside) {
        status = falls(s, p, &found, &inside);
    }
    if (status == SUBMOD_OK && inside) {
        status = split(s, p, &found, ref - block.offset / s->b->lambda, HALVE);
    } else if (status == SUBMOD_OK) {
        settle(s, p, &block);
    }
    return status;
}

/* Floating-point numbers in their order, as integers. */
static int64_t to_order(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static double from_order(int64_t order)
{
    int64_t bits = order < 0 ? INT64_MIN - order : order;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static submod_status halve(solver *s, part *p)
{
    double middle = from_order(to_order(p->low) / 2 + to_order(p->high) / 2);
    submodi_corner found;
    submod_status status = look_at(s, p, middle, 0, &found);
    if (status == SUBMOD_OK && is_inside(p, &found)) {
        status = split(s, p, &found, middle, SPLIT);
    } else if (status == SUBMOD_OK) {
        *(found.fg + found.bg ? &p->low : &p->high) = middle;
        open_part(s, *p, SPLIT);
    }
    return status;
}

/* ---- all of it ---- */

/* Every level lies between the least and the largest value less a gain: the first of a kind is its
 * largest, the last its least. */
static submod_status bound_levels(const submodi_blocks *b, part *all)
{
    double least = INFINITY;
    double most = -INFINITY;
    const submodi_point_list *list[2] = {&b->bg, &b->fg};
    submod_status status = SUBMOD_OK;
    all->low = INFINITY;
    all->high = -INFINITY;
    for (uint32_t fg = 0; fg < 2; fg++) {
        size_t count = list[fg]->count;
        if (count && status == SUBMOD_OK) {
            const submodi_block one = {.fg = fg, .bg = 1 - fg};
            double first = 0;
            double last = 0;
            status = submodi_block_gain(b, 0, 0, &one, &first);
            status = status ? status
                            : submodi_block_gain(b, b->fg.count - fg, b->bg.count - (1 - fg), &one,
                                                 &last);
            most = fmax(most, first / submodi_pixels_of(list[fg], 0));
            least = fmin(least, last / submodi_pixels_of(list[fg], count - 1));
            all->high = fmax(all->high, list[fg]->value[0]);
            all->low = fmin(all->low, list[fg]->value[count - 1]);
        }
    }
    all->low -= fmax(most, 0) / b->lambda;
    all->high -= fmin(least, 0) / b->lambda;
    return status;
}

static bool take_arrays(solver *s)
{
    size_t fg = s->b->fg.count;
    size_t bg = s->b->bg.count;
    size_t n = fg + bg;
    s->is_fg = submodi_take(s->work, n, sizeof *s->is_fg);
    s->gain[0] = submodi_take(s->work, bg, sizeof *s->gain[0]);
    s->gain[1] = submodi_take(s->work, fg, sizeof *s->gain[1]);
    s->sum[0] = submodi_take(s->work, bg + 1, sizeof *s->sum[0]);
    s->sum[1] = submodi_take(s->work, fg + 1, sizeof *s->sum[1]);
    s->pools = submodi_take(s->work, n, sizeof *s->pools);
    s->segment = submodi_take(s->work, n, sizeof *s->segment);
    s->open = submodi_take(s->work, n / 2 + 2, sizeof *s->open);
    s->next = submodi_take(s->work, n / 2 + 2, sizeof *s->next);
    return s->is_fg && s->gain[0] && s->gain[1] && s->sum[0] && s->sum[1] && s->pools &&
           s->segment && s->open && s->next;
}

/* The search of a look has at most n / 2 rows, and tables of its own. */
size_t submodi_blocks_bytes(size_t n)
{
    size_t bytes = 0;
    bool good = submodi_add_size(&bytes, n, sizeof(uint8_t)) &&
                submodi_add_size(&bytes, 2 * n + 2, sizeof(double)) &&
                submodi_add_size(&bytes, n, sizeof(pool)) &&
                submodi_add_size(&bytes, n, sizeof(segment)) &&
                submodi_add_size(&bytes, n + 4, sizeof(part)) &&
                submodi_add_size(&bytes, 1, submodi_lowest_bytes(n)) &&
                submodi_add_size(&bytes, 16, SUBMODI_ALIGN);
    return good ? bytes : SIZE_MAX;
}

static submod_status sweep(solver *s)
{
    submod_status status = SUBMOD_OK;
    s->nexts = 0;
    for (size_t i = 0; status == SUBMOD_OK && i < s->opens; i++) {
        part *p = &s->open[i];
        switch (p->next) {
        case WALK: status = walk(s, p); break;
        case LOOK: status = look(s, p); break;
        case SPLIT: status = split_part(s, p); break;
        case HALVE: status = halve(s, p); break;
        }
    }
    part *open = s->open;
    s->open = s->next;
    s->opens = s->nexts;
    s->next = open;
    return status;
}

submod_status submodi_blocks_solve(submodi_blocks *b, submod_work *work)
{
    submodi_scope scope;
    solver s = {.b = b, .work = submodi_scope_open(&scope, work)};
    b->P = submodi_pixels_before(&b->fg, b->fg.count);
    b->N = submodi_pixels_before(&b->bg, b->bg.count);
    b->count = 0;
    b->work = 0;
    submod_status status = take_arrays(&s) ? SUBMOD_OK : submodi_nomem(b->who);
    if (status == SUBMOD_OK) {
        memset(s.gain[0], 0, b->bg.count * sizeof *s.gain[0]);
        memset(s.gain[1], 0, b->fg.count * sizeof *s.gain[1]);
        s.open[0] = (part){.fg_end = (uint32_t)b->fg.count, .bg_end = (uint32_t)b->bg.count};
        s.opens = 1;
        status = bound_levels(b, &s.open[0]);
    }
    while (status == SUBMOD_OK && s.opens) {
        status = sweep(&s);
    }
    submodi_scope_close(&scope);
    return status;
}
