/* Rows of a view: consecutive pixels of one image and class, as plain arrays. Everything that
 * depends on types and strides happens here, once per row, or once per tile: all rows of the same
 * pixels. Where the classes of a pixel lie side by side, a tile is much cheaper than its rows. */
#ifndef SUBMODI_TENSORS_ROWS_H
#define SUBMODI_TENSORS_ROWS_H

#include <stdbool.h>

#include <submod/tensor.h>

/* Refuses a view of an unknown type, without data although it has pixels, or with strides that no
 * memory can hold. */
submod_status submodi_scores_require(const char *name, const submod_scores *s);

/* The view from image b on. */
submod_scores submodi_scores_from(const submod_scores *s, size_t b);

/* n scores of class c from pixel `first` of image b on, as floats: a pointer into the view if they
 * are contiguous floats there, else buffer, which they are converted to. */
const float *submodi_row(const submod_scores *s, size_t b, size_t c, size_t first, size_t n,
                         float *buffer);

/* The scores of a tile: pixels first .. first+n-1 of image b, all classes, as floats; row c begins
 * at rows + c * stride. Each row is filled up to `width` >= n entries with 0. */
void submodi_rows_read(const submod_scores *s, size_t b, size_t first, size_t n, size_t width,
                       size_t stride, float *rows);

/* One row of it, class c, into row[0 .. width-1], in the same way. */
void submodi_row_read(const submod_scores *s, size_t b, size_t c, size_t first, size_t n,
                      size_t width, float *row);

/* The first row (class 0) itself, if all rows are contiguous floats in the view: they are then
 * s->class_stride apart. Else NULL. */
const float *submodi_rows_direct(const submod_scores *s, size_t b, size_t first);

/* Whether submodi_store_row would write finite numbers only. Where it adds to an entry that is Inf
 * or NaN already, anything is fine. */
bool submodi_row_fits(const submod_gradient *g, size_t b, size_t c, size_t first, size_t n,
                      const float *row);

/* Writes or adds scale * row to the gradient. */
void submodi_store_row(const submod_gradient *g, size_t b, size_t c, size_t first, size_t n,
                       const float *row);

/* The same for a tile: n pixels from `first` on of image b, `classes` rows that are `stride`
 * apart. */
void submodi_rows_write(const submod_gradient *g, size_t b, size_t first, size_t n, size_t classes,
                        size_t stride, const float *rows);

#endif
