/* How good a segmentation is: Jaccard index (IoU), Dice and accuracies from exact counts, the means
 * over images, batches and datasets, and the equibatch sampler. scoring.h goes on with instances,
 * boundaries and images one by one.
 *
 *   submod_jaccard_index   two binary masks: paper, Eq. 3
 *   submod_confusion       counts of (truth, prediction) pairs, streamed; every metric from them
 *   submod_miou            image-mIoU, batch-mIoU and dataset-mIoU of a stream: paper, Sec. 3.1
 *   submod_equibatch       draws images so that every class comes by regularly: paper, Sec. 3.1
 *
 * For class c, with T its pixels in the truth, P those predicted and I those in both, all over
 * the pixels whose truth is not the ignored label:
 *
 *   IoU = I / (T + P - I)      Dice = 2 I / (T + P)      accuracy = I / T
 *
 *   mean IoU, Dice, accuracy   the mean over the chosen classes, where a 0/0 is what `absent` says
 *   pixel accuracy             sum of I / sum of T over all classes, chosen or not
 *   frequency-weighted IoU     sum of T * IoU / sum of T over the chosen classes
 *
 * What happens in special cases, by the convention for absent classes:
 *
 *                                        ONE    ZERO   SKIP       TRUTH
 *   IoU, Dice: T + P = 0                 1      0      left out   left out
 *   IoU, Dice: T = 0, P > 0              0      0      0          left out
 *   accuracy:  T = 0                     1      0      left out   left out
 *   every class left out                 -      -      NaN        NaN
 *   pixel accuracy and frequency-
 *     weighted IoU of no pixels          1      0      NaN        NaN
 *   image (or batch) without a pixel
 *     that counts, as an image's mean    1      0      left out   left out
 *   image-, batch- and dataset-mIoU of
 *     no image at all                    NaN    NaN    NaN        NaN
 *
 *   "left out" is NaN in the arrays per class, which the mean passes over.
 *   truth neither in range nor ignored   SUBMOD_EINVAL: "truth[3][17] = 9 is not in [0, 5)"
 *   prediction not in range              the same, unless the truth there is ignored
 *   prediction equal to ignore_index     not special: wrong or out of range like any other
 *   ignore_index in [0, classes)         allowed: such truth is ignored
 *   batch = 0 or pixels = 0              nothing to count, no error
 *   shapes that differ, classes = 0      SUBMOD_EINVAL
 *   any error                            nothing counted, outputs untouched
 *
 * Which settings give the numbers of others (absent, has_ignore + ignore_index, class choice):
 *
 *   scikit-learn, jaccard_score(average='macro', labels=range(C)), after dropping ignored pixels
 *     zero_division=0 or 'warn'          ZERO, all classes
 *     zero_division=1                    ONE, all classes
 *     without labels=                    SKIP (it takes the labels seen in truth or prediction)
 *     average='weighted'                 frequency-weighted IoU
 *     f1_score, recall_score             Dice and accuracy, by the same rules
 *   torchmetrics (from 1.0 on), MulticlassJaccardIndex(num_classes=C, average='macro')
 *     any zero_division                  SKIP: absent classes get weight 0 in the mean, whatever
 *                                        zero_division says
 *     average='none', zero_division=0/1  ZERO / ONE, per class
 *     ignore_index outside [0, C)        ignore_index
 *     ignore_index = k in [0, C)         ignore_index = k and leave_out = k: predictions of k
 *                                        elsewhere stay wrong, class k is not averaged
 *     versions before 1.0, macro         ZERO
 *   mmsegmentation, IoUMetric
 *     nan_to_num=None                    SKIP; mIoU, mDice, mAcc, aAcc are the means and the
 *                                        pixel accuracy (printed in percent)
 *     nan_to_num=0 or 1                  ZERO or ONE
 *     ignore_index                       ignore_index. It counts a prediction outside [0, C) as
 *                                        a miss: count with one more class for such predictions
 *                                        and leave that out
 *   Cityscapes' own script               SKIP, void ignored; a predicted void is a miss, as above;
 *                                        categories by submod_confusion_regroup; iIoU: scoring.h
 *   Pascal VOC                           255 ignored; all its 21 classes occur, so any convention
 *   the paper                            ONE (0/0 = 1), the default; or TRUTH ("present classes")
 */
#ifndef SUBMOD_METRIC_H
#define SUBMOD_METRIC_H

#include <submod/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Intersection over union of two masks of n pixels, nonzero meaning foreground; 0/0 = 1, so two
 * empty masks, and n = 0, give 1. SUBMOD_EINVAL: NULL (masks only if n > 0). */
SUBMOD_API submod_status submod_jaccard_index(const uint8_t *prediction, const uint8_t *truth,
                                              size_t n, double *value);

/* ---- settings ---- */

/* What a class without pixels counts for; see the table above. */
typedef enum submod_absent {
    SUBMOD_ABSENT_ONE = 0,  /* 0/0 = 1, as in the paper */
    SUBMOD_ABSENT_ZERO = 1, /* 0/0 = 0 */
    SUBMOD_ABSENT_SKIP = 2, /* left out when it is neither in the truth nor predicted */
    SUBMOD_ABSENT_TRUTH = 3 /* left out when it is not in the truth, predicted or not */
} submod_absent;

/* What is counted, and what the means are over. */
typedef struct submod_metric_settings {
    /* Counting: */
    int has_ignore;       /* 0; 1: pixels whose truth is ignore_index are left out */
    int64_t ignore_index; /* that label, in the range of classes or not */
    /* The means: */
    submod_absent absent;      /* SUBMOD_ABSENT_ONE */
    const int32_t *class_list; /* NULL: all classes; else the distinct ones to average over */
    size_t class_count;        /* length of class_list, at least 1; 0 without a list */
    int has_leave_out;         /* 0 */
    int32_t leave_out;         /* one class not to average over, such as the background */
} submod_metric_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_metric_settings submod_metric_defaults(void);

/* ---- counts ---- */

/* How often each prediction met each truth. One thread at a time; its own work is parallel. Counts
 * are exact: 2^63 pixels take 292 years at a billion per second. */
typedef struct submod_confusion submod_confusion;

/* For labels 0 .. classes-1; settings: has_ignore and ignore_index, the rest is not looked at.
 * SUBMOD_EINVAL: classes = 0 or > 2^31 - 3. SUBMOD_ENOMEM: 8 classes^2 bytes are not to be had. */
SUBMOD_API submod_status submod_confusion_create(size_t classes, submod_confusion **confusion,
                                                 const submod_metric_settings *settings);
/* Accepts NULL. */
SUBMOD_API void submod_confusion_free(submod_confusion *confusion);
/* Counts a batch: two views of the same batch and pixels, of any label types.
 * SUBMOD_EINVAL as in the table above, naming the first offender; SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_confusion_add(submod_confusion *confusion,
                                              const submod_labels *prediction,
                                              const submod_labels *truth);
/* Adds the counts of another one with as many classes (itself included). */
SUBMOD_API submod_status submod_confusion_merge(submod_confusion *confusion,
                                                const submod_confusion *other);
/* Adds classes^2 counts laid out as below, as they come from other machines. SUBMOD_EINVAL for a
 * negative one, or a total beyond 2^63 - 1. */
SUBMOD_API submod_status submod_confusion_add_counts(submod_confusion *confusion,
                                                     const int64_t *counts);
/* Back to no counts. Accepts NULL. */
SUBMOD_API void submod_confusion_reset(submod_confusion *confusion);
/* classes x classes counts, counts[t * classes + p] for truth t and prediction p: borrowed, valid
 * until the confusion is freed, changing with it. NULL for NULL. */
SUBMOD_API const int64_t *submod_confusion_counts(const submod_confusion *confusion);
/* The number of classes; 0 for NULL. */
SUBMOD_API size_t submod_confusion_classes(const submod_confusion *confusion);
/* The counts of groups of classes, as the categories of Cityscapes are: *coarse is a new confusion
 * with `groups` classes, for all the metrics there are, without an ignored label. Truth of class c
 * becomes truth of group truth_group[c], or is left out for -1; a prediction of class c becomes one
 * of prediction_group[c]. prediction_group = NULL: the same as truth_group. Predictions that belong
 * nowhere need a group of their own, so that they stay wrong; leave_out keeps it out of means.
 * SUBMOD_EINVAL: NULL, a group that is not in [0, groups) (or -1, for truth), groups as for
 * submod_confusion_create. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_confusion_regroup(const submod_confusion *confusion,
                                                  const int32_t *truth_group,
                                                  const int32_t *prediction_group, size_t groups,
                                                  submod_confusion **coarse);
/* The counts, classes and the ignored label to a file, and a new confusion from it: file.h.
 * *confusion is untouched when that fails. SUBMOD_EINVAL: NULL. SUBMOD_EFILE. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_confusion_save(const submod_confusion *confusion, const char *path);
SUBMOD_API submod_status submod_confusion_load(const char *path, submod_confusion **confusion);

/* ---- metrics from the counts ---- */

/* The formulas stand at the top of this header. */
typedef struct submod_metrics {
    double mean_iou, mean_dice, mean_accuracy; /* over the chosen classes */
    double pixel_accuracy;                     /* over all pixels that count */
    double frequency_weighted_iou; /* each chosen class weighted by its pixels in the truth */
    size_t averaged;               /* classes in the mean IoU */
    int64_t pixels;                /* counted */
} submod_metrics;

/* iou, dice, accuracy: one number per class (whether chosen for the means or not); any of the
 * four outputs may be NULL. settings: absent, class_list, class_count, leave_out.
 * SUBMOD_EINVAL: NULL confusion; a class in the settings that does not exist or comes twice; no
 * class chosen at all. */
SUBMOD_API submod_status submod_confusion_metrics(const submod_confusion *confusion, double *iou,
                                                  double *dice, double *accuracy,
                                                  submod_metrics *metrics,
                                                  const submod_metric_settings *settings);

/* ---- mIoU over images, batches, a dataset ---- */

/* *value = mean over the images of the mean IoU of each. */
SUBMOD_API submod_status submod_miou_image(const submod_labels *prediction,
                                           const submod_labels *truth, size_t classes,
                                           double *value, const submod_metric_settings *settings);
/* *value = mean IoU of the counts of all images together: the batch-mIoU, or the dataset-mIoU when
 * the batch is the dataset. */
SUBMOD_API submod_status submod_miou_batch(const submod_labels *prediction,
                                           const submod_labels *truth, size_t classes,
                                           double *value, const submod_metric_settings *settings);

/* All three at once for a dataset that comes batch by batch. One thread at a time; settings are
 * copied, with the list in them. */
typedef struct submod_miou submod_miou;

/* What submod_miou_get reads. */
typedef struct submod_miou_values {
    double image;    /* mean over the images */
    double batch;    /* mean over the batches, one per call of submod_miou_add */
    double dataset;  /* mean IoU of all counts together; all three are NaN before the first image */
    uint64_t images; /* that took part in their mean: not left out */
    uint64_t batches; /* that took part in theirs */
} submod_miou_values;

/* For labels 0 .. classes-1. SUBMOD_EINVAL: classes as for submod_confusion_create, settings as for
 * submod_confusion_metrics. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_miou_create(size_t classes, submod_miou **miou,
                                            const submod_metric_settings *settings);
/* Accepts NULL. */
SUBMOD_API void submod_miou_free(submod_miou *miou);
/* Fails as submod_confusion_add does, and then leaves everything as it was; also SUBMOD_ENUMERIC
 * for more than 2^64 - 1 images. An empty batch (0 images) is no batch; images without pixels are
 * images, by the table above, and cost nothing. */
SUBMOD_API submod_status submod_miou_add(submod_miou *miou, const submod_labels *prediction,
                                         const submod_labels *truth);
/* What other has seen was seen too. SUBMOD_EINVAL when the classes differ; that the other settings
 * agree is up to you. Sums of doubles: the order of merges may show in the last digits of the image
 * and batch means. */
SUBMOD_API submod_status submod_miou_merge(submod_miou *miou, const submod_miou *other);
/* Back to no images. Accepts NULL. */
SUBMOD_API void submod_miou_reset(submod_miou *miou);
/* What was seen as *count words; words = NULL: how many that are. SUBMOD_EINVAL: NULL. */
SUBMOD_API submod_status submod_miou_words(const submod_miou *miou, uint64_t *words, size_t *count);
/* Back to what these words say, of a stream that was created with the same numbers. SUBMOD_EINVAL:
 * NULL, words that cannot be from such a stream; it is then as it was. */
SUBMOD_API submod_status submod_miou_set_words(submod_miou *miou, const uint64_t *words,
                                               size_t count);
/* What was seen, and the settings, to a file, and a new stream from it: file.h. *miou is untouched
 * when that fails. SUBMOD_EINVAL: NULL. SUBMOD_EFILE. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_miou_save(const submod_miou *miou, const char *path);
SUBMOD_API submod_status submod_miou_load(const char *path, submod_miou **miou);
/* The means of what was added so far. SUBMOD_EINVAL: NULL. */
SUBMOD_API submod_status submod_miou_get(const submod_miou *miou, submod_miou_values *values);
/* The counts of the whole stream, for the other metrics; borrowed, as long as miou lives. NULL for
 * NULL. */
SUBMOD_API const submod_confusion *submod_miou_confusion(const submod_miou *miou);

/* ---- equibatch ---- */

/* Draws images such that each class is visited at least once every W draws, W being the number of
 * classes that any image contains: draw k is for the class number k mod W among these, ascending,
 * for ever, so this holds for every window of W draws, wherever it begins. For its class an image
 * is picked at random among those that contain it, and none of them a second time before all of
 * them had their turn for this class. Equal seeds give equal draws. One thread at a time. */
typedef struct submod_equibatch submod_equibatch;

/* Image i contains the classes class_ids[start[i] .. start[i+1]-1], all in [0, classes); start has
 * images + 1 entries, start[0] = 0, ascending. Repeated classes are harmless, images without any
 * are never drawn, classes without any image are passed over. Inputs are copied.
 * SUBMOD_EINVAL: NULL, images = 0 or > 2^31 - 1, classes = 0 or > 2^31 - 1, start not as above, a
 * class out of range, no class in any image. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_equibatch_create(size_t images, const size_t *start,
                                                 const int32_t *class_ids, size_t classes,
                                                 uint64_t seed, submod_equibatch **sampler);
/* Accepts NULL. */
SUBMOD_API void submod_equibatch_free(submod_equibatch *sampler);
/* The next image, and (may be NULL) the class it was drawn for. SUBMOD_EINVAL for NULL. */
SUBMOD_API submod_status submod_equibatch_next(submod_equibatch *sampler, int32_t *image,
                                               int32_t *drawn_for);
/* W; 0 for NULL. */
SUBMOD_API size_t submod_equibatch_window(const submod_equibatch *sampler);

#ifdef __cplusplus
}
#endif

#endif
