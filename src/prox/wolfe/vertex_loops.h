/* Sums over four rows of a list of vertices at a time, which keep the adders busy while rows come
 * from memory. */
#ifndef SUBMODI_PROX_WOLFE_VERTEX_LOOPS_H
#define SUBMODI_PROX_WOLFE_VERTEX_LOOPS_H

#include <stddef.h>

#include "base/isa.h"

typedef struct submodi_vertex_loops {
    /* with_a[r] = <row r, a>, with_b[r] = <row r, b>, added up in an order that depends on n
     * alone. */
    void (*dots)(const double *const row[4], const double *a, const double *b, size_t n,
                 double *with_a, double *with_b);
    /* to += sum over r of weight r * row r. */
    void (*add)(double *to, const double *const row[4], const double *weight, size_t n);
} submodi_vertex_loops;

extern const submodi_vertex_loops submodi_vertex_baseline, submodi_vertex_avx2,
    submodi_vertex_avx512;

static inline const submodi_vertex_loops *submodi_vertex(void)
{
    static const submodi_vertex_loops *const table[] = SUBMODI_TABLES(submodi_vertex);
    return table[submodi_isa_in_use()];
}

#endif
