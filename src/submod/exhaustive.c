/* A walk over all subsets, depth first: the set {e_1 < .. < e_d} is reached by pushing e_d to a
 * copy of the state of {e_1, .., e_d-1}, so that each subset costs one push and one copy. There are
 * two walks: one for the minimum, one for the sets that attain it. Memory: n + 1 states. */
#include "submod/exhaustive.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"

typedef struct walk {
    const char *who;
    const submodi_subsets *of;
    size_t state_size;
    char *states;   /* by depth; the first is that of base */
    double *value;  /* by depth */
    uint32_t *path; /* by depth: the last element pushed */
    double lowest;  /* the minimum, and a set that attains it */
    uint32_t minimiser;
    double scale;   /* largest |value| */
    double ceiling; /* values up to here count as minimal */
    uint32_t intersection, united;
} walk;

/* Called for every subset. */
typedef void visit(walk *w, uint32_t set, double value);

static void keep_lowest(walk *w, uint32_t set, double value)
{
    w->scale = fmax(w->scale, fabs(value));
    if (value < w->lowest) {
        w->lowest = value;
        w->minimiser = set;
    }
}

static void keep_minimisers(walk *w, uint32_t set, double value)
{
    if (value <= w->ceiling) {
        w->intersection &= set;
        w->united |= set;
    }
}

/* Makes the state and value at depth + 1: those at depth with element j added. */
static submod_status push(walk *w, size_t depth, uint32_t j)
{
    const submodi_subsets *of = w->of;
    char *here = w->states + depth * w->state_size;
    double gain = 0;
    memcpy(here + w->state_size, here, w->state_size);
    submod_status status = submodi_fn_push(of->fn, here + w->state_size, of->elements[j], &gain);
    w->value[depth + 1] = w->value[depth] + (gain - (of->z ? of->z[j] : 0));
    w->path[depth + 1] = j;
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

static submod_status go_through(walk *w, visit *tell)
{
    const volatile int *cancel = submodi_cancel_flag();
    submod_status status = SUBMOD_OK;
    uint32_t set = 0;
    size_t depth = 0;
    tell(w, 0, 0);
    for (uint32_t next = 0; status == SUBMOD_OK;) {
        if (submodi_raised(cancel)) {
            status = submodi_cancel(w->who);
        } else if (next < w->of->n) { /* down */
            status = push(w, depth++, next);
            set |= UINT32_C(1) << next;
            tell(w, set, w->value[depth]);
            next++;
        } else if (depth) { /* up, and to the next sibling */
            next = w->path[depth--];
            set &= ~(UINT32_C(1) << next);
            next++;
        } else {
            break;
        }
    }
    return status;
}

/* Whether *set is a minimiser; if not, it becomes one. */
static submod_status settle(walk *w, uint32_t *set, bool *is_minimiser)
{
    submod_status status = SUBMOD_OK;
    size_t depth = 0;
    for (uint32_t j = 0; status == SUBMOD_OK && j < w->of->n; j++) {
        if (*set >> j & 1) {
            status = push(w, depth++, j);
        }
    }
    *is_minimiser = w->value[depth] <= w->ceiling;
    *set = *is_minimiser ? *set : w->minimiser;
    return status;
}

static submod_status search(walk *w, submodi_minimisers *found)
{
    submod_status status = start_from_base(w);
    status = status ? status : go_through(w, keep_lowest);
    if (status == SUBMOD_OK && !isfinite(w->scale)) {
        status = submodi_fail(SUBMOD_ENUMERIC, "%s: F - z overflows", w->who);
    }
    w->ceiling = w->lowest + 1e-14 * w->scale; /* tens of rounding errors */
    status = status ? status : go_through(w, keep_minimisers);
    bool smallest = false, largest = false;
    status = status ? status : settle(w, &w->intersection, &smallest);
    status = status ? status : settle(w, &w->united, &largest);
    if (status == SUBMOD_OK) {
        *found = (submodi_minimisers){w->intersection, w->united, smallest && largest};
    }
    return status;
}

submod_status submodi_try_all_subsets(const char *who, const submodi_subsets *of,
                                      submodi_minimisers *found, submod_work *work)
{
    submodi_scope scope;
    submod_work *sw = submodi_scope_open(&scope, work);
    walk w = {.who = who,
              .of = of,
              .state_size = submodi_round_up(submodi_fn_state_size(of->fn)),
              .intersection = UINT32_MAX};
    w.states = submodi_take(sw, of->n + 1, w.state_size);
    w.value = submodi_take(sw, of->n + 1, sizeof *w.value);
    w.path = submodi_take(sw, of->n + 1, sizeof *w.path);
    submod_status status = w.states && w.value && w.path ? search(&w, found) : submodi_nomem(who);
    submodi_scope_close(&scope);
    return status;
}

void submodi_flags_from_bits(uint32_t set, size_t n, uint8_t *in)
{
    for (size_t j = 0; j < n; j++) {
        in[j] = set >> j & 1;
    }
}
