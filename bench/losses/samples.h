/* Measured times of one thing. */
#ifndef BENCH_LOSSES_SAMPLES_H
#define BENCH_LOSSES_SAMPLES_H

enum { MOST_SAMPLES = 99 };

typedef struct samples {
    int count;
    double seconds[MOST_SAMPLES];
} samples;

/* A clock that only goes forward. */
double seconds(void);

/* One more, from `start` until now. At most MOST_SAMPLES are kept. */
void samples_add(samples *s, double start);

/* Of at least one. */
double samples_best(const samples *s);
double samples_median(const samples *s);

/* The cycles that a core makes in a second, from a chain of additions that each wait for the one
 * before: one cycle each on every CPU that this was written for. */
double clock_rate(void);

#endif
