/* Batches as a caller may have them: any type, any strides, gaps in between. */
#ifndef SUBMOD_TESTS_GPU_VIEWS_H
#define SUBMOD_TESTS_GPU_VIEWS_H

#include "cases.h"

/* Memory of one of the caller's arrays. */
typedef struct array {
    void *data;
    size_t bytes;
} array;

typedef struct views {
    kind kind;
    submod_scores scores;
    submod_labels labels;
    submod_gradient gradient;
    submod_pixel_weights weights;
    bool weighted;
    array x, y, g, w; /* what they look at */
} views;

/* Random types, strides, scale; with `ignore`, some labels are IGNORED. Scores fit their type;
 * those of every third batch are steep: softmax shifts them, and some exponentials are the least
 * there is. */
views random_views(submod_rng *rng, kind k, size_t B, size_t C, size_t N, bool ignore);
/* Other scores and labels in the same memory. */
void renew_views(submod_rng *rng, const views *v, bool ignore);
/* Where a pixel's score, label and weight are in their arrays. */
size_t score_at(const views *v, size_t image, size_t c, size_t i);
size_t label_at(const views *v, size_t image, size_t c, size_t i);
size_t weight_at(const views *v, size_t image, size_t i);
/* Any value, bad ones too, cut to the type. */
void put_score(const views *v, size_t at, float value);
void put_label(const views *v, size_t at, int64_t value);

/* The same views of copies. */
views copy_views(const views *v);
void free_views(views *v);

/* These settings with the weights of the views, which they borrow. */
submod_loss_settings settings_of_views(const views *v, const submod_loss_settings *s);

/* By the public functions of loss.h. */
submod_status views_on_cpu(const views *v, double *loss, submod_loss_info *info,
                           const submod_loss_settings *s);

#endif
