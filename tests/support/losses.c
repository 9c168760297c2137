/* The Lovász losses: a naive reference in double, calls to the library, random batches. */
#include "losses.h"

#include <math.h>
#include <stdlib.h>

#include "support.h"

/* ---- the reference: definitions, O(n^2), double ---- */

/* Extension of the Jaccard loss at errors e with foreground y: repeatedly takes the largest. */
static double jaccard_extension(const double *e, const int *y, size_t n)
{
    bool *taken = calloc(n + 1, sizeof *taken);
    double P = 0, a = 0, b = 0, total = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        P += y[i];
    }
    for (size_t k = 0; k < n; k++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++) {
            if (!taken[i] && (best == n || e[i] > e[best])) {
                best = i;
            }
        }
        taken[best] = true;
        a += y[best];
        b += !y[best];
        double after = (a + b) / (P + b);
        total += e[best] * (after - before);
        before = after;
    }
    free(taken);
    return total;
}

double value_at(const batch *d, kind k, size_t b, size_t c, size_t i)
{
    const double *x = d->x + b * d->C * d->N + i;
    double own = x[c * d->N];
    if (k == SOFTMAX) {
        double sum = 0;
        for (size_t j = 0; j < d->C; j++) {
            sum += exp(x[j * d->N] - own);
        }
        return 1 / sum;
    }
    return k == SIGMOID ? 1 / (1 + exp(-own)) : own;
}

/* settings are read by their definition: groups, classes, weights, ignored labels. */
double reference(const batch *d, kind k, const submod_loss_settings *s)
{
    size_t groups = s->per_image ? d->B : d->B ? 1 : 0, images = s->per_image ? 1 : d->B;
    double *e = malloc((d->B * d->N + 1) * sizeof *e);
    int *y = malloc((d->B * d->N + 1) * sizeof *y);
    double loss = 0;
    for (size_t g = 0; g < groups; g++) {
        double sum = 0, weights = 0;
        for (size_t c = 0; c < d->C; c++) {
            size_t n = 0, P = 0;
            for (size_t b = g * images; b < (g + 1) * images; b++) {
                for (size_t i = 0; i < d->N; i++) {
                    int64_t label =
                        d->multilabel ? d->y[(b * d->C + c) * d->N + i] : d->y[b * d->N + i];
                    if (s->has_ignore && label == s->ignore_index) {
                        continue;
                    }
                    double v = value_at(d, k, b, c, i);
                    y[n] = d->multilabel ? label == 1 : label == (int64_t)c;
                    e[n] = fmax(0, y[n] ? 1 - v : (k == HINGE) + v);
                    P += (size_t)y[n++];
                }
            }
            bool listed = false;
            for (size_t j = 0; j < s->class_count; j++) {
                listed = listed || (size_t)s->class_list[j] == c;
            }
            bool taken = k == HINGE || s->classes == SUBMOD_CLASSES_ALL ||
                         (s->classes == SUBMOD_CLASSES_PRESENT && P > 0) ||
                         (s->classes == SUBMOD_CLASSES_LIST && listed);
            double w = !taken ? 0 : s->class_weight && k != HINGE ? s->class_weight[c] : 1;
            sum += w * jaccard_extension(e, y, n);
            weights += w;
        }
        loss += weights > 0 ? sum / weights / (double)groups : 0;
    }
    free(e);
    free(y);
    return loss;
}

/* ---- calling the library ---- */

float *as_floats(const batch *d)
{
    size_t n = d->B * d->C * d->N;
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)d->x[i];
    }
    return x;
}

submod_status call_views(kind k, const submod_scores *scores, const submod_labels *labels,
                         double *loss, const submod_gradient *g, submod_loss_info *info,
                         const submod_loss_settings *s)
{
    submod_loss_settings of_kind = s ? *s : submod_loss_defaults();
    of_kind.from_logits = k != PROBABILITY && k != SIGMOID_PROBABILITY;
    switch (k) {
    case HINGE: return submod_lovasz_hinge(scores, labels, loss, g, &of_kind, info, NULL);
    case SIGMOID:
    case SIGMOID_PROBABILITY:
        return submod_lovasz_sigmoid(scores, labels, loss, g, &of_kind, info, NULL);
    default: return submod_lovasz_softmax(scores, labels, loss, g, &of_kind, info, NULL);
    }
}

submod_labels label_view(const batch *d)
{
    return d->multilabel ? submod_labels_multilabel(d->y, SUBMOD_LABEL_I64, d->B, d->C, d->N)
                         : submod_labels_i64(d->y, d->B, d->N);
}

double call(const batch *d, kind k, float *gradient, const submod_loss_settings *s)
{
    float *x = as_floats(d);
    submod_scores scores = submod_scores_f32(x, d->B, d->C, d->N);
    submod_labels labels = label_view(d);
    submod_gradient g = submod_gradient_dense(gradient, d->C, d->N);
    double loss;
    ck_assert_ok(call_views(k, &scores, &labels, &loss, gradient ? &g : NULL, NULL, s));
    free(x);
    return loss;
}

/* Random scores and labels; every label 9 is the ignored one. */
batch random_batch(submod_rng *rng, kind k, size_t B, size_t C, size_t N, bool ignore)
{
    batch d = {B,    C,
               N,    malloc((B * C * N + 1) * sizeof(double)),
               NULL, k == SIGMOID || k == SIGMOID_PROBABILITY || k == HINGE};
    size_t labels = d.multilabel ? B * C * N : B * N;
    d.y = malloc((labels + 1) * sizeof *d.y);
    for (size_t i = 0; i < B * C * N; i++) { /* exact in float */
        d.x[i] = (float)(2 * submod_rng_normal(rng));
    }
    for (size_t i = 0; i < labels; i++) {
        d.y[i] = (int64_t)submod_rng_below(rng, d.multilabel ? 2 : C);
        d.y[i] = ignore && submod_rng_below(rng, 4) == 0 ? 9 : d.y[i];
    }
    return d;
}

void free_batch(batch *d)
{
    free(d->x);
    free(d->y);
}

submod_loss_settings random_settings(submod_rng *rng, bool ignore)
{
    static const double weights[4] = {0.5, 2, 0, 1};
    static const int32_t list[2] = {2, 0};
    submod_loss_settings s = submod_loss_defaults();
    s.per_image = (int)submod_rng_below(rng, 2);
    s.classes = (submod_classes)submod_rng_below(rng, 3);
    s.class_list = list;
    s.class_count = s.classes == SUBMOD_CLASSES_LIST ? 2 : 0;
    s.class_weight = submod_rng_below(rng, 2) ? weights : NULL;
    s.has_ignore = ignore;
    s.ignore_index = 9;
    return s;
}
