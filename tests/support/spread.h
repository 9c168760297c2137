/* A batch spread over ranks by its images, one of the losses on all of them, and what each got. */
#ifndef SUBMOD_TESTS_SPREAD_H
#define SUBMOD_TESTS_SPREAD_H

#include "losses.h"
#include "ranks.h"

typedef struct spread {
    const batch *d;
    kind k;
    submod_loss_settings s; /* pixel_weights and group_loss are set per rank */
    const float *x;         /* scores, as submod_scores_f32 has them, */
    const uint16_t *half;   /* or of this type, if it is not SUBMOD_SCORE_F32, */
    submod_score_type type;
    bool channels_last;         /* or in this order, of any type */
    const float *weights;       /* per pixel, or NULL */
    bool derives, accumulates;  /* gradient wanted; added to what is there */
    size_t cut[MOST_RANKS + 1]; /* images of rank r: cut[r] .. cut[r + 1] - 1 */
    float *gradient;            /* of all images */
    double *group_loss;         /* of all images, or one per rank */
    submod_status status[MOST_RANKS];
    char words[MOST_RANKS][256];
    double loss[MOST_RANKS];
    submod_loss_info info[MOST_RANKS];
} spread;

/* Random cuts; ranks may be left without images. */
void cut_at_random(submod_rng *rng, spread *x, int ranks);
/* The call of one rank, to be given to run_ranks; context: a spread. */
void call_part(const submod_comm *comm, void *context);
/* Where the gradient of these images goes, in the layout of the scores. */
submod_gradient gradient_part(const spread *x, float *gradient, size_t first);
/* The view of the images first .. last - 1. */
submod_scores scores_part(const spread *x, size_t first, size_t last);
submod_labels labels_part(const spread *x, size_t first, size_t last);

/* What one process with all images gets; fails the test if that fails. */
typedef struct result {
    double loss;
    float *gradient;
    double *group_loss;
    submod_loss_info info;
} result;

result alone(const spread *x);
void free_result(result *r);
/* Runs the ranks, and fails the test unless each gets the bits of r. plan may be NULL. */
void spread_and_compare(spread *x, int ranks, ranks_plan *plan, const result *r);

#endif
