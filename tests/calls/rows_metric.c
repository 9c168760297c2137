/* Rows of the metrics and decisions (see calls.h). */
#include "calls.h"

static submod_labels labels_of(const call *c, const uint8_t *from)
{
    return submod_labels_u8(from, CALL_IMAGES, c->data->pixels);
}

static submod_status confusion(call *c)
{
    submod_confusion *counts = NULL;
    submod_metrics metrics;
    double *mean = VALUE(double);
    submod_labels prediction = labels_of(c, c->data->prediction),
                  truth = labels_of(c, c->data->truth);
    submod_status status = submod_confusion_create(CALL_CLASSES, &counts, NULL);
    status = status ? status : submod_confusion_add(counts, &prediction, &truth);
    status = status ? status : submod_confusion_metrics(counts, NULL, NULL, NULL, &metrics, NULL);
    *mean = status ? *mean : metrics.mean_iou;
    submod_confusion_free(counts);
    return status;
}

static submod_status miou_image(call *c)
{
    submod_labels prediction = labels_of(c, c->data->prediction),
                  truth = labels_of(c, c->data->truth);
    return submod_miou_image(NEEDED(&prediction), NEEDED(&truth), CALL_CLASSES,
                             NEEDED(VALUE(double)), NULL);
}

/* All or nothing, whatever fails. */
static submod_status miou(call *c)
{
    submod_miou *m = NULL;
    submod_miou_values values = {0};
    double *image = VALUE(double);
    submod_labels prediction = labels_of(c, c->data->prediction),
                  truth = labels_of(c, c->data->truth);
    submod_status status = submod_miou_create(CALL_CLASSES, &m, NULL);
    status = status ? status : submod_miou_add(m, &prediction, &truth);
    if (m && (submod_miou_get(m, &values) || values.images != (status ? 0 : CALL_IMAGES))) {
        status = SUBMOD_EINVAL;
    }
    *image = status ? *image : values.image;
    submod_miou_free(m);
    return status;
}

static submod_status jaccard_index(call *c)
{
    return submod_jaccard_index(NEEDED(c->data->prediction), NEEDED(c->data->truth),
                                c->data->pixels, NEEDED(VALUE(double)));
}

/* Whole images, or nothing. */
static submod_status whole(const call *c, const submod_confusion *counts)
{
    int64_t sum = 0;
    for (int k = 0; counts && k < CALL_CLASSES * CALL_CLASSES; k++) {
        sum += submod_confusion_counts(counts)[k];
    }
    return (size_t)sum % (CALL_IMAGES * c->data->pixels) ? SUBMOD_EINVAL : SUBMOD_OK;
}

static submod_status boundary(call *c)
{
    submod_boundary *b = NULL;
    double *iou = ARRAY(double, CALL_CLASSES);
    submod_labels prediction = labels_of(c, c->data->prediction),
                  truth = labels_of(c, c->data->truth);
    submod_status status = submod_boundary_create(CALL_CLASSES, &b, NULL);
    status = status ? status
                    : submod_boundary_add(b, &prediction, &truth, c->data->side, c->data->side, 3);
    status = status ? status : submod_boundary_iou(b, iou, NULL, NULL);
    submod_boundary_free(b);
    return status;
}

static submod_status instances(call *c)
{
    submod_instances *s = NULL;
    int64_t *count = ARRAY(int64_t, CALL_CLASSES);
    double *average = ARRAY(double, CALL_CLASSES);
    submod_labels prediction = labels_of(c, c->data->prediction),
                  truth = labels_of(c, c->data->truth);
    submod_labels ids = labels_of(c, c->data->marks);
    submod_status status = submod_instances_create(CALL_CLASSES, 0, &s, NULL);
    status = status ? status : submod_instances_add(s, &prediction, &truth, &ids);
    status = s && whole(c, submod_instances_confusion(s)) ? SUBMOD_EINVAL : status;
    status = status ? status : submod_instances_sizes(s, count, average);
    submod_instances_free(s);
    return status;
}

static submod_status fine_grained(call *c)
{
    submod_fine_grained *f = NULL;
    submod_fine_grained_values values;
    double *of_class = VALUE(double);
    uint64_t words[64]; /* four images of three classes */
    size_t count = 0;
    submod_labels prediction = labels_of(c, c->data->prediction),
                  truth = labels_of(c, c->data->truth);
    submod_status status = submod_fine_grained_create(CALL_CLASSES, &f, NULL);
    status = status ? status : submod_fine_grained_add(f, &prediction, &truth);
    status = status ? status : submod_fine_grained_merge(f, f);
    status = status ? status : submod_fine_grained_words(f, words, &count);
    status = status ? status : submod_fine_grained_set_words(f, words, count);
    status = f && whole(c, submod_fine_grained_confusion(f)) ? SUBMOD_EINVAL : status;
    status = status ? status : submod_fine_grained_get(f, &values);
    *of_class = status ? *of_class : values.of_class;
    submod_fine_grained_free(f);
    return status;
}

static void release_equibatch(void *sampler)
{
    submod_equibatch_free(sampler);
}

static submod_status equibatch(call *c)
{
    const size_t start[3] = {0, 1, 2};
    const int32_t classes[2] = {0, 1};
    return submod_equibatch_create(2, NEEDED(start), NEEDED(classes), CALL_CLASSES, 1,
                                   NEEDED(call_object(c, NULL, release_equibatch)));
}

static submod_status decide(call *c)
{
    const call_data *d = c->data;
    submod_scores scores =
        submod_scores_f32(d->probabilities, CALL_IMAGES, CALL_CLASSES, d->pixels);
    return submod_decide(NEEDED(&scores), ARRAY(uint8_t, CALL_IMAGES * CALL_CLASSES * d->pixels),
                         NULL, NULL, c->work);
}

enum { SEVERAL = CALL_PARALLEL | CALL_SEVERAL };

static const call_row rows[] = {{"submod_confusion_metrics", SEVERAL, confusion},
                                {"submod_miou_image", CALL_PARALLEL, miou_image},
                                {"submod_miou_get", SEVERAL, miou},
                                {"submod_jaccard_index", 0, jaccard_index},
                                {"submod_boundary_iou", SEVERAL, boundary},
                                {"submod_instances_sizes", SEVERAL, instances},
                                {"submod_fine_grained_get", SEVERAL, fine_grained},
                                {"submod_equibatch_create", 0, equibatch},
                                {"submod_decide", CALL_PARALLEL, decide}};
const call_table metric_calls = {rows, sizeof rows / sizeof *rows};
