/* f(u) of a cut and its distance from <s, u>, by one pass over the edges:
 *
 *     f(u) = sum over arcs (v, w) of weight max(u_v - u_w, 0) = <g, u> ,
 *     g_v  = weight of the arcs to lower vertices - weight of the arcs from higher ones .
 *
 * g is a subgradient. So f(u) - <s, u> = sum of (g_v - s_v) (u_v - c) for any c, because g and s
 * both sum to 0. Where v has no neighbour at its own level, g_v - s_v is rounding. In a block of
 * equal u it is what flows inside, which adds up to 0: these sums are carried to twice the
 * precision. c is the middle of u, so that an offset of u does no harm. Cost: O(n + edges).
 */
#include "prox/cut_extension.h"

#include <float.h>
#include <math.h>

#include "base/long_sum.h"

void submodi_cut_extension(const submodi_cut *c, const double *u, const double *s, double lambda,
                           submodi_extension *f)
{
    double lowest = u[0];
    double highest = u[0];
    for (size_t v = 0; v < c->n; v++) {
        lowest = u[v] < lowest ? u[v] : lowest;
        highest = u[v] > highest ? u[v] : highest;
    }
    const double middle = lowest + (highest - lowest) / 2;
    submodi_long_sum excess = {0, 0};
    submodi_long_sum total = {0, 0}; /* of s; 0 but for rounding */
    double value = 0;
    double weight = 0;
    for (size_t v = 0; v < c->n; v++) {
        double g = 0;
        double size = fabs(s[v]);
        for (size_t j = c->start[v]; j < c->start[v + 1]; j++) {
            const submodi_neighbour *a = &c->neighbours[j];
            const double step = u[v] - u[a->vertex];
            const double out = (step > 0) * a->out;
            const double in = (step < 0) * a->in;
            value += out * step;
            g += out - in;
            size += a->out + a->in; /* at equal u too: s is a sum of such weights, rounded */
        }
        excess = submodi_long_add(excess, (g - s[v]) * (u[v] - middle));
        total = submodi_long_add(total, s[v]);
        weight += size;
    }
    const double largest = fmax(fabs(lowest), fabs(highest));
    *f = (submodi_extension){.known = true,
                             .value = value,
                             .excess = excess.hi + (excess.lo - middle * (total.hi + total.lo)),
                             .size = weight * (largest + 8 * DBL_EPSILON * weight / lambda)};
}
