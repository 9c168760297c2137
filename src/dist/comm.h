/* The caller's table of functions, checked, and called: a failure becomes SUBMOD_ECOMM in words.
 * With one rank nothing is called: a sum stays as it is, and what is gathered is copied. */
#ifndef SUBMODI_DIST_COMM_H
#define SUBMODI_DIST_COMM_H

#include <submod/dist.h>

/* *comm = what is given; NULL: this process alone. SUBMOD_EINVAL: rank or ranks
 * out of range, or, with several ranks, a function that is missing. */
submod_status submodi_comm_read(const submod_comm *given, submod_comm *comm);

submod_status submodi_comm_sum(const submod_comm *comm, void *numbers, submod_comm_type type,
                               size_t count);
submod_status submodi_comm_gather(const submod_comm *comm, const void *mine, size_t bytes,
                                  void *all);

#endif
