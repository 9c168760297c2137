/* The handle, evaluation, and calls to the callbacks of any function: missing ones are derived from
 * eval. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

/* ---- the handle ---- */

submod_status submodi_check_size(size_t n, submod_fn **fn)
{
    TRY(submodi_check_given("fn, the address for the result,", fn));
    if (n == 0) {
        return submodi_fail(SUBMOD_EINVAL, "n = 0 must be >= 1: a ground set is never empty");
    }
    return n <= INT32_MAX ? SUBMOD_OK
                          : submodi_fail(SUBMOD_EINVAL, "n = %zu must be at most 2^31 - 1", n);
}

static submod_status new_handle(const submod_fn *like, submod_fn **fn)
{
    submod_fn *f = submodi_alloc(1, sizeof *f);
    if (!f) {
        return submodi_out_of_memory();
    }
    *f = *like;
    f->itself = (submodi_term){.fn = f, .coefficient = 1, .count = like->n};
    atomic_init(&f->owners, 1);
    *fn = f;
    return SUBMOD_OK;
}

submod_status submodi_fn_new(const submod_fn *like, submod_fn **fn)
{
    submod_status status = new_handle(like, fn);
    if (status != SUBMOD_OK) {
        like->ops.destroy(like->ctx);
    }
    return status;
}

static submod_status check_ops(const submod_fn_ops *ops)
{
    TRY(submodi_check_given("ops", ops));
    if (!ops->eval) {
        return submodi_fail(SUBMOD_EINVAL, "ops.eval is NULL, but it defines the function");
    }
    if (!ops->reset != !ops->chain) {
        return submodi_fail(SUBMOD_EINVAL,
                            "ops.reset and ops.chain must both be given or both be NULL");
    }
    if (!ops->chain && (ops->gain || ops->tied)) {
        return submodi_fail(SUBMOD_EINVAL, "ops.gain and ops.tied need reset and chain");
    }
    return ops->state_size <= SIZE_MAX / 8
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL, "ops.state_size = %zu must be at most %zu",
                              ops->state_size, SIZE_MAX / 8);
}

static submod_status custom(size_t n, const submod_fn_ops *ops, void *ctx, submod_fn **fn)
{
    TRY(submodi_check_size(n, fn));
    TRY(check_ops(ops));
    submod_fn f = {.ops = *ops, .calls_user_code = true, .ctx = ctx, .n = n};
    f.ops.name = ops->name ? ops->name : "custom";
    return new_handle(&f, fn);
}

submod_status submod_fn_custom(size_t n, const submod_fn_ops *ops, void *ctx, submod_fn **fn)
{
    return submodi_return("submod_fn_custom", custom(n, ops, ctx, fn));
}

submod_fn *submod_fn_retain(const submod_fn *fn)
{
    submod_fn *f = (submod_fn *)fn; /* only the count of owners changes */
    if (f) {
        atomic_fetch_add(&f->owners, 1);
    }
    return f;
}

void submod_fn_free(submod_fn *fn)
{
    if (!fn || atomic_fetch_sub(&fn->owners, 1) != 1) {
        return;
    }
    if (fn->ops.destroy) {
        fn->ops.destroy(fn->ctx);
    }
    submodi_free(fn);
}

size_t submod_fn_size(const submod_fn *fn)
{
    return fn ? fn->n : 0;
}

const char *submod_fn_name(const submod_fn *fn)
{
    return fn ? fn->ops.name : "";
}

/* ---- checks of lists of elements ---- */

static submod_status bad_element(const char *name, size_t i, int32_t e, size_t n)
{
    return e < 0 || (size_t)e >= n
               ? submodi_fail(SUBMOD_EINVAL, "%s[%zu] = %d is not in [0, %zu)", name, i, (int)e, n)
               : submodi_fail(SUBMOD_EINVAL, "%s[%zu] = %d occurs twice", name, i, (int)e);
}

submod_status submodi_mark_elements(const char *name, const int32_t *set, size_t k, size_t n,
                                    uint32_t *seen)
{
    for (size_t i = 0; i < k; i++) {
        uint32_t e = (uint32_t)set[i]; /* n < 2^31, so negative ones are too large */
        if (e >= n || seen[e >> 5] >> (e & 31) & 1) {
            return bad_element(name, i, set[i], n);
        }
        seen[e >> 5] |= UINT32_C(1) << (e & 31);
    }
    return SUBMOD_OK;
}

submod_status submodi_check_elements(const char *name, const int32_t *set, size_t k, size_t n)
{
    TRY(k ? submodi_check_given(name, set) : SUBMOD_OK);
    uint32_t few[128]; /* no allocation for n < 4096 */
    size_t words = n / 32 + 1;
    uint32_t *seen = words <= 128 ? few : submodi_alloc(words, sizeof *seen);
    if (!seen) {
        return submodi_out_of_memory();
    }
    memset(seen, 0, words * sizeof *seen);
    submod_status status = submodi_mark_elements(name, set, k, n, seen);
    if (seen != few) {
        submodi_free(seen);
    }
    return status;
}

/* ---- callbacks ---- */

/* Whether the callbacks are the user's: their failures need an error message. */
static bool is_users(const submod_fn *fn)
{
    return fn->kind == SUBMODI_CUSTOM && fn->calls_user_code;
}

/* Turns a callback's return value into the status for our caller. */
static submod_status callback_status(const submod_fn *fn, const char *slot, submod_status returned)
{
    if (returned == SUBMOD_OK || !is_users(fn)) {
        return returned;
    }
    return submodi_fail(SUBMOD_ECALLBACK, "%s of a custom function failed with code %d", slot,
                        (int)returned);
}

/* Refuses NaN and Inf among the k numbers that a callback produced. */
static submod_status callback_values(const submod_fn *fn, const char *slot, const double *value,
                                     size_t k)
{
    if (submodi_all_finite(value, k)) {
        return SUBMOD_OK;
    }
    size_t i = submodi_first_nonfinite(value, k);
    return submodi_fail(is_users(fn) ? SUBMOD_ECALLBACK : SUBMOD_ENUMERIC,
                        "%s of a %s function returned %g", slot, fn->ops.name,
                        i < k ? value[i] : NAN);
}

static submod_status checked(const submod_fn *fn, const char *slot, submod_status returned,
                             const double *value, size_t k)
{
    submod_status status = callback_status(fn, slot, returned);
    return status == SUBMOD_OK ? callback_values(fn, slot, value, k) : status;
}

submod_status submodi_fn_eval(const submod_fn *fn, const int32_t *set, size_t k, double *value)
{
    return checked(fn, "eval", fn->ops.eval(fn->ctx, set, k, value), value, 1);
}

/* State of a function without chain: the set so far, its value, and room for one more element. */
typedef struct listed {
    double value;
    size_t k;
    int32_t set[];
} listed;

size_t submodi_fn_state_size(const submod_fn *fn)
{
    if (!fn->ops.chain) {
        return submodi_round_up(sizeof(listed) + fn->n * sizeof(int32_t));
    }
    /* Without gain there is chain on a copy, which lies behind the state itself. */
    size_t size = submodi_round_up(fn->ops.state_size);
    return fn->ops.gain ? size : 2 * size;
}

submod_status submodi_fn_reset(const submod_fn *fn, void *state)
{
    if (fn->ops.chain) {
        return fn->ops.reset ? callback_status(fn, "reset", fn->ops.reset(fn->ctx, state))
                             : SUBMOD_OK;
    }
    listed *list = state;
    list->k = 0;
    return submodi_fn_eval(fn, list->set, 0, &list->value);
}

/* *value = F(A + e), *gain = F(A + e) - F(A). */
static submod_status listed_gain(const submod_fn *fn, listed *list, int32_t e, double *value,
                                 double *gain)
{
    list->set[list->k] = e;
    submod_status status = submodi_fn_eval(fn, list->set, list->k + 1, value);
    if (status == SUBMOD_OK) {
        *gain = *value - list->value;
        status = callback_values(fn, "a difference of eval", gain, 1);
    }
    return status;
}

submod_status submodi_fn_push(const submod_fn *fn, void *state, int32_t e, double *gain)
{
    if (fn->ops.chain) {
        return checked(fn, "chain", fn->ops.chain(fn->ctx, state, &e, 1, gain), gain, 1);
    }
    listed *list = state;
    double value;
    submod_status status = listed_gain(fn, list, e, &value, gain);
    if (status == SUBMOD_OK) {
        list->k++;
        list->value = value;
    }
    return status;
}

submod_status submodi_fn_gain(const submod_fn *fn, void *state, int32_t e, double *gain)
{
    if (fn->ops.gain) {
        return checked(fn, "gain", fn->ops.gain(fn->ctx, state, e, gain), gain, 1);
    }
    if (!fn->ops.chain) {
        double value;
        return listed_gain(fn, state, e, &value, gain);
    }
    char *copy = (char *)state + submodi_round_up(fn->ops.state_size);
    memcpy(copy, state, fn->ops.state_size);
    return checked(fn, "chain", fn->ops.chain(fn->ctx, copy, &e, 1, gain), gain, 1);
}

submod_status submodi_fn_chain(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                               double *gains)
{
    if (fn->ops.chain) {
        return checked(fn, "chain", fn->ops.chain(fn->ctx, state, elements, k, gains), gains, k);
    }
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        status = submodi_fn_push(fn, state, elements[i], &gains[i]);
    }
    return status;
}

submod_status submodi_fn_greedy(const submod_fn *fn, void *state, const int32_t *order,
                                double *gains)
{
    submod_status status = submodi_fn_reset(fn, state);
    return status ? status : submodi_fn_chain(fn, state, order, fn->n, gains);
}

submod_status submodi_fn_tied(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                              double *gains)
{
    return checked(fn, "tied", fn->ops.tied(fn->ctx, state, elements, k, gains), gains, k);
}

/* Makes flags of a callback 0 or 1. */
static void normalise(uint8_t *in, size_t n)
{
    for (size_t i = 0; in && i < n; i++) {
        in[i] = in[i] != 0;
    }
}

submod_status submodi_fn_minimize(const submod_fn *fn, const submod_minor *minor, const double *z,
                                  uint8_t *smallest, uint8_t *largest, double *base)
{
    size_t n = minor->nground;
    for (size_t i = 0; base && i < n; i++) {
        base[i] = NAN;
    }
    submod_status status = callback_status(
        fn, "minimize", fn->ops.minimize(fn->ctx, minor, z, smallest, largest, base));
    normalise(smallest, n);
    normalise(largest, n);
    bool has_base = status == SUBMOD_OK && base && n && !isnan(base[0]);
    return has_base ? callback_values(fn, "minimize", base, n) : status;
}

submod_status submodi_fn_prox(const submod_fn *fn, const double *x, double lambda, double *u,
                              double *s)
{
    submod_status outcome = fn->ops.prox(fn->ctx, x, lambda, u, s);
    TRY(checked(fn, "prox", outcome < 0 ? outcome : SUBMOD_OK, u, fn->n));
    TRY(callback_values(fn, "prox", s, fn->n));
    return outcome;
}

submod_status submodi_fn_minors(const submod_fn *fn, const int32_t *order,
                                const submodi_part *parts, size_t nparts, submod_fn **fns)
{
    for (size_t j = 0; j < nparts; j++) {
        fns[j] = NULL;
    }
    submod_status status = fn->minors(fn->ctx, order, parts, nparts, fns);
    if (status != SUBMOD_OK) {
        submodi_fn_free_all(fns, nparts);
    }
    return status;
}

submod_status submodi_fn_minimize_parts(const submod_fn *fn, const int32_t *order,
                                        const int32_t *rank, const submodi_part *parts,
                                        size_t nparts, const double *z, uint8_t *in)
{
    if (fn->minimize_parts) {
        return fn->minimize_parts(fn->ctx, order, rank, parts, nparts, z, in);
    }
    submod_status status = SUBMOD_OK;
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        size_t begin = parts[j].begin;
        submod_minor minor = {order, begin, order + begin, parts[j].end - begin};
        status = submodi_fn_minimize(fn, &minor, z + begin, in + begin, NULL, NULL);
    }
    return status;
}

/* ---- public evaluation ---- */

static submod_status evaluate(const submod_fn *fn, const int32_t *set, size_t k, double *value)
{
    TRY(submodi_check_given("fn", fn));
    TRY(submodi_check_given("value", value));
    TRY(submodi_check_elements("set", set, k, fn->n));
    double result;
    TRY(submodi_fn_eval(fn, set, k, &result));
    *value = result;
    return SUBMOD_OK;
}

submod_status submod_fn_eval(const submod_fn *fn, const int32_t *set, size_t k, double *value)
{
    return submodi_return("submod_fn_eval", evaluate(fn, set, k, value));
}

static submod_status chain(const submod_fn *fn, const int32_t *order, size_t k, double *gains,
                           submod_work *work)
{
    TRY(submodi_check_given("fn", fn));
    TRY(k ? submodi_check_given("gains", gains) : SUBMOD_OK);
    TRY(submodi_check_elements("order", order, k, fn->n));
    void *state = submodi_work_alloc(work, submodi_fn_state_size(fn), 1);
    TRY(submodi_work_status(work));
    TRY(submodi_fn_reset(fn, state));
    return k ? submodi_fn_chain(fn, state, order, k, gains) : SUBMOD_OK;
}

submod_status submod_fn_chain(const submod_fn *fn, const int32_t *order, size_t k, double *gains,
                              submod_work *work)
{
    submodi_scope scope;
    submod_status status = chain(fn, order, k, gains, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return submodi_return("submod_fn_chain", status);
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

static submod_status reset(submod_state *state)
{
    memset(state->in, 0, state->fn->n);
    state->k = 0;
    submod_status status = submodi_fn_reset(state->fn, state->oracle);
    state->broken = status != SUBMOD_OK;
    return status;
}

static submod_status create(const submod_fn *fn, submod_state **state)
{
    TRY(submodi_check_given("fn", fn));
    TRY(submodi_check_given("state", state));
    submod_state *s = submodi_alloc(1, sizeof *s);
    if (!s) {
        return submodi_out_of_memory();
    }
    *s = (submod_state){.fn = submod_fn_retain(fn),
                        .oracle = submodi_alloc(submodi_fn_state_size(fn), 1),
                        .set = submodi_alloc(fn->n, sizeof *s->set),
                        .in = submodi_alloc(fn->n, sizeof *s->in)};
    submod_status status = s->oracle && s->set && s->in ? reset(s) : submodi_out_of_memory();
    if (status == SUBMOD_OK) {
        *state = s;
    } else {
        submod_state_free(s);
    }
    return status;
}

submod_status submod_state_create(const submod_fn *fn, submod_state **state)
{
    return submodi_return("submod_state_create", create(fn, state));
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
    submod_status status = submodi_check_given("state", state);
    return submodi_return("submod_state_reset", status ? status : reset(state));
}

static submod_status check_new_element(const submod_state *state, int32_t e)
{
    TRY(submodi_check_given("state", state));
    if (state->broken) {
        return submodi_fail(SUBMOD_EINVAL, "a callback failed; call submod_state_reset first");
    }
    if (e < 0 || (size_t)e >= state->fn->n) {
        return submodi_fail(SUBMOD_EINVAL, "e = %d is not in [0, %zu)", (int)e, state->fn->n);
    }
    return state->in[e] ? submodi_fail(SUBMOD_EINVAL, "e = %d is in the set already", (int)e)
                        : SUBMOD_OK;
}

static submod_status push(submod_state *state, int32_t e, double *gain)
{
    double result;
    TRY(check_new_element(state, e));
    submod_status status = submodi_fn_push(state->fn, state->oracle, e, &result);
    state->broken = status != SUBMOD_OK;
    TRY(status);
    state->set[state->k++] = e;
    state->in[e] = 1;
    submodi_copy_out(gain, &result, 1, sizeof result);
    return SUBMOD_OK;
}

submod_status submod_state_push(submod_state *state, int32_t e, double *gain)
{
    return submodi_return("submod_state_push", push(state, e, gain));
}

static submod_status gain_of(submod_state *state, int32_t e, double *gain)
{
    TRY(check_new_element(state, e));
    TRY(submodi_check_given("gain", gain));
    double result;
    submod_status status = submodi_fn_gain(state->fn, state->oracle, e, &result);
    state->broken = status != SUBMOD_OK;
    TRY(status);
    *gain = result;
    return SUBMOD_OK;
}

submod_status submod_state_gain(submod_state *state, int32_t e, double *gain)
{
    return submodi_return("submod_state_gain", gain_of(state, e, gain));
}

size_t submod_state_set(const submod_state *state, const int32_t **set)
{
    if (set && state) {
        *set = state->set;
    }
    return state ? state->k : 0;
}
