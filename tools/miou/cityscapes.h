/* iIoU as Cityscapes has it. */
#ifndef MIOU_CITYSCAPES_H
#define MIOU_CITYSCAPES_H

#include <submod/scoring.h>

/* From instances of label ids: the iIoU of each train id and one more, and of each category and one
 * more, and their means. */
submod_status cityscapes_instances(const submod_instances *instances, double *classes, double *mean,
                                   double *categories, double *category_mean);

#endif
