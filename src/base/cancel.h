/* Has the caller asked this thread's calls to end? */
#ifndef SUBMODI_CANCEL_H
#define SUBMODI_CANCEL_H

#include <stdbool.h>

#include <submod/base.h>

/* This thread's flag, NULL if there is none: for loops so tight that asking for it in every round
 * would show. */
const volatile int *submodi_cancel_flag(void);

static inline bool submodi_raised(const volatile int *flag)
{
    return flag && *flag;
}

/* For the thread that made the public call. */
static inline bool submodi_cancelled(void)
{
    return submodi_raised(submodi_cancel_flag());
}

/* SUBMOD_ECANCELLED with words; who is the public function's name. */
submod_status submodi_cancel(const char *who);

#endif
