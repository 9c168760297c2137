/* Prox of the cut of a graph that consists of paths (total variation in one dimension) by taut
 * strings (docs/mathematics.md, section 7). On one path,
 *
 *     u = argmin of  sum over i < n - 1 of f_i + lambda/2 |u - x|^2,
 *     f_i = out[i] max(u_i - u_i+1, 0) + in[i] max(u_i+1 - u_i, 0),       s = lambda (x - u).
 *
 * Let X_k = x_0 + .. + x_k-1, and R_k the same sum of u: a string from X_0 to X_n in a tube around
 * X,
 *
 *     -out_k-1 <= lambda (R_k - X_k) <= in_k-1 .
 *
 * It is a line between knots. It bends around knots of the upper edge, where u rises, and of the
 * lower edge, where u falls. O(n); the result does not depend on the number of threads. */
#include "base/internal.h"
#include "base/sums.h"
#include "prox/prox_internal.h"

/* A point of the tube's edge. */
typedef struct knot {
    double hi, lo; /* sum of x over the entries before the knot */
    double offset; /* distance from that sum, times lambda */
    double rise;   /* scaled rise of the line from the previous knot, and its length */
    double length;
    size_t at; /* number of entries before the knot */
} knot;

/* One edge of the tube beyond the anchor. */
typedef struct edge {
    const double *weight;
    double sign;         /* of the offset: 1 for the upper edge, -1 for the lower one */
    double rise, length; /* the first line of its hull; infinite if there is no point yet */
    knot *hull;          /* the known part of the hull: knots first .. last - 1 */
    size_t first, last;
} edge;

typedef struct string {
    size_t n;
    const double *x;
    double lambda;
    double share, scale; /* share * scale = 1 / lambda, which alone may overflow */
    knot anchor;
    double bend; /* at the anchor: 1, u rises (upper edge); -1, u falls; 0 at the start */
    edge lower, upper;
    double *u, *s;
    size_t steps;
    size_t again; /* points that were visited again */
} string;

/* Returns the scaled rise from a knot to a point of an edge. hi + lo is the sum of x before that
 * point. */
static inline double rise_to(const string *t, const knot *from, double hi, double lo, double offset)
{
    double x = (hi - from->hi) + (lo - from->lo);
    return x + t->share * (t->scale * (offset - from->offset));
}

/* Returns how much steeper a line is than the first line of an edge, upwards for an upper edge. A
 * line of this edge narrows the funnel between both first lines if the result is < 0; a line of the
 * other edge closes it if the result is > 0. */
static inline double steeper(const edge *e, double rise, double length)
{
    return e->sign * (rise * e->length) - e->sign * (e->rise * length);
}

/* Discards all points of the edge. */
static inline void forget(edge *e)
{
    e->first = e->last = 0;
    e->rise = e->sign * INFINITY;
    e->length = 1;
}

/* Makes the point after k entries the end of an edge's first line. */
static inline void set_first_line(edge *e, double hi, double lo, double offset, double rise,
                                  double length, size_t k)
{
    e->hull[0] = (knot){hi, lo, offset, rise, length, k};
    e->first = 0;
    e->last = 1;
    e->rise = rise;
    e->length = length;
}

/* Returns whether sums of x start at the anchor. */
static inline bool starts_at_anchor(const string *t)
{
    return t->anchor.hi == 0 && t->anchor.lo == 0;
}

/* Returns the sum of x from the anchor to `end`. */
static inline submodi_compensated_sum sum_to(const string *t, const knot *end)
{
    submodi_compensated_sum sum = {end->hi, end->lo};
    if (!starts_at_anchor(t)) { /* a difference of sums would not be exact */
        sum = (submodi_compensated_sum){0, 0};
        for (size_t i = t->anchor.at; i < end->at; i++) {
            sum = submodi_compensated_add(sum, t->x[i]);
        }
    }
    return sum;
}

/* Returns x without the lower half of its bits. */
static inline double leading_half(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= ~(uint64_t)0 << 27;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Writes u and s up to `end`, the next knot of the string, and moves the anchor there. The mean of
 * x has two parts, so that x less the mean does not cancel. At the old anchor u rises or falls as
 * the string bends; if rounding contradicts that, u stays equal. */
static inline void settle(string *t, const knot *end, double bend)
{
    const size_t begin = t->anchor.at;
    const submodi_compensated_sum sum = sum_to(t, end);
    const double count = (double)(end->at - begin);
    const double g = (t->anchor.offset - end->offset) / count;
    const double mean = leading_half(sum.hi / count);
    const double rest = ((sum.hi - count * mean) + sum.lo) / count;
    const double before = begin ? t->u[begin - 1] : 0;
    double level = mean + (rest - g / t->lambda);
    if (t->bend * level < t->bend * before) { /* without a branch on the direction */
        level = before;
    }
    const double *restrict x = t->x + begin;
    double *restrict u = t->u + begin, *restrict s = t->s + begin;
    for (size_t i = 0; i < end->at - begin; i++) {
        u[i] = level;
        s[i] = g + t->lambda * ((x[i] - mean) - rest);
    }
    t->steps += end->at - begin;
    t->bend = bend;
    t->anchor = *end;
}

/* Returns whether to discard all points beyond a new anchor and visit the points up to k again,
 * with sums that start at the anchor. This is faster than building a hull, but not than using an
 * existing one, and its total cost must stay linear. */
static inline bool may_restart(const string *t, const edge *e, size_t anchor, size_t k)
{
    return e->last - e->first <= 1 && t->again + (k - anchor) <= 2 * anchor;
}

static inline void restart(string *t, size_t k)
{
    t->again += k - t->anchor.at;
    t->anchor.hi = t->anchor.lo = 0;
    forget(&t->lower);
    forget(&t->upper);
}

/* Returns the next point that closes the funnel where a hull is needed, or n. Sums start at the
 * anchor; *sum is the sum up to the point.
 *
 * Branches on the funnel are unpredictable, and a misprediction costs the latency from loading x to
 * the comparison. So the comparison omits the rounding error of the newest sum. */
static size_t scan(string *t, size_t k, submodi_compensated_sum *sum)
{
    edge *const lower = &t->lower;
    edge *const upper = &t->upper;
    submodi_compensated_sum p = *sum;
    while (k < t->n) {
        const double low_weight = -lower->weight[k - 1] - t->anchor.offset;
        const double high_weight = upper->weight[k - 1] - t->anchor.offset;
        const double x = (p.hi + t->x[k - 1]) + p.lo;
        const double low = x + t->share * (t->scale * low_weight);
        const double high = x + t->share * (t->scale * high_weight);
        const double length = (double)(k - t->anchor.at);
        const edge *closed = NULL;
        p = submodi_compensated_add(p, t->x[k - 1]);
        if (low * lower->length > lower->rise * length) {
            if (low * upper->length > upper->rise * length) {
                closed = upper;
            } else {
                set_first_line(lower, p.hi, p.lo, -lower->weight[k - 1], low, length, k);
            }
        }
        if (!closed && high * upper->length < upper->rise * length) {
            if (high * lower->length < lower->rise * length) {
                closed = lower;
            } else {
                set_first_line(upper, p.hi, p.lo, upper->weight[k - 1], high, length, k);
            }
        }
        if (!closed) {
            k++;
        } else if (may_restart(t, closed, closed->hull[closed->first].at, k)) {
            settle(t, &closed->hull[closed->first], closed->sign);
            restart(t, k);
            k = t->anchor.at + 1;
            p = (submodi_compensated_sum){0, 0};
        } else {
            *sum = p;
            return k;
        }
    }
    *sum = submodi_compensated_add(p, t->x[t->n - 1]);
    return k;
}

/* Adds the points of an edge up to `end` to its hull. */
static void extend_hull(string *t, edge *e, size_t end)
{
    const knot *last = &e->hull[e->last - 1];
    submodi_compensated_sum sum = {last->hi, last->lo};
    for (size_t k = last->at + 1; k <= end; k++) {
        double offset = e->sign * e->weight[k - 1];
        sum = submodi_compensated_add(sum, t->x[k - 1]);
        double rise = rise_to(t, last, sum.hi, sum.lo, offset);
        double length = (double)(k - last->at);
        while (e->last - e->first > 1 &&
               e->sign * (last->rise * length) >= e->sign * (rise * last->length)) {
            e->last--;
            last--;
            rise = rise_to(t, last, sum.hi, sum.lo, offset);
            length = (double)(k - last->at);
            t->steps++;
        }
        e->hull[e->last++] = (knot){sum.hi, sum.lo, offset, rise, length, k};
        last++;
        t->steps++;
    }
}

/* Follows the hull of e, after the funnel has closed, until the line to the new point of the other
 * edge is free. seen is the newest point of e. */
static void follow(string *t, edge *e, edge *other, size_t seen)
{
    knot *line = &other->hull[0];
    extend_hull(t, e, seen);
    do {
        settle(t, &e->hull[e->first++], e->sign);
        if (e->first == e->last) {
            forget(e);
        } else {
            e->rise = e->hull[e->first].rise;
            e->length = e->hull[e->first].length;
        }
        line->rise = rise_to(t, &t->anchor, line->hi, line->lo, line->offset);
        line->length = (double)(line->at - t->anchor.at);
    } while (steeper(e, line->rise, line->length) > 0);
    other->rise = line->rise;
    other->length = line->length;
}

/* Adds point k to an edge. A point that narrows the funnel ends the edge's first line; for a point
 * that closes the funnel, the string moves on. seen is the other edge's newest point. */
static inline void show(string *t, edge *e, edge *other, submodi_compensated_sum sum, size_t k,
                        size_t seen)
{
    double offset = k < t->n ? e->sign * e->weight[k - 1] : 0;
    double rise = rise_to(t, &t->anchor, sum.hi, sum.lo, offset);
    double length = (double)(k - t->anchor.at);
    if (steeper(e, rise, length) < 0) {
        set_first_line(e, sum.hi, sum.lo, offset, rise, length, k);
        if (steeper(other, rise, length) > 0) {
            follow(t, other, e, seen);
        }
    }
}

/* Solves a path of n >= 1 entries; knots has room for 2 n. u and s do not overlap the rest; if sums
 * overflow, they are not finite. Returns the number of entries visited: at most 16 n, by tests
 * below 6 n. */
static size_t solve_path(size_t n, const double *x, const double *out, const double *in,
                         double lambda, double *u, double *s, knot *knots)
{
    const double scale = lambda < 4 * DBL_MIN ? 0x1p100 : 1;
    string t = {.n = n,
                .x = x,
                .lambda = lambda,
                .share = 1 / (lambda * scale),
                .scale = scale,
                .lower = {out, -1, -INFINITY, 1, knots, 0, 0},
                .upper = {in, 1, INFINITY, 1, knots + n, 0, 0},
                .u = u,
                .s = s,
                .steps = n};
    submodi_compensated_sum sum = {0, 0};
    for (size_t k = 1; k <= n; k++) {
        if (starts_at_anchor(&t)) {
            k = scan(&t, k, &sum);
        } else {
            sum = submodi_compensated_add(sum, x[k - 1]);
        }
        show(&t, &t.lower, &t.upper, sum, k, k - 1);
        show(&t, &t.upper, &t.lower, sum, k, k < n ? k : n - 1);
        if (k < n && !starts_at_anchor(&t) && may_restart(&t, &t.lower, t.anchor.at, k) &&
            may_restart(&t, &t.upper, t.anchor.at, k)) {
            restart(&t, k);
            k = t.anchor.at;
            sum = (submodi_compensated_sum){0, 0};
        }
    }
    settle(&t, &(knot){.hi = sum.hi, .lo = sum.lo, .at = n}, 0);
    return t.steps + t.again;
}

/* ---- all paths ---- */

/* <s, u> is a sum over runs of equal u: level times sum of s. If s were exact, the latter would be
 * the flow out at the end less the flow in at the start, w or -w at a jump, and f(u) = <s, u>. So
 * f(u) - <s, u> is a sum of rounding errors, one for each run. Where the flow inside a run exceeds
 * a weight by d, s is only near a base; moving it to one costs at most 2 d^2 / lambda. Jumps are
 * unpredictable, so products with 0 and 1 are faster than branches. */
static submodi_extension extension_of(const submodi_paths *p, size_t n, const double *u,
                                      const double *s, double lambda)
{
    const double root = 1 / sqrt(lambda); /* squares of d alone may overflow */
    double flow = 0, beyond = 0, weight = 0, largest = fabs(u[n - 1]);
    submodi_extension f = {.known = true};
    for (size_t i = 0; i + 1 < n; i++) {
        const double step = u[i] - u[i + 1];
        const double falls = step > 0, rises = step < 0;
        const double same = 1 - (falls + rises);
        const double must = falls * p->out[i] - rises * p->in[i];
        flow += s[i];
        const double above = same * (flow > p->out[i]) * (flow - p->out[i]) * root;
        const double below = same * (flow < -p->in[i]) * (flow + p->in[i]) * root;
        f.value += must * step;
        f.excess += (1 - same) * (u[i] * (must - flow));
        beyond += above * above + below * below;
        weight += fabs(s[i]) + fabs(must);
        largest = fabs(u[i]) > largest ? fabs(u[i]) : largest;
        flow = same * flow + must;
    }
    weight += fabs(s[n - 1]);
    f.excess += 2 * beyond - u[n - 1] * (flow + s[n - 1]);
    f.size = weight * (largest + 8 * DBL_EPSILON * weight / lambda);
    return f;
}

bool submodi_can_chain(const submod_fn *fn)
{
    const submodi_cut *cut = submodi_cut_of(fn);
    return cut && cut->paths;
}

/* Solves all paths; x, u and s are in their order. */
static submodi_extension solve_paths(const submodi_paths *p, size_t n, double lambda,
                                     const double *x, double *u, double *s, knot *knots,
                                     submod_prox_info *info)
{
    size_t steps = 0;
#pragma omp parallel for num_threads(p->count > 1 ? submodi_threads_for(n) : 1) \
    schedule(dynamic, 16) reduction(+ : steps)
    for (size_t j = 0; j < p->count; j++) {
        size_t b = p->begin[j];
        steps += solve_path(p->begin[j + 1] - b, x + b, p->out + b, p->in + b, lambda, u + b, s + b,
                            knots + 2 * b);
    }
    info->work = steps;
    info->iterations = p->count;
    return extension_of(p, n, u, s, lambda);
}

/* Solves paths whose vertices are not in order. */
static submod_status solve_scattered(const submodi_prox_problem *problem, const submodi_paths *p,
                                     knot *knots, double *u, double *s, submodi_extension *f,
                                     submod_prox_info *info, submod_work *w)
{
    size_t n = problem->fn->n;
    double *x = submodi_work_alloc(w, n, sizeof *x);
    double *path_u = submodi_work_alloc(w, n, sizeof *path_u);
    double *path_s = submodi_work_alloc(w, n, sizeof *path_s);
    TRY(submodi_work_status(w));
    for (size_t i = 0; i < n; i++) {
        x[i] = problem->x[p->order[i]];
    }
    *f = solve_paths(p, n, problem->lambda, x, path_u, path_s, knots, info);
    for (size_t i = 0; i < n; i++) {
        u[p->order[i]] = path_u[i];
        s[p->order[i]] = path_s[i];
    }
    return SUBMOD_OK;
}

submod_status submodi_prox_chain(const submodi_prox_problem *problem, double *u, double *s,
                                 submod_prox_info *info, submod_work *work)
{
    const submodi_paths *p = submodi_cut_of(problem->fn)->paths;
    size_t n = problem->fn->n;
    submodi_extension f = {0};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    knot *knots = submodi_work_alloc(w, 2 * n, sizeof *knots);
    submod_status status = submodi_work_status(w);
    if (status == SUBMOD_OK && p->in_order) {
        f = solve_paths(p, n, problem->lambda, problem->x, u, s, knots, info);
    } else if (status == SUBMOD_OK) {
        status = solve_scattered(problem, p, knots, u, s, &f, info, w);
    }
    if (status == SUBMOD_OK && problem->extension && !problem->settings->hinge) {
        *problem->extension = f;
    }
    submodi_scope_close(&scope);
    return status;
}
