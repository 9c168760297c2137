/* The common combinations by name. */
#ifndef SUBMOD_TESTS_COMBINATIONS_H
#define SUBMOD_TESTS_COMBINATIONS_H

#include <stdlib.h>

#include <submod.h>

/* sum of coefficient[i] f[i]; coefficient = NULL means ones. */
static inline submod_status combine_sum(submod_fn *const *f, const double *coefficient,
                                        size_t count, submod_fn **fn)
{
    submod_term *terms = malloc((count + 1) * sizeof *terms);
    if (!terms) {
        return SUBMOD_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        terms[i] = (submod_term){f[i], coefficient ? coefficient[i] : 1, NULL};
    }
    submod_status status = submod_fn_combine(submod_fn_size(f[0]), terms, count, NULL, fn);
    free(terms);
    return status;
}

/* c f */
static inline submod_status combine_scaled(const submod_fn *f, double c, submod_fn **fn)
{
    const submod_term term = {f, c, NULL};
    return submod_fn_combine(submod_fn_size(f), &term, 1, NULL, fn);
}

/* f + w */
static inline submod_status combine_plus(const submod_fn *f, const double *w, submod_fn **fn)
{
    const submod_term term = {f, 1, NULL};
    return submod_fn_combine(submod_fn_size(f), &term, 1, w, fn);
}

/* f of the elements among n. */
static inline submod_status combine_embedded(const submod_fn *f, size_t n, const int32_t *elements,
                                             submod_fn **fn)
{
    const submod_term term = {f, 1, elements};
    return submod_fn_combine(n, &term, 1, NULL, fn);
}

#endif
