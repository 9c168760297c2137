/* The folds, and the training of one model on one fold. */
#include <math.h>
#include <stdlib.h>

#include "brain/train.h"
#include "common/learner.h"

const char *const brain_loss_names[BRAIN_LOSSES] = {"cross-entropy", "Lovász-Softmax", "the sum"};

enum { SLICES_PER_BATCH = 4 };

static bool is_tested(size_t slice, size_t fold)
{
    return slice / BRAIN_SLAB % BRAIN_FOLDS == fold;
}

brain_part brain_part_of(size_t slice, size_t fold)
{
    if (is_tested(slice, fold)) {
        return BRAIN_TEST;
    }
    bool beside = (slice > 0 && is_tested(slice - 1, fold)) || is_tested(slice + 1, fold);
    return beside ? BRAIN_VALIDATE : BRAIN_TRAIN;
}

static submod_status score_gradient(const learner *l, brain_loss loss)
{
    submod_scores scores = learner_scores(l);
    submod_labels labels = learner_labels(l);
    submod_gradient gradient = learner_gradient(l);
    submod_status status = SUBMOD_OK;
    if (loss != BRAIN_LOVASZ) {
        status = submod_cross_entropy(&scores, &labels, NULL, &gradient, NULL, l->work);
        gradient.accumulate = 1;
    }
    if (loss != BRAIN_CROSS_ENTROPY && status == SUBMOD_OK) {
        status = submod_lovasz_softmax(&scores, &labels, NULL, &gradient, NULL, NULL, l->work);
    }
    return status;
}

static void shuffle(size_t *order, size_t count, submod_rng *rng)
{
    for (size_t k = count; k > 1; k--) {
        size_t other = (size_t)submod_rng_below(rng, k);
        size_t kept = order[k - 1];
        order[k - 1] = order[other];
        order[other] = kept;
    }
}

/* Each epoch takes the slices in a new order. Those that do not fill a last batch are left out. */
static submod_status train(learner *l, const brain_slices *s, const brain_run *run, size_t *order,
                           size_t count, submod_rng *rng)
{
    size_t batches = count / l->batch;
    submod_schedule schedule = {.kind = SUBMOD_SCHEDULE_EXPONENTIAL,
                                .eta = run->eta,
                                .factor = 0.01,
                                .period = run->epochs * batches};
    submod_status status = SUBMOD_OK;
    for (size_t k = 0; k < run->epochs * batches && status == SUBMOD_OK; k++) {
        if (k % batches == 0) {
            shuffle(order, count, rng);
        }
        for (size_t slot = 0; slot < l->batch; slot++) {
            size_t slice = order[k % batches * l->batch + slot];
            learner_show(l, slot, s->x + slice * BRAIN_FEATURES * s->pixels,
                         s->label + slice * s->pixels);
        }
        status = score_gradient(l, run->loss);
        if (status == SUBMOD_OK) {
            status = learner_move(l, submod_schedule_eta(&schedule, k));
        }
    }
    return status;
}

bool brain_train(const brain_slices *slices, size_t classes, const brain_run *run,
                 uint8_t *prediction)
{
    net_shape shape = {BRAIN_FEATURES, run->hidden, classes};
    submod_rng rng;
    submod_rng_seed(&rng, run->seed);
    size_t *order = calloc(slices->slices, sizeof *order);
    if (!order) {
        return study_fail("out of memory");
    }
    size_t count = 0;
    for (size_t z = 0; z < slices->slices; z++) {
        if (brain_part_of(z, run->fold) == BRAIN_TRAIN) {
            order[count++] = z;
        }
    }
    learner l;
    size_t batch = count < SLICES_PER_BATCH ? count : SLICES_PER_BATCH;
    submod_status status =
        batch > 0 ? learner_make(&l, &shape, slices->pixels, batch, &rng) : SUBMOD_EINVAL;
    if (status == SUBMOD_OK) {
        status = train(&l, slices, run, order, count, &rng);
        for (size_t z = 0; z < slices->slices && status == SUBMOD_OK; z++) {
            if (brain_part_of(z, run->fold) != BRAIN_TRAIN) {
                learner_predict(&l, slices->x + z * BRAIN_FEATURES * slices->pixels,
                                prediction + z * slices->pixels);
            }
        }
        learner_free(&l);
    }
    free(order);
    return status == SUBMOD_OK
               ? true
               : study_fail("training failed: %s",
                            batch > 0 ? submod_last_error() : "too few slices hold a structure");
}
