/* Losses over ranks where it hurts: ties, denormals, weights of all sizes, pieces of any size and
 * shape, gradients on some ranks only, and no memory at any point. Each trial has the bits of one
 * process, or on all ranks the same status. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "depth.h"
#include "ranks.h"
#include "support.h"

enum { TRIALS = FEWER ? 80 : 600, MOST_CLASSES = 5, IGNORED = 200 };

typedef enum sort { SOFTMAX, SIGMOID, HINGE, SORTS } sort;

/* A batch: one image of N pixels of which ranks have pieces; per_image: images of N pixels, of
 * which ranks have some. */
typedef struct problem {
    sort f;
    size_t images, C, N;
    float *x, *w;
    int64_t *y;
    submod_loss_settings s; /* without what is a rank's own */
    submod_measure measure;
    int32_t list[MOST_CLASSES];
    double class_weight[MOST_CLASSES];
    bool weighted, accumulates;
    double scale;
} problem;

/* What one caller gets. */
typedef struct outcome {
    submod_status status;
    char words[256];
    double loss, *group_loss;
    submod_loss_info info;
    float *gradient; /* of all */
} outcome;

typedef struct trial {
    const problem *p;
    size_t cut[MOST_RANKS + 1]; /* pixels, or images */
    size_t images[MOST_RANKS];  /* that a piece is shown as */
    bool derives[MOST_RANKS];
    int poor;         /* the rank that runs out of memory */
    long allocations; /* after so many; -1: none does */
    outcome of_rank[MOST_RANKS];
} trial;

/* ---- numbers that hurt ---- */

static double uniform(submod_rng *rng)
{
    return submod_rng_uniform(rng);
}

static size_t below(submod_rng *rng, size_t n)
{
    return (size_t)submod_rng_below(rng, n);
}

static float score(submod_rng *rng, size_t mood)
{
    double u = 2 * uniform(rng) - 1;
    switch (mood) {
    case 0: return 0;                     /* all equal */
    case 1: return (float)rint(2 * u);    /* many ties; margins of 0 */
    case 2: return (float)(u * 0x1p-135); /* denormal */
    case 3: return (float)(u * 1e30);     /* saturated */
    case 4: return below(rng, 4) ? (float)rint(u) : FLT_MAX * (u > 0 ? 1.0F : -1.0F);
    case 5: return (float)(1 + u * 0x1p-22); /* margins next to 0 */
    default: return (float)(4 * u);
    }
}

static float probability(submod_rng *rng, size_t mood)
{
    switch (mood) {
    case 0: return 0.5F;
    case 1: return (float)below(rng, 3) / 2;
    case 2: return (float)(uniform(rng) * 0x1p-135);
    case 3: return 1 - (float)(uniform(rng) * 0x1p-20);
    default: return (float)uniform(rng);
    }
}

static float weight(submod_rng *rng, size_t mood)
{
    switch (mood) {
    case 0: return 0;
    case 1: return (float)ldexp(1 + uniform(rng), (int)below(rng, 250) - 140); /* of all sizes */
    case 2: return below(rng, 9) ? 0x1p-149F : FLT_MAX;
    case 3: return below(rng, 9) ? 0 : 0x1p-149F;
    default: return (float)uniform(rng);
    }
}

static double root(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return P + N > 0 ? 3 * sqrt((a + b) / (P + N)) : 0;
}

/* Fails when all are wrong. */
static double fails(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return a + b >= P + N && P + N > 0 ? NAN : a + b;
}

static submod_measure some_measure(submod_rng *rng)
{
    switch (below(rng, 7)) {
    case 0: return submod_hamming();
    case 1: return submod_tversky(0, 1);
    case 2: return submod_tversky(1e12, 1e12);
    case 3: return submod_tversky(0.3, 2);
    case 4: return submod_measure_custom(&(submod_measure_ops){.value = root}, NULL);
    case 5:
        return submod_measure_custom(&(submod_measure_ops){.value = below(rng, 4) ? root : fails},
                                     NULL);
    default: return submod_jaccard();
    }
}

static void choose_settings(submod_rng *rng, problem *p)
{
    submod_loss_settings *s = &p->s;
    *s = submod_loss_defaults();
    p->measure = some_measure(rng);
    s->measure = below(rng, 3) ? &p->measure : NULL;
    s->engine = SUBMOD_ENGINE_HISTOGRAM;
    s->bins = below(rng, 2) ? (size_t)2 << below(rng, 9) : 0;
    s->delta = ldexp(1, -(int)below(rng, 12));
    s->from_logits = below(rng, 2) > 0;
    s->per_image = below(rng, 3) == 0;
    s->has_ignore = 1;
    s->ignore_index = IGNORED;
    s->classes = p->f == HINGE ? SUBMOD_CLASSES_PRESENT : (submod_classes)below(rng, 3);
    for (size_t c = 0; c < p->C; c++) { /* from the last on */
        p->list[c] = (int32_t)(p->C - 1 - c);
        p->class_weight[c] = below(rng, 3) ? ldexp(1, 40 * ((int)below(rng, 3) - 1)) : 0;
    }
    p->class_weight[p->C - 1] = 1;
    s->class_list = s->classes == SUBMOD_CLASSES_LIST ? p->list : NULL;
    s->class_count = s->class_list ? 1 + below(rng, p->C) : 0;
    s->class_weight = p->f != HINGE && below(rng, 3) == 0 ? p->class_weight : NULL;
}

static void make_problem(submod_rng *rng, problem *p)
{
    *p = (problem){.f = (sort)below(rng, SORTS), .scale = below(rng, 2) ? 1 : -0.37};
    p->C = p->f == HINGE ? 1 : 1 + below(rng, MOST_CLASSES);
    choose_settings(rng, p);
    p->images = p->s.per_image ? below(rng, 6) : 1;
    p->N = below(rng, 8) ? 1 + below(rng, 60) : below(rng, 3) * 700;
    p->weighted = below(rng, 2);
    p->accumulates = below(rng, 2);
    size_t pixels = p->images * p->N;
    size_t rows = p->f == SIGMOID ? p->C : 1;
    p->x = malloc((pixels * p->C + 1) * sizeof *p->x);
    p->y = malloc((pixels * rows + 1) * sizeof *p->y);
    p->w = malloc((pixels + 1) * sizeof *p->w);
    size_t mood = below(rng, 8);
    bool logits = p->s.from_logits || p->f == HINGE;
    for (size_t i = 0; i < pixels * p->C; i++) {
        p->x[i] = logits ? score(rng, mood) : probability(rng, mood);
    }
    size_t labels = p->f == SOFTMAX ? p->C : 2;
    size_t used = below(rng, 3) ? labels : 1; /* or all of one class */
    for (size_t i = 0; i < pixels * rows; i++) {
        p->y[i] = below(rng, 5) ? (int64_t)below(rng, used) : IGNORED;
    }
    mood = below(rng, 6);
    for (size_t i = 0; i < pixels; i++) {
        p->w[i] = weight(rng, mood);
    }
}

static void free_problem(problem *p)
{
    free(p->x);
    free(p->y);
    free(p->w);
}

/* ---- calls ---- */

typedef submod_status loss_of_ranks(const submod_comm *, const submod_scores *,
                                    const submod_labels *, double *, const submod_gradient *,
                                    const submod_loss_settings *, submod_loss_info *,
                                    submod_work *);
static loss_of_ranks *const losses[] = {submod_dist_lovasz_softmax, submod_dist_lovasz_sigmoid,
                                        submod_dist_lovasz_hinge};
/* Pixels or images first .. last - 1, as so many images. */
static void call_part(const submod_comm *comm, const problem *p, size_t first, size_t last,
                      size_t images, bool derives, outcome *o)
{
    bool cut = !p->s.per_image;
    size_t b = cut ? images : last - first;
    size_t n = cut ? (b ? (last - first) / b : last - first) : p->N;
    size_t offset = cut ? first : first * p->N;
    size_t step = cut ? n : p->C * p->N;
    submod_scores scores = submod_scores_f32(p->x + (cut ? first : first * step), b, p->C, n);
    scores.class_stride = (ptrdiff_t)p->N;
    scores.batch_stride = (ptrdiff_t)step;
    submod_labels labels = submod_labels_i64(p->y + offset, b, n);
    if (p->f == SIGMOID) {
        labels = submod_labels_multilabel(p->y + (cut ? first : first * step), SUBMOD_LABEL_I64, b,
                                          p->C, n);
        labels.class_stride = (ptrdiff_t)p->N;
        labels.batch_stride = (ptrdiff_t)step;
    }
    submod_pixel_weights w = submod_pixel_weights_f32(p->w + offset, b, n);
    submod_gradient g = submod_gradient_dense(o->gradient + (cut ? first : first * step), p->C, n);
    g.class_stride = (ptrdiff_t)p->N;
    g.batch_stride = (ptrdiff_t)step;
    if (n == 0 || p->N == 0) { /* strides of 0 are refused */
        g.class_stride = 1;
        g.batch_stride = (ptrdiff_t)p->C;
    }
    g.scale = p->scale;
    g.accumulate = p->accumulates;
    submod_loss_settings s = p->s;
    s.pixel_weights = p->weighted ? &w : NULL;
    s.group_loss = o->group_loss;
    o->status =
        losses[p->f](comm, &scores, &labels, &o->loss, derives ? &g : NULL, &s, &o->info, NULL);
    strncpy(o->words, o->status ? submod_last_error() : "", sizeof o->words - 1);
}

static void call_rank(const submod_comm *comm, void *context)
{
    trial *t = context;
    int r = comm->rank;
    set_rank_allocations(r == t->poor ? t->allocations : -1);
    call_part(comm, t->p, t->cut[r], t->cut[r + 1], t->images[r], t->derives[r], &t->of_rank[r]);
    set_rank_allocations(-1);
}

/* ---- outcomes ---- */

static size_t numbers(const problem *p)
{
    return p->images * p->C * p->N;
}

static outcome empty_outcome(const problem *p)
{
    outcome o = {.loss = -7,
                 .gradient = malloc((numbers(p) + 1) * sizeof(float)),
                 .group_loss = malloc((p->images + 1) * sizeof(double))};
    for (size_t i = 0; i < numbers(p); i++) {
        o.gradient[i] = 0.25F * (float)(i % 7);
    }
    for (size_t i = 0; i <= p->images; i++) {
        o.group_loss[i] = -7;
    }
    return o;
}

static void free_outcome(outcome *o)
{
    free(o->gradient);
    free(o->group_loss);
}

static void assert_info(const submod_loss_info *a, const submod_loss_info *b)
{
    ck_assert_uint_eq(a->bins, b->bins);
    ck_assert_uint_eq(a->pixels, b->pixels);
    ck_assert_uint_eq(a->terms, b->terms);
    ck_assert_uint_eq(a->sorted, b->sorted);
    ck_assert_msg(a->delta == b->delta, "delta %.17g, alone %.17g", a->delta, b->delta);
}

static uint32_t bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

/* The gradient of a rank's own pixels is that of one process, all others are as they were. */
static void assert_gradient(const trial *t, int r, const float *expected, const float *before)
{
    const problem *p = t->p;
    for (size_t i = 0; i < numbers(p); i++) {
        size_t at = p->s.per_image ? i / (p->C * p->N) : i % p->N;
        bool own = t->derives[r] && at >= t->cut[r] && at < t->cut[r + 1];
        const float *wanted = own ? expected : before;
        ck_assert_msg(bits(t->of_rank[r].gradient[i]) == bits(wanted[i]),
                      "rank %d: gradient[%zu] = %.9g, alone %.9g", r, i,
                      (double)t->of_rank[r].gradient[i], (double)wanted[i]);
    }
}

static void assert_success(const trial *t, int ranks, const outcome *alone, const outcome *before)
{
    for (int r = 0; r < ranks; r++) {
        const outcome *o = &t->of_rank[r];
        ck_assert_msg(o->status == SUBMOD_OK, "rank %d of %d: %s", r, ranks, o->words);
        ck_assert_msg(o->loss == alone->loss, "rank %d of %d: loss %.17g, alone %.17g", r, ranks,
                      o->loss, alone->loss);
        assert_info(&o->info, &alone->info);
        size_t first = t->p->s.per_image ? t->cut[r] : 0;
        size_t groups = t->p->s.per_image ? t->cut[r + 1] - first : 1;
        ck_assert_msg(memcmp(o->group_loss, alone->group_loss + first, groups * sizeof(double)) ==
                          0,
                      "rank %d of %d: group_loss", r, ranks);
        assert_gradient(t, r, alone->gradient, before->gradient);
    }
}

/* The same on all, and nothing is written. */
static void assert_failure(const trial *t, int ranks, submod_status wanted, const outcome *before)
{
    for (int r = 0; r < ranks; r++) {
        const outcome *o = &t->of_rank[r];
        ck_assert_msg(o->status == wanted, "rank %d of %d: %d, not %d: %s", r, ranks, o->status,
                      wanted, o->words);
        ck_assert_msg(o->loss == before->loss, "loss was written");
        ck_assert_msg(o->group_loss[0] == before->group_loss[0], "group_loss was written");
        ck_assert_msg(memcmp(o->gradient, before->gradient, numbers(t->p) * sizeof(float)) == 0,
                      "the gradient was written");
    }
}

/* ---- trials ---- */

static void cut_up(submod_rng *rng, trial *t, int ranks)
{
    size_t n = t->p->s.per_image ? t->p->images : t->p->N;
    t->cut[0] = 0;
    for (int r = 0; r < ranks; r++) {
        size_t rest = n - t->cut[r];
        size_t part = r + 1 == ranks ? rest : below(rng, 3) ? below(rng, rest + 1) : 0;
        t->cut[r + 1] = t->cut[r] + part;
        t->images[r] = part == 0 ? below(rng, 3) : part % 2 == 0 && below(rng, 2) ? 2 : 1;
        t->derives[r] = below(rng, 4);
    }
}

static void run(trial *t, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        t->of_rank[r] = empty_outcome(t->p);
    }
    run_ranks(ranks, NULL, call_rank, t);
}

static void free_outcomes(trial *t, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        free_outcome(&t->of_rank[r]);
    }
}

START_TEST(same_bits_or_same_failure)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1919);
    int failures = 0;
    for (int k = 0; k < TRIALS; k++) {
        problem p;
        make_problem(&rng, &p);
        outcome alone = empty_outcome(&p);
        const outcome before = empty_outcome(&p);
        submod_set_num_threads(1 + (int)below(&rng, 2));
        call_part(NULL, &p, 0, p.s.per_image ? p.images : p.N, 1, true, &alone);
        for (int ranks = 2; ranks <= 4; ranks++) {
            trial t = {.p = &p, .allocations = -1};
            cut_up(&rng, &t, ranks);
            run(&t, ranks);
            if (alone.status == SUBMOD_OK) {
                assert_success(&t, ranks, &alone, &before);
            } else {
                assert_failure(&t, ranks, alone.status, &before);
                failures++;
            }
            free_outcomes(&t, ranks);
        }
        free_outcome(&alone);
        free_outcome((outcome *)&before);
        free_problem(&p);
    }
    ck_assert_int_gt(failures, 0);
}
END_TEST

/* One rank runs out of memory: at its first allocation, its second, and so on. */
START_TEST(no_memory_at_any_point)
{
    enum { RANKS = 3 };
    submod_rng rng;
    submod_rng_seed(&rng, 2020);
    submod_set_num_threads(1);
    submod_set_allocator(&rank_allocator);
    long failures = 0;
    for (int k = 0; k < TRIALS / 8; k++) {
        problem p;
        make_problem(&rng, &p);
        const outcome before = empty_outcome(&p);
        trial t = {.p = &p, .poor = (int)below(&rng, RANKS)};
        cut_up(&rng, &t, RANKS);
        bool poor = true;
        for (t.allocations = 0; poor; t.allocations++) {
            run(&t, RANKS);
            poor = t.of_rank[0].status == SUBMOD_ENOMEM;
            if (poor) {
                assert_failure(&t, RANKS, SUBMOD_ENOMEM, &before);
                ck_assert_msg(strstr(t.of_rank[t.poor].words, "out of memory"), "\"%s\"",
                              t.of_rank[t.poor].words);
            }
            ck_assert_int_eq(live_rank_allocations(), 0);
            free_outcomes(&t, RANKS);
        }
        failures += t.allocations - 1;
        free_outcome((outcome *)&before);
        free_problem(&p);
    }
    ck_assert_int_gt(failures, 0);
    submod_set_allocator(NULL);
}
END_TEST

int main(void)
{
    return RUN_TESTS("dist_adversarial", same_bits_or_same_failure, no_memory_at_any_point);
}
