/* A walk over all subsets, depth first: the set {e_1 < .. < e_d} is reached by pushing e_d to a
 * copy of the state of {e_1, .., e_d-1}, so that each subset costs one push and one copy. All
 * values are kept, so that F is evaluated once per subset. Memory: 2^n numbers and n + 1 states. */
#include "submod/exhaustive.h"

#include <math.h>
#include <string.h>

#include "base/internal.h"

typedef struct walk {
    const char *who;
    const submodi_subsets *of;
    double deadline;
    size_t state_size;
    char *states;   /* by depth; the first is that of base */
    uint32_t *path; /* by depth: the last element pushed */
    double *value;  /* by subset */
    submodi_minimisers *found;
} walk;

/* Makes the state at depth + 1, which is that at depth with element j added to the set, and the
 * value of the larger set. */
static submod_status push(walk *w, size_t depth, uint32_t set, uint32_t j)
{
    const submodi_subsets *of = w->of;
    char *here = w->states + depth * w->state_size;
    double gain = 0;
    memcpy(here + w->state_size, here, w->state_size);
    submod_status status = submodi_fn_push(of->fn, here + w->state_size, of->elements[j], &gain);
    w->value[set | UINT32_C(1) << j] = w->value[set] + (gain - (of->z ? of->z[j] : 0));
    w->path[depth + 1] = j;
    w->found->tried++;
    return status;
}

static submod_status start_from_base(walk *w)
{
    const submodi_subsets *of = w->of;
    submod_status status = submodi_fn_reset(of->fn, w->states);
    for (size_t i = 0; status == SUBMOD_OK && i < of->nbase; i++) {
        double gain;
        status = submodi_fn_push(of->fn, w->states, of->base[i], &gain);
    }
    w->value[0] = 0;
    return status;
}

static submod_status reason_to_stop(const walk *w, submodi_poll poll)
{
    if (submodi_polled(poll)) {
        return submodi_cancel(w->who);
    }
    return w->deadline < INFINITY && submodi_seconds() > w->deadline ? SUBMOD_TIMELIMIT : SUBMOD_OK;
}

static submod_status evaluate_all(walk *w)
{
    submodi_poll poll = submodi_get_poll();
    submod_status status = start_from_base(w);
    uint32_t set = 0;
    size_t depth = 0;
    for (uint32_t next = 0; status == SUBMOD_OK;) {
        status = reason_to_stop(w, poll);
        if (status != SUBMOD_OK) {
            break;
        }
        if (next < w->of->n) { /* down */
            status = push(w, depth++, set, next);
            set |= UINT32_C(1) << next++;
        } else if (depth) { /* up, and to the next sibling */
            next = w->path[depth--];
            set &= ~(UINT32_C(1) << next++);
        } else {
            break;
        }
    }
    return status;
}

/* Finds the intersection and the union of the sets with values up to the ceiling. Each of them that
 * is not a minimiser is replaced with the set `lowest`. */
static void find_extremes(walk *w, uint32_t count, uint32_t lowest, double ceiling)
{
    uint32_t intersection = UINT32_MAX, united = 0;
    for (uint32_t set = 0; set < count; set++) {
        intersection &= w->value[set] <= ceiling ? set : UINT32_MAX;
        united |= w->value[set] <= ceiling ? set : 0;
    }
    bool smallest = w->value[intersection] <= ceiling, largest = w->value[united] <= ceiling;
    w->found->smallest = smallest ? intersection : lowest;
    w->found->largest = largest ? united : lowest;
    w->found->extreme = smallest && largest;
}

static submod_status search(walk *w)
{
    uint32_t count = UINT32_C(1) << w->of->n, lowest = 0;
    double scale = 0;
    submod_status status = evaluate_all(w);
    for (uint32_t set = 0; status == SUBMOD_OK && set < count; set++) {
        scale = fmax(scale, fabs(w->value[set]));
        lowest = w->value[set] < w->value[lowest] ? set : lowest;
    }
    if (status == SUBMOD_OK && !isfinite(scale)) {
        status = submodi_fail(SUBMOD_ENUMERIC, "%s: F - z overflows", w->who);
    }
    if (status == SUBMOD_OK) { /* 1e-14 is tens of rounding errors */
        find_extremes(w, count, lowest, w->value[lowest] + 1e-14 * scale);
    }
    return status;
}

submod_status submodi_try_all_subsets(const char *who, const submodi_subsets *of, double deadline,
                                      submodi_minimisers *found, submod_work *work)
{
    submodi_scope scope;
    submod_work *sw = submodi_scope_open(&scope, work);
    walk w = {.who = who,
              .of = of,
              .deadline = deadline,
              .state_size = submodi_round_up(submodi_fn_state_size(of->fn)),
              .found = found};
    *found = (submodi_minimisers){.tried = 1}; /* the empty set */
    w.states = submodi_take(sw, of->n + 1, w.state_size);
    w.path = submodi_take(sw, of->n + 1, sizeof *w.path);
    w.value = submodi_take(sw, (size_t)1 << of->n, sizeof *w.value);
    submod_status status = w.states && w.value && w.path ? search(&w) : submodi_nomem(who);
    submodi_scope_close(&scope);
    return status;
}

void submodi_flags_from_bits(uint32_t set, size_t n, uint8_t *in)
{
    for (size_t j = 0; j < n; j++) {
        in[j] = set >> j & 1;
    }
}
