#include "base/error.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_error[256];

const char *submod_last_error(void)
{
    return last_error;
}

submod_status submodi_fail(submod_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

submod_status submodi_require_finite(const char *who, const char *name, const double *x, size_t n)
{
    if (submodi_all_finite(x, n)) {
        return SUBMOD_OK;
    }
    size_t i = 0;
    while (isfinite(x[i])) {
        i++;
    }
    return submodi_fail(SUBMOD_ENONFINITE, "%s: %s[%zu] is %g", who, name, i, x[i]);
}

submod_status submodi_require_nonnegative(const char *who, const char *name, const double *x,
                                          size_t n)
{
    submod_status status = submodi_require_finite(who, name, x, n);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        if (x[i] < 0) {
            status =
                submodi_fail(SUBMOD_EINVAL, "%s: %s[%zu] = %g is negative", who, name, i, x[i]);
        }
    }
    return status;
}

const char *submod_status_string(int status)
{
    switch (status) {
    case SUBMOD_OK: return "ok";
    case SUBMOD_TIMELIMIT: return "stopped by the time limit";
    case SUBMOD_EINVAL: return "invalid argument";
    case SUBMOD_ENONFINITE: return "NaN or Inf in the input";
    case SUBMOD_ENOMEM: return "out of memory";
    case SUBMOD_ECALLBACK: return "a callback failed";
    case SUBMOD_ENUMERIC: return "numerical breakdown";
    case SUBMOD_EUNSUPPORTED: return "not supported";
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
