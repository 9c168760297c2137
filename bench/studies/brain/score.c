/* Jaccard and Dice indices of chosen slices, and their means over structures. */
#include <math.h>
#include <string.h>

#include "brain/results.h"

bool brain_is_column(const brain_classes *classes, size_t c)
{
    for (size_t k = 1; k < c; k++) {
        if (strcmp(classes->name[k], classes->name[c]) == 0) {
            return false;
        }
    }
    return c > 0;
}

bool brain_is_tested(const brain_results *r, size_t slice)
{
    bool tested = false;
    for (size_t fold = 0; fold < r->folds; fold++) {
        tested = tested || brain_part_of(slice, fold) == BRAIN_TEST;
    }
    return tested;
}

static void mark_shown(const brain_results *r, const bool *chosen, bool *shown)
{
    memset(shown, 0, BRAIN_MOST_CLASSES * sizeof *shown);
    for (size_t i = 0; i < r->slices.slices * r->slices.pixels; i++) {
        shown[r->slices.label[i]] |= chosen[i / r->slices.pixels];
    }
}

bool brain_score(const brain_results *r, const uint8_t *prediction, const bool *chosen,
                 brain_index of)
{
    submod_confusion *confusion = NULL;
    submod_metric_settings settings = submod_metric_defaults();
    submod_status status = submod_confusion_create(r->classes.count, &confusion, &settings);
    for (size_t z = 0; z < r->slices.slices && status == SUBMOD_OK; z++) {
        if (chosen[z]) {
            size_t first = z * r->slices.pixels;
            submod_labels predicted = submod_labels_u8(prediction + first, 1, r->slices.pixels);
            submod_labels truth = submod_labels_u8(r->slices.label + first, 1, r->slices.pixels);
            status = submod_confusion_add(confusion, &predicted, &truth);
        }
    }
    if (status == SUBMOD_OK) {
        status = submod_confusion_metrics(confusion, of[BRAIN_JACCARD], of[BRAIN_DICE], NULL, NULL,
                                          &settings);
    }
    submod_confusion_free(confusion);
    bool shown[BRAIN_MOST_CLASSES];
    mark_shown(r, chosen, shown);
    for (size_t c = 0; c < r->classes.count && status == SUBMOD_OK; c++) {
        for (size_t k = 0; k < BRAIN_INDICES; k++) {
            of[k][c] = shown[c] ? 100 * of[k][c] : NAN;
        }
    }
    return status == SUBMOD_OK ? true : study_fail("%s", submod_last_error());
}

static double mean_of_name(const brain_classes *classes, const double *of_class, size_t c)
{
    double sum = 0;
    size_t count = 0;
    for (size_t k = 1; k < classes->count; k++) {
        if (strcmp(classes->name[k], classes->name[c]) == 0 && !isnan(of_class[k])) {
            sum += of_class[k];
            count++;
        }
    }
    return count > 0 ? sum / (double)count : NAN;
}

double brain_mean(const brain_classes *classes, const double *of_class, size_t c)
{
    if (c > 0) {
        return mean_of_name(classes, of_class, c);
    }
    double sum = 0;
    size_t count = 0;
    for (size_t k = 1; k < classes->count; k++) {
        double one = mean_of_name(classes, of_class, k);
        if (brain_is_column(classes, k) && !isnan(one)) {
            sum += one;
            count++;
        }
    }
    return count > 0 ? sum / (double)count : NAN;
}
