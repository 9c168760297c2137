/* A T1 volume and its label map, cut into axial slices with features for each voxel (features.c);
 * which labels are looked for and where the files are (load.c).
 */
#ifndef SUBMOD_STUDY_BRAIN_SLICES_H
#define SUBMOD_STUDY_BRAIN_SLICES_H

#include "brain/volume.h"

enum { BRAIN_MOST_CLASSES = 64, BRAIN_NAME = 32 };

/* Class k = 1 .. count-1 is a value of the label map, class 0 is everything else. Classes of equal
 * names (left and right) share a column of the table. */
typedef struct brain_classes {
    size_t count;
    long id[BRAIN_MOST_CLASSES];
    char name[BRAIN_MOST_CLASSES][BRAIN_NAME];
} brain_classes;

/* AAL's numbers of thalamus, caudate, putamen and pallidum, left and right. */
extern const char brain_default_ids[];
/* From "77=thalamus,78=thalamus,71,.."; a number without a name is its own name. False after saying
 * what is wrong. */
bool brain_classes_parse(const char *text, brain_classes *classes);

/* Features come from the image blurred at several scales, and from the place of the voxel. */
enum { BRAIN_FEATURES = 29, BRAIN_SCALES = 4 };

typedef struct brain_slices {
    size_t width, height, pixels; /* of the part around the structures */
    size_t slices;                /* those with any structure, ascending */
    float *x;                     /* slices x features x pixels, each feature standardised */
    float *shown;                 /* slices x pixels: the image, in [0, 1] */
    uint8_t *label;               /* slices x pixels */
} brain_slices;

/* Image and labels must have the same size. False after saying why not. */
bool brain_slices_make(const volume *image, const volume *labels, const brain_classes *classes,
                       brain_slices *slices);
void brain_slices_free(brain_slices *slices);

/* Reads the files that the options name, else the volumes of Debian's mricron-data. False after
 * saying what went wrong; or, if there is nothing to read here, with *missing = how to get it.
 * Otherwise *missing = NULL. */
bool brain_load(const study_options *options, brain_classes *classes, brain_slices *slices,
                const char **missing);

#endif
