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
    ck_assert_not_made(submod_fn_cardinality(0, w, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_sqrt(0, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_log1p(0, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_truncation(0, 1, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_concave(0, w, SUBMOD_CONCAVE_SQRT, 0, &fn), SUBMOD_EINVAL,
                       "n = 0");
    ck_assert_not_made(submod_fn_concave_points(0, w, 2, w, w, &fn), SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_concave_custom(0, w, NULL, NULL, &fn), SUBMOD_EINVAL, "n = 0");
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
    ck_assert_not_made(submod_fn_cardinality(3, NULL, &fn), SUBMOD_EINVAL, "h is NULL");
    ck_assert_not_made(submod_fn_concave(3, NULL, SUBMOD_CONCAVE_SQRT, 0, &fn), SUBMOD_EINVAL,
                       "w is NULL");
    ck_assert_not_made(submod_fn_concave_points(1, &value, 2, NULL, &value, &fn), SUBMOD_EINVAL,
                       "t is NULL");
    ck_assert_not_made(submod_fn_concave_points(1, &value, 2, &value, NULL, &fn), SUBMOD_EINVAL,
                       "g is NULL");
    ck_assert_not_made(submod_fn_concave_custom(1, &value, NULL, NULL, &fn), SUBMOD_EINVAL,
                       "ops is NULL");
    ck_assert_not_made(submod_fn_cut(3, 1, NULL, NULL, NULL, 1, &fn), SUBMOD_EINVAL, "NULL");
    ck_assert_not_made(submod_fn_logdet(3, NULL, &fn), SUBMOD_EINVAL, "K is NULL");
    ck_assert_not_made(submod_fn_combine(3, NULL, 1, NULL, &fn), SUBMOD_EINVAL, "terms is NULL");
    ck_assert_not_made(submod_fn_restrict(NULL, NULL, 1, &fn), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_not_made(submod_fn_contract(NULL, NULL, 1, &fn), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_not_made(submod_fn_custom(3, NULL, NULL, &fn), SUBMOD_EINVAL, "ops is NULL");
    ck_assert_refused(submod_fn_eval(NULL, NULL, 0, &value), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_refused(submod_fn_chain(NULL, NULL, 0, &value, NULL), SUBMOD_EINVAL, "fn is NULL");
    ck_assert_refused(submod_fn_minimize(NULL, NULL, 0, NULL, 0, NULL, 0, NULL, &value),
                      SUBMOD_EINVAL, "NULL");
    ck_assert_refused(submod_lovasz(NULL, &value, &value, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                      "fn is NULL");
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
    const double convex[4] = {0, 1, 3, 4}, shifted[4] = {1, 2, 3, 4};
    const int32_t items[3] = {0, 1, 2}, far[3] = {0, 1, 5}, minus[3] = {0, -1, 2};
    const double asymmetric[4] = {1, 0.5, 0.4, 1}, indefinite[4] = {1, 2, 2, 1};
    const double uneven[9] = {1e12, 0, 0, 0, 1, 0.9, 0, 0, 1}, no_diagonal[4] = {1, 0, 0, 0};
    ck_assert_not_made(submod_fn_logdet(3, uneven, &fn), SUBMOD_EINVAL, "must be symmetric");
    ck_assert_not_made(submod_fn_logdet(2, no_diagonal, &fn), SUBMOD_ENUMERIC, "positive definite");
    ck_assert_not_made(submod_fn_modular(3, nan_w, &fn), SUBMOD_ENONFINITE, "w[1] is nan");
    ck_assert_not_made(submod_fn_modular(3, inf_w, &fn), SUBMOD_ENONFINITE, "w[2] is -inf");
    ck_assert_not_made(submod_fn_cardinality(2, nan_w, &fn), SUBMOD_ENONFINITE, "h[1] is nan");
    ck_assert_not_made(submod_fn_cardinality(3, convex, &fn), SUBMOD_EINVAL, "must be concave");
    ck_assert_not_made(submod_fn_cardinality(3, shifted, &fn), SUBMOD_EINVAL, "h[0] = 1");
    ck_assert_not_made(submod_fn_cut(3, 3, items, far, convex, 1, &fn), SUBMOD_EINVAL,
                       "head[2] = 5");
    ck_assert_not_made(submod_fn_cut(3, 3, minus, items, convex, 1, &fn), SUBMOD_EINVAL,
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

START_TEST(concave_of_modular)
{
    const double w[3] = {1, 2, 3}, negative[3] = {1, -2, 3}, nan_w[3] = {1, NAN, 2};
    const double huge[3] = {1e308, 1e308, 1};
    const double t[3] = {0, 1, 3}, late[3] = {1, 2, 3}, back[3] = {0, 2, 2};
    const double g[3] = {0, 1, 3.5}, steep[2] = {0, 1e308}, close[2] = {0, 1e-300};
    submod_fn *made = NULL;
    double value = 7;
    ck_assert_not_made(submod_fn_concave(3, negative, SUBMOD_CONCAVE_SQRT, 0, &fn), SUBMOD_EINVAL,
                       "w[1] = -2 must be >= 0");
    ck_assert_not_made(submod_fn_concave(3, nan_w, SUBMOD_CONCAVE_SQRT, 0, &fn), SUBMOD_ENONFINITE,
                       "w[1] is nan");
    ck_assert_not_made(submod_fn_concave(3, huge, SUBMOD_CONCAVE_SQRT, 0, &fn), SUBMOD_ENUMERIC,
                       "the sum of w overflows");
    ck_assert_not_made(submod_fn_concave(3, w, (submod_concave_kind)4, 0, &fn), SUBMOD_EINVAL,
                       "kind = 4 is unknown");
    ck_assert_not_made(submod_fn_concave(3, w, (submod_concave_kind)-1, 0, &fn), SUBMOD_EINVAL,
                       "kind = -1 is unknown");
    ck_assert_not_made(submod_fn_concave(3, w, SUBMOD_CONCAVE_MIN, -1, &fn), SUBMOD_EINVAL,
                       "parameter = -1 must be >= 0");
    ck_assert_not_made(submod_fn_concave(3, w, SUBMOD_CONCAVE_MIN, NAN, &fn), SUBMOD_ENONFINITE,
                       "parameter = nan");
    ck_assert_not_made(submod_fn_concave(3, w, SUBMOD_CONCAVE_POWER, 0, &fn), SUBMOD_EINVAL,
                       "must be in (0, 1]");
    ck_assert_not_made(submod_fn_concave(3, w, SUBMOD_CONCAVE_POWER, 1.5, &fn), SUBMOD_EINVAL,
                       "must be in (0, 1]");
    ck_assert_not_made(submod_fn_concave_points(3, w, 1, t, g, &fn), SUBMOD_EINVAL,
                       "count = 1 must be at least 2");
    ck_assert_not_made(submod_fn_concave_points(3, w, 3, late, g, &fn), SUBMOD_EINVAL,
                       "t[0] = 1 must be 0");
    ck_assert_not_made(submod_fn_concave_points(3, w, 3, back, g, &fn), SUBMOD_EINVAL,
                       "t[2] = 2 must be > t[1] = 2");
    ck_assert_not_made(submod_fn_concave_points(3, w, 3, t, g, &fn), SUBMOD_EINVAL,
                       "its slope is 1 up to t[1], then 1.25");
    ck_assert_not_made(submod_fn_concave_points(3, w, 2, t, nan_w, &fn), SUBMOD_ENONFINITE, "g[1]");
    ck_assert_not_made(submod_fn_concave_points(3, w, 2, nan_w, g, &fn), SUBMOD_ENONFINITE, "t[1]");
    ck_assert_not_made(submod_fn_concave_points(3, w, 2, close, steep, &fn), SUBMOD_ENUMERIC,
                       "the slope to g[1] overflows");
    submod_concave_ops ops = {.struct_size = 3, .value = broken_g};
    submod_status code = (submod_status)42;
    ck_assert_not_made(submod_fn_concave_custom(3, w, &ops, &code, &fn), SUBMOD_EINVAL,
                       "struct_size = 3");
    ops = (submod_concave_ops){.struct_size = sizeof ops};
    ck_assert_not_made(submod_fn_concave_custom(3, w, &ops, &code, &fn), SUBMOD_EINVAL,
                       "value is NULL");
    ops.value = broken_g;
    ck_assert_ok(submod_fn_concave_custom(3, w, &ops, &code, &made));
    ck_assert_refused(submod_fn_eval(made, (int32_t[]){0}, 1, &value), SUBMOD_ECALLBACK,
                      "returned nan at t = 1");
    ck_assert_refused(submod_fn_eval(made, (int32_t[]){2}, 1, &value), SUBMOD_ECALLBACK,
                      "failed with code 42");
    ck_assert(value == 7);
    submod_fn_free(made);
}
END_TEST

START_TEST(groups_and_hypergraphs)
{
    const size_t start[3] = {0, 2, 4}, late[3] = {1, 2, 4}, back[3] = {0, 3, 2};
    const int32_t elements[4] = {0, 2, 2, 1}, far[4] = {0, 2, 3, 1}, twice[4] = {0, 2, 1, 1};
    const double negative[4] = {1, -2, 1, 1}, nan_w[4] = {1, 1, NAN, 1};
    const submod_concave_kind root = SUBMOD_CONCAVE_SQRT;
    const submod_hypergraph_kind cut = SUBMOD_HYPERGRAPH_ALL_OR_NOTHING;
    size_t many[2] = {0, 70000};
    int32_t *nodes = malloc(many[1] * sizeof *nodes);
    for (int32_t i = 0; nodes && i < 70000; i++) {
        nodes[i] = i;
    }
    ck_assert_not_made(submod_fn_groups(0, 2, start, elements, NULL, NULL, root, 0, &fn),
                       SUBMOD_EINVAL, "n = 0");
    ck_assert_not_made(submod_fn_groups(3, 2, NULL, elements, NULL, NULL, root, 0, &fn),
                       SUBMOD_EINVAL, "start is NULL");
    ck_assert_not_made(submod_fn_groups(3, 2, start, NULL, NULL, NULL, root, 0, &fn), SUBMOD_EINVAL,
                       "elements is NULL");
    ck_assert_not_made(submod_fn_groups(3, 2, late, elements, NULL, NULL, root, 0, &fn),
                       SUBMOD_EINVAL, "start[0] = 1");
    ck_assert_not_made(submod_fn_groups(3, 2, back, elements, NULL, NULL, root, 0, &fn),
                       SUBMOD_EINVAL, "start[2] = 2 must be >= start[1] = 3");
    ck_assert_not_made(submod_fn_groups(3, 2, start, far, NULL, NULL, root, 0, &fn), SUBMOD_EINVAL,
                       "elements[2] = 3 is not in [0, 3)");
    ck_assert_not_made(submod_fn_groups(3, 2, start, twice, NULL, NULL, root, 0, &fn),
                       SUBMOD_EINVAL, "elements[3] = 1 occurs twice in list 1");
    ck_assert_not_made(submod_fn_groups(3, 2, start, elements, NULL, negative, root, 0, &fn),
                       SUBMOD_EINVAL, "weight[1] = -2 must be >= 0");
    ck_assert_not_made(submod_fn_groups(3, 2, start, elements, nan_w, NULL, root, 0, &fn),
                       SUBMOD_ENONFINITE, "amount[2] is nan");
    ck_assert_not_made(
        submod_fn_groups(3, 2, start, elements, NULL, NULL, SUBMOD_CONCAVE_POWER, 2, &fn),
        SUBMOD_EINVAL, "submod_fn_groups: parameter = 2");
    ck_assert_not_made(submod_fn_hypergraph(3, 2, start, far, NULL, cut, &fn), SUBMOD_EINVAL,
                       "nodes[2] = 3 is not in [0, 3)");
    ck_assert_not_made(submod_fn_hypergraph(3, 2, start, twice, NULL, cut, &fn), SUBMOD_EINVAL,
                       "nodes[3] = 1 occurs twice");
    ck_assert_not_made(submod_fn_hypergraph(3, 2, start, elements, nan_w + 1, cut, &fn),
                       SUBMOD_ENONFINITE, "weight[1] is nan");
    ck_assert_not_made(
        submod_fn_hypergraph(3, 2, start, elements, NULL, (submod_hypergraph_kind)4, &fn),
        SUBMOD_EINVAL, "kind = 4 is unknown");
    ck_assert_not_made(
        submod_fn_hypergraph(70000, 1, many, nodes, NULL, SUBMOD_HYPERGRAPH_CLIQUE, &fn),
        SUBMOD_EUNSUPPORTED, "more than 2^31 - 1 ordinary edges");
    free(nodes);
}
END_TEST

START_TEST(combinations)
{
    submod_fn *f = NULL, *g = NULL, *small = NULL;
    const double w[3] = {1, NAN, 2}, huge[3] = {1e308, 0, 0}, negative[2] = {1, -1};
    const int32_t twice[2] = {1, 1}, far[2] = {0, 3}, all[3] = {0, 1, 2};
    ck_assert_ok(submod_fn_sqrt(3, &f));
    ck_assert_ok(submod_fn_sqrt(4, &g));
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
    const int32_t twice[3] = {2, 0, 2}, far[2] = {0, 3}, minus[1] = {-1}, base[1] = {1};
    const double z[3] = {0, NAN, 0};
    double value = 7, gains[3] = {7, 7, 7};
    uint8_t in[3] = {7, 7, 7};
    ck_assert_ok(submod_fn_sqrt(3, &f));
    ck_assert_refused(submod_fn_eval(f, twice, 3, &value), SUBMOD_EINVAL,
                      "set[2] = 2 occurs twice");
    ck_assert_refused(submod_fn_eval(f, far, 2, &value), SUBMOD_EINVAL, "set[1] = 3 is not in");
    ck_assert_refused(submod_fn_eval(f, minus, 1, &value), SUBMOD_EINVAL, "set[0] = -1 is not in");
    ck_assert_refused(submod_fn_eval(f, NULL, 1, &value), SUBMOD_EINVAL, "set is NULL");
    ck_assert_refused(submod_fn_eval(f, far, 1, NULL), SUBMOD_EINVAL, "value is NULL");
    ck_assert_refused(submod_fn_chain(f, twice, 3, gains, NULL), SUBMOD_EINVAL, "occurs twice");
    ck_assert_refused(submod_fn_chain(f, far, 2, NULL, NULL), SUBMOD_EINVAL, "gains is NULL");
    ck_assert_refused(submod_fn_minimize(f, base, 1, far, 2, z, 0, in, &value), SUBMOD_EINVAL,
                      "block[1] = 3");
    ck_assert_refused(submod_fn_minimize(f, base, 1, base, 1, z, 0, in, &value), SUBMOD_EINVAL,
                      "block[0] = 1 occurs twice");
    ck_assert_refused(submod_fn_minimize(f, NULL, 0, (int32_t[]){0, 2}, 2, z, 0, in, &value),
                      SUBMOD_ENONFINITE, "z[1] is nan");
    ck_assert_refused(submod_fn_minimize(f, NULL, 0, base, 1, NULL, 0, in, &value), SUBMOD_EINVAL,
                      "NULL");
    ck_assert_ok(submod_state_create(f, &state));
    ck_assert_ok(submod_state_push(state, 1, NULL));
    ck_assert_refused(submod_state_push(state, 1, &value), SUBMOD_EINVAL, "in the set already");
    ck_assert_refused(submod_state_gain(state, 1, &value), SUBMOD_EINVAL, "in the set already");
    ck_assert_refused(submod_state_push(state, 3, &value), SUBMOD_EINVAL, "e = 3 is not in [0, 3)");
    ck_assert_refused(submod_state_push(state, -1, &value), SUBMOD_EINVAL, "e = -1");
    ck_assert_refused(submod_state_gain(state, 0, NULL), SUBMOD_EINVAL, "gain is NULL");
    ck_assert_uint_eq(submod_state_set(state, NULL), 1);
    ck_assert(value == 7 && gains[0] == 7 && in[0] == 7);
    submod_state_free(state);
    submod_fn_free(f);
}
END_TEST

START_TEST(large_blocks_need_a_minimiser)
{
    enum { MANY = 30 };
    submod_fn *f = NULL;
    int32_t block[MANY];
    double z[MANY] = {0};
    uint8_t in[MANY];
    for (int i = 0; i < MANY; i++) {
        block[i] = i;
    }
    ck_assert_ok(submod_fn_facility(MANY, 0, NULL, &f)); /* F = 0 */
    ck_assert_refused(submod_fn_minimize(f, NULL, 0, block, MANY, z, 0, in, NULL),
                      SUBMOD_EUNSUPPORTED, "no minimiser");
    ck_assert_ok(submod_fn_minimize(f, NULL, 0, block, 10, z, 1, in, NULL));
    /* One limit for all that try all subsets. */
    submod_sfm_settings s = submod_sfm_defaults();
    s.method = SUBMOD_SFM_EXHAUSTIVE;
    ck_assert_refused(submod_sfm(f, NULL, NULL, NULL, &s, NULL, NULL), SUBMOD_EUNSUPPORTED,
                      "n = 30 must be <= 24");
    ck_assert_refused(
        submod_fn_minimize(f, NULL, 0, block, SUBMOD_EXHAUSTIVE_MAX + 1, z, 1, in, NULL),
        SUBMOD_EUNSUPPORTED, "no minimiser");
    submod_fn_free(f);
}
END_TEST

/* Subsets whose F - z is no number: no minimum can be told. */
START_TEST(subsets_that_overflow)
{
    submod_fn *f = NULL;
    const double huge[2] = {1e308, 1e308}, z[2] = {-1.7e308, 0};
    uint8_t in[2] = {7, 7};
    ck_assert_ok(submod_fn_facility(2, 1, huge, &f));
    ck_assert_refused(submod_fn_minimize(f, NULL, 0, (int32_t[]){0, 1}, 2, z, 0, in, NULL),
                      SUBMOD_ENUMERIC, "F - z overflows");
    ck_assert(in[0] == 7 && in[1] == 7);
    submod_fn_free(f);
}
END_TEST

START_TEST(extension)
{
    submod_fn *f = NULL;
    const double nan_x[3] = {0, 1, NAN}, inf_x[3] = {INFINITY, 1, 2},
                 huge[3] = {1e308, 1e308, 1e308};
    submod_lovasz_settings unknown = submod_lovasz_defaults();
    double value = 7, g[3] = {7, 7, 7};
    int32_t order[3] = {7, 7, 7};
    unknown.ties = (submod_ties)9;
    ck_assert_ok(submod_fn_modular(3, (double[]){1, 2, 3}, &f));
    ck_assert_refused(submod_lovasz(f, nan_x, &value, g, order, NULL, NULL), SUBMOD_ENONFINITE,
                      "x[2] is nan");
    ck_assert_refused(submod_lovasz(f, inf_x, &value, g, order, NULL, NULL), SUBMOD_ENONFINITE,
                      "x[0] is inf");
    ck_assert_refused(submod_lovasz(f, NULL, &value, g, order, NULL, NULL), SUBMOD_EINVAL, "NULL");
    ck_assert_refused(submod_lovasz(f, huge, &value, g, order, &unknown, NULL), SUBMOD_EINVAL,
                      "ties = 9");
    ck_assert_refused(submod_lovasz(f, huge, &value, g, order, NULL, NULL), SUBMOD_ENUMERIC,
                      "overflow");
    ck_assert(value == 7 && g[0] == 7 && order[0] == 7);
    ck_assert_ok(submod_lovasz(f, huge, NULL, g, order, NULL, NULL)); /* no value, no overflow */
    ck_assert(g[0] == 1 && g[1] == 2 && g[2] == 3);
    ck_assert_ok(submod_lovasz(f, huge, NULL, NULL, NULL, NULL, NULL));
    submod_fn_free(f);
}
END_TEST

START_TEST(checker_settings)
{
    submod_fn *f = NULL;
    submod_check_report report;
    ck_assert_ok(submod_fn_sqrt(3, &f));
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
                ck_assert_refused(submod_lovasz(fn, x, &value, g, order, NULL, NULL),
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
                ck_assert(value == 7 && g[0] == 7 && order[0] == 7);
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
    uint8_t in[1] = {7};
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
    ck_assert_refused(
        submod_fn_minimize(custom, NULL, 0, (int32_t[]){2}, 1, (double[]){0}, 0, in, NULL),
        SUBMOD_ECALLBACK, "minimize");
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
    uint8_t in[2];
    submod_fn *f = NULL;
    ck_assert_not_made(submod_fn_cut(3, (size_t)1 << 31, both, both, z, 0, &fn),
                       SUBMOD_EUNSUPPORTED, "must be at most 2^31 - 1");
    ck_assert_not_made(submod_fn_coverage(1, start, NULL, (size_t)1 << 40, z, &fn), SUBMOD_EINVAL,
                       "must be at most 2^31 - 1");
    ck_assert_ok(submod_fn_sqrt(2, &f));
    ck_assert_refused(submod_fn_minimize(f, NULL, 0, both, 2, z, 0, in, NULL), SUBMOD_ENUMERIC,
                      "the sum of |z| overflows");
    submod_fn_free(f);
}
END_TEST

int main(void)
{
    return RUN_TESTS("submod_refusals", measures, many, sizes, null_pointers, numbers,
                     concave_of_modular, groups_and_hypergraphs, combinations, evaluation,
                     large_blocks_need_a_minimiser, subsets_that_overflow, extension,
                     checker_settings, failing_callbacks, tables_of_callbacks);
}
