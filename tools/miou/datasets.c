/* The class names of Pascal VOC and Cityscapes, and the train ids of Cityscapes' label ids. */
#include "datasets.h"

const char *const voc_names[VOC_CLASSES] = {
    "background", "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",
    "car",        "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",
    "motorbike",  "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};

const char *const cityscapes_names[CITYSCAPES_CLASSES] = {
    "road",         "sidewalk",   "building", "wall",       "fence",  "pole",  "traffic light",
    "traffic sign", "vegetation", "terrain",  "sky",        "person", "rider", "car",
    "truck",        "bus",        "train",    "motorcycle", "bicycle"};

const unsigned char cityscapes_train_id[CITYSCAPES_IDS] = {
    255, 255, 255, 255, 255, 255, 255, /* unlabeled .. ground */
    0,   1,                            /* road, sidewalk */
    255, 255,                          /* parking, rail track */
    2,   3,   4,                       /* building, wall, fence */
    255, 255, 255,                     /* guard rail, bridge, tunnel */
    5,                                 /* pole */
    255,                               /* polegroup */
    6,   7,   8,   9,   10,            /* traffic light, traffic sign, vegetation, terrain, sky */
    11,  12,  13,  14,  15,            /* person, rider, car, truck, bus */
    255, 255,                          /* caravan, trailer */
    16,  17,  18};                     /* train, motorcycle, bicycle */
