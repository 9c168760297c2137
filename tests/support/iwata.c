/* Iwata's test function as a concave function of the cardinality plus a modular function. Uses
 * public headers only, because bench/ compiles it too. */
#include "iwata.h"
#include "combinations.h"

#include <stdlib.h>

submod_status make_iwata(size_t n, submod_fn **fn)
{
    double *table = malloc((n + 1) * sizeof *table);
    if (!table) {
        return SUBMOD_ENOMEM;
    }
    for (size_t k = 0; k <= n; k++) {
        table[k] = (double)k * (double)(n - k);
    }
    submod_fn *h = NULL;
    submod_status status = submod_fn_concave(
        n, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = n + 1, .g = table}, &h);
    if (status == SUBMOD_OK) {
        for (size_t e = 0; e < n; e++) {
            table[e] = 2 * (double)n - 5 * (double)(e + 1);
        }
        status = combine_plus(h, table, fn);
    }
    submod_fn_free(h);
    free(table);
    return status;
}
