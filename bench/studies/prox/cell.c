/* One cell of the study: random problems, solved exactly and by Algorithm 2, repaired and as
 * printed. */
#include <math.h>
#include <stdlib.h>

#include "prox/cell.h"

#include "common/study.h"

const double prox_negligible = 1e-9;

typedef struct problem {
    const prox_cell *cell;
    double lambda;
    const submod_fn *fn;
    double *x, *u, *clipped;
    uint8_t *foreground;
} problem;

static void draw(problem *a, submod_rng *rng)
{
    const prox_cell *c = a->cell;
    for (bool active = false; !active;) {
        active = !c->hinge;
        for (size_t i = 0; i < c->p; i++) {
            a->x[i] = c->centre + c->spread * submod_rng_normal(rng);
            a->foreground[i] = (uint8_t)submod_rng_below(rng, 2);
            active = active || a->x[i] > 0;
        }
    }
}

/* f(u) + lambda/2 |u - x|^2, by the same sums for every method. */
static bool objective(const problem *a, const double *u, double *value)
{
    double squares = 0;
    for (size_t i = 0; i < a->cell->p; i++) {
        a->clipped[i] = a->cell->hinge ? fmax(u[i], 0) : u[i];
        squares += (u[i] - a->x[i]) * (u[i] - a->x[i]);
    }
    if (submod_lovasz(a->fn, a->clipped, value, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL) !=
        SUBMOD_OK) {
        return study_fail("%s", submod_last_error());
    }
    *value += a->lambda / 2 * squares;
    return true;
}

static bool by_library(const problem *a, submod_prox_method method, double *value, double *seconds)
{
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info info;
    settings.method = method;
    settings.hinge = a->cell->hinge;
    /* A positive status says that the result is not optimal, which is no surprise here. */
    if (submod_prox(a->fn, a->x, a->lambda, a->u, NULL, &settings, &info, NULL) < 0) {
        return study_fail("%s", submod_last_error());
    }
    *seconds += info.seconds;
    return objective(a, a->u, value);
}

static const submod_prox_method methods[PROX_VERSIONS] = {
    [PROX_REPAIRED] = SUBMOD_PROX_ALGORITHM_2, [PROX_PRINTED] = SUBMOD_PROX_ALGORITHM_2_PRINTED};

static bool add_case(const problem *a, prox_cell *c)
{
    double start = 0, best = 0, value = 0;
    if (!objective(a, a->x, &start) ||
        !by_library(a, SUBMOD_PROX_JACCARD, &best, &c->exact_seconds)) {
        return false;
    }
    for (int k = 0; k < c->versions; k++) {
        if (!by_library(a, methods[k], &value, &c->seconds[k])) {
            return false;
        }
        prox_tally *t = &c->tally[k];
        double missed = fmax(value - best, 0) / (start - best);
        t->fails += missed > prox_negligible;
        t->worse += missed > 1;
        t->mean_missed += missed;
        t->most_missed = fmax(t->most_missed, missed);
    }
    c->cases++;
    return true;
}

static bool add_cases(problem *a, prox_cell *c, int cases, uint64_t seed)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    bool good = true;
    for (int i = 0; good && i < cases; i++) {
        submod_fn *fn = NULL;
        draw(a, &rng);
        if (submod_fn_jaccard(c->p, a->foreground, &fn) != SUBMOD_OK) {
            return study_fail("%s", submod_last_error());
        }
        a->fn = fn;
        good = add_case(a, c);
        submod_fn_free(fn);
    }
    for (int k = 0; k < c->versions; k++) {
        c->tally[k].mean_missed /= cases;
        c->seconds[k] /= cases;
    }
    c->exact_seconds /= cases;
    return good;
}

bool prox_measure(prox_cell *c, int cases, uint64_t seed)
{
    problem a = {.cell = c, .lambda = prox_lambda(c)};
    a.x = malloc(c->p * sizeof *a.x);
    a.u = malloc(c->p * sizeof *a.u);
    a.clipped = malloc(c->p * sizeof *a.clipped);
    a.foreground = malloc(c->p);
    bool good = study_got(a.x && a.u && a.clipped && a.foreground);
    good = good && add_cases(&a, c, cases, seed);
    free(a.x);
    free(a.u);
    free(a.clipped);
    free(a.foreground);
    return good;
}
