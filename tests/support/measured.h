/* Measures of all kinds, with what they cost written down a second time. */
#ifndef SUBMOD_TESTS_MEASURED_H
#define SUBMOD_TESTS_MEASURED_H

#include <submod.h>

#include "ranked.h"

typedef struct measured {
    submod_measure_type type;
    double factors[2]; /* alpha, beta */
    cost *of;
} measured;

enum { MEASURED = 11 };
extern measured measured_rows[MEASURED];

submod_measure measure_of(const measured *r);
costs costs_of(measured *r);

#endif
