/* Tests how the library calls CUDA's runtime and handles its failures, with the stand-in for it. */
#include <stdlib.h>
#include <string.h>

#include "ptx.h"
#include "runtime.h"
#include "support.h"

extern const ptx_module ptx_ours;

static const float x[2] = {0, 1};
static const uint8_t y[1] = {0};

/* Computes a loss of host pointers, which allocates, copies and frees device memory. */
static submod_status one_call(void)
{
    double loss;
    submod_scores scores = submod_scores_f32(x, 1, 2, 1);
    submod_labels labels = submod_labels_u8(y, 1, 1);
    return submod_gpu_lovasz_softmax_host(&scores, &labels, &loss, NULL, NULL, NULL, 0);
}

/* Each rank of a job looks for devices, and then works on one of them. */
START_TEST(looking_for_devices_creates_no_context)
{
    int devices = 0;
    runtime.has_context = false;
    ck_assert_ok(submod_gpu_available(&devices));
    ck_assert_int_eq(devices, 1);
    ck_assert(!runtime.has_context);
    ck_assert_ok(one_call());
    ck_assert(runtime.has_context);
}
END_TEST

/* The kernels are PTX of one architecture. Later devices run it if the driver is as new as nvcc. */
START_TEST(devices_by_capability)
{
    const struct {
        int capability, driver;
        bool usable;
    } machines[] = {{0, CUDART_VERSION, true},
                    {60, CUDART_VERSION, false},
                    {ptx_ours.architecture - 1, CUDART_VERSION, false},
                    {ptx_ours.architecture + 1, CUDART_VERSION, true},
                    {121, CUDART_VERSION + 1010, true},
                    {0, CUDART_VERSION - 10, false}};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        int devices = 7;
        runtime.capability = machines[i].capability;
        runtime.driver = machines[i].driver;
        submod_status status = submod_gpu_available(&devices);
        ck_assert_int_eq(status, machines[i].usable ? SUBMOD_OK : SUBMOD_EUNSUPPORTED);
        ck_assert_int_eq(devices, machines[i].usable);
        ck_assert(machines[i].usable || strstr(submod_last_error(), "compute capability"));
    }
    runtime.capability = 0;
    runtime.driver = CUDART_VERSION;
}
END_TEST

/* The message describes the first failure, although freeing memory fails too. */
START_TEST(failing_free_keeps_the_message)
{
    runtime.copy_error = cudaErrorIllegalAddress;
    runtime.free_error = cudaErrorLaunchFailure;
    ck_assert_int_eq(one_call(), SUBMOD_ENUMERIC);
    ck_assert_msg(strstr(submod_last_error(), "copying"), "%s", submod_last_error());
    runtime.copy_error = runtime.free_error = cudaSuccess;
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    ck_assert_ok(one_call());
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu_runtime", looking_for_devices_creates_no_context, devices_by_capability,
                     failing_free_keeps_the_message);
}
