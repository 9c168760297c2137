/* The handle, evaluation, and calls to the callbacks of any function: missing ones are derived from
 * eval. */
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

submod_status submodi_fn_new(const submod_fn *like, submod_fn **fn)
{
    submod_fn *f = submodi_alloc(1, sizeof *f);
    if (!f) {
        if (like->kind != SUBMODI_CUSTOM) {
            like->ops.destroy(like->ctx);
        }
        return submodi_out_of_memory();
    }
    *f = *like;
    f->itself = (submodi_term){.fn = f, .coefficient = 1, .count = like->n};
    atomic_init(&f->owners, 1);
    *fn = f;
    return SUBMOD_OK;
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
    return submodi_fn_new(&f, fn);
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

/* Turns a callback's return value and its k numbers into a status for the caller. Failures of user
 * code need an error message; others have one. */
static submod_status check_callback(const submod_fn *fn, const char *slot, submod_status returned,
                                    const double *value, size_t k)
{
    bool user = fn->kind == SUBMODI_CUSTOM && fn->calls_user_code;
    if (returned != SUBMOD_OK) {
        return user ? submodi_fail(SUBMOD_ECALLBACK, "%s of a custom function failed with code %d",
                                   slot, (int)returned)
                    : returned;
    }
    if (k == 1 ? isfinite(*value) : submodi_all_finite(value, k)) {
        return SUBMOD_OK;
    }
    size_t i = submodi_first_nonfinite(value, k);
    return submodi_fail(user ? SUBMOD_ECALLBACK : SUBMOD_ENUMERIC,
                        "%s of a %s function returned %g", slot, fn->ops.name,
                        i < k ? value[i] : NAN);
}

submod_status submodi_fn_eval(const submod_fn *fn, const int32_t *set, size_t k, double *value)
{
    return check_callback(fn, "eval", fn->ops.eval(fn->ctx, set, k, value), value, 1);
}

/* State of a function without chain: the set so far, its value, and room for one more element. */
typedef struct listed {
    double value;
    size_t k;
    int32_t set[];
} listed;

static submod_status listed_chain(const submod_fn *fn, listed *list, const int32_t *elements,
                                  size_t k, double *gains)
{
    for (size_t i = 0; i < k; i++) {
        double before = list->value;
        list->set[list->k++] = elements[i];
        TRY(submodi_fn_eval(fn, list->set, list->k, &list->value));
        gains[i] = list->value - before;
    }
    return check_callback(fn, "a difference of eval", SUBMOD_OK, gains, k);
}

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
        submod_status returned = fn->ops.reset ? fn->ops.reset(fn->ctx, state) : SUBMOD_OK;
        return check_callback(fn, "reset", returned, NULL, 0);
    }
    listed *list = state;
    list->k = 0;
    return submodi_fn_eval(fn, list->set, 0, &list->value);
}

submod_status submodi_fn_chain(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                               double *gains)
{
    if (!fn->ops.chain) {
        return listed_chain(fn, state, elements, k, gains);
    }
    submod_status returned = fn->ops.chain(fn->ctx, state, elements, k, gains);
    return check_callback(fn, "chain", returned, gains, k);
}

submod_status submodi_fn_gain(const submod_fn *fn, void *state, int32_t e, double *gain)
{
    if (fn->ops.gain) {
        return check_callback(fn, "gain", fn->ops.gain(fn->ctx, state, e, gain), gain, 1);
    }
    if (fn->ops.chain) {
        char *copy = (char *)state + submodi_round_up(fn->ops.state_size);
        memcpy(copy, state, fn->ops.state_size);
        return submodi_fn_chain(fn, copy, &e, 1, gain);
    }
    listed *list = state;
    double value = list->value;
    submod_status status = listed_chain(fn, list, &e, 1, gain);
    list->value = value;
    list->k--;
    return status;
}

submod_status submodi_fn_greedy(const submod_fn *fn, void *state, const int32_t *order,
                                double *gains)
{
    TRY(submodi_fn_reset(fn, state));
    return submodi_fn_chain(fn, state, order, fn->n, gains);
}

submod_status submodi_fn_tied(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                              double *gains)
{
    submod_status returned = fn->ops.tied(fn->ctx, state, elements, k, gains);
    return check_callback(fn, "tied", returned, gains, k);
}

submod_status submodi_fn_minimize(const submod_fn *fn, const submod_minor *minor, const double *z,
                                  uint8_t *smallest, uint8_t *largest, double *base)
{
    size_t n = minor->nground;
    for (size_t i = 0; base && i < n; i++) {
        base[i] = NAN;
    }
    submod_status returned = fn->ops.minimize(fn->ctx, minor, z, smallest, largest, base);
    for (size_t i = 0; smallest && i < n; i++) {
        smallest[i] = smallest[i] != 0;
    }
    for (size_t i = 0; largest && i < n; i++) {
        largest[i] = largest[i] != 0;
    }
    bool has_base = returned == SUBMOD_OK && base && n && !isnan(base[0]);
    return check_callback(fn, "minimize", returned, base, has_base ? n : 0);
}

submod_status submodi_fn_prox(const submod_fn *fn, const double *x, double lambda, double *u,
                              double *s)
{
    submod_status outcome = fn->ops.prox(fn->ctx, x, lambda, u, s);
    TRY(check_callback(fn, "prox", outcome < 0 ? outcome : SUBMOD_OK, u, fn->n));
    TRY(check_callback(fn, "prox", SUBMOD_OK, s, fn->n));
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
    for (size_t j = 0; j < nparts; j++) {
        size_t begin = parts[j].begin;
        const submod_minor minor = {order, begin, order + begin, parts[j].end - begin};
        TRY(submodi_fn_minimize(fn, &minor, z + begin, in + begin, NULL, NULL));
    }
    return SUBMOD_OK;
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

/* Computes the gain of e, and adds it if asked to. */
static submod_status gain_of(submod_state *state, int32_t e, bool adds, double *gain)
{
    double result;
    TRY(check_new_element(state, e));
    TRY(adds ? SUBMOD_OK : submodi_check_given("gain", gain));
    submod_status status = adds ? submodi_fn_chain(state->fn, state->oracle, &e, 1, &result)
                                : submodi_fn_gain(state->fn, state->oracle, e, &result);
    state->broken = status != SUBMOD_OK;
    TRY(status);
    if (adds) {
        state->set[state->k++] = e;
        state->in[e] = 1;
    }
    submodi_copy_out(gain, &result, 1, sizeof result);
    return SUBMOD_OK;
}

submod_status submod_state_push(submod_state *state, int32_t e, double *gain)
{
    return submodi_return("submod_state_push", gain_of(state, e, true, gain));
}

submod_status submod_state_gain(submod_state *state, int32_t e, double *gain)
{
    return submodi_return("submod_state_gain", gain_of(state, e, false, gain));
}

size_t submod_state_set(const submod_state *state, const int32_t **set)
{
    if (set && state) {
        *set = state->set;
    }
    return state ? state->k : 0;
}
