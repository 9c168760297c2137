/* Draws the images of study dataset. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/images.h"

/* How far classes lie apart, how much objects of one class differ, and the noise of a pixel: chosen
 * so that a linear model gets about half of it right. */
static const double class_spread = 1, object_spread = 0.5, pixel_noise = 1;

typedef struct world {
    double mean[SET_CLASSES][SET_FEATURES];
    double cumulative[SET_CLASSES]; /* of the classes of objects */
} world;

static void draw_world(submod_rng *rng, world *w)
{
    double sum = 0;
    for (int k = 0; k < SET_CLASSES; k++) {
        for (int d = 0; d < SET_FEATURES; d++) {
            w->mean[k][d] = class_spread * submod_rng_normal(rng);
        }
        sum += k > 0 ? 1 / (double)k : 0;
        w->cumulative[k] = sum;
    }
    for (int k = 0; k < SET_CLASSES; k++) {
        w->cumulative[k] /= sum;
    }
}

static int draw_class(const world *w, submod_rng *rng)
{
    double u = submod_rng_uniform(rng);
    int k = 1;
    while (k + 1 < SET_CLASSES && u >= w->cumulative[k]) {
        k++;
    }
    return k;
}

/* One object: its own look where the disc or box covers the image. */
static void paint(const world *w, int class, bool everywhere, submod_rng *rng, float *x,
                  uint8_t *label)
{
    double look[SET_FEATURES];
    for (int d = 0; d < SET_FEATURES; d++) {
        look[d] = w->mean[class][d] + object_spread * submod_rng_normal(rng);
    }
    double cx = SET_SIDE * submod_rng_uniform(rng);
    double cy = SET_SIDE * submod_rng_uniform(rng);
    double radius = 2 + 6 * submod_rng_uniform(rng);
    bool disc = submod_rng_uniform(rng) < 0.5;
    for (size_t i = 0; i < SET_PIXELS; i++) {
        size_t row = i / SET_SIDE;
        size_t column = i % SET_SIDE;
        double dx = fabs((double)column + 0.5 - cx);
        double dy = fabs((double)row + 0.5 - cy);
        if (everywhere || (disc ? hypot(dx, dy) : fmax(dx, dy)) < radius) {
            label[i] = (uint8_t) class;
            for (size_t d = 0; d < SET_FEATURES; d++) {
                x[d * SET_PIXELS + i] = (float)look[d];
            }
        }
    }
}

static void draw_image(const world *w, submod_rng *rng, float *x, uint8_t *label)
{
    paint(w, 0, true, rng, x, label);
    uint64_t objects = 1 + submod_rng_below(rng, 4);
    for (uint64_t k = 0; k < objects; k++) {
        paint(w, draw_class(w, rng), false, rng, x, label);
    }
    for (size_t i = 0; i < (size_t)SET_FEATURES * SET_PIXELS; i++) {
        x[i] += (float)(pixel_noise * submod_rng_normal(rng));
    }
}

static bool draw_images(const world *w, submod_rng *rng, size_t images, image_set *set)
{
    const size_t size = (size_t)SET_FEATURES * SET_PIXELS;
    set->images = images;
    set->x = malloc(images * size * sizeof *set->x);
    set->label = malloc(images * SET_PIXELS);
    if (!set->x || !set->label) {
        return study_fail("out of memory");
    }
    for (size_t k = 0; k < images; k++) {
        draw_image(w, rng, set->x + k * size, set->label + k * SET_PIXELS);
    }
    return true;
}

bool image_sets_make(uint64_t seed, size_t images, image_sets *sets)
{
    world w;
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    draw_world(&rng, &w);
    *sets = (image_sets){0};
    if (draw_images(&w, &rng, images, &sets->train) && draw_images(&w, &rng, images, &sets->test) &&
        draw_images(&w, &rng, images, &sets->validation)) {
        return true;
    }
    image_sets_free(sets);
    return false;
}

void image_sets_free(image_sets *sets)
{
    image_set *all[] = {&sets->train, &sets->validation, &sets->test};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        free(all[k]->x);
        free(all[k]->label);
    }
    *sets = (image_sets){0};
}
