/* Iwata's test function: F(A) = |A| (n - |A|) - sum over j in A of (5 j - 2 n), j counted from 1.
 *
 * A concave function of the cardinality plus a modular one. Both have integer values, exact in
 * doubles up to n = 10^8. Costs as in cardinality.c.
 */
#include "base/error.h"
#include "base/memory.h"
#include "submod/handle.h"

submod_status submod_fn_iwata(size_t n, submod_fn **fn)
{
    static const char who[] = "submod_fn_iwata";
    submod_status status = submodi_require_size(who, n, fn);
    if (status != SUBMOD_OK) {
        return status;
    }
    double *table = submodi_alloc(n + 1, sizeof *table);
    if (!table) {
        return submodi_nomem(who);
    }
    for (size_t k = 0; k <= n; k++) {
        table[k] = (double)k * (double)(n - k);
    }
    submod_fn *h = NULL;
    submod_fn *sum = NULL;
    status = submod_fn_cardinality(n, table, &h);
    if (status == SUBMOD_OK) {
        for (size_t e = 0; e < n; e++) {
            table[e] = 2 * (double)n - 5 * (double)(e + 1);
        }
        status = submod_fn_add_modular(h, table, &sum);
    }
    if (status == SUBMOD_OK) {
        sum->name = "iwata";
        *fn = sum;
    }
    submod_fn_free(h);
    submodi_free(table);
    return status;
}
