/* Which members of a cycle may be projected at the same time. */
#ifndef SUBMODI_PROX_SUMS_CLASSES_H
#define SUBMODI_PROX_SUMS_CLASSES_H

#include "prox/sums/members.h"

/* Members first .. last - 1 share no element. */
typedef struct submodi_class {
    size_t first, last;
    double cost; /* of all its projections, about, in elements; 0: they must not run in parallel */
} submodi_class;

/* Sorts the members into classes and fills classes, which has room for one per member. Returns
 * their number; 0: out of memory. */
size_t submodi_sort_into_classes(size_t n, submodi_member *members, size_t count,
                                 submodi_class *classes, submod_work *work);

#endif
