/* The flag is the thread's rather than a field of the settings, so that it reaches what no settings
 * reach: the flow inside a function's own minimiser, and calls that callbacks make. A plain word in
 * memory rather than a callback: a signal handler can set it, and looking costs next to nothing. */
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
