/* The Lovász-Softmax loss without a sort: how many bins for which accuracy?
 *
 * Random scores of one image with 4 classes, whose labels agree with the largest score most of the
 * time. The exact engine ranks the errors; the histogram engine counts them in bins and says how
 * far off the loss can be. Ask for an accuracy (settings.delta) or, as here, for a number of bins.
 */
#include <math.h>
#include <stdio.h>
#include <submod.h>

#define CLASSES 4
#define PIXELS 20000

static float logits[CLASSES * PIXELS]; /* class by class */
static uint8_t truth[PIXELS];

static void make_image(void)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int i = 0; i < CLASSES * PIXELS; i++) {
        logits[i] = (float)submod_rng_normal(&rng);
    }
    for (int i = 0; i < PIXELS; i++) {
        int best = 0;
        for (int c = 1; c < CLASSES; c++) {
            best = logits[c * PIXELS + i] > logits[best * PIXELS + i] ? c : best;
        }
        int known = submod_rng_uniform(&rng) < 0.8;
        truth[i] = (uint8_t)(known ? best : (int)submod_rng_below(&rng, CLASSES));
    }
}

static int fail(void)
{
    fprintf(stderr, "histogram_loss: %s\n", submod_last_error());
    return 1;
}

int main(void)
{
    make_image();
    submod_scores scores = submod_scores_f32(logits, 1, CLASSES, PIXELS);
    submod_labels labels = submod_labels_u8(truth, 1, PIXELS);
    submod_loss_settings settings = submod_loss_defaults();
    submod_loss_info info;
    double exact, loss;
    if (submod_lovasz_softmax(&scores, &labels, &exact, NULL, &settings, &info, NULL)) {
        return fail();
    }
    printf("exact: %.6f, %llu errors ranked\n", exact, (unsigned long long)info.sorted);

    settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    for (settings.bins = 16; settings.bins <= 4096; settings.bins *= 4) {
        if (submod_lovasz_softmax(&scores, &labels, &loss, NULL, &settings, &info, NULL)) {
            return fail();
        }
        double off = fabs(loss - exact);
        printf("%4zu bins: %.6f, off by %.1e, guaranteed %.1e\n", info.bins, loss, off, info.delta);
        if (off > info.delta) {
            return 1;
        }
    }
    return 0;
}
