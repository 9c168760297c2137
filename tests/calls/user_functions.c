/* Set functions with callbacks of each kind, which count themselves and fail when told to:
 * F(A) = g(weight of A), g(w) = sqrt(w) - 0.2 w. */
#include <math.h>

#include "calls.h"
#include "combinations.h"

enum { N = 7 };

_Thread_local callback_plan callbacks;
_Thread_local void (*callback_alarm)(void);

submod_status callback_made(void)
{
    if (callback_alarm) {
        callback_alarm();
    }
    callbacks.made++;
    callbacks.late += callbacks.at > 0 && callbacks.made > callbacks.at;
    return callbacks.made == callbacks.at ? SUBMOD_ECALLBACK : SUBMOD_OK;
}

static double weight_of(int32_t e)
{
    return 1 + e % 3; /* some are alike */
}

static double value_of(double weight)
{
    return sqrt(weight) - 0.2 * weight;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    double weight = 0;
    for (size_t i = 0; i < k; i++) {
        weight += weight_of(set[i]);
    }
    *value = value_of(weight);
    return callback_made();
}

static submod_status reset(const void *ctx, void *state)
{
    (void)ctx;
    *(double *)state = 0;
    return callback_made();
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *by)
{
    (void)ctx;
    double before = *(double *)state;
    *by = value_of(before + weight_of(e)) - value_of(before);
    return callback_made();
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    (void)ctx;
    double *weight = state;
    for (size_t i = 0; i < k; i++) {
        double before = *weight;
        *weight += weight_of(elements[i]);
        gains[i] = value_of(*weight) - value_of(before);
    }
    return callback_made();
}

static void write_set(unsigned set, size_t k, uint8_t *in)
{
    for (size_t i = 0; in && i < k; i++) {
        in[i] = set >> i & 1;
    }
}

/* Tries all subsets, each one before those that hold it. */
static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *base)
{
    double start = 0, best = INFINITY;
    unsigned first = 0, last = 0;
    (void)ctx;
    (void)base;
    for (size_t i = 0; i < minor->nbase; i++) {
        start += weight_of(minor->base[i]);
    }
    for (unsigned set = 0; set < 1U << minor->nground; set++) {
        double weight = start, sum = 0;
        for (size_t i = 0; i < minor->nground; i++) {
            weight += set >> i & 1 ? weight_of(minor->ground[i]) : 0;
            sum += set >> i & 1 ? z[i] : 0;
        }
        double value = value_of(weight) - sum;
        first = value < best - 1e-12 ? set : first;
        last = value <= best + 1e-12 ? set : last;
        best = fmin(best, value);
    }
    write_set(first, minor->nground, smallest);
    write_set(last, minor->nground, largest);
    return callback_made();
}

/* By the same function of the library, which ctx is. */
static submod_status prox(const void *ctx, const double *x, double lambda, double *u, double *s)
{
    submod_status status = submod_prox(ctx, x, lambda, u, s, NULL, NULL, NULL);
    submod_status made = callback_made();
    return made ? made : status;
}

static void destroy(void *ctx)
{
    submod_fn_free(ctx);
}

static submod_status concave_value(const void *ctx, double t, double *value)
{
    (void)ctx;
    *value = value_of(t);
    return callback_made();
}

static double measure_value(double a, double b, double P, double n, void *ctx)
{
    (void)ctx;
    return callback_made() == SUBMOD_OK ? sqrt((a + 2 * b) / (P + 2 * n)) : NAN;
}

/* ---- subjects ---- */

#define INCREMENTAL .eval = eval, .state_size = sizeof(double), .reset = reset, .chain = chain

static const submod_fn_ops tables[] = {
    {.eval = eval},
    {INCREMENTAL},
    {INCREMENTAL, .gain = gain},
    {INCREMENTAL, .gain = gain, .minimize = minimize},
    {INCREMENTAL, .gain = gain, .minimize = minimize, .prox = prox, .destroy = destroy}};
enum { PROX = 4, TABLES, KINDS = TABLES + 3 };

static const char *const names[KINDS][5] = {
    {"eval", "sum of eval", "scaled eval", "eval + modular", "embedded eval"},
    {"chain", "sum of chain", "scaled chain", "chain + modular", "embedded chain"},
    {"gain", "sum of gain", "scaled gain", "gain + modular", "embedded gain"},
    {"minimize", "sum of minimize", "scaled minimize", "minimize + modular", "embedded minimize"},
    {"prox", "sum of prox", "scaled prox", "prox + modular", "embedded prox"},
    {"concave", "sum of concave", "scaled concave", "concave + modular", "embedded concave"},
    {"measure", "sum of measure", "scaled measure", "measure + modular", "embedded measure"},
    {"weighted measure", "sum of weighted measure", "scaled weighted measure",
     "weighted measure + modular", "embedded weighted measure"}};

/* The function that the callbacks define, made by the library. */
static submod_status make_builtin(const double *weight, submod_fn **fn)
{
    submod_fn *root = NULL;
    double w[N];
    for (int i = 0; i < N; i++) {
        w[i] = -0.2 * weight[i];
    }
    submod_status status =
        submod_fn_concave(N, weight, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &root);
    status = status ? status : combine_plus(root, w, fn);
    submod_fn_free(root);
    return status;
}

static submod_status make(int kind, submod_fn **fn)
{
    const uint8_t foreground[N] = {1, 0, 0, 1, 1, 0, 1};
    const submod_concave g = {.kind = SUBMOD_CONCAVE_CUSTOM, .value = concave_value};
    submod_measure measure =
        submod_measure_custom(&(submod_measure_ops){.value = measure_value}, NULL);
    submod_fn *inner = NULL;
    double weight[N];
    for (int32_t i = 0; i < N; i++) {
        weight[i] = weight_of(i);
    }
    if (kind == PROX && make_builtin(weight, &inner)) {
        return SUBMOD_ENOMEM;
    }
    switch (kind - TABLES) {
    case 0: return submod_fn_concave(N, weight, &g, fn);
    case 1: return submod_fn_counts(N, foreground, NULL, &measure, fn);
    case 2: return submod_fn_counts(N, foreground, weight, &measure, fn);
    default: return submod_fn_custom(N, &tables[kind], inner, fn);
    }
}

/* As a part of others. */
static submod_status add_combinations(call_data *d, const char *const *name, submod_fn *fn)
{
    submod_fn *root = NULL, *made = NULL;
    const double w[N] = {0.1, -0.2};
    const int32_t mixed[N] = {6, 4, 2, 0, 1, 3, 5};
    submod_status status =
        submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &root);
    submod_fn *const both[2] = {fn, root};
    status = status ? status : combine_sum(both, NULL, 2, &made);
    submod_fn_free(root);
    status = call_add_subject(d, status, name[1], made, true);
    status = status ? status : combine_scaled(fn, 2, &made);
    status = call_add_subject(d, status, name[2], made, true);
    status = status ? status : combine_plus(fn, w, &made);
    status = call_add_subject(d, status, name[3], made, true);
    status = status ? status : combine_embedded(fn, N, mixed, &made);
    return call_add_subject(d, status, name[4], made, true);
}

submod_status call_add_user_functions(call_data *d)
{
    submod_status status = SUBMOD_OK;
    for (int kind = 0; status == SUBMOD_OK && kind < KINDS; kind++) {
        submod_fn *fn = NULL;
        status = make(kind, &fn);
        status = call_add_subject(d, status, names[kind][0], fn, true);
        status = status ? status : add_combinations(d, names[kind], fn);
    }
    return status;
}
