/* Study 6: the supplement's brain segmentation in small. One T1 volume and its label map, cut into
 * axial slices; simple features of each voxel; a linear model or one hidden layer.
 */
#ifndef SUBMOD_STUDY_BRAIN_H
#define SUBMOD_STUDY_BRAIN_H

#include "common/net.h"
#include "common/study.h"

/* ---- volumes ---- */
typedef struct volume {
    size_t n[3];  /* x runs fastest */
    float *voxel; /* to be freed by volume_free */
} volume;

/* False where this program was built without libnifti: then nothing can be read. */
bool volume_can_read(void);
/* The first three dimensions of a NIfTI file, as numbers. False after saying why not. */
bool volume_read(const char *path, volume *v);
void volume_free(volume *v);

/* ---- classes ---- */
enum { BRAIN_MOST_CLASSES = 64, BRAIN_NAME = 32 };

/* Class k = 1 .. count-1 is a value of the label map, class 0 all the rest. Classes of equal names
 * (left and right) share a column of the table. */
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

/* ---- slices with features ---- */
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

/* ---- training ---- */
enum { BRAIN_FOLDS = 3, BRAIN_SLAB = 4 };

typedef enum brain_part { BRAIN_TRAIN, BRAIN_VALIDATE, BRAIN_TEST } brain_part;
/* Slabs of slices take turns in being tested. The slices next to a tested slab, whose features have
 * seen it, are not trained on but choose the step size. */
brain_part brain_part_of(size_t slice, size_t fold);

typedef enum brain_loss {
    BRAIN_CROSS_ENTROPY,
    BRAIN_LOVASZ,
    BRAIN_BOTH, /* the sum */
    BRAIN_LOSSES
} brain_loss;
extern const char *const brain_loss_names[BRAIN_LOSSES];

typedef struct brain_run {
    size_t hidden; /* 0: linear */
    brain_loss loss;
    double eta; /* at first; falls to a hundredth, as in the supplement */
    size_t fold, epochs;
    uint64_t seed;
} brain_run;

/* Trains on the fold and predicts its other slices: prediction (slices x pixels) is written there
 * and nowhere else. False after saying why. */
bool brain_train(const brain_slices *slices, size_t classes, const brain_run *run,
                 uint8_t *prediction);

#endif
