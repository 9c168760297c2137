/* Prox of a cut by divide and conquer (partition.c), with one flow that is kept from the first look
 * to the last (cut_flow.c), and beyond, for other x.
 *
 * Each look aims at z = lambda (x - alpha) and makes the flow maximal. If some vertices have more
 * than they can get rid of, they and all that they can reach have u > alpha. What is not connected
 * within a part becomes parts of their own.
 *
 * s is the flow itself: a base whatever the flow, because no arc carries more than its weight. So
 * the gap is right even if the search ends early.
 *
 * For another x, the parts have other means. Where those violate the order along a full arc, the
 * two parts are joined, until no such arc is left: the means of joined parts follow from their sums
 * alone, without any flow. Then all parts are looked at again, with the flow that they have. If
 * what was divided once more is in order, too, u is exact; else another round follows.
 *
 * Cost: the flows; 512^2 pixels take some 20 to 30 sweeps, of which the first few matter, and a
 * few for an x close by.
 */
#include "prox/prox_cut.h"

#include <float.h>
#include <string.h>

#include "base/internal.h"
#include "base/long_sum.h"

/* In a part more vertices give than take, or not. */
enum { GIVE = 1, TAKE = 2 };

/* Levels whose difference is below this times the largest one count as equal. */
static const double TIE = 1e-13;

/* ---- the oracle of the partition ---- */

static void gains(const submodi_partition *p, const submodi_open_part *part, bool base)
{
    const submodi_cut_prox *c = p->ctx;
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = p->order[i];
        p->gain[i] = base ? submodi_cut_flow_base(&c->flow, part, v) : c->flow.cross[v];
    }
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

/* Aims at z in all open parts and solves their trees. Marks the vertices that need a general flow:
 * whether more of their part give than take, or not. */
static submod_status aim(submodi_cut_prox *c)
{
    submodi_partition *p = &c->search;
    for (size_t j = 0; j < p->count; j++) {
        submodi_open_part *part = &p->parts[j];
        const int32_t *vertices = p->order + part->begin;
        size_t k = part->end - part->begin;
        TRY(submodi_cut_flow_aim(&c->flow, part, p->z));
        for (size_t i = 0; i < k; i++) {
            c->limit[vertices[i]] = c->flow.degree[vertices[i]];
        }
        bool left = submodi_prune(&c->flow.net, vertices, k, c->limit, p->rest) > 0;
        uint8_t kind = !left ? 0 : more_give(&c->flow.net, vertices, k) ? GIVE : TAKE;
        for (size_t i = 0; i < k; i++) {
            p->in[vertices[i]] = kind;
        }
    }
    return SUBMOD_OK;
}

/* Lists the vertices that are marked so: where many are open, ascending, since neighbours are close
 * in memory. */
static size_t list_nodes(submodi_cut_prox *c, uint8_t kind, bool many)
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
    return nodes;
}

static submod_status make_maximal(submodi_cut_prox *c, uint8_t kind, bool many, submod_work *w)
{
    size_t nodes = list_nodes(c, kind, many);
    if (nodes == 0) {
        return SUBMOD_OK;
    }
    submod_status status = submodi_max_flow(&c->flow.net, c->nodes, nodes, SUBMODI_VISITS_WARM, w);
    status = status == SUBMOD_ECANCELLED ? SUBMOD_CANCELLED : status;
    return status == SUBMOD_ENOMEM ? submodi_out_of_memory() : status;
}

/* A flow that is cancelled leaves a base all the same. */
static submod_status minimize(submodi_partition *p, submod_work *w)
{
    submodi_cut_prox *c = p->ctx;
    size_t open = 0;
    for (size_t j = 0; j < p->count; j++) {
        open += p->parts[j].end - p->parts[j].begin;
    }
    bool many = 8 * open > p->n;
    if (many) {
        memset(p->in, 0, p->n);
    }
    TRY(aim(c));
    TRY(make_maximal(c, GIVE, many, w));
    TRY(make_maximal(c, TAKE, many, w));
    for (size_t j = 0; j < p->count; j++) {
        const submodi_open_part *part = &p->parts[j];
        submodi_reach(&c->flow.net, p->order + part->begin, part->end - part->begin, false,
                      SUBMODI_FLOW_NOISE, p->in, p->rest);
    }
    return SUBMOD_OK;
}

static submod_status stay(submodi_partition *p)
{
    (void)p;
    return SUBMOD_OK;
}

static double between(const submodi_partition *p, const submodi_open_part *part, size_t first)
{
    const submodi_cut_prox *c = p->ctx;
    return submodi_cut_flow_between(&c->flow, part, p->in, first);
}

static void divide(submodi_partition *p, const submodi_open_part *part, submodi_open_part side[2])
{
    submodi_cut_prox *c = p->ctx;
    submodi_cut_flow_divide(&c->flow, part, side);
}

static void put(submodi_partition *p, size_t rank, int32_t v)
{
    p->order[rank] = v;
    p->rank[v] = (int32_t)rank;
}

/* Breadth-first search; the order is its queue. */
static submodi_open_part component(submodi_partition *p, submodi_open_part *part)
{
    submodi_cut_prox *c = p->ctx;
    submodi_cut_flow *f = &c->flow;
    submodi_open_part found = *part;
    found.id = f->ids++;
    found.end = part->begin + 1;
    f->part[p->order[part->begin]] = found.id;
    for (size_t i = found.begin; i < found.end; i++) {
        int32_t v = p->order[i];
        for (size_t a = f->cut->start[v]; a < f->cut->start[v + 1]; a++) {
            int32_t u = f->net.arcs[a].head;
            if (f->part[u] == part->id) {
                f->part[u] = found.id;
                put(p, (size_t)p->rank[u], p->order[found.end]);
                put(p, found.end++, u);
            }
        }
    }
    part->begin = found.end;
    return found;
}

static void settle(submodi_partition *p, const submodi_open_part *part, double alpha)
{
    submodi_cut_prox *c = p->ctx;
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = p->order[i];
        c->u[v] = alpha;
        c->s[v] = submodi_cut_flow_base(&c->flow, part, v);
        c->label[v] = (int32_t)c->count;
    }
    c->parts[c->count++] = *part;
}

static const submodi_partition_oracle by_flow = {.gains = gains,
                                                 .minimize = minimize,
                                                 .reordered = stay,
                                                 .between = between,
                                                 .divide = divide,
                                                 .component = component,
                                                 .settle = settle};

/* ---- joining parts ---- */

static int32_t find(int32_t *root, int32_t k)
{
    while (root[k] != k) {
        root[k] = root[root[k]];
        k = root[k];
    }
    return k;
}

static size_t size_of(const submodi_open_part *part)
{
    return part->end - part->begin;
}

/* Computes the levels of the parts for the present x, each a group of its own, and u from them.
 * Returns the largest |level|. */
static double measure_levels(submodi_cut_prox *c)
{
    const submodi_partition *p = &c->search;
    double largest = 0;
    for (size_t k = 0; k < c->count; k++) {
        const submodi_open_part *part = &c->parts[k];
        double sum = 0, cross = 0;
        for (size_t i = part->begin; i < part->end; i++) {
            sum += p->x[p->order[i]];
            cross += c->flow.cross[p->order[i]];
        }
        c->sum[k] = sum - cross / p->lambda;
        c->size[k] = (int32_t)size_of(part); /* each part is its own group at first */
        c->level[k] = c->sum[k] / (double)size_of(part);
        c->root[k] = (int32_t)k;
        c->grown[k] = 0;
        for (size_t i = part->begin; i < part->end; i++) {
            c->u[p->order[i]] = c->level[k];
        }
        largest = fmax(largest, fabs(c->level[k]));
    }
    return largest;
}

/* Joins two groups. Returns the one that they now are. */
static int32_t unite(submodi_cut_prox *c, int32_t a, int32_t b, int32_t pass)
{
    int32_t larger = c->size[a] < c->size[b] ? b : a;
    int32_t other = larger == a ? b : a;
    c->root[other] = larger;
    c->sum[larger] += c->sum[other];
    c->size[larger] += c->size[other];
    c->level[larger] = c->sum[larger] / c->size[larger];
    c->grown[larger] = pass;
    return larger;
}

/* Joins the group of v with those that it has a full arc to or from, against the order. */
static bool join_at(submodi_cut_prox *c, int32_t v, double tie, int32_t pass)
{
    const submodi_cut_flow *f = &c->flow;
    int32_t mine = find(c->root, c->label[v]);
    bool joined = false;
    for (size_t a = f->cut->start[v]; a < f->cut->start[v + 1]; a++) {
        if (f->closed[a] == SUBMODI_ARC_WITHIN) {
            continue;
        }
        int32_t other = find(c->root, c->label[f->net.arcs[a].head]);
        double fall = c->level[mine] - c->level[other];
        if (other != mine && (f->closed[a] == SUBMODI_ARC_LEAVES ? fall : -fall) < -tie) {
            mine = unite(c, mine, other, pass);
            joined = true;
        }
    }
    return joined;
}

/* Joins parts along the full arcs against which their own levels rise. */
static bool join_along_arcs(submodi_cut_prox *c, double tie)
{
    const submodi_cut_flow *f = &c->flow;
    bool joined = false;
    for (size_t v = 0; v < c->n; v++) {
        for (size_t a = f->cut->start[v]; a < f->cut->start[v + 1]; a++) {
            int32_t w = f->net.arcs[a].head;
            if (f->closed[a] == SUBMODI_ARC_LEAVES && c->u[v] - c->u[w] < -tie) {
                int32_t from = find(c->root, c->label[v]);
                int32_t to = find(c->root, c->label[w]);
                if (from != to) {
                    unite(c, from, to, 1);
                    joined = true;
                }
            }
        }
    }
    return joined;
}

/* Joins parts until the levels of groups fall along all full arcs. After the first pass, each goes
 * through the groups that grew since the one before began. Returns whether any parts are joined. */
static bool join_violated(submodi_cut_prox *c, double tie)
{
    bool any = join_along_arcs(c, tie);
    bool joined = any;
    for (int32_t pass = 2; joined; pass++) {
        joined = false;
        for (size_t k = 0; k < c->count; k++) {
            const submodi_open_part *part = &c->parts[k];
            if (c->grown[find(c->root, (int32_t)k)] + 1 < pass) {
                continue;
            }
            for (size_t i = part->begin; i < part->end; i++) {
                joined |= join_at(c, c->search.order[i], tie, pass);
            }
        }
    }
    return any;
}

/* Puts the vertices of each group one after the other; old[k] becomes group k, empty if k is no
 * root. */
static void order_by_group(submodi_cut_prox *c)
{
    submodi_partition *p = &c->search;
    size_t at = 0;
    for (size_t k = 0; k < c->count; k++) {
        bool first = c->root[k] == (int32_t)k;
        size_t size = first ? (size_t)c->size[k] : 0;
        c->old[k] = (submodi_open_part){.begin = at, .end = at};
        at += size;
    }
    for (size_t k = 0; k < c->count; k++) {
        submodi_open_part *group = &c->old[find(c->root, (int32_t)k)];
        for (size_t i = c->parts[k].begin; i < c->parts[k].end; i++) {
            p->rest[group->end++] = p->order[i];
        }
    }
    memcpy(p->order, p->rest, p->n * sizeof *p->order);
    for (size_t i = 0; i < p->n; i++) {
        p->rank[p->order[i]] = (int32_t)i;
    }
}

/* Gives each group an id of its own. */
static void number_groups(submodi_cut_prox *c)
{
    c->flow.ids = 0;
    for (size_t k = 0; k < c->count; k++) {
        for (size_t i = c->old[k].begin; i < c->old[k].end; i++) {
            c->flow.part[c->search.order[i]] = c->flow.ids;
        }
        c->old[k].id = c->flow.ids;
        c->flow.ids += c->old[k].end > c->old[k].begin;
    }
}

/* Opens the groups of several parts, and if `all` the other parts of several vertices. */
static submod_status open_groups(submodi_cut_prox *c, bool all)
{
    submodi_partition *p = &c->search;
    submodi_open_part *groups = c->old;
    submodi_open_part *parts = c->parts;
    size_t count = c->count;
    order_by_group(c);
    number_groups(c);
    for (size_t k = 0; k < count; k++) {
        submodi_open_part part = parts[k];
        bool joined = size_of(&groups[k]) != size_of(&part);
        part.begin = groups[k].begin;
        part.end = groups[k].end;
        part.id = groups[k].id;
        part.by_median = false;
        groups[k] = part;
        if (size_of(&part) == 0) {
            continue;
        }
        if (joined) {
            (void)submodi_partition_level(p, &part);
            TRY(submodi_cut_flow_join(&c->flow, &groups[k], parts, c->label, p->z));
        }
        if (joined || (all && size_of(&part) > 1)) {
            p->next[p->next_count++] = groups[k];
            groups[k].end = groups[k].begin;
        }
    }
    c->parts = groups;
    c->old = parts;
    c->count = 0;
    for (size_t k = 0; k < count; k++) {
        if (size_of(&groups[k])) {
            double alpha = submodi_partition_level(p, &groups[k]);
            settle(p, &groups[k], alpha);
        }
    }
    return SUBMOD_OK;
}

/* ---- the prox ---- */

submod_status submodi_cut_prox_start(submodi_cut_prox *c, const submodi_cut *cut, double lambda,
                                     submod_prox_info *info, submod_work *w)
{
    size_t n = cut->n;
    *c = (submodi_cut_prox){
        .n = n, .search = {.oracle = &by_flow, .ctx = c, .lambda = lambda, .info = info}};
    c->label = submodi_work_alloc(w, n, sizeof *c->label);
    c->limit = submodi_work_alloc(w, n, sizeof *c->limit);
    c->nodes = submodi_work_alloc(w, n + 1, sizeof *c->nodes);
    c->parts = submodi_work_alloc(w, n, sizeof *c->parts);
    TRY(submodi_partition_start(&c->search, n, w));
    return submodi_cut_flow_start(&c->flow, cut, c->search.order, &c->parts[0], w);
}

submod_status submodi_cut_prox_hold(submodi_cut_prox *c, submod_work *w)
{
    size_t n = c->n;
    if (!c->old) {
        c->old = submodi_work_alloc(w, n, sizeof *c->old);
        c->root = submodi_work_alloc(w, n, sizeof *c->root);
        c->size = submodi_work_alloc(w, n, sizeof *c->size);
        c->grown = submodi_work_alloc(w, n, sizeof *c->grown);
        c->sum = submodi_work_alloc(w, n, sizeof *c->sum);
        c->level = submodi_work_alloc(w, n, sizeof *c->level);
        TRY(submodi_work_status(w));
    }
    for (size_t k = 0; k < c->count; k++) {
        const submodi_open_part *part = &c->parts[k];
        double cross = 0;
        for (size_t i = part->begin; i < part->end; i++) {
            cross += c->flow.cross[c->search.order[i]];
        }
        c->sum[k] = cross / c->search.lambda;
    }
    return SUBMOD_OK;
}

/* From the parts and the flow of the last call. */
static submod_status solve_again(submodi_cut_prox *c, size_t rounds, submod_work *w)
{
    c->search.means_only = true; /* few parts change */
    for (size_t round = 0; round < rounds; round++) {
        bool joined = join_violated(c, TIE * measure_levels(c));
        if (round > 0 && !joined) {
            break;
        }
        TRY(open_groups(c, round == 0));
        TRY(submodi_partition_run(&c->search, w));
    }
    return SUBMOD_OK;
}

submod_status submodi_cut_prox_solve(submodi_cut_prox *c, const double *x, size_t rounds,
                                     double deadline, double *u, double *s, submod_work *w)
{
    submodi_partition *p = &c->search;
    submod_status status;
    c->u = u;
    c->s = s;
    p->x = x;
    p->deadline = deadline;
    if (c->solved) {
        status = solve_again(c, rounds, w);
    } else {
        submodi_partition_open(p, c->parts[0], SIZE_MAX);
        status = submodi_partition_run(p, w);
    }
    for (size_t j = 0; status > 0 && j < p->count; j++) {
        settle(p, &p->parts[j], submodi_partition_level(p, &p->parts[j]));
    }
    c->solved = true;
    return status;
}

void submodi_cut_prox_means(const submodi_cut_prox *c, double share, double *y)
{
    const int32_t *order = c->search.order;
    for (size_t k = 0; k < c->count; k++) {
        const submodi_open_part *part = &c->parts[k];
        double sum = -share * c->sum[k];
        for (size_t i = part->begin; i < part->end; i++) {
            sum += y[order[i]];
        }
        sum /= (double)size_of(part);
        for (size_t i = part->begin; i < part->end; i++) {
            y[order[i]] = sum;
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
    submodi_cut_prox c;
    submod_status status = submodi_cut_prox_start(&c, p->fn->ctx, p->lambda, info, w);
    status = status ? status
                    : submodi_cut_prox_solve(&c, p->x, 1, submodi_deadline(p->settings->time_limit),
                                             u, s, w);
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
 * equal u it is what flows inside, which adds up to 0: these sums are carried to twice the
 * precision. c is the middle of u, so that an offset of u does no harm. Cost: O(n + edges).
 */
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
    submodi_long_sum excess = {0, 0};
    submodi_long_sum total = {0, 0}; /* of s; 0 but for rounding */
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
        excess = submodi_long_add(excess, (g - s[v]) * (u[v] - middle));
        total = submodi_long_add(total, s[v]);
        weight += size;
    }
    const double largest = fmax(fabs(lowest), fabs(highest));
    *f = (submodi_extension){.known = true,
                             .value = value,
                             .excess = excess.hi + (excess.lo - middle * (total.hi + total.lo)),
                             .size = weight * (largest + 8 * DBL_EPSILON * weight / lambda)};
}
