/* The synthetic experiment of the paper (Sec. 4.1): which losses have their minimum where the
 * Jaccard loss has its minimum? Repeated over seeds; the paper shows one draw and does not tell its
 * radii.
 */
#include "bias/model.h"

#include <math.h>
#include <stdlib.h>

#include "common/paired.h"
#include "common/summary.h"

static const double low = -2, high = 2;
enum { POINTS = 81 };

/* A loss lands at the Jaccard minimum if the Jaccard loss there is less than this above its least
 * value. */
static const double landed = 0.01;

typedef struct results {
    size_t seeds;
    double (*curve)[BIAS_LOSSES][POINTS]; /* per seed; each scaled to [0, 1] */
    double (*argmin)[BIAS_LOSSES];
    double (*jaccard)[BIAS_LOSSES]; /* the Jaccard loss at the argmin */
} results;

static double bias_at(size_t point)
{
    return low + (high - low) * (double)point / (POINTS - 1);
}

static bool measure_seed(const bias_data *data, size_t seed, results *r)
{
    for (int loss = 0; loss < BIAS_LOSSES; loss++) {
        double *curve = r->curve[seed][loss];
        double least = INFINITY, most = -INFINITY;
        for (size_t i = 0; i < POINTS; i++) {
            if (!bias_value(data, (bias_loss)loss, bias_at(i), &curve[i])) {
                return false;
            }
            least = fmin(least, curve[i]);
            most = fmax(most, curve[i]);
        }
        for (size_t i = 0; i < POINTS; i++) {
            curve[i] = (curve[i] - least) / (most - least);
        }
        double *b = &r->argmin[seed][loss];
        if (!bias_argmin(data, (bias_loss)loss, b) ||
            !bias_value(data, BIAS_JACCARD, *b, &r->jaccard[seed][loss])) {
            return false;
        }
    }
    return true;
}

static bool measure(const study_options *options, results *r)
{
    bias_data *data = malloc(sizeof *data);
    bool good = data != NULL;
    for (size_t seed = 0; seed < r->seeds && good; seed++) {
        study_progress(options, seed, r->seeds);
        bias_generate(options->seed + seed, data);
        good = measure_seed(data, seed, r);
    }
    study_progress(options, 1, 1);
    free(data);
    return good;
}

/* The first draw, for the picture: x, y, label, feature of one image. */
static bool write_sample(const study_options *options)
{
    FILE *file = study_open(options, "sample.csv");
    bias_data *data = malloc(sizeof *data);
    if (file && data) {
        bias_generate(options->seed, data);
        fprintf(file, "x,y,label,feature\n");
        for (size_t i = 0; i < BIAS_PIXELS; i++) {
            fprintf(file, "%zu,%zu,%d,%.4f\n", i % BIAS_SIDE, i / BIAS_SIDE, data->label[i],
                    (double)data->feature[i]);
        }
    }
    bool good = data != NULL;
    free(data);
    return file && study_close(file) && good;
}

static bool write_curves(const study_options *options, const results *r)
{
    FILE *file = study_open(options, "curves.csv");
    if (!file) {
        return false;
    }
    fprintf(file, "b");
    for (int loss = 0; loss < BIAS_LOSSES; loss++) {
        fprintf(file, ",%s,s.d.", bias_loss_names[loss]);
    }
    for (size_t i = 0; i < POINTS; i++) {
        fprintf(file, "\n%.4f", bias_at(i));
        for (int loss = 0; loss < BIAS_LOSSES; loss++) {
            summary s =
                summary_of(&r->curve[0][loss][i], r->seeds, sizeof *r->curve / sizeof(double));
            fprintf(file, ",%.6f,%.6f", s.mean, s.sd);
        }
    }
    fprintf(file, "\n");
    return study_close(file);
}

static bool write_table(const study_options *options, const results *r)
{
    FILE *file = study_open(options, "table.csv");
    if (!file) {
        return false;
    }
    printf("  loss             argmin b           Jaccard loss there   above its minimum\n");
    fprintf(file, "loss,argmin b,s.d.,Jaccard loss there,s.d.,above its minimum\n");
    double least = summary_of(&r->jaccard[0][BIAS_JACCARD], r->seeds, BIAS_LOSSES).mean;
    for (int loss = 0; loss < BIAS_LOSSES; loss++) {
        summary b = summary_of(&r->argmin[0][loss], r->seeds, BIAS_LOSSES);
        summary j = summary_of(&r->jaccard[0][loss], r->seeds, BIAS_LOSSES);
        int pad = loss == BIAS_LOVASZ ? 16 : 15; /* á is two bytes */
        printf("  %-*s %7.3f ± %5.3f    %7.4f ± %6.4f     %7.4f\n", pad, bias_loss_names[loss],
               b.mean, b.sd, j.mean, j.sd, j.mean - least);
        fprintf(file, "%s,%.3f,%.3f,%.4f,%.4f,%.4f\n", bias_loss_names[loss], b.mean, b.sd, j.mean,
                j.sd, j.mean - least);
    }
    return study_close(file);
}

/* In how many draws is the Lovász hinge's bias the best of the three surrogates'? */
static size_t draws_won(const results *r)
{
    size_t won = 0;
    for (size_t seed = 0; seed < r->seeds; seed++) {
        const double *j = r->jaccard[seed];
        won += j[BIAS_LOVASZ] < j[BIAS_CROSS_ENTROPY] && j[BIAS_LOVASZ] < j[BIAS_HINGE];
    }
    return won;
}

/* How far the Jaccard loss at the argmin of a loss lies above its minimum, draw by draw. */
static bool excess_of(const results *r, bias_loss loss, paired *d)
{
    double *excess = calloc(r->seeds, sizeof *excess);
    bool good = study_got(excess);
    for (size_t k = 0; k < r->seeds && good; k++) {
        excess[k] = r->jaccard[k][loss] - r->jaccard[k][BIAS_JACCARD];
    }
    if (good) {
        *d = paired_of(excess, r->seeds);
    }
    free(excess);
    return good;
}

static bool judge(const study_options *options, const results *r)
{
    char text[200];
    paired lovasz, hinge, entropy;
    if (!excess_of(r, BIAS_LOVASZ, &lovasz) || !excess_of(r, BIAS_HINGE, &hinge) ||
        !excess_of(r, BIAS_CROSS_ENTROPY, &entropy)) {
        return false;
    }
    study_claims claims;
    if (!study_claims_open(options, &claims)) {
        return false;
    }
    snprintf(text, sizeof text,
             "loss %.4f above the minimum, 95 %% interval [%.4f, %.4f] (landed: < %g)", lovasz.mean,
             lovasz.low, lovasz.high, landed);
    study_judge(&claims, "paper: the Lovász hinge lands at the minimum of the Jaccard loss", text,
                paired_below(lovasz, landed));
    snprintf(text, sizeof text,
             "cross-entropy %.3f [%.3f, %.3f], hinge %.3f [%.3f, %.3f] above the minimum",
             entropy.mean, entropy.low, entropy.high, hinge.mean, hinge.low, hinge.high);
    study_verdict one = paired_above(entropy, landed), two = paired_above(hinge, landed);
    study_judge(&claims, "paper: cross-entropy and hinge do not", text, one > two ? one : two);
    size_t won = draws_won(r);
    snprintf(text, sizeof text,
             "the Lovász hinge has the best bias of the three in %zu of %zu draws", won, r->seeds);
    study_claim(&claims, "ours: and this in at least nine draws of ten", text,
                10 * won >= 9 * r->seeds);
    return study_claims_close(&claims);
}

static bool publish(const study_options *options, const results *r)
{
    double least[BIAS_LOSSES];
    for (int loss = 0; loss < BIAS_LOSSES; loss++) {
        least[loss] = summary_of(&r->argmin[0][loss], r->seeds, BIAS_LOSSES).mean;
    }
    study_values values = {0};
    study_set(&values, "draws", "%zu", r->seeds);
    study_set(&values, "least", "'%.4f %.4f %.4f %.4f'", least[BIAS_CROSS_ENTROPY],
              least[BIAS_HINGE], least[BIAS_LOVASZ], least[BIAS_JACCARD]);
    study_set(&values, "images", "%d", BIAS_IMAGES);
    study_set(&values, "side", "%d", BIAS_SIDE);
    study_set(&values, "smallest", "%d", BIAS_SMALLEST);
    study_set(&values, "largest", "%d", BIAS_LARGEST);
    return study_publish(options, &values);
}

bool study_bias(const study_options *options)
{
    results r = {.seeds = options->quick ? 2 : 100};
    r.curve = calloc(r.seeds, sizeof *r.curve);
    r.argmin = calloc(r.seeds, sizeof *r.argmin);
    r.jaccard = calloc(r.seeds, sizeof *r.jaccard);
    bool good = study_got(r.curve && r.argmin && r.jaccard);
    good = good && measure(options, &r) && write_sample(options) && write_curves(options, &r) &&
           write_table(options, &r) && judge(options, &r) && publish(options, &r);
    free(r.curve);
    free(r.argmin);
    free(r.jaccard);
    return good;
}
