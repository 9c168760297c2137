/* Every instruction set gives the same results: compares the bits of many results under each.
 *
 *   test_isa          compares them
 *   test_isa --print  prints them, to compare builds by different compilers
 *   test_isa --name   prints which one this machine takes by itself */
#include "base/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod/select.h>

#include "support.h"

static const char *const isas[] = {"baseline", "avx2", "avx512"};
enum { ISAS = 3 };

/* Fowler, Noll, Vo. */
static uint64_t hash_of(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* ---- losses ---- */

enum { B = 2, C = 5, N = 1337, SCORES = B * C * N }; /* more than two tiles, with odd ends */

typedef struct images {
    float logit[SCORES], probability[SCORES];
    uint16_t f16[SCORES], bf16[SCORES];
    int64_t label[B * N];
    uint8_t bit[SCORES];
} images;

static images *make_images(void)
{
    images *d = malloc(sizeof *d);
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (size_t i = 0; i < SCORES; i++) {
        d->logit[i] = (float)(12 * submod_rng_uniform(&rng) - 6);
        d->probability[i] = (float)submod_rng_uniform(&rng);
        float coarse = (float)submod_rng_below(&rng, 769) / 64 - 6; /* a half has it exactly */
        d->f16[i] = f16_of(coarse);
        d->bf16[i] = bf16_of(coarse);
        d->bit[i] = submod_rng_below(&rng, 3) == 0;
    }
    for (size_t i = 0; i < B * N; i++) {
        d->label[i] = (int64_t)submod_rng_below(&rng, C + 1); /* C is ignored */
    }
    return d;
}

static submod_loss_settings settings_of(submod_engine engine)
{
    submod_loss_settings s = submod_loss_defaults();
    s.engine = engine;
    s.has_ignore = 1;
    s.ignore_index = C;
    return s;
}

typedef struct outcome {
    double loss;
    float gradient[SCORES];
} outcome;

static uint64_t hash_outcome(uint64_t hash, const outcome *o)
{
    hash = hash_of(hash, &o->loss, sizeof o->loss);
    return hash_of(hash, o->gradient, sizeof o->gradient);
}

static uint64_t softmax(const submod_scores *scores, int from_logits, const images *d)
{
    submod_labels labels = submod_labels_i64(d->label, B, N);
    uint64_t hash = 0;
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = settings_of((submod_engine)engine);
        s.from_logits = from_logits;
        static outcome o;
        submod_gradient g = submod_gradient_dense(o.gradient, C, N);
        ck_assert_ok(submod_lovasz_softmax(scores, &labels, &o.loss, &g, &s, NULL, NULL));
        hash = hash_outcome(hash, &o);
    }
    return hash;
}

static uint64_t softmax_of_type(const void *data, submod_score_type type, const images *d)
{
    submod_scores scores = submod_scores_dense(data, type, B, C, N);
    return softmax(&scores, 1, d);
}

static uint64_t softmax_f32(const images *d)
{
    return softmax_of_type(d->logit, SUBMOD_SCORE_F32, d);
}

static uint64_t softmax_f16(const images *d)
{
    return softmax_of_type(d->f16, SUBMOD_SCORE_F16, d);
}

static uint64_t softmax_bf16(const images *d)
{
    return softmax_of_type(d->bf16, SUBMOD_SCORE_BF16, d);
}

static uint64_t of_probabilities(const images *d)
{
    submod_scores scores = submod_scores_f32(d->probability, B, C, N);
    return softmax(&scores, 0, d);
}

static uint64_t sigmoid(const images *d)
{
    submod_scores scores = submod_scores_f32(d->logit, B, C, N);
    submod_labels labels = submod_labels_multilabel(d->bit, SUBMOD_LABEL_U8, B, C, N);
    uint64_t hash = 0;
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = settings_of((submod_engine)engine);
        static outcome o;
        submod_gradient g = submod_gradient_dense(o.gradient, C, N);
        ck_assert_ok(submod_lovasz_sigmoid(&scores, &labels, &o.loss, &g, &s, NULL, NULL));
        hash = hash_outcome(hash, &o);
    }
    return hash;
}

/* The Lovász hinge of all numbers as one image, in half precision, and the plain hinge. */
static uint64_t hinges(const images *d)
{
    submod_scores scores = submod_scores_dense(d->f16, SUBMOD_SCORE_F16, 1, 1, SCORES);
    submod_labels labels = submod_labels_u8(d->bit, 1, SCORES);
    uint64_t hash = 0;
    static outcome o;
    submod_gradient g = submod_gradient_dense(o.gradient, 1, SCORES);
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = settings_of((submod_engine)engine);
        ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &o.loss, &g, &s, NULL, NULL));
        hash = hash_outcome(hash, &o);
    }
    ck_assert_ok(submod_hinge(&scores, &labels, &o.loss, &g, NULL, NULL));
    return hash_outcome(hash, &o);
}

static uint64_t overlaps(const images *d, const float *x, int from_logits)
{
    submod_scores scores = submod_scores_f32(x, B, C, N);
    submod_labels labels = submod_labels_i64(d->label, B, N);
    submod_loss_settings s = submod_loss_defaults();
    s.has_ignore = 1;
    s.ignore_index = C;
    s.from_logits = from_logits;
    static outcome o;
    submod_gradient g = submod_gradient_dense(o.gradient, C, N);
    ck_assert_ok(submod_soft_dice(&scores, &labels, &o.loss, &g, &s, NULL));
    uint64_t hash = hash_outcome(0, &o);
    ck_assert_ok(submod_soft_jaccard(&scores, &labels, &o.loss, &g, &s, NULL));
    hash = hash_outcome(hash, &o);
    submod_scores soft = submod_scores_f32(d->probability, B, C, N);
    soft.pixel_stride = -1; /* the last pixel first, so that they are not those of the scores */
    soft.data = d->probability + N - 1;
    ck_assert_ok(submod_jaccard_metric(&scores, &soft, SUBMOD_OVERLAP_MIN, &o.loss, &g, &s, NULL));
    hash = hash_outcome(hash, &o);
    ck_assert_ok(submod_dice_metric(&scores, &soft, SUBMOD_OVERLAP_PRODUCT, &o.loss, &g, &s, NULL));
    hash = hash_outcome(hash, &o);
    if (from_logits) {
        ck_assert_ok(submod_cross_entropy(&scores, &labels, &o.loss, &g, &s, NULL));
        hash = hash_outcome(hash, &o);
    }
    return hash;
}

static uint64_t baselines_of_logits(const images *d)
{
    return overlaps(d, d->logit, 1);
}

static uint64_t baselines_of_probabilities(const images *d)
{
    return overlaps(d, d->probability, 0);
}

static uint64_t dataset(const images *d, const float *x, int from_logits)
{
    submod_scores scores = submod_scores_f32(x, B, C, N);
    submod_labels labels = submod_labels_i64(d->label, B, N);
    submod_loss_settings s = settings_of(SUBMOD_ENGINE_HISTOGRAM);
    s.from_logits = from_logits;
    submod_dataset *h = NULL;
    static outcome o;
    submod_gradient g = submod_gradient_dense(o.gradient, C, N);
    ck_assert_ok(submod_dataset_create(C, 1e-3, &h));
    ck_assert_ok(submod_dataset_add(h, &scores, &labels, &s, NULL));
    ck_assert_ok(submod_dataset_solve(h, &o.loss, NULL, &s));
    ck_assert_ok(submod_dataset_gradient(h, &scores, &labels, &g, &s, NULL));
    submod_dataset_free(h);
    return hash_outcome(0, &o);
}

static uint64_t dataset_of_logits(const images *d)
{
    return dataset(d, d->logit, 1);
}

static uint64_t dataset_of_probabilities(const images *d)
{
    return dataset(d, d->probability, 0);
}

/* ---- prox and optimisers ---- */

enum { n = 75, M = 40 }; /* no multiple of any register */

static void fill(double *x, size_t count, uint64_t seed)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    for (size_t i = 0; i < count; i++) {
        x[i] = 2 * submod_rng_uniform(&rng) - 1;
    }
}

/* Facility location and coverage by those methods that hold a list of vertices. */
static uint64_t prox_by(submod_prox_method method, size_t max_iterations)
{
    static double benefit[n * M], x[n];
    fill(benefit, n * M, 1);
    fill(x, n, 2);
    for (size_t i = 0; i < n * M; i++) {
        benefit[i] = benefit[i] < 0 ? -benefit[i] : benefit[i];
    }
    submod_fn *fn;
    ck_assert_ok(submod_fn_facility(n, M, benefit, &fn));
    double u[n], s[n];
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    settings.max_iterations = max_iterations;
    submod_prox_info info;
    ck_assert_int_ge(submod_prox(fn, x, 0.01, u, s, &settings, &info, NULL), 0);
    ck_assert_uint_gt(info.iterations, 5);
    submod_fn_free(fn);
    uint64_t hash = hash_of(0, u, sizeof u);
    hash = hash_of(hash, s, sizeof s);
    return hash_of(hash, &info.gap, sizeof info.gap);
}

static uint64_t min_norm(const images *d)
{
    (void)d;
    return prox_by(SUBMOD_PROX_MIN_NORM, 0);
}

static uint64_t max_affine(const images *d)
{
    (void)d;
    static double a[M * n], b[M], x[n], u[n], weights[M];
    fill(a, M * n, 3);
    fill(b, M, 4);
    fill(x, n, 5);
    memset(weights, 0, sizeof weights);
    ck_assert_int_ge(submod_prox_max_affine(M, n, a, b, x, 0.1, u, weights, NULL, NULL), 0);
    return hash_of(hash_of(0, u, sizeof u), weights, sizeof weights);
}

/* Both on max_j <a_j, x> + b_j with weight decay. */
static uint64_t optimise(int bundle)
{
    static double a[M * n], b[M];
    double x[n] = {0};
    fill(a, M * n, 6);
    fill(b, M, 7);
    submod_problem p;
    submod_optim_info info;
    ck_assert_ok(submod_problem_max_affine(M, n, a, b, &p));
    if (bundle) {
        submod_bundle_settings s = submod_bundle_defaults();
        s.run.weight_decay = 0.01;
        ck_assert_int_ge(submod_bundle(&p, x, &s, &info, NULL), 0);
    } else {
        submod_fista_settings s = submod_fista_defaults();
        s.run.max_iterations = 30;
        ck_assert_int_ge(submod_fista(&p, x, &s, &info, NULL), 0);
    }
    submod_problem_clear(&p);
    return hash_of(hash_of(0, x, sizeof x), &info.f, sizeof info.f);
}

static uint64_t fista(const images *d)
{
    (void)d;
    return optimise(0);
}

static uint64_t bundle(const images *d)
{
    (void)d;
    return optimise(1);
}

/* Sums over many terms, in parts and in lanes. */
static uint64_t extension(const images *d)
{
    static double x[SCORES], g[SCORES];
    submod_fn *fn = NULL;
    double value;
    fill(x, SCORES, 8);
    ck_assert_ok(submod_fn_jaccard(SCORES, d->bit, &fn));
    ck_assert_ok(submod_lovasz(fn, x, &value, g, NULL, SUBMOD_TIES_AVERAGE, NULL));
    submod_fn_free(fn);
    return hash_of(hash_of(0, &value, sizeof value), g, sizeof g);
}

static uint64_t jaccard_prox(const images *d)
{
    static double x[SCORES], u[SCORES], s[SCORES];
    static double rough[SCORES];
    submod_fn *fn = NULL;
    submod_prox_info info;
    fill(x, SCORES, 9);
    ck_assert_ok(submod_fn_jaccard(SCORES, d->bit, &fn));
    ck_assert_ok(submod_prox(fn, x, 0.01, u, s, NULL, &info, NULL));
    uint64_t hash = hash_of(hash_of(0, u, sizeof u), s, sizeof s);
    submod_prox_settings settings = submod_prox_defaults();
    settings.accuracy = 0.01;
    ck_assert_ok(submod_prox(fn, x, 0.01, rough, NULL, &settings, NULL, NULL));
    submod_fn_free(fn);
    return hash_of(hash_of(hash, &info.gap, sizeof info.gap), rough, sizeof rough);
}

/* ---- the promise of base.h ---- */

/* fused: only instruction sets that fuse multiplications and additions agree. */
static const struct result {
    const char *name;
    uint64_t (*bits)(const images *d);
    int fused;
} results[] = {{"lovasz softmax, f32", softmax_f32, 1},
               {"lovasz softmax, f16", softmax_f16, 1},
               {"lovasz softmax, bf16", softmax_bf16, 1},
               {"lovasz softmax of probabilities", of_probabilities, 0},
               {"lovasz sigmoid", sigmoid, 1},
               {"hinges", hinges, 0},
               {"baselines of logits", baselines_of_logits, 1},
               {"baselines of probabilities", baselines_of_probabilities, 0},
               {"dataset histogram of logits", dataset_of_logits, 1},
               {"dataset histogram of probabilities", dataset_of_probabilities, 0},
               {"lovasz extension", extension, 0},
               {"jaccard prox", jaccard_prox, 0},
               {"min-norm", min_norm, 0},
               {"max-affine", max_affine, 0},
               {"fista", fista, 0},
               {"bundle", bundle, 0}};
enum { RESULTS = sizeof results / sizeof *results };

/* Whether this machine has it; then it is in use. */
static int use(const char *isa)
{
    submodi_isa_choose(isa);
    return strcmp(submod_isa(), isa) == 0;
}

START_TEST(all_instruction_sets_give_the_same_bits)
{
    images *d = make_images();
    for (size_t r = 0; r < RESULTS; r++) {
        uint64_t wanted = 0;
        for (size_t i = results[r].fused ? 1 : 0, seen = 0; i < ISAS; i++) {
            if (use(isas[i])) {
                uint64_t bits = results[r].bits(d);
                wanted = seen++ ? wanted : bits;
                ck_assert_msg(bits == wanted, "%s: other bits with %s", results[r].name, isas[i]);
            }
        }
    }
    free(d);
}
END_TEST

/* Else the test above would compare one copy with itself. */
START_TEST(fused_multiplications_show_which_copy_runs)
{
    images *d = make_images();
    ck_assert(use("baseline"));
    uint64_t baseline = softmax_f32(d);
    if (use("avx2")) {
        ck_assert_uint_ne(softmax_f32(d), baseline);
    }
    free(d);
}
END_TEST

START_TEST(a_wish_is_an_upper_bound)
{
    submodi_isa_choose(NULL);
    submodi_isa most = submodi_isa_in_use();
    for (size_t i = 0; i < ISAS; i++) {
        submodi_isa_choose(isas[i]);
        ck_assert_uint_eq(submodi_isa_in_use(), i < (size_t)most ? i : (size_t)most);
        ck_assert_str_eq(submod_isa(), isas[submodi_isa_in_use()]);
    }
    const char *const words[] = {"", "AVX2", "avx", "sse2", "avx512 "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        submodi_isa_choose(words[i]);
        ck_assert_int_eq(submodi_isa_in_use(), most);
    }
}
END_TEST

/* In a process of its own, where nothing has chosen yet, unless run.c had to look at a wish. */
START_TEST(the_environment_is_read_at_the_first_call)
{
    const char *wish = getenv("SUBMOD_ISA");
    if (wish && *wish) {
        ck_assert_str_eq(submod_isa(), wish);
        return;
    }
    setenv("SUBMOD_ISA", "baseline", 1);
    ck_assert_str_eq(submod_isa(), "baseline");
    setenv("SUBMOD_ISA", "avx2", 1);
    ck_assert_str_eq(submod_isa(), "baseline");
}
END_TEST

START_TEST(print_bits)
{
    images *d = make_images();
    for (size_t i = 0; i < ISAS; i++) {
        for (size_t r = 0; r < RESULTS && use(isas[i]); r++) {
            printf("%-8s  %016llx  %s\n", isas[i], (unsigned long long)results[r].bits(d),
                   results[r].name);
        }
    }
    free(d);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        return RUN_TESTS("bits", print_bits);
    }
    if (argc > 1 && strcmp(argv[1], "--name") == 0) {
        return puts(submod_isa()) < 0;
    }
    return RUN_TESTS("isa", the_environment_is_read_at_the_first_call, a_wish_is_an_upper_bound,
                     fused_multiplications_show_which_copy_runs,
                     all_instruction_sets_give_the_same_bits);
}
