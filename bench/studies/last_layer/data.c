/* Synthetic discs. */
#include "last_layer/data.h"

#include <stdlib.h>

enum { FEATURES = 16 };

static bool make(layer_data *data, size_t images, size_t pixels)
{
    *data = (layer_data){.images = images, .pixels = pixels, .features = FEATURES};
    data->x = calloc(images * FEATURES * pixels, sizeof *data->x);
    data->label = calloc(images, pixels);
    return study_got(data->x && data->label);
}

void layer_data_free(layer_data *data)
{
    free(data->x);
    free(data->label);
    *data = (layer_data){0};
}

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
        if (!make(both[k], images, side * side)) {
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
