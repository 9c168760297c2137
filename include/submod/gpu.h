/* The Lovász losses on a GPU (CUDA), for batches that live in device memory.
 *
 * The same losses, options, special cases and engines as loss.h, on device pointers and on the
 * caller's stream. Inside a call nothing is allocated, no host memory is copied and nothing waits
 * for the device: a call checks its arguments and queues kernels. The caller brings the workspace;
 * its size needs no device to be asked for.
 *
 *     submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &scores, &bytes, &settings);
 *     cudaMalloc(&workspace, bytes); cudaMalloc(&result, sizeof(submod_gpu_result));
 *     submod_gpu_place place = {device, stream, workspace, bytes};
 *     submod_gpu_lovasz_softmax(&scores, &labels, result, &gradient, &settings, &place);
 *     ... later, when the caller waits anyway:
 *     cudaMemcpyAsync(&host, result, sizeof host, cudaMemcpyDeviceToHost, stream); synchronise;
 *     submod_gpu_result_status(&host);     SUBMOD_OK, or why the data were refused
 *
 * Errors. What can be seen from the arguments is returned by the call at once, with nothing queued,
 * whether there is a device or not. What depends on data in device memory (a label out of range, a
 * score or a weight that is NaN or Inf, no probability, a negative weight) cannot be: the result
 * says so. Its loss is then NaN and the gradient is untouched, as on the CPU.
 *
 * Always present. SUBMOD_EUNSUPPORTED, with a message that says why: the measure is a custom one,
 * whose function a device cannot call (take the CPU, or submod.torch); the library was built
 * without CUDA (the static library always is), there is no driver, there is no device, the device
 * cannot run what the library was built for; nothing is queued then. SUBMOD_ENOMEM: the workspace
 * is too small, or CUDA ran out of device memory. SUBMOD_ENUMERIC: CUDA reported another error.
 *
 * Stream capture. All calls that queue kernels may be captured into a graph (on a stream of the
 * caller's; CUDA does not capture the default stream): every launch depends on the arguments alone.
 * A process makes its first call outside, since that one loads the kernels. Class weights travel
 * inside the launches, so settings need not outlive the call; scores, labels, pixel weights,
 * gradient, losses of groups, result and workspace belong to the graph.
 *
 * Same numbers as a CPU that fuses multiplications and additions (AVX2, ARM; table in base.h):
 * float operations, counts and weights are the same bit by bit, sums of losses are added in
 * another, fixed order (last bits of a double). On other CPUs probabilities from logits differ in
 * their last bits. Two runs give the same bits.
 *
 * The calling thread's current device is what it was when a call returns. Calls are quickest when
 * place->device is current; else CUDA may also initialise the device that was. Programs that switch
 * contexts by CUDA's driver interface make one of place->device current before the call.
 *
 * No GPU run of this code has been made yet: docs/gpu.md says what has been proved, and how.
 */
#ifndef SUBMOD_GPU_H
#define SUBMOD_GPU_H

#include <submod/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns SUBMOD_OK if a device can run this library's kernels, judged by its compute capability
 * and the driver version. Calls on the device still check that it can. Otherwise returns
 * SUBMOD_EUNSUPPORTED, and submod_last_error() explains. Sets *devices (may be NULL) to the number
 * of CUDA devices, including unusable ones, and to 0 on failure. Creates no context on any device,
 * so every process of a job can call it. The first call initialises CUDA, which takes time. */
SUBMOD_API submod_status submod_gpu_available(int *devices);

/* Where a call runs. */
typedef struct submod_gpu_place {
    int device;      /* CUDA's number of the device that all pointers belong to */
    void *stream;    /* a cudaStream_t; NULL: the default stream, which all others wait for */
    void *workspace; /* device memory, aligned to 256 bytes; free again when the stream has
                        passed the call */
    size_t workspace_bytes; /* its size: at least what submod_gpu_loss_workspace says */
} submod_gpu_place;

/* What a loss call leaves in device memory; aligned as its doubles are, to 8 bytes. */
typedef struct submod_gpu_result {
    double loss;         /* NaN when the data were refused */
    double delta;        /* |loss - loss of these errors| <= delta; 0 for the exact engine */
    uint64_t pixels;     /* not ignored; sigmoid: entries */
    uint64_t terms;      /* class losses that entered the mean, over all groups */
    uint64_t bad_label;  /* position of the first label that is no class, or SUBMOD_GPU_NONE */
    uint64_t bad_score;  /* position of the first score that is refused, or SUBMOD_GPU_NONE */
    uint32_t bins;       /* histogram engine, else 0 */
    int32_t status;      /* SUBMOD_OK, SUBMOD_EINVAL or SUBMOD_ENONFINITE */
    uint64_t bad_weight; /* of the first pixel weight that is refused, or SUBMOD_GPU_NONE */
    uint64_t bad_count;  /* datasets: of the first count that is refused, or SUBMOD_GPU_NONE */
} submod_gpu_result;

/* Positions count images, classes and pixels as (b * classes + c) * pixels + i, whatever the
 * strides; labels of multiclass problems and pixel weights as b * pixels + i. */
#define SUBMOD_GPU_NONE UINT64_MAX
/* bad_count, global batches: some device has refused its data. */
#define SUBMOD_GPU_ELSEWHERE (UINT64_MAX - 1)

/* The status of a result that has been copied to the host, with a message for submod_last_error().
 * SUBMOD_EINVAL for NULL. */
SUBMOD_API submod_status submod_gpu_result_status(const submod_gpu_result *result);

/* Which loss a workspace is for. */
typedef enum submod_gpu_loss {
    SUBMOD_GPU_SOFTMAX = 0, /* submod_gpu_lovasz_softmax */
    SUBMOD_GPU_SIGMOID = 1, /* submod_gpu_lovasz_sigmoid */
    SUBMOD_GPU_HINGE = 2    /* submod_gpu_lovasz_hinge */
} submod_gpu_loss;

/* Bytes of workspace for a call with these scores (their data are not looked at) and settings:
 * those of the call, as weights of pixels need more. Needs no device. SUBMOD_EINVAL: what the call
 * itself would refuse, an unknown loss, NULL. SUBMOD_EUNSUPPORTED: more than 2^31 - 1 groups x
 * classes. SUBMOD_ENOMEM: more than size_t can count. */
SUBMOD_API submod_status submod_gpu_loss_workspace(submod_gpu_loss loss,
                                                   const submod_scores *scores, size_t *bytes,
                                                   const submod_loss_settings *settings);

/* As the functions of loss.h without "gpu", except: data of scores, labels, gradient and
 * pixel_weights are device memory, and so is group_loss; settings with its other arrays and the
 * structs themselves are host memory, read before the call returns; result is device memory,
 * required. gradient may be NULL, place may not. */
SUBMOD_API submod_status submod_gpu_lovasz_softmax(const submod_scores *scores,
                                                   const submod_labels *labels,
                                                   submod_gpu_result *result,
                                                   const submod_gradient *gradient,
                                                   const submod_loss_settings *settings,
                                                   const submod_gpu_place *place);
SUBMOD_API submod_status submod_gpu_lovasz_sigmoid(const submod_scores *scores,
                                                   const submod_labels *labels,
                                                   submod_gpu_result *result,
                                                   const submod_gradient *gradient,
                                                   const submod_loss_settings *settings,
                                                   const submod_gpu_place *place);
SUBMOD_API submod_status submod_gpu_lovasz_hinge(const submod_scores *scores,
                                                 const submod_labels *labels,
                                                 submod_gpu_result *result,
                                                 const submod_gradient *gradient,
                                                 const submod_loss_settings *settings,
                                                 const submod_gpu_place *place);

/* ---- prox ---- */

/* The prox of the Jaccard extension, argmin over u of f(u) + lambda/2 |u - x|^2, for every image
 * and class by itself. x takes the place of scores: (batch, classes, pixels). labels: 0 or 1, and
 * perhaps the ignored one, as for the sigmoid. Up to half a bin: x is counted in so many bins
 * between its smallest and largest entry, and |u - prox of x| <= result->delta in every entry
 * (Inf where u is too large for a float), rounding included.
 *
 * u: where the result goes, in the layout of a gradient (then multiplied by its scale, and added if
 * it says so); it may be x itself if that is float32 with the same strides. Ignored entries keep x.
 * All in device memory; result->loss is 0, and NaN when the data were refused: u is then untouched.
 *
 * bins: a power of two from 2 to 2^20; 112 bytes of workspace per bin and class for as many images
 * as 256 MiB hold, and for one at least. Of the settings has_ignore and ignore_index count; NULL:
 * nothing is ignored. One block solves an image and class: meant for many images, not for one large
 * one.
 *
 * SUBMOD_EINVAL: as for the losses; lambda not > 0, bins. SUBMOD_ENONFINITE: lambda.
 * SUBMOD_EUNSUPPORTED, SUBMOD_ENOMEM: as for the losses. */
SUBMOD_API submod_status submod_gpu_prox_jaccard(const submod_scores *x,
                                                 const submod_labels *labels, double lambda,
                                                 size_t bins, const submod_gradient *u,
                                                 submod_gpu_result *result,
                                                 const submod_loss_settings *settings,
                                                 const submod_gpu_place *place);
/* Bytes of workspace for such a call. Needs no device. SUBMOD_EINVAL: what the call itself would
 * refuse, NULL. SUBMOD_EUNSUPPORTED, SUBMOD_ENOMEM: as for submod_gpu_loss_workspace. */
SUBMOD_API submod_status submod_gpu_prox_workspace(const submod_scores *x, size_t bins,
                                                   size_t *bytes);

/* The Lovász hinge as a layer (submod_prox_hinge_layer in prox.h, which is exact), with the prox
 * of each group, an image or the batch, up to half a bin. Of any measure that is built in: Jaccard,
 * which is the fastest, Hamming, Tversky. scores: classes = 1; labels: 0 or 1. prox and gradient,
 * in device memory, may be NULL.
 *
 * The margins above 0 of a group are counted in so many bins between the smallest and the largest
 * of them. The prox is within result->delta of that of the scores in every entry. The gradient,
 * lambda (x - prox(x)) / groups, is that of margins moved to the middles of their bins, and so by
 * result->delta at most: it has the right size also where its entries are smaller than delta.
 * Scores that are right by more than the margin, and ignored ones, stay and have gradient 0.
 *
 * bins, result and errors as for submod_gpu_prox_jaccard; submod_gpu_prox_workspace has the size of
 * the workspace for either kind of groups and any measure. Of the settings measure, per_image,
 * has_ignore and ignore_index count; NULL: Jaccard, per image, nothing ignored. Also
 * SUBMOD_EUNSUPPORTED: pixel_weights, a custom measure. Inf where an output is too large for a
 * float. */
SUBMOD_API submod_status submod_gpu_prox_lovasz_hinge(
    const submod_scores *scores, const submod_labels *labels, double lambda, size_t bins,
    const submod_gradient *prox, const submod_gradient *gradient, submod_gpu_result *result,
    const submod_loss_settings *settings, const submod_gpu_place *place);

/* ---- datasets ---- */

/* Losses of a whole dataset (dataset.h), its counts in device memory: classes x 2 x bins doubles
 * (background, then foreground; errors ascending), which the caller adds up, lets decay,
 * all-reduces and keeps.
 *
 *     each step:  submod_gpu_dataset_counts(scores, labels, bins, of_batch, ...);
 *                 counts = 0.99 counts + of_batch          by a kernel of the caller's
 *                 submod_gpu_dataset_loss(scores, labels, bins, counts, result, gradient, ...);
 *
 * Settings, special cases, refused data and memory as for the losses; bins: a power of two from 2
 * to 2^20. Numbers are those of the CPU's dataset, also weights of pixels: whole counts give the
 * same bits, others are added up in another, fixed order. */

/* The counts of a batch, overwritten; untouched when data are refused. result->loss is 0. */
SUBMOD_API submod_status submod_gpu_dataset_counts(const submod_scores *scores,
                                                   const submod_labels *labels, size_t bins,
                                                   double *counts, submod_gpu_result *result,
                                                   const submod_loss_settings *settings,
                                                   const submod_gpu_place *place);
/* The loss of all counts, and its gradient (may be NULL) by the scores of this batch. Counts that
 * are negative, not finite or above 1e140 are refused as data are: result->bad_count. Weights
 * exceed 1 where counts have decayed below 1; the gradient is Inf where that, times its scale, is
 * too large for a float. SUBMOD_EUNSUPPORTED: also a custom measure. */
SUBMOD_API submod_status submod_gpu_dataset_loss(const submod_scores *scores,
                                                 const submod_labels *labels, size_t bins,
                                                 const double *counts, submod_gpu_result *result,
                                                 const submod_gradient *gradient,
                                                 const submod_loss_settings *settings,
                                                 const submod_gpu_place *place);
/* Bytes of workspace for either call, with these settings. Needs no device. Errors as for
 * submod_gpu_loss_workspace. */
SUBMOD_API submod_status submod_gpu_dataset_workspace(const submod_scores *scores, size_t bins,
                                                      size_t *bytes,
                                                      const submod_loss_settings *settings);

/* ---- global batches ---- */

/* The loss of a batch that is spread over devices, as dist.h has it for processes: each device
 * counts its own images, the caller adds up the counts of all of them where they are
 * (ncclAllReduce, torch.distributed, or a kernel), and each gets the loss of the whole batch and
 * the gradient by its own scores.
 *
 *     submod_gpu_global_workspace(SUBMOD_GPU_SOFTMAX, &scores, &numbers, &bytes, &settings);
 *     submod_gpu_global_counts(SUBMOD_GPU_SOFTMAX, &scores, &labels, NULL, all_pixels, counts,
 *                              result, &settings, &place);
 *     counts = sum of the counts of all devices          ncclAllReduce(.., ncclInt64, ncclSum, ..)
 *     submod_gpu_global_loss(SUBMOD_GPU_SOFTMAX, &scores, &labels, NULL, counts, all_pixels,
 * result, &gradient, &settings, &place);
 *
 * The hinge, and weights of pixels, need one thing more before: range, two floats on each device,
 * of which the caller takes the maximum over all (ncclMax).
 *
 * loss, settings and all_pixels are the same on all devices, and weights of pixels are given on all
 * or on none; nothing checks that. all_pixels: those of all devices, ignored ones too (images x
 * pixels, added up), below 2^52. A device may have no pixels, but has classes. Settings, special
 * cases, refused data and memory as for the losses of this header; the histogram engine and
 * per_image = 0 alone. Between the calls scores, labels and settings stay as they are; the
 * workspace may be used for something else. All calls can be captured.
 *
 * Same bits as the loss of one device with all images, however they are spread; with weights and
 * the hinge together, unless a pixel's weight is below 2^-52 of the largest on another device.
 *
 * When a device refuses its data, the result of its submod_gpu_global_counts says why, and it adds
 * nothing but that to the sums: submod_gpu_global_loss then gives NaN on all of them, with
 * bad_count = SUBMOD_GPU_ELSEWHERE and status SUBMOD_EINVAL.
 *
 * SUBMOD_EINVAL: as for the losses; range NULL where it is needed, counts NULL, all_pixels less
 * than those of this device or 2^52. SUBMOD_EUNSUPPORTED: as for the losses; the exact engine (use
 * the histogram engine or one device), per_image = 1 (each device has its own images' losses:
 * their mean is that of the batch). */

/* *numbers: how many counts there are; *bytes: of workspace, for each of the three calls. Needs no
 * device. Errors as for submod_gpu_loss_workspace, and those above. */
SUBMOD_API submod_status submod_gpu_global_workspace(submod_gpu_loss loss,
                                                     const submod_scores *scores, size_t *numbers,
                                                     size_t *bytes,
                                                     const submod_loss_settings *settings);
/* range[0]: the largest weight of a pixel that is not ignored, range[1]: the largest margin; 0
 * where there is none. */
SUBMOD_API submod_status submod_gpu_global_range(submod_gpu_loss loss, const submod_scores *scores,
                                                 const submod_labels *labels, uint64_t all_pixels,
                                                 float *range, submod_gpu_result *result,
                                                 const submod_loss_settings *settings,
                                                 const submod_gpu_place *place);
/* Counts of this device, overwritten. range: of all devices; not looked at without weights and
 * hinge. result->loss is 0. */
SUBMOD_API submod_status submod_gpu_global_counts(submod_gpu_loss loss, const submod_scores *scores,
                                                  const submod_labels *labels, const float *range,
                                                  uint64_t all_pixels, int64_t *counts,
                                                  submod_gpu_result *result,
                                                  const submod_loss_settings *settings,
                                                  const submod_gpu_place *place);
/* counts: of all devices, added up. result and settings->group_loss: of the whole batch. gradient
 * may be NULL. */
SUBMOD_API submod_status submod_gpu_global_loss(submod_gpu_loss loss, const submod_scores *scores,
                                                const submod_labels *labels, const float *range,
                                                const int64_t *counts, uint64_t all_pixels,
                                                submod_gpu_result *result,
                                                const submod_gradient *gradient,
                                                const submod_loss_settings *settings,
                                                const submod_gpu_place *place);

#ifdef __cplusplus
}
#endif

#endif
