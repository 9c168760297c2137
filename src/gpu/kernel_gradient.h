/* The last pass of both engines: activation again, weights looked up, derivative written. */
#ifndef SUBMODI_GPU_KERNEL_GRADIENT_H
#define SUBMODI_GPU_KERNEL_GRADIENT_H

#include "gpu/kernel_histogram.h"

/* Derivative of the loss by the value v of class c at pixel n of a group. */
SUBMODI_DEVICE float submodi_gpu_weight(const submodi_gpu_job *j, uint32_t group, uint32_t n,
                                        uint32_t c, int32_t code, float v, float scale)
{
    if (j->method == SUBMODI_GPU_EXACT) {
        return submodi_from_bits(j->key[((uint64_t)group * j->classes + c) * j->per_group + n]);
    }
    uint64_t segment = (uint64_t)(group - j->first_group) * j->classes + c;
    const float *table = j->table + segment * (2 * (uint64_t)j->bins + 1);
    return code < j->label_classes
               ? table[submodi_gpu_bin(j, v, code == submodi_gpu_target(j, c), scale)]
               : 0;
}

/* Shared memory: the stage. */
SUBMODI_KERNEL void submodi_gpu_kernel_gradient(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    if (!submodi_gpu_all_good(j)) {
        return;
    }
    float scale = submodi_gpu_scale(j);
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, n, (float *)submodi_shared());
        int32_t code = submodi_gpu_code(j, &x, s.first_class);
        float factor = submodi_gpu_factor(j, &x);
        float mean = 0;
        if (j->activation == SUBMODI_SOFTMAX) {
            submodi_gpu_normalise(j, &x);
            for (uint32_t c = 0; c < j->classes; c++) {
                float p = submodi_gpu_value(j, &x, c);
                float g = submodi_gpu_weight(j, s.group, n, c, code, p, scale);
                mean = submodi_multiply_add(p, g, mean);
            }
        }
        for (uint32_t c = s.first_class; c < s.end_class; c++) {
            float v = submodi_gpu_value(j, &x, c);
            float g = submodi_gpu_weight(j, s.group, n, c, code, v, scale);
            if (j->activation == SUBMODI_SOFTMAX) {
                g = v * (g - mean);
            } else if (j->activation == SUBMODI_SIGMOID) {
                g *= submodi_sigmoid_slope(submodi_gpu_score(j, &x, c));
            }
            submodi_gpu_store(&j->gradient, &x, c, g * factor);
        }
    }
}

#endif
