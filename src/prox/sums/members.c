/* Projections on the base polytopes of the members of a sum, and their extensions.
 *
 * A part of the sum is projected by its own prox, one without a fast prox by Fujishige-Wolfe from
 * where that ended last time: whatever Wolfe's tolerance, its result is a base. A family of chains
 * is projected line by line (chain_line.c), bundles of lines in parallel. Sums are made bundle by
 * bundle, so results do not depend on threads. Cost: that of the prox and O(k).
 */
#include "prox/sums/members.h"

#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "prox/chain_line.h"
#include "prox/gap.h"

bool submodi_is_fast(const submod_fn *fn)
{
    return submodi_can_closed_form(fn) || submodi_can_cardinality(fn) || submodi_can_jaccard(fn) ||
           submodi_can_decompose(fn);
}

static int32_t element(const submodi_member *m, size_t i)
{
    return m->part->elements ? m->part->elements[i] : (int32_t)i;
}

/* Y of entry i. */
static double extrapolated(const submodi_member *m, const submodi_cycle *c, size_t i)
{
    return m->now[i] + c->momentum * (m->now[i] - m->before[i]);
}

static void swap_steps(submodi_member *m)
{
    double *before = m->before;
    m->before = m->now;
    m->now = before;
}

/* before = the new step; the caller swaps the two. Returns the sum of (Y - new) (new - now). */
static double take_step(submodi_member *m, const submodi_cycle *c, size_t begin, size_t count,
                        const double *s, double factor)
{
    double turn = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = begin + i;
        double new = s[i] * factor;
        turn += (extrapolated(m, c, at) - new) * c->unit * ((new - m->now[at]) * c->unit);
        m->before[at] = new;
    }
    return turn;
}

/* ---- a part ---- */

/* The prox of the part at y. */
static submod_status solve(submodi_member *m, const submodi_cycle *c, const double *y, double *u,
                           double *s, submod_work *work)
{
    submod_prox_settings settings = submod_prox_defaults();
    submod_combination found = {0};
    submod_prox_info info = {0};
    settings.tolerance = c->tolerance;
    settings.combination = m->fast ? NULL : &m->warm;
    if (isfinite(c->deadline)) {
        settings.time_limit = fmax(c->deadline - submodi_seconds(), 1e-9);
    }
    m->extension = (submodi_extension){0};
    submodi_prox_problem p = {.who = c->who,
                              .fn = m->part->fn,
                              .x = y,
                              .lambda = c->lambda / m->part->coefficient,
                              .settings = &settings,
                              .extension = c->ask_extension ? &m->extension : NULL,
                              .found = m->fast ? NULL : &found};
    submod_status status = submodi_prox_by_itself(&p, u, s, &info, work);
    if (status >= 0 && !m->fast) {
        submodi_combination_move(&m->warm, &found);
    }
    submodi_combination_clear(&found);
    return status < 0 ? status : SUBMOD_OK;
}

static submod_status project_part(submodi_member *m, submodi_cycle *c, double *turn,
                                  submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    double *y = NULL;
    double *u = NULL;
    double *s = NULL;
    double **vectors[] = {&y, &u, &s, NULL};
    if (!submodi_take_vectors(w, m->k, vectors)) {
        submodi_scope_close(&scope);
        return submodi_nomem(c->who);
    }
    for (size_t i = 0; i < m->k; i++) {
        y[i] = c->r[element(m, i)] + extrapolated(m, c, i);
    }
    submod_status status = solve(m, c, y, u, s, w);
    if (status == SUBMOD_OK) {
        *turn += take_step(m, c, 0, m->k, s, m->part->coefficient / c->lambda);
        swap_steps(m);
        for (size_t i = 0; i < m->k; i++) {
            c->r[element(m, i)] = m->fast ? u[i] : y[i] - m->now[i];
        }
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- a family ---- */

typedef struct bench {
    double *y, *u, *s;
    submodi_chain_knot *knots;
} bench;

static bool set_up(bench *b, size_t points, submod_work *w)
{
    double **vectors[] = {&b->y, &b->u, &b->s, NULL};
    b->knots = submodi_take(w, submodi_chain_knots(points), sizeof *b->knots);
    return submodi_take_vectors(w, points, vectors) && b->knots;
}

static double project_bundle(submodi_member *m, submodi_cycle *c, const submodi_bundle *bundle,
                             bench *b)
{
    const submodi_family *f = m->family;
    size_t base = f->lines[bundle->first].at;
    double turn = 0;
    submodi_bundle_gather(f, bundle, c->r, b->y);
    for (size_t i = bundle->first; i < bundle->last; i++) {
        const submodi_line *line = &f->lines[i];
        size_t at = line->at - base;
        for (size_t j = 0; j < line->length; j++) {
            b->y[at + j] += extrapolated(m, c, line->at + j);
        }
        submodi_chain_line(line->length, b->y + at, f->out + line->at, f->in + line->at, 1,
                           b->u + at, b->s + at, b->knots);
        turn += take_step(m, c, line->at, line->length, b->s + at, 1);
    }
    submodi_bundle_scatter(f, bundle, b->u, c->r);
    return turn;
}

static submod_status project_family(submodi_member *m, submodi_cycle *c, double *turn,
                                    submod_work *work)
{
    const submodi_family *f = m->family;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    int threads = submodi_threads_for(f->points);
    threads = (size_t)threads < f->nbundles ? threads : (int)f->nbundles;
    double *turns = submodi_take(w, f->nbundles, sizeof *turns);
    bench *benches = submodi_take(w, (size_t)threads, sizeof *benches);
    bool good = turns && benches;
    for (int i = 0; good && i < threads; i++) {
        good = set_up(&benches[i], f->longest, w);
    }
    if (good) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (int i = 0; i < threads; i++) {
            size_t end = f->nbundles * (size_t)(i + 1) / (size_t)threads;
            for (size_t j = f->nbundles * (size_t)i / (size_t)threads; j < end; j++) {
                turns[j] = project_bundle(m, c, &f->bundles[j], &benches[i]);
            }
        }
        swap_steps(m);
        for (size_t j = 0; j < f->nbundles; j++) {
            *turn += turns[j];
        }
    }
    submodi_scope_close(&scope);
    return good ? SUBMOD_OK : submodi_nomem(c->who);
}

submod_status submodi_member_project(submodi_member *m, submodi_cycle *c, double *turn,
                                     submod_work *work)
{
    return m->family ? project_family(m, c, turn, work) : project_part(m, c, turn, work);
}

void submodi_member_add_step(const submodi_member *m, double *total)
{
    if (!m->family) {
        for (size_t i = 0; i < m->k; i++) {
            total[element(m, i)] += m->now[i];
        }
        return;
    }
    for (size_t i = 0; i < m->family->nlines; i++) {
        const submodi_line *line = &m->family->lines[i];
        for (size_t j = 0; j < line->length; j++) {
            total[line->start + j * m->family->d] += m->now[line->at + j];
        }
    }
}

/* ---- the extension ---- */

static void add_extension(submodi_extension *to, const submodi_extension *f, double factor)
{
    to->value += factor * f->value;
    to->excess += factor * f->excess;
    to->size += factor * f->size;
}

/* Adds what one line has: f(u) = sum of weights times falls or rises of u, and
 * f(u) - <s, u> = sum of (out - flow) falls + (in + flow) rises, flow the sum of s so far: terms
 * >= 0, unlike those of <s, u>. Weights and s come divided by lambda, and are multiplied by it
 * before anything else: with a large lambda, products of what is left would vanish. */
static void add_line(size_t n, const double *u, const double *s, const double *out,
                     const double *in, double lambda, submodi_extension *f)
{
    double flow = 0;
    double weight = 0;
    double largest = fabs(u[n - 1]);
    for (size_t i = 0; i + 1 < n; i++) {
        double fall = u[i] - u[i + 1];
        flow += s[i];
        weight += fabs(s[i]);
        largest = fmax(largest, fabs(u[i]));
        f->value += lambda * (fall > 0 ? out[i] : -in[i]) * fall;
        f->excess += lambda * ((fall > 0 ? out[i] : -in[i]) - flow) * fall;
    }
    f->excess -= lambda * (flow + s[n - 1]) * u[n - 1]; /* 0 up to rounding */
    f->size += lambda * (weight + fabs(s[n - 1])) * largest;
}

static submod_status extension_of_family(const submodi_member *m, const submodi_cycle *c,
                                         const double *u, submodi_extension *f, submod_work *work)
{
    const submodi_family *family = m->family;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    double *v = submodi_take(w, family->longest, sizeof *v);
    for (size_t j = 0; v && j < family->nbundles; j++) {
        const submodi_bundle *bundle = &family->bundles[j];
        submodi_bundle_gather(family, bundle, u, v);
        for (size_t i = bundle->first; i < bundle->last; i++) {
            const submodi_line *line = &family->lines[i];
            add_line(line->length, v + line->at - family->lines[bundle->first].at,
                     m->now + line->at, family->out + line->at, family->in + line->at, c->lambda,
                     f);
        }
    }
    submodi_scope_close(&scope);
    return v ? SUBMOD_OK : submodi_nomem(c->who);
}

static submod_status extension_of_part(const submodi_member *m, const submodi_cycle *c,
                                       const double *u, submodi_extension *f, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    double *v = submodi_take(w, m->k, sizeof *v);
    double *s = submodi_take(w, m->k, sizeof *s);
    submodi_extension one = {0};
    submod_status status = v && s ? SUBMOD_OK : submodi_nomem(c->who);
    for (size_t i = 0; status == SUBMOD_OK && i < m->k; i++) {
        v[i] = u[element(m, i)];
        s[i] = m->now[i] * (c->lambda / m->part->coefficient);
    }
    if (status == SUBMOD_OK) {
        submod_prox_settings plain = submod_prox_defaults();
        submodi_prox_problem p = {.who = c->who,
                                  .fn = m->part->fn,
                                  .lambda = c->lambda / m->part->coefficient,
                                  .settings = &plain};
        status = submodi_extension_at(&p, v, s, &one, w);
    }
    if (status == SUBMOD_OK) {
        add_extension(f, &one, m->part->coefficient);
    }
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_member_extension(const submodi_member *m, const submodi_cycle *c,
                                       const double *u, submodi_extension *f, submod_work *work)
{
    return m->family ? extension_of_family(m, c, u, f, work) : extension_of_part(m, c, u, f, work);
}
