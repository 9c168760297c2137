/* Maximum flows through forests, chains above all: O(nodes and their arcs).
 *
 * From the leaves up, every vertex hands its excess to its parent, a negative one too, as far as
 * the arcs between them can carry it. What remains has a full arc above it, and what came from
 * below has been counted in already. So nothing is left that could still flow.
 */
#include "base/memory.h"
#include "submod/functions/maxflow.h"

/* The places of the vertices in their trees. */
typedef struct trees {
    uint32_t *up; /* the arc to the parent */
    uint8_t *seen;
    int32_t *order; /* parents come before children */
    size_t end;
} trees;

/* In place of the arc to the parent. */
static const uint32_t ROOT = UINT32_MAX;

static bool carries(const submodi_network *net, size_t a)
{
    return net->arcs[a].residual > 0 || net->arcs[net->arcs[a].opposite].residual > 0;
}

/* Orders the tree of a root; false if there is a cycle. */
static bool hang_up(const submodi_network *net, int32_t root, trees *t)
{
    size_t next = t->end;
    t->seen[root] = 1;
    t->up[root] = ROOT;
    t->order[t->end++] = root;
    for (; next < t->end; next++) {
        int32_t v = t->order[next];
        for (size_t a = net->first[v]; a < net->first[v + 1]; a++) {
            int32_t child = net->arcs[a].head;
            if (a == t->up[v] || !carries(net, a)) {
                continue;
            }
            if (t->seen[child]) {
                return false;
            }
            t->seen[child] = 1;
            t->up[child] = net->arcs[a].opposite;
            t->order[t->end++] = child;
        }
    }
    return true;
}

static bool hang_up_all(submodi_network *net, const int32_t *nodes, size_t count, trees *t)
{
    size_t pairs = 0; /* twice their number */
    for (size_t i = 0; i < count; i++) {
        t->seen[nodes[i]] = 0;
        for (size_t a = net->first[nodes[i]]; a < net->first[nodes[i] + 1]; a++) {
            pairs += carries(net, a);
        }
        if (pairs / 2 >= count) { /* more than a forest has */
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!t->seen[nodes[i]] && !hang_up(net, nodes[i], t)) {
            return false;
        }
    }
    return true;
}

/* Hands the excess of v to its parent. */
static void hand_up(submodi_network *net, int32_t v, uint32_t up)
{
    submodi_arc *out = &net->arcs[up];
    submodi_arc *in = &net->arcs[out->opposite];
    int64_t amount = net->excess[v];
    amount = amount > out->residual ? out->residual : amount;
    amount = amount < -in->residual ? -in->residual : amount;
    out->residual -= amount;
    in->residual += amount;
    net->excess[v] -= amount;
    net->excess[out->head] += amount;
}

bool submodi_forest_flow(submodi_network *net, const int32_t *nodes, size_t count,
                         submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    trees t = {.end = 0};
    t.up = submodi_take(w, net->nodes, sizeof *t.up);
    t.seen = submodi_take(w, net->nodes, sizeof *t.seen);
    t.order = submodi_take(w, count, sizeof *t.order);
    bool forest = t.up && t.seen && t.order && hang_up_all(net, nodes, count, &t);
    for (size_t i = forest ? count : 0; i-- > 0;) {
        if (t.up[t.order[i]] != ROOT) {
            hand_up(net, t.order[i], t.up[t.order[i]]);
        }
    }
    submodi_scope_close(&scope);
    return forest;
}
