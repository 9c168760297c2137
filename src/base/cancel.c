/* The cancel flag. Each thread has its own; it is no field of the settings. So it also reaches code
 * that gets no settings: the flow inside a function's own minimiser, and calls made by callbacks.
 * It is a plain int, no callback: a signal handler can set it, and reading it costs almost nothing.
 */
#include "base/cancel.h"

#include "base/error.h"

static _Thread_local const volatile int *cancel_flag;

const volatile int *submod_set_cancel_flag(const volatile int *flag)
{
    const volatile int *previous = cancel_flag;
    cancel_flag = flag;
    return previous;
}

const volatile int *submodi_cancel_flag(void)
{
    return cancel_flag;
}

submod_status submodi_cancel(const char *who)
{
    return submodi_fail(SUBMOD_ECANCELLED, "%s: cancelled", who);
}
