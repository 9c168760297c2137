/* Cut functions as networks. Numbers are multiplied by a power of two so that 60 bits hold the
 * largest excess plus the capacities at any vertex. What is cut off is below 2^-60 of that: finer
 * than the rounding of a sum of the numbers at one vertex, so nothing is lost that the values of F
 * would show.
 *
 * No flow exceeds half the sum of all |excess|. So capacities beyond the whole sum are cut down to
 * it, and weights that are huge compared with all else do not push it below the rounding.
 */
#include "submod/functions/cut_network.h"

submodi_scaling submodi_scaling_for(double largest, double sum, double heaviest)
{
    int exponent;
    frexp(largest + fmin(sum, heaviest), &exponent);
    double root = ldexp(1, (int)floor((SUBMODI_FLOW_BITS - exponent) / 2.0));
    return (submodi_scaling){.limit = sum, .root = root, .inverse = 1 / root};
}

void submodi_cut_arcs(const submodi_cut *cut, const submodi_scaling *scaling, submodi_arc *arcs)
{
    for (size_t j = 0; j < cut->start[cut->n]; j++) {
        const submodi_neighbour *u = &cut->neighbours[j];
        arcs[j] = (submodi_arc){.residual = submodi_capacity(scaling, u->out),
                                .head = u->vertex,
                                .opposite = u->opposite};
    }
}
