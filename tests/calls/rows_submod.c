/* Rows of the set functions, measures and the Lovász extension (see calls.h). */
#include <math.h>
#include <stdlib.h>
#include <submod/select.h>

#include "calls.h"

/* ---- constructors: N elements ---- */

enum { N = 24, LISTS = 4 };

static const size_t start[N + 1] = {0,  2,  6,  10, 13, 13, 13, 13, 13, 13, 13, 13, 13,
                                    13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13};
static const int32_t members[13] = {0, 3, 1, 2, 3, 4, 8, 0, 2, 4, 20, 21, 23};
static const int32_t tail[6] = {0, 1, 2, 3, 4, 23}, head[6] = {1, 2, 3, 4, 0, 7};

static submod_status jaccard(call *c)
{
    return submod_fn_jaccard(N, NEEDED(c->data->marks), NEEDED(call_function(c)));
}

static submod_status hamming(call *c)
{
    return submod_fn_hamming(N, NEEDED(call_function(c)));
}

static submod_status counts(call *c)
{
    submod_measure measure = submod_tversky(0.7, 1.5);
    return submod_fn_counts(N, NEEDED(c->data->marks), OPTIONAL(c->data->weight),
                            OPTIONAL(&measure), NEEDED(call_function(c)));
}

static submod_status modular(call *c)
{
    return submod_fn_modular(N, NEEDED(c->data->x), NEEDED(call_function(c)));
}

static submod_status cardinality(call *c)
{
    double h[N + 1];
    for (int k = 0; k <= N; k++) {
        h[k] = sqrt((double)k) - 0.1 * k;
    }
    const submod_concave g = {
        .kind = SUBMOD_CONCAVE_POINTS, .count = N + 1, .t = NULL, .g = NEEDED(h)};
    return submod_fn_concave(N, NULL, NEEDED(&g), NEEDED(call_function(c)));
}

/* Of |A|, and of the weight of A. */
static submod_status concave_kind(call *c, submod_concave_kind kind, double parameter)
{
    const submod_concave g = {.kind = kind, .parameter = parameter};
    return submod_fn_concave(N, OPTIONAL(c->data->weight), NEEDED(&g), NEEDED(call_function(c)));
}

static submod_status square_root(call *c)
{
    return concave_kind(c, SUBMOD_CONCAVE_SQRT, 0);
}

static submod_status logarithm(call *c)
{
    return concave_kind(c, SUBMOD_CONCAVE_LOG1P, 0);
}

static submod_status truncation(call *c)
{
    return concave_kind(c, SUBMOD_CONCAVE_MIN, 3);
}

static submod_status power(call *c)
{
    return concave_kind(c, SUBMOD_CONCAVE_POWER, 0.7);
}

static submod_status concave_points(call *c)
{
    const double t[3] = {0, 4, 9}, heights[3] = {0, 4, 2};
    const submod_concave g = {
        .kind = SUBMOD_CONCAVE_POINTS, .count = 3, .t = OPTIONAL(t), .g = NEEDED(heights)};
    return submod_fn_concave(N, OPTIONAL(c->data->weight), NEEDED(&g), NEEDED(call_function(c)));
}

static submod_status concave_value(const void *ctx, double t, double *value)
{
    (void)ctx;
    *value = sqrt(t);
    return SUBMOD_OK;
}

static submod_status concave_custom(call *c)
{
    const submod_concave g = {.kind = SUBMOD_CONCAVE_CUSTOM,
                              .value = concave_value,
                              .ctx = call_context(c),
                              .destroy = call_context_destroy};
    return submod_fn_concave(N, OPTIONAL(c->data->weight), NEEDED(&g), NEEDED(call_function(c)));
}

static submod_status groups_of(call *c, submod_concave g, const double *amount)
{
    const submod_groups lists = {.count = LISTS,
                                 .start = NEEDED(start),
                                 .elements = NEEDED(members),
                                 .amount = amount,
                                 .weight = OPTIONAL(c->data->weight)};
    return submod_fn_groups(N, NEEDED(&lists), NEEDED(&g), NEEDED(call_function(c)));
}

static submod_status groups(call *c)
{
    const submod_concave g = {.kind = SUBMOD_CONCAVE_MIN, .parameter = 3};
    return groups_of(c, g, OPTIONAL(c->data->weight));
}

/* Groups share the callback's context. */
static submod_status groups_custom(call *c)
{
    const submod_concave g = {.kind = SUBMOD_CONCAVE_CUSTOM,
                              .value = concave_value,
                              .ctx = call_context(c),
                              .destroy = call_context_destroy};
    return groups_of(c, g, OPTIONAL(c->data->weight));
}

static submod_status hypergraph(call *c)
{
    return groups_of(c, (submod_concave){.kind = SUBMOD_CONCAVE_SMALL_SIDE}, NULL);
}

static submod_status no_groups(call *c)
{
    const submod_groups none = {.start = NEEDED(start)};
    const submod_concave g = {.kind = SUBMOD_CONCAVE_SQRT};
    return submod_fn_groups(N, NEEDED(&none), NEEDED(&g), NEEDED(call_function(c)));
}

static submod_status coverage(call *c)
{
    return submod_fn_coverage(N, NEEDED(start), NEEDED(members), N, NEEDED(c->data->weight),
                              NEEDED(call_function(c)));
}

static submod_status facility(call *c)
{
    return submod_fn_facility(N, 3, NEEDED(c->data->weight), NEEDED(call_function(c)));
}

static submod_status cut(call *c)
{
    return submod_fn_cut(N, 6, NEEDED(tail), NEEDED(head), NEEDED(c->data->weight), 1,
                         NEEDED(call_function(c)));
}

static submod_status logdet(call *c)
{
    return submod_fn_logdet(CALL_SIDE, NEEDED(c->data->gram), NEEDED(call_function(c)));
}

static submod_status eval_size(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    (void)set;
    *value = sqrt((double)k);
    return SUBMOD_OK;
}

static submod_status custom(call *c)
{
    const submod_fn_ops ops = {.eval = eval_size, .destroy = call_context_destroy};
    return submod_fn_custom(N, NEEDED(&ops), call_context(c), NEEDED(call_function(c)));
}

/* ---- combinations ---- */

static submod_status combine(call *c)
{
    const submod_term terms[2] = {{NEEDED(c->fn), 2, NULL}, {NEEDED(c->fn), 0.5, NULL}};
    return submod_fn_combine(c->n, NEEDED(terms), 2, OPTIONAL(c->data->x),
                             NEEDED(call_function(c)));
}

static submod_status restrict_to(call *c)
{
    const int32_t elements[4] = {5, 0, 2, 6};
    return submod_fn_restrict(NEEDED(c->fn), NEEDED(elements), 4, NEEDED(call_function(c)));
}

static submod_status contract(call *c)
{
    const int32_t elements[4] = {5, 0, 2, 6};
    return submod_fn_contract(NEEDED(c->fn), NEEDED(elements), 4, NEEDED(call_function(c)));
}

static submod_status embed(call *c)
{
    int32_t *elements = call_own(c, malloc(c->n * sizeof *elements), free);
    for (size_t i = 0; i < c->n; i++) {
        elements[i] = (int32_t)(c->n + 1 - i);
    }
    const submod_term term = {NEEDED(c->fn), 1, NEEDED(elements)};
    return submod_fn_combine(c->n + 2, NEEDED(&term), 1, NULL, NEEDED(call_function(c)));
}

/* ---- evaluation ---- */

static submod_status eval(call *c)
{
    const int32_t set[4] = {5, 0, 2, 6};
    return submod_fn_eval(NEEDED(c->fn), NEEDED(set), 4, NEEDED(VALUE(double)));
}

/* Of a ground set that is too large for flags on the stack. */
static submod_status eval_many(call *c)
{
    const int32_t set[2] = {77, 9999};
    submod_fn *fn = NULL;
    double *value = VALUE(double);
    submod_status status =
        submod_fn_concave(10000, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn);
    status = status ? status : submod_fn_eval(fn, set, 2, value);
    submod_fn_free(fn);
    return status;
}

/* An order of all elements: from both ends inwards. */
static int32_t *inwards(call *c)
{
    int32_t *order = call_own(c, malloc(c->n * sizeof *order), free);
    for (size_t i = 0; i < c->n; i++) {
        order[i] = (int32_t)(i % 2 ? c->n - 1 - i / 2 : i / 2);
    }
    return order;
}

static submod_status chain(call *c)
{
    return submod_fn_chain(NEEDED(c->fn), NEEDED(inwards(c)), c->n, NEEDED(ARRAY(double, c->n)),
                           c->work);
}

static void found_state(const void *state, digest *d)
{
    const int32_t *set = NULL;
    size_t k = submod_state_set(state, &set);
    digest_bytes(d, set, k * sizeof *set);
}

static void release_state(void *state)
{
    submod_state_free(state);
}

static submod_status state_create(call *c)
{
    return submod_state_create(NEEDED(c->fn), NEEDED(call_object(c, found_state, release_state)));
}

static submod_status state(call *c)
{
    const int32_t pushed[3] = {4, 1, 6};
    submod_state *s = NULL;
    double *found = ARRAY(double, 2), *last = &found[0], *gain = &found[1];
    submod_status status = submod_state_create(c->fn, &s);
    for (int k = 0; status == SUBMOD_OK && k < 3; k++) {
        status = submod_state_push(s, pushed[k], k == 2 ? last : NULL);
    }
    status = status ? status : submod_state_gain(s, 0, gain);
    status = status ? status : submod_state_reset(s);
    submod_state_free(s);
    return status;
}

/* ---- extension, checks ---- */

static submod_status extension(call *c, submod_ties ties)
{
    return submod_lovasz(NEEDED(c->fn), NEEDED(c->data->tied), OPTIONAL(VALUE(double)),
                         OPTIONAL(ARRAY(double, c->n)), OPTIONAL(ARRAY(int32_t, c->n)), ties,
                         c->work);
}

static submod_status lovasz_average(call *c)
{
    return extension(c, SUBMOD_TIES_AVERAGE);
}

static submod_status lovasz_index(call *c)
{
    return submod_lovasz(c->fn, c->data->tied, VALUE(double), ARRAY(double, c->n), NULL,
                         SUBMOD_TIES_INDEX, c->work);
}

enum { SMALL = 64 }; /* what the checker does in no time */

static void clear_report(void *report)
{
    submod_check_report_clear(report);
    free(report);
}

static submod_status check(call *c)
{
    if (c->n > SMALL) {
        return SUBMOD_EUNSUPPORTED;
    }
    submod_check_settings settings = submod_check_defaults();
    submod_check_report *report = call_own(c, calloc(1, sizeof *report), clear_report);
    int *found = VALUE(int);
    settings.samples = 10;
    submod_status status = submod_fn_check(NEEDED(c->fn), NEEDED(report), &settings);
    if (status == SUBMOD_OK) {
        *found = report->submodular + 2 * report->monotone + 4 * report->consistent;
    }
    return status;
}

static submod_status check_all(call *c)
{
    if (c->n > SMALL) {
        return SUBMOD_EUNSUPPORTED;
    }
    submod_check_report *report = call_own(c, calloc(1, sizeof *report), clear_report);
    submod_fn *fn = NULL;
    const int32_t elements[7] = {6, 5, 4, 3, 2, 1, 0};
    int *found = VALUE(int);
    submod_status status = submod_fn_restrict(c->fn, elements, 7, &fn);
    status = status ? status : submod_fn_check(fn, report, NULL);
    if (status == SUBMOD_OK) {
        *found = report->submodular + 2 * report->monotone + 4 * report->consistent;
    }
    submod_fn_free(fn);
    return status;
}

static submod_status measure_check(call *c)
{
    submod_measure measure = submod_tversky(0.7, 1.5);
    submod_check_settings settings = submod_check_defaults();
    return submod_measure_check(OPTIONAL(&measure), 9, 7,
                                NEEDED(INFO(submod_check_report, of_measure, seconds)),
                                OPTIONAL(&settings));
}

static submod_status measure_check_samples(call *c)
{
    submod_measure measure = submod_tversky(0.7, 1.5);
    submod_check_settings settings = submod_check_defaults();
    settings.exhaustive_max = 0;
    settings.samples = 500;
    return submod_measure_check(&measure, 900, 70, INFO(submod_check_report, of_measure, seconds),
                                &settings);
}

enum { EACH = CALL_ON_FUNCTION };

static const call_row rows[] = {
    {"submod_fn_jaccard", 0, jaccard},
    {"submod_fn_hamming", 0, hamming},
    {"submod_fn_counts", 0, counts},
    {"submod_fn_modular", 0, modular},
    {"submod_fn_concave: cardinality", 0, cardinality},
    {"submod_fn_concave: square root", 0, square_root},
    {"submod_fn_concave: logarithm", 0, logarithm},
    {"submod_fn_concave: truncation", 0, truncation},
    {"submod_fn_concave: power", 0, power},
    {"submod_fn_concave: points", 0, concave_points},
    {"submod_fn_concave: custom", 0, concave_custom},
    {"submod_fn_groups", 0, groups},
    {"submod_fn_groups: custom", 0, groups_custom},
    {"submod_fn_groups: none", 0, no_groups},
    {"submod_fn_groups: hypergraph", 0, hypergraph},
    {"submod_fn_coverage", 0, coverage},
    {"submod_fn_facility", 0, facility},
    {"submod_fn_cut", 0, cut},
    {"submod_fn_logdet", 0, logdet},
    {"submod_fn_custom", 0, custom},
    {"submod_fn_combine", EACH | CALL_FAST, combine},
    {"submod_fn_restrict", EACH | CALL_FAST, restrict_to},
    {"submod_fn_contract", EACH | CALL_FAST, contract},
    {"submod_fn_combine", EACH | CALL_FAST, embed},
    {"submod_fn_eval", EACH, eval},
    {"submod_fn_eval: many elements", CALL_SEVERAL, eval_many},
    {"submod_fn_chain", EACH, chain},
    {"submod_state_create", EACH, state_create},
    {"submod_state_push", EACH | CALL_SEVERAL, state},
    {"submod_lovasz", EACH | CALL_PARALLEL, lovasz_average},
    {"submod_lovasz: ties by index", EACH | CALL_PARALLEL, lovasz_index},
    {"submod_fn_check", EACH | CALL_FAST | CALL_CANCELS, check},
    {"submod_fn_check: all subsets", EACH | CALL_FAST | CALL_CANCELS | CALL_SEVERAL, check_all},
    {"submod_measure_check", CALL_CANCELS, measure_check},
    {"submod_measure_check: samples", CALL_CANCELS, measure_check_samples}};
const call_table submod_calls = {rows, sizeof rows / sizeof *rows};
