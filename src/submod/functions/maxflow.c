/* Maximum flow: short ways first, then push and relabel for what has to go far.
 *
 * Shortest ways are the faster method while they are short; where weights are large compared with
 * the excesses, most of the time goes into walking along long ways again and again. So that method
 * gets a budget of some looks at each arc. What is left over then has to go far, and push and
 * relabel takes it there together, in O(nodes^3).
 *
 * We wrote our own because no library in Debian fits: igraph is in C, but under the GPL, with
 * capacities in double and a graph object to build for every call; LEMON, Boost and OGDF are C++.
 */
#include "submod/functions/maxflow.h"

submod_status submodi_max_flow(submodi_network *net, const int32_t *nodes, size_t count,
                               uint64_t looks, submod_work *work)
{
    uint64_t arcs = count;
    for (size_t i = 0; i < count; i++) {
        arcs += net->first[nodes[i] + 1] - net->first[nodes[i]];
    }
    bool maximal = false;
    submod_status status = submodi_shortest_ways(net, nodes, count, looks * arcs, &maximal, work);
    return status != SUBMOD_OK || maximal ? status : submodi_push_relabel(net, nodes, count, work);
}

void submodi_reach(submodi_network *net, const int32_t *nodes, size_t count, bool backwards,
                   int64_t rounding, uint8_t *reached, int32_t *list)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t excess = net->excess[nodes[i]];
        reached[nodes[i]] = (backwards ? -excess : excess) > rounding;
        if (reached[nodes[i]]) {
            list[end++] = nodes[i];
        }
    }
    for (size_t next = 0; next < end; next++) {
        int32_t v = list[next];
        for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
            const submodi_arc *arc = &net->arcs[a];
            int64_t residual = backwards ? net->arcs[arc->opposite].residual : arc->residual;
            if (residual > rounding && !reached[arc->head]) {
                reached[arc->head] = 1;
                list[end++] = arc->head;
            }
        }
        net->effort += net->first[v + 1] - net->first[v];
    }
}
