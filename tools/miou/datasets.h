/* Classes, names and ids of Pascal VOC and Cityscapes. */
#ifndef MIOU_DATASETS_H
#define MIOU_DATASETS_H

#include <stddef.h>

enum {
    VOC_CLASSES = 21,
    CITYSCAPES_CLASSES = 19,
    CITYSCAPES_CATEGORIES = 7,
    CITYSCAPES_IDS = 34,
    CITYSCAPES_FIRST_INSTANCE = 1001, /* lower ids in its instance maps are label ids */
    VOID_LABEL = 255
};

extern const char *const voc_names[VOC_CLASSES];
extern const char *const cityscapes_categories[CITYSCAPES_CATEGORIES];

/* A label id of Cityscapes. */
typedef struct cityscapes_label {
    const char *name;
    unsigned char train_id; /* VOID_LABEL: not evaluated */
    int category;           /* CITYSCAPES_CATEGORIES: void */
    double size;            /* of an instance, on average; 0 where there are none */
} cityscapes_label;

extern const cityscapes_label cityscapes_labels[CITYSCAPES_IDS];

/* The name of one of the CITYSCAPES_CLASSES. */
const char *cityscapes_name(size_t train_id);

#endif
