/* Minimisation by trying all subsets, depth first. The state of {e_1 < .. < e_d} is a copy of the
 * state of {e_1 < .. < e_d-1} plus e_d, so each subset costs one copy and one push. Memory: 2^n
 * numbers and n + 1 states. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

typedef struct subset_search {
    const submod_fn *fn;
    double deadline;
    size_t state_size;
    char *states;   /* by depth */
    uint32_t *path; /* by depth: the last element pushed */
    double *value;  /* by subset */
    submodi_minimisers *found;
} subset_search;

/* Makes the state at depth + 1 by adding element e to the state at depth, and computes the value of
 * the larger set. */
static submod_status push(subset_search *s, size_t depth, uint32_t set, uint32_t e)
{
    char *here = s->states + depth * s->state_size;
    int32_t element = (int32_t)e;
    double gain = 0;
    memcpy(here + s->state_size, here, s->state_size);
    submod_status status = submodi_fn_chain(s->fn, here + s->state_size, &element, 1, &gain);
    s->value[set | UINT32_C(1) << e] = s->value[set] + gain;
    s->path[depth + 1] = e;
    s->found->tried++;
    return status;
}

static submod_status check_stop(const subset_search *s, submodi_poll poll)
{
    if (submodi_polled(poll)) {
        return submodi_fail(SUBMOD_ECANCELLED, "cancelled");
    }
    return s->deadline < INFINITY && submodi_seconds() > s->deadline ? SUBMOD_TIMELIMIT : SUBMOD_OK;
}

static submod_status evaluate_all(subset_search *s)
{
    submodi_poll poll = submodi_get_poll();
    uint32_t set = 0, next = 0;
    size_t depth = 0;
    s->value[0] = 0;
    TRY(submodi_fn_reset(s->fn, s->states));
    for (;;) {
        TRY(check_stop(s, poll));
        if (next < s->fn->n) { /* down */
            TRY(push(s, depth++, set, next));
            set |= UINT32_C(1) << next++;
        } else if (depth) { /* up, and to the next sibling */
            next = s->path[depth--];
            set &= ~(UINT32_C(1) << next++);
        } else {
            return SUBMOD_OK;
        }
    }
}

/* Finds the intersection and the union of the sets with values up to the ceiling. If one of them is
 * no minimiser, the set `lowest` replaces it. */
static void find_extremes(subset_search *s, uint32_t count, uint32_t lowest, double ceiling)
{
    uint32_t intersection = UINT32_MAX, united = 0;
    for (uint32_t set = 0; set < count; set++) {
        intersection &= s->value[set] <= ceiling ? set : UINT32_MAX;
        united |= s->value[set] <= ceiling ? set : 0;
    }
    bool smallest = s->value[intersection] <= ceiling, largest = s->value[united] <= ceiling;
    s->found->smallest = smallest ? intersection : lowest;
    s->found->largest = largest ? united : lowest;
    s->found->extreme = smallest && largest;
}

static submod_status search(subset_search *s)
{
    uint32_t count = UINT32_C(1) << s->fn->n, lowest = 0;
    double scale = 0;
    TRY(evaluate_all(s));
    for (uint32_t set = 0; set < count; set++) {
        scale = fmax(scale, fabs(s->value[set]));
        lowest = s->value[set] < s->value[lowest] ? set : lowest;
    }
    if (!isfinite(scale)) {
        return submodi_fail(SUBMOD_ENUMERIC, "F overflows");
    }
    /* 1e-14 is tens of rounding errors */
    find_extremes(s, count, lowest, s->value[lowest] + 1e-14 * scale);
    return SUBMOD_OK;
}

submod_status submodi_try_all_subsets(const submod_fn *fn, double deadline,
                                      submodi_minimisers *found, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    subset_search s = {.fn = fn,
                       .deadline = deadline,
                       .state_size = submodi_round_up(submodi_fn_state_size(fn)),
                       .found = found};
    *found = (submodi_minimisers){.tried = 1}; /* the empty set */
    s.states = submodi_work_alloc(w, fn->n + 1, s.state_size);
    s.path = submodi_work_alloc(w, fn->n + 1, sizeof *s.path);
    s.value = submodi_work_alloc(w, (size_t)1 << fn->n, sizeof *s.value);
    submod_status status = submodi_work_status(w);
    status = status ? status : search(&s);
    submodi_scope_close(&scope);
    return status;
}
