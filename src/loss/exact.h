/* The passes of the exact engine over the scores: errors, and from weights to the gradient. The
 * rankings are between them (exact.c). */
#ifndef SUBMODI_LOSSES_EXACT_H
#define SUBMODI_LOSSES_EXACT_H

#include "loss/rank.h"

typedef struct submodi_exact {
    submodi_batch *batch;
    const submod_gradient *gradient; /* may be NULL */
    bool direct;                     /* errors are kept in the gradient */
    bool streams;                    /* and written to it around the caches */
    float *error;                    /* else here: groups x classes x pixels of a group */
    submodi_rank_range *range;       /* groups x classes, for each thread */
    submodi_rank_memory *rank;       /* per thread */
} submodi_exact;

static inline size_t submodi_exact_segments(const submodi_exact *x)
{
    return x->batch->groups * x->batch->scores.classes;
}

static inline size_t submodi_exact_per_group(const submodi_exact *x)
{
    return x->batch->images_per_group * x->batch->scores.pixels;
}

/* Memory for errors and ranges; direct is set by then. False: out of memory. */
bool submodi_exact_take(submodi_exact *x, submod_work *work);

/* The errors of all classes that are used, and their ranges, in those of the first thread. False if
 * some score is bad; nothing is then written to the gradient. */
bool submodi_exact_errors(const submodi_exact *x);

/* Where the errors of a class in a group are, and their range. */
submodi_rank_errors submodi_exact_errors_of(const submodi_exact *x, size_t group, size_t c);

/* All errors of a class in a group become 0: the weights of one that is not used. */
void submodi_exact_clear(const submodi_exact *x, const submodi_rank_errors *errors);

/* The gradient, from the weights that are where errors were. */
void submodi_exact_write(const submodi_exact *x);

#endif
