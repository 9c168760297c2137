/* Functions of the cardinality from a shape. */
#ifndef SUBMODI_FUNCTIONS_CARDINALITY_H
#define SUBMODI_FUNCTIONS_CARDINALITY_H

#include "submod/fn_internal.h"
#include "submod/functions/shape.h"

/* F(A) = h(|A|), h built in or given by points, h(0) = 0. who is the public function's name, name
 * that of the handle. */
submod_status submodi_fn_cardinality(const char *who, const char *name, size_t n,
                                     const submodi_shape *h, submod_fn **fn);

#endif
