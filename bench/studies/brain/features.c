/* The features of a voxel: its surroundings at several scales, and its place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "brain/slices.h"

enum { MARGIN = 12 }; /* voxels shown around the structures */
enum { REACH = 16 };  /* voxels that the widest filter needs around those */

typedef struct box {
    size_t low[3], high[3]; /* high is one past the end */
} box;

static size_t index_of(const volume *v, size_t x, size_t y, size_t z)
{
    return (z * v->n[1] + y) * v->n[0] + x;
}

static uint8_t class_of(const brain_classes *classes, float value)
{
    for (size_t k = 1; k < classes->count; k++) {
        if (lroundf(value) == classes->id[k]) {
            return (uint8_t)k;
        }
    }
    return 0;
}

/* The box of all structures; high = 0 when there is none. */
static box find_structures(const volume *labels, const brain_classes *classes)
{
    box b = {{SIZE_MAX, SIZE_MAX, SIZE_MAX}, {0, 0, 0}};
    size_t at[3];
    for (at[2] = 0; at[2] < labels->n[2]; at[2]++) {
        for (at[1] = 0; at[1] < labels->n[1]; at[1]++) {
            for (at[0] = 0; at[0] < labels->n[0]; at[0]++) {
                if (class_of(classes, labels->voxel[index_of(labels, at[0], at[1], at[2])])) {
                    for (int a = 0; a < 3; a++) {
                        b.low[a] = at[a] < b.low[a] ? at[a] : b.low[a];
                        b.high[a] = at[a] + 1 > b.high[a] ? at[a] + 1 : b.high[a];
                    }
                }
            }
        }
    }
    return b;
}

static box widen(box b, size_t in_plane, size_t across, const size_t *n)
{
    for (int a = 0; a < 3; a++) {
        size_t by = a < 2 ? in_plane : across;
        b.low[a] = b.low[a] > by ? b.low[a] - by : 0;
        b.high[a] = b.high[a] + by < n[a] ? b.high[a] + by : n[a];
    }
    return b;
}

static bool cut_out(const volume *v, const box *b, volume *part)
{
    *part = (volume){.n = {b->high[0] - b->low[0], b->high[1] - b->low[1], b->high[2] - b->low[2]}};
    part->voxel = malloc(part->n[0] * part->n[1] * part->n[2] * sizeof *part->voxel);
    if (!part->voxel) {
        return study_fail("out of memory");
    }
    for (size_t z = 0; z < part->n[2]; z++) {
        for (size_t y = 0; y < part->n[1]; y++) {
            memcpy(&part->voxel[index_of(part, 0, y, z)],
                   &v->voxel[index_of(v, b->low[0], y + b->low[1], z + b->low[2])],
                   part->n[0] * sizeof *part->voxel);
        }
    }
    return true;
}

/* ---- filters ---- */

/* Blurs a line of voxels with a normal density of deviation sigma; beyond an end, its voxel
 * repeats. */
static void blur_line(const float *in, size_t count, double sigma, float *out)
{
    enum { WIDEST = 3 * 4 };
    int reach = (int)ceil(3 * sigma);
    reach = reach < WIDEST ? reach : WIDEST;
    double kernel[WIDEST + 1] = {0}, sum = 0;
    for (int k = 0; k <= reach; k++) {
        kernel[k] = exp(-0.5 * k * k / (sigma * sigma));
        sum += k ? 2 * kernel[k] : kernel[k];
    }
    for (size_t i = 0; i < count; i++) {
        double value = kernel[0] * (double)in[i];
        for (int k = 1; k <= reach; k++) {
            size_t left = i >= (size_t)k ? i - (size_t)k : 0;
            size_t right = i + (size_t)k < count ? i + (size_t)k : count - 1;
            value += kernel[k] * ((double)in[left] + (double)in[right]);
        }
        out[i] = (float)(value / sum);
    }
}

/* Blurs the lines along one axis; the other axes are p and q. line: room for two lines. */
static void blur_axis(volume *v, int a, int p, int q, double sigma, float *line)
{
    const size_t step[3] = {1, v->n[0], v->n[0] * v->n[1]};
    size_t count = v->n[a];
    for (size_t j = 0; j < v->n[p]; j++) {
        for (size_t k = 0; k < v->n[q]; k++) {
            float *first = v->voxel + j * step[p] + k * step[q];
            for (size_t i = 0; i < count; i++) {
                line[i] = first[i * step[a]];
            }
            blur_line(line, count, sigma, line + count);
            for (size_t i = 0; i < count; i++) {
                first[i * step[a]] = line[count + i];
            }
        }
    }
}

static double near(const volume *v, size_t x, size_t y, size_t z, int axis, int by)
{
    size_t at[3] = {x, y, z};
    size_t last = v->n[axis] - 1;
    size_t distance = (size_t)abs(by);
    if (by < 0) {
        at[axis] = at[axis] > distance ? at[axis] - distance : 0;
    } else {
        at[axis] = at[axis] + distance < last ? at[axis] + distance : last;
    }
    return (double)v->voxel[index_of(v, at[0], at[1], at[2])];
}

static double slope(const volume *v, size_t x, size_t y, size_t z)
{
    double squares = 0;
    for (int a = 0; a < 3; a++) {
        double d = near(v, x, y, z, a, 1) - near(v, x, y, z, a, -1);
        squares += d * d;
    }
    return sqrt(squares);
}

/* ---- features ---- */
static const double sigmas[BRAIN_SCALES] = {0, 1, 2, 4};

/* at: place in the part that the filters were applied to; place: in the box, each in [-1, 1]. */
static void voxel_features(const volume *scale, const size_t *at, const double *place, float *x,
                           size_t stride)
{
    size_t k = 0;
    double f[BRAIN_FEATURES];
    for (int s = 0; s < BRAIN_SCALES; s++) {
        f[k++] = (double)scale[s].voxel[index_of(&scale[s], at[0], at[1], at[2])];
    }
    for (int s = 1; s < BRAIN_SCALES; s++) {
        f[k++] = slope(&scale[s], at[0], at[1], at[2]);
    }
    for (int a = 0; a < 3; a++) { /* neighbours, near and further */
        for (int side = -1; side <= 1; side += 2) {
            f[k++] = near(&scale[1], at[0], at[1], at[2], a, 3 * side);
            f[k++] = near(&scale[2], at[0], at[1], at[2], a, 7 * side);
        }
    }
    for (int a = 0; a < 3; a++) { /* the place, up to its squares */
        f[k++] = place[a];
        for (int b = a; b < 3; b++) {
            f[k++] = place[a] * place[b];
        }
    }
    f[k++] = fabs(place[0]); /* left and right are alike */
    for (size_t d = 0; d < k; d++) {
        x[d * stride] = (float)f[d];
    }
}

static void standardise(brain_slices *s)
{
    for (size_t d = 0; d < BRAIN_FEATURES; d++) {
        double sum = 0, squares = 0;
        double count = (double)s->slices * (double)s->pixels;
        for (size_t z = 0; z < s->slices; z++) {
            const float *x = s->x + (z * BRAIN_FEATURES + d) * s->pixels;
            for (size_t i = 0; i < s->pixels; i++) {
                sum += (double)x[i];
                squares += (double)x[i] * (double)x[i];
            }
        }
        double mean = sum / count;
        double variance = squares / count - mean * mean;
        double factor = variance > 0 ? 1 / sqrt(variance) : 0;
        for (size_t z = 0; z < s->slices; z++) {
            float *x = s->x + (z * BRAIN_FEATURES + d) * s->pixels;
            for (size_t i = 0; i < s->pixels; i++) {
                x[i] = (float)(((double)x[i] - mean) * factor);
            }
        }
    }
}

/* scale: the surroundings, blurred; offset: where the box of the slices lies in them. */
static void fill(const volume *scale, const box *b, const size_t *offset, const volume *labels,
                 const brain_classes *classes, brain_slices *s)
{
    float most = 1e-20F;
    for (size_t i = 0; i < s->slices * s->pixels; i++) {
        size_t in[3] = {i % s->width, i / s->width % s->height, i / s->pixels};
        size_t at[3], whole[3];
        double place[3];
        for (int a = 0; a < 3; a++) {
            at[a] = in[a] + offset[a];
            whole[a] = in[a] + b->low[a];
            place[a] = 2 * ((double)in[a] + 0.5) / (double)(b->high[a] - b->low[a]) - 1;
        }
        voxel_features(scale, at, place, s->x + in[2] * BRAIN_FEATURES * s->pixels + i % s->pixels,
                       s->pixels);
        s->shown[i] = scale[0].voxel[index_of(&scale[0], at[0], at[1], at[2])];
        s->label[i] =
            class_of(classes, labels->voxel[index_of(labels, whole[0], whole[1], whole[2])]);
        most = s->shown[i] > most ? s->shown[i] : most;
    }
    for (size_t i = 0; i < s->slices * s->pixels; i++) {
        s->shown[i] = s->shown[i] > 0 ? s->shown[i] / most : 0;
    }
}

static bool blur_all(const volume *image, const box *wide, volume *scale)
{
    size_t longest = 0;
    for (int a = 0; a < 3; a++) {
        longest = image->n[a] > longest ? image->n[a] : longest;
    }
    float *line = calloc(2 * longest + 1, sizeof *line);
    bool good = study_got(line);
    for (int s = 0; s < BRAIN_SCALES && good; s++) {
        good = cut_out(image, wide, &scale[s]);
        if (good && s > 0) {
            blur_axis(&scale[s], 0, 1, 2, sigmas[s], line);
            blur_axis(&scale[s], 1, 0, 2, sigmas[s], line);
            blur_axis(&scale[s], 2, 0, 1, sigmas[s], line);
        }
    }
    free(line);
    return good;
}

bool brain_slices_make(const volume *image, const volume *labels, const brain_classes *classes,
                       brain_slices *slices)
{
    *slices = (brain_slices){0};
    if (memcmp(image->n, labels->n, sizeof image->n) != 0) {
        return study_fail("the image has %zu x %zu x %zu voxels, its labels %zu x %zu x %zu",
                          image->n[0], image->n[1], image->n[2], labels->n[0], labels->n[1],
                          labels->n[2]);
    }
    box found = find_structures(labels, classes);
    if (found.high[0] == 0) {
        return study_fail("none of the labels asked for is in the label map");
    }
    box b = widen(found, MARGIN, 0, image->n);
    box wide = widen(b, REACH, REACH, image->n);
    const size_t offset[3] = {b.low[0] - wide.low[0], b.low[1] - wide.low[1],
                              b.low[2] - wide.low[2]};
    slices->width = b.high[0] - b.low[0];
    slices->height = b.high[1] - b.low[1];
    slices->pixels = slices->width * slices->height;
    slices->slices = b.high[2] - b.low[2];
    size_t voxels = slices->slices * slices->pixels;
    slices->x = malloc(voxels * BRAIN_FEATURES * sizeof *slices->x);
    slices->shown = malloc(voxels * sizeof *slices->shown);
    slices->label = malloc(voxels);
    volume scale[BRAIN_SCALES] = {{{0}, NULL}};
    bool good = study_got(slices->x && slices->shown && slices->label);
    if (good && (good = blur_all(image, &wide, scale))) {
        fill(scale, &b, offset, labels, classes, slices);
        standardise(slices);
    }
    for (int s = 0; s < BRAIN_SCALES; s++) {
        volume_free(&scale[s]);
    }
    if (!good) {
        brain_slices_free(slices);
    }
    return good;
}

void brain_slices_free(brain_slices *slices)
{
    free(slices->x);
    free(slices->shown);
    free(slices->label);
    *slices = (brain_slices){0};
}
