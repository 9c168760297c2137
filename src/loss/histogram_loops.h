/* Which errors of a row are counted, and in which bins (histogram.h). */
#ifndef SUBMODI_LOSSES_HISTOGRAM_LOOPS_H
#define SUBMODI_LOSSES_HISTOGRAM_LOOPS_H

#include "base/isa.h"
#include "loss/histogram.h"

/* An entry of a list: the bin, from 0 to 2 K - 1, and the place in the row above it. The hinge has
 * up to K = 2^21 bins. */
enum { SUBMODI_BIN_BITS = 22, SUBMODI_BIN_MASK = (1 << SUBMODI_BIN_BITS) - 1 };
_Static_assert(SUBMODI_TILE_MAX <= 1 << (32 - SUBMODI_BIN_BITS), "places fit beside bins");
/* Lists of a row are so long; entries beyond the last one are overwritten with anything. */
enum { SUBMODI_LIST = SUBMODI_TILE_MAX + SUBMODI_LANES };

/* Bins that are taken: of the background those from low to high - 1, of the foreground those from
 * foreground_low on. */
typedef struct submodi_bin_range {
    float low, high, foreground_low;
} submodi_bin_range;

/* The rows of a multiclass tile. */
typedef struct submodi_bin_rows {
    const float *v;
    size_t stride, classes, width;
    const int32_t *code;
    const float *factor; /* errors in bins are v * factor: that of the tile times the bins' scale */
    const uint32_t *low; /* per class: background bins below are left out; SUBMODI_NO_BINS: all */
    uint32_t K;
} submodi_bin_rows;
#define SUBMODI_NO_BINS UINT32_MAX

typedef struct submodi_histogram_loops {
    /* The largest error of a row with labels of its own, 0 if there is none. */
    float (*largest_error)(const float *v, const int32_t *code, size_t width, float bias);

    /* Multiclass: the bin of each pixel's foreground, 0 for ignored pixels. scale: of the bins. */
    void (*foreground)(const submodi_bin_rows *rows, float scale, uint32_t *place);
    /* Counts the background bins of all rows in the tables, 2 K entries for each class; or adds the
     * weights of the pixels up in them. */
    void (*count)(const submodi_bin_rows *rows, uint32_t *table);
    void (*add)(const submodi_bin_rows *rows, const float *weight, double *table);
    /* The weights of the background by such tables; bins below `low` have that of bin 0. */
    void (*look_up)(const submodi_bin_rows *rows, const float *table, float *g);

    /* One row: its background entries in a range. Returns their number. */
    size_t (*background)(const submodi_bin_rows *row, int32_t target,
                         const submodi_bin_range *range, int32_t *list);
    /* A row with labels of its own: both kinds, code 1 is foreground, 2 ignored. *smallest is
     * lowered to the smallest bin of the foreground. */
    size_t (*labelled)(const submodi_binning *how, const float *v, const int32_t *code,
                       size_t width, const submodi_bin_range *range, int32_t *list,
                       uint32_t *smallest);
    /* The weights of such a row if all its errors were in bin 0. */
    void (*fill)(const submodi_binning *how, const float *v, const int32_t *code, size_t width,
                 const float *table, float *g);
} submodi_histogram_loops;

/* Lists and tables. The list is read as volatile: else compilers make use of instructions that
 * gather and scatter, which take longer. */
static inline void submodi_count_list(const volatile int32_t *list, size_t n, uint32_t *table)
{
    for (size_t j = 0; j < n; j++) {
        table[list[j] & SUBMODI_BIN_MASK]++;
    }
}

static inline void submodi_add_list(const volatile int32_t *list, size_t n, const float *weight,
                                    double *table)
{
    for (size_t j = 0; j < n; j++) {
        uint32_t entry = (uint32_t)list[j];
        table[entry & SUBMODI_BIN_MASK] += (double)weight[entry >> SUBMODI_BIN_BITS];
    }
}

static inline void submodi_look_list_up(const volatile int32_t *list, size_t n, const float *table,
                                        float *g)
{
    for (size_t j = 0; j < n; j++) {
        uint32_t entry = (uint32_t)list[j];
        g[entry >> SUBMODI_BIN_BITS] = table[entry & SUBMODI_BIN_MASK];
    }
}

extern const submodi_histogram_loops submodi_bins_baseline, submodi_bins_avx2, submodi_bins_avx512;

static inline const submodi_histogram_loops *submodi_bins(void)
{
    static const submodi_histogram_loops *const table[] = SUBMODI_TABLES(submodi_bins);
    return table[submodi_isa_in_use()];
}

#endif
