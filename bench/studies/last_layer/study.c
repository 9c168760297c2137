/* Optimisers of the last layer (paper's supplement, Fig. "Loss OptimizationLastLayer"), on
 * synthetic images and on the slices of study brain. Each gets its best step size of the same grid;
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
    const char *title;
    bool synthetic; /* new images for each seed; else a new order of the same ones */
    layer_task task;
    layer_tuning tuning[LAYER_METHODS];
    size_t seeds;
    double gap[SEEDS];
    layer_curve of[SEEDS][LAYER_METHODS];
} setting;

/* ---- runs ---- */
static bool new_images(const study_options *options, uint64_t seed, layer_task *t)
{
    size_t images = options->quick ? 8 : 40;
    size_t side = options->quick ? 12 : 32;
    layer_data_free(&t->train);
    layer_data_free(&t->held_out);
    return layer_synthetic(seed, images, side, &t->train, &t->held_out);
}

static bool prepare(const study_options *options, setting *s, uint64_t seed)
{
    bool known = s->task.gap > 0; /* the least J of images that stay the same */
    return (!s->synthetic || new_images(options, seed, &s->task)) &&
           ((!s->synthetic && known) || layer_minimum(&s->task, options->quick ? 1e-2 : 2e-6));
}

static bool run_setting(const study_options *options, setting *s)
{
    size_t steps = (s->seeds + 3) * LAYER_METHODS,
           done = 0; /* tuning takes about as long as three */
    bool good = prepare(options, s, options->seed);
    for (int m = 0; m < LAYER_METHODS && good; m++, done += 3) {
        study_progress(options, done, steps);
        good = layer_tune(&s->task, (layer_method)m, options->seed, &s->tuning[m]);
    }
    for (size_t k = 0; k < s->seeds && good; k++) {
        uint64_t seed = options->seed + 1 + k;
        good = prepare(options, s, seed);
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

static bool write_curves(const study_options *options, const setting *s, size_t number)
{
    char file_name[64];
    snprintf(file_name, sizeof file_name, "curves_%zu.csv", number);
    FILE *file = study_open(options, file_name);
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
        printf("  %-10s %-17s %-6g %-5s %9.2e (%.1e to %.1e) %8s %9.3f %9.2f\n", s->title,
               layer_methods[m].name, s->tuning[m].eta, look, e[0], e[1], e[2], to, seconds,
               jaccard);
        fprintf(file, "%s,%s,%g,%s,%.2e,%.1e,%.1e,%s,%.3f,%.2f\n", s->title, layer_methods[m].name,
                s->tuning[m].eta, look, e[0], e[1], e[2], to, seconds, jaccard);
    }
}

/* ---- the claims ---- */

/* Claims that the final J - J* of method a is below `factor` times that of b. Compared are
 * logarithms, seed by seed. Differences below the gap count as the gap: the minimum is not known
 * better. */
static void compare(study_claims *claims, const setting *s, const char *text, layer_method a,
                    layer_method b, double factor)
{
    char claim[160], measured[240];
    double gain[SEEDS];
    size_t smaller = 0;
    for (size_t k = 0; k < s->seeds; k++) {
        double ea = fmax(s->of[k][a].excess[s->task.epochs], s->gap[k]);
        double eb = fmax(s->of[k][b].excess[s->task.epochs], s->gap[k]);
        gain[k] = log(eb / ea);
        smaller += ea < eb;
    }
    paired d = paired_of(gain, s->seeds);
    snprintf(claim, sizeof claim, "%s, %s", text, s->title);
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

static bool write_table(const study_options *options, const setting *all, size_t count)
{
    FILE *table = study_open(options, "table.csv");
    if (!table) {
        return false;
    }
    printf("\n  data       method            step   look  J-J* at the end (10 to 90 %%)   "
           "epochs to  seconds  held-out\n"
           "                                                                          "
           "1 %% left   in all   Jaccard, %%\n");
    fprintf(table, "data,method,step,look,J - J* at the end (median),10 %%,90 %%,epochs to 1%% "
                   "left,seconds in all,held-out Jaccard %%\n");
    for (size_t k = 0; k < count; k++) {
        write_rows(&all[k], table);
    }
    return study_close(table);
}

static bool write_claims(const study_options *options, const setting *all, size_t count)
{
    study_claims claims;
    if (!study_claims_open(options, &claims)) {
        return false;
    }
    for (size_t k = 0; k < count; k++) {
        judge(&claims, &all[k]);
    }
    return study_claims_close(&claims);
}

static bool publish(const study_options *options, const setting *all, size_t count)
{
    study_values values = {0};
    study_set(&values, "rows", "%zu", count);
    study_set(&values, "titles", "'%s %s'", all[0].title, count > 1 ? all[1].title : "");
    study_set(&values, "steps", "%d", LAYER_STEPS);
    study_set(&values, "looks", "%d", LAYER_LOOKS);
    study_set(&values, "power", "%g", layer_power);
    study_set(&values, "seeds", "%zu", all[0].seeds);
    study_set(&values, "epochs", "%zu", all[0].task.epochs);
    return study_publish(options, &values);
}

bool study_last_layer(const study_options *options)
{
    bool quick = options->quick;
    const char *missing = NULL;
    setting *all = calloc(2, sizeof *all);
    if (!study_got(all)) {
        return false;
    }
    for (size_t k = 0; k < 2; k++) {
        all[k] = (setting){
            .title = k == 0 ? "synthetic" : "brain",
            .synthetic = k == 0,
            .seeds = quick ? 2 : SEEDS,
            .task = {.per_batch = k == 0 ? 4 : 2, .epochs = quick ? 3 : LAYER_MOST_EPOCHS}};
    }
    bool found =
        layer_brain(options, quick ? 8 : 2, &all[1].task.train, &all[1].task.held_out, &missing);
    bool good = found || missing;
    size_t count = found ? 2 : 1;
    if (missing) {
        printf("  without the brain: %s\n", missing);
    }
    for (size_t k = 0; k < count && good; k++) {
        good = run_setting(options, &all[k]) && write_curves(options, &all[k], k + 1);
    }
    good = good && write_table(options, all, count) && write_claims(options, all, count) &&
           publish(options, all, count);
    for (size_t k = 0; k < 2; k++) {
        layer_data_free(&all[k].task.train);
        layer_data_free(&all[k].task.held_out);
    }
    free(all);
    return good;
}
