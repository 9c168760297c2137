/* Prox of the cut of a graph that consists of paths (total variation in one dimension): each is a
 * line, solved by its taut string, chain_line.c. O(n). Lines are independent of each other; the
 * result does not depend on the number of threads.
 */
#include "base/internal.h"
#include "prox/chain_line.h"
#include "submod/fn_internal.h"

bool submodi_can_chain(const submod_fn *fn)
{
    return fn->kind == SUBMODI_CUT && ((const submodi_cut *)fn->ctx)->paths;
}

/* x, u and s by position; scratch memory. */
typedef struct lines {
    const double *x;
    double *u, *s;
    submodi_chain_knot *knots;
} lines;

/* Solves all paths. Returns the work done. */
static size_t run(const submodi_paths *p, const lines *l, size_t n, double lambda)
{
    size_t steps = 0;
#pragma omp parallel for num_threads(p->count > 1 ? submodi_threads_for(n) : 1) \
    schedule(dynamic, 16) reduction(+ : steps)
    for (size_t j = 0; j < p->count; j++) {
        size_t b = p->begin[j];
        steps += submodi_chain_line(p->begin[j + 1] - b, l->x + b, p->out + b, p->in + b, lambda,
                                    l->u + b, l->s + b, l->knots + submodi_chain_knots(b));
    }
    return steps;
}

static void solve(const submodi_prox_problem *problem, const lines *l, submod_prox_info *info)
{
    const submodi_paths *p = ((const submodi_cut *)problem->fn->ctx)->paths;
    size_t n = problem->fn->n;
    info->work = run(p, l, n, problem->lambda);
    info->iterations = p->count;
    if (problem->extension && !problem->settings->hinge) {
        submodi_extension f = {.known = true};
        submodi_chain_extension(n, l->u, l->s, p->out, p->in, problem->lambda, &f);
        *problem->extension = f;
    }
}

/* The same for paths whose vertices are not in order. */
static submod_status solve_in_order(const submodi_prox_problem *problem, const int32_t *order,
                                    lines l, double *u, double *s, submod_prox_info *info,
                                    submod_work *w)
{
    size_t n = problem->fn->n;
    double *x = NULL;
    double **vectors[] = {&x, &l.u, &l.s, NULL};
    if (!submodi_take_vectors(w, n, vectors)) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = problem->x[order[i]];
    }
    l.x = x;
    solve(problem, &l, info);
    for (size_t i = 0; i < n; i++) {
        u[order[i]] = l.u[i];
        s[order[i]] = l.s[i];
    }
    return SUBMOD_OK;
}

submod_status submodi_prox_chain(const submodi_prox_problem *problem, double *u, double *s,
                                 submod_prox_info *info, submod_work *work)
{
    const submodi_paths *p = ((const submodi_cut *)problem->fn->ctx)->paths;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    lines l = {.x = problem->x, .u = u, .s = s};
    l.knots = submodi_work_alloc(w, submodi_chain_knots(problem->fn->n), sizeof *l.knots);
    submod_status status = SUBMOD_OK;
    if (!l.knots) {
        status = submodi_out_of_memory();
    } else if (p->in_order) {
        solve(problem, &l, info);
    } else {
        status = solve_in_order(problem, p->order, l, u, s, info, w);
    }
    submodi_scope_close(&scope);
    return status;
}
