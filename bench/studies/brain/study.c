/* The supplement's brain segmentation in small (its table of Jaccard and Dice indices, its figure
 * of slices): cross-entropy, Lovász-Softmax and their sum, in three folds and with several seeds.
 * In each fold each loss gets its best step size of the same grid, judged by the validation slices.
 * There is one subject only, and its slabs are tested by models that saw the slabs around them. So
 * this compares losses; it does not say how well another brain would be segmented.
 */
#include <stdlib.h>
#include <string.h>

#include "brain/results.h"

/* The step sizes that are tried. The linear model starts at zero and needs long ones: with 0.3
 * cross-entropy is far from done. */
static const struct {
    size_t count;
    double eta[5];
} steps[BRAIN_MODELS] = {
    [BRAIN_LINEAR] = {5, {0.1, 0.3, 1, 3, 10}}, [BRAIN_HIDDEN] = {3, {0.03, 0.1, 0.3}}};

/* Models x losses x folds: one task each. */
enum { TASKS = BRAIN_MODELS * BRAIN_LOSSES * BRAIN_FOLDS };
enum { PREDICTIONS = BRAIN_MODELS * BRAIN_LOSSES * BRAIN_SEEDS };

/* The mean over the structures of the fold's validation slices. */
static bool validate(const brain_results *r, const uint8_t *prediction, size_t fold, double *mean)
{
    brain_index of;
    bool *chosen = calloc(r->slices.slices, sizeof *chosen);
    bool good = study_got(chosen);
    for (size_t z = 0; z < r->slices.slices && good; z++) {
        chosen[z] = brain_part_of(z, fold) == BRAIN_VALIDATE;
    }
    good = good && brain_score(r, prediction, chosen, of);
    if (good) {
        *mean = brain_mean(&r->classes, of[BRAIN_JACCARD], 0);
    }
    free(chosen);
    return good;
}

static void keep_tested(const brain_results *r, size_t fold, const uint8_t *from, uint8_t *to)
{
    size_t pixels = r->slices.pixels;
    for (size_t z = 0; z < r->slices.slices; z++) {
        if (brain_part_of(z, fold) == BRAIN_TEST) {
            memcpy(to + z * pixels, from + z * pixels, pixels);
        }
    }
}

/* One model, loss and fold: the first seed tries all step sizes, and the validation slices choose;
 * the others take what was chosen. */
static bool run_task(const study_options *options, brain_results *r, size_t k)
{
    size_t fold = k % BRAIN_FOLDS;
    size_t loss = k / BRAIN_FOLDS % BRAIN_LOSSES;
    size_t model = k / BRAIN_FOLDS / BRAIN_LOSSES;
    size_t hidden = options->quick ? 8 : 32, tried = steps[model].count;
    double validation, best = -1, *eta = &r->eta[model][loss][fold];
    uint8_t *prediction = calloc(r->slices.slices, r->slices.pixels);
    bool good = study_got(prediction);
    for (size_t trial = 0; trial < tried + r->seeds - 1 && good; trial++) {
        size_t seed = trial < tried ? 0 : trial - tried + 1;
        brain_run run = {.hidden = model == BRAIN_LINEAR ? 0 : hidden,
                         .loss = (brain_loss)loss,
                         .eta = trial < tried ? steps[model].eta[trial] : *eta,
                         .fold = fold,
                         .epochs = options->quick ? 1 : 60,
                         .seed = options->seed + seed};
        good = brain_train(&r->slices, r->classes.count, &run, prediction) &&
               validate(r, prediction, fold, &validation);
        if (good && (seed > 0 || validation > best)) {
            best = validation;
            *eta = run.eta;
            keep_tested(r, fold, prediction, r->prediction[model][loss][seed]);
        }
    }
    free(prediction);
    return good;
}

/* The longest tasks first, several at a time if there are cores. */
static bool run_tasks(const study_options *options, brain_results *r)
{
    int failed = 0;
    size_t done = 0;
    study_progress(options, done, TASKS);
#pragma omp parallel for schedule(dynamic) reduction(+ : failed)
    for (int k = TASKS - 1; k >= 0; k--) {
        if ((size_t)k % BRAIN_FOLDS < r->folds) {
            failed += !run_task(options, r, (size_t)k);
        }
#pragma omp critical
        study_progress(options, ++done, TASKS);
    }
    return failed == 0;
}

static uint8_t **prediction_of(brain_results *r, size_t k)
{
    return &r->prediction[k / BRAIN_SEEDS / BRAIN_LOSSES][k / BRAIN_SEEDS % BRAIN_LOSSES]
                         [k % BRAIN_SEEDS];
}

static bool make_room(brain_results *r)
{
    bool good = true;
    for (size_t k = 0; k < PREDICTIONS && good; k++) {
        *prediction_of(r, k) = calloc(r->slices.slices, r->slices.pixels);
        good = study_got(*prediction_of(r, k));
    }
    return good;
}

static bool publish(const study_options *options, const brain_results *r, study_values *values)
{
    study_set(values, "scales", "%d", BRAIN_SCALES);
    study_set(values, "slab", "%d", BRAIN_SLAB);
    study_set(values, "folds", "%zu", r->folds);
    study_set(values, "seeds", "%zu", r->seeds);
    study_set(values, "linear_steps", "%zu", steps[BRAIN_LINEAR].count);
    study_set(values, "hidden_steps", "%zu", steps[BRAIN_HIDDEN].count);
    return study_publish(options, values);
}

/* Nobody has to have the volumes: without them this is no failure. */
static bool skip(const study_options *options, const char *missing)
{
    char text[512];
    snprintf(text, sizeof text, "Not run: %s", missing);
    printf("  %s\n", text);
    return study_excuse(options, text);
}

static void free_all(brain_results *r)
{
    for (size_t k = 0; k < PREDICTIONS && r; k++) {
        free(*prediction_of(r, k));
    }
    if (r) {
        brain_slices_free(&r->slices);
    }
    free(r);
}

bool study_brain(const study_options *options)
{
    const char *missing;
    study_values values = {0};
    brain_results *r = calloc(1, sizeof *r);
    bool good = study_got(r);
    if (good && brain_load(options, &r->classes, &r->slices, &missing)) {
        r->folds = options->quick ? 1 : BRAIN_FOLDS;
        r->seeds = options->quick ? 1 : BRAIN_SEEDS;
        good = make_room(r) && run_tasks(options, r) && brain_write_tables(options, r) &&
               brain_write_slice(options, r, &values) && publish(options, r, &values);
    } else if (good) {
        good = missing && skip(options, missing);
    }
    free_all(r);
    return good;
}
