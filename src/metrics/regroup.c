/* Counts of groups of classes from the counts of classes, as the categories of Cityscapes are:
 * coarse[g][h] = the sum of counts[t][p] over t of group g and p of group h. O(C^2).
 */
#include "base/internal.h"
#include "metrics/confusion.h"

static submod_status require_group(const char *name, const int32_t *group, size_t classes,
                                   size_t groups, int32_t lowest)
{
    for (size_t c = 0; c < classes; c++) {
        if (group[c] < lowest || (group[c] >= 0 && (size_t)group[c] >= groups)) {
            return submodi_fail(SUBMOD_EINVAL, "%s[%zu] = %d is not in [%d, %zu)", name, c,
                                (int)group[c], (int)lowest, groups);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_require_regrouping(size_t classes, const int32_t *truth_group,
                                         const int32_t *prediction_group, size_t groups)
{
    submod_status status = submodi_check_given("truth_group", truth_group);
    status = status ? status : require_group("truth_group", truth_group, classes, groups, -1);
    const int32_t *predicted = prediction_group ? prediction_group : truth_group;
    return status ? status : require_group("prediction_group", predicted, classes, groups, 0);
}

submod_status submod_confusion_regroup(const submod_confusion *confusion,
                                       const int32_t *truth_group, const int32_t *prediction_group,
                                       size_t groups, submod_confusion **coarse)
{
    submod_confusion *made = NULL;
    submod_status status = submodi_check_given("confusion", confusion);
    status = status ? status : submodi_check_given("coarse", coarse);
    size_t C = status ? 0 : (size_t)confusion->rule.classes;
    status = status ? status : submodi_require_regrouping(C, truth_group, prediction_group, groups);
    status = status ? status : submodi_confusion_new(groups, &made, NULL);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_confusion_regroup", status);
    }
    const int32_t *predicted = prediction_group ? prediction_group : truth_group;
    for (size_t t = 0; t < C; t++) {
        for (size_t p = 0; truth_group[t] >= 0 && p < C; p++) {
            int64_t count = confusion->counts[t * C + p];
            made->counts[(size_t)truth_group[t] * groups + (size_t)predicted[p]] += count;
            made->total += count;
        }
    }
    *coarse = made;
    return SUBMOD_OK;
}
