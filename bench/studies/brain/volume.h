/* Volumes of voxels, read from NIfTI files. */
#ifndef SUBMOD_STUDY_BRAIN_VOLUME_H
#define SUBMOD_STUDY_BRAIN_VOLUME_H

#include "common/study.h"

typedef struct volume {
    size_t n[3];  /* x runs fastest */
    float *voxel; /* to be freed by volume_free */
} volume;

/* False if this program was built without libnifti: then nothing can be read. */
bool volume_can_read(void);
/* Reads the first three dimensions of a NIfTI file. False after saying why not. */
bool volume_read(const char *path, volume *v);
void volume_free(volume *v);

#endif
