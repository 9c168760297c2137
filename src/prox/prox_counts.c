/* The levels of the prox of F(a, b), F submodular, by greedy paths and checks. docs/mathematics.md,
 * section 7, has the proofs.
 *
 * The level sets are corners (a, b) of the lattice along one path from (0, 0) to (P, N). A part is
 * a piece of that path between two known level sets; at first the whole path is one part. A greedy
 * path guesses the way through a part, isotonic regression along it proposes levels, and checks
 * confirm or reject them. Parts that are still open are split at the lowest corner of F - s, where
 * s = lambda (x - mean level). If the larger side has more than 7/8, it is then split at half of
 * the known range of its levels, counted in floating-point numbers. So a point takes part in O(log
 * p + 64) steps, each O(p log p). */
#include "base/internal.h"
#include "base/sums.h"
#include "prox/points.h"
#include "submod/monge.h"

#define INLINE __attribute__((always_inline)) static inline

enum { LOPSIDED = 8, BATCH = 1024 };

enum step { PATH, REFINE, SPLIT, HALVE };

typedef struct part {
    submodi_level v;  /* its points */
    enum step step;   /* the next step */
    double low, high; /* of lambda u */
} part;

/* Consecutive entries of the path that no level set is known to cut. */
typedef struct segment {
    uint32_t begin;   /* rank; it ends where the next one begins */
    double low, high; /* the range of lambda x - base in it */
} segment;

typedef struct solver {
    submodi_points *points; /* finished levels are at the rank where they begin */
    uint8_t *label;         /* of the path through all parts, by rank */
    double *gain[2];        /* by point: per pixel, along the last path */
    double *sum[2];         /* prefix sums of s for a check */
    submodi_pool *pools;    /* of the part that is refined */
    segment *segment;
    size_t segments;
    part *open, *next;
    size_t opens, nexts;
    submod_work *work;
} solver;

static bool is_lopsided(const submodi_level *whole, const submodi_level *side)
{
    return LOPSIDED * submodi_level_size(side) > (LOPSIDED - 1) * submodi_level_size(whole);
}

static void open_part(solver *s, part p, enum step step)
{
    p.step = step;
    s->next[s->nexts++] = p;
}

/* Returns the points of the path from rank `begin` to `end`; at: the points before them, moved
 * behind them. */
static submodi_level cut_out(const solver *s, size_t begin, size_t end, size_t at[2])
{
    submodi_level v = {.begin = {(uint32_t)at[0], (uint32_t)at[1]}};
    for (size_t k = begin; k < end; k++) {
        at[s->label[k]]++;
    }
    v.end[0] = (uint32_t)at[0];
    v.end[1] = (uint32_t)at[1];
    return v;
}

/* ---- the greedy path ----
 *
 * If values are cheap, the path is chosen by the gains at each place. With a values callback it is
 * chosen by the gains along the previous path; after a few paths the result is nearly as good. */

static bool has_batch(const submodi_points *p)
{
    return p->measure->type == SUBMOD_MEASURE_CUSTOM && p->measure->ops.values;
}

/* A place on the path: points and pixels of both labels before it. */
typedef struct place {
    size_t at[2];
    double pixels[2];
    double value; /* F there; custom measures only */
} place;

/* The gain per pixel of a label's next point, and F after it. */
typedef struct offer {
    double gain, value;
} offer;

INLINE offer offer_of(const solver *s, submodi_form form, const place *w, int label)
{
    const submodi_points *p = s->points;
    const double P = p->total[1];
    const double N = p->total[0];
    double more = submodi_pixels_of(&p->list[label], w->at[label]);
    if (form.type != SUBMOD_MEASURE_CUSTOM) {
        double a = w->pixels[1] < P ? w->pixels[1] : P;
        return (offer){.gain = submodi_form_gain(form, P, N, a, w->pixels[0], more, !label)};
    }
    const submod_measure *m = p->measure;
    if (m->ops.values) {
        return (offer){.gain = s->gain[label][w->at[label]]};
    }
    double a = w->pixels[1] + (label ? more : 0);
    double b = w->pixels[0] + (label ? 0 : more);
    double value = m->ops.value(a < P ? a : P, b < N ? b : N, P, N, m->ctx);
    return (offer){(value - w->value) / more, value};
}

/* Chooses the path through a part: each step takes the label whose next point has the larger
 * lambda x - gain. */
static submod_status choose_path(solver *s, const submodi_level *v)
{
    const submodi_point_list *list = s->points->list;
    const submodi_form form = submodi_form_of(s->points->measure);
    const double lambda = s->points->lambda;
    submodi_increment from = {.value = 0};
    if (form.type == SUBMOD_MEASURE_CUSTOM && !has_batch(s->points)) {
        TRY(submodi_increment_at(s->points, v->begin, &from));
    }
    place w = {{v->begin[0], v->begin[1]},
               {submodi_pixels_before(&list[0], v->begin[0]),
                submodi_pixels_before(&list[1], v->begin[1])},
               from.value};
    for (size_t k = submodi_level_rank(v), end = k + submodi_level_size(v); k < end; k++) {
        offer fg = {0, 0};
        offer bg = {0, 0};
        bool fg_left = w.at[1] < v->end[1];
        bool bg_left = w.at[0] < v->end[0];
        if (fg_left) {
            fg = offer_of(s, form, &w, 1);
        }
        if (bg_left && isfinite(fg.value)) {
            bg = offer_of(s, form, &w, 0);
        }
        if (!isfinite(fg.value) || !isfinite(bg.value)) {
            return submodi_fail(SUBMOD_ECALLBACK, "the measure gave NaN or Inf; it must be finite");
        }
        int label = !bg_left || (fg_left && lambda * list[1].value[w.at[1]] - fg.gain >=
                                                lambda * list[0].value[w.at[0]] - bg.gain);
        size_t point = w.at[label]++;
        s->label[k] = (uint8_t)label;
        s->gain[label][point] = label ? fg.gain : bg.gain;
        w.pixels[label] += submodi_pixels_of(&list[label], point);
        w.value = label ? fg.value : bg.value;
    }
    return SUBMOD_OK;
}

/* Computes the gains along the path, by values of F at BATCH corners at a time. */
static submod_status weigh_path(solver *s, const submodi_level *v)
{
    const submodi_point_list *list = s->points->list;
    double A[BATCH], B[BATCH], F[BATCH];
    submodi_increment from;
    size_t at[2] = {v->begin[0], v->begin[1]};
    size_t end = submodi_level_rank(v) + submodi_level_size(v);
    double before = 0;
    TRY(submodi_increment_at(s->points, v->begin, &from));
    for (size_t k = submodi_level_rank(v), count; k < end; k += count) {
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

/* ---- checks ---- */

/* Finds the lowest corner among the points of v in F - s, s = offset + lambda (x - ref). *inside:
 * whether it is neither of both ends. If there is none inside for v's own offset, v is one level.
 */
static submod_status find_corner(solver *s, const submodi_level *v, double offset,
                                 submodi_lattice_point *found, bool *inside)
{
    const submodi_points *p = s->points;
    const double ref = submodi_level_ref(p, v);
    submodi_prefix_sums prefix[2];
    submodi_increment from;
    for (int k = 0; k < 2; k++) {
        const submodi_point_list *list = &p->list[k];
        submodi_compensated_sum sum = {0, 0};
        const size_t begin = v->begin[k];
        const size_t count = v->end[k] - begin;
        s->sum[k][0] = 0;
        for (size_t i = 0; i < count; i++) {
            double share = offset + p->lambda * (list->value[begin + i] - ref);
            sum = submodi_compensated_add(sum, submodi_pixels_of(list, begin + i) * share);
            s->sum[k][i + 1] = sum.hi + sum.lo;
        }
        prefix[k] = (submodi_prefix_sums){.count = count,
                                          .amount = list->before ? list->before + begin : NULL,
                                          .first = (double)begin,
                                          .sum = s->sum[k]};
    }
    TRY(submodi_increment_at(p, v->begin, &from));
    TRY(submodi_monge_minimum(&from, &prefix[1], &prefix[0], 0, found, &s->points->work, s->work));
    *inside = found->fg + found->bg > 0 && found->fg + found->bg < submodi_level_size(v);
    return SUBMOD_OK;
}

/* ---- refining ----
 *
 * The gains along the path are a base, and so is s = lambda (x - level) where a check passed.
 * Wherever every lambda x - base before a place is larger than every one after it, the place is a
 * level set. */

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

/* Opens the segments of a part that are not yet levels. */
static void open_segments(solver *s, const part *p, enum step step)
{
    bool batch = has_batch(s->points);
    size_t end = submodi_level_rank(&p->v) + submodi_level_size(&p->v);
    size_t at[2] = {p->v.begin[0], p->v.begin[1]};
    for (size_t i = 0; i < s->segments; i++) {
        const segment *g = &s->segment[i];
        part q = {.low = g->low, .high = g->high};
        q.v = cut_out(s, g->begin, i + 1 < s->segments ? g[1].begin : end, at);
        if (submodi_level_size(&s->points->level[g->begin]) != submodi_level_size(&q.v)) {
            open_part(s, q, batch && !is_lopsided(&p->v, &q.v) ? PATH : step);
        }
    }
}

/* Finds a path through a part, and single points that are levels. */
static submod_status follow(solver *s, const part *p)
{
    const submodi_points *points = s->points;
    TRY(choose_path(s, &p->v));
    if (has_batch(points)) {
        TRY(weigh_path(s, &p->v));
    }
    s->points->work += submodi_level_size(&p->v);
    s->segments = 0;
    size_t end = submodi_level_rank(&p->v) + submodi_level_size(&p->v);
    size_t at[2] = {p->v.begin[0], p->v.begin[1]};
    for (size_t k = submodi_level_rank(&p->v); k < end; k++) {
        int label = s->label[k];
        double gain = s->gain[label][at[label]];
        double key = points->lambda * points->list[label].value[at[label]] - gain;
        points->level[k] = cut_out(s, k, k + 1, at);
        points->level[k].gain = points->level[k].offset = gain;
        add_segment(s, k, key, key);
    }
    open_segments(s, p, REFINE);
    return SUBMOD_OK;
}

/* Checks the points v of a pool and adds them as a segment. The level at their rank is complete if
 * the check passed, else empty. */
static submod_status add_pool(solver *s, submodi_level v, const submodi_pool *pool)
{
    const submodi_points *p = s->points;
    submodi_lattice_point corner;
    bool failed = false;
    v.offset = v.gain = pool->g; /* right for one point */
    if (submodi_level_size(&v) > 1) {
        TRY(submodi_pool_points(p, &v));
    }
    if (v.begin[0] < v.end[0] && v.begin[1] < v.end[1]) { /* points of one label always pass */
        TRY(find_corner(s, &v, v.offset, &corner, &failed));
    }
    double low = p->lambda * submodi_level_ref(p, &v) - v.offset;
    double high = low;
    for (int k = 0; failed && k < 2; k++) {
        for (size_t i = v.begin[k]; i < v.end[k]; i++) {
            double key = p->lambda * p->list[k].value[i] - s->gain[k][i];
            low = fmin(low, key);
            high = fmax(high, key);
        }
        v.end[k] = v.begin[k];
    }
    p->level[pool->begin] = v;
    add_segment(s, pool->begin, low, high);
    return SUBMOD_OK;
}

/* Regresses along the path of a part. Returns the number of pools. */
static size_t regress(solver *s, const submodi_level *v)
{
    const submodi_points *p = s->points;
    size_t at[2] = {v->begin[0], v->begin[1]};
    size_t count = 0;
    for (size_t k = submodi_level_rank(v), end = k + submodi_level_size(v); k < end; k++) {
        int label = s->label[k];
        size_t i = at[label]++;
        submodi_pool last = {k, p->list[label].value[i], s->gain[label][i],
                             submodi_pixels_of(&p->list[label], i)};
        count = submodi_pool_add(s->pools, count, last, p->lambda);
    }
    return count;
}

/* Regresses along the path of a part, and checks the pools. */
static submod_status refine(solver *s, const part *p)
{
    size_t count = regress(s, &p->v);
    size_t end = submodi_level_rank(&p->v) + submodi_level_size(&p->v);
    size_t at[2] = {p->v.begin[0], p->v.begin[1]};
    s->segments = 0;
    for (size_t i = 0; i < count; i++) {
        const submodi_pool *pool = &s->pools[i];
        TRY(add_pool(s, cut_out(s, pool->begin, i + 1 < count ? pool[1].begin : end, at), pool));
    }
    open_segments(s, p, SPLIT);
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

/* Cuts v at a corner into two sides, each as one level. *falls becomes whether the level falls
 * there; if not, the corner is due to rounding or F is not submodular. */
static submod_status cut_at(const submodi_points *p, const submodi_level *v,
                            const submodi_lattice_point *corner, submodi_level side[2], bool *falls)
{
    side[0] = side[1] = *v;
    side[0].end[0] = side[1].begin[0] = v->begin[0] + (uint32_t)corner->bg;
    side[0].end[1] = side[1].begin[1] = v->begin[1] + (uint32_t)corner->fg;
    TRY(submodi_pool_points(p, &side[0]));
    TRY(submodi_pool_points(p, &side[1]));
    *falls = p->lambda * (submodi_level_ref(p, &side[0]) - submodi_level_ref(p, &side[1])) >
             side[0].offset - side[1].offset;
    return SUBMOD_OK;
}

/* Splits a part at its mean level, or (HALVE) in the middle of the range of its levels. */
static submod_status split(solver *s, part *p)
{
    submodi_points *points = s->points;
    submodi_level *v = &p->v;
    submodi_level side[2];
    submodi_lattice_point corner;
    bool falls;
    TRY(submodi_pool_points(points, v));
    double top = points->lambda * submodi_level_ref(points, v);
    double level = top - v->offset;
    double offset = v->offset;
    if (p->step == HALVE) {
        level = from_order(to_order(p->low) / 2 + to_order(p->high) / 2);
        offset = top - level;
    }
    TRY(find_corner(s, v, offset, &corner, &falls));
    bool inside = falls;
    if (inside) {
        TRY(cut_at(points, v, &corner, side, &falls));
    }
    if (!falls && p->step == SPLIT) {
        points->level[submodi_level_rank(v)] = *v;
        return SUBMOD_OK;
    }
    if (!falls) {
        if (!inside) {
            *(corner.fg + corner.bg ? &p->low : &p->high) = level;
        }
        open_part(s, *p, SPLIT);
        return SUBMOD_OK;
    }
    enum step larger = p->step == SPLIT ? HALVE : SPLIT;
    for (int i = 0; i < 2; i++) {
        part q = {.v = side[i],
                  .low = i ? p->low : fmax(p->low, level),
                  .high = i ? fmin(p->high, level) : p->high};
        if (submodi_level_size(&q.v) > 1) {
            open_part(s, q, is_lopsided(v, &q.v) ? larger : PATH);
        } else {
            points->level[submodi_level_rank(&q.v)] = q.v;
        }
    }
    return SUBMOD_OK;
}

/* ---- all of it ---- */

static submod_status start(solver *s)
{
    size_t n = 0;
    submod_work *w = s->work;
    for (int k = 0; k < 2; k++) {
        size_t count = s->points->list[k].count;
        n += count;
        s->gain[k] = submodi_work_alloc(w, count, sizeof *s->gain[k]);
        s->sum[k] = submodi_work_alloc(w, count + 1, sizeof *s->sum[k]);
        TRY(submodi_work_status(w));
        memset(s->gain[k], 0, count * sizeof *s->gain[k]);
    }
    s->label = submodi_work_alloc(w, n, sizeof *s->label);
    s->pools = submodi_work_alloc(w, n, sizeof *s->pools);
    s->segment = submodi_work_alloc(w, n, sizeof *s->segment);
    s->open = submodi_work_alloc(w, n / 2 + 2, sizeof *s->open);
    s->next = submodi_work_alloc(w, n / 2 + 2, sizeof *s->next);
    TRY(submodi_work_status(w));
    s->opens = 1;
    s->open[0] =
        (part){.v.end = {(uint32_t)s->points->list[0].count, (uint32_t)s->points->list[1].count}};
    return SUBMOD_OK;
}

static submod_status sweep(solver *s)
{
    s->nexts = 0;
    for (size_t i = 0; i < s->opens; i++) {
        part *p = &s->open[i];
        TRY(p->step == PATH ? follow(s, p) : p->step == REFINE ? refine(s, p) : split(s, p));
    }
    part *open = s->open;
    s->open = s->next;
    s->opens = s->nexts;
    s->next = open;
    return SUBMOD_OK;
}

submod_status submodi_counts_levels(submodi_points *p, submod_work *work)
{
    size_t n = p->list[0].count + p->list[1].count;
    solver s = {.points = p, .work = work};
    TRY(start(&s));
    while (s.opens) {
        TRY(sweep(&s));
    }
    for (size_t rank = 0; rank < n; p->count++) { /* moves the levels to the front */
        submodi_level v = p->level[rank];
        p->level[p->count] = v;
        rank += submodi_level_size(&v);
    }
    return SUBMOD_OK;
}
