/* The prox of a sum of functions whose terms are spread over ranks (see dist.h).
 *
 * The dual is  min |x - sum of N_j|^2  over N_j in B(F_j) / lambda, all terms j of all ranks. All
 * ranks at once take a step, each on its own terms, from extrapolated points Y_j. With R_r the sum
 * of N_j - Y_j over the terms of rank r, and m the number of ranks that share an element,
 *
 *     |x - sum of N_j|^2  <=  sum over r of sum over elements of m (g / m - R_r)^2 + const.,
 *
 * g = x - sum of Y_j, with equality at N = Y: (sum of R_r)^2 <= m sum of R_r^2. Each rank makes its
 * part of the right side smaller by moving one of its terms after the other to the best point for
 * that, if m were the largest m of the term at all its elements (terms.c). Where no other rank has
 * an element, that is a sweep of prox/sums/cyclic.c; with one term of all elements a rank it is
 * FISTA. Then Y = N + (t - 1) / t' (N - N before), t' = (1 + sqrt(1 + 4 t^2)) / 2, and t goes back
 * to 1 as in cyclic.c: a step without extrapolation never makes |x - sum of N_j| grow.
 *
 * The sum of the N_j is all that ranks have to know of each other, n numbers in one sum an
 * iteration; the sum of the Y_j follows from the last two.
 *
 * Certificate: with u = x - sum of N_j the gap is the sum of f_j(u) - <N_j, u> >= 0, of which each
 * rank adds its own part to the next message. So an iterate is known to be good enough one message
 * later, and the step taken meanwhile is dropped. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/sums_loops.h"
#include "dist/agree.h"
#include "dist/terms.h"
#include "prox/gap.h"

enum {
    DEFAULT_ITERATIONS = 100000,
    PATIENCE = 100 /* iterations without a smaller gap, after which the method gives up */
};

/* What follows the n numbers of a message: the gap of the iterate before, the turn of this one, and
 * the number of ranks that cannot or do not want to go on. */
enum { VALUE, EXCESS, SIZE, TURN, FAILED, LATE, CANCELLED, SCALARS };

typedef struct call {
    const char *who;
    submod_comm comm;
    size_t n;
    const double *x;
    double lambda;
    submod_prox_settings settings;
    double start, deadline;
    submodi_terms terms;
    int32_t *ranks;       /* that share each element */
    double *sum, *before; /* of the last two steps, over all ranks */
    double *u, *r;        /* x - sum; x - sum of the Y_j */
    double *message;      /* n + SCALARS numbers; its first n are the next sum */
    double t, momentum;   /* Nesterov's */
    double last_length;   /* |x - sum|^2 */
    double best_gap, tolerance;
    size_t unimproved; /* iterations since the best gap */
    submod_prox_info info;
    submod_work *work;
} call;

/* ---- one iteration ---- */

/* This rank's part of the message. */
static submod_status write_message(call *c)
{
    double *scalar = c->message + c->n;
    submodi_extension f = {0};
    double turn = 0;
    memset(c->message, 0, (c->n + SCALARS) * sizeof *c->message);
    for (size_t i = 0; i < c->n; i++) {
        double y = c->sum[i] + c->momentum * (c->sum[i] - c->before[i]);
        c->r[i] = c->x[i] - y;
    }
    submod_status status =
        c->info.iterations ? submodi_terms_extension(&c->terms, c->u, &f, c->work) : SUBMOD_OK;
    submodi_projection p = {c->r, c->ranks, c->momentum, c->tolerance, c->deadline};
    status = status ? status : submodi_terms_project(&c->terms, &p, c->message, &turn, c->work);
    c->info.oracle_calls += c->terms.count;
    scalar[VALUE] = f.value;
    scalar[EXCESS] = f.excess;
    scalar[SIZE] = f.size;
    scalar[TURN] = turn;
    scalar[FAILED] = status != SUBMOD_OK;
    scalar[LATE] = submodi_seconds() > c->deadline;
    scalar[CANCELLED] = submodi_cancelled();
    return status;
}

/* The gap of u and the sum, and what is allowed. Same on all ranks, as all that goes in is. */
static bool read_gap(call *c)
{
    const double *scalar = c->message + c->n;
    double size = 0;
    double length = 0;
    for (size_t i = 0; i < c->n; i++) {
        size += c->lambda * (c->x[i] * c->x[i] + c->sum[i] * c->sum[i]);
        length += c->lambda * c->sum[i] * c->sum[i];
    }
    double allowed = c->settings.tolerance * size / 2 + 8 * DBL_EPSILON * scalar[SIZE];
    c->info.gap = scalar[EXCESS];
    c->info.primal = scalar[VALUE] + length / 2;
    c->info.dual = c->info.primal - c->info.gap;
    c->tolerance = fmax(1e-14, 1e-3 * fmin(1, c->info.gap / fmax(size / 2, DBL_MIN)));
    submodi_tell_progress(&c->settings, c->info.iterations, c->info.gap);
    return c->info.gap <= allowed;
}

/* SUBMOD_OK: go on. */
static submod_status reason_to_stop(call *c)
{
    const double *scalar = c->message + c->n;
    size_t limit = c->settings.max_iterations;
    c->unimproved = c->info.gap < c->best_gap ? 0 : c->unimproved + 1;
    c->best_gap = fmin(c->info.gap, c->best_gap);
    if (c->unimproved == PATIENCE) {
        return SUBMOD_INACCURATE;
    }
    if (c->info.iterations >= (limit ? limit : DEFAULT_ITERATIONS)) {
        return SUBMOD_MAXITER;
    }
    return scalar[LATE] > 0        ? SUBMOD_TIMELIMIT
           : scalar[CANCELLED] > 0 ? SUBMOD_CANCELLED
                                   : SUBMOD_OK;
}

/* Makes the sum in the message the last one. */
static submod_status advance(call *c)
{
    double turn = c->message[c->n + TURN];
    double length = 0;
    memcpy(c->before, c->sum, c->n * sizeof *c->sum);
    memcpy(c->sum, c->message, c->n * sizeof *c->sum);
    for (size_t i = 0; i < c->n; i++) {
        c->u[i] = c->x[i] - c->sum[i];
        length += c->u[i] * c->u[i];
    }
    submodi_terms_advance(&c->terms);
    c->info.iterations++;
    if (turn > 0 || length > c->last_length) {
        c->t = 1;
    }
    double next = (1 + sqrt(1 + 4 * c->t * c->t)) / 2;
    c->momentum = (c->t - 1) / next;
    c->t = next;
    c->last_length = length;
    return submodi_all_finite(c->u, c->n)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: s / lambda overflows", c->who);
}

static submod_status iterate(call *c)
{
    for (;;) {
        submod_status mine = write_message(c);
        submod_status status =
            submodi_comm_sum(c->who, &c->comm, c->message, SUBMOD_COMM_F64, c->n + SCALARS);
        if (status != SUBMOD_OK) {
            return status;
        }
        if (c->message[c->n + FAILED] > 0) {
            return submodi_agree_status(c->who, &c->comm, mine);
        }
        if (c->info.iterations > 0) {
            bool good = read_gap(c);
            submod_status reason = reason_to_stop(c);
            if (good || reason != SUBMOD_OK) {
                return good ? SUBMOD_OK : reason;
            }
        }
        status = advance(c);
        if (status != SUBMOD_OK) {
            return status;
        }
    }
}

/* ---- before ---- */

static submod_status require_settings(const char *who, const submod_prox_settings *s)
{
    if (s->hinge || (s->method != SUBMOD_PROX_AUTO && s->method != SUBMOD_PROX_SUM)) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "%s: settings.hinge must be 0, and settings.method SUBMOD_PROX_AUTO or "
                            "SUBMOD_PROX_SUM",
                            who);
    }
    submod_status status = submodi_require_at_least_zero(who, "tolerance", s->tolerance);
    return status ? status : submodi_require_at_least_zero(who, "time_limit", s->time_limit);
}

static submod_status require_terms(const call *c, submod_fn *const *terms, size_t count)
{
    if (count && !terms) {
        return submodi_require_given(c->who, "terms", terms);
    }
    for (size_t j = 0; j < count; j++) {
        if (!terms[j] || terms[j]->n != c->n) {
            return submodi_fail(SUBMOD_EINVAL,
                                "%s: terms[%zu] must be a function of n = %zu elements", c->who, j,
                                c->n);
        }
    }
    return SUBMOD_OK;
}

static submod_status require_arguments(call *c, submod_fn *const *terms, size_t count,
                                       const submod_prox_settings *settings)
{
    c->settings = submod_prox_defaults();
    submod_status status =
        submodi_read_settings(c->who, "submod_prox_defaults", settings, &c->settings);
    status = status ? status : require_settings(c->who, &c->settings);
    if (status == SUBMOD_OK && (c->n == 0 || c->n > INT32_MAX)) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: n = %zu must be in 1 .. 2^31 - 1", c->who, c->n);
    }
    status = status ? status : submodi_require_given(c->who, "x", c->x);
    status = status ? status : submodi_require_positive(c->who, "lambda", c->lambda);
    status = status ? status : submodi_require_finite(c->who, "x", c->x, c->n);
    return status ? status : require_terms(c, terms, count);
}

static submod_status take_memory(call *c, submod_fn *const *terms, size_t count)
{
    double **vectors[] = {&c->sum, &c->before, &c->u, &c->r, NULL};
    c->message = submodi_take(c->work, c->n + SCALARS, sizeof *c->message);
    c->ranks = submodi_take(c->work, c->n, sizeof *c->ranks);
    if (!submodi_take_vectors(c->work, c->n, vectors) || !c->message || !c->ranks) {
        return submodi_nomem(c->who);
    }
    memset(c->sum, 0, c->n * sizeof *c->sum);
    memset(c->before, 0, c->n * sizeof *c->before);
    return submodi_terms_take(&c->terms, terms, count, c->work);
}

static const char *const names[] = {
    "n", "lambda", "x", "settings.tolerance", "settings.max_iterations", NULL};

/* All meet: are all well, and do they mean the same problem? Then finds out who
 * shares what. */
static submod_status agree(call *c, submod_status mine)
{
    submodi_facts facts = {.status = SUBMOD_OK};
    submodi_totals totals;
    if (mine == SUBMOD_OK) {
        facts.field[0] = c->n;
        facts.field[1] = submodi_field_of(c->lambda);
        facts.field[2] = submodi_hash(c->x, c->n * sizeof *c->x);
        facts.field[3] = submodi_field_of(c->settings.tolerance);
        facts.field[4] = c->settings.max_iterations;
    }
    submod_status status = submodi_agree(c->who, &c->comm, mine, names, &facts, &totals);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_terms_touch(&c->terms, c->n, c->ranks);
    status = submodi_comm_sum(c->who, &c->comm, c->ranks, SUBMOD_COMM_I32, c->n);
    if (status == SUBMOD_OK) {
        submodi_terms_share(&c->terms, c->ranks);
    }
    return status;
}

/* ---- the entry ---- */

static void write_outputs(const call *c, double *u, double *s, submod_prox_info *info)
{
    submodi_copy_out(u, c->u, c->n, sizeof *u);
    for (size_t i = 0; s && i < c->n; i++) {
        s[i] = c->lambda * c->sum[i];
    }
    submodi_copy_out(info, &c->info, 1, sizeof *info);
}

submod_status submod_dist_prox_sum(const submod_comm *comm, size_t n, submod_fn *const *terms,
                                   size_t count, const double *x, double lambda, double *u,
                                   double *s, const submod_prox_settings *settings,
                                   submod_prox_info *info, submod_work *work)
{
    call c = {.who = "submod_dist_prox_sum",
              .n = n,
              .x = x,
              .lambda = lambda,
              .start = submodi_seconds(),
              .t = 1,
              .last_length = INFINITY,
              .best_gap = INFINITY,
              .tolerance = 1e-4,
              .info = {.method = SUBMOD_PROX_SUM}};
    submod_status status = submodi_comm_read(c.who, comm, &c.comm);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    c.work = submodi_scope_open(&scope, work);
    c.terms = (submodi_terms){.who = c.who, .lambda = lambda};
    status = require_arguments(&c, terms, count, settings);
    status = status ? status : take_memory(&c, terms, count);
    c.deadline = c.settings.time_limit > 0 ? c.start + c.settings.time_limit : INFINITY;
    status = agree(&c, status);
    status = status ? status : iterate(&c);
    if (status == SUBMOD_OK &&
        submodi_gap_is_blind(lambda, submodi_largest(x, n), submodi_largest(c.sum, n))) {
        status = SUBMOD_INACCURATE; /* on all ranks: they have the same x and sum */
    }
    if (status >= 0) {
        c.info.seconds = submodi_seconds() - c.start;
        write_outputs(&c, u, s, info);
    }
    submodi_terms_clear(&c.terms);
    submodi_scope_close(&scope);
    return status;
}
