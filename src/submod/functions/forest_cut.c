/* Minimum cuts of networks that are forests, chains above all, by passing messages: O(nodes).
 *
 * D(v) is the cost of the tree below v with v on the side of the source, minus its cost with v on
 * the side of the sink. Let p be the capacity from v to its child c, and q that from c to v. Then c
 * adds min(D(c), p) in the first case and min(D(c) + q, 0) in the second. The difference makes
 *
 *     D(v) = demand(v) - supply(v) + sum over children c of clamp(D(c), -q, p) .
 *
 * Then, from the roots down, every vertex takes the better side.
 */
#include "base/memory.h"
#include "submod/functions/maxflow.h"

/* The place of a vertex in its tree. */
typedef struct knot {
    int64_t difference; /* D */
    uint32_t up;        /* the arc to its parent */
    int32_t next;       /* of knots[i]: the i-th vertex in the order of discovery */
    uint8_t seen, is_root;
} knot;

/* Orders the vertices so that parents come before children; false if there is a cycle. */
static bool hang_up(const submodi_network *net, knot *knots)
{
    size_t end = 0;
    for (size_t root = 0; root < net->nodes; root++) {
        if (knots[root].seen) {
            continue;
        }
        size_t next = end;
        knots[root].seen = 1;
        knots[root].is_root = 1;
        knots[end++].next = (int32_t)root;
        for (; next < end; next++) {
            int32_t v = knots[next].next;
            for (uint32_t a = net->first[v]; a < net->first[v + 1]; a++) {
                knot *child = &knots[net->arcs[a].head];
                if (!knots[v].is_root && a == knots[v].up) {
                    continue;
                }
                if (child->seen) {
                    return false;
                }
                child->seen = 1;
                child->up = net->arcs[a].opposite;
                knots[end++].next = net->arcs[a].head;
            }
        }
    }
    return true;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : (x > high ? high : x);
}

/* The arc from v's parent to v. */
static const submodi_arc *from_parent(const submodi_network *net, const knot *v)
{
    return &net->arcs[net->arcs[v->up].opposite];
}

bool submodi_forest_cut(const submodi_network *net, int64_t rounding, uint8_t *reaches,
                        submod_work *work)
{
    if (net->first[net->nodes] / 2 >= net->nodes) { /* more pairs of arcs than a forest has */
        return false;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    knot *knots = submodi_take(w, net->nodes, sizeof *knots);
    for (size_t v = 0; knots && v < net->nodes; v++) {
        knots[v] = (knot){.difference = net->demand[v] - net->supply[v]};
    }
    bool forest = knots && hang_up(net, knots);
    for (size_t i = forest ? net->nodes : 0; i-- > 0;) {
        const knot *v = &knots[knots[i].next];
        if (!v->is_root) {
            const submodi_arc *up = &net->arcs[v->up];
            knots[up->head].difference +=
                clamp(v->difference, -up->residual, from_parent(net, v)->residual);
        }
    }
    for (size_t i = 0; forest && i < net->nodes; i++) {
        int32_t e = knots[i].next;
        const knot *v = &knots[e];
        int64_t most = 0; /* the largest D for the side of the source */
        if (!v->is_root) {
            const submodi_arc *up = &net->arcs[v->up];
            most = reaches[up->head] ? -up->residual : from_parent(net, v)->residual;
        }
        reaches[e] = v->difference > most + rounding;
    }
    submodi_scope_close(&scope);
    return forest;
}
