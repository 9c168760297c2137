/* Public evaluation: of a set, of a chain, and of a set that grows element by element. */
#include <string.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

submod_status submod_fn_eval(const submod_fn *fn, const int32_t *set, size_t k, double *value)
{
    static const char who[] = "submod_fn_eval";
    submod_status status = submodi_require_given(who, "fn", fn);
    status = status ? status : submodi_require_given(who, "value", value);
    status = status ? status : submodi_require_set(who, fn->n, "set", set, k);
    double v;
    status = status ? status : submodi_fn_eval(fn, set, k, &v);
    if (status == SUBMOD_OK) {
        *value = v;
    }
    return status;
}

submod_status submod_fn_chain(const submod_fn *fn, const int32_t *order, size_t k, double *gains,
                              submod_work *work)
{
    static const char who[] = "submod_fn_chain";
    submod_status status = submodi_require_given(who, "fn", fn);
    status = status || !k ? status : submodi_require_given(who, "gains", gains);
    status = status ? status : submodi_require_set(who, fn->n, "order", order, k);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    void *state = submodi_take(w, submodi_fn_state_size(fn), 1);
    double *result = submodi_take(w, k, sizeof *result);
    status = state && result ? submodi_fn_reset(fn, state) : submodi_nomem(who);
    if (status == SUBMOD_OK && k) {
        status = submodi_fn_chain(fn, state, order, k, result);
    }
    if (status == SUBMOD_OK && k) {
        memcpy(gains, result, k * sizeof *gains);
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- a set that grows ---- */

struct submod_state {
    submod_fn *fn;
    void *oracle; /* state of fn's callbacks */
    int32_t *set; /* in order of arrival */
    uint8_t *in;  /* membership, one byte per element */
    size_t k;
    bool broken; /* a callback failed: oracle is unusable until reset */
};

submod_status submod_state_create(const submod_fn *fn, submod_state **state)
{
    static const char who[] = "submod_state_create";
    if (!fn || !state) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, fn ? "state" : "fn");
    }
    submod_state *s = submodi_alloc(1, sizeof *s);
    if (!s) {
        return submodi_nomem(who);
    }
    s->fn = submod_fn_retain(fn);
    s->oracle = submodi_alloc(submodi_fn_state_size(fn), 1);
    s->set = submodi_alloc(fn->n, sizeof *s->set);
    s->in = submodi_alloc(fn->n, sizeof *s->in);
    bool complete = s->oracle && s->set && s->in;
    submod_status status = complete ? submod_state_reset(s) : submodi_nomem(who);
    if (status != SUBMOD_OK) {
        submod_state_free(s);
        return status;
    }
    *state = s;
    return SUBMOD_OK;
}

void submod_state_free(submod_state *state)
{
    if (state) {
        submod_fn_free(state->fn);
        submodi_free(state->oracle);
        submodi_free(state->set);
        submodi_free(state->in);
        submodi_free(state);
    }
}

submod_status submod_state_reset(submod_state *state)
{
    if (!state) {
        return submodi_fail(SUBMOD_EINVAL, "submod_state_reset: state is NULL");
    }
    memset(state->in, 0, state->fn->n);
    state->k = 0;
    submod_status status = submodi_fn_reset(state->fn, state->oracle);
    state->broken = status != SUBMOD_OK;
    return status;
}

static submod_status require_new_element(const char *who, const submod_state *state, int32_t e)
{
    if (!state) {
        return submodi_fail(SUBMOD_EINVAL, "%s: state is NULL", who);
    }
    if (state->broken) {
        return submodi_fail(SUBMOD_EINVAL, "%s: a callback failed; call submod_state_reset first",
                            who);
    }
    if (e < 0 || (size_t)e >= state->fn->n) {
        return submodi_fail(SUBMOD_EINVAL, "%s: e = %d is not in [0, %zu)", who, (int)e,
                            state->fn->n);
    }
    if (state->in[e]) {
        return submodi_fail(SUBMOD_EINVAL, "%s: e = %d is in the set already", who, (int)e);
    }
    return SUBMOD_OK;
}

submod_status submod_state_push(submod_state *state, int32_t e, double *gain)
{
    submod_status status = require_new_element("submod_state_push", state, e);
    if (status != SUBMOD_OK) {
        return status;
    }
    double value;
    status = submodi_fn_push(state->fn, state->oracle, e, &value);
    state->broken = status != SUBMOD_OK;
    if (status == SUBMOD_OK) {
        state->set[state->k++] = e;
        state->in[e] = 1;
        if (gain) {
            *gain = value;
        }
    }
    return status;
}

submod_status submod_state_gain(submod_state *state, int32_t e, double *gain)
{
    static const char who[] = "submod_state_gain";
    submod_status status = require_new_element(who, state, e);
    status = status ? status : submodi_require_given(who, "gain", gain);
    if (status != SUBMOD_OK) {
        return status;
    }
    double value;
    status = submodi_fn_gain(state->fn, state->oracle, e, &value);
    state->broken = status != SUBMOD_OK;
    if (status == SUBMOD_OK) {
        *gain = value;
    }
    return status;
}

size_t submod_state_set(const submod_state *state, const int32_t **set)
{
    if (set && state) {
        *set = state->set;
    }
    return state ? state->k : 0;
}
