/* How far a measure rises from a pair of counts on: F(a', b') - F(a, b). */
#ifndef SUBMODI_MEASURES_RISE_H
#define SUBMODI_MEASURES_RISE_H

#include "submod/measures/form_rise.h"

/* A built-in measure has a formula for it, a custom one is evaluated. */
typedef struct submodi_rise {
    const char *who; /* the public function, for error messages */
    const submod_measure *measure;
    double P, N;
    double a, b;            /* where it starts */
    double value;           /* F(a, b) */
    submodi_form_rise form; /* of one that is built in */
} submodi_rise;

/* The measure must be checked (values.h). SUBMOD_ECALLBACK: a custom one failed. */
submod_status submodi_rise_from(const char *who, const submod_measure *measure, double P, double N,
                                double a, double b, submodi_rise *rise);

/* rises[i] = F(a[i], b[i]) - F where it starts; a[i] and b[i] are no less than there. */
submod_status submodi_rises(const submodi_rise *rise, size_t count, const double *a,
                            const double *b, double *rises);

/* One of them, as a function of the pixels that are added. */
submod_status submodi_rise_by(const submodi_rise *rise, double f, double g, double *by);

#endif
