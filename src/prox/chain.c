/* Prox of the cut of a graph that consists of paths (total variation in one dimension): lays them
 * out along lines, and solves each by its taut string, chain_line.c. O(n). Lines are independent of
 * each other; the result does not depend on the number of threads.
 */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "prox/chain_line.h"
#include "submod/functions/cut.h"

/* All paths, one after the other; arrays go by position. */
typedef struct layout {
    size_t n;
    int32_t *order; /* the vertices along the paths */
    size_t *begin;  /* where each path begins, and n */
    size_t count;
    double *x;
    double *out, *in; /* weights to and from the next vertex */
    double *u, *s;
    submodi_chain_knot *knots;
} layout;

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
static void lay_out(const submodi_cut *c, const double *x, layout *p)
{
    size_t end = 0;
    p->count = 0;
    for (size_t i = 0; i < p->n; i++) {
        p->u[i] = NAN;
    }
    for (int32_t v = 0; (size_t)v < p->n; v++) {
        if (degree(c, v) == 2 || !isnan(p->u[v])) {
            continue;
        }
        p->begin[p->count++] = end;
        int32_t from = -1;
        for (int32_t w = v; w >= 0; end++) {
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
    p->begin[p->count] = end;
}

/* Solves all paths. Returns the work done. */
static size_t run(layout *p, double lambda)
{
    size_t steps = 0;
#pragma omp parallel for num_threads(submodi_threads_for(p->n)) schedule(dynamic, 16) \
    reduction(+ : steps)
    for (size_t j = 0; j < p->count; j++) {
        size_t b = p->begin[j];
        steps += submodi_chain_line(p->begin[j + 1] - b, p->x + b, p->out + b, p->in + b, lambda,
                                    p->u + b, p->s + b, p->knots + submodi_chain_knots(b));
    }
    return steps;
}

static void solve(const submodi_prox_problem *problem, layout *p, double *u, double *s,
                  submod_prox_info *info)
{
    lay_out(problem->fn->ctx, problem->x, p);
    info->work = run(p, problem->lambda);
    info->iterations = p->count;
    for (size_t i = 0; i < p->n; i++) {
        u[p->order[i]] = p->u[i];
        s[p->order[i]] = p->s[i];
    }
    if (problem->extension && !problem->settings->hinge) {
        submodi_extension f = {.known = true};
        submodi_chain_extension(p->n, p->u, p->s, p->out, p->in, problem->lambda, &f);
        *problem->extension = f;
    }
}

submod_status submodi_prox_chain(const submodi_prox_problem *problem, double *u, double *s,
                                 submod_prox_info *info, submod_work *work)
{
    size_t n = problem->fn->n;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    layout p = {.n = n};
    double **vectors[] = {&p.x, &p.out, &p.in, &p.u, &p.s, NULL};
    p.order = submodi_take(w, n, sizeof *p.order);
    p.begin = submodi_take(w, n + 1, sizeof *p.begin);
    p.knots = submodi_take(w, submodi_chain_knots(n), sizeof *p.knots);
    submod_status status = SUBMOD_OK;
    if (submodi_take_vectors(w, n, vectors) && p.order && p.begin && p.knots) {
        solve(problem, &p, u, s, info);
    } else {
        status = submodi_nomem(problem->who);
    }
    submodi_scope_close(&scope);
    return status;
}
