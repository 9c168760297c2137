/* Algorithm 2 of the paper's supplement, "Computation of prox", followed as it is printed: no
 * line is repaired. src/prox/greedy_path.c quotes all lines, repairs four of them, and is what the
 * library computes. Where the two differ:
 *
 *   line 5   Printed: g_z+1 = .. = g_d, z the first index with v_z < 0. Followed to the letter:
 *            the entries behind z keep a common g, the mean, which is not 0. So margins below 0 go
 *            on moving, although the hinge is flat there. Repaired: their g is 0, and z's too.
 *   line 10  Printed: the closest edge "in the direction g". g is a gradient, so this climbs.
 *            Repaired: -g.
 *   line 12  Printed: stop, a time, is compared with a length, |v_next - v| = time |g|. If |g| < 1
 *            the path goes through edges that lie beyond the time to stop. stop is then negative
 *            in the next round, and line 13 goes back along the new g. Repaired: with the time.
 *   line 13  Printed: v + stop g, as in line 10. Repaired: v - stop g.
 *
 * PRINTED_DOWN turns the signs of lines 10 and 13 and leaves the rest: what somebody would get who
 * sees that a gradient leads up and repairs no more.
 *
 * What the text leaves open is read like this. Line 3: g is the gradient of the extension of F at
 * all margins, those below 0 too; the threshold is line 5's business. Line 10: v_next is where the
 * ray meets the first edge, two neighbours that meet or an entry at 0; nowhere if there is none.
 * Line 15: an entry that comes to 0 changes sides, with all that are tied to it, and z follows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/study.h"
#include "prox/as_printed.h"

/* Entries in the order of line 1. */
typedef struct path {
    size_t n;
    double sign; /* of the direction along g */
    double *v0, *v, *g;
    bool *tied;  /* i and i + 1 are in one constraint of E */
    bool *below; /* v_i < 0; changes when i comes to 0 */
} path;

typedef struct edge {
    double time;
    size_t at; /* this entry meets the next one, or 0 */
    bool is_zero;
} edge;

/* Line 9: the mean over each run that E or c_z hold together. */
static void project(path *p)
{
    size_t z = 0;
    while (z < p->n && !p->below[z]) {
        z++;
    }
    for (size_t begin = 0, end; begin < p->n; begin = end) {
        double sum = p->g[begin];
        for (end = begin + 1; end < p->n && (p->tied[end - 1] || end - 1 > z); end++) {
            sum += p->g[end];
        }
        for (size_t i = begin; i < end; i++) {
            p->g[i] = sum / (double)(end - begin);
        }
    }
}

/* Line 10. Rounding may have put an entry past its edge: the time is then 0. */
static edge next_edge(const path *p)
{
    edge next = {.time = INFINITY};
    for (size_t i = 0; i < p->n; i++) {
        double speed = p->sign * p->g[i];
        if (i + 1 < p->n && !p->tied[i] && p->sign * p->g[i + 1] > speed) {
            double time = fmax(p->v[i] - p->v[i + 1], 0) / (p->sign * p->g[i + 1] - speed);
            next = time < next.time ? (edge){time, i, false} : next;
        }
        if (p->below[i] ? speed > 0 : speed < 0) {
            double time = fmax(-p->v[i] / speed, 0);
            next = time < next.time ? (edge){time, i, true} : next;
        }
    }
    return next;
}

/* Lines 13 and 15. */
static void move(path *p, double time)
{
    for (size_t i = 0; i < p->n; i++) {
        p->v[i] += time * p->sign * p->g[i];
    }
}

/* Line 15: the new constraint. All that are tied to the entry come to 0 with it. */
static void enter(path *p, const edge *e)
{
    if (!e->is_zero) {
        p->tied[e->at] = true;
        return;
    }
    size_t begin = e->at, end = e->at + 1;
    while (begin > 0 && p->tied[begin - 1]) {
        begin--;
    }
    while (end < p->n && p->tied[end - 1]) {
        end++;
    }
    for (size_t i = begin; i < end; i++) {
        p->v[i] = 0;
        p->below[i] = !p->below[i];
    }
}

/* Lines 6 to 15. */
static void follow(path *p, double lambda, printed_info *info)
{
    for (;;) {
        double dot = 0, norm = 0;
        project(p);
        for (size_t i = 0; i < p->n; i++) {
            dot += (p->v[i] - p->v0[i]) * p->g[i];
            norm += p->g[i] * p->g[i];
        }
        if (norm == 0) {
            return;
        }
        edge next = next_edge(p);
        double stop = 1 / lambda + dot / norm;
        if (stop < next.time * sqrt(norm)) {
            move(p, stop);
            return;
        }
        move(p, next.time);
        enter(p, &next);
        info->edges++;
        info->overshoots += stop < next.time;
        info->touched_zero |= next.is_zero;
    }
}

/* Lines 1 to 5. */
static void start(path *p, const double *x, const double *gradient, const int32_t *order,
                  printed_info *info)
{
    *info = (printed_info){0};
    for (size_t i = 0; i < p->n; i++) {
        p->v0[i] = p->v[i] = x[order[i]];
        p->g[i] = gradient[order[i]];
        p->below[i] = p->v[i] < 0;
        p->tied[i] = i + 1 < p->n && p->v[i] == x[order[i + 1]];
        info->touched_zero |= p->v[i] <= 0;
    }
}

bool as_printed(const submod_fn *fn, const double *x, double lambda, printed_direction direction,
                double *u, printed_info *info)
{
    size_t n = submod_fn_size(fn);
    path p = {n,
              direction,
              malloc(n * sizeof *p.v0),
              malloc(n * sizeof *p.v),
              malloc(n * sizeof *p.g),
              malloc(n * sizeof *p.tied),
              malloc(n * sizeof *p.below)};
    int32_t *order = malloc(n * sizeof *order);
    submod_lovasz_settings vertex = submod_lovasz_defaults();
    vertex.ties = SUBMOD_TIES_INDEX;
    bool good = study_got(p.v0 && p.v && p.g && p.tied && p.below && order);
    if (good && submod_lovasz(fn, x, NULL, u, order, &vertex, NULL) != SUBMOD_OK) {
        good = study_fail("%s", submod_last_error());
    }
    if (good) {
        start(&p, x, u, order, info);
        follow(&p, lambda, info);
        for (size_t i = 0; i < n; i++) {
            u[order[i]] = p.v[i];
        }
    }
    free(p.v0);
    free(p.v);
    free(p.g);
    free(p.tied);
    free(p.below);
    free(order);
    return good;
}
