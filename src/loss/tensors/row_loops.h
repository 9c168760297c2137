/* Converts rows of scores and labels to the types that the engines work with, and turns blocks of
 * pixels into rows and back where the classes of a pixel lie side by side (channels last). */
#ifndef SUBMODI_TENSORS_ROW_LOOPS_H
#define SUBMODI_TENSORS_ROW_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

/* The codes of labels (labels.h), where the ignored label fits into 32 bits. */
typedef struct submodi_label_codes {
    int32_t classes;             /* 0 .. classes - 1 stay what they are */
    int32_t ignored, of_ignored; /* this label, and its code */
    int32_t other;               /* the code of anything else */
} submodi_label_codes;

/* Reads n pixels of all classes as floats, into rows that are `stride` apart. */
typedef void submodi_read_loop(const void *from, ptrdiff_t step, size_t n, size_t classes,
                               size_t stride, float *rows);

/* The way back: to = 0 + scale * rows, or to = to + scale * rows. */
typedef void submodi_write_loop(const float *rows, size_t stride, size_t n, size_t classes,
                                float scale, ptrdiff_t step, float *to);

/* Turning takes blocks of at least so many pixels and classes, of 4 and of 2 bytes. */
enum { SUBMODI_TURN_FLOATS = 4, SUBMODI_TURN_HALVES = 8 };

typedef void submodi_codes_loop(const void *labels, size_t n, const submodi_label_codes *rule,
                                int32_t *codes);

/* Nothing that is written overlaps with anything else. */
typedef struct submodi_row_loops {
    /* By submod_score_type. read: the pixels of a class lie side by side, and the classes are
     * `step` apart. turn: the classes of a pixel lie side by side, and the pixels are `step`
     * apart. */
    submodi_read_loop *read[3], *turn[3];
    submodi_write_loop *write, *add, *turn_write, *turn_add;
    /* n contiguous labels to codes, by submod_label_type. */
    submodi_codes_loop *codes[3];
    /* Adds to count[k] how many codes are k, for k = 0, 1, 2. */
    void (*tally)(const int32_t *codes, size_t n, uint64_t *count);
} submodi_row_loops;

extern const submodi_row_loops submodi_rows_baseline, submodi_rows_avx2, submodi_rows_avx512;

static inline const submodi_row_loops *submodi_rows(void)
{
    static const submodi_row_loops *const table[] = SUBMODI_TABLES(submodi_rows);
    return table[submodi_isa_in_use()];
}

#endif
