/* Every allocation fails in turn: the call ends with SUBMOD_ENOMEM and an error message, leaks
 * nothing, writes nothing, and works again afterwards. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "depth.h"
#include "support.h"

/* One thing a user does: makes what it needs, frees all of it, returns the first failure. */
typedef submod_status scenario(submod_rng *rng);

static void fail_each_allocation_once(scenario *run)
{
    submod_rng rng;
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    int status = SUBMOD_ENOMEM;
    bool reached = true;
    /* One by one at first; later ones repeat the same places many times over. */
    for (long allowed = 0; reached; allowed += 1 + allowed / 100) {
        ck_assert_int_lt(allowed, 100000);
        submod_rng_seed(&rng, 1);
        allocations.left = allowed;
        status = run(&rng);
        reached = allocations.left <= 0;
        ck_assert_int_eq(allocations.live, 0);
        /* Where the workspace merely could not grow, a call may still succeed. */
        ck_assert(reached || status == SUBMOD_OK);
        if (status != SUBMOD_OK) {
            ck_assert_int_eq(status, SUBMOD_ENOMEM);
            ck_assert_ptr_nonnull(strstr(submod_last_error(), "out of memory"));
        }
    }
    ck_assert_ok(submod_set_allocator(NULL));
}

enum { N = 24 };

/* By every method that can do it. */
static submod_status use_prox(const submod_fn *fn, const double *x, submod_work *work)
{
    submod_prox_settings settings = submod_prox_defaults();
    submod_status status = SUBMOD_OK;
    for (int m = SUBMOD_PROX_AUTO; status >= 0 && m <= SUBMOD_PROX_CHAINS; m++) {
        double u[N] = {7}, s[N] = {7};
        settings.method = (submod_prox_method)m;
        settings.max_iterations = 20;
        status = submod_prox(fn, x, 2, u, s, &settings, NULL, m % 2 ? work : NULL);
        ck_assert(status >= 0 || (u[0] == 7 && s[0] == 7));
        status = status == SUBMOD_EUNSUPPORTED ? SUBMOD_OK : status;
    }
    return status < 0 ? status : SUBMOD_OK;
}

static submod_status use_maximize(const submod_fn *fn, submod_work *work)
{
    submod_maximize_settings settings = submod_maximize_defaults();
    submod_status status = SUBMOD_OK;
    for (int m = SUBMOD_MAXIMIZE_LAZY; !status && m <= SUBMOD_MAXIMIZE_STOCHASTIC; m++) {
        submod_maximize_info info;
        int32_t set[3] = {-7};
        settings.method = (submod_maximize_method)m;
        status =
            submod_maximize(fn, 3, NULL, 0, set, NULL, NULL, &settings, &info, m % 2 ? work : NULL);
        ck_assert(!status || set[0] == -7);
    }
    return status;
}

/* Everything one can do with a function; frees it. */
static submod_status use(submod_fn *fn, submod_rng *rng)
{
    size_t n = submod_fn_size(fn);
    double x[N], g[N] = {0}, value = 7;
    int32_t order[N];
    submod_work *work = NULL;
    submod_state *state = NULL;
    submod_check_report report = {0};
    submod_check_settings settings = submod_check_defaults();
    settings.samples = 10;
    random_vector(rng, x, n, 1);
    random_order(rng, order, n);
    submod_status status = submod_work_create(&work);
    status = status ? status : submod_lovasz(fn, x, &value, g, NULL, NULL, work);
    if (status) {
        ck_assert(value == 7 && g[0] == 0);
    }
    status = status ? status : submod_lovasz(fn, x, &value, NULL, NULL, NULL, NULL);
    status = status ? status : submod_fn_eval(fn, order, n, &value);
    status = status ? status : submod_fn_chain(fn, order, n, g, NULL);
    status = status ? status : submod_state_create(fn, &state);
    status = status ? status : submod_state_push(state, order[0], NULL);
    uint8_t in[N];
    status = status ? status : submod_fn_minimize(fn, order, 3, order + 3, 5, x, 0, in, &value);
    status = status ? status : use_prox(fn, x, work);
    status = status ? status : use_maximize(fn, work);
    status = status ? status : submod_fn_check(fn, &report, &settings);
    submod_check_report_clear(&report);
    submod_state_free(state);
    submod_work_free(work);
    submod_fn_free(fn);
    return status;
}

/* Decomposition by the minimiser of what is inside: until the time is up, or to the end. */
static submod_status decompose(const submod_fn *fn, double time_limit, submod_rng *rng)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = SUBMOD_PROX_DECOMPOSITION;
    settings.time_limit = time_limit;
    double x[N], u[N], s[N];
    random_vector(rng, x, N, 0);
    submod_status status = submod_prox(fn, x, 2, u, s, &settings, NULL, NULL);
    ck_assert(status < 0 || (status == SUBMOD_TIMELIMIT) == (time_limit > 0));
    return status < 0 ? status : SUBMOD_OK;
}

static submod_status decompositions(submod_rng *rng)
{
    int32_t tail[N], head[N];
    double weight[N], w[N];
    for (int i = 0; i < N; i++) { /* a circle */
        tail[i] = i;
        head[i] = (i + 1) % N;
        weight[i] = 1 + i % 3;
        w[i] = i % 5;
    }
    submod_fn *cut = NULL, *scaled = NULL, *shifted = NULL;
    submod_status status = submod_fn_cut(N, N, tail, head, weight, 0, &cut);
    status = status ? status : submod_fn_scale(cut, 2, &scaled);
    status = status ? status : submod_fn_add_modular(cut, w, &shifted);
    status = status ? status : decompose(scaled, 1e-12, rng); /* first: later ones are skipped */
    status = status ? status : decompose(cut, 0, rng);
    status = status ? status : decompose(scaled, 0, rng);
    status = status ? status : decompose(shifted, 0, rng);
    submod_fn_free(cut);
    submod_fn_free(scaled);
    submod_fn_free(shifted);
    return status;
}

static submod_status no_groups(submod_rng *rng)
{
    (void)rng;
    const size_t start[1] = {0};
    submod_fn *fn = NULL;
    submod_status status =
        submod_fn_groups(N, 0, start, NULL, NULL, NULL, SUBMOD_CONCAVE_SQRT, 0, &fn);
    submod_fn_free(fn);
    return status;
}

static submod_status jaccard(submod_rng *rng)
{
    uint8_t mask[N];
    submod_fn *fn = NULL;
    for (int i = 0; i < N; i++) {
        mask[i] = (uint8_t)(i % 3 == 0);
    }
    submod_status status = submod_fn_jaccard(N, mask, &fn);
    return status ? status : use(fn, rng);
}

static submod_status hamming(submod_rng *rng)
{
    submod_fn *fn = NULL;
    submod_status status = submod_fn_hamming(N, &fn);
    return status ? status : use(fn, rng);
}

static submod_status modular(submod_rng *rng)
{
    double w[N];
    submod_fn *fn = NULL;
    random_vector(rng, w, N, 0);
    submod_status status = submod_fn_modular(N, w, &fn);
    return status ? status : use(fn, rng);
}

static submod_status square_root(submod_rng *rng)
{
    submod_fn *fn = NULL;
    submod_status status = submod_fn_sqrt(N, &fn);
    return status ? status : use(fn, rng);
}

static submod_status iwata(submod_rng *rng)
{
    submod_fn *fn = NULL;
    submod_status status = make_iwata(N, &fn);
    return status ? status : use(fn, rng);
}

static submod_status concave(submod_rng *rng)
{
    double w[N], t[3] = {0, 4, 9}, g[3] = {0, 4, 2};
    submod_fn *fn = NULL;
    for (int i = 0; i < N; i++) {
        w[i] = i % 5;
    }
    submod_status status = submod_fn_concave(N, w, SUBMOD_CONCAVE_LOG1P, 0, &fn);
    status = status ? status : use(fn, rng);
    status = status ? status : submod_fn_concave_points(N, w, 3, t, g, &fn);
    return status ? status : use(fn, rng);
}

/* What it has not taken over it does not free. */
static submod_status identity(const void *ctx, double t, double *value)
{
    (void)ctx;
    *value = t;
    return SUBMOD_OK;
}

static void count_destroyed(void *ctx)
{
    ++*(int *)ctx;
}

static submod_status concave_custom(submod_rng *rng)
{
    int destroyed = 0;
    double w[N] = {1};
    submod_concave_ops ops = {
        .struct_size = sizeof ops, .value = identity, .destroy = count_destroyed};
    submod_fn *fn = NULL;
    submod_status status = submod_fn_concave_custom(N, w, &ops, &destroyed, &fn);
    ck_assert_int_eq(destroyed, 0);
    if (status == SUBMOD_OK) {
        status = use(fn, rng);
        ck_assert_int_eq(destroyed, 1);
    }
    return status;
}

static submod_status groups(submod_rng *rng)
{
    const size_t start[5] = {0, 2, 6, 10, 13};
    const int32_t elements[13] = {0, 3, 1, 2, 3, 4, 8, 0, 2, 4, 20, 21, 23};
    const double amount[13] = {1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7};
    submod_fn *fn = NULL;
    submod_status status =
        submod_fn_groups(N, 4, start, elements, NULL, NULL, SUBMOD_CONCAVE_SQRT, 0, &fn);
    status = status ? status : use(fn, rng);
    status =
        status ? status
               : submod_fn_groups(N, 4, start, elements, amount, NULL, SUBMOD_CONCAVE_MIN, 3, &fn);
    status = status ? status : use(fn, rng);
    status = status ? status
                    : submod_fn_groups(N, 0, start, NULL, NULL, NULL, SUBMOD_CONCAVE_SQRT, 0, &fn);
    return status ? status : use(fn, rng);
}

static submod_status hypergraph(submod_rng *rng)
{
    const size_t start[5] = {0, 2, 6, 10, 13};
    const int32_t nodes[13] = {0, 3, 1, 2, 3, 4, 8, 0, 2, 4, 20, 21, 23};
    submod_fn *fn = NULL;
    submod_status status =
        submod_fn_hypergraph(N, 4, start, nodes, NULL, SUBMOD_HYPERGRAPH_ALL_OR_NOTHING, &fn);
    return status ? status : use(fn, rng);
}

static submod_status coverage(submod_rng *rng)
{
    size_t start[N + 1];
    int32_t items[N];
    double weight[5] = {1, 2, 3, 4, 5};
    submod_fn *fn = NULL;
    for (int i = 0; i < N; i++) {
        start[i] = (size_t)i;
        items[i] = i % 5;
    }
    start[N] = N;
    submod_status status = submod_fn_coverage(N, start, items, 5, weight, &fn);
    return status ? status : use(fn, rng);
}

static submod_status new_cut(submod_fn **fn)
{
    int32_t tail[N], head[N];
    double weight[N];
    for (int i = 0; i < N; i++) {
        tail[i] = i;
        head[i] = (i * 7 + 1) % N;
        weight[i] = 1 + i;
    }
    return submod_fn_cut(N, N, tail, head, weight, 1, fn);
}

static submod_status cut(submod_rng *rng)
{
    submod_fn *fn = NULL;
    submod_status status = new_cut(&fn);
    return status ? status : use(fn, rng);
}

static submod_status path(submod_rng *rng)
{
    int32_t tail[N - 1], head[N - 1];
    double weight[N - 1];
    submod_fn *fn = NULL;
    for (int i = 0; i < N - 1; i++) {
        tail[i] = i;
        head[i] = i + 1;
        weight[i] = 1;
    }
    submod_status status = submod_fn_cut(N, N - 1, tail, head, weight, 0, &fn);
    return status ? status : use(fn, rng);
}

static submod_status facility(submod_rng *rng)
{
    double benefit[3 * N];
    submod_fn *fn = NULL;
    for (int i = 0; i < 3 * N; i++) {
        benefit[i] = submod_rng_uniform(rng);
    }
    submod_status status = submod_fn_facility(N, 3, benefit, &fn);
    return status ? status : use(fn, rng);
}

static submod_status logdet(submod_rng *rng)
{
    double K[N * N];
    submod_fn *fn = NULL;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            K[i * N + j] = exp(-fabs((double)(i - j)));
        }
    }
    submod_status status = submod_fn_logdet(N, K, &fn);
    return status ? status : use(fn, rng);
}

static submod_status combined(submod_rng *rng)
{
    submod_fn *a = NULL, *b = NULL, *sum = NULL, *scaled = NULL, *restricted = NULL, *last = NULL;
    int32_t order[N];
    double w[N];
    random_order(rng, order, N);
    random_vector(rng, w, N, 0);
    submod_status status = new_cut(&a);
    status = status ? status : submod_fn_sqrt(N, &b);
    if (!status) {
        submod_fn *const both[2] = {a, b};
        status = submod_fn_sum(both, NULL, 2, &sum);
    }
    status = status ? status : submod_fn_scale(sum, 2, &scaled);
    status = status ? status : submod_fn_restrict(scaled, order, N - 5, &restricted);
    status = status ? status : submod_fn_contract(restricted, order + N, 0, &last);
    submod_fn_free(a);
    submod_fn_free(b);
    submod_fn_free(sum);
    submod_fn_free(scaled);
    submod_fn_free(restricted);
    return status ? status : use(last, rng);
}

/* A sum of embedded functions, one of them with a minimiser, and the last by itself. */
static submod_status embedded(submod_rng *rng)
{
    submod_fn *small = NULL, *a = NULL, *b = NULL, *sum = NULL;
    int32_t order[N];
    random_order(rng, order, N);
    submod_status status = make_iwata(N - 6, &small);
    status = status ? status : submod_fn_embed(small, N, order, &a);
    status = status ? status : submod_fn_embed(small, N, order + 6, &b);
    if (!status) {
        submod_fn *const both[2] = {a, b};
        status = submod_fn_sum(both, NULL, 2, &sum);
    }
    submod_fn_free(small);
    submod_fn_free(a);
    status = status ? status : use(sum, rng);
    if (status) {
        submod_fn_free(b);
        return status;
    }
    return use(b, rng);
}

/* Functions with a minimiser under combinators. */
static submod_status wrapped_minimiser(submod_rng *rng)
{
    submod_fn *a = NULL, *b = NULL, *c = NULL, *d = NULL;
    int32_t order[N];
    random_order(rng, order, N);
    submod_status status = make_iwata(N, &a);
    status = status ? status : submod_fn_scale(a, 2, &b);
    status = status ? status : submod_fn_contract(b, order, 5, &c);
    status = status ? status
                    : submod_fn_restrict(
                          c, (int32_t[]){9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 10, 11, 12, 13}, 14, &d);
    submod_fn_free(a);
    submod_fn_free(b);
    submod_fn_free(c);
    return status ? status : use(d, rng);
}

/* All Lovász losses, both engines, and a histogram across batches. */
static submod_status losses(submod_rng *rng)
{
    enum { C = 3 };
    float x[C * N], g[C * N] = {0};
    uint8_t y[C * N];
    double loss = 7;
    for (int i = 0; i < C * N; i++) {
        x[i] = (float)submod_rng_normal(rng);
        y[i] = (uint8_t)(i % 2);
    }
    submod_scores scores = submod_scores_f32(x, 1, C, N), one = submod_scores_f32(x, 1, 1, N);
    submod_labels labels = submod_labels_u8(y, 1, N),
                  per_class = submod_labels_multilabel(y, SUBMOD_LABEL_U8, 1, C, N);
    submod_gradient to = submod_gradient_dense(g, C, N);
    submod_loss_settings s = submod_loss_defaults();
    submod_dataset *h = NULL;
    submod_fn *direct = NULL, *other = NULL;
    submod_status status = SUBMOD_OK;
    s.delta = 0.1;
    for (int engine = 0; engine < 2 && !status; engine++) {
        s.engine = (submod_engine)engine;
        status = submod_lovasz_softmax(&scores, &labels, &loss, &to, &s, NULL, NULL);
        ck_assert(!status || engine || (loss == 7 && g[0] == 0));
        status = status ? status
                        : submod_lovasz_sigmoid(&scores, &per_class, &loss, &to, &s, NULL, NULL);
        status = status ? status : submod_lovasz_hinge(&one, &labels, &loss, &to, &s, NULL, NULL);
    }
    status = status ? status : submod_fn_hamming(N, &direct);
    status = status ? status
                    : submod_lovasz_hinge_function(direct, &one, &labels, &loss, &to, NULL, NULL);
    status = status ? status : submod_fn_sqrt(N, &other);
    status = status ? status
                    : submod_lovasz_hinge_function(other, &one, &labels, &loss, &to, NULL, NULL);
    status = status ? status : submod_dataset_create(C, 0.1, &h);
    status = status ? status : submod_dataset_add(h, &scores, &labels, NULL, NULL);
    status = status ? status : submod_dataset_solve(h, &loss, NULL, NULL);
    status = status ? status : submod_dataset_gradient(h, &scores, &labels, &to, NULL, NULL);
    submod_dataset_free(h);
    submod_fn_free(direct);
    submod_fn_free(other);
    return status;
}

static submod_status baselines(submod_rng *rng)
{
    enum { C = 3 };
    float x[C * N], g[C * N] = {7};
    int32_t y[N];
    double loss = 7;
    for (int i = 0; i < C * N; i++) {
        x[i] = (float)submod_rng_normal(rng);
        y[i / C] = i % 2;
    }
    submod_scores scores = submod_scores_f32(x, 1, C, N), one = submod_scores_f32(x, 1, 1, N);
    submod_labels labels = submod_labels_i32(y, 1, N);
    submod_gradient to = submod_gradient_dense(g, C, N);
    submod_status status = submod_cross_entropy(&scores, &labels, &loss, &to, NULL, NULL);
    ck_assert(!status || (loss == 7 && g[0] == 7));
    status = status ? status : submod_hinge(&one, &labels, &loss, &to, NULL, NULL);
    status = status ? status : submod_rahman_wang(&one, &labels, &loss, &to, NULL, NULL);
    status = status ? status : submod_soft_dice(&scores, &labels, &loss, &to, NULL, NULL);
    return status;
}

static submod_status metrics(submod_rng *rng)
{
    (void)rng;
    const uint8_t p[8] = {0, 1, 2, 0, 1, 2, 0, 1}, t[8] = {0, 1, 1, 2, 0, 0, 1, 2};
    submod_labels prediction = submod_labels_u8(p, 2, 4), truth = submod_labels_u8(t, 2, 4);
    submod_confusion *c = NULL;
    submod_miou *m = NULL;
    submod_equibatch *s = NULL;
    submod_metrics means;
    double value = 7;
    submod_status status = submod_confusion_create(3, &c, NULL);
    status = status ? status : submod_confusion_add(c, &prediction, &truth);
    status = status ? status : submod_confusion_metrics(c, NULL, NULL, NULL, &means, NULL);
    status = status ? status : submod_miou_create(3, &m, NULL);
    status = status ? status : submod_miou_add(m, &prediction, &truth);
    status = status ? status
                    : submod_equibatch_create(2, (size_t[]){0, 1, 2}, (int32_t[]){0, 1}, 3, 1, &s);
    if (m && status) { /* all or nothing, whatever failed after it was made */
        submod_miou_values values;
        ck_assert_ok(submod_miou_get(m, &values));
        ck_assert(values.images == 0 || values.images == 2);
    }
    status = status ? status : submod_miou_image(&prediction, &truth, 3, &value, NULL);
    ck_assert(status == SUBMOD_OK || value == 7);
    submod_confusion_free(c);
    submod_miou_free(m);
    submod_equibatch_free(s);
    return status;
}

/* Streams of scoring.h: all or nothing. */
static submod_status scores_of_images(submod_rng *rng)
{
    (void)rng;
    const uint8_t p[8] = {0, 1, 2, 0, 1, 2, 0, 1}, t[8] = {0, 1, 1, 2, 0, 0, 1, 2};
    submod_labels prediction = submod_labels_u8(p, 2, 4), truth = submod_labels_u8(t, 2, 4);
    submod_instances *i = NULL;
    submod_boundary *b = NULL;
    submod_fine_grained *f = NULL;
    submod_fine_grained_values values;
    double mean;
    submod_status status = submod_instances_create(3, 1, &i, NULL);
    status = status ? status : submod_boundary_create(3, &b, NULL);
    status = status ? status : submod_fine_grained_create(3, &f, NULL);
    for (int k = 0; k < 3; k++) {
        status = status ? status : submod_instances_add(i, &prediction, &truth, &truth);
        status = status ? status : submod_boundary_add(b, &prediction, &truth, 2, 2, 1);
        status = status ? status : submod_fine_grained_add(f, &prediction, &truth);
    }
    status = status ? status : submod_fine_grained_merge(f, f);
    uint64_t words[45]; /* 12 images of 3 classes, 9 counts */
    size_t count = 0;
    status = status ? status : submod_fine_grained_words(f, words, &count);
    status = status ? status : submod_fine_grained_set_words(f, words, count);
    status = status ? status : submod_boundary_iou(b, NULL, &mean, NULL);
    status = status ? status : submod_fine_grained_get(f, &values);
    const submod_confusion *counts[] = {submod_instances_confusion(i), submod_boundary_confusion(b),
                                        submod_fine_grained_confusion(f)};
    for (int k = 0; k < 3; k++) {
        int64_t sum = 0;
        for (int cell = 0; counts[k] && cell < 9; cell++) {
            sum += submod_confusion_counts(counts[k])[cell];
        }
        ck_assert_int_eq(sum % 8, 0);
    }
    submod_instances_free(i);
    submod_boundary_free(b);
    submod_fine_grained_free(f);
    return status;
}

/* The Jaccard prox in all its forms, and the greedy path. */
static submod_status jaccard_proxes(submod_rng *rng)
{
    double x[N], u[N] = {0}, s[N], error;
    float scores[2 * N], z[2 * N] = {0};
    uint8_t fg[2 * N];
    uint64_t multiplicity[N];
    for (int i = 0; i < 2 * N; i++) {
        scores[i] = (float)submod_rng_normal(rng);
        fg[i] = (uint8_t)(i % 3 == 0);
        x[i % N] = (double)scores[i];
        multiplicity[i % N] = (uint64_t)i + 1;
    }
    submod_fn *fn = NULL;
    submod_prox_info info;
    submod_prox_settings settings = submod_prox_defaults();
    submod_scores in = submod_scores_f32(scores, 2, 1, N);
    submod_labels labels = submod_labels_u8(fg, 2, N);
    submod_gradient to = submod_gradient_dense(z, 1, N);
    submod_status status = submod_fn_jaccard(N, fg, &fn);
    for (int i = 0; i < 2 && status >= 0; i++) {
        settings.method = i ? SUBMOD_PROX_JACCARD : SUBMOD_PROX_GREEDY_PATH;
        status = submod_prox(fn, x, 1, u, s, &settings, &info, NULL);
        ck_assert(status >= 0 || i || u[0] == 0);
    }
    status = status < 0 ? status
                        : submod_prox_jaccard_points(N, x, fg, multiplicity, 1, u, s, &info, NULL);
    status =
        status ? status
               : submod_prox_jaccard_histogram(2 * N, scores, fg, 1, 0.01, z, &error, &info, NULL);
    status =
        status ? status : submod_prox_lovasz_hinge(&in, &labels, 1, &to, &to, NULL, &info, NULL);
    submod_fn_free(fn);
    return status;
}

/* Every optimiser on a max-affine problem. */
static submod_status optimisers(submod_rng *rng)
{
    double a[12], b[6], x[2] = {1, 2};
    submod_problem p = {0};
    submod_step *step = NULL;
    random_vector(rng, a, 12, 0);
    random_vector(rng, b, 6, 0);
    submod_descent_settings d = submod_descent_defaults();
    submod_fista_settings f = submod_fista_defaults();
    submod_bundle_settings s = submod_bundle_defaults();
    d.schedule = submod_schedule_constant(0.1);
    d.direction = SUBMOD_DIRECTION_PROX;
    d.run.keep_best = 1;
    d.run.max_iterations = f.run.max_iterations = 5;
    d.run.weight_decay = f.run.weight_decay = s.run.weight_decay = 0.01;
    submod_status status = submod_problem_max_affine(6, 2, a, b, &p);
    status = status ? status : submod_step_adam(2, &step, NULL);
    status = status ? status : submod_descend(&p, step, x, &d, NULL, NULL);
    status = status ? status : submod_fista(&p, x, &f, NULL, NULL);
    x[0] = 100;
    status = status ? status : submod_bundle(&p, x, &s, NULL, NULL);
    submod_step_free(step);
    submod_problem_clear(&p);
    return status;
}

/* Those of solvers.h, where statuses above 0 are no failures. */
static submod_status solvers(submod_rng *rng)
{
    double a[12], x[2] = {1, 2}, matrix[4] = {1, 2, 0, 1};
    submod_problem p = {0}, e = {0};
    const submod_map map = {.struct_size = sizeof map, .rows = 2, .columns = 2, .matrix = matrix};
    random_vector(rng, a, 12, 0);
    submod_bcfw_settings b = submod_bcfw_defaults();
    submod_split_settings s = submod_split_defaults();
    b.run.max_iterations = s.run.max_iterations = 3;
    b.run.weight_decay = s.run.weight_decay = 0.1;
    submod_status status = submod_problem_max_affine(6, 2, a, NULL, &p);
    status = status < 0 ? status : submod_problem_smoothed(&p, 2, &e);
    status = status < 0 ? status : submod_bcfw(&e, x, &b, NULL, NULL);
    status = status < 0 ? status : submod_primal_dual(&p, &map, &p, x, &s, NULL, NULL);
    submod_problem_clear(&e);
    submod_problem_clear(&p);
    return status < 0 ? status : SUBMOD_OK;
}

/* A rule around a rule around a rule: whichever fails, those inside are freed once. */
static submod_status wrapped_steps(submod_rng *rng)
{
    submod_step *step = NULL;
    double x[2] = {1, 2}, g[2];
    random_vector(rng, g, 2, 0);
    submod_status status = submod_step_adam(2, &step, NULL);
    status = status ? status : submod_step_averaged(step, 1, &step);
    status = status ? status : submod_step_averaged(step, 0, &step);
    for (int k = 0; k < 3 && status == SUBMOD_OK; k++) {
        status = submod_step_apply(step, 0.1, g, x);
    }
    submod_step_free(step);
    return status;
}

/* The prox of scaled and shifted cuts part by part, and one that is stopped. */
static submod_status cuts(submod_rng *rng)
{
    enum { SMALL = 6 };
    const int32_t tail[7] = {0, 1, 2, 3, 4, 5, 0}, head[7] = {1, 2, 3, 4, 5, 0, 3};
    double weight[7], x[SMALL], u[SMALL];
    submod_fn *fn[3] = {NULL, NULL, NULL};
    submod_prox_settings settings = submod_prox_defaults();
    submod_check_report report = {0};
    for (int i = 0; i < 7; i++) {
        weight[i] = submod_rng_uniform(rng);
    }
    random_vector(rng, x, SMALL, 0);
    submod_status status = submod_fn_cut(SMALL, 7, tail, head, weight, 0, &fn[0]);
    status = status ? status : submod_fn_scale(fn[0], 2, &fn[1]);
    status = status ? status : submod_fn_add_modular(fn[0], x, &fn[2]);
    status = status ? status : submod_fn_check(fn[0], &report, NULL); /* all subsets */
    for (int i = 0; i < 6 && status >= 0; i++) {
        settings.max_iterations = i < 3 ? 0 : 1;
        status = submod_prox(fn[i % 3], x, 1, u, NULL, &settings, NULL, NULL);
    }
    submod_check_report_clear(&report);
    for (int i = 0; i < 3; i++) {
        submod_fn_free(fn[i]);
    }
    return status < 0 ? status : SUBMOD_OK;
}

/* Sets of a ground set that is too large for flags on the stack. */
static submod_status large(submod_rng *rng)
{
    submod_fn *fn = NULL;
    int32_t set[2] = {(int32_t)submod_rng_below(rng, 5000), 9999};
    double value;
    submod_status status = submod_fn_sqrt(10000, &fn);
    status = status ? status : submod_fn_eval(fn, set, 2, &value);
    submod_fn_free(fn);
    return status;
}

static submod_status parabola(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    *value = *x * *x / 2;
    *g = *x;
    return SUBMOD_OK;
}

static submod_status shuffled_batches(submod_rng *rng)
{
    submod_problem p = {
        .struct_size = sizeof p, .dimension = 1, .batches = 3, .subgradient = parabola};
    submod_descent_settings s = submod_descent_defaults();
    submod_step *step = NULL;
    double x = submod_rng_uniform(rng);
    s.schedule = submod_schedule_constant(0.1);
    s.order = SUBMOD_BATCH_SHUFFLED;
    s.run.max_iterations = 4;
    submod_status status = submod_step_gd(1, &step);
    status = status ? status : submod_descend(&p, step, &x, &s, NULL, NULL);
    submod_step_free(step);
    return status;
}

static scenario *const scenarios[] = {
    losses,     baselines,         metrics,       scores_of_images, jaccard,        hamming,
    modular,    square_root,       iwata,         concave,          concave_custom, groups,
    hypergraph, coverage,          cut,           facility,         logdet,         combined,
    embedded,   wrapped_minimiser, path,          jaccard_proxes,   optimisers,     cuts,
    large,      shuffled_batches,  wrapped_steps, solvers,          decompositions, no_groups};

START_TEST(every_allocation_fails_once)
{
    for (int mode = 0; mode < 2; mode++) {
        allocations.only_one = mode == 1;
        for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
            fail_each_allocation_once(scenarios[i]);
        }
    }
}
END_TEST

/* For sizes that fill their blocks to the last byte, and others; also, nothing relies on fresh
 * memory being zero. */
START_TEST(nothing_is_written_around_blocks)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    ck_assert_ok(submod_set_allocator(&guarding_allocator));
    for (size_t i = 0; i < family_count; i++) {
        for (size_t n = 2; n <= N; n += (size_t)each(5)) {
            submod_fn *fn = families[i].make(n, &rng);
            double x[N], value, g[N];
            uint8_t in[N];
            int32_t order[N];
            random_vector(&rng, x, n, 1);
            random_order(&rng, order, n);
            ck_assert_ok(submod_lovasz(fn, x, &value, g, NULL, NULL, NULL));
            ck_assert_ok(submod_fn_eval(fn, order, n / 2, &value));
            ck_assert_ok(use_prox(fn, x, NULL));
            int status = submod_fn_minimize(fn, order, n / 3, order + n / 3, n / 2, x, 0, in, NULL);
            ck_assert(status == SUBMOD_OK || status == SUBMOD_EUNSUPPORTED);
            submod_fn_free(fn);
        }
    }
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        ck_assert_ok(scenarios[i](&rng));
    }
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

START_TEST(allocators)
{
    submod_allocator half = {counting_allocator.alloc, NULL};
    ck_assert_int_eq(submod_set_allocator(&half), SUBMOD_EINVAL);
    allocations.left = -1;
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_hamming(3, &fn));
    ck_assert_int_gt(allocations.live, 0);
    submod_fn_free(fn);
    ck_assert_int_eq(allocations.live, 0);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* A workspace that has grown makes repeated calls allocate nothing. */
START_TEST(workspace_stops_allocations)
{
    submod_work *work = NULL;
    submod_fn *fn = NULL;
    double x[N], value;
    for (int i = 0; i < N; i++) {
        x[i] = i % 7;
    }
    allocations.left = -1;
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    ck_assert_ok(submod_work_create(&work));
    ck_assert_ok(submod_fn_sqrt(N, &fn));
    ck_assert_ok(submod_lovasz(fn, x, &value, NULL, NULL, NULL, work));
    allocations.left = 0;
    ck_assert_ok(submod_lovasz(fn, x, &value, NULL, NULL, NULL, work));
    submod_fn_free(fn);
    submod_work_free(work);
    ck_assert_int_eq(allocations.live, 0);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("memory", every_allocation_fails_once, nothing_is_written_around_blocks,
                     allocators, workspace_stops_allocations);
}
