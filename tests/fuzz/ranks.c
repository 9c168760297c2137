/* Fuzzes losses over ranks, which are threads here: for any number of ranks and any split of the
 * images the bits that one process with all images gets. Then one rank differs in
 * its settings or sizes: all get the same status, and words if that is an error. */
#include "ranks.h"

#include <string.h>

#include "tensors.h"

typedef submod_status loss(const submod_scores *scores, const submod_labels *labels, double *value,
                           const submod_gradient *gradient, const submod_loss_settings *settings,
                           submod_loss_info *info, submod_work *work);
typedef submod_status dist(const submod_comm *comm, const submod_scores *scores,
                           const submod_labels *labels, double *value,
                           const submod_gradient *gradient, const submod_loss_settings *settings,
                           submod_loss_info *info, submod_work *work);

typedef struct spread {
    dist *call;
    const tensors *t;
    const tensors_view *view;
    submod_loss_settings settings;
    size_t cut[MOST_RANKS + 1];
    submod_status status[MOST_RANKS];
    double loss[MOST_RANKS];
} spread;

/* The images first .. last - 1 of a view. */
static tensors_view part_of(const tensors_view *v, size_t first, size_t last)
{
    static const size_t score_bytes[] = {4, 2, 2}, label_bytes[] = {1, 4, 8};
    tensors_view part = *v;
    ptrdiff_t skip = (ptrdiff_t)first;
    part.scores.batch = part.labels.batch = part.weights.batch = last - first;
    part.scores.data = (const char *)v->scores.data +
                       skip * v->scores.batch_stride * (ptrdiff_t)score_bytes[v->scores.type];
    part.labels.data = (const char *)v->labels.data +
                       skip * v->labels.batch_stride * (ptrdiff_t)label_bytes[v->labels.type];
    part.weights.data = v->weights.data + skip * v->weights.batch_stride;
    part.gradient.data = v->gradient.data + skip * v->gradient.batch_stride;
    return part;
}

static void call_part(const submod_comm *comm, void *context)
{
    spread *s = context;
    int r = comm->rank;
    tensors_view own = part_of(s->view, s->cut[r], s->cut[r + 1]);
    submod_loss_settings settings = s->settings;
    settings.pixel_weights = s->t->weighted ? &own.weights : NULL;
    s->status[r] = s->call(comm, &own.scores, &own.labels, &s->loss[r],
                           s->t->derives ? &own.gradient : NULL, &settings, NULL, NULL);
}

/* Ascending cuts of the images. */
static void cut(dice *d, spread *s, int ranks)
{
    s->cut[0] = 0;
    for (int r = 1; r < ranks; r++) {
        s->cut[r] = s->cut[r - 1] + dice_below(d, s->t->batch - s->cut[r - 1] + 1);
    }
    s->cut[ranks] = s->t->batch;
}

static void clear(tensors_view *v)
{
    for (size_t k = 0; k < v->gradient_count; k++) {
        v->gradient_memory[k] = 0;
    }
}

/* The dense view alone, the other one over ranks; gradients are compared through it. */
static void compare(dice *d, tensors *t, loss *alone, dist *spread_out)
{
    int ranks = 1 + (int)dice_below(d, 4);
    spread s = {.call = spread_out, .t = t, .view = &t->dense, .settings = t->settings};
    submod_loss_settings settings = t->settings;
    double value = -1;
    settings.engine = s.settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    settings.pixel_weights = t->weighted ? &t->any.weights : NULL;
    cut(d, &s, ranks);
    clear(&t->any);
    clear(&t->dense);
    submod_status status = alone(&t->any.scores, &t->any.labels, &value,
                                 t->derives ? &t->any.gradient : NULL, &settings, NULL, NULL);
    run_ranks(ranks, NULL, call_part, &s);
    for (int r = 0; r < ranks; r++) {
        /* Of several things that are wrong, ranks may meet another one first. */
        FUZZ_CHECK(s.status[r] == s.status[0] && (s.status[r] < 0) == (status < 0),
                   "status %d on rank %d of %d, %d alone", (int)s.status[r], r, ranks, (int)status);
        FUZZ_CHECK(status != SUBMOD_OK || s.loss[r] == value,
                   "loss %.17g on rank %d of %d, %.17g alone", s.loss[r], r, ranks, value);
    }
    tensors_same_gradients(t);
}

/* ---- ranks that disagree ---- */

typedef struct disagreement {
    spread s;
    int odd;     /* the rank that differs */
    size_t kind; /* in what */
    bool words[MOST_RANKS];
} disagreement;

static void call_otherwise(const submod_comm *comm, void *context)
{
    disagreement *g = context;
    spread *s = &g->s;
    int r = comm->rank;
    tensors_view own = part_of(s->view, s->cut[r], s->cut[r + 1]);
    submod_loss_settings settings = s->settings;
    settings.pixel_weights = s->t->weighted ? &own.weights : NULL;
    const submod_gradient *gradient = s->t->derives ? &own.gradient : NULL;
    if (r == g->odd) {
        switch (g->kind) {
        case 0: settings.engine = SUBMOD_ENGINE_EXACT; break;
        case 1: settings.per_image = !settings.per_image; break;
        case 2: settings.delta /= 2; break;
        case 3: settings.bins += 2; break;
        case 4: settings.from_logits = !settings.from_logits; break;
        case 5: own.scores.classes--; break;
        case 6: own.scores.pixels = own.labels.pixels = own.weights.pixels /= 2; break;
        case 7: settings.has_ignore = !settings.has_ignore; break;
        case 8: settings.classes = (submod_classes)((settings.classes + 1) % 3); break;
        case 9: own.labels.pixels++; break;
        default: gradient = NULL;
        }
    }
    s->status[r] =
        s->call(comm, &own.scores, &own.labels, &s->loss[r], gradient, &settings, NULL, NULL);
    g->words[r] = submod_last_error()[0] != 0;
}

static void disagree(dice *d, tensors *t, dist *call)
{
    int ranks = 2 + (int)dice_below(d, 3);
    disagreement g = {.s = {.call = call, .t = t, .view = &t->dense, .settings = t->settings}};
    g.s.settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    g.odd = (int)dice_below(d, (size_t)ranks);
    g.kind = dice_below(d, 11);
    cut(d, &g.s, ranks);
    run_ranks(ranks, NULL, call_otherwise, &g);
    for (int r = 0; r < ranks; r++) {
        FUZZ_CHECK(g.s.status[r] == g.s.status[0],
                   "rank %d differs in %zu: status %d on rank %d, %d on rank 0", g.odd, g.kind,
                   (int)g.s.status[r], r, (int)g.s.status[0]);
        FUZZ_CHECK(g.s.status[r] >= 0 || g.words[r], "rank %d has no words", r);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct {
        loss *alone;
        dist *spread;
        tensors_labels labels;
        bool probabilities;
    } losses[] = {{submod_lovasz_softmax, submod_dist_lovasz_softmax, LABELS_OF_CLASSES, false},
                  {submod_lovasz_softmax, submod_dist_lovasz_softmax, LABELS_OF_CLASSES, true},
                  {submod_lovasz_sigmoid, submod_dist_lovasz_sigmoid, LABELS_MULTIPLE, false},
                  {submod_lovasz_hinge, submod_dist_lovasz_hinge, LABELS_BINARY, false}};
    dice d = dice_of(bytes, size);
    size_t which = dice_below(&d, sizeof losses / sizeof *losses);
    tensors t;
    submod_set_num_threads(1);
    tensors_make(&d, &t, losses[which].labels, losses[which].probabilities);
    compare(&d, &t, losses[which].alone, losses[which].spread);
    disagree(&d, &t, losses[which].spread);
    tensors_free(&t);
    return 0;
}
