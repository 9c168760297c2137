/* A run comes apart at its cuts: the pieces, and what each starts from.
 *
 * A piece starts from the greedy vectors of the run, restricted to it. If an order has all pieces
 * before this one first and then this one, the restriction is a greedy vector of the piece. If not,
 * a chain along the restricted order must find it. The vector of the last look is of the first
 * kind for all pieces. Cost: O(n) for each of the points, and the minors of F. */
#include "prox/wolfe/piece.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

void submodi_piece_forget_start(submodi_piece *q)
{
    submod_fn_free(q->fn);
    submodi_free(q->orders);
    submodi_free(q->weights);
    submodi_free(q->points);
    submodi_free(q->known);
    q->fn = NULL;
    q->orders = NULL;
    q->weights = NULL;
    q->points = NULL;
    q->known = NULL;
    q->count = 0;
}

void submodi_piece_clear(submodi_piece *q)
{
    submodi_piece_forget_start(q);
    submodi_combination_clear(&q->found);
}

/* The run's elements by rank in its last order, and the part of each rank. */
typedef struct layout {
    size_t n;
    size_t nparts;
    submodi_part *parts;
    int32_t *rank;  /* element -> rank */
    int32_t *of;    /* rank -> part */
    int32_t *child; /* part -> child, -1 if it has one element only */
    size_t *next;   /* part -> how much of an order has been written */
} layout;

static bool lay_out(layout *l, const submodi_wolfe *run, submod_work *work)
{
    l->n = run->p.n;
    l->nparts = run->cut_count + 1;
    l->parts = submodi_take(work, l->nparts, sizeof *l->parts);
    l->rank = submodi_take(work, l->n, sizeof *l->rank);
    l->of = submodi_take(work, l->n, sizeof *l->of);
    l->child = submodi_take(work, l->nparts, sizeof *l->child);
    l->next = submodi_take(work, l->nparts, sizeof *l->next);
    if (!l->parts || !l->rank || !l->of || !l->child || !l->next) {
        return false;
    }
    for (size_t j = 0; j < l->nparts; j++) {
        l->parts[j].begin = j ? run->cuts[j - 1].rank : 0;
        l->parts[j].end = j + 1 < l->nparts ? run->cuts[j].rank : l->n;
        for (size_t r = l->parts[j].begin; r < l->parts[j].end; r++) {
            l->rank[run->p.order[r]] = (int32_t)r;
            l->of[r] = (int32_t)j;
        }
    }
    return true;
}

/* Whether the order visits part j after all before it and before all behind it, for one part after
 * the other: *highest is the last part that turned up so far. */
static bool in_place(const layout *l, const int32_t *order, size_t j, int32_t *highest)
{
    bool good = *highest < (int32_t)j;
    for (size_t i = l->parts[j].begin; i < l->parts[j].end; i++) {
        int32_t of = l->of[l->rank[order[i]]];
        good = good && of == (int32_t)j;
        *highest = of > *highest ? of : *highest;
    }
    return good;
}

/* Point k of all children: from a row, relative to origin (or to 0, if NULL), and its order. */
static void hand_down(const layout *l, submodi_piece *children, size_t k, const double *row,
                      const double *origin, const int32_t *order, double weight, double sigma)
{
    int32_t highest = -1;
    for (size_t j = 0; j < l->nparts; j++) {
        bool known = in_place(l, order, j, &highest);
        l->next[j] = 0;
        if (l->child[j] >= 0) {
            children[l->child[j]].known[k] = known;
            children[l->child[j]].weights[k] = weight;
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        size_t r = (size_t)l->rank[order[i]];
        size_t j = (size_t)l->of[r];
        if (l->child[j] >= 0) {
            submodi_piece *q = &children[l->child[j]];
            size_t at = k * submodi_piece_size(q);
            int32_t e = order[i];
            q->orders[at + l->next[j]++] = (int32_t)(r - l->parts[j].begin);
            q->points[at + r - l->parts[j].begin] = (row[e] + (origin ? origin[e] : 0)) * sigma;
        }
    }
}

static bool take_points(submodi_piece *q, size_t count)
{
    size_t entries = submodi_times(count, submodi_piece_size(q));
    q->count = count;
    q->orders = submodi_alloc(entries, sizeof *q->orders);
    q->weights = submodi_alloc(count, sizeof *q->weights);
    q->points = submodi_alloc(entries, sizeof *q->points);
    q->known = submodi_alloc(count, sizeof *q->known);
    return q->orders && q->weights && q->points && q->known;
}

/* Sets up the children without their points and functions. Returns their number. */
static size_t set_up(const layout *l, const submodi_piece *parent, const submodi_wolfe *run,
                     submodi_piece *children)
{
    const submodi_projection *p = &run->p;
    size_t count = 0;
    double before = parent->before;
    for (size_t j = 0; j < l->nparts; j++) {
        submodi_part part = l->parts[j];
        size_t begin = parent->part.begin + part.begin;
        l->child[j] = -1;
        if (part.end - part.begin > 1) {
            l->child[j] = (int32_t)count;
            children[count++] = (submodi_piece){
                .part = {begin, begin + (part.end - part.begin)},
                .high = j ? run->cuts[j - 1].level * p->sigma : parent->high,
                .low = j + 1 < l->nparts ? run->cuts[j].level * p->sigma : parent->low,
                .before = before};
        }
        for (size_t r = part.begin; r < part.end; r++) {
            before += p->vertex[p->order[r]] * p->sigma;
        }
    }
    return count;
}

/* The functions of the children, if F can make them of its own kind. */
static submod_status make_functions(const layout *l, const submodi_wolfe *run,
                                    submodi_piece *children, size_t count, submod_work *work)
{
    const submod_fn *fn = run->p.problem->fn;
    if (!fn->traits.minors || !count) {
        return SUBMOD_OK;
    }
    submodi_part *parts = submodi_take(work, count, sizeof *parts);
    submod_fn **fns = submodi_take(work, count, sizeof(submod_fn *));
    if (!parts || !fns) {
        return submodi_nomem(run->p.problem->who);
    }
    for (size_t j = 0; j < l->nparts; j++) {
        if (l->child[j] >= 0) {
            parts[l->child[j]] = l->parts[j];
        }
    }
    submod_status status = submodi_fn_minors(fn, run->p.order, parts, count, fns);
    for (size_t j = 0; status == SUBMOD_OK && j < count; j++) {
        children[j].fn = fns[j];
    }
    return status;
}

/* All points of the corral, and that of the last look with weight 0. */
static submod_status make_starts(const layout *l, const submodi_wolfe *run, submodi_piece *children,
                                 size_t count)
{
    const submodi_vertices *v = &run->corral.points;
    for (size_t j = 0; j < count; j++) {
        if (!take_points(&children[j], v->count + 1)) {
            return submodi_nomem(run->p.problem->who);
        }
    }
    for (size_t k = 0; k < v->count; k++) {
        hand_down(l, children, k, submodi_vertices_row(v, k), v->origin,
                  submodi_vertices_order(v, k), v->weights[k], run->p.sigma);
    }
    hand_down(l, children, v->count, run->p.vertex, NULL, run->p.order, 0, run->p.sigma);
    return SUBMOD_OK;
}

submod_status submodi_divide(const submodi_piece *parent, const submodi_wolfe *run,
                             int32_t *sequence, submodi_piece *children, size_t *count,
                             submod_work *work)
{
    layout l;
    int32_t *old = submodi_take(work, run->p.n, sizeof *old);
    if (!old || !lay_out(&l, run, work)) {
        return submodi_nomem(run->p.problem->who);
    }
    int32_t *elements = sequence + parent->part.begin;
    memcpy(old, elements, l.n * sizeof *old);
    for (size_t r = 0; r < l.n; r++) {
        elements[r] = old[run->p.order[r]];
    }
    *count = set_up(&l, parent, run, children);
    submod_status status = make_functions(&l, run, children, *count, work);
    status = status ? status : make_starts(&l, run, children, *count);
    for (size_t j = 0; status != SUBMOD_OK && j < *count; j++) {
        submodi_piece_clear(&children[j]);
    }
    *count = status == SUBMOD_OK ? *count : 0;
    return status;
}
