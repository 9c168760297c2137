/* Prox of a cut by divide and conquer (partition.c), with one flow that is kept from the first
 * sweep to the last, and beyond, for other x (docs/mathematics.md, section 7).
 *
 * Within a part, A -> F(S + A) - F(S) - z(A), S all that comes before, is the cut within the part
 * less (z - cross)(A): its minimisers are those of a maximal flow with the excess z - cross. A new
 * z changes the excess only. When a part is divided into a minimiser A and the rest, the arcs from
 * A to the rest are full and nothing flows back: they are closed.
 *
 * The flows dominate the cost. 512^2 pixels take 20 to 30 sweeps, of which only the first few are
 * expensive, and only a few sweeps for an x near the last one. */
#include "prox/prox_cut.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sums.h"

/* Kinds of parts: more vertices have a positive than a negative excess, or not. */
enum { GIVE = 1, TAKE = 2 };

/* Levels whose difference is below this times the largest one count as equal. */
static const double TIE = 1e-13;

/* Lets a flow aim at several z before it has used half of its limit. */
static const double ROOM = 8;

static size_t size_of(const submodi_open_part *part)
{
    return part->end - part->begin;
}

/* ---- the oracle of the partition ---- */

/* Aims at z in an open part and solves its trees. If it needs a general flow, marks its vertices
 * with its kind. */
static submod_status aim(submodi_cut_prox *c, submodi_open_part *part)
{
    submodi_partition *p = &c->search;
    submodi_cut_flow *f = &c->flow;
    const int32_t *vertices = p->order + part->begin;
    const size_t k = size_of(part);
    size_t givers = 0, takers = 0;
    TRY(submodi_flow_aim(f, &part->flow, vertices, k, p->z + part->begin));
    bool general = submodi_prune(&f->net, vertices, k, f->degree, c->left, p->rest) > 0;
    for (size_t i = 0; i < k; i++) {
        givers += f->net.excess[vertices[i]] > 0;
        takers += f->net.excess[vertices[i]] < 0;
    }
    uint8_t kind = !general ? 0 : (givers > takers ? GIVE : TAKE);
    for (size_t i = 0; i < k; i++) {
        p->in[vertices[i]] = kind;
    }
    return SUBMOD_OK;
}

/* Makes the flow maximal among the vertices marked `kind`. If many are open, lists them in
 * ascending order, because neighbours are close in memory. */
static submod_status make_maximal(submodi_cut_prox *c, uint8_t kind, bool many, submod_work *w)
{
    const submodi_partition *p = &c->search;
    size_t nodes = 0;
    for (size_t v = 0; many && v < p->n; v++) {
        c->nodes[nodes] = (int32_t)v;
        nodes += p->in[v] == kind;
    }
    for (size_t j = 0; !many && j < p->count; j++) {
        for (size_t i = p->parts[j].begin; i < p->parts[j].end; i++) {
            c->nodes[nodes] = p->order[i];
            nodes += p->in[p->order[i]] == kind;
        }
    }
    if (nodes == 0) {
        return SUBMOD_OK;
    }
    submod_status status = submodi_max_flow(&c->flow.net, c->nodes, nodes, SUBMODI_VISITS_WARM, w);
    status = status == SUBMOD_ECANCELLED ? SUBMOD_CANCELLED : status;
    return status == SUBMOD_ENOMEM ? submodi_out_of_memory() : status;
}

/* If the flow is cancelled, s stays unchanged and is a base. */
static submod_status minimize(submodi_partition *p, submod_work *w)
{
    submodi_cut_prox *c = p->ctx;
    size_t open = 0;
    for (size_t j = 0; j < p->count; j++) {
        open += size_of(&p->parts[j]);
    }
    bool many = 8 * open > p->n;
    if (many) {
        memset(p->in, 0, p->n);
    }
    for (size_t j = 0; j < p->count; j++) {
        TRY(aim(c, &p->parts[j]));
    }
    TRY(make_maximal(c, GIVE, many, w));
    TRY(make_maximal(c, TAKE, many, w));
    for (size_t j = 0; j < p->count; j++) {
        const submodi_open_part *part = &p->parts[j];
        submodi_reach(&c->flow.net, p->order + part->begin, size_of(part), false,
                      SUBMODI_FLOW_NOISE, p->in, p->rest);
        for (size_t i = part->begin; i < part->end; i++) {
            p->s[p->order[i]] = submodi_flow_base(&c->flow, &part->flow, p->order[i]);
        }
    }
    return SUBMOD_OK;
}

/* Gives the smaller side of a part an id of its own and closes the arcs between the sides. */
static void separate(submodi_cut_prox *c, const submodi_open_part *part, submodi_open_part side[2])
{
    const int32_t *order = c->search.order;
    submodi_cut_flow *f = &c->flow;
    bool fewer = size_of(&side[0]) <= size_of(&side[1]);
    submodi_open_part *moved = &side[fewer ? 0 : 1];
    moved->flow.id = c->ids++;
    for (size_t i = moved->begin; i < moved->end; i++) {
        f->part[order[i]] = moved->flow.id;
    }
    for (size_t i = moved->begin; i < moved->end; i++) {
        int32_t v = order[i];
        for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
            const submodi_arc *arc = &f->net.arcs[a];
            if (f->closed[a] == SUBMODI_WITHIN && f->part[arc->head] == part->flow.id) {
                submodi_flow_close(f, &part->flow.scaling, fewer ? v : arc->head,
                                   fewer ? a : arc->opposite);
            }
        }
    }
}

/* Opens the arcs among the vertices of a part again, with the flow that they had. */
static void reopen(submodi_cut_prox *c, const submodi_open_part *part)
{
    const int32_t *order = c->search.order;
    const uint32_t id = part->flow.id;
    for (size_t i = part->begin; i < part->end; i++) {
        c->flow.part[order[i]] = id;
    }
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = order[i];
        for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
            if (c->flow.closed[a] == SUBMODI_LEAVES &&
                c->flow.part[c->cut->neighbours[a].vertex] == id) {
                submodi_flow_reopen(&c->flow, &part->flow.scaling, v, a);
            }
        }
    }
}

static void put(submodi_partition *p, size_t rank, int32_t v)
{
    p->order[rank] = v;
    p->rank[v] = (int32_t)rank;
}

/* Moves a vertex and all that are connected to it to the front of a part, by breadth-first search;
 * the order is its queue. Returns these as a part of their own; the rest remains. */
static submodi_open_part component(submodi_cut_prox *c, submodi_open_part *part)
{
    submodi_partition *p = &c->search;
    uint32_t *id = c->flow.part;
    submodi_open_part found = *part;
    found.flow.id = c->ids++;
    found.end = part->begin + 1;
    id[p->order[part->begin]] = found.flow.id;
    for (size_t i = found.begin; i < found.end; i++) {
        int32_t v = p->order[i];
        for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
            int32_t u = c->flow.net.arcs[a].head;
            if (id[u] == part->flow.id) {
                id[u] = found.flow.id;
                put(p, (size_t)p->rank[u], p->order[found.end]);
                put(p, found.end++, u);
            }
        }
    }
    part->begin = found.end;
    return found;
}

/* Opens the components of a part that came from one of this size. */
static void open_components(submodi_cut_prox *c, submodi_open_part part, size_t size)
{
    while (part.begin < part.end) {
        const submodi_open_part found = component(c, &part);
        submodi_partition_open(&c->search, &found, size);
    }
}

static submod_status divide(submodi_partition *p, const submodi_open_part *part, size_t first,
                            bool *divided)
{
    submodi_cut_prox *c = p->ctx;
    submodi_open_part side[2] = {*part, *part};
    side[0].end = side[1].begin = part->begin + first;
    separate(c, part, side);
    *divided = submodi_partition_falls(p, part, first);
    if (*divided) {
        c->changes++;
        open_components(c, side[0], size_of(part));
        open_components(c, side[1], size_of(part));
    } else {
        reopen(c, part);
    }
    return SUBMOD_OK;
}

static const submodi_partition_oracle by_flow = {.minimize = minimize, .divide = divide};

/* ---- joining parts ----
 *
 * For a new x the parts have new means. While the means violate the order along a full arc, its two
 * parts are joined; the mean of joined parts follows from their sums, without any flow. Then all
 * parts are divided again, starting from their present flow. If the new parts are in order, u is
 * exact; otherwise another round follows. */

/* Makes each part's index its id, and sums cross over the parts. */
static void number_parts(submodi_cut_prox *c)
{
    submodi_partition *p = &c->search;
    for (size_t k = 0; k < p->settled_count; k++) {
        submodi_open_part *part = &p->settled[k];
        part->flow.id = (uint32_t)k;
        c->part_cross[k] = 0;
        for (size_t i = part->begin; i < part->end; i++) {
            c->flow.part[p->order[i]] = (uint32_t)k;
            c->part_cross[k] += c->flow.cross[p->order[i]];
        }
    }
    c->ids = (uint32_t)p->settled_count;
}

/* Computes the levels of the parts for the present x, each a group of its own, and u from them.
 * Returns the largest |level|. */
static double measure_levels(submodi_cut_prox *c)
{
    const submodi_partition *p = &c->search;
    double largest = 0;
    for (size_t k = 0; k < p->settled_count; k++) {
        const submodi_open_part *part = &p->settled[k];
        double sum = 0;
        for (size_t i = part->begin; i < part->end; i++) {
            sum += p->x[p->order[i]];
        }
        c->sum[k] = sum - c->part_cross[k] / p->lambda;
        c->size[k] = (int32_t)size_of(part);
        c->level[k] = c->sum[k] / c->size[k];
        c->root[k] = (int32_t)k;
        c->grown[k] = 0;
        for (size_t i = part->begin; i < part->end; i++) {
            p->u[p->order[i]] = c->level[k];
        }
        largest = fmax(largest, fabs(c->level[k]));
    }
    return largest;
}

static int32_t group_of(submodi_cut_prox *c, size_t part)
{
    int32_t k = (int32_t)part;
    while (c->root[k] != k) {
        c->root[k] = c->root[c->root[k]];
        k = c->root[k];
    }
    return k;
}

/* Joins two groups. */
static void unite(submodi_cut_prox *c, int32_t a, int32_t b, int32_t pass)
{
    int32_t larger = c->size[a] < c->size[b] ? b : a;
    int32_t other = larger == a ? b : a;
    c->changes++;
    c->root[other] = larger;
    c->sum[larger] += c->sum[other];
    c->size[larger] += c->size[other];
    c->level[larger] = c->sum[larger] / c->size[larger];
    c->grown[larger] = pass;
}

/* Joins the group of v with those that it has a full arc to or from, against the order. In the
 * first pass u already rules out a join for most arcs. */
static bool join_at(submodi_cut_prox *c, int32_t v, double tie, int32_t pass)
{
    const double *u = c->search.u;
    bool joined = false;
    for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
        const bool leaves = c->flow.closed[a] == SUBMODI_LEAVES;
        int32_t head = c->cut->neighbours[a].vertex;
        if (c->flow.closed[a] == SUBMODI_WITHIN ||
            (pass == 1 && (!leaves || u[v] - u[head] >= -tie))) {
            continue;
        }
        int32_t mine = group_of(c, c->flow.part[v]), other = group_of(c, c->flow.part[head]);
        double fall = c->level[mine] - c->level[other];
        if (other != mine && (leaves ? fall : -fall) < -tie) {
            unite(c, mine, other, pass);
            joined = true;
        }
    }
    return joined;
}

/* Joins parts until the levels of groups fall along all full arcs. Each later pass visits only the
 * groups that grew since the previous pass began. Returns whether any parts are joined. */
static bool join_violated(submodi_cut_prox *c, double tie)
{
    const submodi_partition *p = &c->search;
    bool any = false;
    for (size_t v = 0; v < p->n; v++) {
        any |= join_at(c, (int32_t)v, tie, 1);
    }
    bool joined = any;
    for (int32_t pass = 2; joined; pass++) {
        joined = false;
        for (size_t k = 0; k < p->settled_count; k++) {
            if (c->grown[group_of(c, k)] + 1 < pass) {
                continue;
            }
            for (size_t i = p->settled[k].begin; i < p->settled[k].end; i++) {
                joined |= join_at(c, p->order[i], tie, pass);
            }
        }
    }
    return any;
}

/* Puts the vertices of each group one after the other. A group gets the coarsest scaling of its
 * parts. */
static void order_by_group(submodi_cut_prox *c)
{
    submodi_partition *p = &c->search;
    size_t at = 0;
    for (size_t k = 0; k < p->settled_count; k++) {
        c->groups[k] = p->settled[k];
        c->groups[k].begin = c->groups[k].end = at;
        at += c->root[k] == (int32_t)k ? (size_t)c->size[k] : 0;
    }
    for (size_t k = 0; k < p->settled_count; k++) {
        submodi_open_part *part = &p->settled[k], *group = &c->groups[group_of(c, k)];
        double root = part->flow.scaling.root, coarsest = group->flow.scaling.root;
        size_t begin = group->end;
        for (size_t i = part->begin; i < part->end; i++) {
            p->rank[p->order[i]] = (int32_t)group->end;
            p->rest[group->end++] = p->order[i];
        }
        part->begin = begin;
        part->end = group->end;
        if (root > 0 && (coarsest == 0 || root < coarsest)) {
            group->flow.scaling = part->flow.scaling;
        }
    }
    memcpy(p->order, p->rest, p->n * sizeof *p->order);
}

/* Opens the groups of several parts, and if `all`, the other parts of several vertices, too. */
static void open_groups(submodi_cut_prox *c, bool all)
{
    submodi_partition *p = &c->search;
    size_t kept = 0;
    order_by_group(c);
    for (size_t k = 0; k < p->settled_count; k++) {
        submodi_open_part *part = &p->settled[k];
        const submodi_open_part *group = &c->groups[group_of(c, k)];
        if (size_of(group) > size_of(part)) {
            submodi_flow_rescale(&c->flow, &part->flow, p->order + part->begin, size_of(part),
                                 group->flow.scaling, part->flow.scaling.root > 0);
        }
    }
    for (size_t k = 0; k < p->settled_count; k++) {
        submodi_open_part *group = &c->groups[k];
        bool joined = size_of(group) > size_of(&p->settled[k]);
        if (joined) {
            reopen(c, group);
            /* If weights exceed the limit of the flow, the next z drops the flow. */
            group->flow.used = group->flow.scaling.limit >= c->cut->heaviest ? 0 : INFINITY;
        }
        if (joined || (all && size_of(group) > 1)) {
            group->by_median = false;
            p->next[p->next_count++] = *group;
        } else if (size_of(group) > 0) {
            p->settled[kept++] = *group;
        }
    }
    p->settled_count = kept;
}

/* Solves again from the parts and the flow of the last call. */
static submod_status solve_again(submodi_cut_prox *c, size_t rounds, submod_work *w)
{
    submod_status status = SUBMOD_OK;
    c->search.means_only = true; /* few parts change */
    for (size_t round = 0; round < rounds && status == SUBMOD_OK; round++) {
        bool joined = join_violated(c, TIE * measure_levels(c));
        if (round > 0 && !joined) {
            break;
        }
        open_groups(c, round == 0);
        status = submodi_partition_run(&c->search, w);
        number_parts(c);
    }
    return status;
}

/* ---- the prox ---- */

static void allocate_kept(submodi_cut_prox *c, submod_work *w)
{
    size_t n = c->cut->n;
    int32_t **numbers[] = {&c->root, &c->size, &c->grown};
    double **vectors[] = {&c->part_cross, &c->sum, &c->level};
    c->search.settled = submodi_work_alloc(w, n, sizeof *c->search.settled);
    c->groups = submodi_work_alloc(w, n, sizeof *c->groups);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i] = submodi_work_alloc(w, n, sizeof **numbers[i]);
        *vectors[i] = submodi_work_alloc(w, n, sizeof **vectors[i]);
    }
}

submod_status submodi_cut_prox_start(submodi_cut_prox *c, const submodi_cut *cut, double lambda,
                                     bool kept, submod_prox_info *info, submod_work *w)
{
    *c =
        (submodi_cut_prox){.search = {.oracle = &by_flow, .ctx = c, .lambda = lambda, .info = info},
                           .cut = cut,
                           .kept = kept};
    c->nodes = submodi_work_alloc(w, cut->n + 1, sizeof *c->nodes);
    c->left = submodi_work_alloc(w, cut->n, sizeof *c->left);
    if (kept) {
        allocate_kept(c, w);
    }
    TRY(submodi_flow_start(&c->flow, cut, ROOM, w));
    c->flow.closed = submodi_work_alloc(w, cut->start[cut->n], sizeof *c->flow.closed);
    c->search.gain = c->flow.cross;
    return submodi_partition_start(&c->search, cut->n, w);
}

/* Opens one part of all vertices, without flow. The search for its components reads the arcs'
 * heads.
 */
static void open_first(submodi_cut_prox *c)
{
    const size_t n = c->cut->n;
    memset(c->flow.part, 0, n * sizeof *c->flow.part);
    memset(c->flow.closed, SUBMODI_WITHIN, c->cut->start[n]);
    for (size_t v = 0; v < n; v++) {
        c->flow.cross[v] = c->search.s[v] = 0;
    }
    for (size_t a = 0; a < c->cut->start[n]; a++) {
        c->flow.net.arcs[a].head = c->cut->neighbours[a].vertex;
    }
    c->ids = 1;
    open_components(c, (submodi_open_part){.end = n}, SIZE_MAX);
}

submod_status submodi_cut_prox_solve(submodi_cut_prox *c, const double *x, size_t rounds,
                                     double deadline, double *u, double *s, submod_work *w)
{
    submodi_partition *p = &c->search;
    submod_status status;
    p->u = u;
    p->s = s;
    p->base = s;
    p->x = x;
    p->deadline = deadline;
    c->changes = 0;
    if (c->solved) {
        return solve_again(c, rounds, w);
    }
    open_first(c);
    status = submodi_partition_run(p, w);
    if (c->kept) {
        number_parts(c);
    }
    c->solved = true;
    return status;
}

void submodi_cut_prox_means(const submodi_cut_prox *c, double share, double *y)
{
    const submodi_partition *p = &c->search;
    const double per = share / p->lambda;
    for (size_t k = 0; k < p->settled_count; k++) {
        const submodi_open_part *part = &p->settled[k];
        double sum = -per * c->part_cross[k];
        for (size_t i = part->begin; i < part->end; i++) {
            sum += y[p->order[i]];
        }
        sum /= (double)size_of(part);
        for (size_t i = part->begin; i < part->end; i++) {
            y[p->order[i]] = sum;
        }
    }
}

bool submodi_can_cut(const submod_fn *fn)
{
    return submodi_cut_of(fn) != NULL;
}

submod_status submodi_prox_cut(const submodi_prox_problem *p, double *u, double *s,
                               submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    double deadline = submodi_deadline(p->settings->time_limit);
    submodi_cut_prox c;
    submod_status status = submodi_cut_prox_start(&c, p->fn->ctx, p->lambda, false, info, w);
    status = status ? status : submodi_cut_prox_solve(&c, p->x, 1, deadline, u, s, w);
    submodi_scope_close(&scope);
    return status;
}

/* ---- the extension ----
 *
 *     f(u) = sum over arcs (v, w) of weight max(u_v - u_w, 0) = <g, u> ,
 *     g_v  = weight of the arcs to lower vertices - weight of the arcs from higher ones .
 *
 * g is a subgradient. So f(u) - <s, u> = sum of (g_v - s_v) (u_v - c) for any c, because g and s
 * both sum to 0. Where v has no neighbour at its own level, g_v - s_v is rounding. In a block of
 * equal u it is what flows inside, which adds up to 0: these sums are compensated. c is the middle
 * of u, so that an offset of u does no harm. Cost: O(n + edges). */
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
    submodi_compensated_sum excess = {0, 0};
    submodi_compensated_sum total = {0, 0}; /* of s; 0 but for rounding */
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
        excess = submodi_compensated_add(excess, (g - s[v]) * (u[v] - middle));
        total = submodi_compensated_add(total, s[v]);
        weight += size;
    }
    const double largest = fmax(fabs(lowest), fabs(highest));
    *f = (submodi_extension){.known = true,
                             .value = value,
                             .excess = excess.hi + (excess.lo - middle * (total.hi + total.lo)),
                             .size = weight * (largest + 8 * DBL_EPSILON * weight / lambda)};
}
