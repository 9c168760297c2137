/* Converts rows of scores and labels to the types that the engines work with. */
#ifndef SUBMODI_TENSORS_ROW_LOOPS_H
#define SUBMODI_TENSORS_ROW_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

typedef struct submodi_row_loops {
    /* n scores, `stride` apart, from 16 bits to float. */
    void (*from_f16)(const uint16_t *from, ptrdiff_t stride, size_t n, float *row);
    void (*from_bf16)(const uint16_t *from, ptrdiff_t stride, size_t n, float *row);
    /* Contiguous labels of 64 bits, as PyTorch has them, to 32 bits, which SIMD can compare on
     * every machine. A label that does not fit becomes `outside`. */
    void (*narrow)(const int64_t *from, size_t n, int32_t outside, int32_t *labels);
} submodi_row_loops;

extern const submodi_row_loops submodi_rows_baseline, submodi_rows_avx2, submodi_rows_avx512;

static inline const submodi_row_loops *submodi_rows(void)
{
    static const submodi_row_loops *const table[] = SUBMODI_TABLES(submodi_rows);
    return table[submodi_isa_in_use()];
}

/* The label in 32 bits, or `outside` if it does not fit. */
static inline int32_t submodi_narrow(int64_t label, int32_t outside)
{
    int fits = ((uint64_t)label + (UINT64_C(1) << 31)) >> 32 == 0;
    return fits ? (int32_t)label : outside;
}

#endif
