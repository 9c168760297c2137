/* Rows of a view: consecutive pixels of one image and class, as plain arrays. Everything that
 * depends on types and strides happens here, once per row. */
#ifndef SUBMODI_TENSORS_ROWS_H
#define SUBMODI_TENSORS_ROWS_H

#include <stdbool.h>

#include <submod/loss.h>
#include <submod/tensor.h>

/* n scores of class c from pixel `first` of image b on, as floats: where they lie if they lie there
 * as floats, else converted in buffer. */
const float *submodi_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n,
                         float *buffer);

/* Asks for a row that will be loaded soon; past the end of the image it does nothing. */
void submodi_prefetch_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n);

/* Where a row of the gradient lies if it is to be overwritten and its pixels are neighbours, else
 * NULL: then it has to go through submodi_store_row. */
float *submodi_direct_row(const submod_gradient *g, size_t b, size_t c, size_t first);

/* Whether submodi_store_row would leave numbers: false when an entry that is finite now, or is to
 * be overwritten, would become Inf or NaN. */
bool submodi_row_fits(const submod_gradient *g, size_t b, size_t c, size_t first, size_t n,
                      const float *row);

/* Writes or adds scale * row to the gradient. */
void submodi_store_row(const submod_gradient *g, size_t b, size_t c, size_t first, size_t n,
                       const float *row);

#endif
