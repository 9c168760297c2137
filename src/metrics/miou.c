/* The three means of the IoU (paper, Sec. 3.1): over the classes of each image, then over the
 * images; the same for batches; over the classes of the whole dataset.
 *
 * One pass over the labels serves all three: an image is counted, averaged and added to its batch,
 * a batch is averaged and added to the dataset. Counts are integers; quotients are added as doubles
 * in the order of the images. O(pixels + images C^2) time, 3 C^2 counts; images without pixels are
 * added all at once.
 */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "metrics/state.h"

struct submod_miou {
    submodi_averaging averaging;
    submod_confusion *dataset, *batch, *image; /* batch and image: during a call only */
    submodi_mean seen[2];                      /* of images, of batches */
};

enum { IMAGES, BATCHES };

/* ---- create and free ---- */

static submod_status miou_new(size_t classes, submod_miou **miou,
                              const submod_metric_settings *settings)
{
    submod_miou *m = submodi_alloc(1, sizeof *m);
    if (!m) {
        return submodi_out_of_memory();
    }
    *m = (submod_miou){.seen = {{0, 0}, {0, 0}}};
    submod_status status = submodi_confusion_new(classes, &m->dataset, settings);
    status = status ? status : submodi_confusion_new(classes, &m->batch, settings);
    status = status ? status : submodi_confusion_new(classes, &m->image, settings);
    status = status ? status : submodi_averaging_init(&m->averaging, classes, settings);
    if (status != SUBMOD_OK) {
        submod_miou_free(m);
        return status;
    }
    *miou = m;
    return SUBMOD_OK;
}

submod_status submod_miou_create(size_t classes, submod_miou **miou,
                                 const submod_metric_settings *settings)
{
    submod_status status = submodi_check_given("miou", miou);
    return submodi_return("submod_miou_create",
                          status ? status : miou_new(classes, miou, settings));
}

void submod_miou_free(submod_miou *miou)
{
    if (miou) {
        submod_confusion_free(miou->dataset);
        submod_confusion_free(miou->batch);
        submod_confusion_free(miou->image);
        submodi_averaging_clear(&miou->averaging);
        submodi_free(miou);
    }
}

void submod_miou_reset(submod_miou *miou)
{
    if (miou) {
        submod_confusion_reset(miou->dataset);
        miou->seen[IMAGES] = miou->seen[BATCHES] = (submodi_mean){0, 0};
    }
}

const submod_confusion *submod_miou_confusion(const submod_miou *miou)
{
    return miou ? miou->dataset : NULL;
}

const submodi_averaging *submodi_miou_averaging(const submod_miou *miou)
{
    return &miou->averaging;
}

/* ---- streaming ---- */

/* Counts every image into m->batch, and adds its mean IoU to *images. */
static submod_status count_batch(submod_miou *m, const submod_labels *prediction,
                                 const submod_labels *truth, submodi_mean *images)
{
    submod_confusion_reset(m->batch);
    submod_confusion_reset(m->image);
    if (truth->pixels == 0) { /* all have the same mean IoU */
        submodi_mean_add_times(images, submodi_mean_iou(&m->averaging, m->image), truth->batch);
        return SUBMOD_OK;
    }
    for (size_t b = 0; b < truth->batch; b++) {
        submod_confusion_reset(m->image);
        submod_status status = submodi_confusion_count(m->image, prediction, truth, b, 1);
        status = status ? status : submod_confusion_merge(m->batch, m->image);
        if (status != SUBMOD_OK) {
            return status;
        }
        submodi_mean_add(images, submodi_mean_iou(&m->averaging, m->image));
    }
    return SUBMOD_OK;
}

static submod_status miou_add(submod_miou *m, const submod_labels *prediction,
                              const submod_labels *truth)
{
    submod_status status = submodi_require_pair(prediction, truth);
    if (status != SUBMOD_OK || truth->batch == 0) {
        return status;
    }
    submodi_mean images = m->seen[IMAGES];
    if (truth->batch > UINT64_MAX - images.count) {
        return submodi_fail(SUBMOD_ENUMERIC, "there would be more than 2^64 - 1 images");
    }
    status = count_batch(m, prediction, truth, &images);
    status = status ? status : submod_confusion_merge(m->dataset, m->batch);
    if (status == SUBMOD_OK) {
        m->seen[IMAGES] = images;
        submodi_mean_add(&m->seen[BATCHES], submodi_mean_iou(&m->averaging, m->batch));
    }
    return status;
}

submod_status submod_miou_add(submod_miou *miou, const submod_labels *prediction,
                              const submod_labels *truth)
{
    submod_status status = submodi_check_given("miou", miou);
    return submodi_return("submod_miou_add", status ? status : miou_add(miou, prediction, truth));
}

static submod_status miou_merge(submod_miou *miou, const submod_miou *other)
{
    if (!miou || !other) {
        return submodi_fail(SUBMOD_EINVAL, "miou or other is NULL");
    }
    if (other->seen[IMAGES].count > UINT64_MAX - miou->seen[IMAGES].count) {
        return submodi_fail(SUBMOD_ENUMERIC, "there would be more than 2^64 - 1 images");
    }
    submod_status status = submod_confusion_merge(miou->dataset, other->dataset);
    if (status == SUBMOD_OK) {
        miou->seen[IMAGES].sum += other->seen[IMAGES].sum;
        miou->seen[IMAGES].count += other->seen[IMAGES].count;
        miou->seen[BATCHES].sum += other->seen[BATCHES].sum;
        miou->seen[BATCHES].count += other->seen[BATCHES].count;
    }
    return status;
}

submod_status submod_miou_merge(submod_miou *miou, const submod_miou *other)
{
    return submodi_return("submod_miou_merge", miou_merge(miou, other));
}

submod_status submod_miou_get(const submod_miou *miou, submod_miou_values *values)
{
    if (!miou || !values) {
        return submodi_return("submod_miou_get",
                              submodi_fail(SUBMOD_EINVAL, "%s is NULL", miou ? "values" : "miou"));
    }
    submodi_averaging a = miou->averaging;    /* the sums it points to are scratch */
    bool some = miou->seen[IMAGES].count > 0; /* without images there is no mean */
    *values =
        (submod_miou_values){.image = submodi_mean_value(&miou->seen[IMAGES]),
                             .batch = submodi_mean_value(&miou->seen[BATCHES]),
                             .dataset = some ? submodi_mean_iou(&a, miou->dataset) : (double)NAN,
                             .images = miou->seen[IMAGES].count,
                             .batches = miou->seen[BATCHES].count};
    return SUBMOD_OK;
}

/* ---- as words ---- */

size_t submodi_miou_spans(const submod_miou *miou, submodi_span *spans)
{
    spans[0] = submodi_confusion_span(miou->dataset);
    spans[1] = (submodi_span){(void *)miou->seen, 2 * sizeof *miou->seen / sizeof(uint64_t)};
    return 2;
}

submod_status submod_miou_words(const submod_miou *miou, uint64_t *words, size_t *count)
{
    submod_status status = submodi_check_given("miou", miou);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_miou_words", status);
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_miou_spans(miou, spans);
    return submodi_return("submod_miou_words", submodi_state_save(spans, n, words, count));
}

/* Whether these can be two sums of numbers in [0, 1], each with how many they are. */
static bool are_means(const uint64_t *words)
{
    submodi_mean m[2];
    memcpy(m, words, sizeof m);
    return m[0].sum >= 0 && m[0].sum <= (double)m[0].count && m[1].sum >= 0 &&
           m[1].sum <= (double)m[1].count;
}

static submod_status miou_set_words(submod_miou *miou, const uint64_t *words, size_t count)
{
    submod_status status = submodi_check_given("miou", miou);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_miou_spans(miou, spans);
    if (words && count == spans[0].words + spans[1].words && !are_means(words + spans[0].words)) {
        return submodi_fail(SUBMOD_EINVAL, "words are not means of IoUs");
    }
    return submodi_state_load(miou->dataset, miou->batch, spans, n, 0, words, count);
}

submod_status submod_miou_set_words(submod_miou *miou, const uint64_t *words, size_t count)
{
    return submodi_return("submod_miou_set_words", miou_set_words(miou, words, count));
}

/* ---- at once ---- */

static submod_status at_once(const submod_labels *prediction, const submod_labels *truth,
                             size_t classes, const submod_metric_settings *settings, bool per_image,
                             double *value)
{
    submod_miou *m = NULL;
    submod_miou_values values;
    submod_status status = submodi_check_given("value", value);
    status = status ? status : miou_new(classes, &m, settings);
    status = status ? status : miou_add(m, prediction, truth);
    status = status ? status : submod_miou_get(m, &values);
    if (status == SUBMOD_OK) {
        *value = per_image ? values.image : values.dataset;
    }
    submod_miou_free(m);
    return status;
}

submod_status submod_miou_image(const submod_labels *prediction, const submod_labels *truth,
                                size_t classes, double *value,
                                const submod_metric_settings *settings)
{
    return submodi_return("submod_miou_image",
                          at_once(prediction, truth, classes, settings, true, value));
}

submod_status submod_miou_batch(const submod_labels *prediction, const submod_labels *truth,
                                size_t classes, double *value,
                                const submod_metric_settings *settings)
{
    return submodi_return("submod_miou_batch",
                          at_once(prediction, truth, classes, settings, false, value));
}
