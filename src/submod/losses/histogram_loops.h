/* Errors of a row of pixels and where they are counted (histogram.h). */
#ifndef SUBMODI_LOSSES_HISTOGRAM_LOOPS_H
#define SUBMODI_LOSSES_HISTOGRAM_LOOPS_H

#include "base/isa.h"
#include "submod/losses/histogram.h"

typedef struct submodi_histogram_loops {
    /* e = max(0, 1 - v) with the sign bit set at foreground pixels, max(0, bias + v) elsewhere, NaN
     * at ignored ones. */
    void (*signed_errors)(const float *v, const int32_t *code, int32_t target, int32_t ignored,
                          float bias, size_t n, float *error);

    /* The bins of a row of probabilities if all of it were background. Of the classes of a
     * multiclass problem a pixel is foreground in one: to count or look up everything as background
     * and then to mend that one is cheaper than to ask everywhere. factor: the tile's times the
     * bins' scale, which is exact. */
    void (*background_bins)(const float *v, const float *factor, int32_t K, size_t n,
                            uint32_t *bin);
    /* The bins of a row with labels of its own: code 1 is foreground, 2 ignored. */
    void (*labelled_bins)(const submodi_binning *how, const float *v, const int32_t *code, size_t n,
                          uint32_t *bin);

    void (*count)(const uint32_t *bin, size_t n, uint32_t *table);
    void (*look_up)(const float *table, const uint32_t *bin, size_t n, float *g);
} submodi_histogram_loops;

extern const submodi_histogram_loops submodi_bins_baseline, submodi_bins_avx2, submodi_bins_avx512;

static inline const submodi_histogram_loops *submodi_bins(void)
{
    static const submodi_histogram_loops *const table[] = SUBMODI_TABLES(submodi_bins);
    return table[submodi_isa_in_use()];
}

#endif
