/* Label maps in PNG files: palette indices or gray values as labels. */
#ifndef MIOU_LABEL_PNG_H
#define MIOU_LABEL_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <submod/metric.h>

typedef struct label_image {
    size_t width, height;
    bool wide;    /* int32_t labels (16-bit files) instead of uint8_t */
    void *pixels; /* row by row */
} label_image;

/* Reads a palette (1 to 8 bit) or grayscale (1 to 16 bit) file. On failure returns false, writes
 * what is wrong with the file into words, and leaves *image empty. Free it in any case. */
bool label_image_read(const char *path, label_image *image, char *words, size_t size);
void label_image_free(label_image *image);

/* The image as the library takes it. */
submod_labels label_image_view(const label_image *image);

#endif
