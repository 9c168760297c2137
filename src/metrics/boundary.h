/* Which pixels of a label map are far from contours. */
#ifndef SUBMODI_METRICS_BOUNDARY_H
#define SUBMODI_METRICS_BOUNDARY_H

#include <stddef.h>
#include <stdint.h>

/* inside[i] = 1 if all pixels within `distance` of pixel i, in steps in the 8 directions, are in
 * the image and have its label; 0 otherwise. Rows of `width` pixels, `height` of them; neither is
 * 0. */
void submodi_find_inside(const int32_t *label, size_t height, size_t width, size_t distance,
                         uint8_t *inside);

#endif
