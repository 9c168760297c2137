/* All subsets, depth first: the set {e_1 < .. < e_d} is reached by pushing e_d to a copy of the
 * state of {e_1, .., e_d-1}, so that each subset costs one push and one copy. Twice over: once for
 * the minimum, once for who attains it. Memory: n + 1 states. */
#include "prox/exhaustive.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"

typedef struct walk {
    const submod_fn *fn;
    size_t state_size;
    char *states;  /* by depth */
    double *value; /* by depth */
    int32_t *path; /* by depth: the last element pushed */
    double scale;  /* largest |value| */
} walk;

/* Told of every subset. */
typedef void visit(submodi_all_subsets *found, uint32_t set, double value, double margin);

static void keep_lowest(submodi_all_subsets *found, uint32_t set, double value, double margin)
{
    (void)margin;
    if (value < found->lowest) {
        found->lowest = value;
        found->minimiser = set;
    }
}

static void keep_minimisers(submodi_all_subsets *found, uint32_t set, double value, double margin)
{
    if (value <= found->lowest + margin) {
        found->intersection &= set;
        found->united |= set;
    }
}

static submod_status go_through(walk *w, const char *who, visit *tell, double margin,
                                submodi_all_subsets *found)
{
    int32_t n = (int32_t)w->fn->n;
    const volatile int *cancel = submodi_cancel_flag();
    uint32_t set = 0;
    size_t depth = 0;
    w->value[0] = 0;
    submod_status status = submodi_fn_reset(w->fn, w->states);
    tell(found, 0, 0, margin);
    for (int32_t next = 0; status == SUBMOD_OK;) {
        if (next < n) { /* down */
            char *here = w->states + depth * w->state_size;
            double gain = 0;
            memcpy(here + w->state_size, here, w->state_size);
            status = submodi_fn_push(w->fn, here + w->state_size, next, &gain);
            depth++;
            w->value[depth] = w->value[depth - 1] + gain;
            w->path[depth] = next;
            w->scale = fmax(w->scale, fabs(w->value[depth]));
            set |= UINT32_C(1) << next;
            if (status == SUBMOD_OK) {
                tell(found, set, w->value[depth], margin);
            }
            next++;
        } else if (depth) { /* up, and to the next sibling */
            next = w->path[depth--];
            set &= ~(UINT32_C(1) << next);
            next++;
        } else {
            break;
        }
        if (status == SUBMOD_OK && submodi_raised(cancel)) {
            status = submodi_cancel(who);
        }
    }
    return status;
}

submod_status submodi_try_all_subsets(const char *who, const submod_fn *fn,
                                      submodi_all_subsets *found, submod_work *work)
{
    submodi_scope scope;
    submod_work *sw = submodi_scope_open(&scope, work);
    size_t n = fn->n;
    walk w = {.fn = fn, .state_size = submodi_round_up(submodi_fn_state_size(fn))};
    w.states = submodi_take(sw, n + 1, w.state_size);
    w.value = submodi_take(sw, n + 1, sizeof *w.value);
    w.path = submodi_take(sw, n + 1, sizeof *w.path);
    submodi_all_subsets all = {.lowest = 0, .intersection = UINT32_MAX};
    submod_status status = w.states && w.value && w.path ? SUBMOD_OK : submodi_nomem(who);
    if (status == SUBMOD_OK) {
        status = go_through(&w, who, keep_lowest, 0, &all);
    }
    if (status == SUBMOD_OK) { /* some tens of rounding errors of one sum */
        status = go_through(&w, who, keep_minimisers, 1e-14 * w.scale, &all);
    }
    if (status == SUBMOD_OK) {
        all.scale = w.scale;
        *found = all;
    }
    submodi_scope_close(&scope);
    return status;
}
