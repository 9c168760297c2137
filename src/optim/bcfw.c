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
 * which is largest at a gamma in closed form. Cost of a step: a subgradient of f_k, and O(n).
 *
 * D is a bound in double precision, too: each plane is lowered by its rounding error when it is
 * made or moved, and D is lowered by the rounding errors of the sums. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "optim/deck.h"
#include "optim/monitor.h"
#include "optim/planes.h"
#include <submod/solvers.h>

submod_bcfw_settings submod_bcfw_defaults(void)
{
    return (submod_bcfw_settings){
        .run = submodi_gap_defaults(), .order = SUBMOD_BATCH_SHUFFLED, .seed = 1};
}

typedef struct run {
    size_t n, m; /* numbers, blocks */
    double decay;
    int average;
    submodi_monitor monitor;
    submodi_deck deck;
    double *x;            /* the answer: the caller's */
    double *w;            /* -mean / decay */
    double *slope;        /* m rows: s_k */
    submodi_plane *plane; /* m planes <s_k, .> + b_k */
    double *mean;         /* s */
    double *g;            /* a subgradient */
    double *before;       /* s at the start of the pass */
    size_t steps;         /* so far */
    double searched;      /* the sum of this pass's line searches */
} run;

static submod_status check(const submod_problem *problem, const double *x,
                           const submod_bcfw_settings *s)
{
    submod_status status = submodi_problem_check(problem);
    status = status ? status : submodi_check_given("x", x);
    status = status ? status : submodi_check_given("settings", s);
    status = status ? status : submodi_order_check(s->order);
    status = status ? status : submodi_run_check(&s->run);
    status = status ? status : submodi_check_positive("run.weight_decay", s->run.weight_decay);
    return status ? status : submodi_check_finite("x", x, problem->dimension);
}

static submod_status place_w(run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        r->w[i] = -r->mean[i] / r->decay;
    }
    return submodi_all_finite(r->w, r->n)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "w overflows; weight_decay = %g is too small for such gradients",
                              r->decay);
}

/* Computes the mean plane from the planes themselves, so that rounding errors of the steps do not
 * accumulate. The rounding error of a mean of m terms t_k is below (m + 2) DBL_EPSILON times the
 * mean of |t_k|; one more DBL_EPSILON covers the last bits of the subgradients. */
static submod_status refresh(run *r)
{
    double weight = 1 / (double)r->m, share = (double)(r->m + 2) * DBL_EPSILON;
    submodi_plane mean = {r->mean, 0, 0};
    memset(r->mean, 0, r->n * sizeof *r->mean);
    for (size_t k = 0; k < r->m; k++) {
        const submodi_plane *plane = &r->plane[k];
        mean.offset += weight * plane->offset;
        for (size_t i = 0; i < r->n; i++) {
            r->mean[i] += weight * plane->slope[i];
        }
    }
    for (size_t k = 0; k < r->m; k++) {
        const submodi_plane *plane = &r->plane[k];
        double norm = submodi_norm(plane->slope, r->n);
        mean.offset -= share * weight * fabs(plane->offset);
        mean.tilt += weight * (plane->tilt + (share + DBL_EPSILON) * norm);
    }
    submod_optim_info *info = &r->monitor.info;
    double bound = submodi_plane_lowest(&mean, r->n, r->decay, NULL, 0);
    info->lower_bound = fmax(info->lower_bound, bound);
    return place_w(r);
}

/* Computes the planes at x, their mean, and the mean of their rounding errors. */
static submod_status planes_at_x(run *r, double *error)
{
    submod_status status = SUBMOD_OK;
    *error = 0;
    for (size_t k = 0; status == SUBMOD_OK && k < r->m; k++) {
        double value, lowered = 0;
        size_t batch = r->deck.order == SUBMOD_BATCH_FULL ? SUBMOD_FULL_BATCH : k;
        r->plane[k] = (submodi_plane){.slope = r->slope + k * r->n};
        status = submodi_oracle_plane(&r->monitor.oracle, batch, r->x, &value, r->plane[k].slope,
                                      &r->plane[k].offset, &lowered);
        *error += lowered / (double)r->m;
    }
    status = status ? status : refresh(r);
    if (status == SUBMOD_OK) {
        memcpy(r->x, r->w, r->n * sizeof *r->x);
    }
    return status;
}

/* Begins with the planes at x. If x is so far away that their rounding errors exceed the tolerance
 * and hide half of D's digits, replaces them with the planes at w. Steps would remove these errors
 * only slowly, and |w| is at most G / decay from any start. */
static submod_status begin(run *r)
{
    double error, half = sqrt(DBL_EPSILON);
    submod_status status = planes_at_x(r, &error);
    if (status != SUBMOD_OK) {
        return status;
    }
    double norm = submodi_norm(r->mean, r->n), size = norm / (2 * r->decay) * norm;
    if (error > r->monitor.settings->tolerance && error > half * size) {
        status = planes_at_x(r, &error);
    }
    memcpy(r->before, r->mean, r->n * sizeof *r->mean);
    return status;
}

/* argmax over gamma in [0, 1] of gamma gap - gamma^2 length2 / (2 scale). */
static double line_search(double gap, double length2, double scale)
{
    return length2 > 0 ? fmin(gap / length2 * scale, 1) : 1;
}

static submod_status step(run *r)
{
    size_t batch = submodi_deck_draw(&r->deck, r->steps++);
    submodi_plane *plane = &r->plane[batch == SUBMOD_FULL_BATCH ? 0 : batch];
    submodi_plane found = {.slope = r->g};
    double value, error, length2 = 0, m = (double)r->m;
    submod_status status =
        submodi_oracle_plane(&r->monitor.oracle, batch, r->w, &value, r->g, &found.offset, &error);
    if (status != SUBMOD_OK) {
        return status;
    }
    double gap = value - submodi_dot(plane->slope, r->w, r->n) - error - plane->offset;
    if (!(gap > error)) { /* up to rounding, the plane is as high at w as the new one */
        return SUBMOD_OK;
    }
    for (size_t i = 0; i < r->n; i++) {
        double change = r->g[i] - plane->slope[i];
        length2 += change * change;
    }
    double gamma = line_search(gap, length2, m * r->decay);
    for (size_t i = 0; i < r->n; i++) {
        r->mean[i] += gamma / m * (r->g[i] - plane->slope[i]);
    }
    submodi_plane_move(plane, r->n, &found, gamma);
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
    r->slope = submodi_work_alloc(work, submodi_times(r->m, r->n), sizeof *r->slope);
    r->plane = submodi_work_alloc(work, r->m, sizeof *r->plane);
    bool good = submodi_take_vectors(work, r->n, vectors) && r->slope && r->plane;
    return good ? SUBMOD_OK : submodi_out_of_memory();
}

submod_status submod_bcfw(const submod_problem *problem, double *x,
                          const submod_bcfw_settings *settings, submod_optim_info *info,
                          submod_work *work)
{
    submod_bcfw_settings s = settings ? *settings : submod_bcfw_defaults();
    submod_status status = check(problem, x, settings ? &s : NULL);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_bcfw", status);
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    run r = {.n = problem->dimension, .decay = s.run.weight_decay, .average = s.average, .x = x};
    status = submodi_deck_open(&r.deck, problem, s.order, s.seed, w);
    r.m = r.deck.order == SUBMOD_BATCH_FULL ? 1 : r.deck.count;
    status = status ? status : take_memory(&r, w);
    status = status ? status : submodi_monitor_start(&r.monitor, problem, &s.run, w);
    if (status == SUBMOD_OK) {
        double f = NAN;
        r.monitor.certified = true;
        r.monitor.full = false;
        status = iterate(&r, &f);
        status = submodi_monitor_finish(&r.monitor, status, f, x, info);
    }
    submodi_scope_close(&scope);
    return submodi_return("submod_bcfw", status);
}
