/* Optimisers of the last layer (paper's supplement, Fig. "Loss OptimizationLastLayer"), on
 * synthetic images. Each gets its best step size of the same grid;
 * those with prox also the best of three values of how far prox looks. What is best is found with
 * one seed, and measured with others.
 */
#include <math.h>
#include <stdlib.h>

#include "common/paired.h"
#include "common/quantile.h"
#include "last_layer/run.h"

enum { SEEDS = 10 };            /* measured */
static const double band = 0.1; /* left out on each side of the bands */

typedef struct setting {
    layer_task task;
    layer_tuning tuning[LAYER_METHODS];
    size_t seeds;
    double gap[SEEDS];
    layer_curve of[SEEDS][LAYER_METHODS];
} setting;

/* ---- runs ---- */
/* New images, and their least J. */
static bool prepare(const study_options *options, uint64_t seed, layer_task *t)
{
    size_t images = options->quick ? 8 : 40;
    size_t side = options->quick ? 12 : 32;
    layer_data_free(&t->train);
    layer_data_free(&t->held_out);
    return layer_synthetic(seed, images, side, &t->train, &t->held_out) &&
           layer_minimum(t, options->quick ? 1e-2 : 2e-6);
}

static bool run_setting(const study_options *options, setting *s)
{
    size_t steps = (s->seeds + 3) * LAYER_METHODS,
           done = 0; /* tuning takes about as long as three */
    bool good = prepare(options, options->seed, &s->task);
    for (int m = 0; m < LAYER_METHODS && good; m++, done += 3) {
        study_progress(options, done, steps);
        good = layer_tune(&s->task, (layer_method)m, options->seed, &s->tuning[m]);
    }
    for (size_t k = 0; k < s->seeds && good; k++) {
        uint64_t seed = options->seed + 1 + k;
        good = prepare(options, seed, &s->task);
        s->gap[k] = s->task.gap;
        for (int m = 0; m < LAYER_METHODS && good; m++) {
            study_progress(options, done++, steps);
            good = layer_run(&s->task, (layer_method)m, s->tuning[m], seed, &s->of[k][m]);
        }
    }
    study_progress(options, 1, 1);
    return good;
}

/* ---- summaries over the seeds ---- */
typedef enum quantity { EXCESS, JACCARD, SECONDS } quantity;

static double value(const layer_curve *c, quantity q, size_t epoch)
{
    return q == EXCESS ? c->excess[epoch] : q == JACCARD ? c->jaccard[epoch] : c->seconds[epoch];
}

static double over_seeds(const setting *s, int m, quantity q, size_t epoch, double share)
{
    double all[SEEDS];
    for (size_t k = 0; k < s->seeds; k++) {
        all[k] = value(&s->of[k][m], q, epoch);
    }
    return quantile(all, s->seeds, share);
}

static bool write_curves(const study_options *options, const setting *s)
{
    FILE *file = study_open(options, "curves.csv");
    if (!file) {
        return false;
    }
    fprintf(file, "method,name,epoch,J - J* median,low,high,held-out Jaccard median,low,high\n");
    for (int m = 0; m < LAYER_METHODS; m++) {
        for (size_t k = 0; k <= s->task.epochs; k++) {
            fprintf(file, "%d,%s,%zu", m + 1, layer_methods[m].name, k);
            for (int q = EXCESS; q <= JACCARD; q++) {
                const double share[] = {0.5, band, 1 - band};
                for (int i = 0; i < 3; i++) {
                    fprintf(file, ",%.6e", over_seeds(s, m, (quantity)q, k, share[i]));
                }
            }
            fprintf(file, "\n");
        }
    }
    return study_close(file);
}

/* The first epoch after which J - J* stays within this share of its first value; infinite: none. */
static double epochs_to(const layer_curve *c, size_t epochs, double share)
{
    double first = INFINITY;
    for (size_t k = 0; k <= epochs; k++) {
        bool there = c->excess[k] <= share * c->excess[0];
        first = !there ? INFINITY : isfinite(first) ? first : (double)k;
    }
    return first;
}

static void write_rows(const setting *s, FILE *file)
{
    size_t last = s->task.epochs;
    for (int m = 0; m < LAYER_METHODS; m++) {
        double reached[SEEDS];
        char to[32] = "-", look[32] = "-";
        for (size_t k = 0; k < s->seeds; k++) {
            reached[k] = epochs_to(&s->of[k][m], last, 0.01);
        }
        double epochs = quantile(reached, s->seeds, 0.5);
        if (s->tuning[m].look > 0) {
            snprintf(look, sizeof look, "%g", s->tuning[m].look);
        }
        if (isfinite(epochs)) {
            snprintf(to, sizeof to, "%g", epochs);
        }
        double e[3];
        for (int i = 0; i < 3; i++) {
            e[i] = over_seeds(s, m, EXCESS, last, i == 0 ? 0.5 : i == 1 ? band : 1 - band);
        }
        double seconds = over_seeds(s, m, SECONDS, last, 0.5);
        double jaccard = 100 * over_seeds(s, m, JACCARD, last, 0.5);
        printf("  %-17s %-6g %-5s %9.2e (%.1e to %.1e) %8s %9.3f %9.2f\n", layer_methods[m].name,
               s->tuning[m].eta, look, e[0], e[1], e[2], to, seconds, jaccard);
        fprintf(file, "%s,%g,%s,%.2e,%.1e,%.1e,%s,%.3f,%.2f\n", layer_methods[m].name,
                s->tuning[m].eta, look, e[0], e[1], e[2], to, seconds, jaccard);
    }
}

/* ---- the claims ---- */

/* Claims that the final J - J* of method a is below `factor` times that of b. Compared are
 * logarithms, seed by seed. Differences below the gap count as the gap: the minimum is not known
 * better. */
static void compare(study_claims *claims, const setting *s, const char *claim, layer_method a,
                    layer_method b, double factor)
{
    char measured[240];
    double gain[SEEDS];
    size_t smaller = 0;
    for (size_t k = 0; k < s->seeds; k++) {
        double ea = fmax(s->of[k][a].excess[s->task.epochs], s->gap[k]);
        double eb = fmax(s->of[k][b].excess[s->task.epochs], s->gap[k]);
        gain[k] = log(eb / ea);
        smaller += ea < eb;
    }
    paired d = paired_of(gain, s->seeds);
    snprintf(
        measured, sizeof measured,
        "J - J* at the end: %.3g times that of %s, 95 %% interval [%.3g, %.3g]; smaller in %zu "
        "of %zu seeds",
        exp(-d.mean), layer_methods[b].name, exp(-d.high), exp(-d.low), smaller, s->seeds);
    study_judge(claims, claim, measured, paired_above(d, -log(factor)));
}

static void judge(study_claims *claims, const setting *s)
{
    compare(claims, s, "paper: prox converges better than SGD", BY_PROX, BY_SGD, 1);
    compare(claims, s, "paper: prox is similar (within 10 %) to or better than momentum", BY_PROX,
            BY_MOMENTUM, 1.1);
    compare(claims, s, "ours: prox improves momentum", BY_PROX_MOMENTUM, BY_MOMENTUM, 1);
    compare(claims, s, "ours: prox improves Adam", BY_PROX_ADAM, BY_ADAM, 1);
    compare(claims, s, "ours: the exact prox beats Algorithm 2", BY_PROX, BY_PATH, 1);
}

static bool write_table(const study_options *options, const setting *s)
{
    FILE *table = study_open(options, "table.csv");
    if (!table) {
        return false;
    }
    printf("\n  method            step   look  J-J* at the end (10 to 90 %%)   "
           "epochs to  seconds  held-out\n"
           "                                                               "
           "1 %% left   in all   Jaccard, %%\n");
    fprintf(table, "method,step,look,J - J* at the end (median),10 %%,90 %%,epochs to 1%% "
                   "left,seconds in all,held-out Jaccard %%\n");
    write_rows(s, table);
    return study_close(table);
}

static bool write_claims(const study_options *options, const setting *s)
{
    study_claims claims;
    if (!study_claims_open(options, &claims)) {
        return false;
    }
    judge(&claims, s);
    return study_claims_close(&claims);
}

static bool publish(const study_options *options, const setting *s)
{
    study_values values = {0};
    study_set(&values, "steps", "%d", LAYER_STEPS);
    study_set(&values, "looks", "%d", LAYER_LOOKS);
    study_set(&values, "power", "%g", layer_power);
    study_set(&values, "seeds", "%zu", s->seeds);
    study_set(&values, "epochs", "%zu", s->task.epochs);
    return study_publish(options, &values);
}

bool study_last_layer(const study_options *options)
{
    bool quick = options->quick;
    setting *s = calloc(1, sizeof *s);
    if (!study_got(s)) {
        return false;
    }
    s->seeds = quick ? 2 : SEEDS;
    s->task.per_batch = 4;
    s->task.epochs = quick ? 3 : LAYER_MOST_EPOCHS;
    bool good = run_setting(options, s) && write_curves(options, s) && write_table(options, s) &&
                write_claims(options, s) && publish(options, s);
    layer_data_free(&s->task.train);
    layer_data_free(&s->task.held_out);
    free(s);
    return good;
}
