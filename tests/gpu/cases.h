/* Random problems for the GPU path, and the comparison with the CPU's engines. */
#ifndef SUBMOD_TESTS_GPU_CASES_H
#define SUBMOD_TESTS_GPU_CASES_H

#include <stdbool.h>
#include <submod.h>

typedef enum { SOFTMAX, SOFTMAX_P, SIGMOID, SIGMOID_P, HINGE, KINDS } kind;

enum { IGNORED = 99 }; /* the label; no class where some labels are to be ignored */

/* A batch and how to look at it; dense, labels int64. */
typedef struct example {
    kind kind;
    size_t B, C, N;
    float *x;
    int64_t *y;
    float *w; /* weights of the pixels, or NULL */
} example;

/* coarse: few different scores, many ties. With `ignore`, some labels are IGNORED. Every other
 * example has weights; `compare` looks at them. */
example random_example(submod_rng *rng, kind k, size_t B, size_t C, size_t N, bool coarse,
                       bool ignore);
void free_example(example *d);
/* Whole ones, equal ones, ones below the normal floats, and of all sizes. */
void random_weights(submod_rng *rng, size_t n, float *w);

bool is_multilabel(kind k);
bool from_logits(kind k);
/* These settings (NULL: the defaults), with the input of kind k. */
submod_loss_settings settings_for(kind k, const submod_loss_settings *s);
submod_scores scores_of(const example *d);
submod_labels labels_of(const example *d);

/* Engine, groups, classes, weights (of so many classes), all random; bins few enough for the tests
 * to be quick. */
enum { MOST_WEIGHTED = 24 };
submod_loss_settings random_settings(submod_rng *rng, bool ignore);

/* One of those that are built in. */
submod_measure random_measure(submod_rng *rng);

/* By the public functions of loss.h. */
submod_status on_cpu(const example *d, double *loss, const submod_gradient *g,
                     submod_loss_info *info, const submod_loss_settings *s);
/* Some other way to the same results. */
typedef submod_status (*runner)(const example *d, double *loss, const submod_gradient *g,
                                submod_loss_info *info, const submod_loss_settings *s,
                                const void *context);

/* Returns the status of a device result in host memory; if it is SUBMOD_OK, sets *loss and *info
 * (may be NULL) to its numbers. */
submod_status read_result(const submod_gpu_result *r, double *loss, submod_loss_info *info);

/* Runs d on the CPU and by `run`, and compares statuses, gradients bit by bit, and losses up to the
 * order of a sum of doubles. Error messages about arguments must be equal; messages about data must
 * name the same position. Returns NULL, or a description of the first difference. */
const char *compare(const example *d, const submod_loss_settings *s, runner run,
                    const void *context);

/* Whether n numbers are equal, 0 and -0 too. */
bool same_floats(const float *a, const float *b, size_t n);

#endif
