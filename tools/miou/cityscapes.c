/* The iIoU of classes and categories from counts of label ids, as Cityscapes' own script computes
 * it. Labels that are not evaluated are left out as truth and are misses as predictions; but a
 * predicted caravan or trailer is a vehicle in the iIoU of categories, as in the script. */
#include "cityscapes.h"

#include <stdbool.h>

#include "datasets.h"

/* The groups of label ids: train ids or categories. */
typedef struct id_groups {
    int32_t truth[CITYSCAPES_IDS], prediction[CITYSCAPES_IDS];
} id_groups;

static id_groups by_class(void)
{
    id_groups g;
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        int32_t train_id = cityscapes_labels[id].train_id;
        g.truth[id] = train_id == VOID_LABEL ? -1 : train_id;
        g.prediction[id] = train_id == VOID_LABEL ? CITYSCAPES_CLASSES : train_id;
    }
    return g;
}

/* Predictions belong to their category, evaluated or not. */
static id_groups by_category(void)
{
    id_groups g;
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        bool evaluated = cityscapes_labels[id].train_id != VOID_LABEL;
        int32_t category = cityscapes_labels[id].category;
        g.truth[id] = evaluated ? category : -1;
        g.prediction[id] = category;
    }
    return g;
}

submod_status cityscapes_instances(const submod_instances *instances, double *classes, double *mean,
                                   double *categories, double *category_mean)
{
    id_groups of_class = by_class();
    id_groups of_category = by_category();
    double size[CITYSCAPES_IDS];
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        size[id] = cityscapes_labels[id].size;
    }
    submod_status status =
        submod_instances_iou(instances, size, of_class.truth, of_class.prediction,
                             CITYSCAPES_CLASSES + 1, classes, mean);
    return status ? status
                  : submod_instances_iou(instances, size, of_category.truth, of_category.prediction,
                                         CITYSCAPES_CATEGORIES + 1, categories, category_mean);
}
