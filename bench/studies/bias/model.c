/* The circles with their features, the losses as functions of the bias, and their minima. */
#include "bias/model.h"

#include <math.h>
#include <stdlib.h>

const char *const bias_loss_names[BIAS_LOSSES] = {"cross-entropy", "hinge", "Lovász hinge",
                                                  "Jaccard loss"};

void bias_generate(uint64_t seed, bias_data *data)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    for (size_t k = 0; k < BIAS_IMAGES; k++) {
        double radius = BIAS_SMALLEST + (BIAS_LARGEST - BIAS_SMALLEST) * submod_rng_uniform(&rng);
        double x = radius + (BIAS_SIDE - 2 * radius) * submod_rng_uniform(&rng);
        double y = radius + (BIAS_SIDE - 2 * radius) * submod_rng_uniform(&rng);
        for (size_t i = 0; i < BIAS_PIXELS; i++) {
            size_t row = i / BIAS_SIDE;
            size_t column = i % BIAS_SIDE;
            double dx = (double)column + 0.5 - x;
            double dy = (double)row + 0.5 - y;
            bool inside = dx * dx + dy * dy < radius * radius;
            data->label[k * BIAS_PIXELS + i] = inside;
            data->feature[k * BIAS_PIXELS + i] =
                (float)((inside ? 0.5 : -0.5) + submod_rng_normal(&rng));
        }
    }
}

/* ---- the discrete loss ---- */

/* Mean over the images of 1 - I/U. */
static double jaccard(const bias_data *data, double b)
{
    double total = 0;
    for (size_t k = 0; k < BIAS_IMAGES; k++) {
        size_t both = 0, either = 0;
        for (size_t i = k * BIAS_PIXELS; i < (k + 1) * BIAS_PIXELS; i++) {
            bool predicted = (double)data->feature[i] > -b;
            both += predicted && data->label[i];
            either += predicted || data->label[i];
        }
        total += either ? 1 - (double)both / (double)either : 0;
    }
    return total / BIAS_IMAGES;
}

/* Lowers the threshold past one feature after the other, keeping I and U of each image. */
static bool jaccard_argmin(const bias_data *data, double *b)
{
    int32_t *order = malloc(BIAS_ALL * sizeof *order);
    double *feature = malloc(BIAS_ALL * sizeof *feature);
    for (size_t i = 0; feature && i < BIAS_ALL; i++) {
        feature[i] = (double)data->feature[i];
    }
    bool sorted = order && feature && submod_argsort(feature, BIAS_ALL, order, NULL) == SUBMOD_OK;
    free(feature);
    if (!sorted) {
        free(order);
        return study_fail("the features could not be sorted");
    }
    size_t both[BIAS_IMAGES] = {0}, either[BIAS_IMAGES] = {0};
    for (size_t i = 0; i < BIAS_ALL; i++) {
        either[i / BIAS_PIXELS] += data->label[i];
    }
    double gain = 0, best = 0; /* sum of I/U */
    for (size_t j = 0; j < BIAS_ALL; j++) {
        size_t i = (size_t)order[j];
        size_t k = i / BIAS_PIXELS;
        gain -= (double)both[k] / (double)either[k]; /* radius >= 4: no empty circle */
        both[k] += data->label[i];
        either[k] += !data->label[i];
        gain += (double)both[k] / (double)either[k];
        double next =
            j + 1 < BIAS_ALL ? (double)data->feature[order[j + 1]] : (double)data->feature[i] - 1;
        if (gain > best && next < (double)data->feature[i]) {
            best = gain;
            *b = -((double)data->feature[i] + next) / 2;
        }
    }
    free(order);
    return true;
}

/* ---- the surrogates ---- */
bool bias_value(const bias_data *data, bias_loss loss, double b, double *value)
{
    if (loss == BIAS_JACCARD) {
        *value = jaccard(data, b);
        return true;
    }
    /* (images, 2, pixels) for the softmax, whose class 0 scores 0; else (images, pixels). */
    size_t classes = loss == BIAS_CROSS_ENTROPY ? 2 : 1;
    float *score = calloc(classes * BIAS_ALL, sizeof *score);
    if (!score) {
        return study_fail("out of memory");
    }
    for (size_t i = 0; i < BIAS_ALL; i++) {
        size_t k = i / BIAS_PIXELS;
        score[((k + 1) * classes - 1) * BIAS_PIXELS + i % BIAS_PIXELS] =
            (float)((double)data->feature[i] + b);
    }
    submod_scores scores = submod_scores_f32(score, BIAS_IMAGES, classes, BIAS_PIXELS);
    submod_labels labels = submod_labels_u8(data->label, BIAS_IMAGES, BIAS_PIXELS);
    submod_loss_settings settings = submod_loss_defaults();
    settings.per_image = 1;
    submod_status status =
        loss == BIAS_CROSS_ENTROPY ? submod_cross_entropy(&scores, &labels, value, NULL, NULL, NULL)
        : loss == BIAS_HINGE
            ? submod_hinge(&scores, &labels, value, NULL, NULL, NULL)
            : submod_lovasz_hinge(&scores, &labels, value, NULL, &settings, NULL, NULL);
    free(score);
    return status == SUBMOD_OK ? true : study_fail("%s", submod_last_error());
}

bool bias_argmin(const bias_data *data, bias_loss loss, double *b)
{
    if (loss == BIAS_JACCARD) {
        return jaccard_argmin(data, b);
    }
    const double golden = (sqrt(5) - 1) / 2;
    double low = -4, high = 4;
    double x[2] = {high - golden * (high - low), low + golden * (high - low)};
    double f[2] = {0};
    if (!bias_value(data, loss, x[0], &f[0]) || !bias_value(data, loss, x[1], &f[1])) {
        return false;
    }
    while (high - low > 1e-4) {
        bool left = f[0] < f[1];
        if (left) {
            high = x[1];
        } else {
            low = x[0];
        }
        int kept = left ? 0 : 1; /* becomes the other inner point */
        x[1 - kept] = x[kept];
        f[1 - kept] = f[kept];
        x[kept] = left ? high - golden * (high - low) : low + golden * (high - low);
        if (!bias_value(data, loss, x[kept], &f[kept])) {
            return false;
        }
    }
    *b = (low + high) / 2;
    return true;
}
