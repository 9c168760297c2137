/* A submodular loss of your own in 30 lines.
 *
 * Pixels come in groups (superpixels, say), and a group is as bad as the square root of its number
 * of wrong pixels: once a group is wrong, one more wrong pixel in it matters less.
 */
#include <math.h>
#include <stdio.h>
#include <submod.h>

#define PIXELS 8
#define GROUPS 3
static const int group_of[PIXELS] = {0, 0, 0, 1, 1, 1, 1, 2};

/* F(wrong) = sum over groups of sqrt(number of wrong pixels in it). */
static submod_status eval(const void *ctx, const int32_t *wrong, size_t k, double *value)
{
    const int *group = ctx;
    int count[GROUPS] = {0};
    for (size_t i = 0; i < k; i++) {
        count[group[wrong[i]]]++;
    }
    *value = 0;
    for (int g = 0; g < GROUPS; g++) {
        *value += sqrt(count[g]);
    }
    return SUBMOD_OK;
}

static int fail(void)
{
    fprintf(stderr, "custom_loss: %s\n", submod_last_error());
    return 1;
}

int main(void)
{
    submod_fn_ops ops = {.eval = eval};
    submod_fn *loss;
    if (submod_fn_custom(PIXELS, &ops, (void *)group_of, &loss) != SUBMOD_OK) {
        return fail();
    }

    submod_check_report report; /* is it submodular at all? */
    char text[1000];
    if (submod_fn_check(loss, &report, NULL) != SUBMOD_OK) {
        return fail();
    }
    submod_check_report_text(&report, text, sizeof text);
    printf("%s\n", text);

    const double errors[PIXELS] = {0.9, 0.2, 0.7, 0.1, 0.8, 0.3, 0.6, 0.5};
    double value, weight[PIXELS];
    if (submod_lovasz(loss, errors, &value, weight, NULL, SUBMOD_TIES_AVERAGE, NULL) != SUBMOD_OK) {
        return fail();
    }
    printf("convex surrogate at these errors: %.6f\n", value);
    for (int i = 0; i < PIXELS; i++) {
        printf("pixel %d: error %.1f, weight %.6f\n", i, errors[i], weight[i]);
    }
    submod_check_report_clear(&report);
    submod_fn_free(loss);
    return 0;
}
