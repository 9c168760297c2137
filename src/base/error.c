/* Error messages, checks of arguments, status names, the version. */
#include "base/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[256];
static _Thread_local bool unnamed; /* the message does not name the public function yet */

const char *submod_last_error(void)
{
    return last_error;
}

/* Removes the sign that the C library prints before a NaN and that has no meaning. */
static void drop_sign_of_nan(char *text)
{
    for (char *at = strstr(text, "-nan"); at; at = strstr(at, "-nan")) {
        memmove(at, at + 1, strlen(at));
    }
}

/* Formats into a buffer first, because the arguments may include the old message. */
static void set_message(const char *format, va_list args)
{
    char message[sizeof last_error];
    vsnprintf(message, sizeof message, format, args); /* NOLINT: clang-tidy 14 loses va_start */
    drop_sign_of_nan(message);
    memcpy(last_error, message, sizeof message);
}

submod_status submod_fail(submod_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_message(format, args);
    va_end(args);
    unnamed = false;
    return status;
}

submod_status submodi_fail(submod_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_message(format, args);
    va_end(args);
    unnamed = true;
    return status;
}

/* Returns the length of "submod_...", the name of a public function, at the start of the message; 0
 * if there is none. */
static size_t named_length(void)
{
    size_t length = strspn(last_error, "abcdefghijklmnopqrstuvwxyz_0123456789");
    bool named =
        strncmp(last_error, "submod_", 7) == 0 && strncmp(last_error + length, ": ", 2) == 0;
    return named ? length : 0;
}

void submodi_name_message(const char *caller, submod_status status)
{
    size_t length = status == SUBMOD_OK ? 0 : named_length();
    if (length ? status < 0 : status != SUBMOD_OK && unnamed) {
        char message[sizeof last_error];
        memcpy(message, last_error, sizeof message);
        snprintf(last_error, sizeof last_error, "%s%s%.*s", caller, length ? "" : ": ",
                 (int)(sizeof last_error - strlen(caller) - 3), message + length);
    }
    unnamed = false;
}

typedef struct numbers {
    const double *x;
    bool special[SUBMODI_MOST_THREADS]; /* some number of a part is NaN or Inf */
} numbers;

/* 0 * x is 0 for finite x and NaN otherwise, so one pass without branches is enough. */
static void find_special(void *in, size_t part, size_t begin, size_t end)
{
    numbers *of = in;
    double poison = 0;
#pragma omp simd reduction(+ : poison)
    for (size_t i = begin; i < end; i++) {
        poison += 0 * of->x[i];
    }
    of->special[part] = poison != 0;
}

bool submodi_all_finite(const double *x, size_t n)
{
    numbers of;
    size_t parts = (size_t)submodi_threads_for(n);
    of.x = x;
    submodi_run_parts(parts, n, find_special, &of);
    bool special = false;
    for (size_t t = 0; t < parts; t++) {
        special |= of.special[t];
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

submod_status submodi_check_nonnegative(const char *name, double x)
{
    if (!isfinite(x)) {
        return submodi_fail(SUBMOD_ENONFINITE, "%s = %g must be finite", name, x);
    }
    return x < 0 ? submodi_fail(SUBMOD_EINVAL, "%s = %g must be >= 0", name, x) : SUBMOD_OK;
}

submod_status submodi_check_positive(const char *name, double x)
{
    return x <= 0 && isfinite(x) ? submodi_fail(SUBMOD_EINVAL, "%s = %g must be > 0", name, x)
                                 : submodi_check_nonnegative(name, x);
}

submod_status submodi_check_finite(const char *name, const double *x, size_t n)
{
    if (submodi_all_finite(x, n)) {
        return SUBMOD_OK;
    }
    size_t i = submodi_first_nonfinite(x, n);
    return submodi_fail(SUBMOD_ENONFINITE, "%s[%zu] is %g; it must be finite", name, i,
                        i < n ? x[i] : NAN);
}

submod_status submodi_check_all_nonnegative(const char *name, const double *x, size_t n)
{
    TRY(submodi_check_finite(name, x, n));
    for (size_t i = 0; i < n; i++) {
        if (x[i] < 0) {
            return submodi_fail(SUBMOD_EINVAL, "%s[%zu] = %g must be >= 0", name, i, x[i]);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_check_lists(size_t lists, const size_t *start, const char *name,
                                  const int32_t *items, size_t below)
{
    if (start[0] != 0) {
        return submodi_fail(SUBMOD_EINVAL, "start[0] = %zu must be 0", start[0]);
    }
    for (size_t i = 0; i < lists; i++) {
        if (start[i + 1] < start[i]) {
            return submodi_fail(SUBMOD_EINVAL, "start[%zu] = %zu must be >= start[%zu] = %zu",
                                i + 1, start[i + 1], i, start[i]);
        }
    }
    TRY(start[lists] ? submodi_check_given(name, items) : SUBMOD_OK);
    for (size_t i = 0; i < start[lists]; i++) {
        if (items[i] < 0 || (size_t)items[i] >= below) {
            return submodi_fail(SUBMOD_EINVAL, "%s[%zu] = %d is not in [0, %zu)", name, i,
                                (int)items[i], below);
        }
    }
    return SUBMOD_OK;
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

const char *submod_version(void)
{
    return SUBMOD_VERSION_STRING;
}
