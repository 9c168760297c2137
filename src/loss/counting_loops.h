/* Errors to bins, and bins to slopes: the loops of the counting engine (counting.h).
 *
 * A bin holds the floats that share their exponent and first mantissa bits, so that its relative
 * width is the same at all magnitudes. Bin 0 also holds all errors below the smallest exponent
 * kept. */
#ifndef SUBMODI_LOSSES_COUNTING_LOOPS_H
#define SUBMODI_LOSSES_COUNTING_LOOPS_H

#include "base/isa.h"
#include "loss/activation_loops.h"
#include "submod/measure_internal.h"

/* Powers of two below the largest error that have bins of their own. */
enum { SUBMODI_OCTAVES = 40 };

typedef struct submodi_bins {
    int32_t lowest, highest; /* bits of 2^-40 times the largest error, and of the largest error */
    unsigned shift;          /* low bits of a float that a bin ignores */
    uint32_t count;          /* the last bin holds the largest error alone */
} submodi_bins;

/* Returns the bins for errors up to `largest`, a power of two. */
submodi_bins submodi_bins_for(float largest, unsigned mantissa_bits);

/* A table entry: the bin for background, the bin plus the number of bins for foreground. Lists hold
 * the pixel's index in its tile in the bits above the entry. */
enum { SUBMODI_PLACE_SHIFT = 20, SUBMODI_ENTRY_MASK = (1 << SUBMODI_PLACE_SHIFT) - 1 };
_Static_assert(SUBMODI_TILE_MAX <= 1 << (31 - SUBMODI_PLACE_SHIFT), "places fit beside entries");
/* Loops may overwrite a list beyond its last entry. */
enum { SUBMODI_ROW_LIST = SUBMODI_TILE_MAX + SUBMODI_LANES };

/* A row of errors v[i] * factor[i] with its labels. A row that shares its labels with other classes
 * has background errors alone: pixels with code `target` are skipped. A row with labels of its own
 * has both kinds of errors in v. */
typedef struct submodi_error_row {
    const float *v, *factor;
    const int32_t *code;
    int32_t target;
    size_t width;
} submodi_error_row;

/* The errors that a loop lists, by their bits: background errors in [low, high), foreground errors
 * from foreground_low on. */
typedef struct submodi_error_range {
    int32_t low, high, foreground_low;
} submodi_error_range;

/* The slopes of one class: table[entry] for errors from low on, `rest` for background errors
 * below. */
typedef struct submodi_class_slopes {
    const float *table;
    int32_t low;
    float rest;
} submodi_class_slopes;

/* A chunk of bins, from large errors to small ones, whose slopes are computed together. */
enum { SUBMODI_WEIGH_AT_ONCE = 256 };
typedef struct submodi_bin_chunk {
    size_t n;
    double f[SUBMODI_WEIGH_AT_ONCE], g[SUBMODI_WEIGH_AT_ONCE];       /* foreground and background */
    double a[SUBMODI_WEIGH_AT_ONCE], b[SUBMODI_WEIGH_AT_ONCE];       /* wrong before the bin */
    double of_f[SUBMODI_WEIGH_AT_ONCE], of_g[SUBMODI_WEIGH_AT_ONCE]; /* slopes */
    double gap[SUBMODI_WEIGH_AT_ONCE]; /* bounds F's gain minus the slopes within the bin */
} submodi_bin_chunk;

typedef struct submodi_counting_loops {
    /* Softmax: v = exp(score - shift), factor = 1 / their sum, own = the error in the pixel's own
     * class, summed from the other classes' exponentials. Returns the bits of the largest
     * |score - shift|. */
    uint32_t (*split)(const submodi_rows_in *in, const int32_t *code, float *v, size_t stride,
                      float *factor, float *own, float *own_p);
    /* For probabilities v: own = 1 - v of the pixel's own class. */
    void (*own_errors)(const float *v, size_t stride, size_t classes, const int32_t *code,
                       size_t width, float *own);
    /* Replaces the values of a row with its own labels by errors, max(0, 1 - v) at foreground and
     * max(0, bias + v) at background pixels. */
    void (*row_errors)(float *v, const int32_t *code, float bias, size_t width);
    /* Does the same for the sigmoid of scores, and writes its derivative to slope. */
    void (*sigmoid_errors)(float *v, const int32_t *code, size_t width, float *slope);

    /* Computes the table entries of foreground errors. */
    void (*entries)(const float *error, const submodi_bins *bins, size_t width, int32_t *entry);
    /* `background` lists the entries of a row's background errors within a range and returns their
     * number. `labelled` does so for both sides of a row with its own labels, and lowers *smallest
     * to the bits of the smallest foreground error. */
    size_t (*background)(const submodi_error_row *row, const submodi_bins *bins,
                         const submodi_error_range *range, bool places, int32_t *list);
    size_t (*labelled)(const submodi_error_row *row, const submodi_bins *bins,
                       const submodi_error_range *range, int32_t *list, int32_t *smallest);
    /* Returns the bits of the largest background error, at least `least`; *ties becomes the number
     * or weight of the pixels with this error. */
    int32_t (*largest)(const submodi_error_row *row, const submodi_bins *bins, int32_t classes,
                       const float *weight, int32_t least, double *ties);

    /* Computes the slopes and gaps of a chunk for Tversky's measure (Jaccard: alpha = beta = 1),
     * P > 0. least is the smallest step of a count, 1 or 0. */
    void (*weigh)(submodi_bin_chunk *x, double alpha, double beta, double P, double least);

    /* Looks up the slopes of a row's background into g; look_up_own handles the foreground. p
     * receives the errors, which are probabilities; mean += p * slope. Adds
     * |slope| * (error - lower end of its bin) to excess. */
    void (*look_up)(const submodi_error_row *row, const submodi_bins *bins,
                    const submodi_class_slopes *slopes, const float *weight, float *p, float *g,
                    float *mean, double *excess);
    /* Does the same for both sides of a row with its own labels. */
    void (*look_up_labelled)(const submodi_error_row *row, const submodi_bins *bins,
                             const submodi_class_slopes *slopes, int32_t foreground_low,
                             const float *weight, float *g, double *excess);
    /* Called after all rows of a tile, with the slopes of own errors. Completes mean over all
     * classes, writes the derivative by the own class's score, and adds to excess. */
    void (*look_up_own)(const float *own, const float *own_p, const float *slope,
                        const submodi_bins *bins, const float *weight, size_t width, float *mean,
                        float *derivative, double *excess);
    /* Writes the derivative by the scores: p (g - mean), and `derivative` at the own class. */
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
