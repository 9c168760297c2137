/* Rows of the proximal operators, minimisation, certificates and derivatives (see calls.h). */
#include <limits.h>
#include <stdlib.h>

#include "calls.h"

/* Limits the iterations, so that a call of any method is short; a status above 0 is fine. */
enum { ITERATIONS = 20 };

#define PROX_INFO() INFO(submod_prox_info, primal, seconds)

static void found_combination(const submod_combination *c, digest *d)
{
    digest_bytes(d, c->orders, c->count * c->n * sizeof *c->orders);
    digest_bytes(d, c->weights, c->count * sizeof *c->weights);
}

static void release_combination(void *combination)
{
    submod_combination_free(combination);
    free(combination);
}

static submod_combination *new_combination(call *c)
{
    return call_own(c, calloc(1, sizeof(submod_combination)), release_combination);
}

/* ---- prox ---- */

static submod_status prox(call *c, submod_prox_method method, int hinge)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    settings.hinge = hinge;
    settings.max_iterations = ITERATIONS;
    return submod_prox(NEEDED(c->fn), NEEDED(c->data->x), 2, OPTIONAL(ARRAY(double, c->n)),
                       OPTIONAL(ARRAY(double, c->n)), &settings, OPTIONAL(PROX_INFO()), c->work);
}

#define PROX(name, method, hinge) \
    static submod_status name(call *c) \
    { \
        return prox(c, method, hinge); \
    }
PROX(prox_auto, SUBMOD_PROX_AUTO, 0)
PROX(prox_closed_form, SUBMOD_PROX_CLOSED_FORM, 0)
PROX(prox_cardinality, SUBMOD_PROX_CARDINALITY, 0)
PROX(prox_jaccard, SUBMOD_PROX_JACCARD, 0)
PROX(prox_chain, SUBMOD_PROX_CHAIN, 0)
PROX(prox_decomposition, SUBMOD_PROX_DECOMPOSITION, 0)
PROX(prox_min_norm, SUBMOD_PROX_MIN_NORM, 0)
PROX(prox_algorithm2, SUBMOD_PROX_ALGORITHM_2, 0)
PROX(prox_algorithm2_loop, SUBMOD_PROX_ALGORITHM_2_LOOP, 0)
PROX(prox_algorithm2_printed, SUBMOD_PROX_ALGORITHM_2_PRINTED, 0)
PROX(prox_sum, SUBMOD_PROX_SUM, 0)
PROX(prox_two_counts, SUBMOD_PROX_TWO_COUNTS, 0)
PROX(prox_own, SUBMOD_PROX_OWN, 0)

/* Ends at the first look at the clock. */
static submod_status prox_time_limit(call *c)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = SUBMOD_PROX_DECOMPOSITION;
    settings.time_limit = 1e-12;
    return submod_prox(c->fn, c->data->x, 2, ARRAY(double, c->n), ARRAY(double, c->n), &settings,
                       PROX_INFO(), c->work);
}

/* Of functions that are monotone. */
static submod_status prox_hinge(call *c)
{
    submod_status status = prox(c, SUBMOD_PROX_AUTO, 1);
    return status == SUBMOD_EINVAL && c->null_at < 0 ? SUBMOD_EUNSUPPORTED : status;
}

/* Starts from a combination, and returns one. */
static submod_status prox_combination(call *c)
{
    if (c->n > 64) {
        return SUBMOD_EUNSUPPORTED;
    }
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = SUBMOD_PROX_MIN_NORM;
    settings.max_iterations = ITERATIONS;
    settings.combination = new_combination(c);
    settings.start = settings.combination;
    digest *found = VALUE(digest);
    submod_status status =
        submod_prox(c->fn, c->data->x, 2, ARRAY(double, c->n), NULL, &settings, NULL, c->work);
    status = status < 0 ? status
                        : submod_prox(c->fn, c->data->x, 3, ARRAY(double, c->n), NULL, &settings,
                                      NULL, c->work);
    if (status >= 0) {
        found_combination(settings.combination, found);
    }
    return status;
}

/* start: the weights to start from are those of one row, or none. */
static submod_status max_affine_from(call *c, int start)
{
    enum { M = 12, N = 8 };
    const double *x = c->data->x;
    double *weights = ARRAY(double, M);
    for (int j = 0; j < M; j++) {
        weights[j] = j == start;
    }
    return submod_prox_max_affine(
        M, N, NEEDED(x), NEEDED(x + 100), NEEDED(x + 120), 0.5, OPTIONAL(ARRAY(double, N)),
        start < M ? weights : OPTIONAL(weights), OPTIONAL(PROX_INFO()), c->work);
}

static submod_status max_affine(call *c)
{
    return max_affine_from(c, INT_MAX);
}

static submod_status max_affine_started(call *c)
{
    return max_affine_from(c, 3);
}

static submod_status points(call *c)
{
    const call_data *d = c->data;
    submod_measure measure = submod_tversky(0.7, 1.5);
    const submod_points given = {d->pixels, NEEDED(d->x), NEEDED(d->marks), NEEDED(d->weight)};
    return submod_prox_points(NEEDED(&given), OPTIONAL(&measure), 2,
                              OPTIONAL(ARRAY(double, d->pixels)),
                              OPTIONAL(ARRAY(double, d->pixels)), OPTIONAL(PROX_INFO()), c->work);
}

static submod_status prox_accuracy(call *c)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.max_iterations = ITERATIONS;
    settings.accuracy = 4e-3;
    return submod_prox(NEEDED(c->fn), NEEDED(c->data->x), 2, OPTIONAL(ARRAY(double, c->n)),
                       OPTIONAL(ARRAY(double, c->n)), &settings, OPTIONAL(PROX_INFO()), c->work);
}

static submod_status hinge_layer_by(call *c, submod_prox_method method)
{
    const call_data *d = c->data;
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    submod_scores scores = submod_scores_f32(d->scores, CALL_IMAGES, 1, d->pixels);
    submod_labels labels = submod_labels_u8(d->marks, CALL_IMAGES, d->pixels);
    size_t n = CALL_IMAGES * d->pixels;
    submod_gradient prox = submod_gradient_dense(ARRAY(float, n), 1, d->pixels);
    submod_gradient direction = submod_gradient_dense(ARRAY(float, n), 1, d->pixels);
    return submod_prox_hinge_layer(
        NEEDED(&scores), NEEDED(&labels), 2, &prox, &direction, NULL, &settings,
        OPTIONAL(INFO(submod_prox_info, iterations, minor_cycles)), c->work);
}

static submod_status hinge_layer(call *c)
{
    return hinge_layer_by(c, SUBMOD_PROX_AUTO);
}

static submod_status hinge_layer_algorithm2(call *c)
{
    return hinge_layer_by(c, SUBMOD_PROX_ALGORITHM_2);
}

/* ---- minimisation ---- */

static submod_status sfm(call *c, submod_sfm_method method)
{
    submod_sfm_settings settings = submod_sfm_defaults();
    settings.method = method;
    settings.max_iterations = ITERATIONS;
    return submod_sfm(NEEDED(c->fn), OPTIONAL(ARRAY(uint8_t, c->n)), OPTIONAL(ARRAY(uint8_t, c->n)),
                      OPTIONAL(ARRAY(double, c->n)), &settings,
                      OPTIONAL(INFO(submod_sfm_info, value, exact)), c->work);
}

static submod_status sfm_auto(call *c)
{
    return sfm(c, SUBMOD_SFM_AUTO);
}

static submod_status sfm_minimizer(call *c)
{
    return sfm(c, SUBMOD_SFM_MINIMIZER);
}

static submod_status sfm_min_norm(call *c)
{
    return sfm(c, SUBMOD_SFM_MIN_NORM);
}

static submod_status sfm_exhaustive(call *c)
{
    return c->n > 10 ? SUBMOD_EUNSUPPORTED : sfm(c, SUBMOD_SFM_EXHAUSTIVE);
}

static submod_status sfm_sum(call *c)
{
    return sfm(c, SUBMOD_SFM_SUM);
}

/* ---- certificates ---- */

/* Against the elements in order and the other way round. */
static submod_status certificate(call *c)
{
    double weights[2] = {0.25, 0.75};
    int32_t *both = call_own(c, malloc(2 * c->n * sizeof *both), free);
    for (size_t i = 0; i < c->n; i++) {
        both[i] = both[2 * c->n - 1 - i] = (int32_t)i;
    }
    const submod_combination made = {c->n, 2, both, weights};
    return submod_certificate_check(NEEDED(c->fn), NEEDED(c->data->x), 2, NEEDED(c->data->tied),
                                    NEEDED(c->data->weight), NEEDED(&made),
                                    NEEDED(VALUE(submod_certificate_report)));
}

/* ---- derivatives ---- */

static submod_status blocks(call *c)
{
    double *u = call_own(c, malloc(c->n * sizeof *u), free);
    submod_status status = submod_prox(c->fn, c->data->x, 2, u, NULL, NULL, NULL, c->work);
    status = status < 0
                 ? status
                 : submod_prox_blocks(NEEDED(c->fn), NEEDED(c->data->x), 2, NEEDED(u),
                                      OPTIONAL(ARRAY(int32_t, c->n)), NULL, OPTIONAL(VALUE(size_t)),
                                      NULL, OPTIONAL(PROX_INFO()), c->work);
    return status;
}

/* Blocks of three neighbours, some held, some free. */
static int32_t *some_blocks(call *c, size_t n)
{
    int32_t *block = call_own(c, malloc(n * sizeof *block), free);
    for (size_t i = 0; i < n; i++) {
        block[i] = i % 7 == 5   ? SUBMOD_BLOCK_HELD
                   : i % 7 == 6 ? SUBMOD_BLOCK_FREE
                                : (int32_t)(i / 3);
    }
    return block;
}

static submod_status vjp(call *c)
{
    enum { SIZE = CALL_SIDE * CALL_SIDE, EDGES = 5 };
    const call_data *d = c->data;
    const int32_t tail[EDGES] = {0, 9, 8, 255, 4}, head[EDGES] = {9, 8, 255, 0, 4};
    const submod_prox_point point = {.n = SIZE,
                                     .lambda = 2,
                                     .block = NEEDED(some_blocks(c, SIZE)),
                                     .u = NEEDED(d->weight),
                                     .s = NEEDED(d->weight)};
    const submod_prox_derivatives derivatives = {.by_x = ARRAY(double, SIZE),
                                                 .by_lambda = VALUE(double),
                                                 .by_modular = ARRAY(double, SIZE),
                                                 .by_edge = ARRAY(double, EDGES),
                                                 .edges = EDGES,
                                                 .tail = NEEDED(tail),
                                                 .head = NEEDED(head)};
    return submod_prox_vjp(NEEDED(&point), NEEDED(d->x), NEEDED(&derivatives), c->work);
}

static submod_status vjp_function(call *c)
{
    const submod_prox_point point = {.n = c->n, .lambda = 2, .block = NEEDED(some_blocks(c, c->n))};
    const submod_prox_derivatives derivatives = {.by_function = VALUE(double),
                                                 .function = NEEDED(c->fn)};
    return submod_prox_vjp(NEEDED(&point), NEEDED(c->data->x), NEEDED(&derivatives), c->work);
}

enum {
    EACH = CALL_ON_FUNCTION,
    LONG = CALL_ON_FUNCTION | CALL_FAST | CALL_CANCELS,
    WIDE = CALL_ON_FUNCTION | CALL_PARALLEL
};

static const call_row rows[] = {
    {"submod_prox", WIDE | CALL_CANCELS, prox_auto},
    {"submod_prox: closed form", WIDE, prox_closed_form},
    {"submod_prox: cardinality", WIDE, prox_cardinality},
    {"submod_prox: Jaccard", WIDE, prox_jaccard},
    {"submod_prox: chain", WIDE, prox_chain},
    {"submod_prox: decomposition", LONG, prox_decomposition},
    {"submod_prox: min-norm", LONG, prox_min_norm},
    {"submod_prox: Algorithm 2", EACH, prox_algorithm2},
    {"submod_prox: Algorithm 2, loop", EACH | CALL_CANCELS, prox_algorithm2_loop},
    {"submod_prox: Algorithm 2, printed", EACH | CALL_CANCELS, prox_algorithm2_printed},
    {"submod_prox: sum", LONG, prox_sum},
    {"submod_prox: two counts", WIDE, prox_two_counts},
    {"submod_prox: own", WIDE | CALL_CANCELS, prox_own},
    {"submod_prox: hinge", EACH | CALL_FAST | CALL_CANCELS, prox_hinge},
    {"submod_prox: time limit", EACH | CALL_FAST, prox_time_limit},
    {"submod_prox: combination", LONG | CALL_SEVERAL, prox_combination},
    {"submod_prox_max_affine", CALL_CANCELS, max_affine},
    {"submod_prox_max_affine: started", CALL_CANCELS, max_affine_started},
    {"submod_prox: accuracy", WIDE | CALL_CANCELS, prox_accuracy},
    {"submod_prox_points", CALL_PARALLEL, points},
    {"submod_prox_hinge_layer", CALL_PARALLEL, hinge_layer},
    {"submod_prox_hinge_layer: Algorithm 2", CALL_PARALLEL, hinge_layer_algorithm2},
    {"submod_sfm", LONG, sfm_auto},
    {"submod_sfm: minimizer", LONG, sfm_minimizer},
    {"submod_sfm: min-norm", LONG, sfm_min_norm},
    {"submod_sfm: exhaustive", LONG, sfm_exhaustive},
    {"submod_sfm: sum", LONG, sfm_sum},
    {"submod_certificate_check", LONG | CALL_SEVERAL, certificate},
    {"submod_prox_blocks", EACH | CALL_FAST | CALL_SEVERAL, blocks},
    {"submod_prox_vjp", 0, vjp},
    {"submod_prox_vjp: function", EACH, vjp_function}};
const call_table prox_calls = {rows, sizeof rows / sizeof *rows};
