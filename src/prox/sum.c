/* The prox of a sum (docs/mathematics.md, section 7): of one summand by its own method, of several
 * by projections. With a cut, active sets: sweeps over the other blocks, with means over the parts
 * of the cut in place of its prox, alternate with flows that join and divide parts. Without one, or
 * after enough flows, cyclic projections with Nesterov's extrapolation, restarted when they
 * overshoot: the next sweep is then a plain one, which never makes |r| grow. */
#include "prox/sum.h"
#include "base/internal.h"
#include "base/sums.h"

enum {
    DEFAULT_SWEEPS = 100000,
    MOST_FLOWS = 20,   /* until active sets give way to cyclic projections */
    MOST_ROUNDS = 256, /* of joining and dividing, in one prox of a cut */
    MOST_PASSES = 60,  /* sweeps with the parts of the cut as they are */
    LONGEST_WAIT = 6,  /* sweeps between two checks of the gap */
    PATIENCE = 100     /* checks without a smaller gap, after which the method gives up */
};

/* Sweeps with the parts as they are end when a step changes by less than this, relative to the
 * change since they began; or when its square is below SMALL times the allowed gap. */
static const double INNER = 3e-2, SMALL = 1e-8;

/* Once joins and divisions are fewer than this share of the vertices, parts are nearly right, and
 * the sweeps come closer by the factor SETTLED. */
static const double FEW = 1e-3, SETTLED = 3e-4;

/* Growth of |r|^2 beyond rounding. */
static const double GROWTH = 1 + 1e-13;

bool submodi_can_sum(const submod_fn *fn)
{
    return fn->kind == SUBMODI_COMBINATION;
}

/* ---- Anderson's acceleration of a fixed point y = g(y), with a memory of one sweep ---- */

typedef struct anderson {
    size_t n;
    bool started;
    double *move, *image;               /* of the last sweep: g(y) - y, and g(y) */
    double *move_change, *image_change; /* since the sweep before */
    double *start;                      /* the first y */
} anderson;

/* Moves y to the next starting point; image = g(y). */
static void anderson_step(anderson *a, const double *image, double *y)
{
    const submodi_sums_loops *sums = submodi_sums();
    for (size_t i = 0; i < a->n; i++) {
        double move = image[i] - y[i];
        a->move_change[i] = a->started ? move - a->move[i] : 0;
        a->image_change[i] = a->started ? image[i] - a->image[i] : 0;
        a->move[i] = move;
        a->image[i] = y[i] = image[i];
    }
    a->started = true;
    double square = sums->dot(a->move_change, a->move_change, a->n);
    if (square > 0) {
        double along = sums->dot(a->move_change, a->move, a->n);
        sums->add_multiple(y, -along / square, a->image_change, a->n);
    }
}

/* ---- active sets ---- */

static double squared_length(const submodi_blocks *c)
{
    return submodi_sums()->dot(c->r, c->r, c->sum->n);
}

static submod_status reason_to_stop(const submodi_blocks *c)
{
    size_t limit = c->p->settings->max_iterations;
    if (c->info->iterations >= (limit ? limit : DEFAULT_SWEEPS)) {
        return SUBMOD_MAXITER;
    }
    return submodi_stop(c->deadline);
}

static bool is_good(const submodi_blocks *c)
{
    return c->enough || c->gap <= c->allowed;
}

/* Sweeps over the other blocks with means over the parts of the cut in place of its prox. close is
 * the required distance from the fixed point. */
static submod_status sweep_with_means(submodi_blocks *c, anderson *a, double close)
{
    const double small = SMALL * fmax(c->allowed, 0) * 2 / c->p->lambda / c->unit / c->unit;
    const double *step = c->step + c->begin;
    double *y = c->y + c->begin, last_length = INFINITY;
    a->started = false;
    memcpy(a->start, step, a->n * sizeof *y);
    memcpy(y, step, a->n * sizeof *y);
    memset(c->y, 0, c->begin * sizeof *c->y); /* the cut is in the means */
    for (int pass = 0; pass < MOST_PASSES; pass++) {
        submodi_blocks_reset(c);
        submodi_cut_prox_means(c->cut, 1 / c->unit, c->r);
        TRY(submodi_blocks_project(c, 1, c->count));
        double change = submodi_sums()->squared_distance(step, y, a->n);
        double since = submodi_sums()->squared_distance(step, a->start, a->n);
        double length = squared_length(c);
        if (change <= close * since || change <= small || reason_to_stop(c) != SUBMOD_OK) {
            break;
        }
        if (length > last_length * GROWTH) { /* overshot: back to the last sweep, without memory */
            memcpy(y, a->image, a->n * sizeof *y);
            a->started = false;
            last_length = INFINITY;
        } else {
            anderson_step(a, step, y);
            last_length = length;
        }
    }
    return SUBMOD_OK;
}

/* Projects the blocks first .. last - 1 from their present steps. */
static submod_status project_again(submodi_blocks *c, size_t first, size_t last)
{
    memcpy(c->y, c->step, c->total * sizeof *c->y);
    submodi_blocks_reset(c);
    return submodi_blocks_project(c, first, last);
}

/* Each round computes a flow, a plain sweep over the other blocks and the gap, then sweeps with
 * means unless |r| grew in three rounds in a row. Also returns SUBMOD_OK when the flows do not
 * converge. */
static submod_status active_sets(submodi_blocks *c, submod_work *w)
{
    double last_length = INFINITY, close = INNER;
    int grown = 0;
    anderson a = {.n = c->total - c->begin};
    double **vectors[] = {&a.move, &a.image, &a.move_change, &a.image_change, &a.start, NULL};
    if (!submodi_take_vectors(w, a.n, vectors)) {
        return submodi_out_of_memory();
    }
    c->rounds = 1;
    for (int flows = 0; flows < MOST_FLOWS; flows++) {
        double last_gap = c->gap;
        TRY(project_again(c, 0, 1));
        TRY(project_again(c, 1, c->count));
        TRY(submodi_blocks_check_gap(c));
        if (is_good(c)) {
            return SUBMOD_OK;
        }
        TRY(reason_to_stop(c));
        c->best_gap = fmin(c->gap, c->best_gap);
        double length = squared_length(c);
        bool worse = length > last_length * GROWTH;
        c->rounds = worse || c->gap > last_gap / 2 ? 2 * c->rounds : 1;
        c->rounds = c->rounds < MOST_ROUNDS ? c->rounds : MOST_ROUNDS;
        close = worse ? fmax(0.1 * close, 1e-4 * INNER) : close;
        grown = worse ? grown % 3 + 1 : 0;
        last_length = length;
        if (grown < 3) {
            bool settled = (double)c->cut->changes < FEW * (double)c->sum->n;
            TRY(sweep_with_means(c, &a, close * (settled ? SETTLED : 1)));
        }
    }
    return SUBMOD_OK;
}

/* ---- cyclic projections ---- */

/* Sweeps from extrapolated steps. `last` holds the steps before; *t is Nesterov's parameter. */
static submod_status sweep(submodi_blocks *c, double *last, double *t, double *last_length)
{
    double next = (1 + sqrt(1 + 4 * *t * *t)) / 2;
    double momentum = (*t - 1) / next, turn = 0;
    for (size_t i = 0; i < c->total; i++) {
        c->y[i] = c->step[i] + momentum * (c->step[i] - last[i]);
        last[i] = c->step[i];
    }
    submodi_blocks_reset(c);
    TRY(submodi_blocks_project(c, 0, c->count));
    for (size_t i = 0; i < c->total; i++) {
        turn += (c->y[i] - c->step[i]) * (c->step[i] - last[i]);
    }
    double length = squared_length(c);
    *t = length > *last_length || turn > 0 ? 1 : next;
    *last_length = length;
    return SUBMOD_OK;
}

/* Returns the number of sweeps until the next check of the gap: half of those after which it is
 * small enough if it keeps falling as in the last sweeps. */
static size_t wait_for(const submodi_blocks *c, double gap_before, size_t sweeps)
{
    double wait = isfinite(gap_before) ? LONGEST_WAIT / 2.0 : 1;
    if (c->gap < gap_before && c->allowed > 0 && isfinite(gap_before)) {
        wait = (double)sweeps * log(c->gap / c->allowed) / log(gap_before / c->gap) / 2;
    }
    return (size_t)fmin(fmax(wait, 1), LONGEST_WAIT);
}

/* Sweeps until the gap is small enough, a limit is hit or the gap stops falling. */
static submod_status cyclic(submodi_blocks *c, submod_work *w)
{
    double t = 0, last_length = INFINITY; /* two plain sweeps */
    size_t unimproved = 0, wait = 0, checked_at = c->info->iterations;
    double *last = submodi_work_alloc(w, c->total, sizeof *last);
    TRY(submodi_work_status(w));
    memcpy(last, c->step, c->total * sizeof *last);
    c->rounds = MOST_ROUNDS;
    while (unimproved < PATIENCE) {
        TRY(sweep(c, last, &t, &last_length));
        submod_status stop = reason_to_stop(c);
        size_t sweeps = c->info->iterations - checked_at;
        if (stop == SUBMOD_OK && sweeps < wait) {
            continue;
        }
        double gap_before = c->gap;
        TRY(submodi_blocks_check_gap(c));
        if (is_good(c) || stop != SUBMOD_OK) {
            return is_good(c) ? SUBMOD_OK : stop;
        }
        bool better = c->gap < c->best_gap * (1 - 1e-9); /* by more than rounding */
        unimproved = better ? 0 : unimproved + 1;
        c->best_gap = better ? c->gap : c->best_gap;
        checked_at = c->info->iterations;
        wait = wait_for(c, gap_before, sweeps);
    }
    return SUBMOD_INACCURATE;
}

/* ---- the methods ---- */

/* Returns whether projections are likely to be faster than Wolfe's method for the whole sum, whose
 * cost is cubic: only if all terms without a fast prox are small. */
static bool is_worth_it(const submodi_folded *sum)
{
    double n = (double)sum->n, cost = 0;
    for (size_t i = 0; i < sum->count; i++) {
        double k = (double)sum->summands[i].fn->n;
        cost += sum->summands[i].fast ? 0 : k * k * k;
    }
    return cost <= n * n * n / 8;
}

bool submodi_sum_is_easier(const submod_fn *fn)
{
    submodi_scope scope;
    submodi_folded sum = {0};
    submod_work *w = submodi_scope_open(&scope, NULL);
    bool easier =
        submodi_can_sum(fn) && submodi_fold(fn, &sum, w) == SUBMOD_OK && is_worth_it(&sum);
    submodi_folded_clear(&sum);
    submodi_scope_close(&scope);
    return easier;
}

static submod_status by_projections(const submodi_prox_problem *p, submodi_folded *sum, double *u,
                                    double *s, submod_prox_info *info, submod_work *w)
{
    submodi_blocks c;
    submod_status status = submodi_blocks_start(&c, p, sum, u, s, info, w);
    bool active = status == SUBMOD_OK && c.cut;
    for (size_t j = 0; j < sum->count; j++) {
        active = active && sum->summands[j].fast;
    }
    if (active) {
        status = active_sets(&c, w);
    }
    if (status == SUBMOD_OK && !(active && is_good(&c))) {
        status = cyclic(&c, w);
    }
    if (status >= 0 && p->extension && !p->settings->hinge) {
        *p->extension = c.f;
    }
    submodi_blocks_end(&c);
    return status;
}

/* Solves the only summand at u, and adds its base to s. */
static submod_status by_itself(const submodi_prox_problem *p, const submodi_folded *sum, double *u,
                               double *s, submod_prox_info *info, submod_work *w)
{
    const submodi_summand *t = &sum->summands[0];
    const size_t k = t->fn->n;
    submod_prox_settings settings = *p->settings;
    submodi_extension f = {0};
    double *y = submodi_work_alloc(w, k, sizeof *y);
    double *own_u = submodi_work_alloc(w, k, sizeof *own_u);
    double *own_s = submodi_work_alloc(w, k, sizeof *own_s);
    TRY(submodi_work_status(w));
    for (size_t i = 0; i < k; i++) {
        y[i] = u[t->elements ? t->elements[i] : (int32_t)i];
    }
    settings.hinge = 0;
    submodi_prox_problem one = {.fn = t->fn,
                                .x = y,
                                .lambda = p->lambda / t->coefficient,
                                .settings = &settings,
                                .extension = p->extension && !p->settings->hinge ? &f : NULL,
                                /* orders of all elements are the sum's, too */
                                .found = t->elements ? NULL : p->found};
    submod_status status = submodi_prox_by_itself(&one, own_u, own_s, info, w);
    for (size_t i = 0; status >= 0 && i < k; i++) {
        size_t e = t->elements ? (size_t)t->elements[i] : i;
        u[e] = own_u[i];
        s[e] += t->coefficient * own_s[i];
    }
    if (status >= 0 && f.known) {
        *p->extension = (submodi_extension){.known = true};
        submodi_add_extension(p->extension, &f, t->coefficient);
        submodi_add_modular(p->extension, sum, u);
    }
    return status;
}

/* Solves a problem without summands: u = x - modular / lambda and s = modular. */
static submod_status solve_modular(const submodi_prox_problem *p, const submodi_folded *sum,
                                   double *u, double *s)
{
    for (size_t i = 0; i < sum->n; i++) {
        s[i] = sum->modular[i];
        u[i] = p->x[i] - s[i] / p->lambda;
    }
    bool good = submodi_all_finite(u, sum->n);
    for (size_t i = 0; i < sum->count; i++) {
        double lambda = p->lambda / sum->summands[i].coefficient;
        good = good && isfinite(lambda) && lambda > 0;
    }
    return good ? SUBMOD_OK : submodi_fail(SUBMOD_ENUMERIC, "F / lambda overflows");
}

static submod_status solve(const submodi_prox_problem *p, submodi_folded *sum, double *u, double *s,
                           submod_prox_info *info, submod_work *w)
{
    TRY(submodi_fold(p->fn, sum, w));
    TRY(solve_modular(p, sum, u, s));
    if (sum->count == 0) {
        info->method = SUBMOD_PROX_CLOSED_FORM;
        return SUBMOD_OK;
    }
    if (sum->count == 1) {
        return by_itself(p, sum, u, s, info, w);
    }
    if (p->settings->method == SUBMOD_PROX_AUTO && !is_worth_it(sum)) {
        info->method = SUBMOD_PROX_MIN_NORM;
        return submodi_prox_min_norm(p, u, s, info, w);
    }
    return by_projections(p, sum, u, s, info, w);
}

submod_status submodi_prox_sum(const submodi_prox_problem *p, double *u, double *s,
                               submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    submodi_folded sum = {0};
    submod_status status = solve(p, &sum, u, s, info, submodi_scope_open(&scope, work));
    submodi_folded_clear(&sum);
    submodi_scope_close(&scope);
    return status;
}
