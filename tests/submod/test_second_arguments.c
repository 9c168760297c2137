/* What is missing or does not fit in the second argument of a call, or in a later one. */
#include <string.h>

#include "support.h"

static void assert_refused(submod_status status, const char *words)
{
    ck_assert_int_eq(status, SUBMOD_EINVAL);
    ck_assert_msg(strstr(submod_last_error(), words), "\"%s\"", submod_last_error());
}

START_TEST(others_to_merge)
{
    submod_dataset *dataset = NULL, *finer = NULL;
    submod_confusion *confusion = NULL;
    submod_miou *miou = NULL;
    submod_instances *instances = NULL;
    submod_boundary *boundary = NULL;
    submod_fine_grained *fine = NULL;
    ck_assert_ok(submod_dataset_create(3, 0.01, &dataset));
    ck_assert_ok(submod_dataset_create(3, 0.001, &finer));
    ck_assert_ok(submod_confusion_create(3, &confusion, NULL));
    ck_assert_ok(submod_miou_create(3, &miou, NULL));
    ck_assert_ok(submod_instances_create(3, 0, &instances, NULL));
    ck_assert_ok(submod_boundary_create(3, &boundary, NULL));
    ck_assert_ok(submod_fine_grained_create(3, &fine, NULL));
    assert_refused(submod_dataset_merge(dataset, NULL), "NULL");
    assert_refused(submod_dataset_merge(dataset, finer), "bins");
    assert_refused(submod_confusion_merge(confusion, NULL), "NULL");
    assert_refused(submod_miou_merge(miou, NULL), "NULL");
    assert_refused(submod_instances_merge(instances, NULL), "other is NULL");
    assert_refused(submod_boundary_merge(boundary, NULL), "other is NULL");
    assert_refused(submod_fine_grained_merge(fine, NULL), "other is NULL");
    submod_dataset_free(dataset);
    submod_dataset_free(finer);
    submod_confusion_free(confusion);
    submod_miou_free(miou);
    submod_instances_free(instances);
    submod_boundary_free(boundary);
    submod_fine_grained_free(fine);
}
END_TEST

START_TEST(arrays)
{
    const int32_t tail[1] = {0}, head[1] = {1}, none[1] = {-1}, beyond[1] = {2};
    const double weight[1] = {1};
    const uint8_t mask[2] = {0, 1};
    submod_fn *fn = NULL;
    double value = 0;
    assert_refused(submod_fn_cut(2, 1, NULL, head, weight, 0, &fn), "NULL");
    assert_refused(submod_fn_cut(2, 1, tail, NULL, weight, 0, &fn), "NULL");
    assert_refused(submod_fn_cut(2, 1, tail, head, NULL, 0, &fn), "NULL");
    assert_refused(submod_fn_cut(2, 1, none, head, weight, 0, &fn), "");
    assert_refused(submod_fn_cut(2, 1, beyond, head, weight, 0, &fn), "");
    assert_refused(submod_fn_cut(2, 1, tail, none, weight, 0, &fn), "");
    assert_refused(submod_fn_cut(2, 1, tail, beyond, weight, 0, &fn), "");
    ck_assert_ptr_null(fn);
    assert_refused(submod_jaccard_index(NULL, mask, 2, &value), "NULL");
    assert_refused(submod_jaccard_index(mask, NULL, 2, &value), "NULL");
    assert_refused(submod_jaccard_index(mask, mask, 2, NULL), "NULL");
    ck_assert_ok(submod_jaccard_index(NULL, NULL, 0, &value));
}
END_TEST

/* Sizes and bytes that the caller has asked for, and nowhere to put them. */
START_TEST(workspace_of_a_global_loss)
{
    submod_scores scores = submod_scores_f32(NULL, 1, 3, 10);
    submod_loss_settings settings = submod_loss_defaults();
    size_t numbers = 0, bytes = 0;
    assert_refused(
        submod_gpu_global_workspace(SUBMOD_GPU_SOFTMAX, NULL, &numbers, &bytes, &settings),
        "scores is NULL");
    assert_refused(
        submod_gpu_global_workspace(SUBMOD_GPU_SOFTMAX, &scores, NULL, &bytes, &settings),
        "numbers is NULL");
    assert_refused(
        submod_gpu_global_workspace(SUBMOD_GPU_SOFTMAX, &scores, &numbers, NULL, &settings),
        "bytes is NULL");
}
END_TEST

int main(void)
{
    return RUN_TESTS("second_arguments", others_to_merge, arrays, workspace_of_a_global_loss);
}
