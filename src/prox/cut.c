/* Prox of a cut by divide and conquer over the level sets of u, as in decompose.c, with one flow
 * that is kept from the first look to the last (cut_flow.c).
 *
 * The parts stand in an order along which u falls. If u is constant on a part, its value can only
 * be alpha = mean (x - cross / lambda). Each look aims at z = lambda (x - alpha) and makes the flow
 * maximal. If some vertices have more than they can get rid of, they and all that they can reach
 * have u > alpha, and the part is divided; else it is settled. What is not connected within a part
 * becomes parts of their own. All open parts are looked at in one sweep. After a lopsided division
 * the larger side is looked at with the median of x - s / lambda for alpha, s the present base; if
 * that does not divide it the mean is tried again. So there are at most 4 n looks. A division must
 * make alpha larger on the first side than on the second. If it does not, because of rounding, it
 * is ignored.
 *
 * s is the flow itself: a base whatever the flow, because no arc carries more than its weight. So
 * the gap is right even if the search ends early. It needs no sort: u differs only between parts,
 * where arcs are full.
 *
 * Cost: the flows; 512^2 pixels take some 20 to 30 sweeps, of which the first few matter.
 */
#include <float.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "prox/cut_flow.h"
#include "prox/isotonic.h"
#include "prox/solver.h"

enum { LOPSIDED = 8 }; /* lopsided: one side has less than 1 / 8 of the part */

/* In a part more vertices give than take, or not. */
enum { GIVE = 1, TAKE = 2 };

typedef struct open_part {
    submodi_flow_part flow;
    bool by_median; /* at the next look */
} open_part;

typedef struct levels {
    const submodi_prox_problem *p;
    submod_prox_info *info;
    submodi_cut_flow flow;
    double *x, *z;    /* by rank in the order of the flow */
    double *scratch;  /* n */
    uint8_t *reached; /* by vertex */
    uint32_t *degree; /* by vertex, scratch */
    int32_t *nodes;   /* scratch, n + 1 */
    int32_t *list;    /* scratch */
    open_part *parts, *next;
    size_t count, next_count;
    double *u, *s;
} levels;

bool submodi_can_cut(const submod_fn *fn)
{
    return fn->ops.minimize == submodi_cut_minimize;
}

/* An open part has at least two vertices, unless n = 1. */
static bool take_arrays(levels *l, submod_work *w)
{
    size_t n = l->p->fn->n;
    double **vectors[] = {&l->x, &l->z, &l->scratch, NULL};
    l->reached = submodi_take(w, n, sizeof *l->reached);
    l->degree = submodi_take(w, n, sizeof *l->degree);
    l->nodes = submodi_take(w, n + 1, sizeof *l->nodes);
    l->list = submodi_take(w, n, sizeof *l->list);
    l->parts = submodi_take(w, n / 2 + 1, sizeof *l->parts);
    l->next = submodi_take(w, n / 2 + 1, sizeof *l->next);
    return submodi_take_vectors(w, n, vectors) && l->reached && l->degree && l->nodes && l->list &&
           l->parts && l->next;
}

/* ---- what to aim at ---- */

/* Means over ranks. */
static double mean_x(const levels *l, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        sum += l->p->x[l->flow.order[i]];
    }
    return sum / (double)(end - begin);
}

static double mean_cross(const levels *l, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        sum += l->flow.cross[l->flow.order[i]];
    }
    return sum / (double)(end - begin);
}

/* z of a part for alpha = mean (x - cross / lambda). Returns alpha. */
static double aim_at_mean(levels *l, const submodi_flow_part *part)
{
    for (size_t i = part->begin; i < part->end; i++) {
        l->x[i] = l->p->x[l->flow.order[i]];
    }
    return submodi_block_level(part->end - part->begin, l->x + part->begin,
                               mean_cross(l, part->begin, part->end), l->p->lambda,
                               l->z + part->begin);
}

/* The same for alpha = the median of x - s / lambda. If vertex m has it, then z = lambda (x - x_m)
 * + s_m. */
static submod_status aim_at_median(levels *l, const submodi_flow_part *part, submod_work *work)
{
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, work);
    size_t k = part->end - part->begin;
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = l->flow.order[i];
        l->x[i] = l->p->x[v];
        l->scratch[i] = l->x[i] - submodi_cut_flow_base(&l->flow, part, v) / l->p->lambda;
    }
    submod_status status = submodi_sort_f64(l->scratch + part->begin, k, w, &sorted);
    if (status == SUBMOD_OK) {
        size_t m = part->begin + (size_t)submodi_sorted_index(&sorted, k / 2);
        double s = submodi_cut_flow_base(&l->flow, part, l->flow.order[m]);
        for (size_t i = part->begin; i < part->end; i++) {
            l->z[i] = l->p->lambda * (l->x[i] - l->x[m]) + s;
        }
    }
    submodi_scope_close(&scope);
    return status == SUBMOD_OK ? SUBMOD_OK : submodi_nomem(l->p->who);
}

static bool more_give(const submodi_network *net, const int32_t *nodes, size_t count)
{
    size_t givers = 0;
    size_t takers = 0;
    for (size_t i = 0; i < count; i++) {
        givers += net->excess[nodes[i]] > 0;
        takers += net->excess[nodes[i]] < 0;
    }
    return givers > takers;
}

/* Aims at all open parts. Marks the vertices that need a general flow: whether more of their part
 * give than take, or not. */
static submod_status aim(levels *l, submod_work *w)
{
    memset(l->reached, 0, l->p->fn->n);
    for (size_t j = 0; j < l->count; j++) {
        submodi_flow_part *part = &l->parts[j].flow;
        const int32_t *vertices = l->flow.order + part->begin;
        size_t k = part->end - part->begin;
        submod_status status = SUBMOD_OK;
        if (l->parts[j].by_median) {
            status = aim_at_median(l, part, w);
        } else {
            aim_at_mean(l, part);
        }
        status = status ? status : submodi_cut_flow_aim(l->p->who, &l->flow, part, l->z);
        if (status != SUBMOD_OK) {
            return status;
        }
        for (size_t i = 0; i < k; i++) {
            l->degree[vertices[i]] = l->flow.degree[vertices[i]];
        }
        bool left = submodi_prune(&l->flow.net, vertices, k, l->degree, l->list) > 0;
        uint8_t kind = more_give(&l->flow.net, vertices, k) ? GIVE : TAKE;
        for (size_t i = 0; left && i < k; i++) {
            l->reached[vertices[i]] = kind;
        }
        l->info->work += k;
    }
    l->info->iterations += l->count;
    l->info->oracle_calls += l->count;
    return SUBMOD_OK;
}

/* ---- what comes of it ---- */

static void settle(levels *l, const submodi_flow_part *part)
{
    double alpha = aim_at_mean(l, part);
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = l->flow.order[i];
        l->u[v] = alpha;
        l->s[v] = submodi_cut_flow_base(&l->flow, part, v);
    }
}

static void keep_open(levels *l, const submodi_flow_part *part, bool by_median)
{
    l->next[l->next_count++] = (open_part){*part, by_median};
}

/* Keeps the components of a part open, each as a part of its own, for nothing connects them. Single
 * vertices are settled at once. size: that of the part they came from. */
static void open_components(levels *l, submodi_flow_part part, size_t size)
{
    while (part.begin < part.end) {
        submodi_flow_part component = submodi_cut_flow_component(&l->flow, &part);
        size_t k = component.end - component.begin;
        if (k == 1) {
            settle(l, &component);
        } else {
            keep_open(l, &component, size - k < size / LOPSIDED);
        }
    }
}

/* Divides a part after its first vertices. */
static void divide(levels *l, const submodi_flow_part *part, size_t first)
{
    submodi_flow_part side[2];
    size_t size = part->end - part->begin;
    submodi_cut_flow_split(&l->flow, part, first, side);
    open_components(l, side[0], size);
    open_components(l, side[1], size);
}

/* Whether alpha falls from the first side of a division to the second, as it must. weight: that of
 * the arcs from the first to the second. */
static bool falls(const levels *l, const submodi_flow_part *part, size_t first, double weight)
{
    size_t middle = part->begin + first;
    double x = mean_x(l, part->begin, middle) - mean_x(l, middle, part->end);
    double cross = mean_cross(l, part->begin, middle) - mean_cross(l, middle, part->end);
    double more = weight / (double)first + weight / (double)(part->end - middle);
    return l->p->lambda * x > cross + more;
}

/* Decides what becomes of each part: new parts, one more look, or settled. */
static void sort_out(levels *l)
{
    for (size_t j = 0; j < l->count; j++) {
        const submodi_flow_part *part = &l->parts[j].flow;
        size_t k = part->end - part->begin;
        size_t first;
        submodi_reach(&l->flow.net, l->flow.order + part->begin, k, false, SUBMODI_FLOW_NOISE,
                      l->reached, l->list);
        double weight = submodi_cut_flow_sort(&l->flow, part, l->reached, &first);
        if (first > 0 && first < k && falls(l, part, first, weight)) {
            divide(l, part, first);
        } else if (l->parts[j].by_median) {
            keep_open(l, part, false);
        } else {
            settle(l, part);
        }
    }
}

/* The reason to stop before the next look; SUBMOD_OK: go on. */
static submod_status reason_to_stop(const levels *l, double start)
{
    double limit = l->p->settings->time_limit;
    if (limit > 0 && submodi_seconds() - start >= limit) {
        return SUBMOD_TIMELIMIT;
    }
    return submodi_cancelled() ? SUBMOD_CANCELLED : SUBMOD_OK;
}

/* Turns to the parts that were kept open. */
static void turn(levels *l)
{
    open_part *parts = l->parts;
    l->parts = l->next;
    l->count = l->next_count;
    l->next = parts;
    l->next_count = 0;
}

/* Makes the flow maximal among the vertices that are marked so. */
static submod_status make_maximal(levels *l, uint8_t kind, submod_work *w)
{
    size_t nodes = 0;
    for (size_t v = 0; v < l->p->fn->n; v++) { /* ascending: neighbours are close in memory */
        l->nodes[nodes] = (int32_t)v;
        nodes += l->reached[v] == kind;
    }
    submod_status status =
        nodes ? submodi_max_flow(&l->flow.net, l->nodes, nodes, SUBMODI_LOOKS_AGAIN, w) : SUBMOD_OK;
    status = status == SUBMOD_ECANCELLED ? SUBMOD_CANCELLED : status;
    return status == SUBMOD_ENOMEM ? submodi_nomem(l->p->who) : status;
}

/* One look at every open part. A flow that is cancelled leaves a base all the same. */
static submod_status descend(levels *l, submod_work *w)
{
    submod_status status = aim(l, w);
    for (uint8_t kind = GIVE; status == SUBMOD_OK && kind <= TAKE; kind++) {
        status = make_maximal(l, kind, w);
    }
    if (status == SUBMOD_OK) {
        sort_out(l);
        turn(l);
    }
    return status;
}

static submod_status run(levels *l, double start, submod_work *w)
{
    submod_status status = SUBMOD_OK;
    while (status == SUBMOD_OK && l->count) {
        status = reason_to_stop(l, start);
        status = status ? status : descend(l, w);
    }
    for (size_t j = 0; status > 0 && j < l->count; j++) {
        settle(l, &l->parts[j].flow);
    }
    return status;
}

/* Fills in the extension. Only arcs between parts differ in u, and those from an earlier to a later
 * part are full. */
static void measure(const levels *l, submodi_extension *f)
{
    const submodi_cut *c = l->flow.cut;
    double largest = 0;
    double weight = 0;
    *f = (submodi_extension){.known = true};
    for (size_t v = 0; v < c->n; v++) {
        largest = fmax(largest, fabs(l->u[v]));
        for (size_t a = c->start[v]; a < c->start[v + 1]; a++) {
            const submodi_neighbour *w = &c->neighbours[a];
            double fall = l->u[v] - l->u[w->vertex];
            if (w->out > 0 && l->flow.part[v] != l->flow.part[w->vertex]) {
                bool full = l->flow.rank[v] < l->flow.rank[w->vertex];
                f->value += w->out * fmax(fall, 0);
                f->excess += w->out * (fmax(fall, 0) - (full ? fall : 0));
                weight += 2 * w->out;
            }
        }
    }
    f->size = weight * (largest + 8 * DBL_EPSILON * weight / l->p->lambda);
}

submod_status submodi_prox_cut(const submodi_prox_problem *p, double *u, double *s,
                               submod_prox_info *info, submod_work *work)
{
    double start = submodi_seconds();
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    levels l = {.p = p, .info = info, .u = u, .s = s};
    submodi_flow_part all;
    submod_status status = SUBMOD_OK;
    if (take_arrays(&l, w) && submodi_cut_flow_start(&l.flow, p->fn->ctx, &all, w)) {
        open_components(&l, all, SIZE_MAX);
        turn(&l);
        status = run(&l, start, w);
    } else {
        status = submodi_nomem(p->who);
    }
    if (status >= 0 && p->extension && !p->settings->hinge) {
        measure(&l, p->extension);
    }
    submodi_scope_close(&scope);
    return status;
}
