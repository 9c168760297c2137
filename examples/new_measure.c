/* A measure of your own in ten lines, and the losses that follow from it.
 *
 * The root of the Jaccard loss minds the last wrong pixels of a class more than the loss itself
 * does. It is a concave function of an increasing submodular one, so it is submodular too, and the
 * losses take it: by sorting, by counting in bins, and for a dataset that arrives in batches.
 */
#include <math.h>
#include <stdio.h>
#include <submod.h>

/* a of P foreground pixels are wrong, and b of N in the background. */
static double root_of_jaccard(double a, double b, double P, double N, void *ctx)
{
    (void)N, (void)ctx;
    return a + b > 0 ? sqrt((a + b) / (P + b)) : 0;
}

enum { IMAGES = 2, CLASSES = 3, PIXELS = 2000 };
static float logits[IMAGES * CLASSES * PIXELS], gradient[IMAGES * CLASSES * PIXELS];
static uint8_t truth[IMAGES * PIXELS];

/* Scores that know the label most of the time. */
static void make_batch(void)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int i = 0; i < IMAGES * PIXELS; i++) {
        truth[i] = (uint8_t)(submod_rng_below(&rng, 20) % CLASSES);
        for (int c = 0; c < CLASSES; c++) {
            int at = (i / PIXELS * CLASSES + c) * PIXELS + i % PIXELS;
            logits[at] = (float)(submod_rng_normal(&rng) + (c == truth[i] ? 2 : 0));
        }
    }
}

static int fail(void)
{
    fprintf(stderr, "new_measure: %s\n", submod_last_error());
    return 1;
}

int main(void)
{
    make_batch();
    submod_scores scores = submod_scores_f32(logits, IMAGES, CLASSES, PIXELS);
    submod_labels labels = submod_labels_u8(truth, IMAGES, PIXELS);
    submod_gradient to = submod_gradient_dense(gradient, CLASSES, PIXELS);
    submod_loss_settings settings = submod_loss_defaults();
    double jaccard, loss, of_bins, of_dataset;
    if (submod_lovasz_softmax(&scores, &labels, &jaccard, NULL, &settings, NULL, NULL)) {
        return fail();
    }
    submod_measure_ops ops = {.value = root_of_jaccard};
    submod_measure measure = submod_measure_custom(&ops, NULL);
    settings.measure = &measure; /* all that changes */
    if (submod_lovasz_softmax(&scores, &labels, &loss, &to, &settings, NULL, NULL)) {
        return fail();
    }
    printf("Jaccard %.4f, its root %.4f\n", jaccard, loss);

    submod_loss_info info;
    settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    if (submod_lovasz_softmax(&scores, &labels, &of_bins, NULL, &settings, &info, NULL)) {
        return fail();
    }
    printf("in %zu bins: %.4f, off by at most %.1e\n", info.bins, of_bins, info.delta);

    submod_dataset *dataset;
    if (submod_dataset_create(CLASSES, settings.delta, &dataset)) {
        return fail();
    }
    submod_status status = submod_dataset_add(dataset, &scores, &labels, &settings, NULL);
    if (status == SUBMOD_OK) {
        status = submod_dataset_solve(dataset, &of_dataset, NULL, &settings);
    }
    submod_dataset_free(dataset);
    if (status != SUBMOD_OK) {
        return fail();
    }
    printf("of a dataset: %.4f\n", of_dataset);
    return fabs(of_bins - loss) <= info.delta && fabs(of_dataset - loss) <= info.delta ? 0 : 1;
}
