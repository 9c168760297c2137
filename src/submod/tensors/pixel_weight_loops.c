/* Rounding and adding up rows of pixel weights (see pixel_weight_loops.h). */
#include "submod/tensors/pixel_weight_loops.h"

/* Adding 2^52 to a number from 0 to 2^52 rounds it to a whole one. */
static void round_row(const submodi_weight_rounding *how, size_t n, float *row)
{
    const double rounder = 0x1p52;
    const double in_steps = 1 / how->step;
    const double back = how->step / how->divisor;
    const float largest = how->largest;
    for (size_t i = 0; i < n; i++) {
        float w = row[i] < largest ? row[i] : largest;
        double steps = ((double)w * in_steps + rounder) - rounder;
        row[i] = (float)(steps * back);
    }
}

/* Lanes side by side, so that it vectorises. */
enum { LANES = 16 };

static void tally(const int32_t *codes, const float *weight, size_t n, double *sum)
{
    double zeros[LANES] = {0};
    double ones[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            zeros[l] += (double)(codes[i + l] == 0 ? weight[i + l] : 0.0F);
            ones[l] += (double)(codes[i + l] == 1 ? weight[i + l] : 0.0F);
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        zeros[l] += (double)(codes[i + l] == 0 ? weight[i + l] : 0.0F);
        ones[l] += (double)(codes[i + l] == 1 ? weight[i + l] : 0.0F);
    }
    for (size_t l = 0; l < LANES; l++) {
        sum[0] += zeros[l];
        sum[1] += ones[l];
    }
}

const submodi_pixel_weight_loops SUBMODI_TABLE(submodi_pixel_weights) = {.round = round_row,
                                                                         .tally = tally};
