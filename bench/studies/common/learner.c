/* A model in training: memory, one batch forward and backward, one step of Adam. */
#include "common/learner.h"

#include <stdlib.h>
#include <string.h>

submod_status learner_make(learner *l, const net_shape *shape, size_t pixels, size_t batch,
                           submod_rng *rng)
{
    size_t size = net_size(shape);
    *l = (learner){.shape = *shape, .pixels = pixels, .batch = batch};
    l->w = calloc(size, sizeof *l->w);
    l->g = calloc(size, sizeof *l->g);
    l->x = calloc(batch, sizeof *l->x);
    l->label = calloc(batch, pixels);
    l->units = calloc(batch * pixels * shape->hidden + 1, sizeof *l->units);
    l->scores = calloc(batch * pixels * shape->classes, sizeof *l->scores);
    l->gradient = calloc(batch * pixels * shape->classes, sizeof *l->gradient);
    submod_status status = SUBMOD_ENOMEM;
    if (l->w && l->g && l->x && l->label && l->units && l->scores && l->gradient) {
        net_start(shape, rng, l->w);
        status = submod_work_create(&l->work);
    }
    if (status == SUBMOD_OK) {
        status = submod_step_adam(size, &l->step, NULL);
    }
    if (status != SUBMOD_OK) {
        learner_free(l);
    }
    return status;
}

void learner_free(learner *l)
{
    submod_step_free(l->step);
    submod_work_free(l->work);
    free(l->w);
    free(l->g);
    free((void *)l->x);
    free(l->label);
    free(l->units);
    free(l->scores);
    free(l->gradient);
    *l = (learner){0};
}

static float *units_of(const learner *l, size_t slot)
{
    return l->units + slot * l->shape.hidden * l->pixels;
}

static float *scores_of(const learner *l, size_t slot)
{
    return l->scores + slot * l->shape.classes * l->pixels;
}

void learner_show(learner *l, size_t slot, const float *x, const uint8_t *label)
{
    l->x[slot] = x;
    memcpy(l->label + slot * l->pixels, label, l->pixels);
    net_forward(&l->shape, l->w, x, l->pixels, units_of(l, slot), scores_of(l, slot));
}

submod_scores learner_scores(const learner *l)
{
    return submod_scores_f32(l->scores, l->batch, l->shape.classes, l->pixels);
}

submod_labels learner_labels(const learner *l)
{
    return submod_labels_u8(l->label, l->batch, l->pixels);
}

submod_gradient learner_gradient(const learner *l)
{
    return submod_gradient_dense(l->gradient, l->shape.classes, l->pixels);
}

submod_status learner_move(learner *l, double eta)
{
    memset(l->g, 0, net_size(&l->shape) * sizeof *l->g);
    for (size_t slot = 0; slot < l->batch; slot++) {
        net_backward(&l->shape, l->w, l->x[slot], l->pixels, units_of(l, slot),
                     l->gradient + slot * l->shape.classes * l->pixels, l->g);
    }
    return submod_step_apply(l->step, eta, l->g, l->w);
}

void learner_predict(learner *l, const float *x, uint8_t *prediction)
{
    net_forward(&l->shape, l->w, x, l->pixels, l->units, l->scores);
    net_predict(l->scores, l->shape.classes, l->pixels, prediction);
}
