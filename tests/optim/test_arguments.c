/* Each pointer NULL in turn, each number of the settings beyond its range on either side: refused,
 * and outputs untouched. What the tests of single calls leave out. */
#include <math.h>
#include <string.h>

#include "support.h"

enum { N = 3 };

static const double vector[N] = {1, 2, 3};

static submod_fn *square_root(void)
{
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    return fn;
}

START_TEST(certificates)
{
    submod_fn *fn = square_root();
    int32_t order[N] = {0, 1, 2};
    double weight[1] = {1};
    const submod_combination c = {N, 1, order, weight};
    submod_certificate_report report = {0};
    for (int missing = 0; missing < 6; missing++) {
        ck_assert_int_eq(
            submod_certificate_check(missing == 0 ? NULL : fn, missing == 1 ? NULL : vector, 1,
                                     missing == 2 ? NULL : vector, missing == 3 ? NULL : vector,
                                     missing == 4 ? NULL : &c, missing == 5 ? NULL : &report),
            SUBMOD_EINVAL);
    }
    submod_fn_free(fn);
}
END_TEST

START_TEST(prox_calls)
{
    submod_fn *fn = square_root();
    double u[N] = {7};
    ck_assert_int_eq(submod_prox(NULL, vector, 1, u, NULL, NULL, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox(fn, NULL, 1, u, NULL, NULL, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_points(NULL, NULL, 1, u, NULL, NULL, NULL), SUBMOD_EINVAL);
    const double bad[3] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        submod_prox_settings settings = submod_prox_defaults();
        settings.accuracy = bad[i];
        ck_assert_int_lt(submod_prox(fn, vector, 1, u, NULL, &settings, NULL, NULL), 0);
    }
    for (int missing = 0; missing < 5; missing++) {
        ck_assert_int_eq(
            submod_prox_max_affine(missing != 0, missing == 1 ? 0 : N, missing == 2 ? NULL : vector,
                                   missing == 3 ? NULL : vector, missing == 4 ? NULL : vector, 1, u,
                                   NULL, NULL, NULL),
            SUBMOD_EINVAL);
    }
    ck_assert(u[0] == 7);
    submod_fn_free(fn);
}
END_TEST

START_TEST(derivatives)
{
    submod_fn *fn = square_root();
    const int32_t block[N] = {0, 1, 2}, ends[1] = {0};
    double by[N] = {7};
    ck_assert_int_eq(submod_prox_vjp(&(submod_prox_point){.n = N, .lambda = 1, .s = vector}, vector,
                                     &(submod_prox_derivatives){.by_x = by}, NULL),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_prox_vjp(&(submod_prox_point){.n = N, .lambda = 1, .block = block, .s = vector},
                        NULL, &(submod_prox_derivatives){.by_x = by}, NULL),
        SUBMOD_EINVAL);
    for (int missing = 0; missing < 2; missing++) {
        ck_assert_int_eq(
            submod_prox_vjp(&(submod_prox_point){.n = N, .lambda = 1, .block = block, .u = vector},
                            vector,
                            &(submod_prox_derivatives){.by_edge = by,
                                                       .edges = 1,
                                                       .tail = missing == 0 ? NULL : ends,
                                                       .head = missing == 1 ? NULL : ends},
                            NULL),
            SUBMOD_EINVAL);
    }
    const double bad[N] = {1, NAN, 3};
    const int32_t below[1] = {-1}, above[1] = {N};
    ck_assert_int_eq(
        submod_prox_vjp(&(submod_prox_point){.n = 0, .lambda = 1, .block = block, .s = vector},
                        vector, &(submod_prox_derivatives){.by_x = by}, NULL),
        SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_prox_vjp(
            &(submod_prox_point){.n = (size_t)1 << 31, .lambda = 1, .block = block, .s = vector},
            vector, &(submod_prox_derivatives){.by_x = by}, NULL),
        SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_prox_vjp(&(submod_prox_point){.n = N, .lambda = 1, .block = block, .s = bad}, vector,
                        &(submod_prox_derivatives){.by_x = by}, NULL),
        SUBMOD_ENONFINITE);
    ck_assert_int_eq(
        submod_prox_vjp(
            &(submod_prox_point){.n = N, .lambda = 1, .block = block, .u = bad}, vector,
            &(submod_prox_derivatives){.by_edge = by, .edges = 1, .tail = ends, .head = ends},
            NULL),
        SUBMOD_ENONFINITE);
    ck_assert_int_eq(
        submod_prox_vjp(
            &(submod_prox_point){.n = N, .lambda = 1, .block = block, .u = vector}, vector,
            &(submod_prox_derivatives){.by_edge = by, .edges = 1, .tail = below, .head = ends},
            NULL),
        SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_prox_vjp(
            &(submod_prox_point){.n = N, .lambda = 1, .block = block, .u = vector}, vector,
            &(submod_prox_derivatives){.by_edge = by, .edges = 1, .tail = ends, .head = above},
            NULL),
        SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_vjp(&(submod_prox_point){.n = 2, .lambda = 1, .block = block},
                                     vector, &(submod_prox_derivatives){.by_function = by}, NULL),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_vjp(NULL, vector, &(submod_prox_derivatives){.by_x = by}, NULL),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_vjp(&(submod_prox_point){.n = N, .lambda = 1, .block = block},
                                     vector, NULL, NULL),
                     SUBMOD_EINVAL);
    ck_assert(by[0] == 7);
    submod_fn_free(fn);
}
END_TEST

START_TEST(functions)
{
    submod_fn *fn = square_root();
    submod_state *state = NULL;
    const int32_t set[2] = {0, 1};
    ck_assert_int_eq(submod_fn_chain(fn, set, 2, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_state_create(NULL, &state), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_state_create(fn, NULL), SUBMOD_EINVAL);
    ck_assert(!state);
    submod_fn_free(fn);
}
END_TEST

/* *number beyond its range: -1 for all, and what no number of settings may be. */
static const double beyond[3] = {-1, NAN, INFINITY};

START_TEST(numbers_of_prox_and_minimum)
{
    submod_fn *fn = square_root();
    double u[N] = {7};
    uint8_t in[N] = {7};
    for (int i = 0; i < 6; i++) {
        submod_prox_settings p = submod_prox_defaults();
        submod_sfm_settings m = submod_sfm_defaults();
        *(i < 3 ? &p.tolerance : &p.time_limit) = beyond[i % 3];
        *(i < 3 ? &m.tolerance : &m.time_limit) = beyond[i % 3];
        ck_assert_int_lt(submod_prox(fn, vector, 1, u, NULL, &p, NULL, NULL), 0);
        ck_assert_int_lt(submod_sfm(fn, in, NULL, NULL, &m, NULL, NULL), 0);
    }
    ck_assert(u[0] == 7 && in[0] == 7);
    submod_fn_free(fn);
}
END_TEST

START_TEST(numbers_of_steps)
{
    submod_step *step = NULL;
    for (int i = 0; i < 12; i++) {
        submod_adam_settings a = submod_adam_defaults();
        double *of_adam[4] = {&a.beta1, &a.beta2, &a.epsilon, &a.decay};
        *of_adam[i / 3] = beyond[i % 3];
        ck_assert_int_eq(submod_step_adam(N, &step, &a), SUBMOD_EINVAL);
    }
    ck_assert_ptr_null(step);
}
END_TEST

static submod_status half_a_map(void *ctx, const double *x, double *y)
{
    (void)ctx;
    *y = *x;
    return SUBMOD_OK;
}

START_TEST(maps)
{
    const double plane[1] = {1};
    submod_problem f, out = {.dimension = 9};
    submod_map map = {.rows = 1, .columns = 1, .matrix = plane};
    ck_assert_ok(submod_problem_max_affine(1, 1, plane, plane, &f));
    ck_assert_int_eq(submod_problem_composed(&f, NULL, NULL, &out), SUBMOD_EINVAL);
    map.matrix = NULL;
    map.forward = half_a_map;
    ck_assert_int_eq(submod_problem_composed(&f, &map, NULL, &out), SUBMOD_EINVAL);
    map.forward = NULL;
    map.adjoint = half_a_map;
    ck_assert_int_eq(submod_problem_composed(&f, &map, NULL, &out), SUBMOD_EINVAL);
    ck_assert(out.dimension == 9);
    submod_problem_clear(&f);
}
END_TEST

/* Nothing holds, all holds, and all that was looked at holds. */
START_TEST(reports)
{
    int32_t set[40] = {0};
    const submod_counterexample found = {.set = set, .set_size = 40};
    submod_counterexample inconsistent = found;
    inconsistent.callback = "chain";
    submod_check_report bad = {.not_submodular = found,
                               .not_monotone = found,
                               .not_symmetric = found,
                               .not_consistent = inconsistent};
    submod_check_report good = {
        .normalised = 1, .submodular = 1, .monotone = 1, .symmetric = 1, .consistent = 1};
    char text[2000];
    ck_assert_uint_lt(submod_check_report_text(&bad, text, sizeof text), sizeof text);
    ck_assert(strstr(text, "submodular: no,") && strstr(text, "monotone: no,"));
    ck_assert(strstr(text, "symmetric: no,") && strstr(text, "chain gives"));
    ck_assert_ptr_nonnull(strstr(text, "40 elements"));
    submod_check_report_text(&good, text, sizeof text);
    ck_assert(strstr(text, "some subsets") && strstr(text, "submodular: no counterexample found"));
    good.exhaustive = 1;
    submod_check_report_text(&good, text, sizeof text);
    ck_assert(strstr(text, "all subsets") && strstr(text, "submodular: yes"));
    ck_assert_uint_gt(submod_check_report_text(NULL, text, sizeof text), 0);
}
END_TEST

static int no_sum(void *context, void *numbers, submod_comm_type type, size_t count)
{
    (void)context;
    (void)numbers;
    (void)type;
    return count ? 1 : 2;
}

START_TEST(comms)
{
    submod_confusion *confusion = NULL;
    ck_assert_ok(submod_confusion_create(2, &confusion, NULL));
    const int ranks[4][2] = {{0, 0}, {-1, 2}, {2, 2}, {0, (1 << 20) + 1}}; /* rank, ranks */
    for (int i = 0; i < 4; i++) {
        submod_comm comm = submod_comm_alone();
        comm.rank = ranks[i][0];
        comm.ranks = ranks[i][1];
        ck_assert_int_eq(submod_dist_confusion_sum(&comm, confusion), SUBMOD_EINVAL);
    }
    submod_comm comm = submod_comm_alone();
    comm.ranks = 2;
    comm.sum = no_sum;
    assert_error(submod_dist_confusion_sum(&comm, confusion), SUBMOD_EINVAL, "comm.gather is NULL");
    submod_confusion_free(confusion);
}
END_TEST

START_TEST(gpu_workspaces)
{
    const float x[1] = {0};
    submod_scores scores = submod_scores_f32(x, 1, 1, 1);
    size_t bytes = 7;
    ck_assert_int_eq(submod_gpu_loss_workspace(SUBMOD_GPU_HINGE, &scores, NULL, NULL),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(submod_gpu_prox_workspace(&scores, 256, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_gpu_prox_workspace(NULL, 256, &bytes), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_gpu_dataset_workspace(&scores, 256, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_gpu_dataset_workspace(NULL, 256, &bytes, NULL), SUBMOD_EINVAL);
    ck_assert_uint_eq(bytes, 7);
}
END_TEST

int main(void)
{
    return RUN_TESTS("arguments", certificates, prox_calls, derivatives, functions,
                     numbers_of_prox_and_minimum, numbers_of_steps, maps, reports, comms,
                     gpu_workspaces);
}
