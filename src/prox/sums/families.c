/* A cut as a sum of families of chains: the edges between vertices whose numbers differ by d.
 *
 * Following i, i + d, i + 2 d, .. never returns, and each vertex has at most one edge forwards and
 * one backwards in a family, so a family is a set of disjoint paths. A grid with 4 neighbours is
 * two families, with 8 neighbours four, in three dimensions with 6 neighbours three: nothing has to
 * be known about the grid. Parallel edges add up; edges without weight end a line.
 *
 * Neighbouring lines of a grid lie next to each other in memory at each step, also diagonal ones.
 * So some of them are gathered and scattered together, step by step: each cache line is then used
 * while it is there. Cost: O(n + edges) for each family.
 */
#include "prox/sums/families.h"

#include <string.h>

/* A bundle ends after so many lines, or when it has so many points. */
enum { BUNDLE_LINES = 8, BUNDLE_POINTS = 8192 };

/* Finds the place of difference d among the first `count`; they ascend by occurrence. */
static size_t place_of(const size_t *d, size_t count, size_t wanted)
{
    size_t i = 0;
    while (i < count && d[i] != wanted) {
        i++;
    }
    return i;
}

/* The differences that occur; more than SUBMODI_FAMILIES_MAX: 0. */
static size_t differences(const submodi_cut *cut, size_t d[SUBMODI_FAMILIES_MAX])
{
    size_t count = 0;
    for (size_t v = 0; v < cut->n; v++) {
        for (size_t j = cut->start[v]; j < cut->start[v + 1]; j++) {
            const submodi_neighbour *u = &cut->neighbours[j];
            if ((size_t)u->vertex < v || (u->out == 0 && u->in == 0)) {
                continue;
            }
            size_t i = place_of(d, count, (size_t)u->vertex - v);
            if (i == SUBMODI_FAMILIES_MAX) {
                return 0;
            }
            d[i] = (size_t)u->vertex - v;
            count += i == count;
        }
    }
    return count;
}

size_t submodi_count_families(const submodi_cut *cut)
{
    size_t d[SUBMODI_FAMILIES_MAX];
    return differences(cut, d);
}

/* Weights of the edges v -> v + d and back, by v; 0 if there is none. */
static void weights_of(const submodi_cut *cut, size_t d, double scale, double *out, double *in)
{
    memset(out, 0, cut->n * sizeof *out);
    memset(in, 0, cut->n * sizeof *in);
    for (size_t v = 0; v < cut->n; v++) {
        for (size_t j = cut->start[v]; j < cut->start[v + 1]; j++) {
            const submodi_neighbour *u = &cut->neighbours[j];
            if ((size_t)u->vertex == v + d) {
                out[v] += scale * u->out;
                in[v] += scale * u->in;
            }
        }
    }
}

/* Whether the line at v goes on to v + d. */
static bool goes_on(const double *out, const double *in, size_t v)
{
    return out[v] > 0 || in[v] > 0;
}

static bool starts(const double *out, const double *in, size_t d, size_t v)
{
    return goes_on(out, in, v) && !(v >= d && goes_on(out, in, v - d));
}

/* Finds the lines, by their first vertices, and how many points they have. False: out of memory. */
static bool find_lines(size_t n, submodi_family *f, const double *out, const double *in,
                       submod_work *work)
{
    size_t count = 0;
    for (size_t v = 0; v < n; v++) {
        count += starts(out, in, f->d, v);
    }
    f->lines = submodi_take(work, count, sizeof *f->lines);
    f->bundles = submodi_take(work, count, sizeof *f->bundles);
    if (!f->lines || !f->bundles) {
        return false;
    }
    for (size_t v = 0; v < n; v++) {
        if (starts(out, in, f->d, v)) {
            size_t length = 1;
            for (size_t w = v; goes_on(out, in, w); w += f->d) {
                length++;
            }
            f->lines[f->nlines++] = (submodi_line){v, length, f->points};
            f->points += length;
        }
    }
    return true;
}

static void make_bundles(submodi_family *f)
{
    for (size_t i = 0; i < f->nlines;) {
        size_t first = i;
        size_t points = 0;
        while (i < f->nlines && i - first < BUNDLE_LINES &&
               (i == first || points + f->lines[i].length <= BUNDLE_POINTS)) {
            points += f->lines[i++].length;
        }
        f->bundles[f->nbundles++] = (submodi_bundle){first, i};
        f->longest = points > f->longest ? points : f->longest;
    }
}

/* Puts the weights in the order of the lines; one array if both directions are alike. */
static bool order_weights(submodi_family *f, const double *out, const double *in, submod_work *w)
{
    bool alike = true;
    f->out = submodi_take(w, f->points, sizeof *f->out);
    for (size_t i = 0; f->out && i < f->nlines; i++) {
        const submodi_line *line = &f->lines[i];
        for (size_t t = 0; t < line->length; t++) {
            size_t v = line->start + t * f->d;
            f->out[line->at + t] = out[v];
            alike = alike && out[v] == in[v];
        }
    }
    f->in = alike ? f->out : submodi_take(w, f->points, sizeof *f->in);
    for (size_t i = 0; !alike && f->in && i < f->nlines; i++) {
        const submodi_line *line = &f->lines[i];
        for (size_t t = 0; t < line->length; t++) {
            f->in[line->at + t] = in[line->start + t * f->d];
        }
    }
    return f->out && f->in;
}

bool submodi_split_into_families(const submodi_cut *cut, double scale, submodi_family *families,
                                 submod_work *work)
{
    size_t d[SUBMODI_FAMILIES_MAX];
    size_t count = differences(cut, d);
    double *out = submodi_take(work, cut->n, sizeof *out);
    double *in = submodi_take(work, cut->n, sizeof *in);
    bool good = out && in;
    for (size_t i = 0; good && i < count; i++) {
        submodi_family *f = &families[i];
        *f = (submodi_family){.d = d[i]};
        weights_of(cut, f->d, scale, out, in);
        good = find_lines(cut->n, f, out, in, work);
        if (good) {
            make_bundles(f);
            good = order_weights(f, out, in, work);
        }
    }
    return good;
}

void submodi_bundle_gather(const submodi_family *f, const submodi_bundle *b, const double *v,
                           double *to)
{
    size_t base = f->lines[b->first].at;
    bool more = true;
    for (size_t step = 0; more; step++) {
        more = false;
        for (size_t i = b->first; i < b->last; i++) {
            const submodi_line *line = &f->lines[i];
            if (step < line->length) {
                to[line->at - base + step] = v[line->start + step * f->d];
                more = true;
            }
        }
    }
}

void submodi_bundle_scatter(const submodi_family *f, const submodi_bundle *b, const double *from,
                            double *v)
{
    size_t base = f->lines[b->first].at;
    bool more = true;
    for (size_t step = 0; more; step++) {
        more = false;
        for (size_t i = b->first; i < b->last; i++) {
            const submodi_line *line = &f->lines[i];
            if (step < line->length) {
                v[line->start + step * f->d] = from[line->at - base + step];
                more = true;
            }
        }
    }
}
