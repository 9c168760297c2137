/* Kinds of data (see task.h). */
#include "losses/task.h"

#include <stdlib.h>

static const struct {
    const char *name;
    bool blocks;
    double lift;
} kinds[KINDS] = {{"random", false, 0}, {"trained", true, 3}, {"confident", true, 12}};

static float *make_weights(size_t count)
{
    float *weight = allocate(count, sizeof *weight);
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (size_t i = 0; i < count; i++) {
        weight[i] = (float)(2 * submod_rng_uniform(&rng));
    }
    return weight;
}

task task_make(const options *o, int kind)
{
    recipe r = plain_recipe(o);
    r.block = kinds[kind].blocks ? r.block : 1;
    r.lift = kinds[kind].lift;
    task t = {.kind = kinds[kind].name, .data = batch_make(&r)};
    const batch *b = &t.data;
    t.memory = allocate(b->count, sizeof *t.memory);
    t.scores = submod_scores_f32(b->scores, b->images, b->classes, b->pixels);
    t.labels = submod_labels_i32(b->labels, b->images, b->pixels);
    t.weight = make_weights(b->images * b->pixels);
    t.weights = submod_pixel_weights_f32(t.weight, b->images, b->pixels);
    t.gradient = submod_gradient_dense(t.memory, b->classes, b->pixels);
    require(submod_work_create(&t.work));
    return t;
}

void task_free(task *t)
{
    submod_work_free(t->work);
    free(t->weight);
    free(t->memory);
    batch_free(&t->data);
}

void task_use_threads(task *t, int threads)
{
    t->threads = threads;
    require(submod_set_num_threads(threads));
}
