/* The public calls of gpu.h, on a real device or on fibers (machine.h). Skipped (77) where
 * there is neither. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "support.h"
#include "views.h"

enum { SKIPPED = 77 };

/* The bits of a softmax or sigmoid are those of a CPU that fuses multiplications and additions
 * (table in base.h); of another one, other kinds of problems are compared. Fibers
 * round as the CPU does. */
static bool cpu_fuses(void)
{
#if defined(__x86_64__)
    return machine_is_slow() || strcmp(submod_isa(), "baseline") != 0;
#else
    return true;
#endif
}

static kind random_kind(submod_rng *rng)
{
    static const kind without_exp[] = {SOFTMAX_P, SIGMOID_P, HINGE};
    return cpu_fuses() ? (kind)submod_rng_below(rng, KINDS) : without_exp[submod_rng_below(rng, 3)];
}

/* ---- losses ---- */

/* A call on copies of a batch in device memory. */
typedef struct queued {
    const views *host;
    views device;
    submod_loss_settings settings;
    double lambda; /* of a prox; 0: a loss */
    size_t bins;
    submod_gpu_place place;
    submod_gpu_result *result;
} queued;

static array to_device(const array *host)
{
    array a = {machine_memory(host->bytes), host->bytes};
    machine_copy_in(a.data, host->data, host->bytes);
    return a;
}

static queued make_call(const views *v, const submod_loss_settings *s, double lambda, size_t bins)
{
    static const submod_gpu_loss of_kind[] = {SUBMOD_GPU_SOFTMAX, SUBMOD_GPU_SOFTMAX,
                                              SUBMOD_GPU_SIGMOID, SUBMOD_GPU_SIGMOID,
                                              SUBMOD_GPU_HINGE};
    queued q = {.host = v,
                .device = *v,
                .settings = settings_for(v->kind, s),
                .lambda = lambda,
                .bins = bins};
    q.device.x = to_device(&v->x);
    q.device.y = to_device(&v->y);
    q.device.g = to_device(&v->g);
    q.device.scores.data = q.device.x.data;
    q.device.labels.data = q.device.y.data;
    q.device.gradient.data = q.device.g.data;
    if (v->w.data) {
        q.device.w = to_device(&v->w);
        q.device.weights.data = (float *)q.device.w.data + (v->weights.data - (float *)v->w.data);
    }
    submod_loss_settings of_call = settings_of_views(&q.device, s);
    q.result = machine_memory(sizeof *q.result);
    size_t *bytes = &q.place.workspace_bytes;
    ck_assert_ok(lambda > 0
                     ? submod_gpu_prox_workspace(&v->scores, bins, bytes)
                     : submod_gpu_loss_workspace(of_kind[v->kind], &v->scores, bytes, &of_call));
    q.place.workspace = machine_memory(*bytes);
    return q;
}

static void free_call(queued *q)
{
    machine_free(q->device.x.data);
    machine_free(q->device.y.data);
    machine_free(q->device.g.data);
    machine_free(q->device.w.data);
    machine_free(q->place.workspace);
    machine_free(q->result);
}

static submod_status queue(void *stream, const void *context)
{
    const queued *q = context;
    const views *v = &q->device;
    const submod_loss_settings s = settings_of_views(v, &q->settings);
    submod_gpu_place place = q->place;
    place.stream = stream;
    if (q->lambda > 0) {
        return submod_gpu_prox_jaccard(&v->scores, &v->labels, q->lambda, q->bins, &v->gradient,
                                       q->result, &s, &place);
    }
    switch (v->kind) {
    case HINGE:
        return submod_gpu_lovasz_hinge(&v->scores, &v->labels, q->result, &v->gradient, &s, &place);
    case SIGMOID:
    case SIGMOID_P:
        return submod_gpu_lovasz_sigmoid(&v->scores, &v->labels, q->result, &v->gradient, &s,
                                         &place);
    default:
        return submod_gpu_lovasz_softmax(&v->scores, &v->labels, q->result, &v->gradient, &s,
                                         &place);
    }
}

/* What the call left behind: the result, and the gradient in g. */
static submod_gpu_result fetch(const queued *q, float *g)
{
    submod_gpu_result r;
    machine_copy_out(&r, q->result, sizeof r);
    machine_copy_out(g, q->device.g.data, q->device.g.bytes);
    return r;
}

/* Compares what was left behind with the CPU on the same views, whose gradient it changes. */
static void check_loss(const queued *q, views *v)
{
    double loss;
    float *g = malloc(v->g.bytes + 1);
    submod_gpu_result r = fetch(q, g);
    ck_assert_ok(submod_gpu_result_status(&r));
    ck_assert_ok(views_on_cpu(v, &loss, NULL, &q->settings));
    ck_assert_near(r.loss, loss, 1e-13);
    ck_assert(memcmp(g, v->g.data, v->g.bytes) == 0);
    free(g);
}

/* Views of a dense example, with its gradient in *g. */
static views views_of(const example *d, const submod_gradient *g)
{
    size_t entries = d->B * d->C * d->N;
    size_t labels = is_multilabel(d->kind) ? entries : d->B * d->N;
    return (views){.kind = d->kind,
                   .scores = scores_of(d),
                   .labels = labels_of(d),
                   .gradient = *g,
                   .weights = submod_pixel_weights_f32(d->w, d->B, d->N),
                   .weighted = d->w != NULL,
                   .x = {d->x, entries * sizeof *d->x},
                   .y = {d->y, labels * sizeof *d->y},
                   .g = {g->data, entries * sizeof *g->data},
                   .w = {d->w, d->B * d->N * sizeof *d->w}};
}

/* Copies an example to the device, runs its loss and copies the outputs back; a runner for
 * compare. */
static submod_status on_device(const example *d, double *loss, const submod_gradient *g,
                               submod_loss_info *info, const submod_loss_settings *s,
                               const void *context)
{
    (void)context;
    views v = views_of(d, g);
    queued q = make_call(&v, s, 0, 0);
    const array group_loss = {s->group_loss, (d->B + 1) * sizeof *s->group_loss};
    q.settings.group_loss = to_device(&group_loss).data;
    submod_status status = queue(NULL, &q);
    if (status == SUBMOD_OK) {
        submod_gpu_result r = fetch(&q, g->data);
        machine_copy_out(group_loss.data, q.settings.group_loss, group_loss.bytes);
        status = read_result(&r, loss, info);
    }
    machine_free(q.settings.group_loss);
    free_call(&q);
    return status;
}

START_TEST(dense_batches)
{
    static const size_t sizes[] = {1, 31, 33, 257, 2048, 2049, 70001};
    submod_rng rng;
    submod_rng_seed(&rng, 95);
    for (int repeat = 0; repeat < machine_problems(700); repeat++) {
        size_t N = sizes[repeat % (machine_is_slow() ? 4 : 7)];
        kind k = random_kind(&rng);
        size_t least = is_multilabel(k) ? 1 : 2; /* the softmax of one class is refused */
        size_t C = least + submod_rng_below(&rng, machine_is_slow() ? 8 : 30);
        example d = random_example(&rng, k, submod_rng_below(&rng, 4), C, N,
                                   submod_rng_below(&rng, 2), true);
        submod_loss_settings s = random_settings(&rng, true);
        s.class_weight = C > MOST_WEIGHTED ? NULL : s.class_weight;
        const char *what = compare(&d, &s, on_device, NULL);
        ck_assert_msg(!what, "kind %d, engine %d, %zu x %zu x %zu: %s", (int)d.kind, (int)s.engine,
                      d.B, d.C, d.N, what);
        free_example(&d);
    }
}
END_TEST

START_TEST(strided_batches)
{
    static const size_t sizes[] = {1, 33, 300, 2049, 70001};
    submod_rng rng;
    submod_rng_seed(&rng, 97);
    for (int repeat = 0; repeat < machine_problems(500); repeat++) {
        size_t N = sizes[repeat % (machine_is_slow() ? 3 : 5)];
        views v = random_views(&rng, random_kind(&rng), 2, 5, N, true);
        submod_loss_settings s = random_settings(&rng, true);
        queued q = make_call(&v, &s, 0, 0);
        ck_assert_ok(queue(NULL, &q));
        check_loss(&q, &v);
        free_call(&q);
        free_views(&v);
    }
}
END_TEST

/* A label or a score that is refused: the result says which, the gradient stays. */
START_TEST(refused_data)
{
    submod_rng rng;
    submod_rng_seed(&rng, 98);
    for (int repeat = 0; repeat < machine_problems(200); repeat++) {
        bool bad_label = repeat % 2;
        views v = random_views(&rng, random_kind(&rng), 2, 3, 300, false);
        submod_loss_settings s = random_settings(&rng, false);
        s.classes = SUBMOD_CLASSES_ALL; /* scores of classes that do not count are not looked at */
        s.class_weight = NULL;
        if (bad_label) {
            memset(v.y.data, 0x11, 8);
        } else {
            memset(v.x.data, 0xff, 4);
        }
        queued q = make_call(&v, &s, 0, 0);
        float *g = malloc(v.g.bytes);
        ck_assert_ok(queue(NULL, &q));
        submod_gpu_result r = fetch(&q, g);
        ck_assert_int_eq(submod_gpu_result_status(&r),
                         bad_label ? SUBMOD_EINVAL : SUBMOD_ENONFINITE);
        ck_assert_uint_eq(bad_label ? r.bad_label : r.bad_score, 0);
        ck_assert(isnan(r.loss) && memcmp(g, v.g.data, v.g.bytes) == 0);
        free(g);
        free_call(&q);
        free_views(&v);
    }
}
END_TEST

/* ---- the prox ---- */

/* n entries of u against the CPU's, within delta and the rounding of floats. */
static void check_prox(const float *x, const uint8_t *y, size_t n, double lambda, const float *u,
                       double delta)
{
    double *expected = malloc(2 * n * sizeof *expected), *wide = expected + n;
    submod_fn *fn = NULL;
    for (size_t i = 0; i < n; i++) {
        wide[i] = (double)x[i];
    }
    ck_assert_ok(submod_fn_jaccard(n, y, &fn));
    ck_assert_ok(submod_prox(fn, wide, lambda, expected, NULL, NULL, NULL, NULL));
    submod_fn_free(fn);
    for (size_t i = 0; i < n; i++) {
        ck_assert_near((double)u[i], expected[i], delta + 1e-6);
    }
    free(expected);
}

START_TEST(prox)
{
    enum { B = 2, C = 3 };
    submod_rng rng;
    submod_rng_seed(&rng, 99);
    for (int repeat = 0; repeat < machine_problems(100); repeat++) {
        size_t N = 1 + submod_rng_below(&rng, machine_is_slow() ? 200 : 5000), n = B * C * N;
        double lambda = exp(2 * submod_rng_normal(&rng));
        float *x = malloc(n * sizeof *x), *u = malloc(n * sizeof *u);
        uint8_t *y = malloc(n);
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)submod_rng_normal(&rng);
            y[i] = submod_rng_below(&rng, 4) == 0;
        }
        views v = {.kind = SIGMOID_P,
                   .scores = submod_scores_f32(x, B, C, N),
                   .labels = submod_labels_multilabel(y, SUBMOD_LABEL_U8, B, C, N),
                   .gradient = submod_gradient_dense(u, C, N),
                   .x = {x, n * sizeof *x},
                   .y = {y, n},
                   .g = {u, n * sizeof *u}};
        submod_loss_settings s = submod_loss_defaults();
        float *got = malloc(n * sizeof *got);
        queued q = make_call(&v, &s, lambda, 1024);
        ck_assert_ok(queue(NULL, &q));
        submod_gpu_result r = fetch(&q, got);
        ck_assert_ok(submod_gpu_result_status(&r));
        for (size_t k = 0; k < B * C; k++) {
            check_prox(x + k * N, y + k * N, N, lambda, got + k * N, r.delta);
        }
        free_call(&q);
        free(got);
        free(x);
        free(u);
        free(y);
    }
}
END_TEST

/* ---- graphs ---- */

/* Captured once, run with other data each time. Every sort path, both engines, all losses. */
START_TEST(captured_losses)
{
    static const size_t sizes[] = {300, 3000, 70001};
    submod_rng rng;
    submod_rng_seed(&rng, 96);
    const int variants = 2 * 3 * KINDS;
    const int step = variants / machine_problems(12 * variants) | 1; /* odd: both engines */
    for (int variant = 0; variant < variants; variant += step) {
        kind k = (kind)(variant / 6);
        size_t N = sizes[machine_is_slow() ? 0 : variant / 2 % 3];
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)(variant % 2);
        if (!cpu_fuses() && (k == SOFTMAX || k == SIGMOID)) {
            continue;
        }
        views v = random_views(&rng, k, 2, 4, N, false);
        queued q = make_call(&v, &s, 0, 0);
        machine_graph *graph = machine_capture(queue, &q);
        for (int run = 0; run < (machine_is_slow() ? 2 : 3); run++) {
            if (run > 0) { /* other scores and labels, the gradient from where it is */
                renew_views(&rng, &v, false);
                machine_copy_in(q.device.x.data, v.x.data, v.x.bytes);
                machine_copy_in(q.device.y.data, v.y.data, v.y.bytes);
                machine_copy_in(q.device.w.data, v.w.data, v.w.bytes);
            }
            machine_run(graph);
            check_loss(&q, &v);
        }
        machine_graph_free(graph);
        free_call(&q);
        free_views(&v);
    }
}
END_TEST

START_TEST(captured_prox)
{
    submod_rng rng;
    submod_rng_seed(&rng, 100);
    views v = random_views(&rng, SIGMOID_P, 2, 3, 200, true);
    submod_loss_settings s = submod_loss_defaults();
    s.has_ignore = 1;
    s.ignore_index = IGNORED;
    queued once = make_call(&v, &s, 2, 256), graph_call = make_call(&v, &s, 2, 256);
    machine_graph *graph = machine_capture(queue, &graph_call);
    renew_views(&rng, &v, true);
    machine_copy_in(graph_call.device.x.data, v.x.data, v.x.bytes);
    machine_copy_in(graph_call.device.y.data, v.y.data, v.y.bytes);
    machine_copy_in(once.device.x.data, v.x.data, v.x.bytes);
    machine_copy_in(once.device.y.data, v.y.data, v.y.bytes);
    float *g = malloc(v.g.bytes), *expected = malloc(v.g.bytes);
    ck_assert_ok(queue(NULL, &once));
    machine_run(graph);
    submod_gpu_result r = fetch(&graph_call, g), of_call = fetch(&once, expected);
    ck_assert_ok(submod_gpu_result_status(&r));
    ck_assert(memcmp(g, expected, v.g.bytes) == 0 && r.delta == of_call.delta);
    machine_graph_free(graph);
    free_call(&once);
    free_call(&graph_call);
    free(g);
    free(expected);
    free_views(&v);
}
END_TEST

/* ---- the machine ---- */

START_TEST(devices)
{
    int count = 0;
    ck_assert_ok(submod_gpu_available(&count));
    ck_assert_int_ge(count, 1);
    submod_rng rng;
    submod_rng_seed(&rng, 102);
    views v = random_views(&rng, HINGE, 1, 1, 5, false);
    submod_loss_settings s = submod_loss_defaults();
    queued q = make_call(&v, &s, 0, 0);
    q.place.device = count;
    ck_assert_int_eq(queue(NULL, &q), SUBMOD_EINVAL);
    q.place.device = -1;
    ck_assert_int_eq(queue(NULL, &q), SUBMOD_EINVAL);
    free_call(&q);
    free_views(&v);
}
END_TEST

int main(void)
{
    setenv("CK_FORK", "no", 1); /* a device that has been looked at is lost to children */
    submod_status status = submod_gpu_available(NULL);
    if (status != SUBMOD_OK) {
        printf("skipped: %s\n", submod_last_error());
        return status == SUBMOD_EUNSUPPORTED ? SKIPPED : EXIT_FAILURE;
    }
    return RUN_TESTS("gpu_device", devices, dense_batches, strided_batches, refused_data, prox,
                     captured_losses, captured_prox);
}
