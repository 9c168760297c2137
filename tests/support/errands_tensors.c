/* Errands with scores and labels: losses, the loss of a dataset, metrics, decisions. */
#include <stdlib.h>

#include "errands.h"

typedef submod_status lovasz_loss(const submod_scores *scores, const submod_labels *labels,
                                  double *loss, const submod_gradient *gradient,
                                  const submod_loss_settings *settings, submod_loss_info *info,
                                  submod_work *work);
typedef submod_status baseline_loss(const submod_scores *scores, const submod_labels *labels,
                                    double *loss, const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_work *work);

static submod_scores scores_of(const errand_data *d, const float *from, size_t classes)
{
    return submod_scores_f32(from, ERRAND_IMAGES, classes, d->pixels);
}

static submod_labels labels_of(const errand_data *d, const uint8_t *from)
{
    return submod_labels_u8(from, ERRAND_IMAGES, d->pixels);
}

static size_t size_of(const submod_scores *scores)
{
    return scores->batch * scores->classes * scores->pixels;
}

/* ---- losses ---- */

static submod_status lovasz(const submod_scores *scores, const submod_labels *labels,
                            lovasz_loss *call, submod_engine engine,
                            const submod_pixel_weights *weights, digest *found, submod_work *work)
{
    submod_loss_settings settings = submod_loss_defaults();
    settings.engine = engine;
    settings.pixel_weights = weights;
    double loss = 0;
    float *g = malloc(size_of(scores) * sizeof *g);
    submod_gradient to = submod_gradient_dense(g, scores->classes, scores->pixels);
    submod_status status =
        g ? call(scores, labels, &loss, &to, &settings, NULL, work) : SUBMOD_ENOMEM;
    if (status == SUBMOD_OK) {
        digest_bytes(found, &loss, sizeof loss);
        digest_bytes(found, g, size_of(scores) * sizeof *g);
    }
    free(g);
    return status;
}

static submod_status softmax_exact(const errand_data *d, digest *found, submod_work *work)
{
    submod_scores scores = scores_of(d, d->scores, ERRAND_CLASSES);
    submod_labels labels = labels_of(d, d->truth);
    return lovasz(&scores, &labels, submod_lovasz_softmax, SUBMOD_ENGINE_EXACT, NULL, found, work);
}

static submod_status softmax_histogram(const errand_data *d, digest *found, submod_work *work)
{
    submod_scores scores = scores_of(d, d->scores, ERRAND_CLASSES);
    submod_labels labels = labels_of(d, d->truth);
    return lovasz(&scores, &labels, submod_lovasz_softmax, SUBMOD_ENGINE_HISTOGRAM, NULL, found,
                  work);
}

static submod_status softmax_weighted(const errand_data *d, digest *found, submod_work *work)
{
    submod_scores scores = scores_of(d, d->scores, ERRAND_CLASSES);
    submod_labels labels = labels_of(d, d->truth);
    submod_pixel_weights weights =
        submod_pixel_weights_f32(d->probabilities, ERRAND_IMAGES, d->pixels);
    submod_status status =
        lovasz(&scores, &labels, submod_lovasz_softmax, SUBMOD_ENGINE_EXACT, &weights, found, work);
    return status ? status
                  : lovasz(&scores, &labels, submod_lovasz_softmax, SUBMOD_ENGINE_HISTOGRAM,
                           &weights, found, work);
}

static submod_status sigmoid_exact(const errand_data *d, digest *found, submod_work *work)
{
    submod_scores scores = scores_of(d, d->scores, ERRAND_CLASSES);
    submod_labels labels = submod_labels_multilabel(d->marks, SUBMOD_LABEL_U8, ERRAND_IMAGES,
                                                    ERRAND_CLASSES, d->pixels);
    return lovasz(&scores, &labels, submod_lovasz_sigmoid, SUBMOD_ENGINE_EXACT, NULL, found, work);
}

static submod_status hinge_histogram(const errand_data *d, digest *found, submod_work *work)
{
    submod_scores scores = scores_of(d, d->scores, 1);
    submod_labels labels = labels_of(d, d->marks);
    return lovasz(&scores, &labels, submod_lovasz_hinge, SUBMOD_ENGINE_HISTOGRAM, NULL, found,
                  work);
}

static submod_status hinge_prox(const errand_data *d, digest *found, submod_work *work)
{
    submod_scores scores = scores_of(d, d->scores, 1);
    submod_labels labels = labels_of(d, d->marks);
    size_t n = size_of(&scores);
    float *moved = malloc(n * sizeof *moved), *g = malloc(n * sizeof *g);
    submod_gradient to = submod_gradient_dense(g, 1, d->pixels);
    submod_gradient prox = submod_gradient_dense(moved, 1, d->pixels);
    submod_status status =
        g && moved ? submod_prox_lovasz_hinge(&scores, &labels, 2, &prox, &to, NULL, NULL, work)
                   : SUBMOD_ENOMEM;
    digest_bytes(found, moved, status ? 0 : n * sizeof *moved);
    digest_bytes(found, g, status ? 0 : n * sizeof *g);
    free(moved);
    free(g);
    return status;
}

static submod_status baselines(const errand_data *d, digest *found, submod_work *work)
{
    enum { CALLS = 3 };
    baseline_loss *const calls[CALLS] = {submod_cross_entropy, submod_soft_dice,
                                         submod_soft_jaccard};
    submod_scores scores = scores_of(d, d->scores, ERRAND_CLASSES);
    submod_labels labels = labels_of(d, d->truth);
    float *g = malloc(size_of(&scores) * sizeof *g);
    submod_gradient to = submod_gradient_dense(g, ERRAND_CLASSES, d->pixels);
    submod_status status = g ? SUBMOD_OK : SUBMOD_ENOMEM;
    for (size_t k = 0; status == SUBMOD_OK && k < CALLS; k++) {
        double loss = 0;
        status = calls[k](&scores, &labels, &loss, &to, NULL, work);
        digest_bytes(found, &loss, sizeof loss);
        digest_bytes(found, g, status ? 0 : size_of(&scores) * sizeof *g);
    }
    free(g);
    return status;
}

static submod_status metric_losses(const errand_data *d, digest *found, submod_work *work)
{
    submod_scores scores = scores_of(d, d->scores, ERRAND_CLASSES);
    submod_scores soft = scores_of(d, d->probabilities, ERRAND_CLASSES);
    double loss[2] = {0};
    submod_status status =
        submod_jaccard_metric(&scores, &soft, SUBMOD_OVERLAP_MIN, &loss[0], NULL, NULL, work);
    status =
        status ? status
               : submod_dice_metric(&scores, &soft, SUBMOD_OVERLAP_MIN, &loss[1], NULL, NULL, work);
    digest_bytes(found, loss, sizeof loss);
    return status;
}

/* The first image, then the second; the gradient of the first. */
static submod_status dataset(const errand_data *d, digest *found, submod_work *work)
{
    submod_dataset *h = NULL;
    double loss = 0;
    size_t one = ERRAND_CLASSES * d->pixels;
    float *g = malloc(one * sizeof *g);
    submod_gradient to = submod_gradient_dense(g, ERRAND_CLASSES, d->pixels);
    submod_status status = g ? submod_dataset_create(ERRAND_CLASSES, 0.001, &h) : SUBMOD_ENOMEM;
    submod_scores scores = submod_scores_f32(d->scores, 1, ERRAND_CLASSES, d->pixels);
    submod_labels labels = submod_labels_u8(d->truth, 1, d->pixels);
    status = status ? status : submod_dataset_add(h, &scores, &labels, NULL, work);
    submod_scores second = submod_scores_f32(d->scores + one, 1, ERRAND_CLASSES, d->pixels);
    submod_labels truth = submod_labels_u8(d->truth + d->pixels, 1, d->pixels);
    status = status ? status : submod_dataset_add(h, &second, &truth, NULL, work);
    status = status ? status : submod_dataset_solve(h, &loss, NULL, NULL);
    status = status ? status : submod_dataset_gradient(h, &scores, &labels, &to, NULL, work);
    digest_bytes(found, &loss, sizeof loss);
    digest_bytes(found, g, status ? 0 : one * sizeof *g);
    submod_dataset_free(h);
    free(g);
    return status;
}

/* ---- metrics ---- */

static submod_status confusion(const errand_data *d, digest *found, submod_work *work)
{
    (void)work;
    submod_confusion *c = NULL;
    submod_metrics metrics = {0};
    submod_labels prediction = labels_of(d, d->prediction), truth = labels_of(d, d->truth);
    submod_status status = submod_confusion_create(ERRAND_CLASSES, &c, NULL);
    status = status ? status : submod_confusion_add(c, &prediction, &truth);
    status = status ? status : submod_confusion_metrics(c, NULL, NULL, NULL, &metrics, NULL);
    digest_bytes(found, &metrics.mean_iou, sizeof metrics.mean_iou);
    double value = 0;
    status = status ? status : submod_miou_image(&prediction, &truth, ERRAND_CLASSES, &value, NULL);
    digest_bytes(found, &value, sizeof value);
    status = status ? status : submod_jaccard_index(d->prediction, d->truth, d->pixels, &value);
    digest_bytes(found, &value, sizeof value);
    submod_confusion_free(c);
    return status;
}

static submod_status boundary(const errand_data *d, digest *found, submod_work *work)
{
    (void)work;
    submod_boundary *b = NULL;
    double iou[ERRAND_CLASSES] = {0};
    submod_labels prediction = labels_of(d, d->prediction), truth = labels_of(d, d->truth);
    submod_status status = submod_boundary_create(ERRAND_CLASSES, &b, NULL);
    status = status ? status : submod_boundary_add(b, &prediction, &truth, d->side, d->side, 3);
    status = status ? status : submod_boundary_iou(b, iou, NULL, NULL);
    digest_bytes(found, iou, sizeof iou);
    submod_boundary_free(b);
    return status;
}

static submod_status instances(const errand_data *d, digest *found, submod_work *work)
{
    (void)work;
    submod_instances *s = NULL;
    int64_t count[ERRAND_CLASSES] = {0};
    double average[ERRAND_CLASSES] = {0};
    submod_labels prediction = labels_of(d, d->prediction), truth = labels_of(d, d->truth);
    submod_labels ids = labels_of(d, d->marks);
    submod_status status = submod_instances_create(ERRAND_CLASSES, 0, &s, NULL);
    status = status ? status : submod_instances_add(s, &prediction, &truth, &ids);
    status = status ? status : submod_instances_sizes(s, count, average);
    digest_bytes(found, count, sizeof count);
    digest_bytes(found, average, sizeof average);
    submod_instances_free(s);
    return status;
}

static submod_status fine_grained(const errand_data *d, digest *found, submod_work *work)
{
    (void)work;
    submod_fine_grained *f = NULL;
    submod_fine_grained_values values = {0};
    submod_labels prediction = labels_of(d, d->prediction), truth = labels_of(d, d->truth);
    submod_status status = submod_fine_grained_create(ERRAND_CLASSES, &f, NULL);
    status = status ? status : submod_fine_grained_add(f, &prediction, &truth);
    status = status ? status : submod_fine_grained_get(f, &values);
    digest_bytes(found, &values.of_class, sizeof values.of_class);
    submod_fine_grained_free(f);
    return status;
}

static submod_status decision(const errand_data *d, digest *found, submod_work *work)
{
    submod_scores scores = scores_of(d, d->probabilities, ERRAND_CLASSES);
    uint8_t *masks = malloc(size_of(&scores));
    submod_decision_info info[ERRAND_IMAGES * ERRAND_CLASSES] = {0};
    submod_status status = masks ? submod_decide(&scores, masks, NULL, info, work) : SUBMOD_ENOMEM;
    digest_bytes(found, masks, status ? 0 : size_of(&scores));
    free(masks);
    return status;
}

const errand tensor_errands[] = {{"softmax, exact", softmax_exact},
                                 {"softmax, histogram", softmax_histogram},
                                 {"softmax, weighted", softmax_weighted},
                                 {"sigmoid, exact", sigmoid_exact},
                                 {"hinge, histogram", hinge_histogram},
                                 {"prox of the hinge", hinge_prox},
                                 {"baselines", baselines},
                                 {"metric losses", metric_losses},
                                 {"dataset", dataset},
                                 {"confusion", confusion},
                                 {"boundary", boundary},
                                 {"instances", instances},
                                 {"fine grained", fine_grained},
                                 {"decision", decision}};
const size_t tensor_errand_count = sizeof tensor_errands / sizeof *tensor_errands;
