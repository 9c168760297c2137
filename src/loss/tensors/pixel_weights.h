/* How the weights of pixels are checked, read and rounded.
 *
 * Sums of weights must not depend on the order in which threads add them up. So each weight is
 * rounded once to a whole multiple of a step, a power of two, so fine that the sum of all weights
 * of a group has at most 52 bits: every such sum is exact in doubles, in any order. The rounded
 * weight replaces the given one everywhere, in sums, losses and derivatives alike. It is still a
 * float: a weight below 2^24 steps becomes a whole number of at most 24 bits, and a larger one is a
 * multiple of the step already. Rounding moves a weight by at most half a step, which is below the
 * last bit of a double that holds the sum. */
#ifndef SUBMODI_TENSORS_PIXEL_WEIGHTS_H
#define SUBMODI_TENSORS_PIXEL_WEIGHTS_H

#include <stdbool.h>

#include <submod/tensor.h>

/* Refuses a view of another shape than the labels have, without data although it has pixels, or
 * with strides that no memory can hold. Of the values nothing is looked at. */
submod_status submodi_pixel_weights_require(const submod_pixel_weights *view, size_t batch,
                                            size_t pixels);

/* Weights first .. first + n - 1 of image b, as they are. */
void submodi_pixel_weights_read(const submod_pixel_weights *view, size_t b, size_t first, size_t n,
                                float *row);
/* Whether all are finite and >= 0. */
bool submodi_pixel_weights_are_good(const float *row, size_t n);
/* The message for the first that is not. */
submod_status submodi_pixel_weights_bad(const submod_pixel_weights *view);

/* The power of two that is at least x > 0. */
double submodi_power_at_least(double x);

/* The number that rounds them: for so many weights, of which the largest is at most `most`, a power
 * of two. Doubles between it and its double are multiples of the step. */
static inline double submodi_weight_rounder(double most, size_t count)
{
    return most * submodi_power_at_least((double)count);
}

static inline float submodi_rounded_weight(double weight, double rounder)
{
    return (float)((weight + rounder) - rounder);
}

#endif
