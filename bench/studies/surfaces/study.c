/* The losses for two pixels and the four ground truths: the Lovász hinge (paper, Fig. 1) over the
 * relative margins r_i = 1 - F_i y_i, and the Lovász-Softmax of the foreground among two classes
 * (Fig. 2) over the differences of scores d_i = F_i(truth) - F_i(other). Dots: the discrete Jaccard
 * loss, at r_i = 1 for a wrong pixel and 0 for a right one, or at the ends of the range of d_i,
 * since the softmax only reaches it in the limit.
 */
#include <math.h>

#include "common/study.h"

enum { PIXELS = 2, CASES = 1 << PIXELS };

/* The ground truths in the paper's order: [-1 -1], [-1 1], [1 -1], [1 1]. */
static const uint8_t truths[CASES][PIXELS] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};

/* at: the margins r. */
static submod_status hinge(const uint8_t *truth, const double *at, double *loss)
{
    float score[PIXELS];
    for (size_t i = 0; i < PIXELS; i++) {
        score[i] = (float)((truth[i] ? 1 : -1) * (1 - at[i]));
    }
    submod_scores scores = submod_scores_f32(score, 1, 1, PIXELS);
    submod_labels labels = submod_labels_u8(truth, 1, PIXELS);
    return submod_lovasz_hinge(&scores, &labels, loss, NULL, NULL, NULL, NULL);
}

/* at: the differences d. */
static submod_status softmax(const uint8_t *truth, const double *at, double *loss)
{
    const int32_t foreground = 1;
    float score[2 * PIXELS] = {0};
    for (size_t i = 0; i < PIXELS; i++) {
        score[(size_t)truth[i] * PIXELS + i] = (float)at[i];
    }
    submod_scores scores = submod_scores_f32(score, 1, 2, PIXELS);
    submod_labels labels = submod_labels_u8(truth, 1, PIXELS);
    submod_loss_settings settings = submod_loss_defaults();
    settings.classes = SUBMOD_CLASSES_LIST;
    settings.class_list = &foreground;
    settings.class_count = 1;
    return submod_lovasz_softmax(&scores, &labels, loss, NULL, &settings, NULL, NULL);
}

static const struct surface {
    const char *name;
    submod_status (*loss)(const uint8_t *truth, const double *at, double *loss);
    double low, high;    /* what is drawn */
    double right, wrong; /* where a pixel counts as right, as wrong */
} surfaces[] = {{"hinge", hinge, -0.5, 2, 0, 1}, {"softmax", softmax, -6, 6, 6, -6}};
enum { SURFACES = sizeof surfaces / sizeof surfaces[0] };

/* The Jaccard loss if pixel i is wrong where bit i of `wrong` is set. */
static submod_status discrete(const uint8_t *truth, int wrong, double *loss)
{
    uint8_t prediction[PIXELS];
    for (int i = 0; i < PIXELS; i++) {
        prediction[i] = truth[i] ^ (wrong >> i & 1);
    }
    double index;
    submod_status status = submod_jaccard_index(prediction, truth, PIXELS, &index);
    *loss = 1 - index;
    return status;
}

static submod_status at_corner(const struct surface *s, const uint8_t *truth, int wrong,
                               double *loss)
{
    const double at[PIXELS] = {wrong & 1 ? s->wrong : s->right, wrong & 2 ? s->wrong : s->right};
    return s->loss(truth, at, loss);
}

/* One surface as a grid, an empty line after each row for gnuplot. */
static bool write_grid(const study_options *options, const struct surface *s, int which)
{
    char file_name[64];
    int steps = options->quick ? 10 : 30;
    snprintf(file_name, sizeof file_name, "%s_%d.csv", s->name, which + 1);
    FILE *file = study_open(options, file_name);
    if (!file) {
        return false;
    }
    submod_status status = SUBMOD_OK;
    const char *axis = s->loss == hinge ? "r" : "d";
    fprintf(file, "%s1,%s2,loss\n", axis, axis);
    for (int i = 0; i <= steps; i++) {
        for (int j = 0; j <= steps && status == SUBMOD_OK; j++) {
            double loss;
            const double at[PIXELS] = {s->low + (s->high - s->low) * i / steps,
                                       s->low + (s->high - s->low) * j / steps};
            status = s->loss(truths[which], at, &loss);
            if (status == SUBMOD_OK) {
                fprintf(file, "%.6g,%.6g,%.6g\n", at[0], at[1], loss);
            }
        }
        fprintf(file, "\n");
    }
    bool good = study_close(file);
    return status == SUBMOD_OK ? good : study_fail("%s", submod_last_error());
}

/* The row of one ground truth: both losses and the discrete one, for every set of wrong pixels. */
static bool write_row(const uint8_t *truth, FILE *table)
{
    static const char *const wrong_names[CASES] = {"none", "1", "2", "1 and 2"};
    printf("  [%2d, %2d]  ", truth[0] ? 1 : -1, truth[1] ? 1 : -1);
    for (int wrong = 0; wrong < CASES; wrong++) {
        double jaccard, loss[SURFACES];
        submod_status status = discrete(truth, wrong, &jaccard);
        for (size_t s = 0; s < SURFACES && status == SUBMOD_OK; s++) {
            status = at_corner(&surfaces[s], truth, wrong, &loss[s]);
        }
        if (status != SUBMOD_OK) {
            return study_fail("%s", submod_last_error());
        }
        printf("  %5.3f / %5.3f / %5.3f", jaccard, loss[0], loss[1]);
        fprintf(table, "%d,%d,%s,%.4f,%.4f,%.4f\n", truth[0] ? 1 : -1, truth[1] ? 1 : -1,
                wrong_names[wrong], jaccard, loss[0], loss[1]);
    }
    printf("\n");
    return true;
}

static bool write_table(const study_options *options)
{
    FILE *table = study_open(options, "table.csv");
    if (!table) {
        return false;
    }
    printf("  truth       wrong: none              pixel 1                pixel 2"
           "                both\n");
    fprintf(table, "truth 1,truth 2,wrong pixels,Jaccard loss,Lovász hinge,Lovász-Softmax\n");
    bool good = true;
    for (int which = 0; which < CASES && good; which++) {
        good = write_row(truths[which], table);
    }
    printf("  (discrete loss / Lovász hinge at r = 0 or 1 / Lovász-Softmax at d = 6 or -6)\n");
    return study_close(table) && good;
}

bool study_surfaces(const study_options *options)
{
    bool good = write_table(options);
    for (size_t s = 0; s < SURFACES; s++) {
        for (int which = 0; which < CASES && good; which++) {
            good = write_grid(options, &surfaces[s], which);
        }
    }
    return good && study_publish(options, &(study_values){0});
}
