/* Trains one model with one loss, and measures it on the way. */
#include <stdlib.h>

#include "common/learner.h"
#include "dataset/train.h"

const char *const set_method_names[SET_METHODS] = {
    "cross-entropy", "cross-entropy + equibatch", "Lovász per image",      "Lovász batch (all)",
    "Lovász batch",  "Lovász batch + equibatch",  "Lovász dataset (hist.)"};

const double set_power = 0.9;
static const net_shape shape = {SET_FEATURES, 0, SET_CLASSES};

/* Everything a run owns. */
typedef struct trainer {
    const image_set *train;
    set_method method;
    submod_rng rng;
    size_t *order; /* of the images in this epoch */
    size_t next;
    submod_equibatch *equibatch;
    submod_dataset *histogram;
    learner model;
} trainer;

static bool uses_equibatch(set_method method)
{
    return method == SET_CROSS_ENTROPY_EQUI || method == SET_BATCH_PRESENT_EQUI;
}

/* ---- which images ---- */

/* The sampler is told which classes each image contains. */
static submod_status make_equibatch(trainer *t, uint64_t seed)
{
    size_t images = t->train->images;
    size_t *start = calloc(images + 1, sizeof *start);
    int32_t *classes = calloc(images * SET_CLASSES, sizeof *classes);
    submod_status status = SUBMOD_ENOMEM;
    if (start && classes) {
        size_t count = 0;
        for (size_t k = 0; k < images; k++) {
            bool seen[SET_CLASSES] = {false};
            for (size_t i = 0; i < SET_PIXELS; i++) {
                seen[t->train->label[k * SET_PIXELS + i]] = true;
            }
            for (int32_t c = 0; c < SET_CLASSES; c++) {
                if (seen[c]) {
                    classes[count++] = c;
                }
            }
            start[k + 1] = count;
        }
        status = submod_equibatch_create(images, start, classes, SET_CLASSES, seed, &t->equibatch);
    }
    free(start);
    free(classes);
    return status;
}

static size_t next_image(trainer *t)
{
    if (t->equibatch) {
        int32_t image = 0;
        submod_equibatch_next(t->equibatch, &image, NULL); /* fails for NULL only */
        return (size_t)image;
    }
    size_t images = t->train->images;
    if (t->next == images) {
        for (size_t k = images; k > 1; k--) {
            size_t other = (size_t)submod_rng_below(&t->rng, k);
            size_t kept = t->order[k - 1];
            t->order[k - 1] = t->order[other];
            t->order[other] = kept;
        }
        t->next = 0;
    }
    return t->order[t->next++];
}

/* ---- which loss ---- */

/* The dataset's loss through this batch: a window as long as the dataset, in which this batch is
 * the latest part. */
static submod_status dataset_gradient(trainer *t, const submod_scores *scores,
                                      const submod_labels *labels, submod_gradient *gradient,
                                      const submod_loss_settings *settings)
{
    const double fraction = SET_BATCH / (double)t->train->images;
    gradient->scale = 1 / fraction; /* as if the whole dataset were like this batch */
    submod_status status = submod_dataset_scale(t->histogram, 1 - fraction);
    if (status == SUBMOD_OK) {
        status = submod_dataset_add(t->histogram, scores, labels, settings, t->model.work);
    }
    if (status == SUBMOD_OK) {
        status = submod_dataset_solve(t->histogram, NULL, NULL, settings);
    }
    return status == SUBMOD_OK ? submod_dataset_gradient(t->histogram, scores, labels, gradient,
                                                         settings, t->model.work)
                               : status;
}

static submod_status score_gradient(trainer *t)
{
    submod_scores scores = learner_scores(&t->model);
    submod_labels labels = learner_labels(&t->model);
    submod_gradient gradient = learner_gradient(&t->model);
    submod_loss_settings settings = submod_loss_defaults();
    switch (t->method) {
    case SET_CROSS_ENTROPY:
    case SET_CROSS_ENTROPY_EQUI:
        return submod_cross_entropy(&scores, &labels, NULL, &gradient, NULL, t->model.work);
    case SET_DATASET: return dataset_gradient(t, &scores, &labels, &gradient, &settings);
    default:
        settings.per_image = t->method == SET_IMAGE;
        if (t->method == SET_IMAGE || t->method == SET_BATCH_ALL) {
            settings.classes = SUBMOD_CLASSES_ALL;
        }
        return submod_lovasz_softmax(&scores, &labels, NULL, &gradient, &settings, NULL,
                                     t->model.work);
    }
}

/* ---- training ---- */
static submod_status one_batch(trainer *t, double eta)
{
    for (size_t slot = 0; slot < SET_BATCH; slot++) {
        size_t k = next_image(t);
        learner_show(&t->model, slot, t->train->x + k * SET_FEATURES * SET_PIXELS,
                     t->train->label + k * SET_PIXELS);
    }
    submod_status status = score_gradient(t);
    return status == SUBMOD_OK ? learner_move(&t->model, eta) : status;
}

/* Two sets of counts: the conventions for absent classes differ. */
static submod_status measure(trainer *t, const image_set *test, submod_miou *one,
                             submod_miou *present, set_score *score)
{
    submod_status status = SUBMOD_OK;
    submod_miou_reset(one);
    submod_miou_reset(present);
    uint8_t prediction[SET_BATCH * SET_PIXELS];
    for (size_t k = 0; k < test->images && status == SUBMOD_OK; k += SET_BATCH) {
        size_t count = test->images - k < SET_BATCH ? test->images - k : SET_BATCH;
        for (size_t b = 0; b < count; b++) {
            learner_predict(&t->model, test->x + (k + b) * SET_FEATURES * SET_PIXELS,
                            prediction + b * SET_PIXELS);
        }
        submod_labels predicted = submod_labels_u8(prediction, count, SET_PIXELS);
        submod_labels truth = submod_labels_u8(test->label + k * SET_PIXELS, count, SET_PIXELS);
        status = submod_miou_add(one, &predicted, &truth);
        if (status == SUBMOD_OK) {
            status = submod_miou_add(present, &predicted, &truth);
        }
    }
    submod_miou_values all, there;
    if (status == SUBMOD_OK && (status = submod_miou_get(one, &all)) == SUBMOD_OK &&
        (status = submod_miou_get(present, &there)) == SUBMOD_OK) {
        *score = (set_score){all.image, there.batch, there.dataset};
    }
    return status;
}

size_t set_check_time(size_t iterations, size_t k)
{
    const size_t squares = (size_t)SET_CHECKS * SET_CHECKS;
    return (iterations * (k + 1) * (k + 1) + squares - 1) / squares;
}

static submod_status train_all(trainer *t, const image_sets *sets, double eta, size_t iterations,
                               set_score *scores, set_score *validation)
{
    submod_metric_settings settings = submod_metric_defaults();
    submod_miou *one = NULL, *present = NULL;
    submod_schedule schedule = {
        .kind = SUBMOD_SCHEDULE_POLY, .eta = eta, .power = set_power, .period = iterations};
    submod_status status = submod_miou_create(SET_CLASSES, &one, &settings);
    settings.absent = SUBMOD_ABSENT_TRUTH;
    if (status == SUBMOD_OK) {
        status = submod_miou_create(SET_CLASSES, &present, &settings);
    }
    size_t check = 0;
    for (size_t k = 0; k < iterations && status == SUBMOD_OK; k++) {
        status = one_batch(t, submod_schedule_eta(&schedule, k));
        while (status == SUBMOD_OK && check < SET_CHECKS &&
               k + 1 == set_check_time(iterations, check)) {
            status = measure(t, &sets->test, one, present, &scores[check++]);
        }
    }
    if (status == SUBMOD_OK) {
        status = measure(t, &sets->validation, one, present, validation);
    }
    submod_miou_free(one);
    submod_miou_free(present);
    return status;
}

static submod_status make_trainer(trainer *t, uint64_t seed)
{
    size_t images = t->train->images;
    submod_rng_seed(&t->rng, seed);
    t->order = malloc(images * sizeof *t->order);
    t->next = images;
    if (!t->order) {
        return SUBMOD_ENOMEM;
    }
    for (size_t k = 0; k < images; k++) {
        t->order[k] = k;
    }
    submod_status status = learner_make(&t->model, &shape, SET_PIXELS, SET_BATCH, &t->rng);
    if (status == SUBMOD_OK && t->method == SET_DATASET) {
        status = submod_dataset_create(SET_CLASSES, 1.0 / 2048, &t->histogram);
    }
    return status == SUBMOD_OK && uses_equibatch(t->method) ? make_equibatch(t, seed) : status;
}

static void free_trainer(trainer *t)
{
    submod_equibatch_free(t->equibatch);
    submod_dataset_free(t->histogram);
    learner_free(&t->model);
    free(t->order);
}

bool set_train(const image_sets *sets, set_method method, double eta, size_t iterations,
               uint64_t seed, set_score scores[SET_CHECKS], set_score *validation)
{
    trainer t = {.train = &sets->train, .method = method};
    submod_status status = make_trainer(&t, seed);
    if (status == SUBMOD_OK) {
        status = train_all(&t, sets, eta, iterations, scores, validation);
    }
    free_trainer(&t);
    return status == SUBMOD_OK
               ? true
               : study_fail("training failed: %s",
                            status == SUBMOD_ENOMEM ? "out of memory" : submod_last_error());
}
