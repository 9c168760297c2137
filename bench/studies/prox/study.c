/* How often Algorithm 2 of the paper's supplement misses the prox of the Jaccard loss: with the
 * hinge, for which the paper has it, and without; repaired and as printed (src/prox/algorithm2.c).
 *
 * The entries of x - prox(x) add up to F(V) / lambda = 1 / lambda without the hinge, so
 * 1 / (lambda p) is the mean step of a pixel, which can be compared across p. Every sweep goes
 * over this step and over one more axis: p, the spread of the margins or their centre. More is not
 * needed: f is positively homogeneous, so margins, steps and 1 / lambda may be scaled together.
 * Without the hinge the centre does not matter either, and step / spread is all there is.
 */
#include <math.h>
#include <stdlib.h>

#include "common/study.h"
#include "common/summary.h"
#include "prox/cell.h"

enum { STEPS = 21, MOST_ROWS = 7, PRINTED_UP_TO = 256, CURVE_P = 64 };
static const char *const version_names[PROX_VERSIONS] = {"repaired", "printed"};

/* 1e-4 to 10, four to the decade. */
static double step_at(int k)
{
    return pow(10, k / 4.0 - 4);
}

typedef enum axis { PIXELS, SPREAD, CENTRE } axis;

typedef struct setting {
    const char *name, *title; /* of its file; in the table */
    axis along;
    bool hinge;
    double centre, spread;
    int versions;
} setting;

/* What was measured over one more axis and the step. */
typedef struct sweep {
    const setting *of;
    size_t rows;
    prox_cell cells[MOST_ROWS][STEPS];
} sweep;

enum { PLAIN, HINGE, WIDE, RIGHT, SPREADS, CENTRES, SWEEPS };
static const setting settings[SWEEPS] = {
    [PLAIN] = {"plain", "no hinge, margins 1 ± 0.1", PIXELS, false, 1, 0.1, 1},
    [HINGE] = {"hinge", "hinge, margins 1 ± 0.1", PIXELS, true, 1, 0.1, PROX_VERSIONS},
    [WIDE] = {"wide", "hinge, margins 1 ± 1", PIXELS, true, 1, 1, 1},
    [RIGHT] = {"right", "hinge, margins -1 ± 1", PIXELS, true, -1, 1, 1},
    [SPREADS] = {"spread", "hinge, margins 1", SPREAD, true, 1, 0, 1},
    [CENTRES] = {"centre", "hinge, spread 1", CENTRE, true, 0, 1, 1},
};

static size_t middle_p(const study_options *options)
{
    return options->quick ? 64 : 256;
}

/* The value of a row on the axis of its sweep: 4, 16, 64 .. pixels; spreads 0.01, 0.032, 0.1 ..;
 * centres -3, -2, -1 .. */
static double row_value(axis along, size_t row)
{
    switch (along) {
    case PIXELS: return pow(4, (double)row + 1);
    case SPREAD: return pow(10, (double)row / 2 - 2);
    default: return (double)row - 3;
    }
}

static bool run_sweep(const study_options *options, const setting *of, sweep *s)
{
    s->of = of;
    s->rows = of->along != PIXELS ? 6 : options->quick ? 3 : MOST_ROWS;
    for (size_t row = 0; row < s->rows; row++) {
        double value = row_value(of->along, row);
        for (int k = 0; k < STEPS; k++) {
            prox_cell *c = &s->cells[row][k];
            study_progress(options, row * STEPS + (size_t)k, s->rows * STEPS);
            *c = (prox_cell){.hinge = of->hinge,
                             .centre = of->along == CENTRE ? value : of->centre,
                             .spread = of->along == SPREAD ? value : of->spread,
                             .p = of->along == PIXELS ? (size_t)value : middle_p(options),
                             .step = step_at(k)};
            c->versions = c->p <= PRINTED_UP_TO ? of->versions : 1;
            size_t cases = options->quick ? 4 : c->p <= 256 ? 400 : 102400 / c->p + 10;
            if (!prox_measure(c, (int)cases, options->seed)) {
                return false;
            }
        }
    }
    study_progress(options, 1, 1);
    return true;
}

static double percent(int hits, int cases)
{
    return 100.0 * hits / cases;
}

static void write_line(FILE *file, const prox_cell *c, int version)
{
    const prox_tally *t = &c->tally[version];
    interval i = summary_share((size_t)t->fails, (size_t)c->cases);
    fprintf(file, "%zu,%g,%.4g,%.4g,%.4g,%s,%d,%.4g,%.4g,%.4g,%.4g,%.4e,%.4e\n", c->p, c->centre,
            c->spread, c->step, prox_lambda(c), version_names[version], c->cases,
            percent(t->fails, c->cases), 100 * i.low, 100 * i.high, percent(t->worse, c->cases),
            t->mean_missed, t->most_missed);
}

/* All that was measured: one version after the other, a line for each cell. */
static bool write_sweep(const study_options *options, const sweep *s)
{
    char name[40];
    snprintf(name, sizeof name, "sweep_%s.csv", s->of->name);
    FILE *file = study_open(options, name);
    if (!file) {
        return false;
    }
    fprintf(file, "p,centre,spread,step,lambda,version,cases,fails_percent,fails_low,fails_high,"
                  "worse_than_x_percent,mean_missed,most_missed\n");
    for (int version = 0; version < s->of->versions; version++) {
        for (size_t row = 0; row < s->rows; row++) {
            for (int k = 0; k < STEPS && version < s->cells[row][k].versions; k++) {
                write_line(file, &s->cells[row][k], version);
            }
        }
    }
    return study_close(file);
}

/* ---- tables ---- */

static const int shown[] = {0, 4, 8, 12, 14, 16, 17, 18, 20}; /* steps of the table */
enum { SHOWN = sizeof shown / sizeof *shown };

/* A line for each p of one sweep and version. */
static void write_rows(const sweep *s, int version, const char *title, FILE *table)
{
    for (size_t row = 0; row < s->rows && version < s->cells[row][0].versions; row++) {
        const prox_cell *cells = s->cells[row];
        printf("  %-38s %6zu %5d |", title, cells[0].p, cells[0].cases);
        fprintf(table, "\"%s\",%zu,%d", title, cells[0].p, cells[0].cases);
        double most = 0;
        for (int k = 0; k < STEPS; k++) {
            most = fmax(most, cells[k].tally[version].mean_missed);
        }
        for (int k = 0; k < SHOWN; k++) {
            const prox_cell *c = &cells[shown[k]];
            printf(" %4.0f", percent(c->tally[version].fails, c->cases));
            fprintf(table, ",%.0f", percent(c->tally[version].fails, c->cases));
        }
        printf(" | %8.2g\n", 100 * most);
        fprintf(table, ",%.2g\n", 100 * most);
    }
}

static bool write_table(const study_options *options, const sweep *all)
{
    FILE *table = study_open(options, "table.csv");
    if (!table) {
        return false;
    }
    printf("  %% of cases that fail, by mean step of a pixel, 1 / (lambda p)\n"
           "  %-38s %6s %5s |",
           "setting", "pixels", "cases");
    fprintf(table, "setting,pixels,cases");
    for (int k = 0; k < SHOWN; k++) {
        printf(" %4.2g", step_at(shown[k]));
        fprintf(table, ",%% fail at %.2g", step_at(shown[k]));
    }
    printf(" | missed %%\n");
    fprintf(table, ",missed %% (mean; worst step)\n");
    for (int s = PLAIN; s <= RIGHT; s++) {
        write_rows(&all[s], PROX_REPAIRED, all[s].of->title, table);
    }
    write_rows(&all[HINGE], PROX_PRINTED, "as printed, 1 ± 0.1", table);
    return study_close(table);
}

static bool write_times(const study_options *options, const sweep *s)
{
    FILE *file = study_open(options, "table_time.csv");
    if (!file) {
        return false;
    }
    fprintf(file, "pixels,Algorithm 2 µs,exact prox µs\n");
    for (size_t row = 0; row < s->rows; row++) {
        double path = 0, exact = 0;
        for (int k = 0; k < STEPS; k++) {
            path += 1e6 * s->cells[row][k].seconds[PROX_REPAIRED] / STEPS;
            exact += 1e6 * s->cells[row][k].exact_seconds / STEPS;
        }
        fprintf(file, "%zu,%.1f,%.1f\n", s->cells[row][0].p, path, exact);
    }
    return study_close(file);
}

/* ---- claims ---- */

/* One version over all steps of all rows of the sweeps first .. last. */
typedef struct total {
    int cases, fails, worse;
    double worst_mean; /* largest mean share missed of all cells */
} total;

static total add_up(const sweep *all, int first, int last, int version)
{
    total t = {0};
    for (int s = first; s <= last; s++) {
        for (size_t row = 0; row < all[s].rows; row++) {
            for (int k = 0; k < STEPS && version < all[s].cells[row][k].versions; k++) {
                const prox_cell *c = &all[s].cells[row][k];
                t.cases += c->cases;
                t.fails += c->tally[version].fails;
                t.worse += c->tally[version].worse;
                t.worst_mean = fmax(t.worst_mean, c->tally[version].mean_missed);
            }
        }
    }
    return t;
}

static bool judge(const study_options *options, const sweep *all)
{
    char text[200];
    study_claims claims;
    if (!study_claims_open(options, &claims)) {
        return false;
    }
    total path = add_up(all, HINGE, CENTRES, PROX_REPAIRED);
    total printed = add_up(all, HINGE, HINGE, PROX_PRINTED);
    snprintf(text, sizeof text, "it misses it in %d of %d problems of all settings with the hinge",
             path.fails, path.cases);
    study_claim(&claims, "paper: Algorithm 2, repaired, returns the prox (its output line)", text,
                path.fails == 0);
    snprintf(text, sizeof text, "at worst %.2g %% of the way are missed, as a mean of one setting",
             100 * path.worst_mean);
    study_claim(&claims,
                "paper: it approximates the prox (the text): more than half of the way is done",
                text, path.worst_mean < 0.5);
    snprintf(text, sizeof text, "it ends above where it began in %d of %d problems", printed.worse,
             printed.cases);
    study_claim(&claims, "paper: as printed, it goes down", text, printed.worse == 0);
    return study_claims_close(&claims);
}

static bool publish(const study_options *options, const sweep *all)
{
    study_values values = {0};
    study_set(&values, "negligible", "%g", prox_negligible);
    study_set(&values, "curve_p", "%d", CURVE_P);
    study_set(&values, "middle", "%zu", middle_p(options));
    study_set(&values, "cases", "%d", all[SPREADS].cells[0][0].cases);
    study_set(&values, "largest", "%zu", all[HINGE].cells[all[HINGE].rows - 1][0].p);
    study_set(&values, "fewest", "%d", all[HINGE].cells[all[HINGE].rows - 1][0].cases);
    return study_publish(options, &values);
}

bool study_prox(const study_options *options)
{
    sweep *all = calloc(SWEEPS, sizeof *all);
    bool good = study_got(all);
    for (int s = 0; s < SWEEPS && good; s++) {
        good = run_sweep(options, &settings[s], &all[s]) && write_sweep(options, &all[s]);
    }
    good = good && write_table(options, all) && write_times(options, &all[HINGE]) &&
           judge(options, all) && publish(options, all);
    free(all);
    return good;
}
