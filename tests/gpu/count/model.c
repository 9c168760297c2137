/* Published rates, and times from counts (see model.h). */
#include "model.h"

/* Bandwidths and clocks: NVIDIA's data sheets and white papers of T4, A100 (40 GB, SXM) and H100
 * (SXM5). Lanes per clock: table of arithmetic throughput in the CUDA programming guide, compute
 * capability 7.5, 8.0 and 9.0. Second cache: T4 by Jia et al. (2019), A100 and H100 5120 bytes per
 * clock by the white papers. Atomics: one per clock and slice of the second cache. */
const device devices[DEVICES] = {
    {"T4", 320e9, 1270e9, 1.59e9, 40, 4, 64, 2, 64, 16, 32},
    {"A100", 1555e9, 5120 * 1.41e9, 1.41e9, 108, 4, 64, 32, 64, 16, 80},
    {"H100", 3350e9, 5120 * 1.755e9, 1.755e9, 132, 4, 128, 64, 64, 64, 96},
};

const char *const limit_names[LIMITS] = {"memory", "L2", "issue", "units", "shared", "atomics"};

/* Of the published bandwidth, what a copy reaches. */
static const double reached = 0.85;
const double seconds_per_launch = 2.5e-6;

enum { SECTOR = 32, LANES = 32 };

/* What ptxas makes of a division of 32-bit integers, about: a reciprocal between two conversions,
 * and integers that mend it. */
static const double integers_per_division = 13, converts_per_division = 3;

double model_sectors(const tally *t)
{
    double sectors = 0;
    for (int a = 0; a < ARRAYS; a++) {
        sectors += (double)(t->sectors_read[a] + t->sectors_written[a]);
    }
    return SECTOR * sectors;
}

double model_atomics(const tally *t)
{
    return SECTOR * (double)t->atomics;
}

/* Tables and counters are small and stay in the second cache. */
double model_memory_bytes(const tally *t)
{
    static const array through[] = {SCORES, LABELS, GRADIENT};
    double sectors = 0;
    for (int i = 0; i < 3; i++) {
        sectors += (double)(t->sectors_read[through[i]] + t->sectors_written[through[i]]);
    }
    return SECTOR * sectors;
}

double model_traffic(const device *d, double bytes)
{
    return bytes / (reached * d->memory);
}

double model_seconds(const device *d, const tally *t, limit *by)
{
    double all = 0;
    for (int k = 0; k < KINDS_OF_INSTRUCTIONS; k++) {
        all += (double)t->instructions[k];
    }
    double divisions = (double)t->instructions[DIVIDE];
    all += divisions * (integers_per_division + converts_per_division - 1);
    double per_second = d->clock * d->processors;
    double units[] = {
        (double)t->instructions[FLOAT32] / d->float32,
        (double)t->instructions[FLOAT64] / d->float64,
        ((double)t->instructions[INTEGER] + integers_per_division * divisions) / d->integer,
        ((double)t->instructions[CONVERT] + converts_per_division * divisions) / d->convert};
    double busiest = 0;
    for (int i = 0; i < 4; i++) {
        busiest = units[i] > busiest ? units[i] : busiest;
    }
    double seconds[LIMITS] = {
        [BY_MEMORY] = model_traffic(d, model_memory_bytes(t)),
        [BY_L2] = (model_sectors(t) + model_atomics(t)) / d->l2,
        [BY_ISSUE] = all / (d->issues * per_second),
        [BY_UNITS] = LANES * busiest / per_second,
        [BY_SHARED] = (double)(t->shared_passes + t->shared_atomic_passes) / per_second,
        [BY_ATOMICS] = (double)t->atomics / (d->atomics * d->clock),
    };
    *by = BY_MEMORY;
    for (int i = 1; i < LIMITS; i++) {
        *by = seconds[i] > seconds[*by] ? (limit)i : *by;
    }
    return seconds[*by];
}
