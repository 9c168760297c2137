/* A model of time on devices that nobody here has, from counts and published rates. docs/gpu.md has
 * its assumptions; a person with a device can refute it. */
#ifndef SUBMOD_TESTS_GPU_COUNT_MODEL_H
#define SUBMOD_TESTS_GPU_COUNT_MODEL_H

#include "warps.h"

typedef struct device {
    const char *name;
    double memory; /* bytes per second, as published */
    double l2;     /* likewise, of the second cache */
    double clock;  /* per second, boost */
    int processors;
    /* Per clock and processor: */
    double issues;  /* instructions of warps */
    double float32; /* lanes */
    double float64, integer, convert;
    double atomics; /* per clock and device: on different addresses */
} device;

enum { DEVICES = 3 };
extern const device devices[DEVICES];

/* What limits a kernel. */
typedef enum limit { BY_MEMORY, BY_L2, BY_ISSUE, BY_UNITS, BY_SHARED, BY_ATOMICS, LIMITS } limit;
extern const char *const limit_names[LIMITS];

/* Seconds of a kernel, launches not counted; *by: the largest of its limits. */
double model_seconds(const device *d, const tally *t, limit *by);
/* Seconds of reading and writing so many bytes, which cross-entropy is compared by. */
double model_traffic(const device *d, double bytes);
/* Bytes from or to device memory; of sectors of all arrays, which go through the second cache; and
 * there, of atomics, a sector each. */
double model_memory_bytes(const tally *t);
double model_sectors(const tally *t);
double model_atomics(const tally *t);

extern const double seconds_per_launch;

#endif
