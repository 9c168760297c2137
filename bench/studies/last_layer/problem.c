/* The objective J of study last_layer, its subgradients and its proximal directions. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/net.h"
#include "last_layer/problem.h"

typedef struct layer {
    const layer_data *train, *validation;
    net_shape shape;
    size_t per_batch;
    layer_direction kind;
    float *scores, *gradient; /* images x pixels */
    uint8_t *prediction;
    double reach; /* look pixels |x|^2 */
    double value_seconds;
    submod_work *work;
} layer;

/* pixels |x|^2: see `look` in the header. */
static double reach_of(const layer_data *train)
{
    double squares = 0;
    size_t count = train->images * train->features * train->pixels;
    for (size_t i = 0; i < count; i++) {
        squares += (double)train->x[i] * (double)train->x[i];
    }
    return (double)train->pixels + squares / (double)train->images; /* the bias is a feature 1 */
}

/* The images of a batch: *count of them, from *first on. */
static void range(const layer *l, size_t batch, size_t *first, size_t *count)
{
    bool all = batch == SUBMOD_FULL_BATCH;
    *first = all ? 0 : batch * l->per_batch;
    *count = all ? l->train->images / l->per_batch * l->per_batch : l->per_batch;
}

static void forward(const layer *l, const layer_data *data, const double *w, size_t first,
                    size_t count)
{
    for (size_t k = 0; k < count; k++) {
        net_forward(&l->shape, w, data->x + (first + k) * data->features * data->pixels,
                    data->pixels, NULL, l->scores + k * data->pixels);
    }
}

/* Turns the gradient by the scores into the gradient by the parameters. */
static void backward(const layer *l, size_t first, size_t count, double *g)
{
    const layer_data *t = l->train;
    memset(g, 0, net_size(&l->shape) * sizeof *g);
    for (size_t k = 0; k < count; k++) {
        net_backward(&l->shape, NULL, t->x + (first + k) * t->features * t->pixels, t->pixels, NULL,
                     l->gradient + k * t->pixels, g);
    }
}

static submod_status hinge(layer *l, size_t batch, const double *w, double *value, double *g)
{
    size_t first, count;
    range(l, batch, &first, &count);
    forward(l, l->train, w, first, count);
    size_t pixels = l->train->pixels;
    submod_scores scores = submod_scores_f32(l->scores, count, 1, pixels);
    submod_labels labels = submod_labels_u8(l->train->label + first * pixels, count, pixels);
    submod_gradient gradient = submod_gradient_dense(l->gradient, 1, pixels);
    submod_loss_settings settings = submod_loss_defaults();
    settings.per_image = 1;
    submod_status status = submod_lovasz_hinge(&scores, &labels, value, g ? &gradient : NULL,
                                               &settings, NULL, l->work);
    if (status == SUBMOD_OK && g) {
        backward(l, first, count, g);
    }
    return status;
}

static submod_status subgradient(void *ctx, size_t batch, const double *w, double *value, double *g)
{
    return hinge(ctx, batch, w, value, g);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static submod_status value_only(void *ctx, const double *w, double *value)
{
    layer *l = ctx;
    double begin = seconds();
    submod_status status = hinge(l, SUBMOD_FULL_BATCH, w, value, NULL);
    l->value_seconds += seconds() - begin;
    return status;
}

/* ---- the direction of the loss layer ---- */

static submod_status direction(void *ctx, size_t batch, const double *w, double lambda_of_step,
                               double *d)
{
    layer *l = ctx;
    size_t first, count, pixels = l->train->pixels;
    double lambda = lambda_of_step / l->reach;
    range(l, batch, &first, &count);
    forward(l, l->train, w, first, count);
    submod_scores scores = submod_scores_f32(l->scores, count, 1, pixels);
    submod_labels labels = submod_labels_u8(l->train->label + first * pixels, count, pixels);
    submod_gradient gradient = submod_gradient_dense(l->gradient, 1, pixels);
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = l->kind == LAYER_PROX ? SUBMOD_PROX_AUTO : SUBMOD_PROX_ALGORITHM_2;
    submod_status status = submod_prox_hinge_layer(&scores, &labels, lambda, NULL, &gradient, NULL,
                                                   &settings, NULL, l->work);
    if (status == SUBMOD_OK) {
        backward(l, first, count, d);
    }
    return status;
}

/* ---- the metric ---- */
static submod_status mean_jaccard(void *ctx, const double *w, double *metric)
{
    layer *l = ctx;
    const layer_data *v = l->validation;
    double sum = 0;
    submod_status status = SUBMOD_OK;
    for (size_t k = 0; k < v->images && status == SUBMOD_OK; k++) {
        double index = 0;
        forward(l, v, w, k, 1);
        for (size_t i = 0; i < v->pixels; i++) {
            l->prediction[i] = l->scores[i] > 0;
        }
        status = submod_jaccard_index(l->prediction, v->label + k * v->pixels, v->pixels, &index);
        sum += index;
    }
    *metric = sum / (double)v->images;
    return status;
}

/* ---- making and freeing ---- */
static void destroy(void *ctx)
{
    layer *l = ctx;
    free(l->scores);
    free(l->gradient);
    free(l->prediction);
    submod_work_free(l->work);
    free(l);
}

static submod_status fill(layer *l)
{
    size_t images = l->train->images, pixels = l->train->pixels;
    l->scores = malloc(images * pixels * sizeof *l->scores);
    l->gradient = malloc(images * pixels * sizeof *l->gradient);
    l->prediction = malloc(pixels);
    return l->scores && l->gradient && l->prediction ? submod_work_create(&l->work) : SUBMOD_ENOMEM;
}

bool layer_problem(const layer_data *train, const layer_data *validation, size_t per_batch,
                   layer_direction kind, double look, submod_problem *problem)
{
    if (train->images < per_batch) {
        return study_fail("%zu images do not fill a batch of %zu", train->images, per_batch);
    }
    layer *l = calloc(1, sizeof *l);
    if (!l) {
        return study_fail("out of memory");
    }
    *l = (layer){.train = train,
                 .validation = validation,
                 .shape = {train->features, 0, 1},
                 .per_batch = per_batch,
                 .reach = look * reach_of(train),
                 .kind = kind};
    if (fill(l) != SUBMOD_OK) {
        destroy(l);
        return study_fail("out of memory");
    }
    *problem = (submod_problem){.dimension = net_size(&l->shape),
                                .batches = train->images / per_batch,
                                .ctx = l,
                                .subgradient = subgradient,
                                .value = value_only,
                                .direction = kind == LAYER_SUBGRADIENT ? NULL : direction,
                                .metric = mean_jaccard,
                                .destroy = destroy};
    return true;
}

double layer_value_seconds(const submod_problem *problem)
{
    const layer *l = problem->ctx;
    return l->value_seconds;
}
