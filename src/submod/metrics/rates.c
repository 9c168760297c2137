/* Precision, recall, F and Tversky from confusion counts:
 *
 *   I / P,   I / T,   (1 + b^2) I / (b^2 T + P),   I / (I + alpha (P - I) + beta (T - I))
 *
 * per class, and their means. O(C^2) for C classes.
 */
#include <math.h>

#include "base/error.h"
#include "submod/metrics/confusion.h"

enum { PRECISION, RECALL, F_SCORE, TVERSKY, RATES };

/* What the rates are made of. */
typedef struct weights {
    double b, alpha, beta;
} weights;

static submod_status require_weights(const char *who, const weights *w)
{
    submod_status status = submodi_require_at_least_zero(who, "b", w->b);
    status = status ? status : submodi_require_at_least_zero(who, "alpha", w->alpha);
    return status ? status : submodi_require_at_least_zero(who, "beta", w->beta);
}

/* A 0/0 of a class that is not left out: 1 or 0. */
static double rate(submod_absent absent, double numerator, double denominator)
{
    double value = submodi_quotient(absent, numerator, denominator);
    return isnan(value) ? 0 : value;
}

/* What I is divided by for F: (b^2 T + P) / (1 + b^2), which no b makes too large; exactly T if T
 * and P are the same, so that a perfect prediction has F = 1. */
static double f_denominator(double b, double T, double P)
{
    return b < 1 ? P + b * b / (1 + b * b) * (T - P) : T + (P - T) / (1 + b * b);
}

static void class_rates(const submodi_averaging *a, const submod_confusion *c, const weights *w,
                        size_t k, double rates[RATES])
{
    submod_absent absent = a->absent;
    double I = (double)c->counts[k * a->classes + k];
    double T = (double)a->truth[k];
    double P = (double)a->prediction[k];
    if ((absent == SUBMOD_ABSENT_TRUTH && a->truth[k] == 0) ||
        (absent == SUBMOD_ABSENT_SKIP && a->truth[k] == 0 && a->prediction[k] == 0)) {
        rates[PRECISION] = rates[RECALL] = rates[F_SCORE] = rates[TVERSKY] = NAN;
        return;
    }
    rates[PRECISION] = rate(absent, I, P);
    rates[RECALL] = rate(absent, I, T);
    rates[F_SCORE] = rate(absent, I, f_denominator(w->b, T, P));
    rates[TVERSKY] = rate(absent, I, I + w->alpha * (P - I) + w->beta * (T - I));
}

submod_status submod_confusion_rates(const submod_confusion *confusion, double b, double alpha,
                                     double beta, double *precision, double *recall,
                                     double *f_score, double *tversky, submod_rates_values *means,
                                     const submod_metric_settings *settings)
{
    static const char who[] = "submod_confusion_rates";
    const weights w = {b, alpha, beta};
    double *const outputs[RATES] = {precision, recall, f_score, tversky};
    submodi_mean mean[RATES] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    submodi_averaging a;
    submod_status status = submodi_require_given(who, "confusion", confusion);
    status = status ? status : require_weights(who, &w);
    status = status ? status
                    : submodi_averaging_init(who, &a, (size_t)confusion->rule.classes, settings);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_sum_classes(&a, confusion);
    for (size_t k = 0; k < a.classes; k++) {
        double rates[RATES];
        class_rates(&a, confusion, &w, k, rates);
        for (int r = 0; r < RATES; r++) {
            if (outputs[r]) {
                outputs[r][k] = rates[r];
            }
            if (a.chosen[k]) {
                submodi_mean_add(&mean[r], rates[r]);
            }
        }
    }
    if (means) {
        *means = (submod_rates_values){.precision = submodi_mean_value(&mean[PRECISION]),
                                       .recall = submodi_mean_value(&mean[RECALL]),
                                       .f_score = submodi_mean_value(&mean[F_SCORE]),
                                       .tversky = submodi_mean_value(&mean[TVERSKY]),
                                       .averaged = (size_t)mean[PRECISION].count};
    }
    submodi_averaging_clear(&a);
    return SUBMOD_OK;
}
