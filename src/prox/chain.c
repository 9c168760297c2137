/* Prox of the cut of a path (total variation in one dimension) by dynamic programming (Johnson,
 * 2013): O(n).
 *
 * Along the path, f(u) = sum of out_i max(u_i - u_i+1, 0) + in_i max(u_i+1 - u_i, 0). Let D_i(v) be
 * the derivative of the least cost of u_0 .. u_i with u_i = v. It is piecewise linear and rises.
 * For u_i+1 it is clamped to [-out_i, in_i]; it reaches these bounds at low_i and high_i. Step i
 * adds lambda (v - x_i) to D, drops the knots outside [low_i, high_i] and puts a knot at each end.
 * On the way back, u_i is u_i+1 clamped to [low_i, high_i].
 *
 * A piece of D that was clamped to the constant c after vertex j - 1 is now
 * c + sum over j .. i of lambda (v - x). So j and c are all there is to keep. Nothing rounds until
 * a root is needed, which is a mean of x plus a difference of weights over lambda. So no weight
 * drowns x, even if it is huge compared with lambda x.
 *
 * This tells which neighbours are equal. Between two jumps the sum of s is known exactly. So levels
 * and s are then computed run by run, and errors do not add up along the path. Several paths and
 * single vertices are joined by links of weight 0.
 */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "prox/isotonic.h"
#include "prox/long_sum.h"
#include "prox/solver.h"
#include "submod/functions/cut.h"

/* A piece of D: constant + the sum of lambda (v - x) over the vertices from `from` on. */
typedef struct piece {
    double constant;
    size_t from;
} piece;

typedef struct knot {
    double at;
    piece right; /* the piece right of it */
} knot;

typedef struct path {
    size_t n;
    int32_t *order; /* the vertices along the path; all arrays below go by position */
    double lambda;
    double *x;
    submodi_long_sum *sum; /* n + 1: sums of x before each position */
    double *out, *in;      /* weights to and from the next vertex */
    double *low, *high;
    double *u, *s;
    knot *knots;        /* 2 n */
    size_t first, last; /* knots in use: first .. last - 1 */
    piece left;         /* the piece left of the first knot */
} path;

static size_t degree(const submodi_cut *c, int32_t v)
{
    return c->start[v + 1] - c->start[v];
}

/* The neighbour of v that is not `from` (-1: any); NULL at an end. */
static const submodi_neighbour *next_of(const submodi_cut *c, int32_t v, int32_t from)
{
    for (size_t j = c->start[v]; j < c->start[v + 1]; j++) {
        if (c->neighbours[j].vertex != from) {
            return &c->neighbours[j];
        }
    }
    return NULL;
}

/* Whether F is the cut of a graph that consists of paths. Walks from all ends visit each vertex of
 * a path twice, and no vertex of a cycle. */
bool submodi_can_chain(const submod_fn *fn)
{
    if (fn->ops.minimize != submodi_cut_minimize) {
        return false;
    }
    const submodi_cut *c = fn->ctx;
    size_t twice = 0;
    for (int32_t v = 0; (size_t)v < c->n; v++) {
        if (degree(c, v) > 2) {
            return false;
        }
    }
    for (int32_t v = 0; (size_t)v < c->n; v++) {
        int32_t from = -1;
        twice += degree(c, v) == 0 ? 2 : 0;
        for (int32_t w = v; degree(c, v) == 1 && w >= 0; twice++) {
            const submodi_neighbour *next = next_of(c, w, from);
            from = w;
            w = next ? next->vertex : -1;
        }
    }
    return twice == 2 * c->n;
}

/* Lines up the vertices along the paths. u marks them: NaN while a vertex has not been visited. */
static void lay_out(const submodi_cut *c, const double *x, path *p)
{
    size_t end = 0;
    for (size_t i = 0; i < p->n; i++) {
        p->u[i] = NAN;
    }
    for (int32_t v = 0; (size_t)v < p->n; v++) {
        int32_t from = -1;
        for (int32_t w = v; degree(c, v) < 2 && w >= 0 && isnan(p->u[w]); end++) {
            const submodi_neighbour *next = next_of(c, w, from);
            p->u[w] = 0;
            p->order[end] = w;
            p->x[end] = x[w];
            p->out[end] = next ? next->out : 0;
            p->in[end] = next ? next->in : 0;
            from = w;
            w = next ? next->vertex : -1;
        }
    }
}

/* Sum of x over the vertices from .. i. */
static double sum_of(const path *p, size_t from, size_t i)
{
    const submodi_long_sum *s = p->sum;
    return (s[i + 1].hi - s[from].hi) + (s[i + 1].lo - s[from].lo);
}

/* Piece q of D_i at v. */
static double height(const path *p, piece q, size_t i, double v)
{
    return p->lambda * ((double)(i + 1 - q.from) * v - sum_of(p, q.from, i)) + q.constant;
}

/* Where piece q of D_i reaches d. */
static double root(const path *p, piece q, size_t i, double d)
{
    return (sum_of(p, q.from, i) + (d - q.constant) / p->lambda) / (double)(i + 1 - q.from);
}

/* The piece left of knot k. */
static piece left_of(const path *p, size_t k)
{
    return k == p->first ? p->left : p->knots[k - 1].right;
}

/* Clamps D_i to [-out_i, in_i]. */
static void step(path *p, size_t i)
{
    const double bottom = -p->out[i];
    const double top = p->in[i];
    while (p->first < p->last && height(p, p->left, i, p->knots[p->first].at) <= bottom) {
        p->left = p->knots[p->first++].right;
    }
    piece right = p->first < p->last ? p->knots[p->last - 1].right : p->left;
    while (p->first < p->last && height(p, right, i, p->knots[p->last - 1].at) >= top) {
        right = left_of(p, --p->last);
    }
    p->low[i] = root(p, p->left, i, bottom);
    p->high[i] = fmax(p->low[i], root(p, right, i, top));
    p->knots[--p->first] = (knot){p->low[i], p->left};
    p->knots[p->last++] = (knot){p->high[i], {top, i + 1}};
    p->left = (piece){bottom, i + 1};
}

/* Computes level and s of each run of equal u. The sum of s up to a jump is out where u falls, -in
 * where it rises, and 0 at the end. */
static void settle_runs(path *p)
{
    size_t begin = 0;
    double before = 0;
    for (size_t i = 0; i < p->n; i++) {
        bool ends = i + 1 == p->n || p->u[i] != p->u[i + 1];
        if (ends) {
            bool falls = i + 1 == p->n || p->u[i] > p->u[i + 1];
            double sum = falls ? p->out[i] : -p->in[i];
            size_t k = i + 1 - begin;
            double level = submodi_block_level(k, p->x + begin, (sum - before) / (double)k,
                                               p->lambda, p->s + begin);
            for (size_t j = begin; j <= i; j++) {
                p->u[j] = level;
            }
            begin = i + 1;
            before = sum;
        }
    }
}

static void run(path *p)
{
    p->first = p->n;
    p->last = p->n;
    p->left = (piece){0, 0};
    p->sum[0] = (submodi_long_sum){0, 0};
    for (size_t i = 0; i < p->n; i++) {
        p->sum[i + 1] = submodi_long_add(p->sum[i], p->x[i]);
        step(p, i);
    }
    double u = p->low[p->n - 1]; /* nothing follows the last vertex: D = 0 */
    for (size_t i = p->n; i-- > 0;) {
        u = fmin(fmax(u, p->low[i]), p->high[i]);
        p->u[i] = u;
    }
    settle_runs(p);
}

submod_status submodi_prox_chain(const submodi_prox_problem *problem, double *u, double *s,
                                 submod_prox_info *info, submod_work *work)
{
    size_t n = problem->fn->n;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    path p = {.n = n, .lambda = problem->lambda};
    double **vectors[] = {&p.x, &p.out, &p.in, &p.low, &p.high, &p.u, &p.s, NULL};
    p.order = submodi_take(w, n, sizeof *p.order);
    p.sum = submodi_take(w, n + 1, sizeof *p.sum);
    p.knots = submodi_take(w, n, 2 * sizeof *p.knots);
    submod_status status = SUBMOD_OK;
    if (submodi_take_vectors(w, n, vectors) && p.order && p.sum && p.knots) {
        lay_out(problem->fn->ctx, problem->x, &p);
        run(&p);
        for (size_t i = 0; i < n; i++) {
            u[p.order[i]] = p.u[i];
            s[p.order[i]] = p.s[i];
        }
        info->iterations = 1;
        info->work = n;
    } else {
        status = submodi_nomem(problem->who);
    }
    submodi_scope_close(&scope);
    return status;
}
