/* Errors of a row of pixels, their bins, and tables by bin (see histogram_loops.h). */
#include "submod/losses/histogram_loops.h"

#include <math.h>

#include "submod/losses/pointwise.h"

static void signed_errors(const float *v, const int32_t *code, int32_t target, int32_t ignored,
                          float bias, size_t n, float *error)
{
    for (size_t i = 0; i < n; i++) {
        float e = submodi_error_of(v[i], code[i] == target, bias);
        e = code[i] == target ? -e : e;
        error[i] = code[i] == ignored ? NAN : e;
    }
}

static void background_bins(const float *restrict v, const float *restrict factor, int32_t K,
                            size_t n, uint32_t *restrict bin)
{
    for (size_t i = 0; i < n; i++) {
        int32_t b = (int32_t)(v[i] * factor[i]);
        bin[i] = (uint32_t)(b < K ? b : K - 1);
    }
}

static void labelled_bins(const submodi_binning *how, const float *restrict v,
                          const int32_t *restrict code, size_t n, uint32_t *restrict bin)
{
    const submodi_binning h = *how;
    for (size_t i = 0; i < n; i++) {
        float e = submodi_error_of(v[i], code[i] == 1, h.bias);
        uint32_t b = submodi_bin_of(e, h.scale, h.K) + (code[i] == 1 ? h.K : 0);
        bin[i] = code[i] > 1 || e <= h.lowest ? 2 * h.K : b;
    }
}

static void count(const uint32_t *restrict bin, size_t n, uint32_t *restrict table)
{
    for (size_t i = 0; i < n; i++) {
        table[bin[i]]++;
    }
}

static void look_up(const float *restrict table, const uint32_t *restrict bin, size_t n,
                    float *restrict g)
{
    for (size_t i = 0; i < n; i++) {
        g[i] = table[bin[i]];
    }
}

const submodi_histogram_loops SUBMODI_TABLE(submodi_bins) = {.signed_errors = signed_errors,
                                                             .background_bins = background_bins,
                                                             .labelled_bins = labelled_bins,
                                                             .count = count,
                                                             .look_up = look_up};
