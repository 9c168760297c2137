/* Rows of a view: consecutive pixels of one image and class, as plain arrays. Everything that
 * depends on types and strides happens here, once per row. */
#ifndef SUBMODI_ROWS_H
#define SUBMODI_ROWS_H

#include "submod/loss.h"
#include "submod/tensor.h"

/* Copies n scores of class c from pixel `first` of image b on, as floats. Classes of one pixel
 * often lie a power of two apart and fight for the same cache lines: after this they no longer do.
 */
void submodi_load_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n,
                      float *row);

/* Asks for a row that will be loaded soon; past the end of the image it does nothing. */
void submodi_prefetch_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n);

/* Writes or adds scale * row to the gradient. */
void submodi_store_row(const submod_gradient *g, size_t b, size_t c, size_t first, size_t n,
                       const float *row);

#endif
