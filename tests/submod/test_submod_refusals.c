/* Every error message of the set functions: the call, its status and words of the message. Values
 * and functions stay as they were. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <submod/select.h>

#include "combinations.h"
#include "support.h"

static submod_fn *const untouched = (submod_fn *)&families; /* any address */

/* The call fails with this status, its error message contains `words`, and fn is unchanged. */
#define ck_assert_refused(call, expected, words) assert_error(call, expected, words)
#define ck_assert_not_made(call, expected, words) \
    do { \
        submod_fn *fn = untouched; \
        ck_assert_refused(call, expected, words); \
        ck_assert_ptr_eq(fn, untouched); \
    } while (0)

START_TEST(sizes)
{
    const uint8_t mask[1] = {1};
    const double w[2] = {0, 1};
    size_t big = (size_t)INT32_MAX + 1;
    ck_assert_not_made(submod_fn_jaccard(0, mask, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_hamming(0, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_modular(0, w, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_concave(0, NULL, &(submod_concave){0}, &fn), SUBMOD_EINVAL,
                       "n = 0");
    ck_assert_not_made(submod_fn_concave(0, w, &(submod_concave){0}, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_cut(0, 0, NULL, NULL, NULL, 1, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_logdet(0, w, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_hamming(big, &fn), SUBMOD_EINVAL, "2^31");
    ck_assert_refused(submod_fn_hamming(3, NULL), SUBMOD_EINVAL, "NULL");
    ck_assert_not_made(submod_fn_logdet(50000, w, &fn), SUBMOD_EUNSUPPORTED, "50000");
}
END_TEST

START_TEST(null_pointers)
{
    double value = 7;
    ck_assert_not_made(submod_fn_jaccard(3, NULL, &fn), SUBMOD_EINVAL, "foreground is NULL");
    ck_assert_not_made(submod_fn_modular(3, NULL, &fn), SUBMOD_EINVAL, "w is NULL");
    ck_assert_not_made(submod_fn_cut(3, 1, NULL, NULL, NULL, 1, &fn), SUBMOD_EINVAL, "NULL");
    ck_assert_not_made(submod_fn_logdet(3, NULL, &fn), SUBMOD_EINVAL, "K is NULL");
    ck_assert_not_made(submod_fn_combine(3, NULL, 1, NULL, &fn), SUBMOD_EINVAL, "terms is NULL");
    ck_assert_not_made(submod_fn_restrict(NULL, NULL, 1, &fn), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_not_made(submod_fn_contract(NULL, NULL, 1, &fn), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_not_made(submod_fn_custom(3, NULL, NULL, &fn), SUBMOD_EINVAL, "ops is NULL");
    ck_assert_refused(submod_fn_eval(NULL, NULL, 0, &value), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_refused(submod_fn_chain(NULL, NULL, 0, &value, NULL), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_refused(submod_lovasz(NULL, &value, &value, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL),
                      SUBMOD_EINVAL, "fn is NULL");
    ck_assert_refused(submod_fn_check(NULL, NULL, NULL), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_refused(submod_state_create(NULL, NULL), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_refused(submod_state_push(NULL, 0, NULL), SUBMOD_EINVAL, "state is NULL");
    ck_assert_refused(submod_state_gain(NULL, 0, &value), SUBMOD_EINVAL, "state is NULL");
    ck_assert_refused(submod_state_reset(NULL), SUBMOD_EINVAL, "state is NULL");
    ck_assert(value == 7);
    ck_assert_uint_eq(submod_state_set(NULL, NULL), 0);
    ck_assert_uint_eq(submod_fn_size(NULL), 0);
    ck_assert_str_eq(submod_fn_name(NULL), "");
    ck_assert_ptr_null(submod_fn_retain(NULL));
    submod_fn_free(NULL);
    submod_state_free(NULL);
}
END_TEST

START_TEST(numbers)
{
    const double nan_w[3] = {1, NAN, 2}, inf_w[3] = {1, 2, -INFINITY}, negative[3] = {1, 2, -3};
    const double edge_weight[4] = {0, 1, 3, 4};
    const int32_t items[3] = {0, 1, 2}, far[3] = {0, 1, 5}, minus[3] = {0, -1, 2};
    const double asymmetric[4] = {1, 0.5, 0.4, 1}, indefinite[4] = {1, 2, 2, 1};
    const double uneven[9] = {1e12, 0, 0, 0, 1, 0.9, 0, 0, 1}, no_diagonal[4] = {1, 0, 0, 0};
    ck_assert_not_made(submod_fn_logdet(3, uneven, &fn), SUBMOD_EINVAL, "must be symmetric");
    ck_assert_not_made(submod_fn_logdet(2, no_diagonal, &fn), SUBMOD_ENUMERIC, "positive definite");
    ck_assert_not_made(submod_fn_modular(3, nan_w, &fn), SUBMOD_ENONFINITE, "w[1] is nan");
    ck_assert_not_made(submod_fn_modular(3, inf_w, &fn), SUBMOD_ENONFINITE, "w[2] is -inf");
    ck_assert_not_made(submod_fn_cut(3, 3, items, far, edge_weight, 1, &fn), SUBMOD_EINVAL,
                       "head[2] = 5");
    ck_assert_not_made(submod_fn_cut(3, 3, minus, items, edge_weight, 1, &fn), SUBMOD_EINVAL,
                       "tail[1] = -1");
    ck_assert_not_made(submod_fn_cut(3, 3, items, items, negative, 0, &fn), SUBMOD_EINVAL,
                       "weight[2] = -3");
    ck_assert_not_made(submod_fn_logdet(2, asymmetric, &fn), SUBMOD_EINVAL, "must be symmetric");
    ck_assert_not_made(submod_fn_logdet(2, indefinite, &fn), SUBMOD_ENUMERIC, "positive definite");
}
END_TEST

static submod_status broken_g(const void *ctx, double t, double *value)
{
    *value = NAN;
    return t > 2 ? *(const submod_status *)ctx : SUBMOD_OK;
}

typedef struct refused_concave {
    const double *weight;
    submod_concave g;
    submod_status status;
    const char *words;
} refused_concave;

/* Three elements each. */
START_TEST(concave_of_modular)
{
    const double w[3] = {1, 2, 3}, negative[3] = {1, -2, 3}, nan_w[3] = {1, NAN, 2};
    const double huge[3] = {1e308, 1e308, 1};
    const double t[3] = {0, 1, 3}, late[3] = {1, 2, 3}, back[3] = {0, 2, 2};
    const double g[3] = {0, 1, 3.5}, steep[2] = {0, 1e308}, close[2] = {0, 1e-300};
    const double convex[4] = {0, 1, 3, 4};
    const refused_concave cases[] = {
        {negative, {0}, SUBMOD_EINVAL, "weight[1] = -2 must be >= 0"},
        {nan_w, {0}, SUBMOD_ENONFINITE, "weight[1] is nan"},
        {huge, {0}, SUBMOD_ENUMERIC, "the sum of the weights overflows"},
        {w, {.kind = (submod_concave_kind)10}, SUBMOD_EINVAL, "kind = 10 is unknown"},
        {w, {.kind = (submod_concave_kind)-1}, SUBMOD_EINVAL, "kind = -1 is unknown"},
        {w,
         {.kind = SUBMOD_CONCAVE_MIN, .parameter = -1},
         SUBMOD_EINVAL,
         "parameter = -1 must be >= 0"},
        {w, {.kind = SUBMOD_CONCAVE_MIN, .parameter = NAN}, SUBMOD_ENONFINITE, "parameter = nan"},
        {w, {.kind = SUBMOD_CONCAVE_POWER, .parameter = 0}, SUBMOD_EINVAL, "must be in (0, 1]"},
        {NULL,
         {.kind = SUBMOD_CONCAVE_POWER, .parameter = 1.5},
         SUBMOD_EINVAL,
         "must be in (0, 1]"},
        {w,
         {.kind = SUBMOD_CONCAVE_POINTS, .count = 2, .t = t, .g = NULL},
         SUBMOD_EINVAL,
         "g is NULL"},
        {w,
         {.kind = SUBMOD_CONCAVE_POINTS, .count = 1, .t = t, .g = g},
         SUBMOD_EINVAL,
         "count = 1 must be at least 2"},
        {w,
         {.kind = SUBMOD_CONCAVE_POINTS, .count = 3, .t = late, .g = g},
         SUBMOD_EINVAL,
         "t[0] = 1 must be 0"},
        {w,
         {.kind = SUBMOD_CONCAVE_POINTS, .count = 3, .t = back, .g = g},
         SUBMOD_EINVAL,
         "t[2] = 2 must be > t[1] = 2"},
        {w,
         {.kind = SUBMOD_CONCAVE_POINTS, .count = 3, .t = t, .g = g},
         SUBMOD_EINVAL,
         "its slope is 1 up to t[1], then 1.25"},
        {NULL,
         {.kind = SUBMOD_CONCAVE_POINTS, .count = 4, .t = NULL, .g = convex},
         SUBMOD_EINVAL,
         "its slope is 1 up to t[1], then 2"},
        {w,
         {.kind = SUBMOD_CONCAVE_POINTS, .count = 2, .t = t, .g = nan_w},
         SUBMOD_ENONFINITE,
         "g[1]"},
        {w,
         {.kind = SUBMOD_CONCAVE_POINTS, .count = 2, .t = nan_w, .g = g},
         SUBMOD_ENONFINITE,
         "t[1]"},
        {w,
         {.kind = SUBMOD_CONCAVE_POINTS, .count = 2, .t = close, .g = steep},
         SUBMOD_ENUMERIC,
         "the slope to g[1] overflows"},
        {w, {.kind = SUBMOD_CONCAVE_CUSTOM}, SUBMOD_EINVAL, "value is NULL"},
        {w, {.kind = SUBMOD_CONCAVE_SMALL_SIDE}, SUBMOD_EINVAL, "weight must be NULL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_not_made(submod_fn_concave(3, cases[i].weight, &cases[i].g, &fn), cases[i].status,
                           cases[i].words);
    }
    ck_assert_not_made(submod_fn_concave(3, w, NULL, &fn), SUBMOD_EINVAL, "concave is NULL");
}
END_TEST

START_TEST(concave_callbacks)
{
    const double w[3] = {1, 2, 3};
    submod_status code = (submod_status)42;
    const submod_concave g = {.kind = SUBMOD_CONCAVE_CUSTOM, .value = broken_g, .ctx = &code};
    submod_fn *made = NULL;
    double value = 7;
    ck_assert_ok(submod_fn_concave(3, w, &g, &made));
    ck_assert_refused(submod_fn_eval(made, (int32_t[]){0}, 1, &value), SUBMOD_ECALLBACK,
                      "returned nan at t = 1");
    ck_assert_refused(submod_fn_eval(made, (int32_t[]){2}, 1, &value), SUBMOD_ECALLBACK,
                      "failed with code 42");
    ck_assert(value == 7);
    submod_fn_free(made);
    ck_assert_not_made(submod_fn_concave(3, NULL, &g, &fn), SUBMOD_ECALLBACK,
                       "submod_fn_concave: g of a concave function returned nan");
}
END_TEST

typedef struct refused_groups {
    submod_groups groups;
    submod_concave g;
    submod_status status;
    const char *words;
} refused_groups;

START_TEST(groups_and_hypergraphs)
{
    const size_t start[3] = {0, 2, 4}, late[3] = {1, 2, 4}, back[3] = {0, 3, 2};
    const int32_t elements[4] = {0, 2, 2, 1}, far[4] = {0, 2, 3, 1}, twice[4] = {0, 2, 1, 1};
    const double negative[4] = {1, -2, 1, 1}, nan_w[4] = {1, 1, NAN, 1};
    const double ones[4] = {1, 1, 1, 1};
    const refused_groups cases[] = {
        {{2, NULL, elements, NULL, NULL}, {0}, SUBMOD_EINVAL, "start is NULL"},
        {{2, start, NULL, NULL, NULL}, {0}, SUBMOD_EINVAL, "elements is NULL"},
        {{2, late, elements, NULL, NULL}, {0}, SUBMOD_EINVAL, "start[0] = 1"},
        {{2, back, elements, NULL, NULL},
         {0},
         SUBMOD_EINVAL,
         "start[2] = 2 must be >= start[1] = 3"},
        {{2, start, far, NULL, NULL}, {0}, SUBMOD_EINVAL, "elements[2] = 3 is not in [0, 3)"},
        {{2, start, twice, NULL, NULL},
         {0},
         SUBMOD_EINVAL,
         "elements[3] = 1 occurs twice in list 1"},
        {{2, start, elements, NULL, negative}, {0}, SUBMOD_EINVAL, "weight[1] = -2 must be >= 0"},
        {{2, start, elements, nan_w, NULL}, {0}, SUBMOD_ENONFINITE, "amount[2] is nan"},
        {{2, start, elements, NULL, NULL},
         {.kind = SUBMOD_CONCAVE_POWER, .parameter = 2},
         SUBMOD_EINVAL,
         "submod_fn_groups: parameter = 2"},
        {{2, start, elements, NULL, nan_w + 1},
         {.kind = SUBMOD_CONCAVE_PRODUCT},
         SUBMOD_ENONFINITE,
         "weight[1] is nan"},
        {{2, start, elements, nan_w, NULL},
         {.kind = SUBMOD_CONCAVE_PRODUCT},
         SUBMOD_ENONFINITE,
         "amount[2] is nan"},
        {{1, start, elements, negative, NULL},
         {.kind = SUBMOD_CONCAVE_PRODUCT},
         SUBMOD_EINVAL,
         "amount[1] = -2"},
        {{1, start, elements, ones, NULL},
         {.kind = SUBMOD_CONCAVE_ALL_OR_NOTHING},
         SUBMOD_EINVAL,
         "amount must be NULL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_not_made(submod_fn_groups(3, &cases[i].groups, &cases[i].g, &fn), cases[i].status,
                           cases[i].words);
    }
    const submod_concave root = {0};
    const submod_groups good = {2, start, elements, NULL, NULL};
    ck_assert_not_made(submod_fn_groups(0, &good, &root, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_groups(3, NULL, &root, &fn), SUBMOD_EINVAL, "groups is NULL");
    ck_assert_not_made(submod_fn_groups(3, &good, NULL, &fn), SUBMOD_EINVAL, "concave is NULL");
}
END_TEST

START_TEST(cliques_that_are_too_large)
{
    enum { MANY = 70000 };
    static int32_t nodes[MANY];
    const size_t start[2] = {0, MANY};
    const submod_groups one = {.count = 1, .start = start, .elements = nodes};
    for (int32_t i = 0; i < MANY; i++) {
        nodes[i] = i;
    }
    ck_assert_not_made(
        submod_fn_groups(MANY, &one, &(submod_concave){.kind = SUBMOD_CONCAVE_CLIQUE}, &fn),
        SUBMOD_EUNSUPPORTED, "more than 2^31 - 1 ordinary edges");
}
END_TEST

START_TEST(combinations)
{
    submod_fn *f = NULL, *g = NULL, *small = NULL;
    const double w[3] = {1, NAN, 2}, huge[3] = {1e308, 0, 0}, negative[2] = {1, -1};
    const int32_t twice[2] = {1, 1}, far[2] = {0, 3}, all[3] = {0, 1, 2};
    ck_assert_ok(submod_fn_concave(3, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &f));
    ck_assert_ok(submod_fn_concave(4, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &g));
    submod_fn *const mixed[2] = {f, g}, *const missing[2] = {f, NULL}, *const same[2] = {f, f};
    ck_assert_not_made(combine_sum(mixed, NULL, 2, &fn), SUBMOD_EINVAL,
                       "terms[1].fn has 4 elements");
    ck_assert_not_made(combine_sum(missing, NULL, 2, &fn), SUBMOD_EINVAL, "terms[1].fn is NULL");
    ck_assert_not_made(combine_sum(same, negative, 2, &fn), SUBMOD_EINVAL,
                       "terms[1].coefficient = -1");
    ck_assert_not_made(combine_scaled(f, -2, &fn), SUBMOD_EINVAL, "must be finite and >= 0");
    ck_assert_not_made(combine_scaled(f, NAN, &fn), SUBMOD_ENONFINITE, "nan");
    ck_assert_not_made(combine_plus(f, w, &fn), SUBMOD_ENONFINITE, "modular[1] is nan");
    ck_assert_not_made(submod_fn_restrict(f, twice, 2, &fn), SUBMOD_EINVAL,
                       "elements[1] = 1 occurs twice");
    ck_assert_not_made(submod_fn_restrict(f, far, 2, &fn), SUBMOD_EINVAL,
                       "elements[1] = 3 is not in [0, 3)");
    ck_assert_not_made(submod_fn_restrict(f, all, 0, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_restrict(f, NULL, 2, &fn), SUBMOD_EINVAL, "elements is NULL");
    ck_assert_not_made(submod_fn_contract(f, all, 3, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_contract(f, twice, 2, &fn), SUBMOD_EINVAL, "occurs twice");
    ck_assert_not_made(combine_embedded(NULL, 4, all, &fn), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_not_made(combine_embedded(f, 4, NULL, &fn), SUBMOD_EINVAL, "elements is NULL");
    ck_assert_ok(combine_scaled(f, 1e-200, &small));
    ck_assert_not_made(combine_scaled(small, 1e-200, &fn), SUBMOD_ENUMERIC, "1e-200 * 1e-200");
    submod_fn_free(small);
    ck_assert_ok(combine_scaled(f, 1e200, &small));
    ck_assert_not_made(combine_scaled(small, 1e200, &fn), SUBMOD_ENUMERIC, "not a normal number");
    submod_fn_free(small);
    ck_assert_ok(combine_plus(f, huge, &small));
    ck_assert_not_made(combine_plus(small, huge, &fn), SUBMOD_ENUMERIC, "modular part");
    submod_fn_free(small);
    ck_assert_not_made(combine_embedded(f, 0, all, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(combine_embedded(f, 2, all, &fn), SUBMOD_EINVAL,
                       "elements[2] = 2 is not in [0, 2)");
    ck_assert_not_made(combine_embedded(f, 4, (int32_t[]){3, 0, 3}, &fn), SUBMOD_EINVAL,
                       "elements[2] = 3 occurs twice");
    ck_assert_refused(combine_embedded(f, 4, all, NULL), SUBMOD_EINVAL, "NULL");
    ck_assert_refused(combine_scaled(f, 1, NULL), SUBMOD_EINVAL, "NULL");
    submod_fn_free(f);
    submod_fn_free(g);
}
END_TEST

START_TEST(evaluation)
{
    submod_fn *f = NULL;
    submod_state *state = NULL;
    const int32_t twice[3] = {2, 0, 2}, far[2] = {0, 3}, minus[1] = {-1};
    double value = 7, gains[3] = {7, 7, 7};
    ck_assert_ok(submod_fn_concave(3, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &f));
    ck_assert_refused(submod_fn_eval(f, twice, 3, &value), SUBMOD_EINVAL,
                      "set[2] = 2 occurs twice");
    ck_assert_refused(submod_fn_eval(f, far, 2, &value), SUBMOD_EINVAL, "set[1] = 3 is not in");
    ck_assert_refused(submod_fn_eval(f, minus, 1, &value), SUBMOD_EINVAL, "set[0] = -1 is not in");
    ck_assert_refused(submod_fn_eval(f, NULL, 1, &value), SUBMOD_EINVAL, "set is NULL");
    ck_assert_refused(submod_fn_eval(f, far, 1, NULL), SUBMOD_EINVAL, "value is NULL");
    ck_assert_refused(submod_fn_chain(f, twice, 3, gains, NULL), SUBMOD_EINVAL, "occurs twice");
    ck_assert_refused(submod_fn_chain(f, far, 2, NULL, NULL), SUBMOD_EINVAL, "gains is NULL");
    ck_assert_ok(submod_state_create(f, &state));
    ck_assert_ok(submod_state_push(state, 1, NULL));
    ck_assert_refused(submod_state_push(state, 1, &value), SUBMOD_EINVAL, "in the set already");
    ck_assert_refused(submod_state_gain(state, 1, &value), SUBMOD_EINVAL, "in the set already");
    ck_assert_refused(submod_state_push(state, 3, &value), SUBMOD_EINVAL, "e = 3 is not in [0, 3)");
    ck_assert_refused(submod_state_push(state, -1, &value), SUBMOD_EINVAL, "e = -1");
    ck_assert_refused(submod_state_gain(state, 0, NULL), SUBMOD_EINVAL, "gain is NULL");
    ck_assert_uint_eq(submod_state_set(state, NULL), 1);
    ck_assert(value == 7 && gains[0] == 7);
    submod_state_free(state);
    submod_fn_free(f);
}
END_TEST

START_TEST(too_many_subsets)
{
    enum { MANY = 30 };
    submod_fn *f = NULL;
    ck_assert_ok(submod_fn_facility(MANY, 0, NULL, &f)); /* F = 0 */
    submod_sfm_settings s = submod_sfm_defaults();
    s.method = SUBMOD_SFM_EXHAUSTIVE;
    ck_assert_refused(submod_sfm(f, NULL, NULL, NULL, &s, NULL, NULL), SUBMOD_EUNSUPPORTED,
                      "n = 30 must be <= 24");
    submod_fn_free(f);
}
END_TEST

/* Subsets whose F is no number. */
START_TEST(subsets_that_overflow)
{
    submod_fn *f = NULL;
    const double huge[2] = {1e308, 1e308}, w[2] = {1.7e308, 0};
    uint8_t in[2] = {7, 7};
    submod_fn *plain = NULL;
    submod_sfm_settings settings = submod_sfm_defaults();
    settings.method = SUBMOD_SFM_EXHAUSTIVE;
    ck_assert_ok(submod_fn_facility(2, 1, huge, &plain));
    ck_assert_ok(combine_plus(plain, w, &f));
    ck_assert_refused(submod_sfm(f, in, NULL, NULL, &settings, NULL, NULL), SUBMOD_ENUMERIC,
                      "returned inf");
    submod_fn_free(plain);
    ck_assert(in[0] == 7 && in[1] == 7);
    submod_fn_free(f);
}
END_TEST

START_TEST(extension)
{
    submod_fn *f = NULL;
    const double nan_x[3] = {0, 1, NAN}, inf_x[3] = {INFINITY, 1, 2},
                 huge[3] = {1e308, 1e308, 1e308};
    double value = 7, g[3] = {7, 7, 7};
    int32_t order[3] = {7, 7, 7};
    ck_assert_ok(submod_fn_modular(3, (double[]){1, 2, 3}, &f));
    ck_assert_refused(submod_lovasz(f, nan_x, &value, g, order, SUBMOD_TIES_AVERAGE, NULL),
                      SUBMOD_ENONFINITE, "x[2] is nan");
    ck_assert_refused(submod_lovasz(f, inf_x, &value, g, order, SUBMOD_TIES_AVERAGE, NULL),
                      SUBMOD_ENONFINITE, "x[0] is inf");
    ck_assert_refused(submod_lovasz(f, NULL, &value, g, order, SUBMOD_TIES_AVERAGE, NULL),
                      SUBMOD_EINVAL, "NULL");
    ck_assert_refused(submod_lovasz(f, huge, &value, g, order, (submod_ties)9, NULL), SUBMOD_EINVAL,
                      "ties = 9");
    ck_assert_refused(submod_lovasz(f, huge, &value, g, order, SUBMOD_TIES_AVERAGE, NULL),
                      SUBMOD_ENUMERIC, "overflow");
    ck_assert(value == 7);
    ck_assert_ok(submod_lovasz(f, huge, NULL, g, order, SUBMOD_TIES_AVERAGE,
                               NULL)); /* no value, no overflow */
    ck_assert(g[0] == 1 && g[1] == 2 && g[2] == 3);
    ck_assert_ok(submod_lovasz(f, huge, NULL, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
    submod_fn_free(f);
}
END_TEST

START_TEST(checker_settings)
{
    submod_fn *f = NULL;
    submod_check_report report;
    ck_assert_ok(submod_fn_concave(3, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &f));
    submod_check_settings s = submod_check_defaults();
    s.exhaustive_max = SUBMOD_EXHAUSTIVE_MAX + 1;
    ck_assert_refused(submod_fn_check(f, &report, &s), SUBMOD_EINVAL,
                      "exhaustive_max = 25 must be at most 24");
    s = submod_check_defaults();
    s.time_limit = 0;
    ck_assert_refused(submod_fn_check(f, &report, &s), SUBMOD_EINVAL, "time_limit");
    s.time_limit = NAN;
    ck_assert_refused(submod_fn_check(f, &report, &s), SUBMOD_EINVAL, "time_limit");
    s = submod_check_defaults();
    s.tolerance = -2;
    ck_assert_refused(submod_fn_check(f, &report, &s), SUBMOD_EINVAL, "tolerance");
    ck_assert_refused(submod_fn_check(f, NULL, NULL), SUBMOD_EINVAL, "report is NULL");
    submod_fn_free(f);
}
END_TEST

/* ---- callbacks that fail ---- */

/* What goes wrong once the set has two elements. */
typedef enum { NOTHING, RETURN_NAN, RETURN_INF, FAIL } mishap;

static submod_status mishap_value(const void *ctx, size_t k, double *value)
{
    const mishap *what = ctx;
    *value = (double)k;
    if (k < 2 || *what == NOTHING) {
        return SUBMOD_OK;
    }
    *value = *what == RETURN_NAN ? NAN : *what == RETURN_INF ? INFINITY : 0;
    return *what == FAIL ? (submod_status)42 : SUBMOD_OK;
}

static submod_status bad_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)set;
    return mishap_value(ctx, k, value);
}

static submod_status bad_reset(const void *ctx, void *state)
{
    (void)ctx;
    *(size_t *)state = 0;
    return SUBMOD_OK;
}

static submod_status bad_push(const void *ctx, void *state, int32_t e, double *gain)
{
    (void)e;
    return mishap_value(ctx, ++*(size_t *)state, gain);
}

static submod_status bad_chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                               double *gains)
{
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; i < k && status == SUBMOD_OK; i++) {
        status = bad_push(ctx, state, elements[i], &gains[i]);
    }
    return status;
}

static submod_status bad_set(const void *ctx, const int32_t *base, size_t nbase,
                             const int32_t *block, size_t nblock, const double *z, int largest,
                             uint8_t *in)
{
    (void)ctx, (void)base, (void)nbase, (void)block, (void)nblock, (void)z, (void)largest, (void)in;
    return SUBMOD_EINVAL;
}

MINIMIZE_BOTH(bad_minimize, bad_set)

/* By eval alone, by chain; alone and inside a sum: always a clear end. */
START_TEST(failing_callbacks)
{
    for (int what = RETURN_NAN; what <= FAIL; what++) {
        for (int slots = 0; slots < 2; slots++) {
            for (int wrapped = 0; wrapped < 2; wrapped++) {
                mishap ctx = (mishap)what;
                submod_fn_ops ops = {.eval = bad_eval, .state_size = 8};
                ops.reset = slots ? bad_reset : NULL;
                ops.chain = slots ? bad_chain : NULL;
                submod_fn *custom = NULL, *fn = NULL;
                ck_assert_ok(submod_fn_custom(4, &ops, &ctx, &custom));
                ck_assert_ok(combine_scaled(custom, 1, &fn));
                if (!wrapped) {
                    submod_fn_free(fn);
                    fn = submod_fn_retain(custom);
                }
                const char *words = what == RETURN_NAN   ? "nan"
                                    : what == RETURN_INF ? "inf"
                                                         : "failed with code 42";
                const double x[4] = {4, 3, 2, 1};
                const int32_t set[4] = {0, 1, 2, 3};
                double value = 7, g[4] = {7, 7, 7, 7};
                int32_t order[4] = {7, 7, 7, 7};
                submod_state *state = NULL;
                submod_check_report report;
                ck_assert_refused(submod_lovasz(fn, x, &value, g, order, SUBMOD_TIES_AVERAGE, NULL),
                                  SUBMOD_ECALLBACK, words);
                ck_assert_refused(submod_fn_eval(fn, set, 3, &value), SUBMOD_ECALLBACK, words);
                ck_assert_refused(submod_fn_chain(fn, set, 4, g, NULL), SUBMOD_ECALLBACK, words);
                ck_assert_refused(submod_fn_check(fn, &report, NULL), SUBMOD_ECALLBACK, words);
                ck_assert_ok(submod_state_create(fn, &state));
                ck_assert_ok(submod_state_push(state, 0, NULL));
                ck_assert_refused(submod_state_push(state, 1, &value), SUBMOD_ECALLBACK, words);
                ck_assert_refused(submod_state_push(state, 1, &value), SUBMOD_EINVAL, "reset");
                ck_assert_ok(submod_state_reset(state));
                ck_assert_ok(submod_state_push(state, 1, NULL));
                ck_assert(value == 7 && order[0] == 7);
                submod_state_free(state);
                submod_fn_free(custom);
                submod_fn_free(fn);
            }
        }
    }
}
END_TEST

START_TEST(tables_of_callbacks)
{
    mishap ctx = NOTHING;
    submod_fn_ops ops = {.eval = bad_eval};
    submod_fn *custom = NULL;
    uint8_t in[4] = {7};
    ops.state_size = (size_t)1 << 63;
    ck_assert_not_made(submod_fn_custom(4, &ops, &ctx, &fn), SUBMOD_EINVAL, "state_size");
    ops.state_size = 8;
    ops.chain = bad_chain;
    ck_assert_not_made(submod_fn_custom(4, &ops, &ctx, &fn), SUBMOD_EINVAL, "both be NULL");
    ops.chain = NULL;
    ops.tied = bad_chain;
    ck_assert_not_made(submod_fn_custom(4, &ops, &ctx, &fn), SUBMOD_EINVAL, "need reset and chain");
    ops.tied = NULL;
    ops.eval = NULL;
    ck_assert_not_made(submod_fn_custom(4, &ops, &ctx, &fn), SUBMOD_EINVAL, "eval is NULL");
    ops.eval = bad_eval;
    ck_assert_not_made(submod_fn_custom(0, &ops, &ctx, &fn), SUBMOD_EINVAL, "n = 0");
    ops.minimize = bad_minimize;
    ck_assert_ok(submod_fn_custom(4, &ops, &ctx, &custom));
    ck_assert_refused(submod_sfm(custom, in, NULL, NULL, NULL, NULL, NULL), SUBMOD_ECALLBACK,
                      "minimize");
    ck_assert(in[0] == 7);
    submod_fn_free(custom);
}
END_TEST

/* ---- measures ---- */

static double measure_of(double a, double b, double P, double N, void *ctx)
{
    (void)P;
    (void)N;
    return a + b > 1 ? *(const double *)ctx : a + b;
}

START_TEST(measures)
{
    const uint8_t mask[3] = {1, 0, 1};
    double wrong = NAN, value = 7;
    const submod_measure_ops none = {0}, one = {.value = measure_of};
    submod_measure unknown = submod_jaccard(), empty = submod_measure_custom(&none, NULL);
    submod_measure dice = submod_tversky(0.5, 0.5), far = submod_tversky(1e99, 1);
    submod_measure custom = submod_measure_custom(&one, &wrong);
    submod_check_report report;
    submod_fn *made = NULL;
    unknown.type = (submod_measure_type)7;
    ck_assert_not_made(submod_fn_counts(3, mask, NULL, &unknown, &fn), SUBMOD_EINVAL,
                       "type = 7 is unknown");
    ck_assert_not_made(submod_fn_counts(3, mask, NULL, &empty, &fn), SUBMOD_EINVAL,
                       "needs value or values");
    ck_assert_not_made(submod_fn_counts(3, mask, NULL, &dice, &fn), SUBMOD_EINVAL, "beta = 0.5");
    ck_assert_not_made(submod_fn_counts(3, mask, NULL, &far, &fn), SUBMOD_EINVAL,
                       "alpha = 1e+99 must be 0 or from");
    ck_assert_ok(submod_fn_counts(3, mask, NULL, &custom, &made));
    ck_assert_refused(submod_fn_eval(made, (int32_t[]){0, 1}, 2, &value), SUBMOD_ECALLBACK,
                      "returned F(a = 1, b = 1) = nan with P = 2, N = 1");
    ck_assert(value == 7);
    ck_assert_refused(submod_measure_check(NULL, 1, 1, NULL, NULL), SUBMOD_EINVAL,
                      "report is NULL");
    ck_assert_refused(submod_measure_check(NULL, UINT64_MAX, 1, &report, NULL), SUBMOD_EINVAL,
                      "P = ");
    submod_fn_free(made);
}
END_TEST

/* ---- sizes that nothing can hold, sums that overflow ---- */

START_TEST(many)
{
    const size_t start[2] = {0, 0};
    const double z[2] = {-1.7e308, -1.7e308};
    const int32_t both[2] = {0, 1};
    ck_assert_not_made(submod_fn_cut(3, (size_t)1 << 31, both, both, z, 0, &fn),
                       SUBMOD_EUNSUPPORTED, "must be at most 2^31 - 1");
    ck_assert_not_made(submod_fn_coverage(1, start, NULL, (size_t)1 << 40, z, &fn), SUBMOD_EINVAL,
                       "must be at most 2^31 - 1");
}
END_TEST

int main(void)
{
    return RUN_TESTS("submod_refusals", measures, many, sizes, null_pointers, numbers,
                     concave_of_modular, concave_callbacks, groups_and_hypergraphs,
                     cliques_that_are_too_large, combinations, evaluation, too_many_subsets,
                     subsets_that_overflow, extension, checker_settings, failing_callbacks,
                     tables_of_callbacks);
}
