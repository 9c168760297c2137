/* Prox of total variation along a line by its taut string, O(n).
 *
 * Let X_k = x_0 + .. + x_k-1, and R_k the same sum of u. R is a string that starts at X_0, ends at
 * X_n, and stays in a tube around X between them:
 *
 *     -out_k-1 <= lambda (R_k - X_k) <= in_k-1 ,       flow_k-1 = lambda (X_k - R_k) .
 *
 * The prox is the taut string. It is a line up to where it bends around a knot of the upper edge,
 * where u rises, or of the lower edge, where u falls.
 *
 * The string is fixed up to the anchor. From there the scan keeps two lines: the lowest to any
 * point of the upper edge so far, the highest to any point of the lower one. They are the first
 * segments of the edges' convex minorant and concave majorant. A point between them changes
 * nothing, and costs a few operations. When the two cross, say because the lower edge has come too
 * high, the string follows the minorant of the upper edge for as long as that rises less steeply
 * than the line to the new point. Only then is this hull needed, so only then is it built, and it
 * is kept: each point joins each hull at most once, and leaves it once. So O(n) for any x and
 * weights (the funnel of shortest paths among polygons, with hulls made on demand).
 *
 * Sums are kept to twice the precision. A line's rise is a sum of x plus a difference of weights
 * over lambda, so no weight drowns x, even if it is huge compared with lambda x. Slopes are
 * compared without a division: ties of small whole numbers stay ties.
 *
 * All this decides where u jumps. Between two jumps the sum of s is known exactly. So levels and s
 * are computed run by run from x itself, and errors do not add up along the line.
 */
#include "prox/chain_line.h"

#include <float.h>
#include <math.h>

#include "prox/isotonic.h"
#include "prox/long_sum.h"

typedef submodi_chain_knot knot;

/* One edge of the tube beyond the anchor. */
typedef struct edge {
    const double *weight;
    double sign;         /* of the offset: 1 for the upper edge, -1 for the lower one */
    double rise, length; /* the first line of its hull; infinite if there is no point yet */
    knot *hull;          /* what is known of the hull: knots first .. last - 1 */
    size_t first, last;
} edge;

typedef struct string {
    size_t n;
    const double *x;
    double lambda;
    double share_x, share_weight; /* a rise is scaled: 1 and 1 / lambda, or lambda and 1 */
    knot anchor;
    bool rises; /* at the anchor: it is on the upper edge */
    edge lower, upper;
    double *u, *s;
    size_t steps;
} string;

/* The point of an edge after `at` entries, at the end of a line from another knot. */
static inline knot line_to(const string *t, const knot *from, submodi_long_sum sum, double offset,
                           size_t at)
{
    double x = (sum.hi - from->hi) + (sum.lo - from->lo);
    return (knot){.hi = sum.hi,
                  .lo = sum.lo,
                  .offset = offset,
                  .at = at,
                  .rise = t->share_x * x + t->share_weight * (offset - from->offset),
                  .length = (double)(at - from->at)};
}

static inline submodi_long_sum sum_before(const knot *a)
{
    return (submodi_long_sum){a->hi, a->lo};
}

/* Where some edge has the next point that narrows the funnel between the first lines; n if there is
 * none. *sum goes along with k. */
static size_t scan(const string *t, size_t k, submodi_long_sum *sum)
{
    const knot a = t->anchor;
    const edge lower = t->lower;
    const edge upper = t->upper;
    submodi_long_sum p = *sum;
    for (; k < t->n; k++) {
        p = submodi_long_add(p, t->x[k - 1]);
        double length = (double)(k - a.at);
        double x = t->share_x * ((p.hi - a.hi) + (p.lo - a.lo));
        double low = x + t->share_weight * (-lower.weight[k - 1] - a.offset);
        double high = x + t->share_weight * (upper.weight[k - 1] - a.offset);
        if (low * lower.length > lower.rise * length || high * upper.length < upper.rise * length) {
            *sum = p;
            return k;
        }
    }
    *sum = submodi_long_add(p, t->x[t->n - 1]);
    return t->n;
}

/* Sets the first line of a hull: the one to its first knot. */
static void set_first_line(edge *e)
{
    bool any = e->first < e->last;
    e->rise = any ? e->hull[e->first].rise : e->sign * INFINITY;
    e->length = any ? e->hull[e->first].length : 1;
}

/* Adds the points of an edge up to `end` to its hull. */
static void extend_hull(string *t, edge *e, size_t end)
{
    knot last = e->hull[e->last - 1];
    submodi_long_sum sum = sum_before(&last);
    for (size_t k = last.at + 1; k <= end; k++) {
        double offset = e->sign * e->weight[k - 1];
        sum = submodi_long_add(sum, t->x[k - 1]);
        knot next = line_to(t, &last, sum, offset, k);
        while (e->last - e->first > 1 &&
               e->sign * (last.rise * next.length) >= e->sign * (next.rise * last.length)) {
            last = e->hull[--e->last - 1];
            next = line_to(t, &last, sum, offset, k);
            t->steps++;
        }
        e->hull[e->last++] = next;
        last = next;
        t->steps++;
    }
}

/* u and s up to `end`, the next knot of the string. At the anchor u rises or falls as the string
 * bends there, at most by rounding not at all. */
static void settle(string *t, knot end)
{
    size_t begin = t->anchor.at;
    size_t k = end.at - begin;
    double g = (t->anchor.offset - end.offset) / (double)k;
    double level = submodi_block_level(k, t->x + begin, g, t->lambda, t->s + begin);
    if (begin > 0) {
        double before = t->u[begin - 1];
        level = t->rises ? fmax(level, before) : fmin(level, before);
    }
    for (size_t i = begin; i < end.at; i++) {
        t->u[i] = level;
    }
    t->anchor = end;
    t->steps += k;
}

/* Whether a line lies beyond the first line of e, seen from inside the tube. */
static inline bool is_beyond(const edge *e, const knot *line)
{
    return e->sign * (line->rise * e->length) > e->sign * (e->rise * line->length);
}

/* Shows an edge its point k. If it narrows the funnel, it is the end of the edge's first line. If
 * that closes the funnel, the string follows the hull of the other edge until it is open again.
 * seen: the other edge's newest point. */
static void show(string *t, edge *e, edge *other, submodi_long_sum sum, size_t k, size_t seen)
{
    double offset = k < t->n ? e->sign * e->weight[k - 1] : 0;
    knot line = line_to(t, &t->anchor, sum, offset, k);
    if (!(e->sign * (line.rise * e->length) < e->sign * (e->rise * line.length))) {
        return;
    }
    if (is_beyond(other, &line)) {
        extend_hull(t, other, seen);
    }
    while (is_beyond(other, &line)) {
        settle(t, other->hull[other->first++]);
        t->rises = other->sign > 0;
        set_first_line(other);
        line = line_to(t, &t->anchor, sum, offset, k);
    }
    e->hull[0] = line;
    e->first = 0;
    e->last = 1;
    set_first_line(e);
}

size_t submodi_chain_line(size_t n, const double *x, const double *out, const double *in,
                          double lambda, double *u, double *s, submodi_chain_knot *knots)
{
    const bool tiny = lambda < 4 * DBL_MIN; /* 1 / lambda overflows */
    string t = {.n = n,
                .x = x,
                .lambda = lambda,
                .share_x = tiny ? lambda : 1,
                .share_weight = tiny ? 1 : 1 / lambda,
                .lower = {.weight = out, .sign = -1, .hull = knots},
                .upper = {.weight = in, .sign = 1, .hull = knots + n},
                .u = u,
                .s = s,
                .steps = n};
    set_first_line(&t.lower);
    set_first_line(&t.upper);
    submodi_long_sum sum = {0, 0};
    for (size_t k = 1; k <= n; k++) {
        k = scan(&t, k, &sum);
        show(&t, &t.lower, &t.upper, sum, k, k - 1);
        show(&t, &t.upper, &t.lower, sum, k, k < n ? k : n - 1);
    }
    settle(&t, (knot){.at = n});
    return t.steps;
}

/* What flows along a link of a run whose ends are equal, beyond what it may; squared. */
static inline double excess_flow(double flow, double out, double in)
{
    double beyond = fmax(fmax(flow - out, -in - flow), 0);
    return beyond * beyond;
}

/* <s, u> is a sum over runs of equal u: level times sum of s. If s were exact, the latter would be
 * what flows out at the end less what flows in at the start, w or -w at a jump, and f(u) = <s, u>.
 * So f(u) - <s, u> is a sum of rounding errors, one for each run. Where the flow inside a run
 * exceeds a weight by d, s is not quite a base; moving it there costs at most 2 d^2 / lambda. */
void submodi_chain_extension(size_t n, const double *u, const double *s, const double *out,
                             const double *in, double lambda, submodi_extension *f)
{
    double flow = 0;
    double beyond = 0;
    double weight = 0; /* of all terms */
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double step = i + 1 < n ? u[i] - u[i + 1] : 0;
        flow += s[i];
        weight += fabs(s[i]);
        largest = fmax(largest, fabs(u[i]));
        if (step != 0 || i + 1 == n) {
            double must = i + 1 == n ? 0 : step > 0 ? out[i] : -in[i];
            f->value += must * step;
            f->excess += u[i] * (must - flow);
            weight += fabs(must);
            flow = must;
        } else {
            beyond += excess_flow(flow, out[i], in[i]);
        }
    }
    f->excess += 2 * beyond / lambda;
    f->size += weight * (largest + 8 * DBL_EPSILON * weight / lambda);
}
