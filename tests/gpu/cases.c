/* Random problems for the GPU path: made, run on the CPU, and two runs compared. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_multilabel(kind k)
{
    return k == SIGMOID || k == SIGMOID_P || k == HINGE;
}

bool from_logits(kind k)
{
    return k != SOFTMAX_P && k != SIGMOID_P;
}

submod_loss_settings settings_for(kind k, const submod_loss_settings *s)
{
    submod_loss_settings own = s ? *s : submod_loss_defaults();
    own.from_logits = from_logits(k);
    return own;
}

void random_weights(submod_rng *rng, size_t n, float *w)
{
    enum { WHOLE, EQUAL, SMALL, WIDE, SORTS };
    uint64_t sort = submod_rng_below(rng, SORTS);
    int middle = (int)submod_rng_below(rng, 160) - 80;
    float equal = (float)submod_rng_uniform(rng);
    for (size_t i = 0; i < n; i++) {
        double u = submod_rng_uniform(rng);
        switch (sort) {
        case WHOLE: w[i] = (float)submod_rng_below(rng, 4); break;
        case EQUAL: w[i] = equal; break;
        case SMALL: w[i] = (float)ldexp(u, submod_rng_below(rng, 4) ? -135 : -200); break;
        default: w[i] = (float)ldexp(u, middle + (int)submod_rng_below(rng, 40)); break;
        }
    }
}

example random_example(submod_rng *rng, kind k, size_t B, size_t C, size_t N, bool coarse,
                       bool ignore)
{
    C = k == HINGE ? 1 : C;
    example d = {k, B, C, N, malloc((B * C * N + 1) * sizeof(float)), NULL, NULL};
    size_t labels = is_multilabel(k) ? B * C * N : B * N;
    d.y = malloc((labels + 1) * sizeof *d.y);
    for (size_t i = 0; i < B * C * N; i++) {
        double u = coarse ? (double)submod_rng_below(rng, 5) / 4 : submod_rng_uniform(rng);
        bool probability = k == SOFTMAX_P || k == SIGMOID_P;
        d.x[i] = (float)(probability ? u : coarse ? 4 * u - 2 : 3 * submod_rng_normal(rng));
    }
    for (size_t i = 0; i < labels; i++) {
        d.y[i] = (int64_t)submod_rng_below(rng, is_multilabel(k) ? 2 : C);
        d.y[i] = ignore && submod_rng_below(rng, 4) == 0 ? IGNORED : d.y[i];
    }
    if (submod_rng_below(rng, 2)) {
        d.w = malloc((B * N + 1) * sizeof *d.w);
        random_weights(rng, B * N, d.w);
    }
    return d;
}

void free_example(example *d)
{
    free(d->x);
    free(d->y);
    free(d->w);
}

submod_scores scores_of(const example *d)
{
    return submod_scores_f32(d->x, d->B, d->C, d->N);
}

submod_labels labels_of(const example *d)
{
    return is_multilabel(d->kind)
               ? submod_labels_multilabel(d->y, SUBMOD_LABEL_I64, d->B, d->C, d->N)
               : submod_labels_i64(d->y, d->B, d->N);
}

submod_measure random_measure(submod_rng *rng)
{
    static const double alphas[] = {0, 0.5, 1, 3}, betas[] = {1, 1.5, 4};
    switch (submod_rng_below(rng, 3)) {
    case 0: return submod_jaccard();
    case 1: return submod_hamming();
    default:
        return submod_tversky(alphas[submod_rng_below(rng, 4)], betas[submod_rng_below(rng, 3)]);
    }
}

/* Some are 0, some as large or small as can be; not that of class 0, so that one is left. */
static void random_class_weights(submod_rng rng, double *weight)
{
    static const double scale[] = {0, 1, 1, 1, 1e300, 1e-300};
    weight[0] = 0.5;
    for (size_t c = 1; c < MOST_WEIGHTED; c++) {
        weight[c] = scale[submod_rng_below(&rng, 6)] * (1 + submod_rng_uniform(&rng));
    }
}

submod_loss_settings random_settings(submod_rng *rng, bool ignore)
{
    static const int32_t list[] = {0};
    static double weight[MOST_WEIGHTED];
    static submod_measure measure; /* the settings borrow both */
    random_class_weights(*rng, weight);
    measure = random_measure(rng);
    submod_loss_settings s = submod_loss_defaults();
    s.measure = &measure;
    s.engine = (submod_engine)submod_rng_below(rng, 2);
    s.delta = ldexp(1, -(int)submod_rng_below(rng, 12));
    s.bins = submod_rng_below(rng, 2) ? 0 : (size_t)2 << submod_rng_below(rng, 11);
    s.per_image = (int)submod_rng_below(rng, 2);
    s.classes = (submod_classes)submod_rng_below(rng, 3);
    s.class_list = list;
    s.class_count = s.classes == SUBMOD_CLASSES_LIST ? 1 : 0;
    s.class_weight = submod_rng_below(rng, 2) ? weight : NULL;
    s.has_ignore = ignore;
    s.ignore_index = IGNORED;
    return s;
}

submod_status on_cpu(const example *d, double *loss, const submod_gradient *g,
                     submod_loss_info *info, const submod_loss_settings *s)
{
    submod_scores scores = scores_of(d);
    submod_labels labels = labels_of(d);
    submod_loss_settings own = settings_for(d->kind, s);
    switch (d->kind) {
    case HINGE: return submod_lovasz_hinge(&scores, &labels, loss, g, &own, info, NULL);
    case SIGMOID:
    case SIGMOID_P: return submod_lovasz_sigmoid(&scores, &labels, loss, g, &own, info, NULL);
    default: return submod_lovasz_softmax(&scores, &labels, loss, g, &own, info, NULL);
    }
}

bool same_floats(const float *a, const float *b, size_t n)
{
    size_t same = 0;
    for (size_t i = 0; i < n; i++) {
        same += a[i] == b[i];
    }
    return same == n;
}

/* What differs between two runs that wrote n numbers each, and losses of groups after their own. */
static const char *difference(double *const loss[2], size_t groups, float *const g[2], size_t n,
                              const submod_loss_info info[2])
{
    static char words[200];
    for (size_t i = 0; i <= groups; i++) {
        if (!(fabs(loss[0][i] - loss[1][i]) <= 1e-13 * fmax(1, fabs(loss[0][i])))) {
            snprintf(words, sizeof words, "losses[%zu] %.17g and %.17g", i, loss[0][i], loss[1][i]);
            return words;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!(g[0][i] == g[1][i])) {
            snprintf(words, sizeof words, "gradients[%zu] %.9g and %.9g", i, (double)g[0][i],
                     (double)g[1][i]);
            return words;
        }
    }
    if (info[0].pixels != info[1].pixels || info[0].terms != info[1].terms ||
        info[0].bins != info[1].bins || info[0].delta != info[1].delta) {
        snprintf(words, sizeof words,
                 "info: pixels %llu %llu, terms %zu %zu, bins %zu %zu, delta %g %g",
                 (unsigned long long)info[0].pixels, (unsigned long long)info[1].pixels,
                 info[0].terms, info[1].terms, (size_t)info[0].bins, (size_t)info[1].bins,
                 info[0].delta, info[1].delta);
        return words;
    }
    return NULL;
}

submod_status read_result(const submod_gpu_result *r, double *loss, submod_loss_info *info)
{
    submod_status status = submod_gpu_result_status(r);
    if (status == SUBMOD_OK && loss) {
        *loss = r->loss;
    }
    if (status == SUBMOD_OK && info) {
        *info = (submod_loss_info){
            .delta = r->delta, .bins = r->bins, .pixels = r->pixels, .terms = (size_t)r->terms};
    }
    return status;
}

/* Translates the indices in the CPU's message about refused data, such as "labels[1][5] = 9", into
 * the words of submod_gpu_result_status. Returns false for other messages. */
static bool device_words(const example *d, const char *of_cpu, char *words, size_t size)
{
    static const char *const names[][2] = {
        {": labels[", "label"}, {": scores[", "score"}, {": pixel_weights[", "pixel weight"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *at = strstr(of_cpu, names[k][0]);
        if (at) {
            size_t index[3] = {0};
            const char *indices = at + strlen(names[k][0]);
            int count = sscanf(indices, "%zu][%zu][%zu]", &index[0], &index[1], &index[2]);
            size_t row = count == 3 ? index[0] * d->C + index[1] : index[0];
            snprintf(words, size, "the %s at position %zu is", names[k][1],
                     row * d->N + index[count - 1]);
            return true;
        }
    }
    return false;
}

/* Returns a message without the name of the public function, which functions inside the library do
 * not add. */
static const char *without_name(const char *message)
{
    const char *colon = strncmp(message, "submod_", 7) == 0 ? strchr(message, ':') : NULL;
    return colon ? colon + 2 : message;
}

/* Whether a message, without the name of its function, is the CPU's. */
static bool same_message(const example *d, const char *of_cpu, const char *message)
{
    char words[100];
    return strcmp(without_name(of_cpu), without_name(message)) == 0 ||
           (device_words(d, of_cpu, words, sizeof words) && strstr(message, words));
}

const char *compare(const example *d, const submod_loss_settings *s, runner run,
                    const void *context)
{
    static char words[400];
    size_t n = d->B * d->C * d->N;
    float *g[2];
    double *loss[2];
    submod_loss_settings own = *s;
    submod_pixel_weights weights = submod_pixel_weights_f32(d->w, d->B, d->N);
    own.pixel_weights = d->w ? &weights : NULL;
    submod_loss_info info[2];
    memset(info, 0, sizeof info);
    submod_status status[2];
    for (int i = 0; i < 2; i++) {
        g[i] = malloc((n + 1) * sizeof **g);
        for (size_t k = 0; k <= n; k++) {
            g[i][k] = (float)k;
        }
        loss[i] = malloc((d->B + 2) * sizeof **loss);
        for (size_t k = 0; k < d->B + 2; k++) {
            loss[i][k] = 7;
        }
    }
    submod_gradient to[2] = {submod_gradient_dense(g[0], d->C, d->N),
                             submod_gradient_dense(g[1], d->C, d->N)};
    to[0].accumulate = to[1].accumulate = d->N % 2 == 0;
    own.group_loss = loss[0] + 1;
    status[0] = on_cpu(d, loss[0], &to[0], &info[0], &own);
    snprintf(words, sizeof words, "%s", status[0] == SUBMOD_OK ? "" : submod_last_error());
    own.group_loss = loss[1] + 1;
    status[1] = run(d, loss[1], &to[1], &info[1], &own, context);
    const char *found = NULL;
    if (status[0] != status[1] ||
        (status[0] != SUBMOD_OK && !same_message(d, words, submod_last_error()))) {
        size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, " (%d) | %s (%d)", (int)status[0],
                 submod_last_error(), (int)status[1]);
        found = words;
    }
    found = found ? found : difference(loss, d->B + 1, g, n, info);
    for (int i = 0; i < 2; i++) {
        free(g[i]);
        free(loss[i]);
    }
    return found;
}
