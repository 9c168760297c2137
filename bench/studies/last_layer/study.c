/* Optimisers of the last layer (paper's supplement, Fig. "Loss OptimizationLastLayer"), on
 * synthetic images and on the slices of study brain. Each gets its best step size of the same grid.
 * Those with prox have one more parameter, how far prox looks, and get the best of three values.
 */
#include "last_layer/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double decay = 1e-4, alpha = 0.9, power = 0.9;
static const double etas[] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3};
static const double looks[] = {1, 0.1, 0.01};
enum { ETAS = sizeof etas / sizeof etas[0], LOOKS = sizeof looks / sizeof looks[0] };
enum { MOST_EPOCHS = 60 };

enum { GRADIENT, MOMENTUM, ADAM, PROX, PROX_MOMENTUM, PROX_ADAM, PATH, METHODS };

static const struct {
    const char *name;
    layer_direction direction;
    int rule; /* GRADIENT, MOMENTUM or ADAM */
} methods[METHODS] = {{"SGD", LAYER_SUBGRADIENT, GRADIENT},
                      {"momentum", LAYER_SUBGRADIENT, MOMENTUM},
                      {"Adam", LAYER_SUBGRADIENT, ADAM},
                      {"prox", LAYER_PROX, GRADIENT},
                      {"prox + momentum", LAYER_PROX, MOMENTUM},
                      {"prox + Adam", LAYER_PROX, ADAM},
                      {"Algorithm 2 prox", LAYER_GREEDY_PATH, GRADIENT}};

/* Values at the start and after each epoch. */
typedef struct curve {
    size_t points;
    double f[MOST_EPOCHS + 1], jaccard[MOST_EPOCHS + 1], seconds[MOST_EPOCHS + 1];
    double eta, look; /* look = 0: no prox */
} curve;

typedef struct setting {
    const char *title;
    layer_data train, validation;
    size_t per_batch, epochs;
    double f_star, gap; /* a lower bound of the minimum, and how far below it may lie */
    curve best[METHODS];
} setting;

/* ---- one run ---- */
typedef struct recorder {
    curve *to;
    const submod_problem *problem;
} recorder;

static int record(void *ctx, const submod_trace *line)
{
    recorder *r = ctx;
    curve *c = r->to;
    if (c->points <= MOST_EPOCHS) {
        c->f[c->points] = line->f;
        c->jaccard[c->points] = line->metric;
        c->seconds[c->points++] = line->seconds - layer_value_seconds(r->problem);
    }
    return 0;
}

static submod_status make_step(int rule, size_t n, submod_step **step)
{
    return rule == GRADIENT   ? submod_step_gd(n, step)
           : rule == MOMENTUM ? submod_step_momentum(n, alpha, step)
                              : submod_step_adam(n, step, NULL);
}

/* Divergence is not a failure: the curve then ends with an infinite value. */
static bool run_once(const study_options *options, const setting *s, int method, double eta,
                     double look, curve *c)
{
    submod_problem problem;
    submod_step *step = NULL;
    *c = (curve){.eta = eta, .look = look};
    if (!layer_problem(&s->train, &s->validation, s->per_batch, methods[method].direction, look,
                       &problem)) {
        return false;
    }
    recorder r = {c, &problem};
    submod_descent_settings settings = submod_descent_defaults();
    settings.run.max_iterations = s->epochs * problem.batches;
    settings.run.weight_decay = decay;
    settings.run.keep_best = 0;
    settings.run.trace_every = problem.batches;
    settings.run.trace = record;
    settings.run.trace_ctx = &r;
    settings.schedule = (submod_schedule){.kind = SUBMOD_SCHEDULE_POLY,
                                          .eta = eta,
                                          .power = power,
                                          .period = settings.run.max_iterations};
    settings.direction = methods[method].direction == LAYER_SUBGRADIENT
                             ? SUBMOD_DIRECTION_SUBGRADIENT
                             : SUBMOD_DIRECTION_PROX;
    settings.order = SUBMOD_BATCH_SHUFFLED;
    settings.seed = options->seed;
    double *w = calloc(problem.dimension, sizeof *w);
    submod_status status =
        w ? make_step(methods[method].rule, problem.dimension, &step) : SUBMOD_ENOMEM;
    if (status == SUBMOD_OK) {
        status = submod_descend(&problem, step, w, &settings, NULL, NULL);
    }
    if (c->points == 0 || status < SUBMOD_OK) {
        c->points = c->points ? c->points : 1;
        c->f[c->points - 1] = INFINITY;
    }
    bool lost = status == SUBMOD_ENOMEM || status == SUBMOD_EINVAL;
    submod_step_free(step);
    free(w);
    submod_problem_clear(&problem);
    return lost ? study_fail("%s: %s", methods[method].name, submod_last_error()) : true;
}

/* ---- the minimum ---- */
static bool find_minimum(const study_options *options, setting *s)
{
    submod_problem problem;
    if (!layer_problem(&s->train, &s->validation, s->per_batch, LAYER_SUBGRADIENT, 0, &problem)) {
        return false;
    }
    submod_bundle_settings settings = submod_bundle_defaults();
    submod_optim_info info = {.f = NAN};
    settings.run.weight_decay = decay;
    settings.run.tolerance = options->quick ? 1e-2 : 2e-6;
    settings.run.max_iterations = 2000;
    double *w = calloc(problem.dimension, sizeof *w);
    submod_status status = w ? submod_bundle(&problem, w, &settings, &info, NULL) : SUBMOD_ENOMEM;
    s->f_star = info.lower_bound;
    s->gap = info.gap;
    printf("  %s: minimum %.6f, certified to %.1e by %zu bundle iterations in %.1f s\n", s->title,
           info.f, info.gap, info.iterations, info.seconds);
    free(w);
    submod_problem_clear(&problem);
    return status >= SUBMOD_OK ? true : study_fail("bundle: %s", submod_last_error());
}

/* ---- all runs of a setting ---- */
static double last_value(const curve *c)
{
    double f = c->points ? c->f[c->points - 1] : INFINITY;
    return isfinite(f) ? f : INFINITY;
}

/* The best curve of a method. */
static bool run_method(const study_options *options, setting *s, int method, curve *scratch)
{
    bool has_look = methods[method].direction != LAYER_SUBGRADIENT;
    for (size_t k = 0; k < (has_look ? LOOKS : 1); k++) {
        for (size_t e = 0; e < ETAS; e++) {
            double look = has_look ? looks[k] : 0;
            if (!run_once(options, s, method, etas[e], look, scratch)) {
                return false;
            }
            if ((k == 0 && e == 0) || last_value(scratch) < last_value(&s->best[method])) {
                s->best[method] = *scratch;
            }
        }
    }
    return true;
}

static bool run_setting(const study_options *options, setting *s)
{
    curve *scratch = malloc(sizeof *scratch);
    bool good = study_got(scratch) && find_minimum(options, s);
    for (int m = 0; m < METHODS && good; m++) {
        study_progress(options, (size_t)m, METHODS);
        good = run_method(options, s, m, scratch);
    }
    study_progress(options, 1, 1);
    free(scratch);
    return good;
}

/* ---- output ---- */
static bool write_curves(const study_options *options, const setting *s, size_t number)
{
    char file_name[64];
    snprintf(file_name, sizeof file_name, "curves_%zu.csv", number);
    FILE *file = study_open(options, file_name);
    if (!file) {
        return false;
    }
    fprintf(file, "method,name,epoch,seconds,J - J*,validation Jaccard index\n");
    for (int m = 0; m < METHODS; m++) {
        const curve *c = &s->best[m];
        for (size_t k = 0; k < c->points; k++) {
            fprintf(file, "%d,%s,%zu,%.6g,%.6e,%.6f\n", m + 1, methods[m].name, k, c->seconds[k],
                    c->f[k] - s->f_star, c->jaccard[k]);
        }
    }
    return study_close(file);
}

/* The first epoch after which J - J* stays within this share of its first value; -1: none. */
static int epochs_to(const setting *s, const curve *c, double share)
{
    int first = -1;
    for (size_t k = 0; k < c->points; k++) {
        bool there = c->f[k] - s->f_star <= share * (c->f[0] - s->f_star);
        first = !there ? -1 : first < 0 ? (int)k : first;
    }
    return first;
}

static void write_rows(const setting *s, FILE *file)
{
    for (int m = 0; m < METHODS; m++) {
        const curve *c = &s->best[m];
        size_t last = c->points - 1;
        int epochs = epochs_to(s, c, 0.01);
        char to[2][32] = {"-", "-"}, look[32] = "-";
        if (c->look > 0) {
            snprintf(look, sizeof look, "%g", c->look);
        }
        if (epochs >= 0) {
            snprintf(to[0], sizeof to[0], "%d", epochs);
            snprintf(to[1], sizeof to[1], "%.3f", c->seconds[epochs]);
        }
        printf("  %-10s %-17s %-6g %-5s %10.2e %9s %9s %9.3f %10.2f\n", s->title, methods[m].name,
               c->eta, look, c->f[last] - s->f_star, to[0], to[1], c->seconds[last],
               100 * c->jaccard[last]);
        fprintf(file, "%s,%s,%g,%s,%.3e,%s,%s,%.3f,%.2f\n", s->title, methods[m].name, c->eta, look,
                c->f[last] - s->f_star, to[0], to[1], c->seconds[last], 100 * c->jaccard[last]);
    }
}

/* Claims that the final J - J* of method a is below factor times that of b. Differences below the
 * gap count as the gap: the minimum is not known better. */
static void compare(FILE *file, const setting *s, const char *text, int a, int b, double factor)
{
    char claim[160], measured[200];
    double ea = fmax(last_value(&s->best[a]) - s->f_star, s->gap);
    double eb = fmax(last_value(&s->best[b]) - s->f_star, s->gap);
    snprintf(claim, sizeof claim, "%s, %s", text, s->title);
    snprintf(measured, sizeof measured, "J - J* at the end: %s %.2e, %s %.2e%s", methods[a].name,
             ea, methods[b].name, eb,
             fmin(ea, eb) <= s->gap ? " (as small as can be certified)" : "");
    study_claim(file, claim, measured, ea < factor * eb);
}

static bool write_tables(const study_options *options, const setting *const *settings, size_t count)
{
    FILE *table = study_open(options, "table.csv");
    FILE *claims = study_open(options, "table_claims.csv");
    if (table && claims) {
        printf(
            "\n  data       method            step   look  J-J* (end) epochs to  seconds   seconds "
            "  "
            "validation\n"
            "                                                       1%% left   to that   in all    "
            "Jaccard, %%\n");
        fprintf(table, "data,method,step,look,J - J* at the end,epochs to 1%% left,seconds to that,"
                       "seconds in all,validation Jaccard %%\n");
        for (size_t k = 0; k < count; k++) {
            write_rows(settings[k], table);
        }
        printf("\n");
        fprintf(claims, "claim,measured,verdict\n");
        for (size_t k = 0; k < count; k++) {
            compare(claims, settings[k], "paper: prox converges better than SGD", PROX, GRADIENT,
                    1);
            compare(claims, settings[k],
                    "paper: prox is similar (within 10 %) to or better than momentum", PROX,
                    MOMENTUM, 1.1);
            compare(claims, settings[k], "prox improves momentum", PROX_MOMENTUM, MOMENTUM, 1);
            compare(claims, settings[k], "prox improves Adam", PROX_ADAM, ADAM, 1);
            compare(claims, settings[k], "the exact prox beats Algorithm 2", PROX, PATH, 1);
        }
    }
    bool good = table && claims;
    good = (!table || study_close(table)) && good;
    return (!claims || study_close(claims)) && good;
}

static bool publish(const study_options *options, const setting *const *settings, size_t count)
{
    study_values values = {0};
    study_set(&values, "rows", "%zu", count);
    study_set(&values, "titles", "'%s %s'", settings[0]->title,
              count > 1 ? settings[1]->title : "");
    study_set(&values, "steps", "%d", ETAS);
    study_set(&values, "looks", "%d", LOOKS);
    study_set(&values, "power", "%g", power);
    return study_publish(options, &values);
}

bool study_last_layer(const study_options *options)
{
    bool quick = options->quick;
    const char *missing = NULL;
    setting *both = calloc(2, sizeof *both);
    const setting *shown[2] = {both, both + 1};
    size_t count = 0;
    bool good = study_got(both);
    if (good) {
        both[0] =
            (setting){.title = "synthetic", .per_batch = 4, .epochs = quick ? 3 : MOST_EPOCHS};
        both[1] = (setting){.title = "brain", .per_batch = 2, .epochs = quick ? 3 : MOST_EPOCHS};
        good = layer_synthetic(options->seed, quick ? 8 : 40, quick ? 12 : 32, &both[0].train,
                               &both[0].validation);
    }
    if (good) {
        bool found =
            layer_brain(options, quick ? 8 : 2, &both[1].train, &both[1].validation, &missing);
        good = found || missing;
        count = found ? 2 : 1;
        if (missing) {
            printf("  without the brain: %s\n", missing);
        }
    }
    for (size_t k = 0; k < count && good; k++) {
        good = run_setting(options, &both[k]) && write_curves(options, &both[k], k + 1);
    }
    good = good && write_tables(options, shown, count) && publish(options, shown, count);
    for (size_t k = 0; k < 2 && both; k++) {
        layer_data_free(&both[k].train);
        layer_data_free(&both[k].validation);
    }
    free(both);
    return good;
}
