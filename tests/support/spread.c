/* Losses of a batch that is spread over ranks (see spread.h). */
#include "spread.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

void cut_at_random(submod_rng *rng, spread *x, int ranks)
{
    size_t B = x->d->B;
    x->cut[0] = 0;
    x->cut[ranks] = B;
    for (int r = 1; r < ranks; r++) {
        x->cut[r] = submod_rng_below(rng, B + 1);
    }
    for (int r = 1; r < ranks; r++) { /* ascending */
        for (int k = r; k > 1 && x->cut[k] < x->cut[k - 1]; k--) {
            size_t swap = x->cut[k];
            x->cut[k] = x->cut[k - 1];
            x->cut[k - 1] = swap;
        }
    }
}

submod_scores scores_part(const spread *x, size_t first, size_t last)
{
    const batch *d = x->d;
    size_t at = first * d->C * d->N;
    const void *data = x->type == SUBMOD_SCORE_F32 ? (const void *)(x->x + at) : x->half + at;
    return x->channels_last ? submod_scores_channels_last(data, x->type, last - first, d->C, d->N)
                            : submod_scores_dense(data, x->type, last - first, d->C, d->N);
}

submod_gradient gradient_part(const spread *x, float *gradient, size_t first)
{
    const batch *d = x->d;
    float *data = gradient + first * d->C * d->N;
    submod_gradient g = x->channels_last ? submod_gradient_channels_last(data, d->C, d->N)
                                         : submod_gradient_dense(data, d->C, d->N);
    g.scale = 0.75;
    g.accumulate = x->accumulates;
    return g;
}

submod_labels labels_part(const spread *x, size_t first, size_t last)
{
    const batch *d = x->d;
    return d->multilabel ? submod_labels_multilabel(d->y + first * d->C * d->N, SUBMOD_LABEL_I64,
                                                    last - first, d->C, d->N)
                         : submod_labels_i64(d->y + first * d->N, last - first, d->N);
}

/* ---- by kind ---- */

typedef submod_status loss_of_ranks(const submod_comm *comm, const submod_scores *scores,
                                    const submod_labels *labels, double *loss,
                                    const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_loss_info *info,
                                    submod_work *work);
static loss_of_ranks *const losses[] = {submod_dist_lovasz_softmax, submod_dist_lovasz_sigmoid,
                                        submod_dist_lovasz_hinge, submod_dist_lovasz_softmax,
                                        submod_dist_lovasz_sigmoid};

void call_part(const submod_comm *comm, void *context)
{
    spread *x = context;
    const batch *d = x->d;
    int r = comm->rank;
    size_t first = x->cut[r];
    size_t images = x->cut[r + 1] - first;
    submod_loss_settings s = x->s;
    submod_pixel_weights weights =
        submod_pixel_weights_f32(x->weights ? x->weights + first * d->N : NULL, images, d->N);
    s.from_logits = x->k != PROBABILITY && x->k != SIGMOID_PROBABILITY;
    s.pixel_weights = x->weights ? &weights : NULL;
    s.group_loss = x->group_loss + (s.per_image ? first : (size_t)r);
    submod_scores scores = scores_part(x, first, first + images);
    submod_labels labels = labels_part(x, first, first + images);
    submod_gradient g = {0};
    if (x->derives) {
        g = gradient_part(x, x->gradient, first);
    }
    const submod_gradient *to = x->derives ? &g : NULL;
    x->status[r] = losses[x->k](comm, &scores, &labels, &x->loss[r], to, &s, &x->info[r], NULL);
    strncpy(x->words[r], x->status[r] ? submod_last_error() : "", sizeof x->words[r] - 1);
}

/* ---- one process ---- */

static void fill(float *g, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        g[i] = 0.25F * (float)(i % 7);
    }
}

result alone(const spread *x)
{
    const batch *d = x->d;
    size_t n = d->B * d->C * d->N;
    result r = {.gradient = malloc((n + 1) * sizeof(float)),
                .group_loss = malloc((d->B + 1) * sizeof(double))};
    submod_scores scores = scores_part(x, 0, d->B);
    submod_labels labels = labels_part(x, 0, d->B);
    submod_pixel_weights weights = submod_pixel_weights_f32(x->weights, d->B, d->N);
    submod_loss_settings s = x->s;
    s.pixel_weights = x->weights ? &weights : NULL;
    s.group_loss = r.group_loss;
    submod_gradient g = gradient_part(x, r.gradient, 0);
    fill(r.gradient, n);
    ck_assert_ok(call_views(x->k, &scores, &labels, &r.loss, x->derives ? &g : NULL, &r.info, &s));
    return r;
}

static void assert_same(const spread *x, int ranks, const result *r)
{
    size_t n = x->d->B * x->d->C * x->d->N;
    for (int k = 0; k < ranks; k++) {
        ck_assert_msg(x->status[k] == SUBMOD_OK, "rank %d of %d: %s", k, ranks, x->words[k]);
        ck_assert_msg(x->loss[k] == r->loss, "rank %d of %d: loss %.17g, alone %.17g", k, ranks,
                      x->loss[k], r->loss);
        ck_assert_uint_eq(x->info[k].bins, r->info.bins);
        ck_assert_msg(x->info[k].delta == r->info.delta, "delta %.17g, alone %.17g",
                      x->info[k].delta, r->info.delta);
        ck_assert_uint_eq(x->info[k].pixels, r->info.pixels);
        ck_assert_uint_eq(x->info[k].terms, r->info.terms);
        ck_assert_uint_eq(x->info[k].sorted, r->info.sorted);
        if (!x->s.per_image) {
            ck_assert_msg(x->group_loss[k] == r->group_loss[0], "group loss");
        }
    }
    if (x->s.per_image) {
        ck_assert_msg(memcmp(x->group_loss, r->group_loss, x->d->B * sizeof(double)) == 0,
                      "losses of images");
    }
    ck_assert_msg(memcmp(x->gradient, r->gradient, n * sizeof(float)) == 0, "gradient, %d ranks",
                  ranks);
}

void spread_and_compare(spread *x, int ranks, ranks_plan *plan, const result *r)
{
    size_t n = x->d->B * x->d->C * x->d->N;
    x->gradient = malloc((n + 1) * sizeof(float));
    x->group_loss = malloc((x->d->B + MOST_RANKS) * sizeof(double));
    fill(x->gradient, n);
    run_ranks(ranks, plan, call_part, x);
    assert_same(x, ranks, r);
    free(x->gradient);
    free(x->group_loss);
}

void free_result(result *r)
{
    free(r->gradient);
    free(r->group_loss);
}
