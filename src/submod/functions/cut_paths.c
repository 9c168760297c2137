/* Graphs that consist of paths, laid out once, when a cut function is made: its prox along lines
 * then reads straight through. O(n); O(1) or little more for other graphs, where the first vertex
 * with a third edge ends the search.
 */
#include "base/memory.h"
#include "submod/functions/cut.h"

static size_t degree(const submodi_cut *c, int32_t v)
{
    return c->start[v + 1] - c->start[v];
}

/* The neighbour of v that is not `from` (-1: any); NULL at an end. */
static const submodi_neighbour *next_of(const submodi_cut *c, int32_t v, int32_t from)
{
    for (size_t j = c->start[v]; j < c->start[v + 1]; j++) {
        if (c->neighbours[j].vertex != from) {
            return &c->neighbours[j];
        }
    }
    return NULL;
}

/* Appends the path that starts at v to the order. Returns its last vertex. */
static int32_t append_path(const submodi_cut *c, int32_t v, size_t *end, submodi_paths *p)
{
    int32_t from = -1;
    for (;;) {
        const submodi_neighbour *next = next_of(c, v, from);
        p->in_order &= (size_t)v == *end;
        p->order[*end] = v;
        p->out[*end] = next ? next->out : 0;
        p->in[*end] = next ? next->in : 0;
        ++*end;
        if (!next) {
            return v;
        }
        from = v;
        v = next->vertex;
    }
}

/* Walks each path from its end with the lower number; done marks the other end. Circles have no
 * end, and are not found. Returns how many vertices were. */
static size_t lay_out(const submodi_cut *c, uint8_t *done, submodi_paths *p)
{
    size_t end = 0;
    p->count = 0;
    p->in_order = true;
    for (int32_t v = 0; (size_t)v < c->n; v++) {
        if (degree(c, v) < 2 && !done[v]) {
            p->begin[p->count++] = end;
            done[append_path(c, v, &end, p)] = 1;
        }
    }
    p->begin[p->count] = end;
    return end;
}

void submodi_paths_free(submodi_paths *paths)
{
    if (paths) {
        submodi_free(paths->begin);
        submodi_free(paths->order);
        submodi_free(paths->out);
        submodi_free(paths->in);
        submodi_free(paths);
    }
}

static submodi_paths *allocate(size_t n)
{
    submodi_paths *p = submodi_alloc(1, sizeof *p);
    if (!p) {
        return NULL;
    }
    p->begin = submodi_alloc(n + 1, sizeof *p->begin);
    p->order = submodi_alloc(n, sizeof *p->order);
    p->out = submodi_alloc(n, sizeof *p->out);
    p->in = submodi_alloc(n, sizeof *p->in);
    if (!p->begin || !p->order || !p->out || !p->in) {
        submodi_paths_free(p);
        return NULL;
    }
    return p;
}

bool submodi_cut_find_paths(submodi_cut *c)
{
    c->paths = NULL;
    for (int32_t v = 0; (size_t)v < c->n; v++) {
        if (degree(c, v) > 2) {
            return true;
        }
    }
    uint8_t *done = submodi_alloc(c->n, sizeof *done);
    submodi_paths *p = allocate(c->n);
    if (done && p) {
        memset(done, 0, c->n);
        if (lay_out(c, done, p) == c->n) {
            c->paths = p;
            p = NULL;
        }
    }
    bool enough = c->paths || (done && p);
    submodi_paths_free(p);
    submodi_free(done);
    return enough;
}
