/* What all Lovász losses have in common: scores and labels, cut into groups (an image or the whole
 * batch) and classes, with one coefficient per class and group.
 *
 *     loss = sum over groups g and classes c of coefficient[g][c] * f(errors of class c in g)
 *
 * An error is max(0, 1 - v) at a foreground and max(0, bias + v) at a background pixel: v is a
 * probability and bias 0, or, for the hinge, v is a score and bias 1. */
#ifndef SUBMODI_LOSS_PROBLEM_H
#define SUBMODI_LOSS_PROBLEM_H

#include <stdbool.h>

#include "submod/activation.h"
#include "submod/labels.h"
#include "submod/loss.h"

typedef enum submodi_activation {
    SUBMODI_SOFTMAX,
    SUBMODI_SIGMOID,
    SUBMODI_PROBABILITY,
    SUBMODI_SCORE /* none: hinge losses */
} submodi_activation;

typedef struct submodi_problem {
    const char *who; /* the public function, for words */
    submod_scores scores;
    submod_labels labels;
    ptrdiff_t label_class_stride; /* multilabel: from one class's labels to the next */
    bool multilabel;              /* labels are 0 or 1 per class; else one class per pixel */
    submodi_activation activation;
    submod_loss_settings settings;

    submodi_label_rule rule;
    size_t groups, images_per_group;
    size_t tiles_per_image;
    double *foreground;  /* P: groups x classes; whole numbers */
    double *coefficient; /* groups x classes; 0: the class is left out */
    uint64_t valid;      /* pixels not ignored; multilabel: over all classes */
    size_t terms;        /* coefficients that are not 0 */
} submodi_problem;

/* What can be wrong with arguments before there is a problem to prepare. */
submod_status submodi_require_views(const char *who, const submod_scores *scores,
                                    const submod_labels *labels);
submod_status submodi_require_input(const char *who, submod_input input);
submod_status submodi_require_gradient(const char *who, const submod_gradient *gradient,
                                       const submod_scores *scores);

/* What the public functions begin with: their arguments as a problem that is not prepared yet.
 * Softmax and sigmoid differ in of_logits; the hinge knows neither classes nor weights. */
submod_status submodi_problem_start(const char *who, const submod_scores *scores,
                                    submod_input input, const submod_labels *labels,
                                    submodi_activation of_logits,
                                    const submod_loss_settings *settings, submodi_problem *p);
submod_status submodi_problem_start_hinge(const char *who, const submod_scores *scores,
                                          const submod_labels *labels,
                                          const submod_loss_settings *settings, submodi_problem *p);

/* Checks everything but the values of labels and scores, and sets the label rule and the groups. */
submod_status submodi_problem_shape(submodi_problem *p);

/* The same, checks the labels too, counts the foreground, sets the coefficients; memory from work.
 */
submod_status submodi_problem_prepare(submodi_problem *p, submod_work *work);

/* The parts of it that need no batch: the settings, and the coefficients of one group with so many
 * foreground pixels per class; returns how many are not 0. */
submod_status submodi_require_loss_settings(const char *who, const submod_loss_settings *s,
                                            size_t C);
/* The weight of class c by list and weights, present or not. */
double submodi_class_weight(const submod_loss_settings *s, size_t c);
size_t submodi_class_coefficients(const submod_loss_settings *s, size_t C, const double *foreground,
                                  size_t groups, double *coefficient);

/* The labels of class c: its own when multilabel, else those of all. */
submod_labels submodi_labels_of_class(const submodi_problem *p, size_t c);

/* Consecutive pixels of one image, all classes, and what is known about them. */
typedef struct submodi_tile {
    size_t image, first, n;
    const int32_t *codes; /* label codes: one row, or one per class when multilabel */
    float *v;             /* probabilities or scores: one row per class */
    float *g;             /* scratch of the same size, for derivatives */
} submodi_tile;

/* Memory of one thread for tiles. NULL members: out of memory. */
typedef struct submodi_tile_memory {
    float *v, *g;
    int32_t *codes;
} submodi_tile_memory;

submodi_tile_memory submodi_tile_memory_take(const submodi_problem *p, submod_work *work);
/* That of so many threads. NULL: out of memory. */
submodi_tile_memory *submodi_tiles_take(const submodi_problem *p, int threads, submod_work *work);

/* Tile t of image b: labels read, activation applied. False if some score is NaN, Inf, or not a
 * probability where it should be: submodi_problem_bad_score then finds it and its words. */
bool submodi_tile_load(const submodi_problem *p, size_t image, size_t t,
                       const submodi_tile_memory *memory, submodi_tile *tile);
submod_status submodi_problem_bad_score(const submodi_problem *p);

/* tile->g holds the derivative with respect to v: turns it into that with respect to the scores
 * and stores it. */
void submodi_tile_store(const submodi_problem *p, const submodi_tile *tile,
                        const submod_gradient *gradient);

/* The codes of class c in a tile, and what a foreground pixel has there. */
static inline const int32_t *submodi_tile_codes(const submodi_problem *p, const submodi_tile *tile,
                                                size_t c, int32_t *target)
{
    *target = p->multilabel ? 1 : (int32_t)c;
    return p->multilabel ? tile->codes + c * SUBMODI_TILE : tile->codes;
}

static inline float submodi_bias(const submodi_problem *p)
{
    return p->activation == SUBMODI_SCORE ? 1.0F : 0.0F;
}

/* The engines: the loss, and the gradient if it is wanted. */
submod_status submodi_loss_exact(const submodi_problem *p, double *loss,
                                 const submod_gradient *gradient, submod_loss_info *info,
                                 submod_work *work);
submod_status submodi_loss_histogram(const submodi_problem *p, double *loss,
                                     const submod_gradient *gradient, submod_loss_info *info,
                                     submod_work *work);

#endif
