/* Classes, names and ids of Pascal VOC and Cityscapes. */
#ifndef MIOU_DATASETS_H
#define MIOU_DATASETS_H

enum { VOC_CLASSES = 21, CITYSCAPES_CLASSES = 19, CITYSCAPES_IDS = 34, VOID_LABEL = 255 };

extern const char *const voc_names[VOC_CLASSES];
extern const char *const cityscapes_names[CITYSCAPES_CLASSES];

/* The train id of each Cityscapes label id; VOID_LABEL for ids that are not evaluated. */
extern const unsigned char cityscapes_train_id[CITYSCAPES_IDS];

#endif
