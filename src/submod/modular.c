/* Modular function: F(A) = sum of w over A. Its Lovász extension is the linear function <w, x>.
 *
 * eval O(k); push, gain O(1); chain O(k); minimize O(k). No state.
 */
#include <string.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const double *w = ctx;
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        sum += w[set[i]];
    }
    *value = sum;
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const double *w = ctx;
    (void)state;
    *result = w[e];
    return SUBMOD_OK;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    const double *w = ctx;
    (void)state;
    for (size_t i = 0; i < k; i++) {
        gains[i] = w[elements[i]];
    }
    return SUBMOD_OK;
}

static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *s)
{
    const double *w = ctx;
    for (size_t i = 0; i < minor->nground; i++) {
        double here = w[minor->ground[i]];
        if (smallest) {
            smallest[i] = z[i] > here;
        }
        if (largest) {
            largest[i] = z[i] >= here;
        }
        if (s) {
            s[i] = here - z[i];
        }
    }
    return SUBMOD_OK;
}

static submod_status make(size_t n, const double *w, submod_fn **fn)
{
    TRY(submodi_check_size(n, fn));
    TRY(submodi_check_given("w", w));
    TRY(submodi_check_finite("w", w, n));
    double *copy = submodi_alloc(n, sizeof *copy);
    if (!copy) {
        return submodi_out_of_memory();
    }
    memcpy(copy, w, n * sizeof *copy);
    const submod_fn f = {.ops = {.name = "modular",
                                 .eval = eval,
                                 .gain = gain,
                                 .chain = chain,
                                 .tied = chain,
                                 .minimize = minimize,
                                 .destroy = submodi_free},
                         .kind = SUBMODI_MODULAR,
                         .modular = true,
                         .cardinality = true,
                         .ctx = copy,
                         .n = n};
    return submodi_fn_new(&f, fn);
}

submod_status submod_fn_modular(size_t n, const double *w, submod_fn **fn)
{
    return submodi_return("submod_fn_modular", make(n, w, fn));
}
