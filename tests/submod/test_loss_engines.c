/* The short cuts of the two engines: bins that are not counted, weights that are kept in the
 * gradient, runs of equal errors, gradients that are stored around the caches. All against the
 * definition in doubles, or against a call that cannot take the short cut. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "defined.h"
#include "depth.h"
#include "loss/tensors/float_bits.h"
#include "support.h"

static const char *const isas[] = {"baseline", "avx2", "avx512"};
enum { ISAS = 3 };

/* Whether this machine has it; then it is in use. */
static bool use(const char *isa)
{
    submodi_isa_choose(isa);
    return strcmp(submod_isa(), isa) == 0;
}

static const costs jaccard = {jaccard_cost, NULL};

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

/* The same bits with so many threads. */
static void assert_threads(const batch *d, kind k, const submod_loss_settings *s, int count,
                           double loss, const float *g)
{
    size_t n = d->B * d->C * d->N;
    float *h = new_floats(n);
    ck_assert_ok(submod_set_num_threads(count));
    ck_assert(call(d, k, h, s) == loss);
    ck_assert(call(d, k, NULL, s) == loss);
    assert_same_bits(g, h, n);
    free(h);
}

/* Every instruction set against the definition, and more threads against one. */
static void check_everywhere(const batch *d, kind k, const submod_loss_settings *s)
{
    size_t n = d->B * d->C * d->N;
    double *wanted = malloc(n * sizeof *wanted);
    float *g = new_floats(n);
    bool counts = s->engine == SUBMOD_ENGINE_HISTOGRAM;
    double steepest,
        loss = by_definition(d, k, s, &jaccard, counts ? s->bins : 0, wanted, &steepest, NULL);
    double tolerance = counts || k == HINGE ? 1e-11 : 1e-6, now = 0;
    for (size_t isa = 0; isa < ISAS && use(isas[isa]); isa++) {
        ck_assert_ok(submod_set_num_threads(1));
        now = call(d, k, g, s);
        ck_assert_near(now, loss, tolerance);
        assert_gradient(d, k, g, wanted, steepest);
        assert_threads(d, k, s, 2, now, g);
    }
    submodi_isa_choose(NULL); /* that is the last one */
    assert_threads(d, k, s, 3, now, g);
    assert_threads(d, k, s, 5, now, g);
    ck_assert_ok(submod_set_num_threads(0));
    free(wanted);
    free(g);
}

/* ---- histogram: bins that are not counted ---- */

enum { BINS = 256, SPECIAL = 8 };

/* Where the smallest foreground errors are, and which classes there are. */
typedef enum { FIRST, MIDDLE, LAST, FALLING, HALVING, LATE, ABSENT, LOWEST, HIGHEST } pattern;
enum { PATTERNS = HIGHEST + 1 };

/* How far pixel t of n is from where the pattern is special; SPECIAL or more: it is not. */
static size_t distance(pattern p, size_t t, size_t n)
{
    switch (p) {
    case FIRST: return t;
    case MIDDLE: return t < n / 2 ? n / 2 - t : t - n / 2;
    case LAST:
    case LATE: return n - 1 - t;
    default: return SPECIAL;
    }
}

static size_t foreground_bin(pattern p, size_t t, size_t n, submod_rng *rng)
{
    double past = (double)t / (double)n;
    switch (p) {
    case FALLING: return (size_t)((1 - past) * BINS * 0.99);
    case HALVING: return (size_t)(BINS * 0.99 * exp2(-9 * past));
    case LOWEST: return 0;
    case HIGHEST: return BINS - 1;
    default:
        return distance(p, t, n) < SPECIAL ? 3 + distance(p, t, n)
                                           : 100 + submod_rng_below(rng, 100);
    }
}

static size_t background_bin(pattern p, submod_rng *rng)
{
    return p == LOWEST ? 0 : p == HIGHEST ? BINS - 1 : submod_rng_below(rng, BINS);
}

/* Far enough from both ends that rounding does not matter. */
static double error_in(size_t bin, submod_rng *rng)
{
    return ((double)bin + 0.25 + 0.5 * submod_rng_uniform(rng)) / BINS;
}

/* In a bin, as far as floats can tell. */
static bool is_inside(double error)
{
    double in_bins = error * BINS, part = in_bins - floor(in_bins);
    return (part > 0.02 || in_bins < 1) && (part < 0.98 || in_bins > BINS - 1);
}

/* The scores of one pixel: probability 1 - e for its class, e shared by the others. */
static void set_softmax(batch *d, size_t b, size_t i, size_t label, double e, bool one_rival,
                        submod_rng *rng)
{
    double p[8], shift = 3 * submod_rng_normal(rng);
    bool good;
    do {
        double sum = 0;
        size_t rival = (label + 1 + submod_rng_below(rng, d->C - 1)) % d->C;
        for (size_t c = 0; c < d->C; c++) {
            p[c] = c == label                ? 0
                   : one_rival && c != rival ? 1e-6
                                             : exp(2 * submod_rng_normal(rng));
            sum += p[c];
        }
        good = true;
        for (size_t c = 0; c < d->C; c++) {
            p[c] = c == label ? 1 - e : p[c] / sum * e;
            good = good && (c == label || is_inside(p[c]));
        }
    } while (!good);
    for (size_t c = 0; c < d->C; c++) {
        d->x[(b * d->C + c) * d->N + i] = (double)(float)(log(p[c]) + shift);
    }
}

/* Labels and scores of a pixel t with one label. */
static void fill_pixel(batch *d, pattern p, size_t t, bool ignore, submod_rng *rng)
{
    size_t n = d->B * d->N, last = d->C - 1;
    bool special = distance(p, t, n) < SPECIAL;
    size_t label = special ? t % d->C : submod_rng_below(rng, d->C);
    label = label == last && (p == ABSENT || (p == LATE && !special)) ? 0 : label;
    set_softmax(d, t / d->N, t % d->N, label, error_in(foreground_bin(p, t, n, rng), rng),
                p == HIGHEST, rng);
    d->y[t] = ignore && !special && submod_rng_below(rng, 4) == 0 ? 9 : (int64_t)label;
}

/* One entry with a label of its own. Margins of the hinge are below 8, and one is above 4. Some
 * pixels are right: of the background, and where errors are FALLING also of the foreground. */
static void fill_entry(batch *d, kind k, pattern p, size_t c, size_t t, bool ignore,
                       submod_rng *rng)
{
    size_t n = d->B * d->N, at = (t / d->N * d->C + c) * d->N + t % d->N;
    bool special = distance(p, t, n) < SPECIAL, widest = k == HINGE && t == 20;
    bool foreground = special || submod_rng_below(rng, 2) == 0;
    foreground =
        foreground && !widest && !(c + 1 == d->C && (p == ABSENT || (p == LATE && !special)));
    size_t bin = widest       ? BINS - 1
                 : foreground ? foreground_bin(p, t, n, rng)
                              : background_bin(p, rng);
    double e = error_in(bin, rng), margin = 8 * e;
    bool may_be_right = !widest && (!foreground || p == FALLING);
    margin = may_be_right && submod_rng_below(rng, 4) == 0 ? -margin : margin;
    double score = k == HINGE ? margin - 1 : log(e / (1 - e));
    d->x[at] = (double)(float)(foreground ? -score : score);
    d->y[at] = foreground;
    if (ignore && !special && !widest && submod_rng_below(rng, 4) == 0) {
        d->y[at] = 9;
    }
}

static batch patterned(kind k, pattern p, size_t B, size_t C, size_t N, bool ignore,
                       submod_rng *rng)
{
    batch d = random_batch(rng, k, B, C, N, false);
    for (size_t t = 0; t < B * N; t++) {
        if (k == SOFTMAX) {
            fill_pixel(&d, p, t, ignore, rng);
        }
        for (size_t c = 0; k != SOFTMAX && c < C; c++) {
            fill_entry(&d, k, p, c, t, ignore, rng);
        }
    }
    return d;
}

/* The last class, which may be absent, and the first. */
static submod_loss_settings histogram_settings(submod_classes classes, size_t C, bool ignore,
                                               int32_t *list)
{
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.bins = BINS;
    s.has_ignore = ignore;
    s.ignore_index = 9;
    s.classes = classes;
    list[0] = (int32_t)C - 1;
    list[1] = 0;
    s.class_list = list;
    s.class_count = classes != SUBMOD_CLASSES_LIST ? 0 : C == 1 ? 1 : 2;
    return s;
}

/* Several tiles per image, the last one not full. Two images are enough for several threads: the
 * library starts them from 2^16 scores on. */
static size_t pixels_for(size_t C)
{
    return 33005 / C;
}

typedef struct shape {
    kind k;
    size_t C;
} shape;

/* variant 0: the classes present, of the batch; 1: others too, and per image. */
static void check_pattern(pattern p, shape of, int variant, bool ignore, bool large,
                          submod_rng *rng)
{
    int32_t list[2];
    size_t N = pixels_for(of.C) / (large ? 1 : 3);
    batch d = patterned(of.k, p, 2, of.C, N, ignore, rng);
    submod_classes classes = (submod_classes)(variant ? 1 + submod_rng_below(rng, 2) : 0);
    submod_loss_settings s = histogram_settings(classes, of.C, ignore, list);
    s.per_image = variant && submod_rng_below(rng, 2);
    check_everywhere(&d, of.k, &s);
    free_batch(&d);
}

/* Wherever the smallest foreground error comes, the bins that matter are counted in full. Every
 * fourth batch is large enough for threads. */
START_TEST(bins_that_are_left_out_do_not_matter)
{
    static const shape shapes[] = {{SOFTMAX, 2}, {SOFTMAX, 5}, {SIGMOID, 3}, {HINGE, 1}};
    submod_rng rng;
    submod_rng_seed(&rng, 41);
    for (int p = 0; p < PATTERNS; p++) {
        for (int j = 0; j < 4; j++) {
            check_pattern((pattern)p, shapes[j], 0, (p + j) % 2, (p + j) % 4 == 0, &rng);
            check_pattern((pattern)p, shapes[j], 1, (p + j) % 2 == 0, (p + j) % 4 == 2, &rng);
        }
    }
}
END_TEST

static double by_dataset(const batch *d, float *gradient, const submod_loss_settings *s)
{
    float *x = as_floats(d);
    submod_scores scores = submod_scores_f32(x, d->B, d->C, d->N);
    submod_labels labels = label_view(d);
    submod_gradient g = submod_gradient_dense(gradient, d->C, d->N);
    submod_dataset *all = NULL;
    double loss;
    ck_assert_ok(submod_dataset_create(d->C, 0.5 / (double)s->bins, &all));
    ck_assert_ok(submod_dataset_add(all, &scores, &labels, s, NULL));
    ck_assert_ok(submod_dataset_solve(all, &loss, NULL, s));
    ck_assert_ok(submod_dataset_gradient(all, &scores, &labels, &g, s, NULL));
    submod_dataset_free(all);
    free(x);
    return loss;
}

/* A dataset counts everything. The errors need no care here: both find the same bins. */
START_TEST(a_dataset_gives_the_same_bits)
{
    submod_rng rng;
    submod_rng_seed(&rng, 42);
    for (int repeat = 0; repeat < 6 * PATTERNS; repeat += each(5)) {
        size_t C = 2 + submod_rng_below(&rng, 6), B = 1 + submod_rng_below(&rng, 3);
        size_t N = 1 + submod_rng_below(&rng, 6000);
        int32_t list[2];
        bool ignore = submod_rng_below(&rng, 2);
        batch d = patterned(SOFTMAX, (pattern)(repeat % PATTERNS), B, C, N, ignore, &rng);
        for (size_t i = 0; i < B * C * N; i++) {
            d.x[i] = (double)(float)(d.x[i] + 0.3 * submod_rng_normal(&rng));
        }
        submod_classes classes = (submod_classes)(repeat / PATTERNS % 3);
        submod_loss_settings s = histogram_settings(classes, C, ignore, list);
        s.bins = (size_t)2 << submod_rng_below(&rng, 13);
        float *g = new_floats(B * C * N), *h = new_floats(B * C * N);
        for (size_t isa = 0; isa < ISAS && use(isas[isa]); isa++) {
            ck_assert_ok(submod_set_num_threads((int)isa + 1));
            double loss = by_dataset(&d, h, &s);
            ck_assert_near(call(&d, SOFTMAX, g, &s), loss, 1e-15);
            assert_same_bits(g, h, B * C * N);
        }
        free(g);
        free(h);
        free_batch(&d);
    }
}
END_TEST

/* Two images, so that their shares are exact. */
START_TEST(per_image_is_one_call_per_image)
{
    submod_rng rng;
    submod_rng_seed(&rng, 43);
    for (int repeat = 0; repeat < 3 * PATTERNS; repeat += each(4)) {
        kind k = (kind)(repeat % 3);
        size_t C = k == HINGE ? 1 : 3, N = pixels_for(C), n = C * N;
        int32_t list[2];
        batch d = patterned(k, (pattern)(repeat / 3), 2, C, N, repeat % 2, &rng);
        submod_loss_settings s =
            histogram_settings((submod_classes)submod_rng_below(&rng, 3), C, repeat % 2, list);
        /* The range of the hinge is that of all margins: both images get the widest. */
        for (size_t i = 0; k == HINGE && i < 2; i++) {
            d.x[i * N + 20] = 6.75;
            d.y[i * N + 20] = 0;
        }
        float *g = new_floats(2 * n), *h = new_floats(n);
        s.per_image = 1;
        double loss = call(&d, k, g, &s), sum = 0;
        for (size_t b = 0; b < 2; b++) {
            batch one = d;
            one.B = 1;
            one.x = d.x + b * n;
            one.y = d.y + b * (d.multilabel ? n : N);
            sum += call(&one, k, h, &s);
            for (size_t i = 0; i < n; i++) {
                h[i] *= 0.5F;
            }
            assert_same_bits(g + b * n, h, n);
        }
        ck_assert_near(loss, sum / 2, 1e-15);
        free(g);
        free(h);
        free_batch(&d);
    }
}
END_TEST

/* ---- exact: weights in the gradient or beside it ---- */

typedef struct layout {
    submod_gradient to;
    float *memory;
    size_t size;
} layout;

enum { LAYOUTS = 6, GAP = 5 };

/* Filled with 7, which stays where the gradient does not go; with 0 if it is added to. */
static layout layout_of(int which, const batch *d)
{
    size_t B = d->B, C = d->C, N = d->N, n = B * C * N;
    layout l = {.size = 2 * n + B * C * GAP};
    l.memory = malloc(l.size * sizeof *l.memory);
    l.to = submod_gradient_dense(l.memory, C, N);
    switch (which) {
    case 0:
        l.to.pixel_stride *= 2;
        l.to.class_stride *= 2;
        l.to.batch_stride *= 2;
        break;
    case 1: l.to.accumulate = 1; break;
    case 2: l.to = submod_gradient_channels_last(l.memory, C, N); break;
    case 3: /* images inside of classes */
        l.to.batch_stride = (ptrdiff_t)N;
        l.to.class_stride = (ptrdiff_t)(B * N);
        break;
    case 4: /* images backwards */
        l.to.data += (B - 1) * C * N;
        l.to.batch_stride = -l.to.batch_stride;
        break;
    default: /* room between rows */
        l.to.class_stride = (ptrdiff_t)(N + GAP);
        l.to.batch_stride = (ptrdiff_t)(C * (N + GAP));
    }
    for (size_t i = 0; i < l.size; i++) {
        l.memory[i] = which == 1 ? 0.0F : 7.0F;
    }
    return l;
}

/* Its entries as a dense array; what is beside them must be as it was. */
static void gather(const layout *l, const batch *d, float *dense)
{
    size_t n = d->B * d->C * d->N, sevens = 0;
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t b = (ptrdiff_t)(i / (d->C * d->N)), c = (ptrdiff_t)(i / d->N % d->C);
        float *at = l->to.data + b * l->to.batch_stride + c * l->to.class_stride +
                    (ptrdiff_t)(i % d->N) * l->to.pixel_stride;
        dense[i] = *at;
        *at = 8;
    }
    for (size_t i = 0; i < l->size; i++) {
        sevens += l->memory[i] == 7.0F || (l->to.accumulate && l->memory[i] == 0.0F);
    }
    ck_assert_uint_eq(sevens, l->size - n);
}

START_TEST(weights_may_be_kept_anywhere)
{
    enum { B = 2 };
    submod_rng rng;
    submod_rng_seed(&rng, 44);
    for (int repeat = 0; repeat < 40; repeat += each(7)) {
        kind k = (kind)(repeat % 5);
        bool probabilities = k == PROBABILITY || k == SIGMOID_PROBABILITY, ignore = repeat % 2;
        size_t C = k == HINGE ? 1 : 3, N = repeat % 3 ? 2743 : pixels_for(C);
        batch d = random_batch(&rng, k, B, C, N, ignore);
        size_t n = B * d.C * N;
        for (size_t i = 0; i < n; i++) {
            double part = (double)submod_rng_below(&rng, repeat < 20 ? 1 << 20 : 50);
            d.x[i] = probabilities ? part / (1 << 20) : repeat < 20 ? d.x[i] : part / 16;
        }
        submod_loss_settings s = random_settings(&rng, ignore);
        float *x = as_floats(&d), *g = new_floats(n), *h = new_floats(n);
        submod_scores scores = submod_scores_f32(x, B, d.C, N);
        submod_labels labels = label_view(&d);
        submod_gradient to = submod_gradient_dense(g, d.C, N);
        to.scale = repeat / 5 % 2 ? -0.37 : 1;
        double loss, now;
        ck_assert_ok(submod_set_num_threads(1 + repeat / 3 % 5));
        ck_assert_ok(call_views(k, &scores, &labels, &loss, &to, NULL, &s));
        ck_assert_ok(call_views(k, &scores, &labels, &now, NULL, NULL, &s));
        ck_assert(now == loss);
        for (int which = 0; which < LAYOUTS; which++) {
            layout l = layout_of(which, &d);
            l.to.scale = to.scale;
            ck_assert_ok(call_views(k, &scores, &labels, &now, &l.to, NULL, &s));
            ck_assert(now == loss);
            gather(&l, &d, h);
            assert_same_bits(g, h, n);
            free(l.memory);
        }
        free(x);
        free(g);
        free(h);
        free_batch(&d);
    }
    ck_assert_ok(submod_set_num_threads(0));
}
END_TEST

/* ---- exact: runs of equal errors ---- */

/* A hinge batch whose errors, in descending order, come in runs of these lengths, foreground and
 * background by turns; the places are random. */
static batch with_runs(const size_t *length, size_t runs, submod_rng *rng)
{
    size_t n = 0, at = 0;
    for (size_t r = 0; r < runs; r++) {
        n += length[r];
    }
    batch d = random_batch(rng, HINGE, 1, 1, n, false);
    int32_t *order = malloc((n + 1) * sizeof *order);
    random_order(rng, order, n);
    for (size_t r = 0; r < runs; r++) {
        double margin = 8 - (double)r / 1024;
        bool foreground = (runs - r) % 2; /* the last one, too: it keeps all of the others */
        for (size_t j = 0; j < length[r]; j++, at++) {
            d.x[order[at]] = foreground ? 1 - margin : margin - 1;
            d.y[order[at]] = foreground;
        }
    }
    free(order);
    return d;
}

/* Chunks have 128 records and parts at least 2^14. */
START_TEST(runs_of_all_lengths)
{
    static const size_t lengths[] = {
        1, 127,   128,   129, 1,   130, 128, 64,  64,  256, 255, 257,   2, 3, 120, 16384, 1, 16383,
        1, 16385, 40000, 7,   121, 50,  100, 128, 128, 384, 500, 60000, 1, 1, 1,   130,   1};
    submod_rng rng;
    submod_rng_seed(&rng, 45);
    submod_loss_settings s = submod_loss_defaults();
    batch d = with_runs(lengths, sizeof lengths / sizeof *lengths, &rng);
    check_everywhere(&d, HINGE, &s);
    free_batch(&d);
    for (int repeat = 0; repeat < 6; repeat++) {
        enum { RUNS = 700 };
        size_t length[RUNS];
        for (size_t r = 0; r < RUNS; r++) {
            length[r] = 1 + submod_rng_below(&rng, repeat < 3 ? 140 : 3);
            length[r] = submod_rng_below(&rng, 50) ? length[r] : submod_rng_below(&rng, 9000) + 1;
        }
        d = with_runs(length, RUNS, &rng);
        check_everywhere(&d, HINGE, &s);
        free_batch(&d);
    }
}
END_TEST

/* One value, two, or 64, of the hinge and of probabilities. */
START_TEST(few_values)
{
    static const size_t values[] = {1, 2, 65};
    submod_rng rng;
    submod_rng_seed(&rng, 46);
    for (int repeat = 0; repeat < 6; repeat++) {
        kind k = repeat % 2 ? PROBABILITY : HINGE;
        batch d = random_batch(&rng, k, 2, k == HINGE ? 1 : 3, 33001, repeat >= 3);
        submod_loss_settings s = submod_loss_defaults();
        s.has_ignore = repeat >= 3;
        s.ignore_index = 9;
        s.classes = SUBMOD_CLASSES_ALL;
        for (size_t i = 0; i < 2 * d.C * d.N; i++) {
            d.x[i] = (double)(1 + submod_rng_below(&rng, values[repeat / 2])) / 128;
        }
        check_everywhere(&d, k, &s);
        free_batch(&d);
    }
}
END_TEST

/* So many that parts grow: there are never more than 64. Some errors are equal, most are not. */
START_TEST(more_records_than_small_parts)
{
    enum { B = 3, N = 400009 };
    submod_rng rng;
    submod_rng_seed(&rng, 47);
    batch d = random_batch(&rng, HINGE, B, 1, N, false);
    for (size_t i = 0; i < B * N; i++) {
        int64_t y = submod_rng_below(&rng, 16) == 0; /* few, and all of them wrong */
        d.y[i] = submod_rng_below(&rng, 16) == 0 ? 9 : y;
        double margin = submod_rng_below(&rng, 8) ? 0.25 + 3 * submod_rng_uniform(&rng)
                                                  : 0.25 + (double)submod_rng_below(&rng, 32) / 16;
        margin = y ? margin + 0.001 : margin;
        d.x[i] = (double)(float)(y ? 1 - margin : margin - 1);
    }
    submod_loss_settings s = submod_loss_defaults();
    s.has_ignore = 1;
    s.ignore_index = 9;
    for (size_t i = 0; i < B * N; i++) { /* one that is nearly right, so that all are ranked */
        if (d.y[i] == 1) {
            d.x[i] = 0.875;
            break;
        }
    }
    float *x = as_floats(&d);
    submod_scores scores = submod_scores_f32(x, B, 1, N);
    submod_labels labels = label_view(&d);
    submod_loss_info info;
    ck_assert_ok(submod_lovasz_hinge(&scores, &labels, NULL, NULL, &s, &info, NULL));
    ck_assert_uint_eq(info.sorted, info.pixels);
    ck_assert_uint_gt(info.sorted, 64 << 14);
    free(x);
    check_everywhere(&d, HINGE, &s);
    free_batch(&d);
}
END_TEST

/* ---- stores around the caches ---- */

/* More than 2^24 bytes of gradient, but not in one image. */
enum { IMAGES = 4, WIDE = 350016, BESIDE = 64, ROOM = 16 };

typedef enum { ENTROPY, DICE, JACCARD, PLAIN_HINGE, COUNTED, COUNTED_LABELS, LOSSES } loss_kind;

static submod_status call_loss(loss_kind k, const submod_scores *x, const submod_labels *y,
                               const submod_gradient *g)
{
    submod_loss_settings s = submod_loss_defaults();
    double loss;
    s.per_image = 1;
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.bins = BINS;
    switch (k) {
    case ENTROPY: return submod_cross_entropy(x, y, &loss, g, &s, NULL);
    case DICE: return submod_soft_dice(x, y, &loss, g, &s, NULL);
    case JACCARD: return submod_soft_jaccard(x, y, &loss, g, &s, NULL);
    case PLAIN_HINGE: return submod_hinge(x, y, &loss, g, &s, NULL);
    case COUNTED: return submod_lovasz_softmax(x, y, &loss, g, &s, NULL, NULL);
    default: return submod_lovasz_sigmoid(x, y, &loss, g, &s, NULL, NULL);
    }
}

typedef struct pictures {
    size_t C, N;
    float *x, *g, *h; /* h: a gradient, with BESIDE entries before and after it */
    uint8_t *y;
} pictures;

static pictures make_pictures(submod_rng *rng, loss_kind k)
{
    pictures d = {.C = k == PLAIN_HINGE ? 1 : 3};
    d.N = 3 * WIDE / d.C;
    size_t n = d.C * d.N, h = IMAGES * (n + d.C * ROOM) + 2 * BESIDE;
    d.x = malloc(IMAGES * n * sizeof *d.x);
    d.y = malloc(IMAGES * n);
    d.g = malloc(n * sizeof *d.g);
    d.h = aligned_alloc(64, h * sizeof *d.h);
    for (size_t i = 0; i < IMAGES * n; i++) {
        uint64_t bits = submod_rng_next(rng);
        d.x[i] = (float)(bits & 0xffff) / 8192 - 4;
        d.y[i] = (uint8_t)((bits >> 16) %
                           (k == ENTROPY || k == DICE || k == JACCARD || k == COUNTED ? d.C : 2));
    }
    return d;
}

static void free_pictures(pictures *d)
{
    free(d->x);
    free(d->y);
    free(d->g);
    free(d->h);
}

static submod_labels labels_of(const pictures *d, loss_kind k, const uint8_t *y, size_t images)
{
    return k == COUNTED_LABELS ? submod_labels_multilabel(y, SUBMOD_LABEL_U8, images, d->C, d->N)
                               : submod_labels_u8(y, images, d->N);
}

/* The whole batch, with `room` entries between rows and the first entry `off` from where a line of
 * the cache begins. */
static submod_gradient call_batch(const pictures *d, loss_kind k, size_t off, size_t room)
{
    size_t n = IMAGES * d->C * (d->N + ROOM) + 2 * BESIDE;
    submod_scores x = submod_scores_f32(d->x, IMAGES, d->C, d->N);
    submod_labels y = labels_of(d, k, d->y, IMAGES);
    submod_gradient g = submod_gradient_dense(d->h + BESIDE - ROOM + off, d->C, d->N + room);
    for (size_t i = 0; i < n; i++) {
        d->h[i] = 7;
    }
    ck_assert_ok(call_loss(k, &x, &y, &g));
    return g;
}

/* Image b alone, as one of four; then its rows in the gradient of all must be the same. They are
 * overwritten with 7. */
static void assert_image(const pictures *d, loss_kind k, size_t b, const submod_gradient *all)
{
    size_t n = d->C * d->N;
    submod_scores x = submod_scores_f32(d->x + b * n, 1, d->C, d->N);
    submod_labels y = labels_of(d, k, d->y + b * (k == COUNTED_LABELS ? n : d->N), 1);
    submod_gradient g = submod_gradient_dense(d->g, d->C, d->N);
    g.scale = 1.0 / IMAGES;
    ck_assert_ok(call_loss(k, &x, &y, &g));
    for (size_t c = 0; c < d->C; c++) {
        float *row =
            all->data + (ptrdiff_t)b * all->batch_stride + (ptrdiff_t)c * all->class_stride;
        assert_same_bits(row, d->g + c * d->N, d->N);
        for (size_t i = 0; i < d->N; i++) {
            row[i] = 7;
        }
    }
}

START_TEST(large_gradients_are_those_of_their_images)
{
    submod_rng rng;
    submod_rng_seed(&rng, 48);
    for (int k = 0; k < LOSSES; k++) {
        pictures d = make_pictures(&rng, (loss_kind)k);
        size_t n = IMAGES * d.C * (d.N + ROOM) + 2 * BESIDE;
        ck_assert_uint_gt(IMAGES * d.C * d.N * sizeof(float), 1 << 24);
        ck_assert_uint_lt(d.C * d.N * sizeof(float), 1 << 24);
        for (int variant = k % each(3); variant < 3; variant += each(3)) {
            submodi_isa_choose(isas[(k + variant) % ISAS]);
            submod_gradient g = call_batch(&d, (loss_kind)k, variant == 1, variant == 2 ? ROOM : 0);
            for (size_t b = 0; b < IMAGES; b++) {
                assert_image(&d, (loss_kind)k, b, &g);
            }
            size_t touched = 0;
            for (size_t i = 0; i < n; i++) {
                touched += d.h[i] != 7.0F;
            }
            ck_assert_uint_eq(touched, 0);
        }
        free_pictures(&d);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("loss_engines", bins_that_are_left_out_do_not_matter,
                     a_dataset_gives_the_same_bits, per_image_is_one_call_per_image,
                     weights_may_be_kept_anywhere, runs_of_all_lengths, few_values,
                     more_records_than_small_parts, large_gradients_are_those_of_their_images);
}
