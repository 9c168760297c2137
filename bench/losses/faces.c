/* Other losses, shapes, layouts and types, each in turns with the plain case: Lovász-Softmax of
 * float scores with int32 labels, channels first, dense gradient, trained data. */
#include "losses/faces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "losses/samples.h"

static const double bar = 1.2;

typedef submod_status loss_call(const submod_scores *, const submod_labels *, double *,
                                const submod_gradient *, const submod_loss_settings *,
                                submod_loss_info *, submod_work *);

/* A call and the memory behind its views. */
typedef struct face {
    loss_call *call;
    submod_scores scores;
    submod_labels labels;
    submod_gradient gradient;
    submod_loss_settings settings;
    bool loss_only;
    void *score_memory, *label_memory; /* for free() */
} face;

static size_t count_scores(const face *f)
{
    return f->scores.batch * f->scores.classes * f->scores.pixels;
}

static face softmax_face(const recipe *r, float *gradient)
{
    batch b = batch_make(r);
    return (face){.call = submod_lovasz_softmax,
                  .scores = submod_scores_f32(b.scores, b.images, b.classes, b.pixels),
                  .labels = submod_labels_i32(b.labels, b.images, b.pixels),
                  .gradient = submod_gradient_dense(gradient, b.classes, b.pixels),
                  .settings = submod_loss_defaults(),
                  .score_memory = b.scores,
                  .label_memory = b.labels};
}

static void free_face(face *f)
{
    free(f->score_memory);
    free(f->label_memory);
}

static void replace_scores(face *f, void *memory, submod_scores view)
{
    free(f->score_memory);
    f->score_memory = memory;
    f->scores = view;
}

static void replace_labels(face *f, void *memory, submod_labels view)
{
    free(f->label_memory);
    f->label_memory = memory;
    f->labels = view;
}

/* ---- other losses ---- */

/* The one-hot labels; scores around 3 where they are 1, around -3 elsewhere. */
static void make_sigmoid(face *f)
{
    const submod_scores *s = &f->scores;
    const int32_t *labels = f->label_memory;
    float *scores = f->score_memory;
    uint8_t *hot = allocate(count_scores(f), sizeof *hot);
    for (size_t i = 0; i < count_scores(f); i++) {
        size_t image = i / s->pixels / s->classes;
        size_t class = i / s->pixels % s->classes;
        hot[i] = labels[image * s->pixels + i % s->pixels] == (int32_t) class;
        scores[i] += hot[i] ? 0 : -3;
    }
    f->call = submod_lovasz_sigmoid;
    replace_labels(f, hot,
                   submod_labels_multilabel(hot, SUBMOD_LABEL_U8, s->batch, s->classes, s->pixels));
}

/* From two classes: half the difference of their scores. */
static void make_hinge(face *f)
{
    size_t pixels = f->scores.pixels;
    const float *pair = f->score_memory;
    float *scores = allocate(pixels, sizeof *scores);
    for (size_t i = 0; i < pixels; i++) {
        scores[i] = (pair[pixels + i] - pair[i]) / 2;
    }
    f->call = submod_lovasz_hinge;
    f->gradient = submod_gradient_dense(f->gradient.data, 1, pixels);
    replace_scores(f, scores, submod_scores_f32(scores, 1, 1, pixels));
}

static void make_per_image(face *f)
{
    f->settings.per_image = 1;
}

/* The softmax of the scores instead of the scores. */
static void make_probabilities(face *f)
{
    const submod_scores *s = &f->scores;
    for (size_t i = 0; i < s->batch * s->pixels; i++) {
        size_t image = i / s->pixels;
        float *score = (float *)f->score_memory + image * s->classes * s->pixels + i % s->pixels;
        double sum = 0;
        for (size_t c = 0; c < s->classes; c++) {
            sum += exp((double)score[c * s->pixels]);
        }
        for (size_t c = 0; c < s->classes; c++) {
            score[c * s->pixels] = (float)(exp((double)score[c * s->pixels]) / sum);
        }
    }
    f->settings.from_logits = 0;
}

/* ---- other layouts and types ---- */

static void make_channels_last(face *f)
{
    const submod_scores s = f->scores;
    const float *from = f->score_memory;
    float *to = allocate(count_scores(f), sizeof *to);
    for (size_t i = 0; i < count_scores(f); i++) {
        size_t image = i / s.pixels / s.classes;
        size_t class = i / s.pixels % s.classes;
        to[(image * s.pixels + i % s.pixels) * s.classes + class] = from[i];
    }
    f->gradient = submod_gradient_channels_last(f->gradient.data, s.classes, s.pixels);
    replace_scores(f, to,
                   submod_scores_channels_last(to, SUBMOD_SCORE_F32, s.batch, s.classes, s.pixels));
}

/* To nearest, even among equals; finite and below 65504. */
static uint16_t to_half(float x)
{
    float size = fabsf(x);
    uint32_t bits;
    memcpy(&bits, &size, sizeof bits);
    uint32_t half = (bits + 0xfff + (bits >> 13 & 1)) >> 13;
    half = size < 0x1p-14F ? (uint32_t)lrintf(size * 0x1p24F) : half - (112U << 10);
    return (uint16_t)(half | (x < 0 ? 0x8000U : 0));
}

static uint16_t to_bfloat(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void convert_scores(face *f, submod_score_type type, uint16_t (*convert)(float))
{
    const submod_scores s = f->scores;
    const float *from = f->score_memory;
    uint16_t *to = allocate(count_scores(f), sizeof *to);
    for (size_t i = 0; i < count_scores(f); i++) {
        to[i] = convert(from[i]);
    }
    replace_scores(f, to, submod_scores_dense(to, type, s.batch, s.classes, s.pixels));
}

static void make_float16(face *f)
{
    convert_scores(f, SUBMOD_SCORE_F16, to_half);
}

static void make_bfloat16(face *f)
{
    convert_scores(f, SUBMOD_SCORE_BF16, to_bfloat);
}

static void make_uint8(face *f)
{
    size_t count = f->labels.batch * f->labels.pixels;
    const int32_t *from = f->label_memory;
    uint8_t *to = allocate(count, sizeof *to);
    for (size_t i = 0; i < count; i++) {
        to[i] = (uint8_t)from[i];
    }
    replace_labels(f, to, submod_labels_u8(to, f->labels.batch, f->labels.pixels));
}

static void make_int64(face *f)
{
    size_t count = f->labels.batch * f->labels.pixels;
    const int32_t *from = f->label_memory;
    int64_t *to = allocate(count, sizeof *to);
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
    replace_labels(f, to, submod_labels_i64(to, f->labels.batch, f->labels.pixels));
}

/* ---- other wishes ---- */

static void make_accumulate(face *f)
{
    f->gradient.accumulate = 1;
    memset(f->gradient.data, 0, count_scores(f) * sizeof *f->gradient.data);
}

static void make_ignored(face *f)
{
    int32_t *labels = f->label_memory;
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (size_t i = 0; i < f->labels.batch * f->labels.pixels; i++) {
        labels[i] = submod_rng_below(&rng, 10) ? labels[i] : 255;
    }
    f->settings.has_ignore = 1;
    f->settings.ignore_index = 255;
}

static void make_loss_only(face *f)
{
    f->loss_only = true;
}

static void make_plain(face *f)
{
    (void)f; /* as it is; its ratio tells how noisy the others are */
}

/* ---- other shapes ---- */

/* As many scores in square images of another number of classes. Blocks are so small that most
 * classes occur, and the lift keeps the probability of the label. */
static recipe with_classes(recipe r, size_t classes, size_t block)
{
    size_t pixels = r.classes * r.height * r.width / classes;
    r.lift += log((double)classes / (double)r.classes);
    r.height = r.width = (size_t)sqrt((double)pixels);
    r.classes = classes;
    r.block = block;
    return r;
}

static recipe shape_plain(recipe r)
{
    return r;
}

static recipe shape_binary(recipe r)
{
    r.height *= 4;
    r.width *= 4;
    r.images = 1;
    r.classes = 2;
    return r;
}

static recipe shape_150(recipe r)
{
    return with_classes(r, 150, 8);
}

static recipe shape_1000(recipe r)
{
    return with_classes(r, 1000, 2);
}

static recipe shape_odd(recipe r)
{
    r.height--;
    r.width++;
    return r;
}

static const struct {
    const char *name;
    recipe (*shape)(recipe plain);
    void (*make)(face *f);
} faces[] = {
    {"plain, once more", shape_plain, make_plain},
    {"sigmoid", shape_plain, make_sigmoid},
    {"hinge, one score per pixel", shape_binary, make_hinge},
    {"per image", shape_plain, make_per_image},
    {"150 classes", shape_150, make_plain},
    {"1000 classes", shape_1000, make_plain},
    {"channels last", shape_plain, make_channels_last},
    {"float16", shape_plain, make_float16},
    {"bfloat16", shape_plain, make_bfloat16},
    {"uint8 labels", shape_plain, make_uint8},
    {"int64 labels", shape_plain, make_int64},
    {"accumulate", shape_plain, make_accumulate},
    {"10 % ignored", shape_plain, make_ignored},
    {"probabilities", shape_plain, make_probabilities},
    {"odd sizes", shape_odd, make_plain},
    {"loss only", shape_plain, make_loss_only},
};
const size_t faces_count = sizeof faces / sizeof faces[0];

/* ---- measurement ---- */

static void call_face(face *f, int engine, submod_work *work)
{
    double loss;
    f->settings.engine = engine ? SUBMOD_ENGINE_EXACT : SUBMOD_ENGINE_HISTOGRAM;
    require(f->call(&f->scores, &f->labels, &loss, f->loss_only ? NULL : &f->gradient, &f->settings,
                    NULL, work));
}

/* Plain and face in turns; the first turn is not counted. */
static void compare(face *plain, face *other, int engine, int repeats, samples times[2])
{
    submod_work *work;
    require(submod_work_create(&work));
    for (int i = 0; i <= repeats; i++) {
        for (int k = 0; k < 2; k++) {
            double start = seconds();
            call_face(k ? other : plain, engine, work);
            if (i > 0) {
                samples_add(&times[k], start);
            }
        }
    }
    submod_work_free(work);
}

static void measure_face(const options *o, face *plain, face *other, face_result *r)
{
    double scores = (double)count_scores(other);
    double share = (double)count_scores(plain) / scores;
    for (int team = 0; team < TEAMS; team++) {
        require(submod_set_num_threads(team_threads(o, team)));
        for (int engine = 0; engine < ENGINES; engine++) {
            samples times[2] = {{.count = 0}};
            compare(plain, other, engine, o->repeats, times);
            double best = samples_best(&times[1]);
            r->best_ns[engine][team] = 1e9 * best / scores;
            r->best_ratio[engine][team] = share * best / samples_best(&times[0]);
            r->median_ratio[engine][team] =
                share * samples_median(&times[1]) / samples_median(&times[0]);
        }
    }
}

static const char *const engine_names[ENGINES] = {"histogram", "exact"};

static void print_row(const face_result *r)
{
    for (int engine = 0; engine < ENGINES; engine++) {
        printf("%-28s %-10s", engine ? "" : r->name, engine_names[engine]);
        for (int team = 0; team < TEAMS; team++) {
            double ratio = r->best_ratio[engine][team];
            printf(" %9.3f %7.2f %7.2f %7s", r->best_ns[engine][team], ratio,
                   r->median_ratio[engine][team], ratio <= bar ? "yes" : "NO");
        }
        printf("\n");
    }
    fflush(stdout);
}

static void print_head(const options *o)
{
    printf("\nFaces: time per score against the plain case, which takes turns with each\n");
    printf("ns: best per score; ratios of the best and of the medians; within: best <= %.1f\n\n",
           bar);
    printf("%-28s %-10s", "", "engine");
    for (int team = 0; team < TEAMS; team++) {
        printf(" %3d thr ns %6s %7s %7s", team_threads(o, team), "best", "median", "within");
    }
    printf("\n");
}

void faces_measure(const options *o, face_result *results)
{
    recipe plain_shape = plain_recipe(o);
    recipe largest = o->quick ? shape_binary(plain_shape) : plain_shape;
    size_t room = largest.images * largest.classes * largest.height * largest.width;
    float *gradient = allocate(room, sizeof *gradient);
    face plain = softmax_face(&plain_shape, gradient);
    print_head(o);
    for (size_t i = 0; i < faces_count; i++) {
        recipe shape = faces[i].shape(plain_shape);
        face other = softmax_face(&shape, gradient);
        faces[i].make(&other);
        results[i] = (face_result){.name = faces[i].name};
        measure_face(o, &plain, &other, &results[i]);
        print_row(&results[i]);
        free_face(&other);
    }
    free_face(&plain);
    free(gradient);
}

void face_json(const face_result *r, const options *o, FILE *file)
{
    for (int i = 0; i < ENGINES * TEAMS; i++) {
        int engine = i / TEAMS;
        int team = i % TEAMS;
        fprintf(file,
                "%s  {\"face\": \"%s\", \"engine\": \"%s\", \"threads\": %d, \"best_ns\": %.4f, "
                "\"best_ratio\": %.4f, \"median_ratio\": %.4f}",
                i ? ",\n" : "", r->name, engine_names[engine], team_threads(o, team),
                r->best_ns[engine][team], r->best_ratio[engine][team],
                r->median_ratio[engine][team]);
    }
}
