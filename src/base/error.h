/* How the library reports failures: a status and an error message. */
#ifndef SUBMODI_ERROR_H
#define SUBMODI_ERROR_H

#include <stdbool.h>

#include <submod/base.h>

#if defined(__GNUC__)
#define SUBMODI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SUBMODI_PRINTF(text, first)
#endif

/* Keeps the error message for submod_last_error. Returns status, so that one can `return` it. */
submod_status submodi_fail(submod_status status, const char *format, ...) SUBMODI_PRINTF(2, 3);

/* Makes the error message name `who`, the public function that was called, in place of the public
 * function that it called in turn ("submod_...: "). Changes nothing if status >= 0. Returns status.
 */
submod_status submodi_failed_in(const char *who, submod_status status);

/* The same as submodi_fail when memory runs out; who is the public function's name. */
static inline submod_status submodi_nomem(const char *who)
{
    submodi_fail(SUBMOD_ENOMEM, "%s: out of memory", who);
    return SUBMOD_ENOMEM; /* said again for static analysis */
}

/* Refuses NULL for an argument that must be given. */
static inline submod_status submodi_require_given(const char *who, const char *name,
                                                  const void *argument)
{
    if (argument) {
        return SUBMOD_OK;
    }
    submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, name);
    return SUBMOD_EINVAL; /* said again for static analysis */
}

/* Refuses x unless it is finite and > 0. The other one takes 0 too. */
submod_status submodi_require_positive(const char *who, const char *name, double x);
submod_status submodi_require_at_least_zero(const char *who, const char *name, double x);

/* Whether all of x[0 .. n-1] are finite. */
bool submodi_all_finite(const double *x, size_t n);

/* The index of the first NaN or Inf in x[0 .. n-1], or n if there is none. There may be none any
 * more: others may change x during the call. */
size_t submodi_first_nonfinite(const double *x, size_t n);

/* Refuses NaN and Inf in x[0 .. n-1], naming the array and the first offender. */
submod_status submodi_require_finite(const char *who, const char *name, const double *x, size_t n);
submod_status submodi_require_finite_f32(const char *who, const char *name, const float *x,
                                         size_t n);

/* The same, and refuses negative numbers too. */
submod_status submodi_require_nonnegative(const char *who, const char *name, const double *x,
                                          size_t n);

/* Lists of numbers in 0 .. below-1, one after the other: list i is items[start[i] .. start[i+1]-1].
 * items may be NULL when all lists are empty. */
submod_status submodi_require_lists(const char *who, size_t lists, const size_t *start,
                                    const char *name, const int32_t *items, size_t below);

#endif
