/* Boundary IoU (Cheng et al. 2021): the IoU of the pixels near contours.
 *
 * A pixel is inside when the square of 2 d + 1 pixels around it has its label alone and lies in the
 * image; all others are in the band of their class, the mask minus its d-fold erosion by 3 x 3. All
 * classes are done at once, by runs: a row has 2 d + 1 equal labels in a row, a column 2 d + 1 such
 * rows of the same label. O(pixels) whatever d.
 */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "metrics/boundary.h"
#include "metrics/confusion.h"
#include "metrics/state.h"
#include <submod/scoring.h>

enum { STRIP = 256 }; /* columns whose runs are followed at a time */

struct submod_boundary {
    submod_confusion *pixels, *batch;   /* batch: during a call only */
    int64_t *truth, *prediction, *both; /* pixels in bands, per class; one block */
};

/* ---- create and free ---- */

submod_status submod_boundary_create(size_t classes, submod_boundary **boundary,
                                     const submod_metric_settings *settings)
{
    submod_status status = submodi_check_given("boundary", boundary);
    submod_boundary *s = status ? NULL : submodi_alloc(1, sizeof *s);
    if (!s) {
        return submodi_return("submod_boundary_create", status ? status : submodi_out_of_memory());
    }
    *s = (submod_boundary){.truth = NULL};
    status = submodi_confusion_new(classes, &s->pixels, settings);
    status = status ? status : submodi_confusion_new(classes, &s->batch, settings);
    if (status == SUBMOD_OK) {
        s->truth = submodi_alloc(classes, 3 * sizeof *s->truth);
        status = s->truth ? SUBMOD_OK : submodi_out_of_memory();
    }
    if (status != SUBMOD_OK) {
        submod_boundary_free(s);
        return submodi_return("submod_boundary_create", status);
    }
    s->prediction = s->truth + classes;
    s->both = s->prediction + classes;
    submod_boundary_reset(s);
    *boundary = s;
    return SUBMOD_OK;
}

void submod_boundary_free(submod_boundary *boundary)
{
    if (boundary) {
        submod_confusion_free(boundary->pixels);
        submod_confusion_free(boundary->batch);
        submodi_free(boundary->truth);
        submodi_free(boundary);
    }
}

static size_t classes_of(const submod_boundary *s)
{
    return (size_t)s->pixels->rule.classes;
}

void submod_boundary_reset(submod_boundary *boundary)
{
    if (boundary) {
        submod_confusion_reset(boundary->pixels);
        memset(boundary->truth, 0, 3 * classes_of(boundary) * sizeof *boundary->truth);
    }
}

const submod_confusion *submod_boundary_confusion(const submod_boundary *boundary)
{
    return boundary ? boundary->pixels : NULL;
}

size_t submod_boundary_distance(size_t height, size_t width, double ratio)
{
    double h = (double)height;
    double w = (double)width;
    double d = rint(ratio * sqrt(h * h + w * w));
    return !(d < 0x1p53) ? SIZE_MAX : d < 1 ? 1 : (size_t)d;
}

/* ---- bands ---- */

/* inside[x] = 1 for the middle of each window of `window` equal labels in a row. */
static void row_windows(const int32_t *label, size_t width, size_t window, uint8_t *inside)
{
    size_t run = 0;
    memset(inside, 0, width);
    for (size_t x = 0; x < width; x++) {
        run = x && label[x] == label[x - 1] ? run + 1 : 1;
        if (run >= window) {
            inside[x - window / 2] = 1;
        }
    }
}

/* The same along the columns first .. first+n-1 of more than window / 2 rows, where rows have found
 * what is inside of them. The result for a row is written when nobody reads what was there any
 * more. */
static void column_windows(const int32_t *label, size_t height, size_t width, size_t first,
                           size_t n, size_t window, uint8_t *inside)
{
    size_t run[STRIP] = {0};
    size_t half = window / 2;
    for (size_t y = 0; y < height; y++) {
        for (size_t i = 0; i < n; i++) {
            size_t at = y * width + first + i;
            bool goes_on = y && label[at] == label[at - width];
            run[i] = inside[at] ? (goes_on ? run[i] : 0) + 1 : 0;
            if (y >= half) {
                inside[at - half * width] = run[i] >= window;
            }
        }
    }
    for (size_t y = height - half; y < height; y++) {
        memset(inside + y * width + first, 0, n);
    }
}

void submodi_find_inside(const int32_t *label, size_t height, size_t width, size_t distance,
                         uint8_t *inside)
{
    size_t shorter = height < width ? height : width;
    if (distance >= shorter) { /* the window would not fit */
        memset(inside, 0, height * width);
        return;
    }
    size_t window = 2 * distance + 1;
    size_t strips = (width + STRIP - 1) / STRIP;
#pragma omp parallel num_threads(submodi_threads_for(height *width))
    {
#pragma omp for
        for (size_t y = 0; y < height; y++) {
            row_windows(label + y * width, width, window, inside + y * width);
        }
#pragma omp for
        for (size_t k = 0; k < strips; k++) {
            size_t first = k * STRIP;
            size_t n = width - first < STRIP ? width - first : STRIP;
            column_windows(label, height, width, first, n, window, inside);
        }
    }
}

/* ---- counting ---- */

/* The two label maps of an image as codes, and what is inside of their contours. */
typedef struct maps {
    int32_t *truth, *prediction;
    uint8_t *truth_inside, *prediction_inside;
} maps;

/* All labels were found to be fine before. */
static void read_maps(const submod_boundary *s, const submod_labels *prediction,
                      const submod_labels *truth, size_t b, const maps *m)
{
    const submodi_label_rule *rule = &s->pixels->rule;
    const submodi_label_rule predicted = {.classes = rule->classes};
    submodi_labels_read(truth, b, 0, truth->pixels, rule, m->truth);
    submodi_labels_read(prediction, b, 0, truth->pixels, &predicted, m->prediction);
    for (size_t i = 0; i < truth->pixels; i++) {
        if (m->truth[i] >= rule->classes) { /* ignored: one label, whatever was predicted */
            m->prediction[i] = m->truth[i];
        }
    }
}

static void count_bands(submod_boundary *s, const maps *m, size_t pixels)
{
    int32_t C = s->pixels->rule.classes;
    for (size_t i = 0; i < pixels; i++) {
        int32_t t = m->truth[i];
        int32_t p = m->prediction[i];
        if (t >= C) {
            continue;
        }
        bool of_truth = !m->truth_inside[i];
        bool of_prediction = !m->prediction_inside[i];
        s->truth[t] += of_truth;
        s->prediction[p] += of_prediction;
        s->both[t] += of_truth && of_prediction && t == p;
    }
}

/* d = 0 has no band: even the pixel itself, a window of one, would be inside. */
static void add_images(submod_boundary *s, const submod_labels *prediction,
                       const submod_labels *truth, size_t height, size_t width, size_t distance,
                       const maps *m)
{
    for (size_t b = 0; b < truth->batch; b++) {
        read_maps(s, prediction, truth, b, m);
        submodi_find_inside(m->truth, height, width, distance, m->truth_inside);
        submodi_find_inside(m->prediction, height, width, distance, m->prediction_inside);
        count_bands(s, m, truth->pixels);
    }
}

static submod_status require_rows(const submod_labels *truth, size_t height, size_t width)
{
    return submodi_times(height, width) == truth->pixels
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL,
                              "height %zu times width %zu must be %zu, the pixels of an image",
                              height, width, truth->pixels);
}

submod_status submod_boundary_add(submod_boundary *boundary, const submod_labels *prediction,
                                  const submod_labels *truth, size_t height, size_t width,
                                  size_t distance)
{
    submod_status status = submodi_check_given("boundary", boundary);
    status = status ? status : submodi_require_pair(prediction, truth);
    status = status ? status : require_rows(truth, height, width);
    if (status != SUBMOD_OK || truth->batch == 0 || truth->pixels == 0) {
        return submodi_return("submod_boundary_add", status);
    }
    submod_confusion_reset(boundary->batch);
    status = submodi_confusion_count(boundary->batch, prediction, truth, 0, truth->batch);
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    size_t n = truth->pixels;
    const maps m = {.truth = submodi_work_alloc(w, n, sizeof *m.truth),
                    .prediction = submodi_work_alloc(w, n, sizeof *m.prediction),
                    .truth_inside = submodi_work_alloc(w, n, 1),
                    .prediction_inside = submodi_work_alloc(w, n, 1)};
    if (status == SUBMOD_OK &&
        !(m.truth && m.prediction && m.truth_inside && m.prediction_inside)) {
        status = submodi_out_of_memory();
    }
    status = status ? status : submod_confusion_merge(boundary->pixels, boundary->batch);
    if (status == SUBMOD_OK) {
        add_images(boundary, prediction, truth, height, width, distance, &m);
    }
    submodi_scope_close(&scope);
    return submodi_return("submod_boundary_add", status);
}

submod_status submod_boundary_merge(submod_boundary *boundary, const submod_boundary *other)
{
    submod_status status = submodi_check_given("boundary", boundary);
    status = status ? status : submodi_check_given("other", other);
    status = status ? status : submod_confusion_merge(boundary->pixels, other->pixels);
    for (size_t i = 0; status == SUBMOD_OK && i < 3 * classes_of(boundary); i++) {
        boundary->truth[i] += other->truth[i];
    }
    return submodi_return("submod_boundary_merge", status);
}

size_t submodi_boundary_spans(const submod_boundary *boundary, submodi_span *spans)
{
    spans[0] = submodi_confusion_span(boundary->pixels);
    spans[1] = (submodi_span){boundary->truth, 3 * classes_of(boundary)};
    return 2;
}

submod_status submod_boundary_words(const submod_boundary *boundary, uint64_t *words, size_t *count)
{
    submod_status status = submodi_check_given("boundary", boundary);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_boundary_words", status);
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_boundary_spans(boundary, spans);
    return submodi_return("submod_boundary_words", submodi_state_save(spans, n, words, count));
}

submod_status submod_boundary_set_words(submod_boundary *boundary, const uint64_t *words,
                                        size_t count)
{
    submod_status status = submodi_check_given("boundary", boundary);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_boundary_set_words", status);
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_boundary_spans(boundary, spans);
    return submodi_return("submod_boundary_set_words",
                          submodi_state_load(boundary->pixels, boundary->batch, spans, n,
                                             spans[1].words, words, count));
}

/* ---- IoU ---- */

submod_status submod_boundary_iou(const submod_boundary *boundary, double *iou, double *mean,
                                  const submod_metric_settings *settings)
{
    submodi_averaging a;
    submod_status status = submodi_check_given("boundary", boundary);
    status = status ? status : submodi_averaging_init(&a, classes_of(boundary), settings);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_boundary_iou", status);
    }
    submodi_mean m = {0, 0};
    for (size_t c = 0; c < a.classes; c++) {
        double value =
            submodi_iou(a.absent, boundary->truth[c], boundary->prediction[c], boundary->both[c]);
        if (iou) {
            iou[c] = value;
        }
        if (a.chosen[c]) {
            submodi_mean_add(&m, value);
        }
    }
    if (mean) {
        *mean = submodi_mean_value(&m);
    }
    submodi_averaging_clear(&a);
    return SUBMOD_OK;
}
