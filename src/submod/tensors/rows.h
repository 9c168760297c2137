/* Rows of a view: consecutive pixels of one image and class, as plain arrays. Everything that
 * depends on types and strides happens here, once per row. */
#ifndef SUBMODI_TENSORS_ROWS_H
#define SUBMODI_TENSORS_ROWS_H

#include <stdbool.h>

#include <submod/tensor.h>

/* n scores of class c from pixel `first` of image b on, as floats: a pointer into the view if they
 * are contiguous floats there, else buffer, which they are converted to. */
const float *submodi_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n,
                         float *buffer);

/* Prefetches a row that will be read soon; beyond the end of the image it does nothing. */
void submodi_prefetch_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n);

/* A row of the gradient itself, if it is to be overwritten and its pixels are contiguous. Else
 * NULL: then submodi_store_row has to write it. */
float *submodi_direct_row(const submod_gradient *g, size_t b, size_t c, size_t first);

/* Whether submodi_store_row would write finite numbers only. Where it adds to an entry that is Inf
 * or NaN already, anything is fine. */
bool submodi_row_fits(const submod_gradient *g, size_t b, size_t c, size_t first, size_t n,
                      const float *row);

/* Writes or adds scale * row to the gradient. */
void submodi_store_row(const submod_gradient *g, size_t b, size_t c, size_t first, size_t n,
                       const float *row);

#endif
