/* Rows of pixel weights, one after the other (see pixel_weight_loops.h). */
#include "loss/tensors/pixel_weight_loops.h"

#include "loss/tensors/pixel_weights.h"

static void round_row(float largest, double unit, double rounder, size_t n, float *row)
{
    const double inverse = 1 / unit;
    for (size_t i = 0; i < n; i++) {
        float w = row[i] < largest ? row[i] : largest;
        row[i] = submodi_rounded_weight((double)w * inverse, rounder);
    }
}

/* Lanes side by side, so that it vectorises. */
enum { LANES = 16 };

static inline double of_code(const int32_t *codes, const float *weight, size_t i, int32_t code)
{
    double w = (double)weight[i];
    return codes[i] == code ? w : 0.0;
}

static void tally(const int32_t *codes, const float *weight, size_t n, double *sum)
{
    double zeros[LANES] = {0};
    double ones[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            zeros[l] += of_code(codes, weight, i + l, 0);
            ones[l] += of_code(codes, weight, i + l, 1);
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        zeros[l] += of_code(codes, weight, i + l, 0);
        ones[l] += of_code(codes, weight, i + l, 1);
    }
    for (size_t l = 0; l < LANES; l++) {
        sum[0] += zeros[l];
        sum[1] += ones[l];
    }
}

const submodi_pixel_weight_loops SUBMODI_TABLE(submodi_pixel_weights) = {.round = round_row,
                                                                         .tally = tally};
