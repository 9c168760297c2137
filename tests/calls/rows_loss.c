/* Rows of the losses and of the loss of a dataset (see calls.h). */
#include "calls.h"

typedef submod_status lovasz_loss(const submod_scores *scores, const submod_labels *labels,
                                  double *loss, const submod_gradient *gradient,
                                  const submod_loss_settings *settings, submod_loss_info *info,
                                  submod_work *work);
typedef submod_status baseline_loss(const submod_scores *scores, const submod_labels *labels,
                                    double *loss, const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_work *work);

static submod_scores logits(const call *c, size_t classes)
{
    return submod_scores_f32(c->data->scores, CALL_IMAGES, classes, c->data->pixels);
}

static submod_labels labels_of(const call *c, const uint8_t *from)
{
    return submod_labels_u8(from, CALL_IMAGES, c->data->pixels);
}

static submod_gradient gradient_of(call *c, const submod_scores *s)
{
    return submod_gradient_dense(ARRAY(float, s->batch * s->classes * s->pixels), s->classes,
                                 s->pixels);
}

static submod_status lovasz(call *c, lovasz_loss *loss, size_t classes, const submod_labels *labels,
                            const submod_loss_settings *settings)
{
    submod_scores scores = logits(c, classes);
    submod_gradient gradient = gradient_of(c, &scores);
    return loss(NEEDED(&scores), NEEDED(labels), OPTIONAL(VALUE(double)), OPTIONAL(&gradient),
                settings, NULL, c->work);
}

static submod_loss_settings by_engine(submod_engine engine)
{
    submod_loss_settings settings = submod_loss_defaults();
    settings.engine = engine;
    return settings;
}

static submod_status softmax(call *c, submod_engine engine, bool weighted)
{
    submod_labels labels = labels_of(c, c->data->truth);
    submod_loss_settings settings = by_engine(engine);
    submod_pixel_weights weights =
        submod_pixel_weights_f32(c->data->probabilities, CALL_IMAGES, c->data->pixels);
    settings.pixel_weights = weighted ? &weights : NULL;
    return lovasz(c, submod_lovasz_softmax, CALL_CLASSES, &labels, &settings);
}

static submod_status softmax_exact(call *c)
{
    return softmax(c, SUBMOD_ENGINE_EXACT, false);
}

static submod_status softmax_histogram(call *c)
{
    return softmax(c, SUBMOD_ENGINE_HISTOGRAM, false);
}

static submod_status softmax_counting(call *c)
{
    return softmax(c, SUBMOD_ENGINE_COUNTING, false);
}

static submod_status softmax_counting_weighted(call *c)
{
    return softmax(c, SUBMOD_ENGINE_COUNTING, true);
}

static submod_status softmax_exact_weighted(call *c)
{
    return softmax(c, SUBMOD_ENGINE_EXACT, true);
}

static submod_status softmax_histogram_weighted(call *c)
{
    return softmax(c, SUBMOD_ENGINE_HISTOGRAM, true);
}

static submod_status sigmoid(call *c, submod_engine engine)
{
    submod_labels labels = submod_labels_multilabel(c->data->marks, SUBMOD_LABEL_U8, CALL_IMAGES,
                                                    CALL_CLASSES, c->data->pixels);
    submod_loss_settings settings = by_engine(engine);
    return lovasz(c, submod_lovasz_sigmoid, CALL_CLASSES, &labels, &settings);
}

static submod_status sigmoid_exact(call *c)
{
    return sigmoid(c, SUBMOD_ENGINE_EXACT);
}

static submod_status sigmoid_histogram(call *c)
{
    return sigmoid(c, SUBMOD_ENGINE_HISTOGRAM);
}

static submod_status hinge(call *c, submod_engine engine)
{
    submod_labels labels = labels_of(c, c->data->marks);
    submod_loss_settings settings = by_engine(engine);
    return lovasz(c, submod_lovasz_hinge, 1, &labels, &settings);
}

static submod_status hinge_exact(call *c)
{
    return hinge(c, SUBMOD_ENGINE_EXACT);
}

static submod_status hinge_histogram(call *c)
{
    return hinge(c, SUBMOD_ENGINE_HISTOGRAM);
}

static submod_status sigmoid_counting(call *c)
{
    return sigmoid(c, SUBMOD_ENGINE_COUNTING);
}

static submod_status hinge_counting(call *c)
{
    return hinge(c, SUBMOD_ENGINE_COUNTING);
}

static submod_status hinge_of_function(call *c)
{
    submod_scores scores = submod_scores_f32(c->data->scores, 1, 1, c->n);
    submod_labels labels = submod_labels_u8(c->data->marks, 1, c->n);
    submod_gradient gradient = gradient_of(c, &scores);
    return submod_lovasz_hinge_function(NEEDED(c->fn), NEEDED(&scores), NEEDED(&labels),
                                        OPTIONAL(VALUE(double)), OPTIONAL(&gradient), NULL,
                                        c->work);
}

static submod_status baseline(call *c, baseline_loss *loss, size_t classes, const uint8_t *from)
{
    submod_scores scores = logits(c, classes);
    submod_labels labels = labels_of(c, from);
    submod_gradient gradient = gradient_of(c, &scores);
    return loss(NEEDED(&scores), NEEDED(&labels), OPTIONAL(VALUE(double)), OPTIONAL(&gradient),
                NULL, c->work);
}

static submod_status cross_entropy(call *c)
{
    return baseline(c, submod_cross_entropy, CALL_CLASSES, c->data->truth);
}

static submod_status plain_hinge(call *c)
{
    return baseline(c, submod_hinge, 1, c->data->marks);
}

static submod_status rahman_wang(call *c)
{
    return baseline(c, submod_rahman_wang, 1, c->data->marks);
}

static submod_status soft_dice(call *c)
{
    return baseline(c, submod_soft_dice, CALL_CLASSES, c->data->truth);
}

static submod_status soft_jaccard(call *c)
{
    return baseline(c, submod_soft_jaccard, CALL_CLASSES, c->data->truth);
}

static submod_status metric(call *c, bool dice)
{
    submod_scores scores = logits(c, CALL_CLASSES);
    submod_scores soft =
        submod_scores_f32(c->data->probabilities, CALL_IMAGES, CALL_CLASSES, c->data->pixels);
    submod_gradient gradient = gradient_of(c, &scores);
    return (dice ? submod_dice_metric : submod_jaccard_metric)(
        NEEDED(&scores), NEEDED(&soft), SUBMOD_OVERLAP_MIN, OPTIONAL(VALUE(double)),
        OPTIONAL(&gradient), NULL, c->work);
}

static submod_status jaccard_metric(call *c)
{
    return metric(c, false);
}

static submod_status dice_metric(call *c)
{
    return metric(c, true);
}

/* ---- datasets ---- */

static void release_dataset(void *dataset)
{
    submod_dataset_free(dataset);
}

static submod_status dataset_create(call *c)
{
    return submod_dataset_create(CALL_CLASSES, 0.001,
                                 NEEDED(call_object(c, NULL, release_dataset)));
}

/* The first image, then the second; the gradient of the first. */
static submod_status dataset(call *c)
{
    const call_data *d = c->data;
    size_t one = CALL_CLASSES * d->pixels;
    submod_dataset *h = NULL;
    double *loss = VALUE(double);
    submod_gradient to = submod_gradient_dense(ARRAY(float, one), CALL_CLASSES, d->pixels);
    submod_scores first = submod_scores_f32(d->scores, 1, CALL_CLASSES, d->pixels);
    submod_scores second = submod_scores_f32(d->scores + one, 1, CALL_CLASSES, d->pixels);
    submod_labels labels = submod_labels_u8(d->truth, 1, d->pixels);
    submod_labels others = submod_labels_u8(d->truth + d->pixels, 1, d->pixels);
    double solved = 0;
    submod_status status = submod_dataset_create(CALL_CLASSES, 0.001, &h);
    status = status ? status : submod_dataset_add(h, &first, &labels, NULL, c->work);
    status = status ? status : submod_dataset_add(h, &second, &others, NULL, c->work);
    status = status ? status : submod_dataset_solve(h, &solved, NULL, NULL);
    status = status ? status : submod_dataset_gradient(h, &first, &labels, &to, NULL, c->work);
    *loss = status ? *loss : solved;
    submod_dataset_free(h);
    return status;
}

enum { LOGITS = CALL_PARALLEL | CALL_FUSED };

static const call_row rows[] = {
    {"submod_lovasz_softmax: exact", LOGITS, softmax_exact},
    {"submod_lovasz_softmax: histogram", LOGITS, softmax_histogram},
    {"submod_lovasz_softmax: exact, weighted", LOGITS, softmax_exact_weighted},
    {"submod_lovasz_softmax: histogram, weighted", LOGITS, softmax_histogram_weighted},
    {"submod_lovasz_softmax: counting", LOGITS, softmax_counting},
    {"submod_lovasz_softmax: counting, weighted", LOGITS, softmax_counting_weighted},
    {"submod_lovasz_sigmoid: exact", LOGITS, sigmoid_exact},
    {"submod_lovasz_sigmoid: histogram", LOGITS, sigmoid_histogram},
    {"submod_lovasz_sigmoid: counting", LOGITS, sigmoid_counting},
    {"submod_lovasz_hinge: exact", CALL_PARALLEL, hinge_exact},
    {"submod_lovasz_hinge: histogram", CALL_PARALLEL, hinge_histogram},
    {"submod_lovasz_hinge: counting", CALL_PARALLEL, hinge_counting},
    {"submod_lovasz_hinge_function", CALL_ON_FUNCTION | CALL_PARALLEL, hinge_of_function},
    {"submod_cross_entropy", LOGITS, cross_entropy},
    {"submod_hinge", CALL_PARALLEL, plain_hinge},
    {"submod_rahman_wang", LOGITS, rahman_wang},
    {"submod_soft_dice", LOGITS, soft_dice},
    {"submod_soft_jaccard", LOGITS, soft_jaccard},
    {"submod_jaccard_metric", LOGITS, jaccard_metric},
    {"submod_dice_metric", LOGITS, dice_metric},
    {"submod_dataset_create", 0, dataset_create},
    {"submod_dataset_gradient", LOGITS | CALL_SEVERAL, dataset}};
const call_table loss_calls = {rows, sizeof rows / sizeof *rows};
