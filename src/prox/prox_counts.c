/* The levels of the prox of F(a, b), F submodular, by greedy paths and checks. docs/mathematics.md,
 * section 7, has the proofs.
 *
 * A level set takes the largest values of each label: it is a corner (a, b) of the lattice, and the
 * level sets are corners along one path from (0, 0) to (P, N). A part is a piece of that path
 * between two level sets that are known: some points of each label. At first all are one part.
 *
 * Refining a part: a greedy path guesses the way through it, always on to the label whose next
 * point has the larger lambda x - g, g its gain. These gains are a base of the part. Isotonic
 * regression along the path proposes levels that fall. A check of each finds whether it is one
 * level: whether no corner in it lies below 0 in F - s, s = lambda (x - level), which monge.c
 * finds. Then s is a base there as well as g. With s where the check passed, and g elsewhere,
 * wherever every lambda x - base before a place is larger than every one after it, the place is a
 * level set. Levels that passed and stand alone are done.
 *
 * Splitting a part: its lowest corner as one level is a level set inside, or the part is one level.
 * Such cuts may be lopsided. The larger side, if it has more than 7/8, is then split at half of the
 * known range of its levels, counted in floating-point numbers: at most 64 such halvings are
 * possible. So a point takes part in O(log p + 64) refinements and splits, each O(p log p). In
 * practice few greedy paths leave little to check. */
#include "base/internal.h"
#include "base/sums.h"
#include "prox/isotonic.h"
#include "prox/points.h"
#include "submod/monge.h"

#define INLINE __attribute__((always_inline)) static inline

enum { LOPSIDED = 8, BATCH = 1024 };

enum step { PATH, REFINE, SPLIT, HALVE };

/* Points [begin[k], end[k]) of both labels between two level sets. */
typedef struct part {
    uint32_t begin[2], end[2];
    int step;         /* what is done with it next */
    double low, high; /* of lambda u */
} part;

/* Consecutive entries of the path that no level set is known to cut. */
typedef struct segment {
    uint32_t begin;   /* rank; it ends where the next one begins */
    double low, high; /* the range of lambda x - base in it */
} segment;

typedef struct solver {
    submodi_points *l;
    uint8_t *label;         /* of the path through all parts, by rank */
    double *gain[2];        /* by point: per pixel, along the last path */
    double *sum[2];         /* prefix sums of s for a check */
    submodi_pool *pools;    /* of the part that is refined */
    submodi_level *at_rank; /* levels that are done, by the rank at which they begin */
    segment *segment;
    size_t segments;
    part *open, *next;
    size_t opens, nexts;
    submod_work *work;
} solver;

static size_t rank_of(const part *p)
{
    return (size_t)p->begin[0] + p->begin[1];
}

static size_t size_of(const part *p)
{
    return (size_t)(p->end[0] - p->begin[0]) + (p->end[1] - p->begin[1]);
}

static bool is_lopsided(const part *p, const part *q)
{
    return LOPSIDED * size_of(q) > (LOPSIDED - 1) * size_of(p);
}

static void open_part(solver *s, part p, int step)
{
    p.step = step;
    s->next[s->nexts++] = p;
}

/* Returns the part of the path from rank `begin` to `end`; at: the points before it, moved behind
 * it. */
static part cut_out(const solver *s, size_t begin, size_t end, size_t at[2])
{
    part p = {.begin = {(uint32_t)at[0], (uint32_t)at[1]}};
    for (size_t k = begin; k < end; k++) {
        at[s->label[k]]++;
    }
    p.end[0] = (uint32_t)at[0];
    p.end[1] = (uint32_t)at[1];
    return p;
}

static submod_status increment_at(const submodi_points *l, const uint32_t at[2],
                                  submodi_increment *from)
{
    return submodi_increment_from(l->measure, l->total[1], l->total[0],
                                  submodi_pixels_before(&l->list[1], at[1]),
                                  submodi_pixels_before(&l->list[0], at[0]), from);
}

/* ---- the greedy path ----
 *
 * Where a value costs little, the gains that choose the way are those at the place itself. A
 * measure with a values callback computes those along a whole path instead, chosen by the gains of
 * the path before; a few of them are nearly as good. */

static bool has_batch(const submodi_points *l)
{
    return l->measure->type == SUBMOD_MEASURE_CUSTOM && l->measure->ops.values;
}

/* A place on the path: points and pixels of both labels before it. */
typedef struct place {
    size_t at[2];
    double pixels[2];
    double value; /* F there; custom measures only */
} place;

/* What the next point of a label would add to each of its pixels, and F after it. */
typedef struct offer {
    double gain, value;
} offer;

INLINE offer offer_of(const solver *s, submodi_form form, const place *w, int label)
{
    const submodi_points *l = s->l;
    const double P = l->total[1];
    const double N = l->total[0];
    double more = submodi_pixels_of(&l->list[label], w->at[label]);
    if (form.type == SUBMOD_MEASURE_CUSTOM) {
        const submod_measure *m = l->measure;
        if (m->ops.values) {
            return (offer){.gain = s->gain[label][w->at[label]]};
        }
        double a = w->pixels[1] + (label ? more : 0);
        double b = w->pixels[0] + (label ? 0 : more);
        double value = m->ops.value(a < P ? a : P, b < N ? b : N, P, N, m->ctx);
        return (offer){(value - w->value) / more, value};
    }
    double a = w->pixels[1] < P ? w->pixels[1] : P;
    return (offer){.gain = submodi_form_gain(form, P, N, a, w->pixels[0], more, !label)};
}

/* Follows the path through a part. Returns false as soon as a custom measure fails. */
static bool go_greedily(solver *s, const part *p, submodi_form form, double value)
{
    const submodi_point_list *list = s->l->list;
    const double lambda = s->l->lambda;
    place w = {{p->begin[0], p->begin[1]},
               {submodi_pixels_before(&list[0], p->begin[0]),
                submodi_pixels_before(&list[1], p->begin[1])},
               value};
    for (size_t k = rank_of(p), end = k + size_of(p); k < end; k++) {
        offer fg = {0, 0};
        offer bg = {0, 0};
        bool fg_left = w.at[1] < p->end[1];
        bool bg_left = w.at[0] < p->end[0];
        if (fg_left) {
            fg = offer_of(s, form, &w, 1);
        }
        if (bg_left && isfinite(fg.value)) {
            bg = offer_of(s, form, &w, 0);
        }
        if (!isfinite(fg.value) || !isfinite(bg.value)) {
            return false;
        }
        int label = !bg_left || (fg_left && lambda * list[1].value[w.at[1]] - fg.gain >=
                                                lambda * list[0].value[w.at[0]] - bg.gain);
        size_t point = w.at[label]++;
        s->label[k] = (uint8_t)label;
        s->gain[label][point] = label ? fg.gain : bg.gain;
        w.pixels[label] += submodi_pixels_of(&list[label], point);
        w.value = label ? fg.value : bg.value;
    }
    return true;
}

/* Computes the gains along the path, by values of F at BATCH corners at a time. */
static submod_status weigh_path(solver *s, const part *p)
{
    const submodi_point_list *list = s->l->list;
    double A[BATCH];
    double B[BATCH];
    double F[BATCH];
    submodi_increment from;
    size_t at[2] = {p->begin[0], p->begin[1]};
    size_t end = rank_of(p) + size_of(p);
    double before = 0;
    TRY(increment_at(s->l, p->begin, &from));
    for (size_t k = rank_of(p), count; k < end; k += count) {
        size_t first[2] = {at[0], at[1]};
        count = end - k < BATCH ? end - k : BATCH;
        for (size_t i = 0; i < count; i++) {
            at[s->label[k + i]]++;
            A[i] = submodi_pixels_before(&list[1], at[1]);
            B[i] = submodi_pixels_before(&list[0], at[0]);
        }
        TRY(submodi_increments(&from, count, A, B, F));
        for (size_t i = 0; i < count; i++) {
            int label = s->label[k + i];
            size_t point = first[label]++;
            s->gain[label][point] = (F[i] - before) / submodi_pixels_of(&list[label], point);
            before = F[i];
        }
    }
    return SUBMOD_OK;
}

/* Finds a path through a part and the gains along it. */
static submod_status find_path(solver *s, const part *p)
{
    submodi_form form = submodi_form_of(s->l->measure);
    submodi_increment from = {.value = 0};
    s->l->work += size_of(p);
    if (form.type == SUBMOD_MEASURE_CUSTOM && !has_batch(s->l)) {
        TRY(increment_at(s->l, p->begin, &from));
    }
    if (!go_greedily(s, p, form, from.value)) {
        return submodi_fail(SUBMOD_ECALLBACK, "the measure gave NaN or Inf; it must be finite");
    }
    return has_batch(s->l) ? weigh_path(s, p) : SUBMOD_OK;
}

/* ---- checks ---- */

/* Fills *v: the part as one level. */
static submod_status pool_part(const solver *s, const part *p, submodi_level *v)
{
    const submodi_points *l = s->l;
    submodi_increment from;
    double sum = 0;
    double pixels[2];
    *v = (submodi_level){.begin = {p->begin[0], p->begin[1]}, .end = {p->end[0], p->end[1]}};
    double ref = submodi_level_ref(l, v);
    for (int k = 0; k < 2; k++) {
        submodi_compensated_sum of_label = {0, 0};
        for (size_t i = p->begin[k]; i < p->end[k]; i++) {
            double x = l->list[k].value[i] - ref;
            of_label = submodi_compensated_add(of_label, submodi_pixels_of(&l->list[k], i) * x);
        }
        sum += of_label.hi + of_label.lo;
        pixels[k] = submodi_pixels_in(&l->list[k], p->begin[k], p->end[k]);
    }
    TRY(increment_at(l, p->begin, &from));
    TRY(submodi_increment_by(&from, pixels[1], pixels[0], &v->gain));
    v->offset = (v->gain - l->lambda * sum) / (pixels[0] + pixels[1]);
    v->gain /= pixels[0] + pixels[1];
    return SUBMOD_OK;
}

/* Finds the lowest corner of the part in F - s, s = offset + lambda (x - ref), unless it is one of
 * both ends. */
static submod_status find_corner(solver *s, const part *p, double ref, double offset,
                                 submodi_lattice_point *found, bool *inside)
{
    const submodi_points *l = s->l;
    submodi_prefix_sums prefix[2];
    submodi_increment from;
    for (int k = 0; k < 2; k++) {
        const submodi_point_list *list = &l->list[k];
        submodi_compensated_sum sum = {0, 0};
        const size_t begin = p->begin[k];
        const size_t count = p->end[k] - begin;
        s->sum[k][0] = 0;
        for (size_t i = 0; i < count; i++) {
            double share = offset + l->lambda * (list->value[begin + i] - ref);
            sum = submodi_compensated_add(sum, submodi_pixels_of(list, begin + i) * share);
            s->sum[k][i + 1] = sum.hi + sum.lo;
        }
        prefix[k] = (submodi_prefix_sums){.count = count,
                                          .amount = list->before ? list->before + begin : NULL,
                                          .first = (double)begin,
                                          .sum = s->sum[k]};
    }
    TRY(increment_at(l, p->begin, &from));
    TRY(submodi_monge_minimum(&from, &prefix[1], &prefix[0], 0, found, &s->l->work, s->work));
    *inside = found->fg + found->bg > 0 && found->fg + found->bg < size_of(p);
    return SUBMOD_OK;
}

/* ---- refining ---- */

/* Adds entries of the path from rank `begin` on to the last segment, or to a new one. low, high:
 * the range of lambda x - base among them. */
static void add_segment(solver *s, size_t begin, double low, double high)
{
    segment last = {(uint32_t)begin, low, high};
    for (; s->segments && s->segment[s->segments - 1].low <= last.high; s->segments--) {
        const segment *before = &s->segment[s->segments - 1];
        last.begin = before->begin;
        last.low = fmin(last.low, before->low);
        last.high = fmax(last.high, before->high);
    }
    s->segment[s->segments++] = last;
}

/* Checks a pool, part q of the path: whether it is one level. */
static submod_status check_pool(solver *s, const part *q, submodi_level *v, bool *failed)
{
    submodi_lattice_point corner;
    TRY(pool_part(s, q, v));
    if (q->begin[0] == q->end[0] || q->begin[1] == q->end[1]) {
        return SUBMOD_OK;
    }
    return find_corner(s, q, submodi_level_ref(s->l, v), v->offset, &corner, failed);
}

/* Adds a pool as a segment, if `check` after a check. The level at its rank is complete if it
 * passed, else empty. */
static submod_status add_pool(solver *s, const part *q, const submodi_pool *pool, bool check)
{
    const submodi_points *l = s->l;
    submodi_level *v = &s->at_rank[rank_of(q)];
    bool failed = !check && size_of(q) > 1;
    if (!check || size_of(q) == 1) {
        *v = (submodi_level){.offset = pool->g,
                             .gain = pool->g,
                             .begin = {q->begin[0], q->begin[1]},
                             .end = {q->end[0], q->end[1]}};
    } else {
        TRY(check_pool(s, q, v, &failed));
    }
    double low = l->lambda * submodi_level_ref(l, v) - v->offset;
    double high = low;
    for (int k = 0; failed && k < 2; k++) {
        for (size_t i = q->begin[k]; i < q->end[k]; i++) {
            double key = l->lambda * l->list[k].value[i] - s->gain[k][i];
            low = fmin(low, key);
            high = fmax(high, key);
        }
        v->end[0] = v->begin[0];
        v->end[1] = v->begin[1];
    }
    add_segment(s, rank_of(q), low, high);
    return SUBMOD_OK;
}

/* Isotonic regression along the path of a part. Returns the number of pools. */
static size_t regress(solver *s, const part *p)
{
    const submodi_points *l = s->l;
    size_t at[2] = {p->begin[0], p->begin[1]};
    size_t count = 0;
    for (size_t k = rank_of(p), end = k + size_of(p); k < end; k++) {
        int label = s->label[k];
        size_t i = at[label]++;
        submodi_pool last = {k, l->list[label].value[i], s->gain[label][i],
                             submodi_pixels_of(&l->list[label], i)};
        count = submodi_pool_add(s->pools, count, last, l->lambda);
    }
    return count;
}

/* A measure with a values callback goes on finding paths (PATH) while these cut the part, and
 * checks only then (REFINE); others do both at once. */
static submod_status refine(solver *s, const part *p)
{
    bool batch = has_batch(s->l);
    if (p->step == PATH || !batch) {
        TRY(find_path(s, p));
    }
    size_t count = regress(s, p);
    size_t end = rank_of(p) + size_of(p);
    size_t at[2] = {p->begin[0], p->begin[1]};
    s->segments = 0;
    for (size_t i = 0; i < count; i++) {
        size_t to = i + 1 < count ? s->pools[i + 1].begin : end;
        part q = cut_out(s, s->pools[i].begin, to, at);
        TRY(add_pool(s, &q, &s->pools[i], p->step == REFINE));
    }
    at[0] = p->begin[0];
    at[1] = p->begin[1];
    for (size_t i = 0; i < s->segments; i++) {
        const segment *g = &s->segment[i];
        part q = cut_out(s, g->begin, i + 1 < s->segments ? g[1].begin : end, at);
        if (submodi_level_size(&s->at_rank[g->begin]) != size_of(&q)) {
            q.low = g->low;
            q.high = g->high;
            int next = p->step == PATH ? REFINE : SPLIT;
            open_part(s, q, batch && !is_lopsided(p, &q) ? PATH : next);
        }
    }
    return SUBMOD_OK;
}

/* ---- splitting ---- */

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

/* Cuts the part at a corner; v: each side as one level. *falls: whether the level falls there, as
 * it must: else rounding has made the corner, or F is not submodular. */
static submod_status cut_at(const solver *s, const part *p, const submodi_lattice_point *c,
                            part side[2], submodi_level v[2], bool *falls)
{
    const submodi_points *l = s->l;
    side[0] = side[1] = *p;
    side[0].end[0] = side[1].begin[0] = p->begin[0] + (uint32_t)c->bg;
    side[0].end[1] = side[1].begin[1] = p->begin[1] + (uint32_t)c->fg;
    TRY(pool_part(s, &side[0], &v[0]));
    TRY(pool_part(s, &side[1], &v[1]));
    *falls = l->lambda * (submodi_level_ref(l, &v[0]) - submodi_level_ref(l, &v[1])) >
             v[0].offset - v[1].offset;
    return SUBMOD_OK;
}

static int first_step(const solver *s)
{
    return has_batch(s->l) ? PATH : REFINE;
}

/* Splits a part at its mean level, or (HALVE) in the middle of the range of its levels. */
static submod_status split(solver *s, part *p)
{
    const double lambda = s->l->lambda;
    submodi_level whole;
    submodi_level v[2];
    submodi_lattice_point corner;
    part side[2];
    bool inside;
    TRY(pool_part(s, p, &whole));
    double ref = submodi_level_ref(s->l, &whole);
    double level = lambda * ref - whole.offset;
    double offset = whole.offset;
    if (p->step == HALVE) {
        level = from_order(to_order(p->low) / 2 + to_order(p->high) / 2);
        offset = lambda * ref - level;
    }
    TRY(find_corner(s, p, ref, offset, &corner, &inside));
    bool falls = false;
    if (inside) {
        TRY(cut_at(s, p, &corner, side, v, &falls));
    }
    if (!falls && p->step == SPLIT) {
        s->at_rank[rank_of(p)] = whole;
        return SUBMOD_OK;
    }
    if (!falls) {
        if (!inside) {
            *(corner.fg + corner.bg ? &p->low : &p->high) = level;
        }
        open_part(s, *p, SPLIT);
        return SUBMOD_OK;
    }
    side[0].low = fmax(p->low, level);
    side[1].high = fmin(p->high, level);
    int larger = p->step == SPLIT ? HALVE : SPLIT;
    for (int i = 0; i < 2; i++) {
        if (size_of(&side[i]) > 1) {
            open_part(s, side[i], is_lopsided(p, &side[i]) ? larger : first_step(s));
        } else {
            s->at_rank[rank_of(&side[i])] = v[i];
        }
    }
    return SUBMOD_OK;
}

/* ---- all of it ---- */

static submod_status take_arrays(solver *s)
{
    size_t n = s->l->list[0].count + s->l->list[1].count;
    submod_work *w = s->work;
    for (int k = 0; k < 2; k++) {
        size_t count = s->l->list[k].count;
        s->gain[k] = submodi_work_alloc(w, count, sizeof *s->gain[k]);
        s->sum[k] = submodi_work_alloc(w, count + 1, sizeof *s->sum[k]);
    }
    s->label = submodi_work_alloc(w, n, sizeof *s->label);
    s->pools = submodi_work_alloc(w, n, sizeof *s->pools);
    s->segment = submodi_work_alloc(w, n, sizeof *s->segment);
    s->open = submodi_work_alloc(w, n / 2 + 2, sizeof *s->open);
    s->next = submodi_work_alloc(w, n / 2 + 2, sizeof *s->next);
    s->at_rank = s->l->level;
    return submodi_work_status(w);
}

static submod_status sweep(solver *s)
{
    s->nexts = 0;
    for (size_t i = 0; i < s->opens; i++) {
        TRY(s->open[i].step <= REFINE ? refine(s, &s->open[i]) : split(s, &s->open[i]));
    }
    part *open = s->open;
    s->open = s->next;
    s->opens = s->nexts;
    s->next = open;
    return SUBMOD_OK;
}

/* Moves the levels from the ranks where they begin to the front. */
static void compact(submodi_points *l)
{
    size_t n = l->list[0].count + l->list[1].count;
    for (size_t rank = 0; rank < n; l->count++) {
        submodi_level v = l->level[rank];
        l->level[l->count] = v;
        rank += submodi_level_size(&v);
    }
}

submod_status submodi_counts_levels(submodi_points *l, submod_work *work)
{
    solver s = {.l = l, .work = work, .opens = 1};
    TRY(take_arrays(&s));
    for (int k = 0; k < 2; k++) {
        memset(s.gain[k], 0, l->list[k].count * sizeof *s.gain[k]);
    }
    s.open[0] = (part){.step = first_step(&s),
                       .end = {(uint32_t)l->list[0].count, (uint32_t)l->list[1].count}};
    while (s.opens) {
        TRY(sweep(&s));
    }
    compact(l);
    return SUBMOD_OK;
}
