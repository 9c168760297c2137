/* Fuzzes sums of set functions: their parts against Fujishige-Wolfe on the whole.
 *
 * The prox by parts and that by Wolfe differ by no more than their gaps allow; so do the minima. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "combinations.h"
#include "support.h"
#include "trees.h"

enum { TERMS = 5 };

typedef struct problem {
    size_t n, count;
    submod_fn *terms[TERMS];
    submod_fn *whole;
    double size; /* of the numbers that it is made of */
    double x[TREES_MOST], lambda;
} problem;

typedef struct answer {
    submod_status status;
    double u[TREES_MOST], s[TREES_MOST];
    submod_prox_info info;
} answer;

static void make(dice *d, problem *p)
{
    memset(p, 0, sizeof *p);
    p->n = 2 + dice_below(d, TREES_MOST - 1);
    p->count = 1 + dice_below(d, TERMS);
    bool all = true;
    for (size_t k = 0; k < p->count; k++) {
        tree t = tree_make(d, p->n, (int)dice_below(d, 3));
        p->terms[k] = t.fn;
        p->size += t.size;
        all = all && t.fn;
    }
    p->lambda = tree_lambda(d);
    tree_vector(d, dice_numbers(d), p->n, p->x);
    if (all && isfinite(1024 * p->size)) {
        submod_status status = combine_sum(p->terms, NULL, p->count, &p->whole);
        FUZZ_CHECK(status == SUBMOD_OK, "%zu terms have no sum", p->count);
    }
}

static answer solve(const problem *p, submod_prox_method method)
{
    answer a;
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    settings.max_iterations = 500;
    a.status = submod_prox(p->whole, p->x, p->lambda, a.u, a.s, &settings, &a.info, NULL);
    FUZZ_CHECK(a.status >= 0 || submod_last_error()[0], "status %d without words", (int)a.status);
    if (fuzz_shows()) {
        fprintf(stderr, "method %d, status %d, lambda %g, gap %g\n", (int)a.info.method,
                (int)a.status, p->lambda, a.info.gap);
        for (size_t i = 0; i < p->n && a.status >= 0; i++) {
            fprintf(stderr, "    x %.17g u %.17g s %.17g\n", p->x[i], a.u[i], a.s[i]);
        }
    }
    return a;
}

/* s is a base, which all subsets say. */
static void check_base(const problem *p, const answer *a)
{
    double F[1 << TREES_MOST];
    const tree whole = {p->whole, p->size};
    if (a->status == SUBMOD_OK && tree_values(&whole, F)) {
        double excess = worst_excess(F, p->n, a->s);
        FUZZ_CHECK(excess <= tree_base_rounding(&whole, a->info.method, p->x, p->lambda),
                   "method %d, lambda %g: s is no base, by %g of %g", (int)a->info.method,
                   p->lambda, excess, p->size);
    }
}

/* How far two solutions may be apart. */
static void check_same(const problem *p, const answer *a, const answer *b, const char *what)
{
    double apart = 0, reach = p->size / p->lambda;
    if (a->status != SUBMOD_OK || b->status != SUBMOD_OK) {
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        apart = fmax(apart, fabs(a->u[i] - b->u[i]));
        reach = fmax(reach, fabs(p->x[i]));
    }
    double gaps = fmax(a->info.gap, 0) + fmax(b->info.gap, 0);
    double allowed = 2 * sqrt(2 * gaps) / sqrt(p->lambda) + 1e-5 * reach;
    FUZZ_CHECK(!isfinite(allowed) || apart <= allowed,
               "%s: methods %d and %d are %g apart, %g allowed, lambda %g", what,
               (int)a->info.method, (int)b->info.method, apart, allowed, p->lambda);
}

static void fuzz_minima(dice *d, const problem *p)
{
    double value[2];
    const submod_sfm_method methods[2] = {SUBMOD_SFM_SUM, dice_below(d, 2) ? SUBMOD_SFM_MIN_NORM
                                                                           : SUBMOD_SFM_EXHAUSTIVE};
    for (int k = 0; k < 2; k++) {
        submod_sfm_settings settings = submod_sfm_defaults();
        submod_sfm_info info;
        settings.method = methods[k];
        settings.max_iterations = 500;
        if (submod_sfm(p->whole, NULL, NULL, NULL, &settings, &info, NULL) != SUBMOD_OK) {
            return;
        }
        value[k] = info.value;
    }
    FUZZ_CHECK(fuzz_near(value[0], value[1], 1e-8 * p->size), "minimum %.17g by parts, %.17g by %d",
               value[0], value[1], (int)methods[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    dice d = dice_of(bytes, size);
    problem p;
    submod_set_num_threads(1);
    make(&d, &p);
    if (p.whole) {
        answer best = solve(&p, SUBMOD_PROX_AUTO);
        answer parts = solve(&p, SUBMOD_PROX_SUM);
        answer wolfe = solve(&p, SUBMOD_PROX_MIN_NORM);
        check_base(&p, &parts);
        check_base(&p, &wolfe);
        check_same(&p, &parts, &wolfe, "by parts");
        check_same(&p, &best, &wolfe, "by itself");
        fuzz_minima(&d, &p);
    }
    for (size_t k = 0; k < p.count; k++) {
        submod_fn_free(p.terms[k]);
    }
    submod_fn_free(p.whole);
    return 0;
}
