/* The last pass of the layer of the Lovász hinge: how far margins fall is looked up, scores move
 * and the gradient is written (kernel_prox.h has the rest). */
#ifndef SUBMODI_GPU_KERNEL_HINGE_H
#define SUBMODI_GPU_KERNEL_HINGE_H

#include "gpu/kernel_prox.h"

/* What becomes of a pixel. */
typedef struct submodi_gpu_fallen {
    double moved; /* of its margin, down */
    double s;     /* lambda times that, at the middle of its bin */
} submodi_gpu_fallen;

/* Of a margin above 0. Its prox is that of the middle of its bin, up to half a bin. */
SUBMODI_DEVICE submodi_gpu_fallen submodi_gpu_fall_of(const submodi_gpu_job *j,
                                                      const submodi_gpu_grid *g, const float *table,
                                                      float margin, bool foreground)
{
    uint32_t bin = submodi_gpu_prox_bin(j, g, margin, foreground);
    double entry = (double)table[bin];
    double middle = g->low + g->width * ((double)(foreground ? bin - j->bins : bin) + 0.5);
    double moved = (double)margin - (middle - entry / fmax(j->lambda, 1.0));
    submodi_gpu_fallen f;
    f.moved = fmin(fmax(moved, 0.0), (double)margin);
    f.s = entry * fmin(j->lambda, 1.0);
    return f;
}

SUBMODI_KERNEL void submodi_gpu_kernel_hinge_write(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    if (!submodi_gpu_all_good(j)) {
        return;
    }
    const float *table = submodi_gpu_prox_table(j, s.group);
    submodi_gpu_grid g = submodi_gpu_grid_of(j, s.group);
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, n, NULL);
        int32_t code = submodi_gpu_label(j, &x, 0);
        float margin = submodi_gpu_prox_value(j, &x, 0, code);
        submodi_gpu_fallen f = {0, 0};
        if (submodi_gpu_prox_moves(j, code, margin)) {
            f = submodi_gpu_fall_of(j, &g, table, margin, code == 1);
        }
        double y = code == 1 ? 1 : -1;
        double score = (double)submodi_gpu_score(j, &x, 0);
        if (j->gradient.data) {
            submodi_gpu_store(&j->gradient, &x, 0, (float)(-y * f.s / j->groups));
        }
        if (j->prox.data) {
            submodi_gpu_store(&j->prox, &x, 0, (float)(score + y * f.moved));
        }
    }
}

#endif
