/* Calibration errors: is a confidence of 80 % right in 80 % of the cases? (Guo et al. 2017; of each
 * class: Kull et al. 2019.)
 *
 * Confidences in [0, 1] are counted in bins of equal width, with how many of them were right and
 * with their sum, as a whole number of 2^-64. Row 0 is that of the predicted class, row 1 + c that
 * of class c. p = 1 has a bin of its own, which the errors put into the last one unless told
 * otherwise. (C + 1) (bins + 1) counters; calibration_add.c fills them.
 */
#include "submod/metrics/calibration.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"
#include "submod/metrics/confusion.h"
#include "submod/metrics/state.h"

enum { MOST_BINS = 65536 };

/* ---- create and free ---- */

submod_status submod_calibration_create(size_t classes, size_t bins, int from_logits,
                                        submod_calibration **calibration,
                                        const submod_metric_settings *settings)
{
    static const char who[] = "submod_calibration_create";
    submod_status status = submodi_require_given(who, "calibration", calibration);
    submod_metric_settings s = submod_metric_defaults();
    if (status == SUBMOD_OK && (classes == 0 || classes > SUBMODI_CLASSES_MAX)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: classes = %zu is not in [1, %zu]", who, classes,
                            SUBMODI_CLASSES_MAX);
    }
    if (status == SUBMOD_OK && (bins == 0 || bins > MOST_BINS)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: bins = %zu is not in [1, %d]", who, bins,
                            (int)MOST_BINS);
    }
    status = status ? status : submodi_read_settings(who, "submod_metric_defaults", settings, &s);
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_calibration *made = submodi_alloc(1, sizeof *made);
    submodi_bin *rows = submodi_alloc(submodi_times(classes + 1, bins + 1), sizeof *rows);
    if (!made || !rows) {
        submodi_free(made);
        submodi_free(rows);
        return submodi_nomem(who);
    }
    *made = (submod_calibration){.rule = {(int32_t)classes, s.has_ignore != 0, s.ignore_index},
                                 .bins = bins,
                                 .from_logits = from_logits != 0,
                                 .rows = rows};
    submod_calibration_reset(made);
    *calibration = made;
    return SUBMOD_OK;
}

void submod_calibration_free(submod_calibration *calibration)
{
    if (calibration) {
        submodi_free(calibration->rows);
        submodi_free(calibration);
    }
}

void submod_calibration_reset(submod_calibration *calibration)
{
    if (calibration) {
        memset(calibration->rows, 0,
               submodi_calibration_cells(calibration) * sizeof *calibration->rows);
    }
}

/* ---- merge ---- */

submod_status submod_calibration_merge(submod_calibration *calibration,
                                       const submod_calibration *other)
{
    static const char who[] = "submod_calibration_merge";
    submod_status status = submodi_require_given(who, "calibration", calibration);
    status = status ? status : submodi_require_given(who, "other", other);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (calibration->rule.classes != other->rule.classes || calibration->bins != other->bins) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: calibration has %d classes and %zu bins, but other has %d and %zu",
                            who, (int)calibration->rule.classes, calibration->bins,
                            (int)other->rule.classes, other->bins);
    }
    if (submodi_calibration_total(other) > INT64_MAX - submodi_calibration_total(calibration)) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: the counts would exceed 2^63 - 1 pixels", who);
    }
    submodi_bins_add(calibration->rows, other->rows, submodi_calibration_cells(calibration));
    return SUBMOD_OK;
}

size_t submodi_calibration_spans(const submod_calibration *calibration, submodi_span *spans)
{
    size_t words = sizeof *calibration->rows / sizeof(uint64_t);
    spans[0] = (submodi_span){calibration->rows, submodi_calibration_cells(calibration) * words};
    return 1;
}

/* Whether all rows have the same number of pixels, and no bin more that were right than it has. */
static bool are_bins(const submod_calibration *s, const uint64_t *words)
{
    uint64_t first = 0;
    for (size_t row = 0; row <= submodi_calibration_classes(s); row++) {
        uint64_t sum = 0;
        for (size_t k = 0; k <= s->bins; k++, words += 4) {
            if (words[0] > INT64_MAX - sum || words[1] > words[0] || words[2] > words[0]) {
                return false;
            }
            sum += words[0];
        }
        first = row ? first : sum;
        if (sum != first) {
            return false;
        }
    }
    return true;
}

submod_status submod_calibration_words(const submod_calibration *calibration, uint64_t *words,
                                       size_t *count)
{
    static const char who[] = "submod_calibration_words";
    submod_status status = submodi_require_given(who, "calibration", calibration);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_calibration_spans(calibration, spans);
    return submodi_state_save(who, spans, n, words, count);
}

submod_status submod_calibration_set_words(submod_calibration *calibration, const uint64_t *words,
                                           size_t count)
{
    static const char who[] = "submod_calibration_set_words";
    submod_status status = submodi_require_given(who, "calibration", calibration);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_calibration_spans(calibration, spans);
    if (words && count == spans[0].words && !are_bins(calibration, words)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: words are not bins of confidences", who);
    }
    return submodi_state_load(who, NULL, NULL, spans, n, 0, words, count);
}

/* ---- errors ---- */

/* Of one row. */
typedef struct row_errors {
    double expected, maximum, root_mean_square;
    int64_t pixels;
} row_errors;

static double gap_of(const submodi_bin *b)
{
    return b->count
               ? fabs((double)b->right - submodi_fraction_value(b->confidence)) / (double)b->count
               : 0;
}

static row_errors errors_of(const submodi_bin *row, size_t bins, bool ones_apart)
{
    row_errors e = {0, 0, 0, 0};
    for (size_t k = 0; k <= bins; k++) {
        submodi_bin b = row[k];
        if (k == bins - 1 && !ones_apart) {
            submodi_bins_add(&b, &row[bins], 1);
        }
        if (k == bins && !ones_apart) {
            break;
        }
        double gap = gap_of(&b);
        e.expected += (double)b.count * gap;
        e.root_mean_square += (double)b.count * gap * gap;
        e.maximum = gap > e.maximum ? gap : e.maximum;
        e.pixels += b.count;
    }
    if (e.pixels == 0) {
        return (row_errors){NAN, NAN, NAN, 0};
    }
    e.expected /= (double)e.pixels;
    e.root_mean_square = sqrt(e.root_mean_square / (double)e.pixels);
    return e;
}

submod_status submod_calibration_errors(const submod_calibration *calibration, int ones_apart,
                                        double *class_error, submod_calibration_values *values,
                                        const submod_metric_settings *settings)
{
    static const char who[] = "submod_calibration_errors";
    submodi_averaging a;
    submod_status status = submodi_require_given(who, "calibration", calibration);
    status = status ? status
                    : submodi_averaging_init(who, &a, submodi_calibration_classes(calibration),
                                             settings);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t bins = calibration->bins;
    submodi_mean mean = {0, 0};
    for (size_t c = 0; c < a.classes; c++) {
        const submodi_bin *row = calibration->rows + (1 + c) * (bins + 1);
        double error = errors_of(row, bins, ones_apart != 0).expected;
        if (class_error) {
            class_error[c] = error;
        }
        if (a.chosen[c]) {
            submodi_mean_add(&mean, error);
        }
    }
    if (values) {
        row_errors top = errors_of(calibration->rows, bins, ones_apart != 0);
        *values = (submod_calibration_values){.expected = top.expected,
                                              .maximum = top.maximum,
                                              .root_mean_square = top.root_mean_square,
                                              .class_mean = submodi_mean_value(&mean),
                                              .pixels = top.pixels};
    }
    submodi_averaging_clear(&a);
    return SUBMOD_OK;
}

submod_status submod_calibration_bins(const submod_calibration *calibration, size_t row,
                                      int64_t *count, int64_t *right, double *confidence)
{
    static const char who[] = "submod_calibration_bins";
    submod_status status = submodi_require_given(who, "calibration", calibration);
    if (status == SUBMOD_OK && row > submodi_calibration_classes(calibration)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: row = %zu is not in [0, %zu]", who, row,
                            submodi_calibration_classes(calibration));
    }
    for (size_t k = 0; status == SUBMOD_OK && k <= calibration->bins; k++) {
        const submodi_bin *b = &calibration->rows[row * (calibration->bins + 1) + k];
        if (count) {
            count[k] = b->count;
        }
        if (right) {
            right[k] = b->right;
        }
        if (confidence) {
            confidence[k] = submodi_fraction_value(b->confidence);
        }
    }
    return status;
}
