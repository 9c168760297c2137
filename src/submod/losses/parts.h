/* A measure as the sum of a submodular and a supermodular one (see submod/surrogate.h). */
#ifndef SUBMODI_LOSSES_PARTS_H
#define SUBMODI_LOSSES_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "submod/measures/values.h"

/* The supermodular part g(a, b) = A(a) + B(b) + c a b; the submodular one is what is left of F. */
typedef struct submodi_parts {
    submod_measure measure;
    size_t P, N;
    double *A; /* P + 1 */
    double *B; /* N + 1 */
    double c;
    bool foreground_only; /* B = 0 and c = 0 */
} submodi_parts;

/* Reads the measure, NULL being Dice, and splits it. Memory comes from work. */
submod_status submodi_parts_make(submodi_parts *parts, const char *who,
                                 const submod_measure *measure, size_t P, size_t N,
                                 submod_work *work);

static inline double submodi_parts_g(const submodi_parts *parts, size_t a, size_t b)
{
    return parts->A[a] + parts->B[b] + parts->c * (double)a * (double)b;
}

/* What each of t more pixels of one label adds to f on average, after a and b wrong ones. NaN or
 * Inf if a custom measure fails. */
double submodi_parts_gain(const submodi_parts *parts, size_t a, size_t b, size_t t,
                          bool background);

#endif
