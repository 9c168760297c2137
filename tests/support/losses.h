/* The Lovász losses under one signature, random batches, and a naive reference in double. */
#ifndef SUBMOD_TESTS_LOSSES_H
#define SUBMOD_TESTS_LOSSES_H

#include <stdbool.h>
#include <submod.h>

typedef struct batch {
    size_t B, C, N;
    double *x;  /* scores, B x C x N */
    int64_t *y; /* labels: B x N, or B x C x N when multilabel */
    bool multilabel;
} batch;

/* The first three from scores, the others softmax and sigmoid from probabilities. */
typedef enum { SOFTMAX, SIGMOID, HINGE, PROBABILITY, SIGMOID_PROBABILITY } kind;

/* Probability of class c at pixel i of image b, or the score itself. */
double value_at(const batch *d, kind k, size_t b, size_t c, size_t i);
/* The loss by definition; settings but for the engine. */
double reference(const batch *d, kind k, const submod_loss_settings *s);

/* Random scores, exact in float, and labels; with `ignore` every fourth label is 9. */
batch random_batch(submod_rng *rng, kind k, size_t B, size_t C, size_t N, bool ignore);
void free_batch(batch *d);
/* For up to 4 and at least 3 classes, or the hinge; 9 is the ignored label. */
submod_loss_settings random_settings(submod_rng *rng, bool ignore);

/* The caller frees. */
float *as_floats(const batch *d);
submod_labels label_view(const batch *d);
submod_status call_views(kind k, const submod_scores *scores, const submod_labels *labels,
                         double *loss, const submod_gradient *g, submod_loss_info *info,
                         const submod_loss_settings *s);
/* The loss of the library, which must succeed; gradient may be NULL. */
double call(const batch *d, kind k, float *gradient, const submod_loss_settings *s);

#endif
