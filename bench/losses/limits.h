/* The limits that the losses are held against: what no loss with a dense gradient can beat, and a
 * cross-entropy written for this machine. Compiled for the CPU that compiles it. An image has a
 * multiple of 256 pixels; gradients are aligned to 64 bytes. */
#ifndef BENCH_LOSSES_LIMITS_H
#define BENCH_LOSSES_LIMITS_H

#include "losses/data.h"

/* Reads the scores twice and writes the gradient once, past the caches: the traffic of a loss that
 * has to see all scores before it knows any derivative. Returns a sum of the scores, so that they
 * are read. */
double limits_traffic(const batch *b, float *gradient, int threads);

/* Mean cross-entropy and its gradient, for scores within 80 of 0: one exp per score, no shift, one
 * read, one write past the caches. Nothing is checked. Returns the loss. */
double limits_cross_entropy(const batch *b, float *gradient, int threads);

#endif
