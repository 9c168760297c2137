/* Prox of the cut of a path, total variation in one dimension, by dynamic programming (Johnson,
 * 2013): O(n).
 *
 * Along the path, f(u) = sum of out_i max(u_i - u_i+1, 0) + in_i max(u_i+1 - u_i, 0). The
 * derivative D_i(v) of the least cost of u_0 .. u_i with u_i = v is piecewise linear and rises;
 * seen from u_i+1 it is cut off at -out_i, left of where it reaches that, low_i, and at in_i, right
 * of high_i. Each step adds lambda (v - x_i), drops the knots beyond the two places and puts one at
 * each. On the way back u_i is u_i+1 clamped to [low_i, high_i].
 *
 * This tells which neighbours are equal. Between two jumps the sum of s is known exactly, so that
 * levels and s are then computed run by run, and errors do not add up along the path. Several paths
 * and single vertices are joined by links of weight 0.
 */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "prox/isotonic.h"
#include "prox/solver.h"
#include "submod/cut.h"

/* A change of slope and intercept. */
typedef struct knot {
    double at, slope, intercept;
} knot;

typedef struct line {
    double slope, intercept;
} line;

typedef struct path {
    size_t n;
    int32_t *order; /* the vertices along it; the rest goes by position */
    double *x;
    double *out, *in; /* weights to and from the next one */
    double *low, *high;
    double *u, *s;
    knot *knots;        /* 2 n */
    size_t first, last; /* knots in use: first .. last - 1 */
    line left, right;   /* of D before the first knot and behind the last */
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

/* A cut whose graph consists of paths: from their ends each is walked twice, a circle never. */
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

/* Positions of all vertices. u serves as marks: NaN where a vertex was not met yet. */
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

/* Adds lambda (v - x_i), x relative to x_0, and cuts off at [-out_i, in_i]. */
static void step(path *p, size_t i, double lambda)
{
    const double shift = lambda * (p->x[i] - p->x[0]);
    line l = {p->left.slope + lambda, p->left.intercept - shift};
    line r = {p->right.slope + lambda, p->right.intercept - shift};
    for (; p->first < p->last; p->first++) {
        const knot *k = &p->knots[p->first];
        if (l.slope * k->at + l.intercept > -p->out[i]) {
            break;
        }
        l = (line){l.slope + k->slope, l.intercept + k->intercept};
    }
    for (; p->first < p->last; p->last--) {
        const knot *k = &p->knots[p->last - 1];
        if (r.slope * k->at + r.intercept < p->in[i]) {
            break;
        }
        r = (line){r.slope - k->slope, r.intercept - k->intercept};
    }
    p->low[i] = (-p->out[i] - l.intercept) / l.slope;
    p->high[i] = fmax(p->low[i], (p->in[i] - r.intercept) / r.slope);
    p->knots[--p->first] = (knot){p->low[i], l.slope, l.intercept + p->out[i]};
    p->knots[p->last++] = (knot){p->high[i], -r.slope, p->in[i] - r.intercept};
    p->left = (line){0, -p->out[i]};
    p->right = (line){0, p->in[i]};
}

/* Levels and s of the runs of equal u. The sum of s up to a jump is out where u falls, -in where it
 * rises, and 0 at the end. */
static void settle_runs(path *p, double lambda)
{
    size_t begin = 0;
    double before = 0;
    for (size_t i = 0; i < p->n; i++) {
        bool ends = i + 1 == p->n || p->u[i] != p->u[i + 1];
        if (ends) {
            bool falls = i + 1 == p->n || p->u[i] > p->u[i + 1];
            double sum = falls ? p->out[i] : -p->in[i];
            size_t k = i + 1 - begin;
            double level =
                submodi_level(k, p->x + begin, (sum - before) / (double)k, lambda, p->s + begin);
            for (size_t j = begin; j <= i; j++) {
                p->u[j] = level;
            }
            begin = i + 1;
            before = sum;
        }
    }
}

static void run(path *p, double lambda)
{
    p->first = p->n;
    p->last = p->n;
    p->left = (line){0, 0};
    p->right = (line){0, 0};
    for (size_t i = 0; i < p->n; i++) {
        step(p, i, lambda);
    }
    double u = p->low[p->n - 1]; /* behind the end there is nothing: D = 0 */
    for (size_t i = p->n; i-- > 0;) {
        u = fmin(fmax(u, p->low[i]), p->high[i]);
        p->u[i] = u;
    }
    settle_runs(p, lambda);
}

submod_status submodi_prox_chain(const submodi_prox_problem *problem, double *u, double *s,
                                 submod_prox_info *info, submod_work *work)
{
    size_t n = problem->fn->n;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    path p = {.n = n};
    p.order = submodi_take(w, n, sizeof *p.order);
    p.x = submodi_take(w, n, sizeof *p.x);
    p.out = submodi_take(w, n, sizeof *p.out);
    p.in = submodi_take(w, n, sizeof *p.in);
    p.low = submodi_take(w, n, sizeof *p.low);
    p.high = submodi_take(w, n, sizeof *p.high);
    p.u = submodi_take(w, n, sizeof *p.u);
    p.s = submodi_take(w, n, sizeof *p.s);
    p.knots = submodi_take(w, n, 2 * sizeof *p.knots);
    submod_status status = SUBMOD_OK;
    if (p.order && p.x && p.out && p.in && p.low && p.high && p.u && p.s && p.knots) {
        lay_out(problem->fn->ctx, problem->x, &p);
        run(&p, problem->lambda);
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
