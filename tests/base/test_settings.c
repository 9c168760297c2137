/* Settings that can grow: calls every public function that takes settings, but those that need a
 * GPU, as a program of another version would. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "support.h"

enum { ROOM = 512 };

/* Bytes for any settings. */
typedef union any_settings {
    size_t struct_size;
    max_align_t align;
    unsigned char bytes[ROOM];
    submod_lovasz_settings lovasz;
    submod_check_settings check;
    submod_prox_settings prox;
    submod_sfm_settings sfm;
    submod_maximize_settings maximize;
    submod_adam_settings adam;
    submod_descent_settings descent;
    submod_fista_settings fista;
    submod_bundle_settings bundle;
    submod_bcfw_settings bcfw;
    submod_split_settings split;
    submod_metric_settings metric;
    submod_decision_settings decision;
    submod_loss_settings loss;
} any_settings;

static const double point[3] = {0.5, -1, 2};

static submod_fn *some_function(void)
{
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(3, (uint8_t[]){1, 0, 1}, &fn));
    return fn;
}

static submod_problem some_problem(void)
{
    submod_problem problem;
    ck_assert_ok(submod_problem_max_affine(3, 2, (double[]){1, 0, -1, 1, 0, -1}, NULL, &problem));
    return problem;
}

/* ---- the defaults, and a call of each function with settings ---- */

static void lovasz_fill(any_settings *s)
{
    s->lovasz = submod_lovasz_defaults();
}

static submod_status lovasz_call(const any_settings *s)
{
    submod_fn *fn = some_function();
    double value;
    submod_status status = submod_lovasz(fn, point, &value, NULL, NULL, &s->lovasz, NULL);
    submod_fn_free(fn);
    return status;
}

static void check_fill(any_settings *s)
{
    s->check = submod_check_defaults();
}

static submod_status check_call(const any_settings *s)
{
    submod_fn *fn = some_function();
    submod_check_report report = {.reserved = {1, 1, 1, 1}};
    submod_status status = submod_fn_check(fn, &report, &s->check);
    submod_fn_free(fn);
    if (status == SUBMOD_OK) {
        ck_assert_uint_eq(report.reserved[0] | report.reserved[3], 0);
        submod_check_report_clear(&report);
    }
    return status;
}

static void prox_fill(any_settings *s)
{
    s->prox = submod_prox_defaults();
}

static submod_status prox_call(const any_settings *s)
{
    submod_fn *fn = some_function();
    submod_prox_info info = {.reserved = {1, 1, 1}};
    submod_status status = submod_prox(fn, point, 2, NULL, NULL, &s->prox, &info, NULL);
    ck_assert_uint_eq(info.reserved[0] | info.reserved[2], status ? 1 : 0);
    submod_fn_free(fn);
    return status;
}

static void sfm_fill(any_settings *s)
{
    s->sfm = submod_sfm_defaults();
}

static submod_status sfm_call(const any_settings *s)
{
    submod_fn *fn = some_function();
    submod_sfm_info info = {.reserved = {1, 1, 1, 1}};
    submod_status status = submod_sfm(fn, NULL, NULL, NULL, &s->sfm, &info, NULL);
    ck_assert_uint_eq(info.reserved[0] | info.reserved[3], status ? 1 : 0);
    submod_fn_free(fn);
    return status;
}

static void maximize_fill(any_settings *s)
{
    s->maximize = submod_maximize_defaults();
}

static submod_status maximize_call(const any_settings *s)
{
    submod_fn *fn = some_function();
    submod_maximize_info info = {.reserved = {1, 1, 1, 1}};
    submod_status status =
        submod_maximize(fn, 2, NULL, 0, NULL, NULL, NULL, &s->maximize, &info, NULL);
    ck_assert_uint_eq(info.reserved[0] | info.reserved[3], status ? 1 : 0);
    submod_fn_free(fn);
    return status;
}

static void adam_fill(any_settings *s)
{
    s->adam = submod_adam_defaults();
}

static submod_status adam_call(const any_settings *s)
{
    submod_step *step = NULL;
    submod_status status = submod_step_adam(2, &step, &s->adam);
    submod_step_free(step);
    return status;
}

static void descent_fill(any_settings *s)
{
    s->descent = submod_descent_defaults();
    s->descent.run.max_iterations = 2;
    s->descent.schedule = submod_schedule_constant(0.1);
}

static submod_status descent_call(const any_settings *s)
{
    submod_problem problem = some_problem();
    submod_step *step = NULL;
    double x[2] = {1, 1};
    submod_optim_info info = {.reserved = {1, 1}};
    ck_assert_ok(submod_step_gd(2, &step));
    submod_status status = submod_descend(&problem, step, x, &s->descent, &info, NULL);
    ck_assert_uint_eq(info.reserved[0] | info.reserved[1], status ? 1 : 0);
    submod_step_free(step);
    submod_problem_clear(&problem);
    return status;
}

static void fista_fill(any_settings *s)
{
    s->fista = submod_fista_defaults();
    s->fista.run.max_iterations = 2;
}

static submod_status fista_call(const any_settings *s)
{
    submod_problem problem = some_problem();
    double x[2] = {1, 1};
    submod_status status = submod_fista(&problem, x, &s->fista, NULL, NULL);
    submod_problem_clear(&problem);
    return status;
}

static void bundle_fill(any_settings *s)
{
    s->bundle = submod_bundle_defaults();
    s->bundle.radius = 10;
}

static submod_status bundle_call(const any_settings *s)
{
    submod_problem problem = some_problem();
    double x[2] = {1, 1};
    submod_status status = submod_bundle(&problem, x, &s->bundle, NULL, NULL);
    submod_problem_clear(&problem);
    return status;
}

static void bcfw_fill(any_settings *s)
{
    s->bcfw = submod_bcfw_defaults();
    s->bcfw.run.weight_decay = 1;
}

static submod_status bcfw_call(const any_settings *s)
{
    submod_problem problem = some_problem();
    double x[2] = {1, 1};
    submod_status status = submod_bcfw(&problem, x, &s->bcfw, NULL, NULL);
    submod_problem_clear(&problem);
    return status;
}

static void split_fill(any_settings *s)
{
    s->split = submod_split_defaults();
    s->split.run.max_iterations = 2;
}

static submod_status primal_dual_call(const any_settings *s)
{
    submod_problem problem = some_problem();
    const double matrix[4] = {1, 2, 3, 4};
    const submod_map map = {.struct_size = sizeof map, .rows = 2, .columns = 2, .matrix = matrix};
    double x[2] = {1, 1};
    submod_status status = submod_primal_dual(&problem, &map, NULL, x, &s->split, NULL, NULL);
    submod_problem_clear(&problem);
    return status;
}

static void metric_fill(any_settings *s)
{
    s->metric = submod_metric_defaults();
}

static void decision_fill(any_settings *s)
{
    s->decision = submod_decision_defaults();
}

static const float probability[3] = {0.5F, 0.25F, 1};

static submod_status decide_call(const any_settings *s)
{
    uint8_t mask[3];
    submod_scores view = submod_scores_f32(probability, 1, 1, 3);
    submod_decision_info info = {.reserved = {1, 1, 1, 1}};
    submod_status status = submod_decide(&view, mask, &s->decision, &info, NULL);
    ck_assert_uint_eq(info.reserved[0] | info.reserved[3], status ? 1 : 0);
    return status;
}

static submod_status decide_classes_call(const any_settings *s)
{
    int32_t labels[1];
    submod_scores view = submod_scores_f32(probability, 1, 3, 1);
    return submod_decide_classes(&view, labels, &s->decision, NULL, NULL);
}

static submod_status expected_score_call(const any_settings *s)
{
    submod_scores view = submod_scores_f32(probability, 1, 1, 3);
    return submod_expected_score(&view, (uint8_t[]){1, 0, 1}, NULL, NULL, &s->decision, NULL);
}

static submod_status miou_call(const any_settings *s)
{
    submod_miou *miou = NULL;
    submod_status status = submod_miou_create(2, &miou, &s->metric);
    if (status == SUBMOD_OK) {
        submod_miou_values values = {.reserved = {1, 1, 1, 1}};
        ck_assert_ok(submod_miou_get(miou, &values));
        ck_assert_uint_eq(values.reserved[0] | values.reserved[3], 0);
    }
    submod_miou_free(miou);
    return status;
}

static submod_status confusion_call(const any_settings *s)
{
    submod_confusion *confusion = NULL;
    submod_metrics metrics = {.reserved = {1, 1, 1, 1}};
    ck_assert_ok(submod_confusion_create(2, &confusion, NULL));
    submod_status status =
        submod_confusion_metrics(confusion, NULL, NULL, NULL, &metrics, &s->metric);
    ck_assert_uint_eq(metrics.reserved[0] | metrics.reserved[3], status ? 1 : 0);
    submod_confusion_free(confusion);
    return status;
}

static submod_status confusion_create_call(const any_settings *s)
{
    submod_confusion *confusion = NULL;
    submod_status status = submod_confusion_create(2, &confusion, &s->metric);
    submod_confusion_free(confusion);
    return status;
}

static const uint8_t zero_one[2] = {0, 1};

static submod_status miou_image_call(const any_settings *s)
{
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    double value;
    return submod_miou_image(&labels, &labels, 2, &value, &s->metric);
}

static submod_status miou_batch_call(const any_settings *s)
{
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    double value;
    return submod_miou_batch(&labels, &labels, 2, &value, &s->metric);
}

static void loss_fill(any_settings *s)
{
    s->loss = submod_loss_defaults();
}

/* One image of 2 pixels with 2 classes, or with one score per pixel. */
static const float numbers[4] = {0.5f, -1, 2, 0.25f};

/* All that take these arguments. */
typedef submod_status some_loss(const submod_scores *scores, const submod_labels *labels,
                                double *loss, const submod_gradient *gradient,
                                const submod_loss_settings *settings, submod_work *work);

static submod_status call_loss(some_loss *function, size_t classes, const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, classes, 2);
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    double loss;
    return function(&scores, &labels, &loss, NULL, &s->loss, NULL);
}

static submod_status cross_entropy_call(const any_settings *s)
{
    return call_loss(submod_cross_entropy, 2, s);
}

static submod_status hinge_call(const any_settings *s)
{
    return call_loss(submod_hinge, 1, s);
}

static submod_status dice_call(const any_settings *s)
{
    return call_loss(submod_soft_dice, 2, s);
}

static submod_status soft_jaccard_call(const any_settings *s)
{
    return call_loss(submod_soft_jaccard, 2, s);
}

static submod_status jaccard_metric_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 2, 2);
    submod_scores soft = submod_scores_f32((const float[]){0.5f, 1, 0, 0.5f}, 1, 2, 2);
    double loss;
    return submod_jaccard_metric(&scores, &soft, SUBMOD_OVERLAP_MIN, &loss, NULL, &s->loss, NULL);
}

static submod_status dice_metric_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 2, 2);
    submod_scores soft = submod_scores_f32((const float[]){0.5f, 1, 0, 0.5f}, 1, 2, 2);
    double loss;
    return submod_dice_metric(&scores, &soft, SUBMOD_OVERLAP_MIN, &loss, NULL, &s->loss, NULL);
}

static submod_status rahman_wang_call(const any_settings *s)
{
    return call_loss(submod_rahman_wang, 1, s);
}

static submod_status lovasz_softmax_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 2, 2);
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    submod_loss_info info = {.reserved = {1, 1, 1, 1}};
    submod_status status =
        submod_lovasz_softmax(&scores, &labels, NULL, NULL, &s->loss, &info, NULL);
    ck_assert_uint_eq(info.reserved[0] | info.reserved[3], status ? 1 : 0);
    return status;
}

static submod_status lovasz_sigmoid_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 1, 2);
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    return submod_lovasz_sigmoid(&scores, &labels, NULL, NULL, &s->loss, NULL, NULL);
}

static submod_status lovasz_hinge_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 1, 2);
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    return submod_lovasz_hinge(&scores, &labels, NULL, NULL, &s->loss, NULL, NULL);
}

static submod_status hinge_function_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 1, 2);
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_hamming(2, &fn));
    submod_status status =
        submod_lovasz_hinge_function(fn, &scores, &labels, NULL, NULL, &s->loss, NULL);
    submod_fn_free(fn);
    return status;
}

static submod_status hinge_layer_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 1, 2);
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    return submod_prox_lovasz_hinge(&scores, &labels, 1, NULL, NULL, &s->loss, NULL, NULL);
}

static submod_status dataset_add_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 2, 2);
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    submod_dataset *dataset = NULL;
    ck_assert_ok(submod_dataset_create(2, 0x1p-6, &dataset));
    submod_status status = submod_dataset_add(dataset, &scores, &labels, &s->loss, NULL);
    submod_dataset_free(dataset);
    return status;
}

static submod_status dataset_solve_call(const any_settings *s)
{
    submod_dataset *dataset = NULL;
    double loss;
    ck_assert_ok(submod_dataset_create(2, 0x1p-6, &dataset));
    submod_status status = submod_dataset_solve(dataset, &loss, NULL, &s->loss);
    submod_dataset_free(dataset);
    return status;
}

static submod_status dataset_gradient_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 2, 2);
    submod_labels labels = submod_labels_u8(zero_one, 1, 2);
    float derivative[4];
    submod_gradient gradient = submod_gradient_dense(derivative, 2, 2);
    submod_dataset *dataset = NULL;
    ck_assert_ok(submod_dataset_create(2, 0x1p-6, &dataset));
    ck_assert_ok(submod_dataset_add(dataset, &scores, &labels, NULL, NULL));
    ck_assert_ok(submod_dataset_solve(dataset, NULL, NULL, NULL));
    submod_status status =
        submod_dataset_gradient(dataset, &scores, &labels, &gradient, &s->loss, NULL);
    submod_dataset_free(dataset);
    return status;
}

static submod_status gpu_workspace_call(const any_settings *s)
{
    submod_scores scores = submod_scores_f32(numbers, 1, 2, 2);
    size_t bytes;
    return submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &scores, &bytes, &s->loss);
}

typedef struct row {
    const char *defaults;
    size_t size, older; /* of the struct; of one that has only what a call cannot do without */
    void (*fill)(any_settings *s);
    submod_status (*call)(const any_settings *s);
    bool picky; /* bytes of 0xff behind the older struct would be refused */
} row;

#define LOSS(call, picky) \
    { \
        "submod_loss_defaults", sizeof(submod_loss_settings), sizeof(size_t), loss_fill, call, \
            picky \
    }

static const row rows[] = {
    {"submod_lovasz_defaults", sizeof(submod_lovasz_settings), sizeof(size_t), lovasz_fill,
     lovasz_call, true},
    {"submod_check_defaults", sizeof(submod_check_settings), sizeof(size_t), check_fill, check_call,
     true},
    {"submod_prox_defaults", sizeof(submod_prox_settings), sizeof(size_t), prox_fill, prox_call,
     true},
    {"submod_sfm_defaults", sizeof(submod_sfm_settings), sizeof(size_t), sfm_fill, sfm_call, true},
    {"submod_maximize_defaults", sizeof(submod_maximize_settings), sizeof(size_t), maximize_fill,
     maximize_call, true},
    {"submod_adam_defaults", sizeof(submod_adam_settings), sizeof(size_t), adam_fill, adam_call,
     true},
    {"submod_descent_defaults", sizeof(submod_descent_settings),
     offsetof(submod_descent_settings, direction), descent_fill, descent_call, true},
    {"submod_fista_defaults", sizeof(submod_fista_settings),
     offsetof(submod_fista_settings, lipschitz), fista_fill, fista_call, true},
    {"submod_bundle_defaults", sizeof(submod_bundle_settings),
     offsetof(submod_bundle_settings, max_planes), bundle_fill, bundle_call, true},
    {"submod_bcfw_defaults", sizeof(submod_bcfw_settings), offsetof(submod_bcfw_settings, order),
     bcfw_fill, bcfw_call, true},
    {"submod_split_defaults", sizeof(submod_split_settings), offsetof(submod_split_settings, step),
     split_fill, primal_dual_call, true},
    {"submod_metric_defaults", sizeof(submod_metric_settings), sizeof(size_t), metric_fill,
     miou_call, true},
    {"submod_metric_defaults", sizeof(submod_metric_settings), sizeof(size_t), metric_fill,
     confusion_call, true},
    {"submod_metric_defaults", sizeof(submod_metric_settings), sizeof(size_t), metric_fill,
     confusion_create_call, false},
    {"submod_metric_defaults", sizeof(submod_metric_settings), sizeof(size_t), metric_fill,
     miou_image_call, true},
    {"submod_metric_defaults", sizeof(submod_metric_settings), sizeof(size_t), metric_fill,
     miou_batch_call, true},
    {"submod_decision_defaults", sizeof(submod_decision_settings), sizeof(size_t), decision_fill,
     decide_call, true},
    {"submod_decision_defaults", sizeof(submod_decision_settings), sizeof(size_t), decision_fill,
     decide_classes_call, true},
    {"submod_decision_defaults", sizeof(submod_decision_settings), sizeof(size_t), decision_fill,
     expected_score_call, true},
    LOSS(lovasz_softmax_call, true),
    LOSS(lovasz_sigmoid_call, true),
    LOSS(gpu_workspace_call, true),
    LOSS(lovasz_hinge_call, false),
    LOSS(hinge_function_call, false),
    LOSS(hinge_layer_call, false),
    LOSS(cross_entropy_call, false),
    LOSS(hinge_call, false),
    LOSS(dice_call, false),
    LOSS(soft_jaccard_call, false),
    LOSS(jaccard_metric_call, false),
    LOSS(dice_metric_call, false),
    LOSS(rahman_wang_call, false),
    LOSS(dataset_add_call, false),
    LOSS(dataset_solve_call, false),
    LOSS(dataset_gradient_call, false),
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Defaults in the first `size` bytes, and behind them what no setting may be. */
static any_settings settings_of(size_t r, size_t size)
{
    any_settings s;
    rows[r].fill(&s);
    memset(s.bytes + size, 0xff, ROOM - size);
    return s;
}

START_TEST(the_defaults_say_their_size)
{
    for (size_t r = 0; r < ROWS; r++) {
        any_settings s = settings_of(r, rows[r].size);
        ck_assert_uint_eq(s.struct_size, rows[r].size);
        ck_assert_ok(rows[r].call(&s));
    }
}
END_TEST

/* An older program's struct ends early: what stands behind it is not read. */
START_TEST(fields_that_are_not_there_keep_their_defaults)
{
    for (size_t r = 0; r < ROWS; r++) {
        any_settings s = settings_of(r, rows[r].older);
        if (rows[r].picky) {
            s.struct_size = rows[r].size;
            ck_assert_int_lt(rows[r].call(&s), 0);
        }
        s.struct_size = rows[r].older;
        ck_assert_ok(rows[r].call(&s));
    }
}
END_TEST

START_TEST(sizes_that_cannot_be_are_refused)
{
    for (size_t r = 0; r < ROWS; r++) {
        const size_t wrong[] = {0, sizeof(size_t) - 1, rows[r].size + 1, SIZE_MAX};
        any_settings s = settings_of(r, rows[r].size);
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            s.struct_size = wrong[i];
            ck_assert_int_eq(rows[r].call(&s), SUBMOD_EINVAL);
            ck_assert_ptr_nonnull(strstr(submod_last_error(), "fill the settings with"));
            ck_assert_ptr_nonnull(strstr(submod_last_error(), rows[r].defaults));
        }
    }
}
END_TEST

/* A newer program may have meant something by them. */
START_TEST(reserved_words_of_runs_are_zero)
{
    for (size_t i = 0; i < 4; i++) {
        any_settings s;
        fista_fill(&s);
        s.fista.run.reserved[i] = 1;
        ck_assert_int_eq(fista_call(&s), SUBMOD_EINVAL);
        ck_assert_ptr_nonnull(strstr(submod_last_error(), "run.reserved must be 0"));
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("settings", the_defaults_say_their_size,
                     fields_that_are_not_there_keep_their_defaults,
                     sizes_that_cannot_be_are_refused, reserved_words_of_runs_are_zero);
}
