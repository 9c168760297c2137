/* Prox of a modular function, Hamming included. B(F) is the single point w, so s = w and
 * u = x - w / lambda. Cost: one chain.
 */
#include "base/internal.h"
#include "prox/solver.h"

bool submodi_can_closed_form(const submod_fn *fn)
{
    return fn->modular;
}

submod_status submodi_prox_closed_form(const submodi_prox_problem *p, double *u, double *s,
                                       submod_prox_info *info, submod_work *work)
{
    size_t n = p->fn->n;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    int32_t *order = submodi_take(w, n, sizeof *order);
    void *state = submodi_take(w, submodi_fn_state_size(p->fn), 1);
    submod_status status = order && state ? SUBMOD_OK : submodi_nomem(p->who);
    if (status == SUBMOD_OK) {
        submodi_ascending(order, n);
        status = submodi_fn_greedy(p->fn, state, order, s);
        info->oracle_calls = 1;
    }
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        u[i] = p->x[i] - s[i] / p->lambda;
    }
    submodi_scope_close(&scope);
    return status;
}
