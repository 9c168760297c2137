/* The class names of Pascal VOC, and what the label ids of Cityscapes mean: names, train ids,
 * categories, and the average sizes of instances in its training images. */
#include "datasets.h"

const char *const voc_names[VOC_CLASSES] = {
    "background", "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",
    "car",        "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",
    "motorbike",  "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};

const char *const cityscapes_categories[CITYSCAPES_CATEGORIES] = {
    "flat", "construction", "object", "nature", "sky", "human", "vehicle"};

const cityscapes_label cityscapes_labels[CITYSCAPES_IDS] = {
    {"unlabeled", VOID_LABEL, CITYSCAPES_CATEGORIES, 0},
    {"ego vehicle", VOID_LABEL, CITYSCAPES_CATEGORIES, 0},
    {"rectification border", VOID_LABEL, CITYSCAPES_CATEGORIES, 0},
    {"out of roi", VOID_LABEL, CITYSCAPES_CATEGORIES, 0},
    {"static", VOID_LABEL, CITYSCAPES_CATEGORIES, 0},
    {"dynamic", VOID_LABEL, CITYSCAPES_CATEGORIES, 0},
    {"ground", VOID_LABEL, CITYSCAPES_CATEGORIES, 0},
    {"road", 0, 0, 0},
    {"sidewalk", 1, 0, 0},
    {"parking", VOID_LABEL, 0, 0},
    {"rail track", VOID_LABEL, 0, 0},
    {"building", 2, 1, 0},
    {"wall", 3, 1, 0},
    {"fence", 4, 1, 0},
    {"guard rail", VOID_LABEL, 1, 0},
    {"bridge", VOID_LABEL, 1, 0},
    {"tunnel", VOID_LABEL, 1, 0},
    {"pole", 5, 2, 0},
    {"polegroup", VOID_LABEL, 2, 0},
    {"traffic light", 6, 2, 0},
    {"traffic sign", 7, 2, 0},
    {"vegetation", 8, 3, 0},
    {"terrain", 9, 3, 0},
    {"sky", 10, 4, 0},
    {"person", 11, 5, 3462.4756337644},
    {"rider", 12, 5, 3930.4788056518},
    {"car", 13, 6, 12794.0202738185},
    {"truck", 14, 6, 27855.1264367816},
    {"bus", 15, 6, 35732.1511111111},
    {"caravan", VOID_LABEL, 6, 36771.8241758242},
    {"trailer", VOID_LABEL, 6, 16926.9763313609},
    {"train", 16, 6, 67583.7075812274},
    {"motorcycle", 17, 6, 6298.7200839748},
    {"bicycle", 18, 6, 4672.3249222261},
};

const char *cityscapes_name(size_t train_id)
{
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        if (cityscapes_labels[id].train_id == train_id) {
            return cityscapes_labels[id].name;
        }
    }
    return "void";
}
