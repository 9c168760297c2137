/* Has the caller asked this thread's calls to end? */
#ifndef SUBMODI_CANCEL_H
#define SUBMODI_CANCEL_H

#include <stdbool.h>

#include "submod/base.h"

/* Costs about as much as reading a variable; for the thread that made the public call. */
bool submodi_cancelled(void);

/* SUBMOD_ECANCELLED with words; who is the public function's name. */
submod_status submodi_cancel(const char *who);

#endif
