/* A C program with the shared library, on a machine with or without a driver: it loads, runs, and
 * its error message says what is missing. */
#include <stdio.h>
#include <string.h>
#include <submod.h>

int main(void)
{
    const float x[2] = {0, 1};
    const uint8_t y[1] = {0};
    submod_scores scores = submod_scores_f32(x, 1, 2, 1);
    submod_labels labels = submod_labels_u8(y, 1, 1);
    double on_cpu = 0, on_gpu = 7;
    int devices = -1;
    size_t bytes = 0;
    submod_status status = submod_gpu_available(&devices);
    printf("%s\n", status == SUBMOD_OK ? "there is a device" : submod_last_error());
    if (submod_lovasz_softmax(&scores, &labels, &on_cpu, NULL, NULL, NULL, NULL) != SUBMOD_OK ||
        submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &scores, &bytes, NULL) != SUBMOD_OK ||
        bytes == 0) {
        return 1;
    }
    submod_status run =
        submod_gpu_lovasz_softmax_host(&scores, &labels, &on_gpu, NULL, NULL, NULL, 0);
    if (status == SUBMOD_OK) {
        return run == SUBMOD_OK && on_gpu == on_cpu && devices > 0 ? 0 : 1;
    }
    /* Which of the two is missing depends on the build and the machine. */
    const char *words = submod_last_error();
    int said = strstr(words, "without CUDA") || strstr(words, "no CUDA driver") ||
               strstr(words, "no CUDA device") || strstr(words, "older than");
    return status == SUBMOD_EUNSUPPORTED && run == status && on_gpu == 7 && devices == 0 && said
               ? 0
               : 1;
}
