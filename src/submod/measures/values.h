/* Measures from the inside: what is given, checked, and its values. */
#ifndef SUBMODI_MEASURES_VALUES_H
#define SUBMODI_MEASURES_VALUES_H

#include "submod/measures/gain.h"

/* *measure = what is given; NULL: Jaccard. name: of the argument, for messages. SUBMOD_EINVAL: an
 * unknown type, alpha or beta out of range, a custom measure without a function. */
submod_status submodi_read_measure(const char *who, const char *name, const submod_measure *given,
                                   submod_measure *measure);

/* F(a, b); 0 at a = b = 0. A custom one may return NaN or Inf: it has failed. */
double submodi_measure_value(const submod_measure *m, double a, double b, double P, double N);

/* Where a custom measure was not finite, or not 0 at a = b = 0. */
typedef struct submodi_measure_failure {
    bool found;
    double a, b, P, N, value;
} submodi_measure_failure;

/* F[i] = F(a[i], b[i]) of a custom measure, for `count` pairs. All counts are in units of `unit`, a
 * power of two; a and b are overwritten. False: one of them failed; the first that did is in
 * *failure. */
bool submodi_measure_values(const submod_measure *m, double unit, size_t count, double *a,
                            double *b, double P, double N, double *F,
                            submodi_measure_failure *failure);
/* SUBMOD_ECALLBACK, with the failure in words. */
submod_status submodi_measure_failed(const char *who, const submodi_measure_failure *failure);

static inline submodi_form submodi_form_of(const submod_measure *m)
{
    return (submodi_form){m->type, m->alpha, m->beta};
}

#endif
