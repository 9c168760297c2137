/* Algorithm 2 of the paper's supplement, "Computation of prox", followed as it is printed. */
#ifndef SUBMOD_STUDY_AS_PRINTED_H
#define SUBMOD_STUDY_AS_PRINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <submod.h>

typedef enum printed_direction {
    PRINTED_UP = 1,   /* lines 10 and 13 word for word: along +g */
    PRINTED_DOWN = -1 /* only their signs turned: along -g */
} printed_direction;

typedef struct printed_info {
    size_t edges;      /* that the path went through */
    size_t overshoots; /* of these: edges that lay beyond the time to stop, see line 12 */
    bool touched_zero; /* an entry began below 0 or came to it: line 5 mattered */
} printed_info;

/* u (one number per element of fn): what the algorithm returns for x and lambda. fn must be
 * monotone. O(n) an edge, and at most 2 n edges. False after saying why. */
bool as_printed(const submod_fn *fn, const double *x, double lambda, printed_direction direction,
                double *u, printed_info *info);

#endif
