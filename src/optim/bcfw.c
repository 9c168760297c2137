/* Block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt and Pletscher 2013), on the dual of
 *
 *     minimise  mean of f_k(w) + decay/2 |w|^2.
 *
 * The dual variables are planes <s_k, .> + b_k below f_k: convex combinations of the planes that
 * subgradients gave, of which only the combination is kept. Their mean <s, .> + b has the dual
 * value
 *
 *     D = b - |s|^2 / (2 decay) <= J,   attained at w = -s / decay.
 *
 * Moving the plane of f_k by gamma towards the plane <g, .> + c of f_k at w changes D by
 *     gamma / m (f_k(w) - <s_k, w> - b_k) - gamma^2 |g - s_k|^2 / (2 decay m^2),
 * which is largest at a gamma in closed form. Cost of a step: a subgradient of f_k, and O(n). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"
#include "optim/deck.h"
#include "optim/monitor.h"
#include "optim/planes.h"
#include <submod/solvers.h>

static const char who[] = "submod_bcfw";

submod_bcfw_settings submod_bcfw_defaults(void)
{
    return (submod_bcfw_settings){.struct_size = sizeof(submod_bcfw_settings),
                                  .run = submodi_gap_defaults(),
                                  .order = SUBMOD_BATCH_SHUFFLED,
                                  .seed = 1};
}

typedef struct run {
    size_t n, m; /* numbers, blocks */
    double decay;
    int average;
    submodi_monitor monitor;
    submodi_deck deck;
    double *x;       /* the answer: the caller's */
    double *w;       /* -mean / decay */
    double *slope;   /* m rows: s_k */
    double *offset;  /* m numbers: b_k */
    double *mean;    /* s */
    double *g;       /* a subgradient */
    double *before;  /* s at the start of the pass */
    double level;    /* b */
    size_t steps;    /* so far */
    double searched; /* the sum of this pass's line searches */
} run;

static submod_status check(const submod_problem *problem, const double *x,
                           const submod_bcfw_settings *s)
{
    submod_status status = submodi_problem_check(who, problem);
    status = status ? status : submodi_require_given(who, "x", x);
    status = status ? status : submodi_require_given(who, "settings", s);
    status = status ? status : submodi_order_check(who, s->order);
    status = status ? status : submodi_run_check(who, &s->run);
    status =
        status ? status : submodi_require_positive(who, "run.weight_decay", s->run.weight_decay);
    return status ? status : submodi_require_finite(who, "x", x, problem->dimension);
}

static submod_status place_w(run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        r->w[i] = -r->mean[i] / r->decay;
    }
    return submodi_all_finite(r->w, r->n)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "%s: w overflows; weight_decay = %g is too small for such gradients",
                              who, r->decay);
}

/* The mean plane, from the planes themselves: rounding of the steps does not add up. */
static submod_status refresh(run *r)
{
    double weight = 1 / (double)r->m;
    memset(r->mean, 0, r->n * sizeof *r->mean);
    r->level = 0;
    for (size_t k = 0; k < r->m; k++) {
        r->level += weight * r->offset[k];
        for (size_t i = 0; i < r->n; i++) {
            r->mean[i] += weight * r->slope[k * r->n + i];
        }
    }
    submod_optim_info *info = &r->monitor.info;
    double bound = submodi_plane_lowest(r->n, r->mean, r->level, r->decay, NULL, 0);
    info->lower_bound = fmax(info->lower_bound, bound);
    return place_w(r);
}

/* The planes at x. */
static submod_status begin(run *r)
{
    submod_status status = SUBMOD_OK;
    for (size_t k = 0; status == SUBMOD_OK && k < r->m; k++) {
        double value;
        size_t batch = r->deck.order == SUBMOD_BATCH_FULL ? SUBMOD_FULL_BATCH : k;
        status = submodi_oracle_plane(&r->monitor.oracle, batch, r->x, &value, r->slope + k * r->n,
                                      &r->offset[k]);
    }
    status = status ? status : refresh(r);
    if (status == SUBMOD_OK) {
        memcpy(r->x, r->w, r->n * sizeof *r->x);
        memcpy(r->before, r->mean, r->n * sizeof *r->mean);
    }
    return status;
}

/* argmax over gamma in [0, 1] of gamma gap - gamma^2 length2 / (2 scale). */
static double line_search(double gap, double length2, double scale)
{
    if (!(gap > 0)) { /* the plane is above what the subgradient gave, by rounding */
        return 0;
    }
    return length2 > 0 ? fmin(gap / length2 * scale, 1) : 1;
}

static submod_status step(run *r)
{
    size_t batch = submodi_deck_draw(&r->deck, r->steps++);
    size_t k = batch == SUBMOD_FULL_BATCH ? 0 : batch;
    double *s = r->slope + k * r->n;
    double value, offset, m = (double)r->m;
    submod_status status =
        submodi_oracle_plane(&r->monitor.oracle, batch, r->w, &value, r->g, &offset);
    if (status != SUBMOD_OK) {
        return status;
    }
    double gap = value - submodi_dot(s, r->w, r->n) - r->offset[k];
    for (size_t i = 0; i < r->n; i++) {
        r->g[i] -= s[i];
    }
    double gamma = line_search(gap, submodi_dot(r->g, r->g, r->n), m * r->decay);
    for (size_t i = 0; i < r->n; i++) {
        s[i] += gamma * r->g[i];
        r->mean[i] += gamma / m * r->g[i];
    }
    r->offset[k] += gamma * (offset - r->offset[k]);
    r->searched += gamma;
    return place_w(r);
}

/* x <- w, or the average with w in it. */
static void answer(run *r)
{
    double share = r->average ? 2 / ((double)r->steps + 1) : 1;
    for (size_t i = 0; i < r->n; i++) {
        r->x[i] = (1 - share) * r->x[i] + share * r->w[i];
    }
}

static submod_status pass(run *r)
{
    submod_status status = SUBMOD_OK;
    memcpy(r->before, r->mean, r->n * sizeof *r->mean);
    r->searched = 0;
    for (size_t j = 0; status == SUBMOD_OK && j < r->m && !submodi_monitor_over(&r->monitor); j++) {
        status = step(r);
        if (status == SUBMOD_OK) {
            answer(r);
        }
    }
    return status ? status : refresh(r);
}

static submod_status iterate(run *r, double *f)
{
    submodi_monitor_keep(&r->monitor, r->x, NAN);
    submod_status status = begin(r);
    for (size_t k = 0; status == SUBMOD_OK; k++) {
        bool stop = false;
        *f = NAN;
        r->monitor.oracle.iteration = k;
        for (size_t i = 0; i < r->n; i++) {
            r->g[i] = r->mean[i] - r->before[i];
        }
        /* Every block was tried at this very w, and none moved. */
        bool idle = k > 0 && r->searched == 0 && r->deck.order != SUBMOD_BATCH_RANDOM &&
                    !submodi_monitor_over(&r->monitor);
        r->monitor.end = idle ? SUBMOD_STOP_STALLED : SUBMOD_STOP_NONE;
        status = submodi_monitor_look(&r->monitor, k, r->x, submodi_norm(r->g, r->n),
                                      r->searched / (double)r->m, f, &stop);
        if (status != SUBMOD_OK || stop) {
            return status;
        }
        submodi_monitor_keep(&r->monitor, r->x, *f);
        status = pass(r);
    }
    return status;
}

static submod_status take_memory(run *r, submod_work *work)
{
    double **vectors[] = {&r->w, &r->mean, &r->g, &r->before, NULL};
    r->slope = submodi_take(work, submodi_times(r->m, r->n), sizeof *r->slope);
    r->offset = submodi_take(work, r->m, sizeof *r->offset);
    bool good = submodi_take_vectors(work, r->n, vectors) && r->slope && r->offset;
    return good ? SUBMOD_OK : submodi_nomem(who);
}

submod_status submod_bcfw(const submod_problem *problem, double *x,
                          const submod_bcfw_settings *settings, submod_optim_info *info,
                          submod_work *work)
{
    submod_bcfw_settings s = submod_bcfw_defaults();
    submod_status status = submodi_read_settings(who, "submod_bcfw_defaults", settings, &s);
    status = status ? status : check(problem, x, settings ? &s : NULL);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    run r = {.n = problem->dimension, .decay = s.run.weight_decay, .average = s.average, .x = x};
    status = submodi_deck_open(&r.deck, who, problem, s.order, s.seed, w);
    r.m = r.deck.order == SUBMOD_BATCH_FULL ? 1 : r.deck.count;
    status = status ? status : take_memory(&r, w);
    status = status ? status : submodi_monitor_start(&r.monitor, who, problem, &s.run, w);
    if (status == SUBMOD_OK) {
        double f = NAN;
        r.monitor.certified = true;
        r.monitor.full = false;
        status = iterate(&r, &f);
        status = submodi_monitor_finish(&r.monitor, status, f, x, info);
    }
    submodi_scope_close(&scope);
    return status;
}
