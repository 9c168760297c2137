/* The greedy path (Algorithm 2 of the paper's supplement) against the exact prox of the Jaccard
 * extension, over the number of pixels p and the strength lambda.
 *
 * x is standard normal, each pixel foreground with probability 1/2. The entries of x - prox(x) add
 * up to F(V) / lambda = 1 / lambda whatever the method, so 1 / (lambda p) is the mean step of a
 * pixel, which can be compared across p. A case is suboptimal if the path misses more
 * than 1e-9 of the decrease of the objective f(u) + lambda/2 |u - x|^2 from u = x to its minimum;
 * the share of the decrease that it misses says by how much.
 */
#include <math.h>
#include <stdlib.h>

#include "common/study.h"

static const double steps[] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};
static const double negligible = 1e-9; /* share of the decrease */
enum { STEPS = sizeof steps / sizeof steps[0] };

/* All cases with one p and one step. */
typedef struct cell {
    size_t p;
    double lambda;
    int cases, suboptimal;
    double mean_missed, most_missed; /* share of the decrease */
    double most_above;               /* largest difference of objectives */
    double path_seconds, exact_seconds;
} cell;

typedef struct arrays {
    double *x, *u;
    uint8_t *foreground;
} arrays;

static submod_status solve(const submod_fn *fn, const arrays *a, double lambda,
                           submod_prox_method method, submod_prox_info *info)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    return submod_prox(fn, a->x, lambda, a->u, NULL, &settings, info, NULL);
}

static bool add_case(submod_rng *rng, const arrays *a, cell *c)
{
    submod_fn *fn = NULL;
    submod_prox_info path, best;
    double start = 0;
    for (size_t i = 0; i < c->p; i++) {
        a->x[i] = submod_rng_normal(rng);
        a->foreground[i] = (uint8_t)submod_rng_below(rng, 2);
    }
    bool good = submod_fn_jaccard(c->p, a->foreground, &fn) == SUBMOD_OK &&
                submod_lovasz(fn, a->x, &start, NULL, NULL, NULL, NULL) == SUBMOD_OK &&
                solve(fn, a, c->lambda, SUBMOD_PROX_GREEDY_PATH, &path) >= 0 &&
                solve(fn, a, c->lambda, SUBMOD_PROX_JACCARD, &best) >= 0;
    submod_fn_free(fn);
    if (!good) {
        return study_fail("%s", submod_last_error());
    }
    double above = path.primal - best.primal;
    double missed = fmax(above, 0) / (start - best.primal);
    c->cases++;
    c->suboptimal += missed > negligible;
    c->mean_missed += missed;
    c->most_missed = fmax(c->most_missed, missed);
    c->most_above = fmax(c->most_above, above);
    c->path_seconds += path.seconds;
    c->exact_seconds += best.seconds;
    return true;
}

static bool run_cell(submod_rng *rng, size_t p, double step, int cases, cell *c)
{
    arrays a = {malloc(p * sizeof *a.x), malloc(p * sizeof *a.u), malloc(p)};
    *c = (cell){.p = p, .lambda = 1 / (step * (double)p)};
    bool good = true;
    if (!a.x || !a.u || !a.foreground) {
        good = study_fail("out of memory");
    } else {
        for (int i = 0; good && i < cases; i++) {
            good = add_case(rng, &a, c);
        }
    }
    c->mean_missed /= cases;
    c->path_seconds /= cases;
    c->exact_seconds /= cases;
    free(a.x);
    free(a.u);
    free(a.foreground);
    return good;
}

/* One line of the table: the results for each step, and the mean times of this p. */
static void write_row(const cell *cells, FILE *table)
{
    printf("  %6zu |", cells[0].p);
    fprintf(table, "%zu", cells[0].p);
    for (size_t i = 0; i < STEPS; i++) {
        printf(" %5.0f", 100.0 * cells[i].suboptimal / cells[i].cases);
        fprintf(table, ",%.0f", 100.0 * cells[i].suboptimal / cells[i].cases);
    }
    printf(" |");
    double path = 0, exact = 0, most = 0;
    for (size_t i = 0; i < STEPS; i++) {
        printf(" %7.1e", cells[i].most_missed);
        most = fmax(most, cells[i].most_missed);
        path += cells[i].path_seconds / STEPS;
        exact += cells[i].exact_seconds / STEPS;
    }
    printf(" | %9.1f %9.1f\n", 1e6 * path, 1e6 * exact);
    fprintf(table, ",%.1f,%.1f,%.1f\n", 100 * most, 1e6 * path, 1e6 * exact);
}

static bool write_cells(const study_options *options, FILE *csv, FILE *table)
{
    submod_rng rng;
    submod_rng_seed(&rng, options->seed);
    fprintf(csv, "p,step,lambda,cases,suboptimal_percent,mean_missed,most_missed,most_above,"
                 "path_seconds,exact_seconds\n");
    fprintf(table, "pixels");
    for (size_t i = 0; i < STEPS; i++) {
        fprintf(table, ",%% off at %g", steps[i]);
    }
    fprintf(table, ",most missed %%,path µs,exact µs\n");
    size_t largest = options->quick ? 64 : 16384;
    for (size_t p = 4; p <= largest; p *= 4) {
        cell cells[STEPS];
        fputs(p > 4 ? "\n\n" : "", csv); /* blocks of gnuplot */
        size_t cases = options->quick ? 20 : p <= 100 ? 400 : 40000 / p + 10;
        for (size_t i = 0; i < STEPS; i++) {
            cell *c = &cells[i];
            study_progress(options, i, STEPS);
            if (!run_cell(&rng, p, steps[i], (int)cases, c)) {
                return false;
            }
            fprintf(csv, "%zu,%g,%.6g,%d,%.4g,%.4e,%.4e,%.4e,%.4e,%.4e\n", p, steps[i], c->lambda,
                    c->cases, 100.0 * c->suboptimal / c->cases, c->mean_missed, c->most_missed,
                    c->most_above, c->path_seconds, c->exact_seconds);
        }
        study_progress(options, 1, 1);
        write_row(cells, table);
    }
    return true;
}

static void print_head(void)
{
    printf("  columns: mean step of a pixel, 1 / (lambda p)\n"
           "         | %% of cases in which the path is suboptimal            |"
           " largest share of the decrease that it misses                           |"
           " microseconds a call\n  pixels |");
    for (size_t i = 0; i < STEPS; i++) {
        printf(" %5g", steps[i]);
    }
    printf(" |");
    for (size_t i = 0; i < STEPS; i++) {
        printf(" %7g", steps[i]);
    }
    printf(" |      path     exact\n");
}

bool study_prox(const study_options *options)
{
    FILE *csv = study_open(options, "prox.csv");
    FILE *table = study_open(options, "table.csv");
    print_head();
    bool good = csv && table && write_cells(options, csv, table);
    good = (!csv || study_close(csv)) && good;
    study_values values = {0};
    study_set(&values, "negligible", "%g", negligible);
    good = (!table || study_close(table)) && good;
    return good && study_publish(options, &values);
}
