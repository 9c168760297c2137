/* Projections of a rank's terms on their base polytopes, and their extensions (see terms.h). Each
 * term costs its own prox, and, for the certificate, its extension: a sort and a chain, or a pass
 * over the edges of a cut. */
#include "dist/terms.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "prox/gap.h"
#include "submod/functions/embed.h"

static size_t element(const submodi_term *m, size_t i)
{
    return m->elements ? (size_t)m->elements[i] : i;
}

submod_status submodi_terms_take(submodi_terms *t, submod_fn *const *fns, size_t count,
                                 submod_work *w)
{
    size_t largest = 0;
    submodi_term *term = submodi_take(w, count, sizeof *term);
    bool good = term;
    for (size_t j = 0; good && j < count; j++) {
        submodi_term m = {.elements = NULL};
        const submod_fn *inner = submodi_embedded(fns[j], &m.elements);
        m.fn = inner ? inner : fns[j];
        m.k = m.fn->n;
        double **vectors[] = {&m.now, &m.before, NULL};
        good = submodi_take_vectors(w, m.k, vectors);
        if (good) {
            memset(m.now, 0, m.k * sizeof *m.now);
            memset(m.before, 0, m.k * sizeof *m.before);
        }
        largest = m.k > largest ? m.k : largest;
        term[j] = m;
    }
    double **vectors[] = {&t->v, &t->s, NULL};
    if (!good || !submodi_take_vectors(w, largest, vectors)) {
        return submodi_nomem(t->who);
    }
    t->term = term;
    t->count = count;
    return SUBMOD_OK;
}

void submodi_terms_clear(submodi_terms *t)
{
    for (size_t j = 0; j < t->count; j++) {
        submodi_combination_clear(&t->term[j].warm);
    }
}

void submodi_terms_touch(const submodi_terms *t, size_t n, int32_t *ranks)
{
    memset(ranks, 0, n * sizeof *ranks);
    for (size_t j = 0; j < t->count; j++) {
        for (size_t i = 0; i < t->term[j].k; i++) {
            ranks[element(&t->term[j], i)] = 1;
        }
    }
}

void submodi_terms_share(submodi_terms *t, const int32_t *ranks)
{
    for (size_t j = 0; j < t->count; j++) {
        submodi_term *m = &t->term[j];
        int32_t most = 1;
        for (size_t i = 0; i < m->k; i++) {
            int32_t here = ranks[element(m, i)];
            most = here > most ? here : most;
        }
        m->share = 1.0 / most;
    }
}

/* ---- projecting ---- */

static double extrapolated(const submodi_term *m, double momentum, size_t i)
{
    return m->now[i] + momentum * (m->now[i] - m->before[i]);
}

/* s of the prox of a term at v. Whatever the tolerance, it is a base. */
static submod_status solve(submodi_terms *t, submodi_term *m, const submodi_projection *p,
                           submod_work *w)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.tolerance = p->tolerance;
    settings.combination = &m->warm;
    if (isfinite(p->deadline)) {
        settings.time_limit = fmax(p->deadline - submodi_seconds(), 1e-9);
    }
    submod_status status = submod_prox(m->fn, t->v, t->lambda, NULL, t->s, &settings, NULL, w);
    return status < 0 ? status : SUBMOD_OK;
}

static submod_status project(submodi_terms *t, submodi_term *m, const submodi_projection *p,
                             double *sum, double *turn, submod_work *w)
{
    for (size_t i = 0; i < m->k; i++) {
        t->v[i] = extrapolated(m, p->momentum, i) + m->share * p->r[element(m, i)];
    }
    submod_status status = solve(t, m, p, w);
    for (size_t i = 0; status == SUBMOD_OK && i < m->k; i++) {
        size_t e = element(m, i);
        double from = extrapolated(m, p->momentum, i);
        double new = t->s[i] / t->lambda;
        p->r[e] -= p->ranks[e] * (new - from);
        sum[e] += new;
        *turn += (from - new) * (new - m->now[i]);
        m->before[i] = new;
    }
    return status;
}

submod_status submodi_terms_project(submodi_terms *t, const submodi_projection *p, double *sum,
                                    double *turn, submod_work *w)
{
    submod_status status = SUBMOD_OK;
    for (size_t j = 0; status == SUBMOD_OK && j < t->count; j++) {
        status = project(t, &t->term[j], p, sum, turn, w);
    }
    return status;
}

void submodi_terms_advance(submodi_terms *t)
{
    for (size_t j = 0; j < t->count; j++) {
        submodi_term *m = &t->term[j];
        double *now = m->before;
        m->before = m->now;
        m->now = now;
    }
}

/* ---- the certificate ---- */

static submod_status extension(const submodi_terms *t, const submodi_term *m, const double *u,
                               submodi_extension *f, submod_work *w)
{
    submod_prox_settings plain = submod_prox_defaults();
    submodi_extension mine = {0};
    submodi_prox_problem p = {.who = t->who, .fn = m->fn, .lambda = t->lambda, .settings = &plain};
    for (size_t i = 0; i < m->k; i++) {
        t->v[i] = u[element(m, i)];
        t->s[i] = t->lambda * m->now[i];
    }
    submodi_scope scope;
    submod_status status =
        submodi_extension_at(&p, t->v, t->s, &mine, submodi_scope_open(&scope, w));
    submodi_scope_close(&scope);
    f->value += mine.value;
    f->excess += mine.excess;
    f->size += mine.size;
    return status;
}

submod_status submodi_terms_extension(const submodi_terms *t, const double *u, submodi_extension *f,
                                      submod_work *w)
{
    submod_status status = SUBMOD_OK;
    for (size_t j = 0; status == SUBMOD_OK && j < t->count; j++) {
        status = extension(t, &t->term[j], u, f, w);
    }
    return status;
}
