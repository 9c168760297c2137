/* Errors to bins, and bins to slopes: the loops of the counting engine (counting.h).
 *
 * Bins are those of the float format: by exponent and the first bits of the mantissa, so that one
 * scale serves all magnitudes. Bin 0 takes all errors below the smallest exponent that is kept. */
#ifndef SUBMODI_LOSSES_COUNTING_LOOPS_H
#define SUBMODI_LOSSES_COUNTING_LOOPS_H

#include "base/isa.h"
#include "loss/activation_loops.h"
#include "submod/measure_internal.h"

/* Powers of two that are told apart below the largest error. */
enum { SUBMODI_OCTAVES = 40 };

typedef struct submodi_bins {
    int32_t lowest, highest; /* bits of 2^-40 times the largest error, and of that error */
    unsigned shift;          /* bits of a float that a bin leaves out */
    uint32_t count;          /* the last bin has the largest error alone */
} submodi_bins;

/* The bins of errors up to the power of two `largest`, with so many bits of mantissa. */
submodi_bins submodi_bins_for(float largest, unsigned mantissa_bits);

/* An entry of a table: the bin, of the background; of the foreground the number of bins more. Lists
 * have the place of the pixel in its tile above it. */
enum { SUBMODI_PLACE_SHIFT = 17, SUBMODI_ENTRY_MASK = (1 << SUBMODI_PLACE_SHIFT) - 1 };
_Static_assert(SUBMODI_TILE_MAX <= 1 << (31 - SUBMODI_PLACE_SHIFT), "places fit beside entries");
/* Entries beyond the last of a list are overwritten with anything. */
enum { SUBMODI_ROW_LIST = SUBMODI_TILE_MAX + SUBMODI_LANES };

/* A row of errors with its labels: at pixels with code `target` the error is own[i], at others
 * v[i] * factor[i]. own may be v. Codes that are no label have neither, unless factor is 0. */
typedef struct submodi_error_row {
    const float *v, *factor, *own;
    const int32_t *code;
    int32_t target;
    size_t width;
} submodi_error_row;

/* Errors that are taken, by their bits: of the background from low to high - 1, of the foreground
 * from foreground_low on. */
typedef struct submodi_error_range {
    int32_t low, high, foreground_low;
} submodi_error_range;

/* The slopes of one class: table[entry] of errors within the range, `rest` of the background
 * below. */
typedef struct submodi_class_slopes {
    const float *table;
    int32_t low;
    float rest;
} submodi_class_slopes;

/* A chunk of bins from large errors to small ones, as they are weighed. */
enum { SUBMODI_WEIGH_AT_ONCE = 256 };
typedef struct submodi_bin_chunk {
    size_t n;
    double f[SUBMODI_WEIGH_AT_ONCE], g[SUBMODI_WEIGH_AT_ONCE];       /* foreground and background */
    double a[SUBMODI_WEIGH_AT_ONCE], b[SUBMODI_WEIGH_AT_ONCE];       /* wrong before the bin */
    double of_f[SUBMODI_WEIGH_AT_ONCE], of_g[SUBMODI_WEIGH_AT_ONCE]; /* slopes */
    double gap[SUBMODI_WEIGH_AT_ONCE]; /* the most that F exceeds the slopes within the bin */
} submodi_bin_chunk;

typedef struct submodi_counting_loops {
    /* Softmax: v = exp(score - shift), factor = 1 / their sum, own = the error of the pixel's own
     * class, from the other classes' exponentials. Returns the bits of the largest |score - shift|.
     */
    uint32_t (*split)(const submodi_rows_in *in, const int32_t *code, float *v, size_t stride,
                      float *factor, float *own, float *own_p);
    /* Probabilities, whose rows lie in v: own = 1 - v of the pixel's own class. */
    void (*own_errors)(const float *v, size_t stride, size_t classes, const int32_t *code,
                       size_t width, float *own);
    /* A row with labels of its own, in place: from values to errors, max(0, 1 - v) at foreground
     * and max(0, bias + v) at background pixels. */
    void (*row_errors)(float *v, const int32_t *code, float bias, size_t width);
    /* The same of a sigmoid, from the scores; slope: its derivative. */
    void (*sigmoid_errors)(float *v, const int32_t *code, size_t width, float *slope);

    /* The entries of errors of the foreground. */
    void (*entries)(const float *error, const submodi_bins *bins, size_t width, int32_t *entry);
    /* Entries of a row within a range. Returns their number; *smallest: the bits of the smallest
     * foreground error, lowered. background: of the background alone. */
    size_t (*background)(const submodi_error_row *row, const submodi_bins *bins,
                         const submodi_error_range *range, bool places, int32_t *list);
    size_t (*labelled)(const submodi_error_row *row, const submodi_bins *bins,
                       const submodi_error_range *range, int32_t *list, int32_t *smallest);
    /* The bits of the largest error of the background, at least `least`, and its ties: their
     * number, or their weight. */
    int32_t (*largest)(const submodi_error_row *row, const submodi_bins *bins, int32_t classes,
                       const float *weight, int32_t least, double *ties);

    /* The slopes of a chunk of Tversky's measure (Jaccard: alpha = beta = 1) with P > 0. least:
     * the smallest step of a count, 1 or 0. */
    void (*weigh)(submodi_bin_chunk *x, double alpha, double beta, double P, double least);

    /* The slopes of the background of a row; of the foreground of its pixels, own[i] tells. p: the
     * errors of the background, which are probabilities; mean += p * slope. Returns the sum of
     * |slope| * (error - lower end of its bin). */
    void (*look_up)(const submodi_error_row *row, const submodi_bins *bins,
                    const submodi_class_slopes *slopes, const float *weight, float *p, float *g,
                    float *mean, double *excess);
    /* Those of a row with labels of its own. */
    void (*look_up_labelled)(const submodi_error_row *row, const submodi_bins *bins,
                             const submodi_class_slopes *slopes, int32_t foreground_low,
                             const float *weight, float *g, double *excess);
    /* After all rows of a tile. slope: of the own error. mean: as look_up leaves it, becomes the
     * mean over all classes. derivative: by the score of the own class. Adds to excess. */
    void (*look_up_own)(const float *own, const float *own_p, const float *slope,
                        const submodi_bins *bins, const float *weight, size_t width, float *mean,
                        float *derivative, double *excess);
    /* The derivative by the scores: p (g - mean), and that by the own score. */
    void (*store)(const float *p, const float *g, size_t stride, size_t classes, size_t width,
                  const int32_t *code, const float *mean, const float *derivative,
                  const submodi_rows_out *to);
} submodi_counting_loops;

extern const submodi_counting_loops submodi_counters_baseline, submodi_counters_avx2,
    submodi_counters_avx512;

static inline const submodi_counting_loops *submodi_counters(void)
{
    static const submodi_counting_loops *const table[] = SUBMODI_TABLES(submodi_counters);
    return table[submodi_isa_in_use()];
}

#endif
