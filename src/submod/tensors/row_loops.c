/* Conversions of rows, compiled for each instruction set. */
#include "submod/tensors/row_loops.h"

#include "base/float_bits.h"

static void from_f16(const uint16_t *from, ptrdiff_t stride, size_t n, float *row)
{
    for (size_t i = 0; i < n; i++) {
        row[i] = submodi_from_f16(from[(ptrdiff_t)i * stride]);
    }
}

static void from_bf16(const uint16_t *from, ptrdiff_t stride, size_t n, float *row)
{
    for (size_t i = 0; i < n; i++) {
        row[i] = submodi_from_bf16(from[(ptrdiff_t)i * stride]);
    }
}

static void narrow(const int64_t *restrict from, size_t n, int32_t outside,
                   int32_t *restrict labels)
{
    for (size_t i = 0; i < n; i++) {
        labels[i] = submodi_narrow(from[i], outside);
    }
}

const submodi_row_loops SUBMODI_TABLE(submodi_rows) = {
    .from_f16 = from_f16, .from_bf16 = from_bf16, .narrow = narrow};
