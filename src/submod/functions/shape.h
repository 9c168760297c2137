/* The concave g of F(A) = g(w(A)): built in, given by points, or the user's own. */
#ifndef SUBMODI_FUNCTIONS_SHAPE_H
#define SUBMODI_FUNCTIONS_SHAPE_H

#include <submod/function.h>

typedef struct submodi_shape submodi_shape;

/* g(t), and g(t + step) - g(t) without cancellation, t >= 0, step >= 0. */
typedef double submodi_shape_at(const submodi_shape *g, double t);
typedef double submodi_shape_step(const submodi_shape *g, double t, double step);

struct submodi_shape {
    submodi_shape_at *value; /* NULL: the user's */
    submodi_shape_step *rise;
    double parameter;
    size_t count; /* of points */
    double *t, *g;
    submod_concave_ops ops; /* the user's */
    void *ctx;
};

/* Each refuses what function.h says; who is the public function's name. What was made is freed by
 * submodi_shape_clear. A custom shape comes without ops.destroy: whoever takes ctx over puts it in.
 */
submod_status submodi_shape_built_in(const char *who, submod_concave_kind kind, double parameter,
                                     submodi_shape *g);
submod_status submodi_shape_points(const char *who, size_t count, const double *t,
                                   const double *value, submodi_shape *g);
submod_status submodi_shape_custom(const char *who, const submod_concave_ops *ops, void *ctx,
                                   submodi_shape *g);
void submodi_shape_clear(submodi_shape *g);

/* g(t) and g(t + step) - g(t). Only the user's own can fail. */
submod_status submodi_shape_value(const submodi_shape *g, double t, double *value);
submod_status submodi_shape_rise(const submodi_shape *g, double t, double step, double *rise);

#endif
