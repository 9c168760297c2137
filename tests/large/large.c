/* More than 2^31 scores and more than 2^31 pixels, for real: one image many times over, one copy
 * after the other in memory. Counts are then so many times those of one image, losses are its loss,
 * and gradients its gradient by their number.
 *
 *     submod-large [GIB]     with at most so many GiB, 14 unless told; what needs more is left out
 *
 * A line per case: what, scores or pixels, GiB, and ok, wrong or left out. Ends with status 1 when
 * something is wrong. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod.h>

#define GIB ((double)(1 << 30))

static double most_gib = 14;
static int wrong;

static void *copies(const void *one, size_t bytes, size_t count)
{
    char *all = malloc(bytes * count);
    for (size_t i = 0; all && i < count; i++) {
        memcpy(all + i * bytes, one, bytes);
    }
    return all;
}

/* Tells whether there may be so much; if not, says so. */
static bool fits(const char *what, size_t size, double gib)
{
    bool good = gib <= most_gib;
    printf("%s\t%zu\t%.1f\t", what, size, gib);
    if (!good) {
        printf("left out\n");
    }
    fflush(stdout);
    return good;
}

static void judge(bool good, submod_status status)
{
    printf("%s\n", good && !status ? "ok" : "wrong");
    if (!good || status) {
        fprintf(stderr, "large: %s\n", status ? submod_last_error() : "another result");
        wrong = 1;
    }
    fflush(stdout);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(1, fabs(b));
}

/* ---- losses: more than 2^31 scores ---- */

enum { SCORES = 1 << 21, IMAGES = 1025 }; /* of one image, and so many */

typedef struct batch {
    size_t classes, pixels;
    uint16_t *one, *x; /* scores of one image and of all, bfloat16 */
    uint8_t *truth, *y;
} batch;

static uint16_t bfloat(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static bool make_batch(batch *b, size_t classes)
{
    *b = (batch){.classes = classes, .pixels = SCORES / classes};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    b->one = malloc(SCORES * sizeof *b->one);
    b->truth = malloc(b->pixels);
    for (size_t i = 0; b->one && i < SCORES; i++) {
        b->one[i] = bfloat(2 * submod_rng_normal(&rng));
    }
    for (size_t i = 0; b->truth && i < b->pixels; i++) {
        b->truth[i] = (uint8_t)submod_rng_below(&rng, classes);
    }
    b->x = b->one ? copies(b->one, SCORES * sizeof *b->one, IMAGES) : NULL;
    b->y = b->truth ? copies(b->truth, b->pixels, IMAGES) : NULL;
    return b->x && b->y;
}

static void free_batch(batch *b)
{
    free(b->one);
    free(b->x);
    free(b->truth);
    free(b->y);
}

static submod_scores scores_of(const batch *b, size_t images)
{
    return submod_scores_dense(images == 1 ? b->one : b->x, SUBMOD_SCORE_BF16, images, b->classes,
                               b->pixels);
}

static submod_labels labels_of(const batch *b, size_t images)
{
    return submod_labels_u8(images == 1 ? b->truth : b->y, images, b->pixels);
}

static submod_status call(const batch *b, size_t images, submod_engine engine, bool baseline,
                          double *loss, float *g)
{
    submod_scores scores = scores_of(b, images);
    submod_labels labels = labels_of(b, images);
    submod_gradient to = submod_gradient_dense(g, b->classes, b->pixels);
    submod_loss_settings settings = submod_loss_defaults();
    settings.engine = engine;
    const submod_gradient *wanted = g ? &to : NULL;
    return baseline ? submod_cross_entropy(&scores, &labels, loss, wanted, &settings, NULL)
                    : submod_lovasz_softmax(&scores, &labels, loss, wanted, &settings, NULL, NULL);
}

/* The gradients of all images are that of one, by their number. */
static bool same_gradients(const float *all, const float *one)
{
    float most = 0, off = 0;
    for (size_t i = 0; i < SCORES; i++) {
        most = fmaxf(most, fabsf(one[i]));
    }
    for (size_t image = 0; image < IMAGES; image++) {
        for (size_t i = 0; i < SCORES; i++) {
            off = fmaxf(off, fabsf(all[image * SCORES + i] * IMAGES - one[i]));
        }
    }
    return most > 0 && off <= 1e-4F * most;
}

static void loss_case(const char *what, submod_engine engine, bool baseline, bool with_gradient)
{
    batch b = {0};
    double one = 0, all = -1;
    double gib = ((with_gradient ? 6.0 : 2.0) * SCORES * IMAGES) / GIB + 0.5;
    if (!fits(what, (size_t)SCORES * IMAGES, gib)) {
        return;
    }
    float *g1 = malloc(SCORES * sizeof *g1);
    float *g = with_gradient ? malloc((size_t)SCORES * IMAGES * sizeof *g) : NULL;
    bool good = make_batch(&b, 64) && g1 && (g || !with_gradient);
    submod_status status = good ? call(&b, 1, engine, baseline, &one, g1) : SUBMOD_ENOMEM;
    status = status ? status : call(&b, IMAGES, engine, baseline, &all, g);
    judge(!status && near(all, one) && (!g || same_gradients(g, g1)), status);
    free(g1);
    free(g);
    free_batch(&b);
}

/* ---- metrics: more than 2^31 pixels ---- */

enum { TILE = 1 << 20, TILES = 2049, KINDS = 5 };

typedef struct labelled {
    uint8_t *p1, *t1, *p, *t; /* prediction and truth of one tile and of all */
    int64_t counts[KINDS * KINDS];
} labelled;

static bool make_labelled(labelled *l)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    l->p1 = malloc(TILE);
    l->t1 = malloc(TILE);
    for (size_t i = 0; l->p1 && l->t1 && i < TILE; i++) {
        l->t1[i] = i % 16 ? l->t1[i - 1] : (uint8_t)submod_rng_below(&rng, KINDS);
        l->p1[i] = i % 16 < 12 ? l->t1[i] : (uint8_t)submod_rng_below(&rng, KINDS);
        l->counts[l->t1[i] * KINDS + l->p1[i]]++;
    }
    l->p = l->p1 ? copies(l->p1, TILE, TILES) : NULL;
    l->t = l->t1 ? copies(l->t1, TILE, TILES) : NULL;
    return l->p && l->t;
}

static void free_labelled(labelled *l)
{
    free(l->p1);
    free(l->t1);
    free(l->p);
    free(l->t);
}

/* As one image, and as many. */
static submod_status count(const labelled *l, size_t images, bool *good)
{
    submod_confusion *c = NULL;
    size_t pixels = (size_t)TILE * TILES / images;
    submod_labels prediction = submod_labels_u8(l->p, images, pixels);
    submod_labels truth = submod_labels_u8(l->t, images, pixels);
    submod_status status = submod_confusion_create(KINDS, &c, NULL);
    status = status ? status : submod_confusion_add(c, &prediction, &truth);
    for (int k = 0; !status && k < KINDS * KINDS; k++) {
        *good = *good && submod_confusion_counts(c)[k] == l->counts[k] * TILES;
    }
    submod_confusion_free(c);
    return status;
}

static submod_status scores_of_images(const labelled *l, bool *good)
{
    submod_labels p = submod_labels_u8(l->p, TILES, TILE), t = submod_labels_u8(l->t, TILES, TILE);
    submod_labels p1 = submod_labels_u8(l->p1, 1, TILE), t1 = submod_labels_u8(l->t1, 1, TILE);
    double all = 0, one = -1, together = 0;
    submod_status status = submod_miou_image(&p, &t, KINDS, &all, NULL);
    status = status ? status : submod_miou_batch(&p, &t, KINDS, &together, NULL);
    status = status ? status : submod_miou_image(&p1, &t1, KINDS, &one, NULL);
    *good = near(all, one) && near(together, one);
    return status;
}

/* Accumulators: mIoU, worst images, instances. */
static submod_status accumulate(const labelled *l, bool *good)
{
    submod_labels p = submod_labels_u8(l->p, TILES, TILE), t = submod_labels_u8(l->t, TILES, TILE);
    submod_miou *miou = NULL;
    submod_fine_grained *fine = NULL;
    submod_instances *instances = NULL;
    submod_miou_values values = {0};
    submod_fine_grained_values fine_values = {0};
    submod_status status = submod_miou_create(KINDS, &miou, NULL);
    status = status ? status : submod_miou_add(miou, &p, &t);
    status = status ? status : submod_miou_get(miou, &values);
    status = status ? status : submod_fine_grained_create(KINDS, &fine, NULL);
    status = status ? status : submod_fine_grained_add(fine, &p, &t);
    status = status ? status : submod_fine_grained_get(fine, &fine_values);
    status = status ? status : submod_instances_create(KINDS, 1, &instances, NULL);
    status = status ? status : submod_instances_add(instances, &p, &t, &t);
    *good = values.images == TILES && near(values.image, values.dataset) &&
            near(values.image, fine_values.image);
    submod_miou_free(miou);
    submod_fine_grained_free(fine);
    submod_instances_free(instances);
    return status;
}

static void metric_cases(void)
{
    labelled l = {0};
    const double gib = 2.0 * TILE * TILES / GIB;
    const size_t pixels = (size_t)TILE * TILES;
    bool good = true;
    if (!fits("confusion, many images", pixels, gib)) {
        return;
    }
    submod_status status = make_labelled(&l) ? SUBMOD_OK : SUBMOD_ENOMEM;
    status = status ? status : count(&l, TILES, &good);
    judge(good, status);
    if (!status && fits("confusion, one image", pixels, gib)) {
        status = count(&l, 1, &good);
        judge(good, status);
    }
    if (!status && fits("mIoU of images and of the batch", pixels, gib)) {
        status = scores_of_images(&l, &good);
        judge(good, status);
    }
    if (!status && fits("accumulators: mIoU, fine grained, instances", pixels, gib + 1)) {
        status = accumulate(&l, &good);
        judge(good, status);
    }
    free_labelled(&l);
}

/* ---- the loss of a dataset, and the hinge at the edge ---- */

/* More than 2^30 pixels, twice; counts are whole numbers, so they are exact. */
static void dataset_case(void)
{
    enum { CLASSES = 2, CALLS = 2 };
    batch b = {0};
    submod_dataset *h = NULL;
    double loss = -1, one = 0, total = 0;
    size_t classes = 0, bins = 0, pixels = (size_t)CALLS * IMAGES * SCORES / CLASSES;
    if (!fits("dataset, pixels of two batches", pixels, 5.5 * SCORES * IMAGES / GIB)) {
        return;
    }
    bool good = make_batch(&b, CLASSES);
    submod_scores scores = scores_of(&b, IMAGES), image = scores_of(&b, 1);
    submod_labels labels = labels_of(&b, IMAGES), truth = labels_of(&b, 1);
    submod_status status = good ? submod_dataset_create(CLASSES, 0.001, &h) : SUBMOD_ENOMEM;
    status = status ? status : submod_dataset_add(h, &image, &truth, NULL, NULL);
    status = status ? status : submod_dataset_solve(h, &one, NULL, NULL);
    status = status ? status : submod_dataset_reset(h);
    for (int i = 0; !status && i < CALLS; i++) {
        status = submod_dataset_add(h, &scores, &labels, NULL, NULL);
    }
    status = status ? status : submod_dataset_solve(h, &loss, NULL, NULL);
    const double *counts = status ? NULL : submod_dataset_counts(h, &classes, &bins);
    for (size_t i = 0; counts && i < classes * 2 * bins; i++) {
        total += counts[i];
    }
    judge(near(loss, one) && total == (double)pixels * CLASSES, status);
    submod_dataset_free(h);
    free_batch(&b);
}

/* 2^31 - 1 pixels are the most that a loss takes; one more is refused. */
static void hinge_case(void)
{
    const size_t most = INT32_MAX;
    if (!fits("hinge, histogram, no gradient", most, 3.0 * (double)most / GIB)) {
        return;
    }
    uint16_t *x = malloc((most + 1) * sizeof *x);
    uint8_t *y = malloc(most + 1);
    submod_loss_settings settings = submod_loss_defaults();
    settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    double loss = -1, refused = 7;
    submod_status status = x && y ? SUBMOD_OK : SUBMOD_ENOMEM;
    for (size_t i = 0; !status && i <= most; i++) { /* foreground right, background by 1/2 wrong */
        y[i] = i % 4 == 0;
        x[i] = bfloat(y[i] ? 2 : -0.5);
    }
    submod_scores scores = submod_scores_dense(x, SUBMOD_SCORE_BF16, 1, 1, most);
    submod_labels labels = submod_labels_u8(y, 1, most);
    status =
        status ? status : submod_lovasz_hinge(&scores, &labels, &loss, NULL, &settings, NULL, NULL);
    scores.pixels = labels.pixels = most + 1;
    bool good = submod_lovasz_hinge(&scores, &labels, &refused, NULL, &settings, NULL, NULL) ==
                    SUBMOD_EINVAL &&
                refused == 7;
    /* Every background pixel has margin 1/2: f = 1/2 N / (P + N). */
    size_t foreground = most / 4 + 1;
    double P = (double)foreground, N = (double)most - P;
    judge(good && fabs(loss - 0.5 * N / (P + N)) <= 1e-3, status);
    free(x);
    free(y);
}

/* ---- the prox ---- */

/* By histogram, against the same few values with multiplicities. */
static void prox_case(void)
{
    enum { VALUES = 4 };
    const size_t n = INT32_MAX;
    if (!fits("prox of Jaccard by histogram", n, 50.0 * (double)n / GIB)) {
        return;
    }
    const double value[VALUES] = {0.5, -0.25, 1, 0.125};
    const uint8_t kind[VALUES] = {1, 0, 0, 1};
    const double lambda = 1e-9, delta = 1e-4;
    double multiplicity[VALUES];
    double u[VALUES];
    double *x = malloc(n * sizeof *x), *rough = malloc(n * sizeof *rough);
    submod_fn *fn = NULL;
    submod_prox_info info = {.error = 0};
    submod_prox_settings settings = submod_prox_defaults();
    settings.accuracy = delta;
    uint8_t *foreground = malloc(n);
    submod_status status = x && rough && foreground ? SUBMOD_OK : SUBMOD_ENOMEM;
    for (size_t i = 0; !status && i < n; i++) {
        x[i] = value[i % VALUES];
        foreground[i] = kind[i % VALUES];
    }
    for (size_t k = 0; k < VALUES; k++) {
        multiplicity[k] = (double)(n / VALUES + (k < n % VALUES));
    }
    status = status ? status
                    : submod_prox_points(&(submod_points){VALUES, value, kind, multiplicity}, NULL,
                                         lambda, u, NULL, NULL, NULL);
    status = status ? status : submod_fn_jaccard(n, foreground, &fn);
    status = status ? status : submod_prox(fn, x, lambda, rough, NULL, &settings, &info, NULL);
    submod_fn_free(fn);
    bool good = !status && info.error <= delta;
    for (size_t i = 0; good && i < n; i++) {
        good = fabs(rough[i] - u[i % VALUES]) <= info.error + 1e-6;
    }
    judge(good, status);
    free(x);
    free(rough);
    free(foreground);
}

int main(int argc, char **argv)
{
    most_gib = argc > 1 ? atof(argv[1]) : most_gib;
    printf("call\tsize\tGiB\tresult\n");
    metric_cases();
    loss_case("softmax, exact, no gradient", SUBMOD_ENGINE_EXACT, false, false);
    loss_case("softmax, histogram, no gradient", SUBMOD_ENGINE_HISTOGRAM, false, false);
    dataset_case();
    hinge_case();
    prox_case();
    loss_case("softmax, histogram, gradient", SUBMOD_ENGINE_HISTOGRAM, false, true);
    loss_case("softmax, exact, gradient", SUBMOD_ENGINE_EXACT, false, true);
    loss_case("cross entropy, gradient", SUBMOD_ENGINE_EXACT, true, true);
    return wrong;
}
