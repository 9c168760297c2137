/* The prox of the Lovász hinge of a batch that is spread over ranks (see dist.h).
 *
 * per_image: each rank solves its own images exactly (prox/hinge_layer.c); the number of images is
 * that of all. Else the batch is one group, whose margins are counted on a grid (margin_counts.c):
 * the counts of all ranks are added up, each rank solves the same small problem and looks its own
 * pixels up.
 *
 * The ranks meet three times: before they count, to add up, and before anything is written, as an
 * output of one rank may overflow. The last time they also tell how far margins have moved. Bytes
 * sent: 8 (K + 1), whatever the number of pixels, and 200. */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "dist/agree.h"
#include "dist/margin_counts.h"
#include "submod/losses/histogram.h"

/* Grid points unless bins or delta ask for others. */
enum { USUAL_BINS = 1 << 16 };

typedef struct call {
    const char *who;
    submod_comm comm;
    submodi_layer layer;
    bool per_image;
    submodi_margins margins;
    double *total;   /* counts of all ranks */
    bool counts_fit; /* into an int32_t */
    float largest;   /* margin: of this rank, then of all */
    submod_prox_info info;
} call;

/* ---- alone ---- */

static size_t grid_size(const submod_loss_settings *s)
{
    size_t asked = 2 * (size_t)submodi_histogram_bins(s->delta); /* the range is below twice the
                                                                     largest margin */
    return s->bins ? s->bins : asked > USUAL_BINS ? asked : USUAL_BINS;
}

/* A float is enough to find the grid: with a last point too low by 2^-24 of it, the largest margin
 * is still nearest to that. */
static submod_status read_margins(call *c, submod_work *w)
{
    double largest = 0;
    const submod_loss_settings *given = &c->layer.batch.given;
    submod_status status = submodi_require_bins(c->who, given->bins, given->delta);
    if (status != SUBMOD_OK) {
        return status;
    }
    c->margins = (submodi_margins){.layer = &c->layer, .K = grid_size(given)};
    c->total = submodi_take(w, submodi_margin_slots(&c->margins), sizeof *c->total);
    status = c->total ? submodi_margins_read(&c->margins, &largest, w) : submodi_nomem(c->who);
    c->largest = (float)largest;
    return status;
}

/* ---- meeting the others ---- */

static const char *const names[] = {"lambda",
                                    "settings.per_image",
                                    "settings.has_ignore",
                                    "settings.ignore_index",
                                    "settings.bins or delta",
                                    "settings.measure",
                                    "settings.measure.alpha",
                                    "settings.measure.beta",
                                    NULL};

/* In the order of names. */
static void write_fields(const call *c, uint64_t *field)
{
    const submod_loss_settings *s = &c->layer.batch.settings;
    const submod_measure *m = &c->layer.measure;
    bool tversky = m->type == SUBMOD_MEASURE_TVERSKY;
    size_t i = 0;
    field[i++] = submodi_field_of(c->layer.lambda);
    field[i++] = c->per_image;
    field[i++] = s->has_ignore != 0;
    field[i++] = s->has_ignore ? (uint64_t)s->ignore_index : 0;
    field[i++] = c->margins.K;
    field[i++] = (uint64_t)m->type;
    field[i++] = tversky ? submodi_field_of(m->alpha) : 0;
    field[i++] = tversky ? submodi_field_of(m->beta) : 0;
}

static submod_status agree(call *c, submod_status mine)
{
    submodi_facts facts = {.status = SUBMOD_OK};
    submodi_totals totals;
    const submodi_batch *batch = &c->layer.batch;
    if (mine == SUBMOD_OK) {
        write_fields(c, facts.field);
        facts.pixels = batch->scores.batch * batch->scores.pixels;
        facts.groups = batch->groups;
        facts.largest = c->largest;
    }
    submod_status status = submodi_agree(c->who, &c->comm, mine, names, &facts, &totals);
    status = status ? status : submodi_totals_require_exact(c->who, &totals);
    if (status != SUBMOD_OK) {
        return status;
    }
    c->layer.groups = c->per_image ? (double)totals.groups : 1;
    c->counts_fit = totals.pixels <= INT32_MAX;
    c->largest = totals.largest;
    return SUBMOD_OK;
}

/* The counts of all ranks, in c->total. */
static submod_status add_up(call *c)
{
    size_t slots = submodi_margin_slots(&c->margins);
    int32_t *count = c->margins.count;
    submodi_margins_count(&c->margins, (double)c->largest);
    submod_status status = c->counts_fit
                               ? submodi_comm_sum(c->who, &c->comm, count, SUBMOD_COMM_I32, slots)
                               : SUBMOD_OK;
    for (size_t k = 0; k < slots; k++) {
        c->total[k] = count[k];
    }
    return c->counts_fit ? status
                         : submodi_comm_sum(c->who, &c->comm, c->total, SUBMOD_COMM_F64, slots);
}

/* A float that is not less. */
static float rounded_up(double x)
{
    float y = (float)x;
    return (double)y < x ? nextafterf(y, INFINITY) : y;
}

/* Solves, and checks all outputs. *moved: by how much margins of this rank did. */
static submod_status solve(call *c, const submod_gradient *prox, const submod_gradient *gradient,
                           float *moved, submod_work *w)
{
    submod_status status = SUBMOD_OK;
    if (!c->per_image) {
        status = submodi_margins_solve(&c->margins, c->total, &c->info, w);
        *moved = status == SUBMOD_OK ? rounded_up(submodi_margins_apply(&c->margins)) : 0;
    }
    return status ? status : submodi_layer_put(&c->layer, prox, gradient, false);
}

static submod_status run(call *c, submod_status mine, const submod_gradient *prox,
                         const submod_gradient *gradient, submod_work *w)
{
    submod_status status = agree(c, mine);
    if (status == SUBMOD_OK && !c->per_image) {
        status = add_up(c);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    float moved = 0;
    float most = 0;
    status = solve(c, prox, gradient, &moved, w);
    status = submodi_agree_largest(c->who, &c->comm, status, moved, &most);
    c->info.error = 2 * (double)most;
    return status ? status : submodi_layer_put(&c->layer, prox, gradient, true);
}

/* All that a rank can find wrong by itself. */
static submod_status begin(call *c, const submod_gradient *prox, const submod_gradient *gradient,
                           submod_work *w)
{
    submod_status status = submodi_layer_open(&c->layer, prox, gradient, w);
    c->per_image = c->layer.batch.settings.per_image != 0;
    c->info.method = submodi_layer_method(&c->layer);
    if (status != SUBMOD_OK) {
        return status;
    }
    return c->per_image ? submodi_layer_solve(&c->layer, &c->info, w) : read_margins(c, w);
}

submod_status submod_dist_prox_lovasz_hinge(const submod_comm *comm, const submod_scores *scores,
                                            const submod_labels *labels, double lambda,
                                            const submod_gradient *prox,
                                            const submod_gradient *gradient,
                                            const submod_loss_settings *settings,
                                            submod_prox_info *info, submod_work *work)
{
    call c = {.who = "submod_dist_prox_lovasz_hinge"};
    submod_status status = submodi_comm_read(c.who, comm, &c.comm);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = submodi_layer_start(&c.layer, c.who, scores, labels, lambda, settings);
    status = status ? status : begin(&c, prox, gradient, w);
    status = run(&c, status, prox, gradient, w);
    submodi_scope_close(&scope);
    if (status == SUBMOD_OK) {
        submodi_copy_out(info, &c.info, 1, sizeof *info);
    }
    return status;
}
