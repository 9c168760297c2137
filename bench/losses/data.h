/* The batches that bench-losses measures with, and where it gets memory from. */
#ifndef BENCH_LOSSES_DATA_H
#define BENCH_LOSSES_DATA_H

#include <submod.h>

/* Standard normal scores; labels that are the same over blocks of block x block pixels; lift is
 * added to the score of each pixel's label. block 1 and lift 0 know nothing of each other. */
typedef struct recipe {
    size_t images, classes, height, width, block;
    double lift;
} recipe;

/* Channels first, one image after the other. */
typedef struct batch {
    size_t images, classes, pixels;
    size_t count;    /* of scores */
    float *scores;   /* aligned to 64 bytes */
    int32_t *labels; /* one per pixel */
} batch;

/* The same batch for the same recipe. Ends the program where there is no memory. */
batch batch_make(const recipe *r);
void batch_free(batch *b);

/* Uninitialised, aligned to 64 bytes, for free(). Ends the program where there is none. */
void *allocate(size_t count, size_t size);

/* Ends the program with the library's error message when a call failed. */
void require(submod_status status);

#endif
