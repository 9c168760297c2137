/* Has the caller asked this thread's calls to end? */
#ifndef SUBMODI_CANCEL_H
#define SUBMODI_CANCEL_H

#include <stdbool.h>

#include <submod/base.h>

/* This thread's flag, NULL if there is none. For loops so tight that fetching it in every round
 * would slow them down. */
const volatile int *submodi_cancel_flag(void);

static inline bool submodi_raised(const volatile int *flag)
{
    return flag && *flag;
}

/* To be called by the thread that made the public call: others have their own flag. */
static inline bool submodi_cancelled(void)
{
    return submodi_raised(submodi_cancel_flag());
}

/* SUBMOD_ECANCELLED with an error message; who is the public function's name. */
submod_status submodi_cancel(const char *who);

#endif
