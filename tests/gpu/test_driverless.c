/* A C program with the shared library, on a machine with or without a driver: the library loads and
 * runs, and its error message names what is missing. Where a device can run the kernels, test
 * gpu_device runs them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod.h>

/* Returns whether a loss call fails for want of a device and leaves its output as it was. */
static int is_refused(const submod_scores *scores, const submod_labels *labels)
{
    submod_gpu_place place = {.device = 0};
    submod_gpu_result result = {.loss = 7};
    if (submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, scores, &place.workspace_bytes, NULL)) {
        return 0;
    }
    place.workspace = aligned_alloc(256, (place.workspace_bytes + 255) / 256 * 256);
    submod_status status = submod_gpu_lovasz_softmax(scores, labels, &result, NULL, NULL, &place);
    free(place.workspace);
    /* Which part is missing depends on the build and the machine. */
    const char *message = submod_last_error();
    return status == SUBMOD_EUNSUPPORTED && result.loss == 7 &&
           (strstr(message, "without CUDA") || strstr(message, "no CUDA driver") ||
            strstr(message, "no CUDA device") || strstr(message, "older than"));
}

int main(void)
{
    const float x[2] = {0, 1};
    const uint8_t y[1] = {0};
    submod_scores scores = submod_scores_f32(x, 1, 2, 1);
    submod_labels labels = submod_labels_u8(y, 1, 1);
    double on_cpu = 0;
    int devices = -1;
    submod_status status = submod_gpu_available(&devices);
    printf("%s\n", status == SUBMOD_OK ? "there is a device" : submod_last_error());
    if (submod_lovasz_softmax(&scores, &labels, &on_cpu, NULL, NULL, NULL, NULL) != SUBMOD_OK) {
        return EXIT_FAILURE;
    }
    int good = status == SUBMOD_OK
                   ? devices > 0
                   : status == SUBMOD_EUNSUPPORTED && devices == 0 && is_refused(&scores, &labels);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
