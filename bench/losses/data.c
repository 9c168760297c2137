/* Seeded batches of scores and labels. */
#include "losses/data.h"

#include <stdio.h>
#include <stdlib.h>

void *allocate(size_t count, size_t size)
{
    void *memory = aligned_alloc(64, (count * size + 63) / 64 * 64);
    if (!memory) {
        fprintf(stderr, "bench-losses: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

void require(submod_status status)
{
    if (status != SUBMOD_OK) {
        fprintf(stderr, "bench-losses: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

/* Labels of one image. */
static void draw_labels(const recipe *r, submod_rng *rng, int32_t *labels)
{
    for (size_t y = 0; y < r->height; y++) {
        for (size_t x = 0; x < r->width; x++) {
            int32_t *label = &labels[y * r->width + x];
            if (y % r->block) {
                *label = label[-(ptrdiff_t)r->width];
            } else if (x % r->block) {
                *label = label[-1];
            } else {
                *label = (int32_t)submod_rng_below(rng, r->classes);
            }
        }
    }
}

batch batch_make(const recipe *r)
{
    batch b = {.images = r->images, .classes = r->classes, .pixels = r->height * r->width};
    b.count = b.images * b.classes * b.pixels;
    b.scores = allocate(b.count, sizeof *b.scores);
    b.labels = allocate(b.images * b.pixels, sizeof *b.labels);
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t i = 0; i < b.count; i++) {
        b.scores[i] = (float)submod_rng_normal(&rng);
    }
    for (size_t image = 0; image < b.images; image++) {
        int32_t *labels = b.labels + image * b.pixels;
        draw_labels(r, &rng, labels);
        for (size_t i = 0; i < b.pixels; i++) {
            size_t row = image * b.classes + (size_t)labels[i];
            b.scores[row * b.pixels + i] += (float)r->lift;
        }
    }
    return b;
}

void batch_free(batch *b)
{
    free(b->scores);
    free(b->labels);
}
