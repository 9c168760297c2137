/* Losses of a softmax where exp or its sum could go wrong: scores above 40, whose pixels are
 * shifted, and thousands of classes. Against the definition in doubles, and bit by bit against
 * calls without large scores or with another layout. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "loss/tensors/float_bits.h"
#include "ranked.h"
#include "support.h"

static const char *const isas[] = {"baseline", "avx2", "avx512"};
enum { ISAS = 3 };

/* Whether this machine has it; then it is in use. */
static bool use(const char *isa)
{
    submodi_isa_choose(isa);
    return strcmp(submod_isa(), isa) == 0;
}

enum { BINS = 256, IGNORED = -1 };

typedef enum { EXACT, COUNTED, ENTROPY, DICE, JACCARD, LOSSES } loss_kind;

typedef struct images {
    size_t B, C, N;
    float *x; /* B x C x N */
    int32_t *y;
} images;

static size_t size_of(const images *d)
{
    return d->B * d->C * d->N;
}

/* ---- the library ---- */

static submod_status call_views(loss_kind k, const submod_scores *x, const submod_labels *y,
                                bool per_image, double *loss, const submod_gradient *g)
{
    submod_loss_settings s = submod_loss_defaults();
    s.per_image = per_image;
    s.engine = k == COUNTED ? SUBMOD_ENGINE_HISTOGRAM : SUBMOD_ENGINE_EXACT;
    s.bins = BINS;
    s.has_ignore = 1;
    s.ignore_index = IGNORED;
    switch (k) {
    case ENTROPY: return submod_cross_entropy(x, y, loss, g, &s, NULL);
    case DICE: return submod_soft_dice(x, y, loss, g, &s, NULL);
    case JACCARD: return submod_soft_jaccard(x, y, loss, g, &s, NULL);
    default: return submod_lovasz_softmax(x, y, loss, g, &s, NULL, NULL);
    }
}

static double call(const images *d, loss_kind k, bool per_image, float *gradient)
{
    submod_scores x = submod_scores_f32(d->x, d->B, d->C, d->N);
    submod_labels y = submod_labels_i32(d->y, d->B, d->N);
    submod_gradient g = submod_gradient_dense(gradient, d->C, d->N);
    double loss;
    ck_assert_ok(call_views(k, &x, &y, per_image, &loss, &g));
    return loss;
}

/* ---- the definition, in doubles ---- */

typedef struct softmax {
    double *p;        /* B x C x N */
    double *others;   /* B x N: the sum of all probabilities but that of the label */
    double *surprise; /* B x N: -log of the probability of the label, 0 at ignored pixels */
} softmax;

/* One pixel, whose scores are N apart. */
static void softmax_at(const float *x, size_t C, size_t N, int32_t label, double *p, double *others,
                       double *surprise)
{
    double top = (double)x[0], sum = 0;
    *others = 0;
    for (size_t c = 0; c < C; c++) {
        top = fmax(top, (double)x[c * N]);
    }
    for (size_t c = 0; c < C; c++) {
        p[c * N] = exp((double)x[c * N] - top);
        sum += p[c * N];
        *others += c == (size_t)label ? 0 : p[c * N];
    }
    for (size_t c = 0; c < C; c++) {
        p[c * N] /= sum;
    }
    *others /= sum;
    if (label == IGNORED) {
        *surprise = 0;
    } else {
        *surprise =
            *others < 0.5 ? -log1p(-*others) : top - (double)x[(size_t)label * N] + log(sum);
    }
}

static softmax softmax_of(const images *d)
{
    softmax m = {malloc(size_of(d) * sizeof *m.p), malloc(d->B * d->N * sizeof *m.others),
                 malloc(d->B * d->N * sizeof *m.surprise)};
    for (size_t t = 0; t < d->B * d->N; t++) {
        size_t at = t / d->N * d->C * d->N + t % d->N;
        softmax_at(d->x + at, d->C, d->N, d->y[t], m.p + at, &m.others[t], &m.surprise[t]);
    }
    return m;
}

static void free_softmax(softmax *m)
{
    free(m->p);
    free(m->others);
    free(m->surprise);
}

/* The errors of one class in images first .. last - 1; their number. */
static size_t errors_of(const images *d, const double *p, loss_kind k, size_t c, size_t first,
                        size_t last, ranked *r, double *P)
{
    size_t n = 0;
    *P = 0;
    for (size_t t = first * d->N; t < last * d->N; t++) {
        if (d->y[t] != IGNORED) {
            r[n].at = (t / d->N * d->C + c) * d->N + t % d->N;
            r[n].background = d->y[t] != (int32_t)c;
            r[n].weight = 1;
            double e = r[n].background ? p[r[n].at] : 1 - p[r[n].at];
            double middle = (fmin(floor(e * BINS), BINS - 1) + 0.5) / BINS;
            r[n].error = k == COUNTED ? middle : e;
            *P += !r[n++].background;
        }
    }
    return n;
}

/* Soft Dice, or soft Jaccard. */
static double overlap(const ranked *r, size_t n, double P, const double *p, bool dice, double *g)
{
    double I = 0, S = 0;
    for (size_t j = 0; j < n; j++) {
        S += p[r[j].at];
        I += r[j].background ? 0 : p[r[j].at];
    }
    double D = dice ? S + P : S + P - I, top = dice ? 2 * I : I;
    for (size_t j = 0; j < n; j++) { /* 1 - top / D */
        double d_top = r[j].background ? 0 : dice ? 2 : 1;
        double d_D = dice ? 1 : r[j].background;
        g[r[j].at] = -d_top / D + top / (D * D) * d_D;
    }
    return 1 - top / D;
}

/* Losses that are means over the classes present, of images first .. last - 1; g: by p. */
static double mean_over_classes(const images *d, const softmax *m, loss_kind k, size_t first,
                                size_t last, double *g)
{
    ranked *r = malloc(((last - first) * d->N + 1) * sizeof *r);
    const costs jaccard = {jaccard_cost, NULL};
    double sum = 0, terms = 0, P;
    for (size_t c = 0; c < d->C; c++) {
        size_t n = errors_of(d, m->p, k, c, first, last, r, &P);
        if (P > 0) {
            terms++;
            sum += k == EXACT || k == COUNTED ? rank_errors(r, n, &jaccard, P, (double)n - P, 1, g)
                                              : overlap(r, n, P, m->p, k == DICE, g);
        }
    }
    for (size_t j = first * d->C * d->N; j < last * d->C * d->N; j++) {
        g[j] = terms > 0 ? g[j] / terms : 0;
    }
    free(r);
    return terms > 0 ? sum / terms : 0;
}

/* From derivatives by p to those by the scores. */
static void through_softmax(const images *d, const double *p, double *g)
{
    for (size_t t = 0; t < d->B * d->N; t++) {
        size_t at = t / d->N * d->C * d->N + t % d->N;
        double mean = 0;
        for (size_t c = 0; c < d->C; c++) {
            mean += p[at + c * d->N] * g[at + c * d->N];
        }
        for (size_t c = 0; c < d->C; c++) {
            g[at + c * d->N] = p[at + c * d->N] * (g[at + c * d->N] - mean);
        }
    }
}

/* By the scores at once. */
static double entropy(const images *d, const softmax *m, double *g)
{
    double n = 0, sum = 0;
    for (size_t t = 0; t < d->B * d->N; t++) {
        n += d->y[t] != IGNORED;
        sum += m->surprise[t];
    }
    for (size_t t = 0; t < d->B * d->N; t++) {
        for (size_t c = 0; c < d->C && d->y[t] != IGNORED; c++) {
            size_t at = (t / d->N * d->C + c) * d->N + t % d->N;
            g[at] = (d->y[t] == (int32_t)c ? -m->others[t] : m->p[at]) / n;
        }
    }
    return sum / fmax(n, 1);
}

/* One group. *steepest: what rounding is in proportion to. */
static double by_definition(const images *d, const softmax *m, loss_kind k, double *g,
                            double *steepest)
{
    memset(g, 0, size_of(d) * sizeof *g);
    if (k == ENTROPY) {
        double loss = entropy(d, m, g);
        *steepest = max_abs(g, size_of(d));
        return loss;
    }
    double loss = mean_over_classes(d, m, k, 0, d->B, g);
    *steepest = max_abs(g, size_of(d));
    through_softmax(d, m->p, g);
    return loss;
}

/* ---- comparing ---- */

static float *new_floats(size_t n)
{
    return malloc((n + 1) * sizeof(float));
}

static bool same_bits(float a, float b)
{
    return submodi_to_bits(a) == submodi_to_bits(b);
}

static void assert_same_bits(const float *g, const float *h, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!same_bits(g[i], h[i])) {
            ck_abort_msg("[%zu] %.9g and %.9g", i, (double)g[i], (double)h[i]);
        }
    }
}

/* All losses, with every instruction set, against the definition. */
static void check_all(const images *d, double accuracy)
{
    size_t n = size_of(d);
    double *wanted = malloc(n * sizeof *wanted);
    float *g = new_floats(n);
    softmax m = softmax_of(d);
    for (int k = 0; k < LOSSES; k++) {
        double steepest, loss = by_definition(d, &m, (loss_kind)k, wanted, &steepest);
        for (size_t isa = 0; isa < ISAS && use(isas[isa]); isa++) {
            memset(g, 0x55, n * sizeof *g);
            ck_assert_near(call(d, (loss_kind)k, false, g), loss, accuracy * fmax(1, loss));
            for (size_t i = 0; i < n; i++) {
                if (!(fabs((double)g[i] - wanted[i]) <= accuracy * steepest)) {
                    ck_abort_msg("loss %d, %s: [%zu] %.9g, wanted %.9g, steepest %g", k, isas[isa],
                                 i, (double)g[i], wanted[i], steepest);
                }
            }
        }
    }
    submodi_isa_choose(NULL);
    free(wanted);
    free(g);
    free_softmax(&m);
}

/* ---- random images ---- */

/* Whether rounding leaves all errors of a pixel in their bins. */
static bool is_clear(const float *x, size_t C, size_t N)
{
    double top = -INFINITY, sum = 0;
    bool clear = true;
    for (size_t c = 0; c < C; c++) {
        top = fmax(top, (double)x[c * N]);
    }
    for (size_t c = 0; c < C; c++) {
        sum += exp((double)x[c * N] - top);
    }
    for (size_t c = 0; c < C; c++) {
        double in_bins = exp((double)x[c * N] - top) / sum * BINS, part = in_bins - floor(in_bins);
        clear = clear && (part > 0.01 || in_bins < 1) && (part < 0.99 || in_bins > BINS - 1);
    }
    return clear;
}

/* size 0: scores as usual, the label and a rival ahead of many others. Else they have about this
 * size, and either sign. */
static void draw_pixel(images *d, size_t t, double size, submod_rng *rng)
{
    float *x = d->x + t / d->N * d->C * d->N + t % d->N;
    do {
        for (size_t c = 0; c < d->C; c++) {
            double s = size > 0 && submod_rng_below(rng, 2) ? -size : size;
            x[c * d->N] = (float)(s + (size == 40 ? 0 : 2 * submod_rng_normal(rng)));
        }
        for (size_t j = 0; j < 2 && size == 0; j++) {
            size_t c = j || d->y[t] == IGNORED ? submod_rng_below(rng, d->C) : (size_t)d->y[t];
            x[c * d->N] += (float)(1.5 * log((double)d->C) * submod_rng_uniform(rng));
        }
    } while (!is_clear(x, d->C, d->N));
}

static images make_images(size_t B, size_t C, size_t N, bool ignore, submod_rng *rng)
{
    images d = {B, C, N, malloc(B * C * N * sizeof *d.x), malloc(B * N * sizeof *d.y)};
    for (size_t t = 0; t < B * N; t++) {
        d.y[t] =
            ignore && submod_rng_below(rng, 4) == 0 ? IGNORED : (int32_t)submod_rng_below(rng, C);
        draw_pixel(&d, t, 0, rng);
    }
    return d;
}

static images copy_of(const images *d)
{
    images e = *d;
    e.x = malloc(size_of(d) * sizeof *e.x);
    e.y = malloc(d->B * d->N * sizeof *e.y);
    memcpy(e.x, d->x, size_of(d) * sizeof *e.x);
    memcpy(e.y, d->y, d->B * d->N * sizeof *e.y);
    return e;
}

static void free_images(images *d)
{
    free(d->x);
    free(d->y);
}

/* ---- large scores ---- */

/* 40 is the largest that is not shifted; 3e38 is almost the largest float. */
static const double sizes[] = {40, 40.5, 87, 100, 1e4, 3e38};
enum { SIZES = sizeof sizes / sizeof *sizes, CLASSES = 5 };
/* Pixels of a batch from which on the library starts threads, and some more. */
enum { ENOUGH = 13211 };

/* Which pixels have them. LAST_ODD: those that do not fill a vector at the end of an image. */
typedef enum { ONE, ALL, ONLY_IGNORED, LAST_ODD, PLACES } place;

static bool is_large(const images *d, place where, size_t t)
{
    switch (where) {
    case ONE: return t == d->N / 2;
    case ALL: return true;
    case ONLY_IGNORED: return d->y[t] == IGNORED;
    default: return t % d->N >= d->N / 16 * 16;
    }
}

static void enlarge(images *d, place where, double size, submod_rng *rng)
{
    for (size_t t = 0; t < d->B * d->N; t++) {
        if (is_large(d, where, t)) {
            draw_pixel(d, t, size, rng);
        }
    }
}

/* Pixel t as pixel i of `few`, but for its label. */
static void copy_pixel(images *d, size_t t, const images *few, size_t i)
{
    for (size_t c = 0; c < d->C; c++) {
        d->x[(t / d->N * d->C + c) * d->N + t % d->N] = few->x[c * few->N + i];
    }
}

/* More than one tile, the last one odd. The pixels are copies of a few: errors are equal or far
 * from each other, and rounding does not change their order. */
START_TEST(large_scores_by_definition)
{
    enum { FEW = 40 };
    submod_rng rng;
    submod_rng_seed(&rng, 51);
    for (int j = 0; j < SIZES * PLACES; j++) {
        images d = make_images(2, CLASSES, j % 3 ? 1024 + 37 : 23, true, &rng);
        images few = make_images(1, CLASSES, FEW, false, &rng), large = copy_of(&few);
        enlarge(&large, ALL, sizes[j % SIZES], &rng);
        for (size_t t = 0; t < d.B * d.N; t++) {
            copy_pixel(&d, t, is_large(&d, (place)(j / SIZES), t) ? &large : &few,
                       submod_rng_below(&rng, FEW));
        }
        check_all(&d, 2e-6);
        free_images(&d);
        free_images(&few);
        free_images(&large);
    }
}
END_TEST

/* All scores the same: also of thousands of classes, whose sum must not overflow. */
START_TEST(equal_scores_give_equal_probabilities)
{
    static const float values[] = {-3e38F, -1e4F, -87, -41, -40, 40, 41, 87, 1e4F, 3e38F};
    submod_rng rng;
    submod_rng_seed(&rng, 52);
    for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
        for (size_t C = 3; C <= 3000; C += 2997) {
            images d = make_images(1, C, 19, false, &rng);
            for (size_t i = 0; i < size_of(&d); i++) {
                d.x[i] = values[j];
            }
            check_all(&d, 1e-5);
            free_images(&d);
        }
    }
}
END_TEST

/* Gradients of all pixels that `where` leaves as they were. */
static void assert_unmoved(const images *d, place where, const float *g, const float *h)
{
    for (size_t j = 0; j < size_of(d); j++) {
        size_t t = j / (d->C * d->N) * d->N + j % d->N;
        if (!is_large(d, where, t) && !same_bits(g[j], h[j])) {
            ck_abort_msg("[%zu] %.9g and %.9g", j, (double)g[j], (double)h[j]);
        }
    }
}

/* Two versions of the same images under one loss, per image or not, with several threads. */
static void assert_ignored(const images *d, const images *e, loss_kind k, int per_image)
{
    size_t n = size_of(d);
    float *g = new_floats(n), *h = new_floats(n);
    for (size_t isa = 0; isa < ISAS && use(isas[isa]); isa++) {
        ck_assert_ok(submod_set_num_threads(1 + (int)isa));
        double loss = call(d, k, per_image, g);
        ck_assert(call(e, k, per_image, h) == loss);
        assert_same_bits(g, h, n);
    }
    free(g);
    free(h);
}

/* Ignored pixels have no part in anything, whatever their scores. */
START_TEST(large_scores_of_ignored_pixels_change_no_bit)
{
    submod_rng rng;
    submod_rng_seed(&rng, 53);
    for (int j = 0; j < SIZES; j++) {
        images d = make_images(2, CLASSES, ENOUGH / 2, true, &rng), e = copy_of(&d);
        enlarge(&e, ONLY_IGNORED, sizes[j], &rng);
        for (int k = 0; k < LOSSES; k++) {
            assert_ignored(&d, &e, (loss_kind)k, 0);
            assert_ignored(&d, &e, (loss_kind)k, 1);
        }
        free_images(&d);
        free_images(&e);
    }
}
END_TEST

/* What a pixel weighs in the cross-entropy depends on the labels alone. */
START_TEST(large_scores_leave_the_entropy_of_others_alone)
{
    submod_rng rng;
    submod_rng_seed(&rng, 54);
    for (int j = 0; j < SIZES * PLACES; j++) {
        images d = make_images(2, CLASSES, 1024 + 37, true, &rng), e = copy_of(&d);
        float *g = new_floats(size_of(&d)), *h = new_floats(size_of(&d));
        enlarge(&e, (place)(j / SIZES), sizes[j % SIZES], &rng);
        for (size_t isa = 0; isa < ISAS && use(isas[isa]); isa++) {
            call(&d, ENTROPY, j % 2, g);
            call(&e, ENTROPY, j % 2, h);
            assert_unmoved(&d, (place)(j / SIZES), g, h);
        }
        free(g);
        free(h);
        free_images(&d);
        free_images(&e);
    }
}
END_TEST

/* Image 1 of three differs. */
static void assert_others_alone(const images *d, const images *e, loss_kind k)
{
    size_t n = size_of(d), one = n / 3;
    float *g = new_floats(n), *h = new_floats(n);
    for (size_t isa = 0; isa < ISAS && use(isas[isa]); isa++) {
        ck_assert_ok(submod_set_num_threads(1));
        call(d, k, true, g);
        double loss = call(e, k, true, h);
        assert_same_bits(g, h, one);
        assert_same_bits(g + 2 * one, h + 2 * one, one);
        ck_assert_ok(submod_set_num_threads(3));
        ck_assert(call(e, k, true, g) == loss);
        assert_same_bits(g, h, n);
    }
    free(g);
    free(h);
}

/* Per image, an image with large scores says nothing about the others: not about those before it,
 * not about those after it. Threads do not matter either. */
START_TEST(large_scores_leave_other_images_alone)
{
    submod_rng rng;
    submod_rng_seed(&rng, 55);
    for (int j = 0; j < SIZES; j++) {
        images d = make_images(3, CLASSES, ENOUGH / 3, true, &rng), e = copy_of(&d);
        for (size_t t = d.N; t < 2 * d.N; t++) {
            draw_pixel(&e, t, sizes[j], &rng);
        }
        for (int k = 0; k < LOSSES; k++) {
            assert_others_alone(&d, &e, (loss_kind)k);
        }
        free_images(&d);
        free_images(&e);
    }
}
END_TEST

/* ---- many classes ---- */

static const size_t class_counts[] = {150, 1000, 3000};
static const size_t pixel_counts[] = {1, 15, 16, 17, 63, 65, 127, 129, 255, 257};
enum { COUNTS = 3, PIXELS = 10 };

/* All numbers of pixels with the fewest classes, some with more. */
static bool is_tried(size_t classes, size_t pixels)
{
    return classes == 0 || (classes + pixels) % 3 == 0;
}

START_TEST(many_classes_by_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 56);
    for (size_t c = 0; c < COUNTS; c++) {
        for (size_t i = 0; i < PIXELS; i++) {
            if (!is_tried(c, i)) {
                continue;
            }
            images d = make_images(1 + i % 2, class_counts[c], pixel_counts[i], i % 3 == 2, &rng);
            check_all(&d, 1e-5);
            free_images(&d);
        }
    }
}
END_TEST

/* The same numbers in another order or type. */
typedef struct view {
    submod_scores scores;
    bool last;
} view;

enum { VIEWS = 5 };

typedef struct copies {
    float *last;
    uint16_t *half[4]; /* float16, bfloat16, and both with channels last */
} copies;

static copies make_copies(const images *d)
{
    copies m;
    size_t n = size_of(d);
    m.last = malloc((n + 1) * sizeof *m.last);
    for (int h = 0; h < 4; h++) {
        m.half[h] = malloc((n + 1) * sizeof *m.half[h]);
    }
    for (size_t j = 0; j < n; j++) {
        size_t at = (j / (d->C * d->N) * d->N + j % d->N) * d->C + j / d->N % d->C;
        m.last[at] = d->x[j];
        m.half[0][j] = m.half[2][at] = f16_of(d->x[j]);
        m.half[1][j] = m.half[3][at] = bf16_of(d->x[j]);
    }
    return m;
}

static void free_copies(copies *m)
{
    free(m->last);
    for (int h = 0; h < 4; h++) {
        free(m->half[h]);
    }
}

static view view_of(const images *d, const copies *m, int which)
{
    static const submod_score_type type[] = {SUBMOD_SCORE_F16, SUBMOD_SCORE_BF16};
    view v = {.last = which != 1 && which != 2};
    const void *data = which == 0 ? (const void *)m->last : m->half[which - 1];
    submod_score_type of = which == 0 ? SUBMOD_SCORE_F32 : type[(which - 1) % 2];
    v.scores = v.last ? submod_scores_channels_last(data, of, d->B, d->C, d->N)
                      : submod_scores_dense(data, of, d->B, d->C, d->N);
    return v;
}

/* The gradient of a view, where channels first has it. */
static double call_view(const images *d, loss_kind k, const view *v, float *raw, float *dense)
{
    submod_labels y = submod_labels_i32(d->y, d->B, d->N);
    submod_gradient g = v->last ? submod_gradient_channels_last(raw, d->C, d->N)
                                : submod_gradient_dense(raw, d->C, d->N);
    double loss;
    ck_assert_ok(call_views(k, &v->scores, &y, false, &loss, &g));
    for (size_t j = 0; j < size_of(d); j++) {
        ptrdiff_t at = (ptrdiff_t)(j / (d->C * d->N)) * g.batch_stride +
                       (ptrdiff_t)(j / d->N % d->C) * g.class_stride +
                       (ptrdiff_t)(j % d->N) * g.pixel_stride;
        dense[j] = raw[at];
    }
    return loss;
}

START_TEST(many_classes_in_any_layout)
{
    submod_rng rng;
    submod_rng_seed(&rng, 57);
    for (size_t j = 0; j < COUNTS * PIXELS; j++) {
        if (!is_tried(j / PIXELS, j % PIXELS)) {
            continue;
        }
        images d = make_images(1 + j % 2, class_counts[j / PIXELS], pixel_counts[j % PIXELS],
                               j % 3 == 1, &rng);
        size_t n = size_of(&d);
        for (size_t i = 0; i < n; i++) { /* exact in all types; some pixels are shifted */
            float large = j % 4 == 3 && i % 7 == 0 ? 16.0F : 1.0F;
            d.x[i] = large * ((float)submod_rng_below(&rng, 129) - 64) / 16;
        }
        copies m = make_copies(&d);
        float *g = new_floats(n), *h = new_floats(n), *raw = new_floats(n);
        submodi_isa_choose(isas[j % ISAS]);
        for (int k = 0; k < LOSSES; k++) {
            double loss = call(&d, (loss_kind)k, false, g);
            for (int which = 0; which < VIEWS; which++) {
                view v = view_of(&d, &m, which);
                ck_assert(call_view(&d, (loss_kind)k, &v, raw, h) == loss);
                assert_same_bits(g, h, n);
            }
        }
        free(g);
        free(h);
        free(raw);
        free_copies(&m);
        free_images(&d);
    }
}
END_TEST

/* ---- cross-entropy in one pass ---- */

/* It writes while it adds up, so all scores are looked at before. The others take part. */
START_TEST(nothing_is_written_if_the_last_score_is_bad)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    submod_rng rng;
    submod_rng_seed(&rng, 58);
    images d = make_images(3, CLASSES, 4 * 1024 + 405, true, &rng);
    size_t n = size_of(&d), touched = 0;
    float *g = new_floats(n);
    submod_scores x = submod_scores_f32(d.x, d.B, d.C, d.N);
    submod_labels y = submod_labels_i32(d.y, d.B, d.N);
    submod_gradient to = submod_gradient_dense(g, d.C, d.N);
    for (size_t i = 0; i < n; i++) {
        g[i] = 7;
    }
    for (int j = 0; j < 12 * LOSSES; j++) {
        double loss = 7;
        use(isas[j % ISAS]);
        ck_assert_ok(submod_set_num_threads(1 + j % 2));
        d.y[d.B * d.N - 1] = j % 5 ? 0 : IGNORED;
        d.x[n - 1] = bad[j / ISAS % 3];
        to.accumulate = j % 7 == 0;
        assert_error(call_views((loss_kind)(j % LOSSES), &x, &y, j / LOSSES % 2, &loss, &to),
                     SUBMOD_ENONFINITE, "scores[2][4][4500] is ");
        ck_assert(loss == 7);
        for (size_t i = 0; i < n; i++) {
            touched += g[i] != 7;
        }
        ck_assert_uint_eq(touched, 0);
    }
    free(g);
    free_images(&d);
}
END_TEST

/* How the scores of a pixel with thousands of classes are spread. */
static float spread(int how, size_t c, size_t C, submod_rng *rng)
{
    switch (how) {
    case 0: return (float)submod_rng_normal(rng);
    case 1: return 0.1F; /* all equal: roundings all go the same way */
    case 2: return (float)c * 8 / (float)C;
    case 3: return -(float)c * 8 / (float)C;
    case 4: return 41 + (float)submod_rng_normal(rng);
    default: return (float)(10 * submod_rng_normal(rng));
    }
}

/* Sums over 3000 classes lose little: each derivative, and the loss, keep five digits. Also of
 * predictions so confident that the loss is next to nothing. */
START_TEST(entropy_of_thousands_of_classes)
{
    enum { C = 3000, N = 21, SPREADS = 6 };
    submod_rng rng;
    submod_rng_seed(&rng, 59);
    double *wanted = malloc(C * N * sizeof *wanted), steepest;
    float *g = new_floats(C * N);
    for (int j = 0; j < 3 * SPREADS; j++) {
        int ahead = j / SPREADS; /* the label, by up to 30 */
        images d = make_images(1, C, N, false, &rng);
        for (size_t t = 0; t < N; t++) {
            for (size_t c = 0; c < C; c++) {
                d.x[c * N + t] = spread(j % SPREADS, c, C, &rng);
            }
            d.x[(size_t)d.y[t] * N + t] += 15.0F * (float)ahead;
        }
        softmax m = softmax_of(&d);
        double accuracy = 1e-5;
        double loss = by_definition(&d, &m, ENTROPY, wanted, &steepest);
        for (size_t isa = 0; isa < ISAS && use(isas[isa]); isa++) {
            ck_assert_near(call(&d, ENTROPY, false, g), loss, accuracy * loss);
            for (size_t i = 0; i < C * N; i++) {
                if (!(fabs((double)g[i] - wanted[i]) <= accuracy * fabs(wanted[i]) + 1e-37)) {
                    ck_abort_msg("%d, %s: [%zu] %.9g, wanted %.9g", j, isas[isa], i, (double)g[i],
                                 wanted[i]);
                }
            }
        }
        free_softmax(&m);
        free_images(&d);
    }
    free(wanted);
    free(g);
}
END_TEST

int main(void)
{
    return RUN_TESTS(
        "loss_shift", large_scores_by_definition, equal_scores_give_equal_probabilities,
        large_scores_of_ignored_pixels_change_no_bit,
        large_scores_leave_the_entropy_of_others_alone, large_scores_leave_other_images_alone,
        many_classes_by_definition, many_classes_in_any_layout,
        nothing_is_written_if_the_last_score_is_bad, entropy_of_thousands_of_classes);
}
