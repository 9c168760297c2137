/* Sums of functions of groups of elements. */
#ifndef SUBMODI_FUNCTIONS_GROUPS_H
#define SUBMODI_FUNCTIONS_GROUPS_H

#include "submod/fn_internal.h"

typedef struct submodi_groups submodi_groups;

/* The function of group i, on its k elements. */
typedef submod_status submodi_group_function(const submodi_groups *g, size_t i, size_t k,
                                             submod_fn **fn);

struct submodi_groups {
    const char *who;         /* the public function */
    size_t n, m;             /* elements, groups */
    const size_t *start;     /* m + 1: group i is elements[start[i] .. start[i+1]-1] */
    const char *elements_as; /* what the argument is called */
    const int32_t *elements;
    const double *weight; /* NULL: all 1 */
    submodi_group_function *make;
    const void *ctx;        /* for make */
    bool alike;             /* groups of equal size have the same function, made once */
    size_t least;           /* groups with fewer elements are left out */
    const submod_fn *along; /* one more term; NULL: none */
};

/* Checks what callers give: lists in range, no element twice in a group, weights >= 0. */
submod_status submodi_require_groups(const submodi_groups *g, submod_fn **fn);

/* The sum of all groups of at least `least` elements and of `along`; 0 without any. name: of the
 * handle. */
submod_status submodi_fn_from_groups(const submodi_groups *g, const char *name, submod_fn **fn);

#endif
