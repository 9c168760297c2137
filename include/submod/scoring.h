/* Scores that the counts of all pixels do not give: of instances, of boundaries and of the images
 * one by one. Each is a stream like submod_confusion: create, add batches, merge, read at any time,
 * save and load (file.h). words and set_words make whole numbers of what a stream has counted, and
 * a stream of those, for other processes: set them in a stream of its own, and merge that.
 *
 *   submod_instances      iIoU: each instance of a class counts the same (Cordts et al. 2016)
 *   submod_boundary       IoU of the pixels near contours (Cheng et al. 2021)
 *   submod_fine_grained   mIoU^D, mIoU^I, mIoU^C and their worst cases (Wang et al. 2023)
 *
 * Classes, ignored labels, the convention for absent classes and the letters T, P and I are those
 * of metric.h. All counts are whole numbers, and sums of fractions are kept in 128 bits: neither
 * the number of threads nor the order of batches and merges shows in any result.
 *
 * iIoU of class c, with n instances i of sizes size_i, of whose pixels hit_i were predicted as c,
 * FP the pixels of other classes that were predicted as c, and S the average size of its instances:
 *
 *   iIoU = S sum(hit_i / size_i) / (S n + FP)
 *
 * and of a group of classes, as Cityscapes has it for categories: a hit is a prediction of any
 * class of the group, and numerator and S n are sums over its classes.
 *
 *   an instance                     pixels of one image with the same truth and the same id, ids
 *                                   being those from first_id on; ids below: no instance, such
 *                                   pixels count in FP alone
 *   S_c = 0 for a class c           it has no instances: its group is left out (NaN)
 *   S n + FP = 0                    left out
 *   n = 0, FP > 0                   0
 *   Cityscapes' own script          label ids 0 .. 33 as classes, first_id 1001, its sizes for S,
 *                                   groups for void: see submod_instances_iou
 *
 * Boundary IoU of class c: the IoU of two bands, the pixels of c in the truth, and those predicted
 * as c, that are at most d pixels from a pixel of another label or from outside of the image, in
 * steps in the 8 directions.
 *
 *   d                               2 % of the diagonal, rounded (half to even), at least 1, in the
 *                                   authors' code: submod_boundary_distance
 *   ignored truth                   is not counted, and a label of its own in both maps: what was
 *                                   predicted there does not matter, and a perfect prediction has
 *                                   the boundary IoU 1
 *   one mask                        class 1 of 2: the authors' boundary_iou of two masks
 *   absent classes                  as for the IoU, T and P being pixels of bands
 *   d = 0                           empty bands
 *
 * Fine-grained mIoUs, with IoU[i][c] of class c in image i, left out as the convention says:
 *
 *   mIoU^D    mean over classes of the IoU of all images together: the dataset-mIoU
 *   mIoU^I    mean over images of the mean over classes of IoU[i][c]: the image-mIoU
 *   mIoU^C    mean over classes of the mean over images of IoU[i][c]
 *   worst q   the mean over the worst q % only: of the images (mIoU^Iq), or of the images of each
 *             class (mIoU^Cq). floor(q n / 100) of n values, at least 1
 *   mean Q    the mean of worst q over q = 10, 20 .. 100
 *
 *   Wang et al.                     SUBMOD_ABSENT_TRUTH; binary: class_list {1}, ONE for mIoU^I,
 *                                   SKIP for mIoU^C
 *   no image, or all left out       NaN
 */
#ifndef SUBMOD_SCORING_H
#define SUBMOD_SCORING_H

#include <submod/metric.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- instances ---- */

/* Counts for the iIoU. One thread at a time. */
typedef struct submod_instances submod_instances;

/* For labels 0 .. classes-1, instances having ids from first_id on; settings: has_ignore and
 * ignore_index. Fails as submod_confusion_create does; needs 32 classes^2 bytes. */
SUBMOD_API submod_status submod_instances_create(size_t classes, int64_t first_id,
                                                 submod_instances **instances,
                                                 const submod_metric_settings *settings);
/* Accepts NULL. */
SUBMOD_API void submod_instances_free(submod_instances *instances);
/* Counts a batch: three views of the same batch and pixels; ids of any values. Fails as
 * submod_confusion_add does, and then nothing is counted. O(pixels), and runs of equal pixels are
 * sorted: O(runs log runs). */
SUBMOD_API submod_status submod_instances_add(submod_instances *instances,
                                              const submod_labels *prediction,
                                              const submod_labels *truth, const submod_labels *ids);
/* Adds the counts of another one with as many classes. */
SUBMOD_API submod_status submod_instances_merge(submod_instances *instances,
                                                const submod_instances *other);
/* Back to no counts. Accepts NULL. */
SUBMOD_API void submod_instances_reset(submod_instances *instances);
/* What was counted as *count words; words = NULL: how many that are. SUBMOD_EINVAL: NULL. */
SUBMOD_API submod_status submod_instances_words(const submod_instances *instances, uint64_t *words,
                                                size_t *count);
/* Back to what these words say, of a stream that was created with the same numbers. SUBMOD_EINVAL:
 * NULL, words that cannot be from such a stream; it is then as it was. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_instances_set_words(submod_instances *instances,
                                                    const uint64_t *words, size_t count);
/* What was counted, and what that depends on, to a file, and a new one from it: file.h. *instances
 * is untouched when that fails. SUBMOD_EINVAL: NULL. SUBMOD_EFILE. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_instances_save(const submod_instances *instances, const char *path);
SUBMOD_API submod_status submod_instances_load(const char *path, submod_instances **instances);
/* The pixels that were counted, as in metric.h; borrowed. NULL for NULL. */
SUBMOD_API const submod_confusion *submod_instances_confusion(const submod_instances *instances);
/* Per class, each may be NULL: the instances seen, and their average size; 0 where there are none.
 * SUBMOD_EINVAL: NULL instances. */
SUBMOD_API submod_status submod_instances_sizes(const submod_instances *instances, int64_t *count,
                                                double *average_size);
/* The iIoU of each group, and their mean (each may be NULL). average_size: S of each class, finite
 * and >= 0; NULL: those of submod_instances_sizes, and classes that are not in the truth at all
 * take no part in their group. truth_group, prediction_group, groups: as for
 * submod_confusion_regroup; truth_group = NULL: each class is a group, `groups` is their number.
 * mean: over the groups that are not left out; NaN if all are.
 * SUBMOD_EINVAL: NULL instances, a size < 0, such a group; SUBMOD_ENONFINITE: NaN or Inf. */
SUBMOD_API submod_status submod_instances_iou(const submod_instances *instances,
                                              const double *average_size,
                                              const int32_t *truth_group,
                                              const int32_t *prediction_group, size_t groups,
                                              double *iou, double *mean);

/* ---- boundaries ---- */

/* d for images of this size: ratio times the diagonal, rounded, at least 1; SIZE_MAX when that is
 * too large or no number. The authors' ratio is 0.02. */
SUBMOD_API size_t submod_boundary_distance(size_t height, size_t width, double ratio);

/* Counts of the pixels in bands. One thread at a time; its own work is parallel. */
typedef struct submod_boundary submod_boundary;

/* For labels 0 .. classes-1; settings: has_ignore and ignore_index. Fails as
 * submod_confusion_create does. */
SUBMOD_API submod_status submod_boundary_create(size_t classes, submod_boundary **boundary,
                                                const submod_metric_settings *settings);
/* Accepts NULL. */
SUBMOD_API void submod_boundary_free(submod_boundary *boundary);
/* Counts a batch of images whose pixels are rows of `width`, `height` of them, with bands of d =
 * distance. O(pixels), whatever d. SUBMOD_EINVAL: height * width is not the number of pixels; else
 * as submod_confusion_add, and then nothing is counted. SUBMOD_ENOMEM: 10 bytes per pixel. */
SUBMOD_API submod_status submod_boundary_add(submod_boundary *boundary,
                                             const submod_labels *prediction,
                                             const submod_labels *truth, size_t height,
                                             size_t width, size_t distance);
/* Adds the counts of another one with as many classes. */
SUBMOD_API submod_status submod_boundary_merge(submod_boundary *boundary,
                                               const submod_boundary *other);
/* Back to no counts. Accepts NULL. */
SUBMOD_API void submod_boundary_reset(submod_boundary *boundary);
/* What was counted as *count words; words = NULL: how many that are. SUBMOD_EINVAL: NULL. */
SUBMOD_API submod_status submod_boundary_words(const submod_boundary *boundary, uint64_t *words,
                                               size_t *count);
/* Back to what these words say, of a stream that was created with the same numbers. SUBMOD_EINVAL:
 * NULL, words that cannot be from such a stream; it is then as it was. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_boundary_set_words(submod_boundary *boundary, const uint64_t *words,
                                                   size_t count);
/* What was counted, and what that depends on, to a file, and a new one from it: file.h. *boundary
 * is untouched when that fails. SUBMOD_EINVAL: NULL. SUBMOD_EFILE. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_boundary_save(const submod_boundary *boundary, const char *path);
SUBMOD_API submod_status submod_boundary_load(const char *path, submod_boundary **boundary);
/* All pixels that were counted, in bands or not, as in metric.h; borrowed. NULL for NULL. */
SUBMOD_API const submod_confusion *submod_boundary_confusion(const submod_boundary *boundary);
/* The boundary IoU of each class, and their mean (each may be NULL). settings: absent, class_list,
 * class_count, leave_out. Fails as submod_confusion_metrics does. */
SUBMOD_API submod_status submod_boundary_iou(const submod_boundary *boundary, double *iou,
                                             double *mean, const submod_metric_settings *settings);

/* ---- fine-grained mIoUs ---- */

/* The IoU of each class in each image. One thread at a time; its own work is parallel. */
typedef struct submod_fine_grained submod_fine_grained;

/* What submod_fine_grained_get reads. */
typedef struct submod_fine_grained_values {
    double dataset, image, of_class; /* mIoU^D, mIoU^I, mIoU^C */
    double image_mean, class_mean;   /* mean Q of mIoU^I and of mIoU^C */
    size_t images;                   /* in mIoU^I: not left out */
    size_t classes;                  /* in mIoU^C: not left out */
} submod_fine_grained_values;

/* For labels 0 .. classes-1. Fails as submod_miou_create does. Settings are copied, with the list
 * in them. */
SUBMOD_API submod_status submod_fine_grained_create(size_t classes, submod_fine_grained **fine,
                                                    const submod_metric_settings *settings);
/* Accepts NULL. */
SUBMOD_API void submod_fine_grained_free(submod_fine_grained *fine);
/* Counts a batch. Fails as submod_confusion_add does, and then nothing is counted; SUBMOD_ENOMEM:
 * an image takes 8 classes bytes for ever. */
SUBMOD_API submod_status submod_fine_grained_add(submod_fine_grained *fine,
                                                 const submod_labels *prediction,
                                                 const submod_labels *truth);
/* What other has seen was seen too. SUBMOD_EINVAL when the classes differ; that the other settings
 * agree is up to you. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_fine_grained_merge(submod_fine_grained *fine,
                                                   const submod_fine_grained *other);
/* Back to no images. Accepts NULL. */
SUBMOD_API void submod_fine_grained_reset(submod_fine_grained *fine);
/* What was counted as *count words; words = NULL: how many that are. SUBMOD_EINVAL: NULL. */
SUBMOD_API submod_status submod_fine_grained_words(const submod_fine_grained *fine, uint64_t *words,
                                                   size_t *count);
/* Back to what these words say, of a stream that was created with the same numbers. SUBMOD_EINVAL:
 * NULL, words that cannot be from such a stream; it is then as it was. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_fine_grained_set_words(submod_fine_grained *fine,
                                                       const uint64_t *words, size_t count);
/* What was counted, and what that depends on, to a file, and a new one from it: file.h. *fine is
 * untouched when that fails. SUBMOD_EINVAL: NULL. SUBMOD_EFILE. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_fine_grained_save(const submod_fine_grained *fine,
                                                  const char *path);
SUBMOD_API submod_status submod_fine_grained_load(const char *path, submod_fine_grained **fine);
/* The means of what was added so far. SUBMOD_EINVAL: NULL. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_fine_grained_get(const submod_fine_grained *fine,
                                                 submod_fine_grained_values *values);
/* mIoU^Iq and mIoU^Cq (each may be NULL) for q = percent in (0, 100]. SUBMOD_EINVAL: NULL fine,
 * percent out of range. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_fine_grained_worst(const submod_fine_grained *fine, double percent,
                                                   double *image, double *of_class);
/* The table IoU[i][c], images x classes in the order of adding, NaN for what is left out or not
 * chosen, and the number of images (may be NULL); borrowed until the next change. NULL for NULL or
 * no images. */
SUBMOD_API const double *submod_fine_grained_table(const submod_fine_grained *fine, size_t *images);
/* The counts of all images; borrowed. NULL for NULL. */
SUBMOD_API const submod_confusion *submod_fine_grained_confusion(const submod_fine_grained *fine);

#ifdef __cplusplus
}
#endif

#endif
