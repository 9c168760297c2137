/* Status with words: how the library reports failures. */
#ifndef SUBMODI_ERROR_H
#define SUBMODI_ERROR_H

#include <stdbool.h>

#include <submod/base.h>

#if defined(__GNUC__)
#define SUBMODI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SUBMODI_PRINTF(text, first)
#endif

/* Keeps the words for submod_last_error and returns status, so that one can `return` it. */
submod_status submodi_fail(submod_status status, const char *format, ...) SUBMODI_PRINTF(2, 3);

/* The same for memory that was not to be had; who is the public function's name. */
static inline submod_status submodi_nomem(const char *who)
{
    submodi_fail(SUBMOD_ENOMEM, "%s: out of memory", who);
    return SUBMOD_ENOMEM; /* in sight of static analysis */
}

/* Whether all of x[0 .. n-1] are finite. */
bool submodi_all_finite(const double *x, size_t n);

/* Where the first NaN or Inf of x[0 .. n-1] is, to name it; n when there is none (any more: x may
 * be changed by others during the call). */
size_t submodi_first_nonfinite(const double *x, size_t n);

/* Refuses NaN and Inf in x[0 .. n-1], naming the array and the first offender. */
submod_status submodi_require_finite(const char *who, const char *name, const double *x, size_t n);
submod_status submodi_require_finite_f32(const char *who, const char *name, const float *x,
                                         size_t n);

/* The same, and negative numbers too. */
submod_status submodi_require_nonnegative(const char *who, const char *name, const double *x,
                                          size_t n);

#endif
