/* Synthetic discs, and the slices of study brain with all structures as one foreground. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "brain/train.h"
#include "last_layer/data.h"

static bool make(layer_data *data, size_t images, size_t pixels, size_t features)
{
    *data = (layer_data){.images = images, .pixels = pixels, .features = features};
    if (images == 0 || pixels == 0) {
        return study_fail("too few slices hold a structure");
    }
    data->x = calloc(images * features * pixels, sizeof *data->x);
    data->label = calloc(images, pixels);
    return study_got(data->x && data->label);
}

void layer_data_free(layer_data *data)
{
    free(data->x);
    free(data->label);
    *data = (layer_data){0};
}

/* ---- synthetic ---- */
enum { FEATURES = 16 };

static void draw_image(submod_rng *rng, size_t side, const double *strength, float *x,
                       uint8_t *label)
{
    size_t pixels = side * side;
    double radius = (double)side * (0.1 + 0.25 * submod_rng_uniform(rng));
    double cx = radius + ((double)side - 2 * radius) * submod_rng_uniform(rng);
    double cy = radius + ((double)side - 2 * radius) * submod_rng_uniform(rng);
    double own[FEATURES];
    for (size_t d = 0; d < FEATURES; d++) {
        own[d] = strength[d] + 0.3 * submod_rng_normal(rng);
    }
    for (size_t i = 0; i < pixels; i++) {
        size_t row = i / side;
        size_t column = i % side;
        double dx = (double)column + 0.5 - cx;
        double dy = (double)row + 0.5 - cy;
        label[i] = dx * dx + dy * dy < radius * radius;
        for (size_t d = 0; d < FEATURES; d++) {
            double mean = label[i] ? own[d] : -strength[d];
            x[d * pixels + i] = (float)(mean + submod_rng_normal(rng));
        }
    }
}

bool layer_synthetic(uint64_t seed, size_t images, size_t side, layer_data *train,
                     layer_data *validation)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    double strength[FEATURES];
    for (size_t d = 0; d < FEATURES; d++) {
        strength[d] = 0.3 * submod_rng_normal(&rng);
    }
    layer_data *both[2] = {train, validation};
    *train = *validation = (layer_data){0};
    for (int k = 0; k < 2; k++) {
        if (!make(both[k], images, side * side, FEATURES)) {
            layer_data_free(train);
            layer_data_free(validation);
            return false;
        }
        for (size_t i = 0; i < images; i++) {
            draw_image(&rng, side, strength, both[k]->x + i * FEATURES * side * side,
                       both[k]->label + i * side * side);
        }
    }
    return true;
}

/* ---- brain ---- */

/* The slices of one part, thinned out. */
static bool take_part(const brain_slices *s, brain_part part, size_t step, layer_data *data)
{
    size_t width = (s->width + step - 1) / step;
    size_t height = (s->height + step - 1) / step;
    size_t count = 0;
    for (size_t z = 0; z < s->slices; z++) {
        count += brain_part_of(z, 0) == part;
    }
    if (!make(data, count, width * height, BRAIN_FEATURES)) {
        return false;
    }
    size_t k = 0;
    for (size_t z = 0; z < s->slices; z++) {
        if (brain_part_of(z, 0) != part) {
            continue;
        }
        for (size_t i = 0; i < data->pixels; i++) {
            size_t from = i / width * step * s->width + i % width * step;
            data->label[k * data->pixels + i] = s->label[z * s->pixels + from] > 0;
            for (size_t d = 0; d < BRAIN_FEATURES; d++) {
                data->x[(k * BRAIN_FEATURES + d) * data->pixels + i] =
                    s->x[(z * BRAIN_FEATURES + d) * s->pixels + from];
            }
        }
        k++;
    }
    return true;
}

bool layer_brain(const study_options *options, size_t step, layer_data *train,
                 layer_data *validation, const char **missing)
{
    brain_classes classes;
    brain_slices slices;
    *train = *validation = (layer_data){0};
    if (!brain_load(options, &classes, &slices, missing)) {
        return false;
    }
    bool good = take_part(&slices, BRAIN_TRAIN, step, train) &&
                take_part(&slices, BRAIN_TEST, step, validation);
    brain_slices_free(&slices);
    if (!good) {
        layer_data_free(train);
        layer_data_free(validation);
    }
    return good;
}
