/* The supplement's brain segmentation in small (its table of Jaccard and Dice indices, its figure
 * of slices): cross-entropy, Lovász-Softmax and their sum, in three folds, each with its best step
 * size of the same grid. There is one subject only, and its slabs are tested by models that saw the
 * slabs around them. So this compares losses; it does not say how well another brain would be
 * segmented.
 */
#include <stdlib.h>

#include "brain/results.h"

enum { ETAS = 3 };
static const double etas[ETAS] = {0.03, 0.1, 0.3};

/* Models x losses x step sizes: one task each, in all folds. */
enum { TASKS = BRAIN_MODELS * BRAIN_LOSSES * ETAS };

typedef struct task {
    uint8_t *prediction; /* slices x pixels: of the test slices of all folds */
    brain_index test;
    double validation; /* the mean Jaccard index of all structures and folds */
} task;

/* Indices of one part of the slices, class by class, in percent. */
static bool measure(const brain_results *r, const uint8_t *prediction, size_t fold, brain_part part,
                    double *iou, double *dice)
{
    submod_confusion *confusion = NULL;
    submod_metric_settings settings = submod_metric_defaults();
    submod_status status = submod_confusion_create(r->classes.count, &confusion, &settings);
    for (size_t z = 0; z < r->slices.slices && status == SUBMOD_OK; z++) {
        if (brain_part_of(z, fold) == part) {
            size_t first = z * r->slices.pixels;
            submod_labels predicted = submod_labels_u8(prediction + first, 1, r->slices.pixels);
            submod_labels truth = submod_labels_u8(r->slices.label + first, 1, r->slices.pixels);
            status = submod_confusion_add(confusion, &predicted, &truth);
        }
    }
    if (status == SUBMOD_OK) {
        status = submod_confusion_metrics(confusion, iou, dice, NULL, NULL, &settings);
    }
    submod_confusion_free(confusion);
    for (size_t c = 0; c < r->classes.count && status == SUBMOD_OK; c++) {
        iou[c] *= 100;
        dice[c] *= 100;
    }
    return status == SUBMOD_OK ? true : study_fail("%s", submod_last_error());
}

/* The mean over the structures of the validation slices. */
static bool validate(const brain_results *r, const uint8_t *prediction, size_t fold, double *mean)
{
    double iou[BRAIN_MOST_CLASSES], dice[BRAIN_MOST_CLASSES];
    if (!measure(r, prediction, fold, BRAIN_VALIDATE, iou, dice)) {
        return false;
    }
    *mean = 0;
    for (size_t c = 1; c < r->classes.count; c++) {
        *mean += iou[c] / (double)(r->classes.count - 1);
    }
    return true;
}

static bool run_fold(const brain_results *r, const brain_run *run, task *t)
{
    size_t pixels = r->slices.pixels;
    uint8_t *prediction = calloc(r->slices.slices, pixels);
    double validation;
    bool good = study_got(prediction);
    good = good && brain_train(&r->slices, r->classes.count, run, prediction) &&
           validate(r, prediction, run->fold, &validation) &&
           measure(r, prediction, run->fold, BRAIN_TEST, t->test[BRAIN_JACCARD][run->fold],
                   t->test[BRAIN_DICE][run->fold]);
    if (good) {
        t->validation += validation / (double)r->folds;
        for (size_t i = 0; i < r->slices.slices * pixels; i++) {
            if (brain_part_of(i / pixels, run->fold) == BRAIN_TEST) {
                t->prediction[i] = prediction[i];
            }
        }
    }
    free(prediction);
    return good;
}

static bool run_task(const study_options *options, const brain_results *r, size_t k, task *t)
{
    size_t model = k / ETAS / BRAIN_LOSSES;
    t->prediction = calloc(r->slices.slices, r->slices.pixels);
    bool good = study_got(t->prediction);
    for (size_t fold = 0; fold < r->folds && good; fold++) {
        brain_run run = {.hidden = model == BRAIN_LINEAR ? 0
                                   : options->quick      ? 8
                                                         : 32,
                         .loss = (brain_loss)(k / ETAS % BRAIN_LOSSES),
                         .eta = etas[k % ETAS],
                         .fold = fold,
                         .epochs = options->quick ? 1 : 60,
                         .seed = options->seed};
        good = run_fold(r, &run, t);
    }
    return good;
}

/* The longest tasks first, several at a time if there are cores. */
static bool run_tasks(const study_options *options, const brain_results *r, task *tasks)
{
    int failed = 0;
    size_t done = 0;
    study_progress(options, done, TASKS);
#pragma omp parallel for schedule(dynamic) reduction(+ : failed)
    for (int k = TASKS - 1; k >= 0; k--) {
        failed += !run_task(options, r, (size_t)k, &tasks[k]);
#pragma omp critical
        study_progress(options, ++done, TASKS);
    }
    return failed == 0;
}

static void choose_steps(const task *tasks, brain_results *r)
{
    for (size_t k = 0; k < TASKS; k += ETAS) {
        size_t best = k;
        for (size_t e = 1; e < ETAS; e++) {
            best = tasks[k + e].validation > tasks[best].validation ? k + e : best;
        }
        size_t model = k / ETAS / BRAIN_LOSSES;
        size_t loss = k / ETAS % BRAIN_LOSSES;
        r->eta[model][loss] = etas[best - k];
        r->prediction[model][loss] = tasks[best].prediction;
        for (size_t i = 0; i < BRAIN_INDICES; i++) {
            for (size_t f = 0; f < BRAIN_FOLDS; f++) {
                for (size_t c = 0; c < BRAIN_MOST_CLASSES; c++) {
                    r->of[model][loss][i][f][c] = tasks[best].test[i][f][c];
                }
            }
        }
    }
}

static bool publish(const study_options *options, const brain_results *r)
{
    study_values values = {0};
    study_set(&values, "scales", "%d", BRAIN_SCALES);
    study_set(&values, "slab", "%d", BRAIN_SLAB);
    study_set(&values, "folds", "%zu", r->folds);
    return study_publish(options, &values);
}

/* Nobody has to have the volumes: without them this is no failure. */
static bool skip(const study_options *options, const char *missing)
{
    char text[512];
    snprintf(text, sizeof text, "Not run: %s", missing);
    printf("  %s\n", text);
    return study_excuse(options, text);
}

bool study_brain(const study_options *options)
{
    const char *missing;
    brain_results *r = calloc(1, sizeof *r);
    task *tasks = calloc(TASKS, sizeof *tasks);
    bool good = study_got(r && tasks);
    if (good && brain_load(options, &r->classes, &r->slices, &missing)) {
        r->folds = options->quick ? 1 : BRAIN_FOLDS;
        good = run_tasks(options, r, tasks);
        if (good) {
            choose_steps(tasks, r);
            good = brain_write_tables(options, r) && brain_write_slice(options, r) &&
                   publish(options, r);
        }
        brain_slices_free(&r->slices);
    } else if (good) {
        good = missing && skip(options, missing);
    }
    for (size_t k = 0; k < TASKS && tasks; k++) {
        free(tasks[k].prediction);
    }
    free(tasks);
    free(r);
    return good;
}
