/* One call of each kind, for tests that make many of them at once: from several threads, after a
 * fork, for hours. What a call finds becomes one number, which must not depend on who else is
 * calling or how many threads there are. */
#ifndef SUBMOD_TESTS_ERRANDS_H
#define SUBMOD_TESTS_ERRANDS_H

#include <stdbool.h>
#include <submod.h>

enum { ERRAND_IMAGES = 2, ERRAND_CLASSES = 3, ERRAND_SIDE = 16 };

/* What errands read; shared by threads, changed by none. */
typedef struct errand_data {
    size_t side, pixels; /* images are side x side */
    float *scores;       /* ERRAND_IMAGES x ERRAND_CLASSES x pixels, logits */
    float *probabilities;
    uint8_t *truth, *prediction; /* ERRAND_IMAGES x pixels */
    uint8_t *marks;              /* 0 or 1, of each class */
    double *x;                   /* pixels numbers */
    submod_fn *jaccard, *sqrt;   /* of all pixels of an image */
    submod_fn *grid, *cardinal;  /* of ERRAND_SIDE x ERRAND_SIDE */
    submod_fn *sum, *covering, *iwata;
    submod_fn *rows, *squares; /* of the grid: the cut of its rows, a sum over squares of four */
    submod_fn *tversky;        /* of all pixels of an image */
} errand_data;

/* NULL when memory or the library fails. side: from ERRAND_SIDE on; from 148 on losses have work
 * for several threads, and all the others by submodi_set_parallel_from. */
errand_data *errand_data_new(size_t side);
void errand_data_free(errand_data *data);

/* What was found so far, as a number. */
typedef uint64_t digest;
void digest_bytes(digest *d, const void *bytes, size_t size);

typedef struct errand {
    const char *name;
    /* Frees all that it makes. work may be NULL. */
    submod_status (*run)(const errand_data *data, digest *found, submod_work *work);
} errand;

extern const errand tensor_errands[], function_errands[];
extern const size_t tensor_errand_count, function_errand_count;

/* Errand number k of all. */
size_t errand_count(void);
const errand *errand_number(size_t k);

#endif
