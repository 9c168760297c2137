/* Losses by a sort of doubles (see defined.h). */
#include "defined.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static int64_t label_at(const batch *d, size_t b, size_t c, size_t i)
{
    int64_t y = d->multilabel ? d->y[(b * d->C + c) * d->N + i] : d->y[b * d->N + i];
    return d->multilabel || y == 9 ? y : y == (int64_t)c; /* 9 is ignored */
}

/* The weight of a pixel. */
static double weight_at(const submod_loss_settings *s, size_t b, size_t i)
{
    const submod_pixel_weights *w = s->pixel_weights;
    return w ? (double)w->data[(ptrdiff_t)b * w->batch_stride + (ptrdiff_t)i * w->pixel_stride] : 1;
}

/* The error of one entry; -1: it has no part. Single operations on floats are done as such. */
static double error_at(const batch *d, kind k, const submod_loss_settings *s, size_t b, size_t c,
                       size_t i)
{
    int64_t y = weight_at(s, b, i) > 0 ? label_at(d, b, c, i) : 9;
    double v = value_at(d, k, b, c, i);
    double e = y == 1 ? 1 - v : (k == HINGE) + v;
    e = k == SOFTMAX || k == SIGMOID ? e : (double)(float)e;
    return y == 9 || (k == HINGE && e <= 0) ? -1 : fmax(e, 0);
}

/* What the bins cover: probabilities, or a power of two above all margins. */
static double range_of(const batch *d, kind k, const submod_loss_settings *s)
{
    double range = k == HINGE ? 0x1p-24 : 1;
    for (size_t j = 0; k == HINGE && j < d->B * d->N; j++) {
        while (error_at(d, k, s, j / d->N, 0, j % d->N) >= range) {
            range *= 2;
        }
    }
    return range;
}

static double middle_of(double e, double range, size_t bins)
{
    double bin = fmin(floor(e / range * (double)bins), (double)bins - 1);
    return (bin + 0.5) * range / (double)bins;
}

/* One class of some images. */
typedef struct part {
    size_t first, last, c;
    double P, N;
    double coefficient;
} part;

static part count_part(const batch *d, const submod_loss_settings *s, size_t first, size_t last,
                       size_t c)
{
    part p = {.first = first, .last = last, .c = c};
    for (size_t j = first * d->N; j < last * d->N; j++) {
        int64_t y = label_at(d, j / d->N, c, j % d->N);
        double w = weight_at(s, j / d->N, j % d->N);
        p.P += y == 1 ? w : 0;
        p.N += y != 1 && y != 9 ? w : 0;
    }
    return p;
}

/* The derivative by v. */
static double part_loss(const batch *d, kind k, const submod_loss_settings *s, const part *p,
                        const costs *F, double range, size_t bins, double *gradient)
{
    ranked *r = malloc(((p->last - p->first) * d->N + 1) * sizeof *r);
    size_t n = 0;
    for (size_t b = p->first; b < p->last; b++) {
        for (size_t i = 0; i < d->N; i++) {
            double e = error_at(d, k, s, b, p->c, i);
            if (e >= 0) {
                r[n].error = bins ? middle_of(e, range, bins) : e;
                r[n].weight = weight_at(s, b, i);
                r[n].background = label_at(d, b, p->c, i) != 1;
                r[n++].at = (b * d->C + p->c) * d->N + i;
            }
        }
    }
    double value = rank_errors(r, n, F, p->P, p->N, p->coefficient, gradient);
    free(r);
    return p->coefficient * value;
}

/* From the derivative by v to that by the scores. */
static void through_activation(const batch *d, kind k, double *gradient)
{
    double p[8];
    for (size_t j = 0; k == SOFTMAX && j < d->B * d->N; j++) {
        double *g = gradient + j / d->N * d->C * d->N + j % d->N;
        double mean = 0;
        for (size_t c = 0; c < d->C; c++) {
            p[c] = value_at(d, k, j / d->N, c, j % d->N);
            mean += p[c] * g[c * d->N];
        }
        for (size_t c = 0; c < d->C; c++) {
            g[c * d->N] = p[c] * (g[c * d->N] - mean);
        }
    }
    for (size_t j = 0; k == SIGMOID && j < d->B * d->C * d->N; j++) {
        gradient[j] *= 1 / (1 + exp(-d->x[j])) / (1 + exp(d->x[j]));
    }
}

/* What a class counts for, before all are divided by their sum. */
static double weight_of(kind k, const submod_loss_settings *s, size_t c, double P)
{
    bool listed = false;
    for (size_t j = 0; j < s->class_count; j++) {
        listed = listed || (size_t)s->class_list[j] == c;
    }
    if (k == HINGE) {
        return 1;
    }
    bool taken =
        s->classes == SUBMOD_CLASSES_ALL || (s->classes == SUBMOD_CLASSES_LIST ? listed : P > 0);
    return !taken ? 0 : s->class_weight ? s->class_weight[c] : 1;
}

double by_definition(const batch *d, kind k, const submod_loss_settings *s, const costs *F,
                     size_t bins, double *gradient, double *steepest, double *group_loss)
{
    size_t groups = s->per_image ? d->B : 1, images = d->B / groups;
    double range = range_of(d, k, s), loss = 0;
    memset(gradient, 0, d->B * d->C * d->N * sizeof *gradient);
    for (size_t g = 0; g < groups; g++) {
        part p[8];
        double sum = 0, of_group = 0;
        for (size_t c = 0; c < d->C; c++) {
            p[c] = count_part(d, s, g * images, (g + 1) * images, c);
            p[c].coefficient = weight_of(k, s, c, p[c].P);
            sum += p[c].coefficient;
        }
        for (size_t c = 0; c < d->C; c++) {
            if (p[c].coefficient > 0) {
                p[c].coefficient /= sum * (double)groups;
                of_group += part_loss(d, k, s, &p[c], F, range, bins, gradient);
            }
        }
        loss += of_group;
        if (group_loss) {
            group_loss[g] = of_group * (double)groups;
        }
    }
    *steepest = max_abs(gradient, d->B * d->C * d->N);
    through_activation(d, k, gradient);
    return loss;
}

void assert_gradient(const batch *d, kind k, const float *g, const double *wanted, double steepest)
{
    bool activated = k == SOFTMAX || k == SIGMOID;
    for (size_t i = 0; i < d->B * d->C * d->N; i++) {
        double tolerance = activated ? 1e-6 * steepest : 2e-7 * fabs(wanted[i]) + 1e-15;
        if (!(fabs((double)g[i] - wanted[i]) <= tolerance)) { /* an assertion takes its time */
            ck_assert_near((double)g[i], wanted[i], tolerance);
        }
    }
}
