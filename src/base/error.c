/* Error messages, checks for NaN, Inf and negative numbers, status names, the version. */
#include "base/error.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/threads.h"

static _Thread_local char last_error[256];

const char *submod_last_error(void)
{
    return last_error;
}

submod_status submod_fail(submod_status status, const char *words)
{
    size_t length = words ? strnlen(words, sizeof last_error - 1) : 0;
    if (length > 0) {
        memmove(last_error, words, length);
    }
    last_error[length] = '\0';
    return status;
}

/* The C library prints a NaN with its sign bit, which means nothing. */
static void drop_sign_of_nan(char *text)
{
    for (char *at = strstr(text, "-nan"); at; at = strstr(at, "-nan")) {
        memmove(at, at + 1, strlen(at));
    }
}

submod_status submodi_fail(submod_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    drop_sign_of_nan(last_error);
    return status;
}

submod_status submodi_failed_in(const char *who, submod_status status)
{
    char words[sizeof last_error];
    size_t name = strspn(last_error, "abcdefghijklmnopqrstuvwxyz_0123456789");
    bool named = strncmp(last_error, "submod_", 7) == 0 && strncmp(last_error + name, ": ", 2) == 0;
    if (status < 0 && named) {
        memcpy(words, last_error, sizeof words);
        snprintf(last_error, sizeof last_error, "%s%s", who, words + name);
    }
    return status;
}

/* 0 * x is 0 for finite x and NaN otherwise, so one pass without branches is enough. */
static bool part_finite(const double *x, size_t n)
{
    double poison = 0;
#pragma omp simd reduction(+ : poison)
    for (size_t i = 0; i < n; i++) {
        poison += 0 * x[i];
    }
    return poison == 0;
}

bool submodi_all_finite(const double *x, size_t n)
{
    enum { PART = 1 << 14 };
    int threads = submodi_threads_for(n);
    if (threads == 1) {
        return part_finite(x, n);
    }
    int special = 0;
#pragma omp parallel for num_threads(threads) reduction(| : special)
    for (size_t begin = 0; begin < n; begin += PART) {
        special |= !part_finite(x + begin, n - begin < PART ? n - begin : PART);
    }
    return !special;
}

size_t submodi_first_nonfinite(const double *x, size_t n)
{
    size_t i = 0;
    while (i < n && isfinite(x[i])) {
        i++;
    }
    return i;
}

static submod_status nonfinite(const char *who, const char *name, size_t i, double x)
{
    return submodi_fail(SUBMOD_ENONFINITE, "%s: %s[%zu] is %g; it must be finite", who, name, i, x);
}

static submod_status changed(const char *who, const char *name)
{
    return submodi_fail(SUBMOD_ENONFINITE, "%s: %s held NaN or Inf, and changed during the call",
                        who, name);
}

submod_status submodi_require_finite(const char *who, const char *name, const double *x, size_t n)
{
    if (submodi_all_finite(x, n)) {
        return SUBMOD_OK;
    }
    size_t i = submodi_first_nonfinite(x, n);
    return i < n ? nonfinite(who, name, i, x[i]) : changed(who, name);
}

submod_status submodi_require_finite_f32(const char *who, const char *name, const float *x,
                                         size_t n)
{
    int special = 0;
    for (size_t i = 0; i < n; i++) {
        special |= !(fabsf(x[i]) <= FLT_MAX);
    }
    for (size_t i = 0; special && i < n; i++) {
        if (!isfinite(x[i])) {
            return nonfinite(who, name, i, (double)x[i]);
        }
    }
    return special ? changed(who, name) : SUBMOD_OK;
}

submod_status submodi_require_nonnegative(const char *who, const char *name, const double *x,
                                          size_t n)
{
    submod_status status = submodi_require_finite(who, name, x, n);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        if (x[i] < 0) {
            status =
                submodi_fail(SUBMOD_EINVAL, "%s: %s[%zu] = %g must be >= 0", who, name, i, x[i]);
        }
    }
    return status;
}

submod_status submodi_require_at_least_zero(const char *who, const char *name, double x)
{
    if (!isfinite(x)) {
        return submodi_fail(SUBMOD_ENONFINITE, "%s: %s = %g must be finite", who, name, x);
    }
    return x < 0 ? submodi_fail(SUBMOD_EINVAL, "%s: %s = %g must be >= 0", who, name, x)
                 : SUBMOD_OK;
}

submod_status submodi_require_positive(const char *who, const char *name, double x)
{
    return x <= 0 && isfinite(x)
               ? submodi_fail(SUBMOD_EINVAL, "%s: %s = %g must be > 0", who, name, x)
               : submodi_require_at_least_zero(who, name, x);
}

submod_status submodi_require_lists(const char *who, size_t lists, const size_t *start,
                                    const char *name, const int32_t *items, size_t below)
{
    if (start[0] != 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: start[0] = %zu must be 0", who, start[0]);
    }
    for (size_t i = 0; i < lists; i++) {
        if (start[i + 1] < start[i]) {
            return submodi_fail(SUBMOD_EINVAL, "%s: start[%zu] = %zu must be >= start[%zu] = %zu",
                                who, i + 1, start[i + 1], i, start[i]);
        }
    }
    submod_status status = start[lists] ? submodi_require_given(who, name, items) : SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < start[lists]; i++) {
        if (items[i] < 0 || (size_t)items[i] >= below) {
            status = submodi_fail(SUBMOD_EINVAL, "%s: %s[%zu] = %d is not in [0, %zu)", who, name,
                                  i, (int)items[i], below);
        }
    }
    return status;
}

const char *submod_status_string(int status)
{
    switch (status) {
    case SUBMOD_OK: return "ok";
    case SUBMOD_TIMELIMIT: return "stopped by the time limit";
    case SUBMOD_MAXITER: return "stopped by the limit on iterations";
    case SUBMOD_INACCURATE: return "no further progress, tolerance not met";
    case SUBMOD_CANCELLED: return "cancelled by the caller";
    case SUBMOD_EINVAL: return "invalid argument";
    case SUBMOD_ENONFINITE: return "NaN or Inf in the input";
    case SUBMOD_ENOMEM: return "out of memory";
    case SUBMOD_ECALLBACK: return "a callback failed";
    case SUBMOD_ENUMERIC: return "numerical breakdown";
    case SUBMOD_EUNSUPPORTED: return "not supported";
    case SUBMOD_ECANCELLED: return "cancelled by the caller, without a result";
    case SUBMOD_ECOMM: return "other processes could not be reached";
    case SUBMOD_EFILE: return "a file cannot be read or written, or holds something else";
    default: return "unknown status";
    }
}

int submod_version(void)
{
    return SUBMOD_VERSION;
}

const char *submod_version_string(void)
{
    return SUBMOD_VERSION_STRING;
}
