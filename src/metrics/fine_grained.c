/* Fine-grained mIoUs (Wang et al. 2023): a table of the IoU of each class in each image, NaN for
 * what is left out, and its means: by images, by classes, and over the worst of them.
 *
 * Values are sorted before they are added up, which the worst ones need anyway; so the order of
 * images does not show. O(images C log images) for a mean, 8 C bytes per image.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "metrics/confusion.h"
#include "metrics/state.h"
#include <submod/scoring.h>

struct submod_fine_grained {
    submodi_averaging averaging;
    submod_confusion *dataset, *batch, *image; /* batch and image: during a call only */
    double *iou;                               /* images x C */
    size_t images, capacity;
};

/* ---- create and free ---- */

submod_status submod_fine_grained_create(size_t classes, submod_fine_grained **fine,
                                         const submod_metric_settings *settings)
{
    submod_status status = submodi_check_given("fine", fine);
    submod_fine_grained *f = status ? NULL : submodi_alloc(1, sizeof *f);
    if (!f) {
        return submodi_return("submod_fine_grained_create",
                              status ? status : submodi_out_of_memory());
    }
    *f = (submod_fine_grained){.images = 0};
    status = submodi_confusion_new(classes, &f->dataset, settings);
    status = status ? status : submodi_confusion_new(classes, &f->batch, settings);
    status = status ? status : submodi_confusion_new(classes, &f->image, settings);
    status = status ? status : submodi_averaging_init(&f->averaging, classes, settings);
    if (status != SUBMOD_OK) {
        submod_fine_grained_free(f);
        return submodi_return("submod_fine_grained_create", status);
    }
    *fine = f;
    return SUBMOD_OK;
}

void submod_fine_grained_free(submod_fine_grained *fine)
{
    if (fine) {
        submod_confusion_free(fine->dataset);
        submod_confusion_free(fine->batch);
        submod_confusion_free(fine->image);
        submodi_averaging_clear(&fine->averaging);
        submodi_free(fine->iou);
        submodi_free(fine);
    }
}

void submod_fine_grained_reset(submod_fine_grained *fine)
{
    if (fine) {
        submod_confusion_reset(fine->dataset);
        fine->images = 0;
    }
}

const double *submod_fine_grained_table(const submod_fine_grained *fine, size_t *images)
{
    if (images) {
        *images = fine ? fine->images : 0;
    }
    return fine && fine->images ? fine->iou : NULL;
}

const submod_confusion *submod_fine_grained_confusion(const submod_fine_grained *fine)
{
    return fine ? fine->dataset : NULL;
}

const submodi_averaging *submodi_fine_grained_averaging(const submod_fine_grained *fine)
{
    return &fine->averaging;
}

/* ---- streaming ---- */

/* Room for so many more images. */
static submod_status reserve(submod_fine_grained *f, size_t more)
{
    if (more <= f->capacity - f->images) {
        return SUBMOD_OK;
    }
    size_t C = f->averaging.classes;
    size_t needed = more > SIZE_MAX - f->images ? SIZE_MAX : f->images + more;
    size_t doubled = submodi_times(2, f->capacity);
    size_t capacity = needed > doubled ? needed : doubled;
    double *iou = submodi_alloc(submodi_times(capacity, C), sizeof *iou);
    if (!iou) {
        return submodi_out_of_memory();
    }
    if (f->images) {
        memcpy(iou, f->iou, f->images * C * sizeof *iou);
    }
    submodi_free(f->iou);
    f->iou = iou;
    f->capacity = capacity;
    return SUBMOD_OK;
}

/* The row of the table for the counts in f->image. */
static void fill_row(submod_fine_grained *f, double *row)
{
    submodi_averaging *a = &f->averaging;
    submodi_sum_classes(a, f->image);
    for (size_t c = 0; c < a->classes; c++) {
        int64_t both = f->image->counts[c * a->classes + c];
        row[c] = a->chosen[c] ? submodi_iou(a->absent, a->truth[c], a->prediction[c], both)
                              : (double)NAN;
    }
}

static submod_status fine_grained_add(submod_fine_grained *fine, const submod_labels *prediction,
                                      const submod_labels *truth)
{
    submod_status status = submodi_check_given("fine", fine);
    status = status ? status : submodi_require_pair(prediction, truth);
    status = status ? status : reserve(fine, truth->batch);
    if (status != SUBMOD_OK) {
        return status;
    }
    double *row = fine->iou + fine->images * fine->averaging.classes;
    submod_confusion_reset(fine->batch);
    for (size_t b = 0; b < truth->batch; b++) {
        submod_confusion_reset(fine->image);
        status = submodi_confusion_count(fine->image, prediction, truth, b, 1);
        status = status ? status : submod_confusion_merge(fine->batch, fine->image);
        if (status != SUBMOD_OK) {
            return status;
        }
        fill_row(fine, row);
        row += fine->averaging.classes;
    }
    status = submod_confusion_merge(fine->dataset, fine->batch);
    fine->images += status ? 0 : truth->batch;
    return status;
}

submod_status submod_fine_grained_add(submod_fine_grained *fine, const submod_labels *prediction,
                                      const submod_labels *truth)
{
    return submodi_return("submod_fine_grained_add", fine_grained_add(fine, prediction, truth));
}

submod_status submod_fine_grained_merge(submod_fine_grained *fine, const submod_fine_grained *other)
{
    submod_status status = submodi_check_given("fine", fine);
    status = status ? status : submodi_check_given("other", other);
    if (status == SUBMOD_OK && fine->averaging.classes != other->averaging.classes) {
        return submodi_return("submod_fine_grained_merge",
                              submodi_fail(SUBMOD_EINVAL, "fine has %zu classes, but other has %zu",
                                           fine->averaging.classes, other->averaging.classes));
    }
    size_t images = status ? 0 : other->images;
    status = status ? status : reserve(fine, images);
    status = status ? status : submod_confusion_merge(fine->dataset, other->dataset);
    if (status == SUBMOD_OK && images) {
        size_t C = fine->averaging.classes;
        memcpy(fine->iou + fine->images * C, other->iou, images * C * sizeof *fine->iou);
        fine->images += images;
    }
    return submodi_return("submod_fine_grained_merge", status);
}

/* The table is as long as there are images. */
size_t submodi_fine_grained_spans(const submod_fine_grained *fine, submodi_span *spans)
{
    spans[0] = submodi_confusion_span(fine->dataset);
    spans[1] = (submodi_span){fine->iou, fine->images * fine->averaging.classes};
    return 2;
}

submod_status submod_fine_grained_words(const submod_fine_grained *fine, uint64_t *words,
                                        size_t *count)
{
    submod_status status = submodi_check_given("fine", fine);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_fine_grained_words", status);
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_fine_grained_spans(fine, spans);
    return submodi_return("submod_fine_grained_words", submodi_state_save(spans, n, words, count));
}

/* Whether these words are IoUs, or NaN for what is left out. */
static bool are_ious(const uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double iou;
        memcpy(&iou, words + i, sizeof iou);
        if (iou < 0 || iou > 1) {
            return false;
        }
    }
    return true;
}

static submod_status fine_grained_set_words(submod_fine_grained *fine, const uint64_t *words,
                                            size_t count)
{
    submod_status status = submodi_check_given("fine", fine);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t cells = submodi_confusion_cells(fine->dataset);
    size_t images = count < cells ? 0 : (count - cells) / fine->averaging.classes;
    bool whole = count == cells + images * fine->averaging.classes;
    if (words && whole && !are_ious(words + cells, count - cells)) {
        return submodi_fail(SUBMOD_EINVAL, "words are not IoUs of images");
    }
    status = reserve(fine, images); /* more than is needed, if there are some already */
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_fine_grained_spans(fine, spans);
    spans[1].words = images * fine->averaging.classes;
    status = submodi_state_load(fine->dataset, fine->batch, spans, n, 0, words, count);
    fine->images = status ? fine->images : images;
    return status;
}

submod_status submod_fine_grained_set_words(submod_fine_grained *fine, const uint64_t *words,
                                            size_t count)
{
    return submodi_return("submod_fine_grained_set_words",
                          fine_grained_set_words(fine, words, count));
}

/* ---- means ---- */

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The mean of the lowest q % of n sorted values, at least of one. */
static double worst_of(const double *sorted, size_t n, double percent)
{
    if (n == 0) {
        return NAN;
    }
    size_t part = (size_t)(percent * (double)n / 100); /* at most n */
    size_t count = part ? part : 1;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += sorted[i];
    }
    return sum / (double)count;
}

/* The mean over images, one per row, of the mean of each; left out are dropped, the rest sorted. */
static size_t image_means(const submod_fine_grained *f, double *means)
{
    size_t C = f->averaging.classes;
    size_t n = 0;
    for (size_t i = 0; i < f->images; i++) {
        submodi_mean m = {0, 0};
        for (size_t c = 0; c < C; c++) {
            submodi_mean_add(&m, f->iou[i * C + c]);
        }
        if (m.count) {
            means[n++] = submodi_mean_value(&m);
        }
    }
    qsort(means, n, sizeof *means, ascending);
    return n;
}

/* The values of class c over all images, sorted, without those left out. */
static size_t class_values(const submod_fine_grained *f, size_t c, double *values)
{
    size_t C = f->averaging.classes;
    size_t n = 0;
    for (size_t i = 0; i < f->images; i++) {
        double iou = f->iou[i * C + c];
        if (!isnan(iou)) {
            values[n++] = iou;
        }
    }
    qsort(values, n, sizeof *values, ascending);
    return n;
}

/* Of images and of classes: the mean of the worst, for each of several percentages. */
enum { MOST_LEVELS = 10 };

typedef struct levels {
    size_t count;
    double percent[MOST_LEVELS];
    double image[MOST_LEVELS];
    submodi_mean of_class[MOST_LEVELS];
    size_t images;
} levels;

static submod_status find_levels(const submod_fine_grained *f, levels *l)
{
    double *values = submodi_alloc(f->images, sizeof *values);
    if (!values) {
        return submodi_out_of_memory();
    }
    l->images = image_means(f, values);
    for (size_t k = 0; k < l->count; k++) {
        l->image[k] = worst_of(values, l->images, l->percent[k]);
    }
    for (size_t c = 0; c < f->averaging.classes; c++) {
        size_t n = class_values(f, c, values);
        for (size_t k = 0; k < l->count; k++) {
            submodi_mean_add(&l->of_class[k], worst_of(values, n, l->percent[k]));
        }
    }
    submodi_free(values);
    return SUBMOD_OK;
}

submod_status submod_fine_grained_get(const submod_fine_grained *fine,
                                      submod_fine_grained_values *values)
{
    levels l = {.count = MOST_LEVELS};
    submod_status status = submodi_check_given("fine", fine);
    status = status ? status : submodi_check_given("values", values);
    for (size_t k = 0; k < l.count; k++) {
        l.percent[k] = 10 * (double)(k + 1);
    }
    status = status ? status : find_levels(fine, &l);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_fine_grained_get", status);
    }
    submodi_mean image = {0, 0};
    submodi_mean of_class = {0, 0};
    for (size_t k = 0; k < l.count; k++) {
        submodi_mean_add(&image, l.image[k]);
        submodi_mean_add(&of_class, submodi_mean_value(&l.of_class[k]));
    }
    submodi_averaging a = fine->averaging; /* the sums it points to are scratch */
    const submodi_mean *whole = &l.of_class[MOST_LEVELS - 1];
    *values = (submod_fine_grained_values){.dataset = l.images ? submodi_mean_iou(&a, fine->dataset)
                                                               : (double)NAN,
                                           .image = l.image[MOST_LEVELS - 1],
                                           .of_class = submodi_mean_value(whole),
                                           .image_mean = submodi_mean_value(&image),
                                           .class_mean = submodi_mean_value(&of_class),
                                           .images = l.images,
                                           .classes = (size_t)whole->count};
    return SUBMOD_OK;
}

submod_status submod_fine_grained_worst(const submod_fine_grained *fine, double percent,
                                        double *image, double *of_class)
{
    levels l = {.count = 1, .percent = {percent}};
    submod_status status = submodi_check_given("fine", fine);
    if (status == SUBMOD_OK && !(percent > 0 && percent <= 100)) {
        return submodi_return(
            "submod_fine_grained_worst",
            submodi_fail(SUBMOD_EINVAL, "percent = %g must be in (0, 100]", percent));
    }
    status = status ? status : find_levels(fine, &l);
    if (status == SUBMOD_OK && image) {
        *image = l.image[0];
    }
    if (status == SUBMOD_OK && of_class) {
        *of_class = submodi_mean_value(&l.of_class[0]);
    }
    return submodi_return("submod_fine_grained_worst", status);
}
