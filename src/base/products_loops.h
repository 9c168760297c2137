/* Products of matrices A B' by dot products of rows, the sums in an order that depends on their
 * length alone: the same bits on every machine, by every compiler, whatever else is computed in
 * the same call. */
#ifndef SUBMODI_PRODUCTS_LOOPS_H
#define SUBMODI_PRODUCTS_LOOPS_H

#include <stddef.h>

#include "base/isa.h"

typedef struct submodi_products_loops {
    /* C -= A B'. Rows of all three lie `stride` apart: C is rows x columns, A rows x k,
     * B columns x k. C overlaps neither of the others, entry by entry. */
    void (*subtract)(double *c, const double *a, const double *b, size_t rows, size_t columns,
                     size_t k, size_t stride);
} submodi_products_loops;

extern const submodi_products_loops submodi_products_baseline, submodi_products_avx2,
    submodi_products_avx512;

static inline const submodi_products_loops *submodi_products(void)
{
    static const submodi_products_loops *const table[] = SUBMODI_TABLES(submodi_products);
    return table[submodi_isa_in_use()];
}

#endif
