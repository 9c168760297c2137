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

/* A -> f(base + A) - f(base) - z(A) for subsets A of the block, whose element j is j. */
static inline submod_status combine_minor(const submod_fn *f, const int32_t *base, size_t nbase,
                                          const int32_t *block, size_t nblock, const double *z,
                                          submod_fn **fn)
{
    int32_t *elements = malloc((nbase + nblock + 1) * sizeof *elements);
    double *minus = malloc((nblock + 1) * sizeof *minus);
    submod_fn *both = NULL, *minor = NULL;
    submod_status status = elements && minus ? SUBMOD_OK : SUBMOD_ENOMEM;
    for (size_t i = 0; status == SUBMOD_OK && i < nbase + nblock; i++) {
        elements[i] = i < nbase ? base[i] : block[i - nbase];
    }
    for (size_t j = 0; status == SUBMOD_OK && j < nblock; j++) {
        minus[j] = -z[j];
    }
    status = status ? status : submod_fn_restrict(f, elements, nbase + nblock, &both);
    for (size_t i = 0; status == SUBMOD_OK && i < nbase; i++) {
        elements[i] = (int32_t)i;
    }
    status = status ? status : submod_fn_contract(both, elements, nbase, &minor);
    status = status ? status : combine_plus(minor, minus, fn);
    submod_fn_free(both);
    submod_fn_free(minor);
    free(elements);
    free(minus);
    return status;
}

/* A minimiser of the minor, by its own callback if it has one, else among all subsets, and the
 * minimum. in[j] = 1 where block[j] is in it. largest: which one. value may be NULL. */
static inline submod_status minimize_minor(const submod_fn *f, const int32_t *base, size_t nbase,
                                           const int32_t *block, size_t nblock, const double *z,
                                           int largest, uint8_t *in, double *value)
{
    submod_fn *fn = NULL;
    submod_sfm_info info = {.value = 0};
    submod_sfm_settings s = submod_sfm_defaults();
    submod_status status =
        nblock ? combine_minor(f, base, nbase, block, nblock, z, &fn) : SUBMOD_OK;
    s.method = SUBMOD_SFM_MINIMIZER;
    for (int i = 0; fn && i < 2 && (i == 0 || status == SUBMOD_EUNSUPPORTED); i++) {
        status = submod_sfm(fn, largest ? NULL : in, largest ? in : NULL, NULL, &s, &info, NULL);
        s.method = SUBMOD_SFM_EXHAUSTIVE;
    }
    if (status >= 0 && value) {
        *value = info.value;
    }
    submod_fn_free(fn);
    return status;
}

#endif
