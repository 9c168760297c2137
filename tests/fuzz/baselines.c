/* Fuzzes the baseline losses and the metric losses: each view of a batch against the same batch as
 * dense floats, bit by bit; losses within their bounds; sizes whose products wrap. */
#include "tensors.h"

typedef submod_status loss(const submod_scores *scores, const submod_labels *labels, double *value,
                           const submod_gradient *gradient, const submod_loss_settings *settings,
                           submod_work *work);
typedef submod_status metric(const submod_scores *scores, const submod_scores *soft_labels,
                             submod_overlap overlap, double *value, const submod_gradient *gradient,
                             const submod_loss_settings *settings, submod_work *work);

typedef struct how {
    loss *call;
    metric *of_soft; /* if not NULL: in its place */
    submod_overlap overlap;
    tensors_labels labels;
    bool overlaps; /* the loss is in [0, 1] */
} how;

static submod_status run(const tensors *t, const tensors_view *v, double *value,
                         const submod_gradient *gradient, const submod_loss_settings *settings,
                         const void *context)
{
    const how *h = context;
    submod_work *work = v == &t->any ? tensors_work(t) : NULL;
    return h->of_soft
               ? h->of_soft(&v->scores, &v->soft, h->overlap, value, gradient, settings, work)
               : h->call(&v->scores, &v->labels, value, gradient, settings, work);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const how all[] = {
        {submod_cross_entropy, NULL, SUBMOD_OVERLAP_MIN, LABELS_OF_CLASSES, false},
        {submod_hinge, NULL, SUBMOD_OVERLAP_MIN, LABELS_BINARY, false},
        {submod_rahman_wang, NULL, SUBMOD_OVERLAP_MIN, LABELS_BINARY, true},
        {submod_soft_dice, NULL, SUBMOD_OVERLAP_MIN, LABELS_OF_CLASSES, true},
        {submod_soft_jaccard, NULL, SUBMOD_OVERLAP_MIN, LABELS_OF_CLASSES, true},
        {NULL, submod_jaccard_metric, SUBMOD_OVERLAP_MIN, LABELS_OF_CLASSES, true},
        {NULL, submod_jaccard_metric, SUBMOD_OVERLAP_PRODUCT, LABELS_OF_CLASSES, true},
        {NULL, submod_dice_metric, SUBMOD_OVERLAP_MIN, LABELS_OF_CLASSES, true},
        {NULL, submod_dice_metric, SUBMOD_OVERLAP_PRODUCT, LABELS_OF_CLASSES, true}};
    dice d = dice_of(bytes, size);
    const how *h = &all[dice_below(&d, sizeof all / sizeof *all)];
    bool probabilities = dice_once_in(&d, 3);
    double value;
    tensors t;
    submod_set_num_threads(1 + (int)dice_once_in(&d, 16));
    tensors_make(&d, &t, h->labels, probabilities);
    submod_status status = tensors_compare(&t, &(tensors_call){run, h}, &value);
    FUZZ_CHECK(status != SUBMOD_OK || value >= 0, "the loss is %g", value);
    FUZZ_CHECK(status != SUBMOD_OK || !h->overlaps || value <= 1 + 1e-9, "the loss is %g", value);
    tensors_refuse_huge(&d, &t, &(tensors_call){run, h});
    tensors_free(&t);
    return 0;
}
