/* Cut functions as networks. Numbers are multiplied by a power of two so that 60 bits hold the
 * largest excess plus the capacities at any vertex. What is cut off is below 2^-60 of that: finer
 * than the rounding of a sum of the numbers at one vertex, so nothing is lost that the values of F
 * would show.
 *
 * No flow exceeds half the sum of all |excess|. So capacities beyond the whole sum are cut down to
 * it, and weights that are huge compared with all else do not push it below the rounding.
 */
#include "submod/functions/cut_network.h"

#include "base/error.h"

/* Reports that the numbers at a vertex overflow. */
static submod_status too_heavy(const char *who, const submodi_cut *cut,
                               const submodi_excesses *sizes)
{
    double weight = 0;
    int32_t tail = 0, head = 0;
    for (size_t v = 0; v < cut->n; v++) {
        for (size_t j = cut->start[v]; j < cut->start[v + 1]; j++) {
            if (cut->neighbours[j].out > weight) {
                weight = cut->neighbours[j].out;
                tail = (int32_t)v;
                head = cut->neighbours[j].vertex;
            }
        }
    }
    return submodi_fail(
        SUBMOD_ENUMERIC,
        "%s: the weights overflow (%g on the edge of elements %d and %d, with %g at element %d); "
        "an element's edge weights, in both directions, or all elements' |weights| must have a "
        "finite sum",
        who, weight, (int)tail, (int)head, sizes->largest, (int)sizes->vertex);
}

/* Returns the exponent of a + b, also if the sum overflows. */
static int exponent_of_sum(double a, double b)
{
    int exponent;
    bool overflows = !isfinite(a + b);
    (void)frexp(overflows ? a / 2 + b / 2 : a + b, &exponent);
    return exponent + overflows;
}

submod_status submodi_find_scaling(const char *who, const submodi_cut *cut,
                                   const submodi_excesses *sizes, double room,
                                   submodi_scaling *scaling)
{
    double limit = room * sizes->sum, capacity = fmin(limit, cut->heaviest);
    if (!isfinite(sizes->largest) || !isfinite(capacity)) {
        return too_heavy(who, cut, sizes);
    }
    int exponent = exponent_of_sum(sizes->largest, capacity);
    double root = ldexp(1, (int)floor((SUBMODI_FLOW_BITS - exponent) / 2.0));
    *scaling = (submodi_scaling){.limit = limit, .root = root, .inverse = 1 / root};
    return SUBMOD_OK;
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
