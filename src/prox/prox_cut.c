/* Prox of a cut by divide and conquer (partition.c), with one flow that is kept from the first
 * sweep to the last, and beyond, for other x (docs/mathematics.md, section 7).
 *
 * Within a part, A -> F(S + A) - F(S) - z(A), S all that comes before, is the cut within the part
 * less (z - cross)(A): its minimisers are those of a maximal flow with the excess z - cross. A new
 * z changes the excess only. When a part is divided into a minimiser A and the rest, the arcs from
 * A to the rest are full and nothing flows back: they are closed, and their weights go into
 * `cross`. So the flow within the parts and `cross` together are a base at any time.
 *
 * Cost: the flows; 512^2 pixels take some 20 to 30 sweeps, of which the first few matter, and a few
 * for an x close by. */
#include "prox/prox_cut.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sums.h"

/* Arcs between parts are full and closed; the opposite arc is empty. */
enum { WITHIN, LEAVES, ENTERS };

/* In a part more vertices give than take, or not. */
enum { GIVE = 1, TAKE = 2 };

/* A part gets a new scaling when its numbers have become this much smaller. */
static const double COARSE = 256;

/* The limit of weights, as a multiple of the sum of |z - cross|: several looks can be had before
 * half of it has been used. */
static const double ROOM = 8;

/* Levels whose difference is below this times the largest one count as equal. */
static const double TIE = 1e-13;

static size_t size_of(const submodi_open_part *part)
{
    return part->end - part->begin;
}

/* ---- the flow ---- */

static inline int64_t flow_of(const submodi_cut_prox *c, const submodi_scaling *scaling, size_t a)
{
    return submodi_capacity(scaling, c->cut->neighbours[a].out) - c->net.arcs[a].residual;
}

/* What flows through an arc, which may have been closed. */
static inline double amount_of(const submodi_cut_prox *c, const submodi_scaling *scaling, size_t a)
{
    switch (c->closed[a]) {
    case LEAVES: return c->cut->neighbours[a].out;
    case ENTERS: return -c->cut->neighbours[a].in;
    default: return submodi_from_fixed(scaling, flow_of(c, scaling, a));
    }
}

/* What flows out of the vertex, to other parts and within its own: a base of the cut function. */
static inline double base_of(const submodi_cut_prox *c, const submodi_open_part *part, int32_t v)
{
    return c->cross[v] + submodi_from_fixed(&part->scaling, c->want[v] - c->net.excess[v]);
}

/* Changes the scaling of a part, whose vertices come from parts old[label[v]], or all from old[0].
 * The flow within it is kept, or dropped. */
static void rescale(submodi_cut_prox *c, submodi_open_part *part, const submodi_open_part *old,
                    const int32_t *label, submodi_scaling scaling, bool keep)
{
    const int32_t *order = c->search.order;
    for (size_t i = part->begin; i < part->end; i++) {
        c->want[order[i]] = 0;
        c->net.excess[order[i]] = 0;
    }
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = order[i];
        const submodi_scaling *from = &old[label ? label[v] : 0].scaling;
        for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
            const submodi_neighbour *u = &c->cut->neighbours[a];
            if (c->part[u->vertex] != part->id || u->opposite < a) {
                continue;
            }
            int64_t out = submodi_capacity(&scaling, u->out);
            int64_t in = submodi_capacity(&scaling, u->in);
            int64_t flow = submodi_to_fixed(&scaling, keep ? amount_of(c, from, a) : 0);
            flow = flow > out ? out : (flow < -in ? -in : flow);
            c->net.arcs[a].residual = out - flow;
            c->net.arcs[u->opposite].residual = in + flow;
            c->closed[a] = c->closed[u->opposite] = WITHIN;
            c->want[v] += flow;
            c->want[u->vertex] -= flow;
        }
    }
    part->scaling = scaling;
}

/* Chooses a new scaling if z - cross no longer fits into the present one, or has become too small
 * for it, or if the part was joined from old[label[v]]. A flow that came near its limit, where
 * weights are larger than that, is dropped. Returns SUBMOD_ENUMERIC if z or the weights are too
 * large. */
static submod_status fit(submodi_cut_prox *c, submodi_open_part *part, const double *z,
                         const submodi_open_part *old, const int32_t *label)
{
    submodi_excesses wanted = {0};
    submodi_scaling best;
    double missing = 0; /* what the flow that is there leaves of it */
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = c->search.order[i];
        double flow = submodi_from_fixed(&part->scaling, c->want[v] - c->net.excess[v]);
        submodi_add_excess(&wanted, v, z[i] - c->cross[v]);
        missing += fabs(z[i] - c->cross[v] - flow);
    }
    if (!isfinite(wanted.largest)) {
        return submodi_fail(SUBMOD_ENUMERIC, "lambda x overflows");
    }
    missing = label ? wanted.sum : missing;
    TRY(submodi_find_scaling(c->cut, &wanted, ROOM, &best));
    double heaviest = c->cut->heaviest;
    double ratio = best.root / part->scaling.root; /* finer by its square */
    bool room = part->used + missing <= part->scaling.limit || part->scaling.limit >= heaviest;
    if (!label && room && ratio * ratio >= 0.5 && ratio * ratio <= COARSE) {
        part->used += missing;
        return SUBMOD_OK;
    }
    bool keep = best.limit >= heaviest;
    rescale(c, part, old, label, best, keep);
    part->used = keep ? missing : wanted.sum;
    return SUBMOD_OK;
}

/* Makes the excess of each vertex of a part what z leaves beside `cross` and the flow. */
static submod_status aim_part(submodi_cut_prox *c, submodi_open_part *part, const double *z)
{
    const submodi_open_part old = *part;
    TRY(fit(c, part, z, &old, NULL));
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = c->search.order[i];
        int64_t flow = c->want[v] - c->net.excess[v];
        c->want[v] = submodi_to_fixed(&part->scaling, z[i] - c->cross[v]);
        c->net.excess[v] = c->want[v] - flow;
    }
    return SUBMOD_OK;
}

/* Closes the arcs between a and its opposite; v, the tail of a, comes before. */
static void close(submodi_cut_prox *c, const submodi_open_part *part, int32_t v, size_t a)
{
    const submodi_neighbour *u = &c->cut->neighbours[a];
    int64_t flow = flow_of(c, &part->scaling, a);
    c->want[v] -= flow;
    c->want[u->vertex] += flow;
    c->cross[v] += u->out;
    c->cross[u->vertex] -= u->out;
    c->degree[v]--;
    c->degree[u->vertex]--;
    c->net.arcs[a].residual = 0;
    c->net.arcs[u->opposite].residual = 0;
    c->closed[a] = LEAVES;
    c->closed[u->opposite] = ENTERS;
}

/* Takes the closed arcs among the vertices of a part out of `cross`. */
static void reopen(submodi_cut_prox *c, const submodi_open_part *part)
{
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = c->search.order[i];
        for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
            const submodi_neighbour *u = &c->cut->neighbours[a];
            if (c->closed[a] == LEAVES && c->part[u->vertex] == part->id) {
                c->cross[v] -= u->out;
                c->cross[u->vertex] += u->out;
                c->degree[v]++;
                c->degree[u->vertex]++;
            }
        }
    }
}

/* ---- the oracle of the partition ---- */

static void gains(const submodi_partition *p, const submodi_open_part *part, bool base)
{
    const submodi_cut_prox *c = p->ctx;
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = p->order[i];
        p->gain[i] = base ? base_of(c, part, v) : c->cross[v];
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
        TRY(aim_part(c, part, p->z));
        for (size_t i = 0; i < k; i++) {
            c->limit[vertices[i]] = c->degree[vertices[i]];
        }
        bool left = submodi_prune(&c->net, vertices, k, c->limit, p->rest) > 0;
        uint8_t kind = !left ? 0 : more_give(&c->net, vertices, k) ? GIVE : TAKE;
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
    submod_status status = submodi_max_flow(&c->net, c->nodes, nodes, SUBMODI_VISITS_WARM, w);
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
        submodi_reach(&c->net, p->order + part->begin, part->end - part->begin, false,
                      SUBMODI_FLOW_NOISE, p->in, p->rest);
    }
    return SUBMOD_OK;
}

/* The weight of the arcs from the first vertices of a part, those with in = 1, to its others. */
static double between(const submodi_partition *p, const submodi_open_part *part, size_t first)
{
    const submodi_cut_prox *c = p->ctx;
    double weight = 0;
    size_t middle = part->begin + first;
    bool fewer = first <= part->end - middle; /* look from the smaller side */
    for (size_t i = fewer ? part->begin : middle; i < (fewer ? middle : part->end); i++) {
        int32_t v = p->order[i];
        for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
            if (c->closed[a] == WITHIN && p->in[c->net.arcs[a].head] != p->in[v]) {
                weight += fewer ? c->cut->neighbours[a].out : c->cut->neighbours[a].in;
            }
        }
    }
    return weight;
}

static void divide(submodi_partition *p, const submodi_open_part *part, submodi_open_part side[2])
{
    submodi_cut_prox *c = p->ctx;
    bool fewer = size_of(&side[0]) <= size_of(&side[1]);
    submodi_open_part *moved = &side[fewer ? 0 : 1];
    c->changes++;
    moved->id = c->ids++;
    for (size_t i = moved->begin; i < moved->end; i++) {
        c->part[p->order[i]] = moved->id;
    }
    for (size_t i = moved->begin; i < moved->end; i++) {
        int32_t v = p->order[i];
        for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
            const submodi_arc *arc = &c->net.arcs[a];
            if (c->closed[a] == WITHIN && c->part[arc->head] == part->id) {
                close(c, part, fewer ? v : arc->head, fewer ? a : arc->opposite);
            }
        }
    }
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
    const uint32_t id = part->id;
    submodi_open_part found = *part;
    found.id = c->ids++;
    found.end = part->begin + 1;
    c->part[p->order[part->begin]] = found.id;
    for (size_t i = found.begin; i < found.end; i++) {
        int32_t v = p->order[i];
        for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
            int32_t u = c->net.arcs[a].head;
            if (c->part[u] == id) {
                c->part[u] = found.id;
                put(p, (size_t)p->rank[u], p->order[found.end]);
                put(p, found.end++, u);
            }
        }
    }
    part->begin = found.end;
    return found;
}

/* Keeps the part for another call, in a free place. */
static void keep_part(submodi_cut_prox *c, const submodi_open_part *part)
{
    size_t k = c->free_count ? (size_t)c->free[--c->free_count] : c->count++;
    double cross = 0;
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = c->search.order[i];
        cross += c->cross[v];
        c->label[v] = (int32_t)k;
    }
    c->part_cross[k] = cross;
    c->parts[k] = *part;
}

static void settle(submodi_partition *p, const submodi_open_part *part, double alpha)
{
    submodi_cut_prox *c = p->ctx;
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t v = p->order[i];
        c->u[v] = alpha;
        c->s[v] = base_of(c, part, v);
    }
    if (c->kept) {
        keep_part(c, part);
    }
}

static const submodi_partition_oracle by_flow = {.gains = gains,
                                                 .minimize = minimize,
                                                 .between = between,
                                                 .divide = divide,
                                                 .component = component,
                                                 .settle = settle};

/* ---- joining parts ----
 *
 * For another x, the parts have other means. Where those violate the order along a full arc, the
 * two parts are joined, until no such arc is left: the means of joined parts follow from their sums
 * alone, without any flow. Then all parts are looked at again, with the flow that they have. If
 * what was divided once more is in order, too, u is exact; else another round follows. */

static int32_t find(int32_t *root, int32_t k)
{
    while (root[k] != k) {
        root[k] = root[root[k]];
        k = root[k];
    }
    return k;
}

/* Computes the levels of the parts for the present x, each a group of its own, and u from them.
 * Returns the largest |level|. */
static double measure_levels(submodi_cut_prox *c)
{
    const submodi_partition *p = &c->search;
    double largest = 0;
    for (size_t k = 0; k < c->count; k++) {
        const submodi_open_part *part = &c->parts[k];
        double sum = 0;
        for (size_t i = part->begin; i < part->end; i++) {
            sum += p->x[p->order[i]];
        }
        c->sum[k] = sum - c->part_cross[k] / p->lambda;
        c->size[k] = (int32_t)size_of(part);
        c->level[k] = c->size[k] ? c->sum[k] / c->size[k] : 0;
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
    c->changes++;
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
    int32_t mine = find(c->root, c->label[v]);
    bool joined = false;
    for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
        if (c->closed[a] == WITHIN) {
            continue;
        }
        int32_t other = find(c->root, c->label[c->net.arcs[a].head]);
        double fall = c->level[mine] - c->level[other];
        if (other != mine && (c->closed[a] == LEAVES ? fall : -fall) < -tie) {
            mine = unite(c, mine, other, pass);
            joined = true;
        }
    }
    return joined;
}

/* Joins parts along the full arcs against which their own levels rise. */
static bool join_along_arcs(submodi_cut_prox *c, double tie)
{
    bool joined = false;
    for (size_t v = 0; v < c->cut->n; v++) {
        for (size_t a = c->cut->start[v]; a < c->cut->start[v + 1]; a++) {
            if (c->closed[a] != LEAVES || c->u[v] - c->u[c->net.arcs[a].head] >= -tie) {
                continue;
            }
            int32_t from = find(c->root, c->label[v]);
            int32_t to = find(c->root, c->label[c->net.arcs[a].head]);
            if (from != to) {
                unite(c, from, to, 1);
                joined = true;
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

/* Puts the vertices of each group one after the other; groups[k] becomes group k, empty if k is no
 * root. */
static void order_by_group(submodi_cut_prox *c)
{
    submodi_partition *p = &c->search;
    size_t at = 0;
    for (size_t k = 0; k < c->count; k++) {
        c->groups[k] = c->parts[k];
        c->groups[k].begin = c->groups[k].end = at;
        at += c->root[k] == (int32_t)k ? (size_t)c->size[k] : 0;
    }
    for (size_t k = 0; k < c->count; k++) {
        submodi_open_part *group = &c->groups[find(c->root, (int32_t)k)];
        for (size_t i = c->parts[k].begin; i < c->parts[k].end; i++) {
            p->rest[group->end++] = p->order[i];
        }
    }
    memcpy(p->order, p->rest, p->n * sizeof *p->order);
    for (size_t i = 0; i < p->n; i++) {
        p->rank[p->order[i]] = (int32_t)i;
    }
}

/* Opens a group of several parts: arcs among its vertices are open again and carry what they
 * carried. */
static submod_status open_group(submodi_cut_prox *c, submodi_open_part group)
{
    submodi_partition *p = &c->search;
    group.id = c->ids++;
    group.by_median = false;
    for (size_t i = group.begin; i < group.end; i++) {
        c->part[p->order[i]] = group.id;
    }
    (void)submodi_partition_level(p, &group);
    reopen(c, &group);
    TRY(fit(c, &group, p->z, c->parts, c->label));
    p->next[p->next_count++] = group;
    return SUBMOD_OK;
}

static void free_place(submodi_cut_prox *c, size_t k)
{
    c->parts[k].end = c->parts[k].begin;
    c->free[c->free_count++] = (int32_t)k;
}

/* Opens the groups of several parts, and leaves the others where they are. */
static submod_status open_groups(submodi_cut_prox *c)
{
    order_by_group(c);
    for (size_t k = 0; k < c->count; k++) {
        if (size_of(&c->groups[k]) > size_of(&c->parts[k])) {
            TRY(open_group(c, c->groups[k]));
        }
    }
    for (size_t k = 0; k < c->count; k++) {
        submodi_open_part *part = &c->parts[k];
        if (size_of(&c->groups[k]) == size_of(part)) {
            part->begin = c->groups[k].begin;
            part->end = c->groups[k].end;
        } else {
            free_place(c, k);
        }
    }
    return SUBMOD_OK;
}

/* Opens all settled parts of several vertices. */
static void open_all(submodi_cut_prox *c)
{
    for (size_t k = 0; k < c->count; k++) {
        if (size_of(&c->parts[k]) > 1) {
            c->parts[k].by_median = false;
            c->search.next[c->search.next_count++] = c->parts[k];
            free_place(c, k);
        }
    }
}

/* Gives the parts new ids. */
static void number_parts(submodi_cut_prox *c)
{
    c->ids = 0;
    for (size_t k = 0; k < c->count; k++) {
        for (size_t i = c->parts[k].begin; i < c->parts[k].end; i++) {
            c->part[c->search.order[i]] = c->ids;
        }
        c->parts[k].id = c->ids++;
    }
}

/* From the parts and the flow of the last call. */
static submod_status solve_again(submodi_cut_prox *c, size_t rounds, submod_work *w)
{
    c->search.means_only = true; /* few parts change */
    if (c->ids > UINT32_MAX / 2) {
        number_parts(c);
    }
    for (size_t round = 0; round < rounds; round++) {
        bool joined = join_violated(c, TIE * measure_levels(c));
        if (joined) {
            TRY(open_groups(c));
        }
        if (round == 0) {
            open_all(c);
        } else if (!joined) {
            break;
        }
        TRY(submodi_partition_run(&c->search, w));
    }
    return SUBMOD_OK;
}

/* ---- the prox ---- */

static void allocate_kept(submodi_cut_prox *c, submod_work *w)
{
    size_t n = c->cut->n;
    int32_t **numbers[] = {&c->free, &c->label, &c->root, &c->size, &c->grown};
    double **vectors[] = {&c->part_cross, &c->sum, &c->level};
    c->parts = submodi_work_alloc(w, n, sizeof *c->parts);
    c->groups = submodi_work_alloc(w, n, sizeof *c->groups);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i] = submodi_work_alloc(w, n, sizeof **numbers[i]);
    }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = submodi_work_alloc(w, n, sizeof **vectors[i]);
    }
}

submod_status submodi_cut_prox_start(submodi_cut_prox *c, const submodi_cut *cut, double lambda,
                                     bool kept, submod_prox_info *info, submod_work *w)
{
    size_t n = cut->n;
    *c =
        (submodi_cut_prox){.search = {.oracle = &by_flow, .ctx = c, .lambda = lambda, .info = info},
                           .cut = cut,
                           .net = {.nodes = n, .first = cut->start},
                           .kept = kept};
    c->net.arcs = submodi_work_alloc(w, cut->start[n], sizeof *c->net.arcs);
    c->net.excess = submodi_work_alloc(w, n, sizeof *c->net.excess);
    c->part = submodi_work_alloc(w, n, sizeof *c->part);
    c->want = submodi_work_alloc(w, n, sizeof *c->want);
    c->cross = submodi_work_alloc(w, n, sizeof *c->cross);
    c->degree = submodi_work_alloc(w, n, sizeof *c->degree);
    c->closed = submodi_work_alloc(w, cut->start[n], sizeof *c->closed);
    c->limit = submodi_work_alloc(w, n, sizeof *c->limit);
    c->nodes = submodi_work_alloc(w, n + 1, sizeof *c->nodes);
    if (kept) {
        allocate_kept(c, w);
    }
    TRY(submodi_work_status(w));
    return submodi_partition_start(&c->search, n, w);
}

/* One part of all vertices. Nothing can flow until the first aim chooses a scaling. */
static void open_first(submodi_cut_prox *c)
{
    const submodi_cut *cut = c->cut;
    submodi_open_part all = {.end = cut->n, .scaling = {0, 1, 1}, .used = INFINITY};
    submodi_cut_arcs(cut, &all.scaling, c->net.arcs);
    memset(c->closed, WITHIN, cut->start[cut->n]);
    memset(c->net.excess, 0, cut->n * sizeof *c->net.excess);
    memset(c->part, 0, cut->n * sizeof *c->part);
    memset(c->want, 0, cut->n * sizeof *c->want);
    for (size_t v = 0; v < cut->n; v++) {
        c->cross[v] = 0;
        c->degree[v] = (uint32_t)(cut->start[v + 1] - cut->start[v]);
    }
    c->ids = 1;
    submodi_partition_open(&c->search, all, SIZE_MAX);
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
    c->changes = 0;
    if (c->solved) {
        status = solve_again(c, rounds, w);
    } else {
        open_first(c);
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
    const double per = share / c->search.lambda;
    for (size_t k = 0; k < c->count; k++) {
        const submodi_open_part *part = &c->parts[k];
        double sum = -per * c->part_cross[k];
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
