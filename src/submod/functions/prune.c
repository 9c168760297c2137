/* Trees in a network, chains above all, solved from their leaves: O(their nodes and arcs).
 *
 * A node with one neighbour hands its excess to it, a negative one too, as far as the arcs between
 * them can carry it. What remains has a full arc before it and stays. The node plays no further
 * part, and its neighbour may have become a leaf.
 */
#include "submod/functions/maxflow.h"

/* In place of the degree of a node that has handed over. */
static const uint32_t DONE = UINT32_MAX;

/* Hands the excess of v over along an arc. */
static void hand_over(submodi_network *net, int32_t v, submodi_arc *out)
{
    submodi_arc *in = &net->arcs[out->opposite];
    int64_t amount = net->excess[v];
    amount = amount > out->residual ? out->residual : amount;
    amount = amount < -in->residual ? -in->residual : amount;
    out->residual -= amount;
    in->residual += amount;
    net->excess[v] -= amount;
    net->excess[out->head] += amount;
}

/* The arc of a leaf to its only neighbour; NULL if it has no capacity. */
static submodi_arc *only_arc(const submodi_network *net, int32_t v, const uint32_t *degree)
{
    for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
        submodi_arc *arc = &net->arcs[a];
        bool carries = arc->residual > 0 || net->arcs[arc->opposite].residual > 0;
        if (carries && degree[arc->head] != DONE) {
            return arc;
        }
    }
    return NULL;
}

size_t submodi_prune(submodi_network *net, const int32_t *nodes, size_t count, uint32_t *degree,
                     int32_t *list)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (degree[nodes[i]] == 1) {
            list[end++] = nodes[i];
        }
    }
    for (size_t next = 0; next < end; next++) {
        int32_t v = list[next];
        submodi_arc *arc = degree[v] == 1 ? only_arc(net, v, degree) : NULL;
        net->effort += net->first[v + 1] - net->first[v];
        if (arc) {
            hand_over(net, v, arc);
            degree[v] = DONE;
            if (--degree[arc->head] == 1) {
                list[end++] = arc->head;
            }
        }
    }
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        left += degree[nodes[i]] != 0 && degree[nodes[i]] != DONE;
    }
    return left;
}
