/* Reads NIfTI files with libnifti, where the build has found it. */
#include <stdlib.h>

#include "brain/volume.h"

void volume_free(volume *v)
{
    free(v->voxel);
    *v = (volume){0};
}

#ifdef SUBMOD_STUDY_NIFTI
#include <nifti2_io.h>

bool volume_can_read(void)
{
    return true;
}

static double value_at(const nifti_image *image, size_t i)
{
    switch (image->datatype) {
    case DT_UINT8: return ((const uint8_t *)image->data)[i];
    case DT_INT8: return ((const int8_t *)image->data)[i];
    case DT_UINT16: return ((const uint16_t *)image->data)[i];
    case DT_INT16: return ((const int16_t *)image->data)[i];
    case DT_UINT32: return ((const uint32_t *)image->data)[i];
    case DT_INT32: return ((const int32_t *)image->data)[i];
    case DT_FLOAT32: return (double)((const float *)image->data)[i];
    default: /* DT_FLOAT64: the others are refused before */
        return ((const double *)image->data)[i];
    }
}

static bool is_known(int datatype)
{
    return datatype == DT_UINT8 || datatype == DT_INT8 || datatype == DT_UINT16 ||
           datatype == DT_INT16 || datatype == DT_UINT32 || datatype == DT_INT32 ||
           datatype == DT_FLOAT32 || datatype == DT_FLOAT64;
}

/* More voxels, of all dimensions, than any volume has: libnifti would ask for that much memory. */
static bool is_too_large(const nifti_image *image)
{
    const int64_t size[] = {image->nx, image->ny, image->nz, image->nt,
                            image->nu, image->nv, image->nw};
    int64_t left = INT64_C(1) << 28;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        left /= size[i] > 1 ? size[i] : 1;
    }
    return left < 1;
}

/* From the head of the file alone. */
static bool check(const char *path, const nifti_image *image)
{
    if (image->nx < 1 || image->ny < 1 || image->nz < 1 || !is_known(image->datatype)) {
        return study_fail("%s: not a volume of real numbers", path);
    }
    return !is_too_large(image) ||
           study_fail("%s: too large: at most 2^28 voxels are supported", path);
}

static bool convert(const nifti_image *image, volume *v)
{
    *v = (volume){.n = {(size_t)image->nx, (size_t)image->ny, (size_t)image->nz}};
    size_t count = v->n[0] * v->n[1] * v->n[2];
    v->voxel = malloc(count * sizeof *v->voxel);
    if (!v->voxel) {
        return study_fail("out of memory");
    }
    bool scaled = image->scl_slope != 0; /* 0 means: as they are */
    for (size_t i = 0; i < count; i++) {
        double value = value_at(image, i);
        v->voxel[i] = (float)(scaled ? image->scl_slope * value + image->scl_inter : value);
    }
    return true;
}

bool volume_read(const char *path, volume *v)
{
    *v = (volume){0};
    nifti_set_debug_level(0); /* errors are reported below */
    nifti_image *image = nifti_image_read(path, 0);
    if (!image) {
        return study_fail("%s: not readable as NIfTI", path);
    }
    bool good = check(path, image) &&
                (nifti_image_load(image) == 0 || study_fail("%s: its voxels are missing", path)) &&
                convert(image, v);
    nifti_image_free(image);
    return good;
}

#else

bool volume_can_read(void)
{
    return false;
}

bool volume_read(const char *path, volume *v)
{
    *v = (volume){0};
    return study_fail("%s: this program was built without libnifti", path);
}
#endif
