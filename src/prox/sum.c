/* The prox of a sum by projections on the base polytopes of its terms (docs/mathematics.md, section
 * 7). A combination is folded first (fold.c). A term that is left alone is solved by its own
 * method: the prox of c f + m at x for lambda is that of f at x - m / lambda for lambda / c.
 *
 * With a cut among the terms: active sets (Kumar and Bach 2017). While the parts of the cut's u
 * stay as they are, its prox is a mean over each part, which needs no flow. So sweeps over the
 * other terms, with means in place of the cut, alternate with flows that join and divide parts. The
 * sweeps are accelerated (Anderson 1965).
 *
 * Without a cut, or after enough flows: cyclic projections with Nesterov's extrapolation,
 *
 *     r = x - sum of Y_j;   for each j:  y = r + Y_j,  r = prox_j(y),  N_j = y - r
 *     Y = N + (t - 1) / t' (N - N of the sweep before),     t' = (1 + sqrt(1 + 4 t^2)) / 2 ,
 *
 * for two terms FISTA. t goes back to 1 when sum of <Y_j - N_j, N_j - N_j before> > 0, or when |r|
 * grew; the next sweep is then a plain one, which never makes |r| grow. */
#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "base/sums.h"
#include "prox/projections.h"

enum {
    DEFAULT_SWEEPS = 100000,
    MOST_FLOWS = 20,   /* until active sets give way to cyclic projections */
    MOST_ROUNDS = 256, /* of joining and dividing, in one prox of a cut */
    MOST_PASSES = 60,  /* sweeps with the parts of the cut as they are */
    LONGEST_WAIT = 6,  /* sweeps between two looks at the gap */
    PATIENCE = 100,    /* looks without a smaller gap, after which the method gives up */
    MEMORY = 4         /* of the acceleration: differences of sweeps, the rows of one pass */
};

/* Sweeps with the parts as they are end when a step changes by less than this, relative to the
 * change since they began; or when its square is below SMALL times the allowed gap. */
static const double INNER = 3e-2, SMALL = 1e-8;

/* Once joins and divisions are fewer than this share of the vertices, parts are nearly
 * right, and the sweeps come closer by the factor SETTLED. */
static const double FEW = 1e-3, SETTLED = 3e-4;

/* Growth of |r|^2 beyond rounding. */
static const double GROWTH = 1 + 1e-13;

bool submodi_can_sum(const submod_fn *fn)
{
    return fn->kind == SUBMODI_COMBINATION;
}

/* ---- Anderson's acceleration of a fixed point y = g(y) ---- */

typedef struct anderson {
    size_t n, count, next;
    double *moved[MEMORY], *image[MEMORY]; /* differences of g(y) - y, and of g(y) */
    double *last_moved, *last_image;
    double *start; /* the first y */
    double gram[MEMORY][MEMORY];
    bool started;
} anderson;

static submod_status anderson_start(anderson *a, size_t n, submod_work *w)
{
    *a = (anderson){.n = n};
    for (int i = 0; i < MEMORY; i++) {
        a->moved[i] = submodi_work_alloc(w, n, sizeof(double));
        a->image[i] = submodi_work_alloc(w, n, sizeof(double));
    }
    a->last_moved = submodi_work_alloc(w, n, sizeof(double));
    a->last_image = submodi_work_alloc(w, n, sizeof(double));
    a->start = submodi_work_alloc(w, n, sizeof(double));
    return submodi_work_status(w);
}

static void anderson_forget(anderson *a)
{
    a->count = a->next = 0;
    a->started = false;
}

/* Replaces the oldest difference by that between the last sweep and this one. */
static void anderson_remember(anderson *a, const double *image, const double *y)
{
    double *restrict moved = a->moved[a->next], *restrict to = a->image[a->next];
    double *restrict last_moved = a->last_moved, *restrict last_image = a->last_image;
    for (size_t i = 0; i < a->n; i++) {
        double move = image[i] - y[i];
        moved[i] = move - last_moved[i];
        to[i] = image[i] - last_image[i];
        last_moved[i] = move;
        last_image[i] = image[i];
    }
    a->count = a->count < MEMORY ? a->count + 1 : MEMORY;
}

static void anderson_first(anderson *a, const double *image, const double *y)
{
    for (size_t i = 0; i < a->n; i++) {
        a->last_moved[i] = image[i] - y[i];
        a->last_image[i] = image[i];
    }
    a->started = true;
}

/* Solves the normal equations, slightly regularised, by elimination. b becomes the solution. */
static void solve_gram(const anderson *a, double b[MEMORY])
{
    double m[MEMORY][MEMORY], trace = 0;
    size_t n = a->count;
    memcpy(m, a->gram, sizeof m);
    for (size_t i = 0; i < n; i++) {
        trace = fmax(trace, m[i][i]);
    }
    for (size_t i = 0; i < n; i++) {
        m[i][i] += 1e-10 * trace + DBL_MIN;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            double factor = m[j][i] / m[i][i];
            for (size_t k = i; k < n; k++) {
                m[j][k] -= factor * m[i][k];
            }
            b[j] -= factor * b[i];
        }
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) {
            b[i] -= m[i][k] * b[k];
        }
        b[i] /= m[i][i];
    }
}

/* Moves y to where to go on from; image = g(y). */
static void anderson_step(anderson *a, const double *image, double *y)
{
    double gram[MEMORY], weight[MEMORY];
    const double *moved[MEMORY], *images[MEMORY];
    size_t mine = a->next;
    if (!a->started) {
        anderson_first(a, image, y);
        memcpy(y, image, a->n * sizeof *y);
        return;
    }
    anderson_remember(a, image, y);
    a->next = (mine + 1) % MEMORY;
    for (size_t i = 0; i < MEMORY; i++) {
        moved[i] = a->moved[i < a->count ? i : mine];
        images[i] = a->image[i < a->count ? i : mine];
    }
    submodi_sums()->dots_of_rows(moved, a->moved[mine], a->last_moved, a->n, gram, weight);
    for (size_t i = 0; i < a->count; i++) {
        a->gram[mine][i] = a->gram[i][mine] = gram[i];
    }
    solve_gram(a, weight);
    for (size_t i = 0; i < MEMORY; i++) {
        weight[i] = i < a->count ? -weight[i] : 0;
    }
    memcpy(y, image, a->n * sizeof *y);
    submodi_sums()->add_rows(y, images, weight, a->n);
}

/* ---- active sets ---- */

static double squared_length(const submodi_projections *c)
{
    return submodi_sums()->dot(c->r, c->r, c->n);
}

static submod_status reason_to_stop(const submodi_projections *c)
{
    size_t limit = c->p->settings->max_iterations;
    if (c->info->iterations >= (limit ? limit : DEFAULT_SWEEPS)) {
        return SUBMOD_MAXITER;
    }
    return submodi_stop(c->deadline);
}

static bool is_good(const submodi_projections *c)
{
    return c->enough || c->gap <= c->allowed;
}

/* Sweeps over the members with means over the parts of the cut in place of its prox. close: how
 * close to the fixed point to come. */
static submod_status sweep_with_means(submodi_projections *c, anderson *a, double close)
{
    const double small = SMALL * fmax(c->allowed, 0) * 2 / c->p->lambda / c->unit / c->unit;
    double last_length = INFINITY;
    c->ask_extension = false;
    anderson_forget(a);
    memcpy(a->start, c->step + c->begin, a->n * sizeof *a->start);
    memcpy(c->y, c->step, c->total * sizeof *c->y);
    memset(c->y, 0, c->begin * sizeof *c->y); /* the cut is in the means */
    for (int pass = 0; pass < MOST_PASSES; pass++) {
        const double *step = c->step + c->begin;
        double *y = c->y + c->begin;
        submodi_projections_reset(c);
        submodi_cut_prox_means(c->cut, 1 / c->unit, c->r);
        TRY(submodi_project_members(c));
        double change = submodi_sums()->squared_distance(step, y, a->n);
        double since = submodi_sums()->squared_distance(step, a->start, a->n);
        double length = squared_length(c);
        if (change <= close * since || change <= small || reason_to_stop(c) != SUBMOD_OK) {
            break;
        }
        if (length > last_length * GROWTH) { /* too far: on from the last sweep, without memory */
            memcpy(y, a->last_image, a->n * sizeof *y);
            anderson_forget(a);
            last_length = INFINITY;
        } else {
            anderson_step(a, step, y);
            last_length = length;
        }
    }
    return SUBMOD_OK;
}

/* What active sets have found out. */
typedef struct progress {
    double length;   /* |r|^2 of the last round */
    double close;    /* how close the sweeps come to their fixed point */
    size_t rounds;   /* of joining and dividing */
    size_t in_a_row; /* rounds in which |r| grew */
} progress;

/* Adapts to a round that made |r| grow, or the gap fall by too little. Returns whether the next one
 * should go without sweeps. */
static bool adapt(progress *so_far, double length, bool slow)
{
    bool worse = length > so_far->length * GROWTH;
    so_far->length = length;
    so_far->in_a_row = worse ? so_far->in_a_row + 1 : 0;
    so_far->close = worse ? fmax(0.1 * so_far->close, 1e-4 * INNER) : so_far->close;
    so_far->rounds = worse || slow ? 2 * so_far->rounds : 1;
    so_far->rounds = so_far->rounds < MOST_ROUNDS ? so_far->rounds : MOST_ROUNDS;
    bool plain = so_far->in_a_row == 3;
    so_far->in_a_row = plain ? 0 : so_far->in_a_row;
    return plain;
}

/* Projects the cut with the members' steps as they are. */
static submod_status flow(submodi_projections *c, size_t rounds)
{
    memcpy(c->y, c->step, c->total * sizeof *c->y);
    submodi_projections_reset(c);
    return submodi_project_cut(c, rounds);
}

/* A plain sweep over the members, and the gap. */
static submod_status project_and_look(submodi_projections *c)
{
    memcpy(c->y, c->step, c->total * sizeof *c->y);
    submodi_projections_reset(c);
    c->ask_extension = true;
    TRY(submodi_project_members(c));
    return submodi_projections_look(c);
}

/* Returns SUBMOD_OK also when flows do not bring it to an end. */
static submod_status active_sets(submodi_projections *c, submod_work *w)
{
    progress so_far = {.length = INFINITY, .close = INNER, .rounds = 1};
    anderson a;
    TRY(anderson_start(&a, c->total - c->begin, w));
    for (int flows = 0; flows < MOST_FLOWS; flows++) {
        double last = c->gap;
        TRY(flow(c, so_far.rounds));
        TRY(project_and_look(c));
        if (is_good(c)) {
            return SUBMOD_OK;
        }
        TRY(reason_to_stop(c));
        c->best_gap = fmin(c->gap, c->best_gap);
        if (!adapt(&so_far, squared_length(c), c->gap > last / 2)) {
            bool settled = (double)c->cut->changes < FEW * (double)c->n;
            TRY(sweep_with_means(c, &a, so_far.close * (settled ? SETTLED : 1)));
        }
    }
    return SUBMOD_OK;
}

/* ---- cyclic projections ---- */

typedef struct cycle {
    double *last;      /* steps of the sweep before */
    double t;          /* Nesterov's */
    double length;     /* |r|^2 of the sweep before */
    size_t look_at;    /* the sweeps of the next look */
    size_t unimproved; /* looks since the best gap */
} cycle;

/* The sum of (Y - new) (new - last). */
static double turn_of(const submodi_projections *c, const double *last)
{
    double turn = 0;
    for (size_t i = 0; i < c->total; i++) {
        turn += (c->y[i] - c->step[i]) * (c->step[i] - last[i]);
    }
    return turn;
}

/* Y = the steps, extrapolated. */
static void extrapolate(submodi_projections *c, cycle *k)
{
    double next = (1 + sqrt(1 + 4 * k->t * k->t)) / 2;
    double momentum = (k->t - 1) / next;
    k->t = next;
    for (size_t i = 0; i < c->total; i++) {
        c->y[i] = c->step[i] + momentum * (c->step[i] - k->last[i]);
        k->last[i] = c->step[i];
    }
    submodi_projections_reset(c);
}

static submod_status sweep(submodi_projections *c, cycle *k)
{
    double unit = c->unit;
    extrapolate(c, k);
    c->ask_extension = c->info->iterations + 1 >= k->look_at;
    if (c->cut_part) {
        TRY(submodi_project_cut(c, MOST_ROUNDS));
    }
    TRY(submodi_project_members(c));
    for (size_t i = 0; i < c->total && c->unit != unit; i++) {
        k->last[i] *= unit / c->unit;
    }
    double length = squared_length(c);
    if (length > k->length || turn_of(c, k->last) > 0) {
        k->t = 1;
    }
    k->length = c->unit == unit ? length : INFINITY;
    return SUBMOD_OK;
}

/* When to look next: halfway to where the gap should be small enough if it goes on falling as
 * it did since the last look, some sweeps ago. */
static void plan_next_look(const submodi_projections *c, cycle *k, double gap_before, size_t sweeps)
{
    double wait = 1;
    if (c->gap < gap_before && c->allowed > 0 && isfinite(gap_before)) {
        wait = (double)sweeps * log(c->gap / c->allowed) / log(gap_before / c->gap) / 2;
    } else if (isfinite(gap_before)) {
        wait = LONGEST_WAIT / 2.0;
    }
    k->look_at = c->info->iterations + (size_t)fmin(fmax(wait, 1), LONGEST_WAIT);
}

/* Sweeps until the gap is small enough, a limit is hit or the gap falls no more. */
static submod_status cyclic(submodi_projections *c, submod_work *w)
{
    cycle k = {.t = 0, .length = INFINITY}; /* two plain sweeps */
    k.last = submodi_work_alloc(w, c->total, sizeof *k.last);
    TRY(submodi_work_status(w));
    memcpy(k.last, c->step, c->total * sizeof *k.last);
    for (size_t looked_at = c->info->iterations;;) {
        TRY(sweep(c, &k));
        submod_status stop = reason_to_stop(c);
        if (stop == SUBMOD_OK && c->info->iterations < k.look_at) {
            continue;
        }
        double gap_before = c->gap;
        TRY(submodi_projections_look(c));
        if (is_good(c) || stop != SUBMOD_OK) {
            return is_good(c) ? SUBMOD_OK : stop;
        }
        k.unimproved = c->gap < c->best_gap ? 0 : k.unimproved + 1;
        c->best_gap = fmin(c->gap, c->best_gap);
        if (k.unimproved == PATIENCE) {
            return SUBMOD_INACCURATE;
        }
        plan_next_look(c, &k, gap_before, c->info->iterations - looked_at);
        looked_at = c->info->iterations;
    }
}

/* ---- several terms ---- */

/* Whether projections are likely to be faster than Wolfe's method for the whole sum, whose cost
 * grows with the third power of the size: only if terms without a fast prox are small. */
static bool is_worth_it(const submodi_folded *folded)
{
    double n = (double)folded->n;
    double cost = 0;
    for (size_t i = 0; i < folded->count; i++) {
        double k = (double)folded->parts[i].fn->n;
        cost += submodi_is_fast(folded->parts[i].fn) ? 0 : k * k * k;
    }
    return cost <= n * n * n / 8;
}

bool submodi_sum_is_easier(const submod_fn *fn)
{
    submodi_folded folded;
    bool easier = submodi_can_sum(fn) && submodi_fold(fn, &folded) == SUBMOD_OK;
    if (easier) {
        easier = is_worth_it(&folded);
        submodi_folded_clear(&folded);
    }
    return easier;
}

static bool all_fast(const submodi_projections *c)
{
    bool fast = true;
    for (size_t j = 0; j < c->count; j++) {
        fast = fast && c->members[j].fast;
    }
    return fast;
}

static submod_status by_projections(const submodi_prox_problem *p, const submodi_folded *folded,
                                    double *u, double *s, submod_prox_info *info, submod_work *w)
{
    submodi_projections c;
    submod_status status = submodi_projections_start(&c, p, folded, info, w);
    bool active = status == SUBMOD_OK && c.cut_part && all_fast(&c);
    if (active) {
        status = active_sets(&c, w);
    }
    if (status == SUBMOD_OK && !(active && is_good(&c))) {
        status = cyclic(&c, w);
    }
    if (status >= 0) {
        submodi_projections_finish(&c, u, s);
    }
    submodi_projections_end(&c);
    return status;
}

/* ---- one part ---- */

/* Adds what the part does not know: its coefficient, and the modular function. */
static void complete_extension(const submodi_prox_problem *p, const submodi_folded *folded,
                               const submodi_extension *f, const double *u)
{
    double c = folded->parts[0].coefficient;
    submodi_extension all = {
        .known = true, .value = c * f->value, .excess = c * f->excess, .size = c * f->size};
    for (size_t i = 0; i < folded->n; i++) {
        all.value += folded->modular[i] * u[i];
        all.size += fabs(folded->modular[i] * u[i]);
    }
    *p->extension = all;
}

static submod_status by_itself(const submodi_prox_problem *p, const submodi_folded *folded,
                               double *u, double *s, submod_prox_info *info, submod_work *w)
{
    const submodi_sum_part *part = &folded->parts[0];
    size_t k = part->fn->n;
    submod_prox_settings settings = *p->settings;
    submodi_extension f = {0};
    double *y = submodi_work_alloc(w, k, sizeof *y);
    double *own_u = submodi_work_alloc(w, k, sizeof *own_u);
    double *own_s = submodi_work_alloc(w, k, sizeof *own_s);
    TRY(submodi_work_status(w));
    for (size_t i = 0; i < k; i++) {
        y[i] = u[part->elements ? part->elements[i] : (int32_t)i];
    }
    settings.hinge = 0;
    submodi_prox_problem one = *p;
    one.fn = part->fn;
    one.x = y;
    one.lambda = p->lambda / part->coefficient;
    one.settings = &settings;
    one.extension = p->extension && !p->settings->hinge ? &f : NULL;
    one.found = part->elements ? NULL : p->found; /* orders of all elements are the sum's, too */
    one.enough = NULL;
    submod_status status = submodi_prox_by_itself(&one, own_u, own_s, info, w);
    for (size_t i = 0; status >= 0 && i < k; i++) {
        size_t e = part->elements ? (size_t)part->elements[i] : i;
        u[e] = own_u[i];
        s[e] += part->coefficient * own_s[i];
    }
    if (status >= 0 && f.known) {
        complete_extension(p, folded, &f, u);
    }
    return status;
}

/* ---- the methods ---- */

/* u = x - modular / lambda and s = modular: all there is to do where no part is. */
static submod_status start(const submodi_prox_problem *p, const submodi_folded *folded, double *u,
                           double *s)
{
    for (size_t i = 0; i < folded->n; i++) {
        s[i] = folded->modular[i];
        u[i] = p->x[i] - s[i] / p->lambda;
    }
    bool good = submodi_all_finite(u, folded->n);
    for (size_t i = 0; i < folded->count; i++) {
        double lambda = p->lambda / folded->parts[i].coefficient;
        good = good && isfinite(lambda) && lambda > 0;
    }
    return good ? SUBMOD_OK : submodi_fail(SUBMOD_ENUMERIC, "F / lambda overflows");
}

/* A way to solve a folded problem; u and s are as start left them. */
typedef submod_status solve_folded(const submodi_prox_problem *p, const submodi_folded *folded,
                                   double *u, double *s, submod_prox_info *info, submod_work *w);

static submod_status fold_and(solve_folded *solve, const submodi_prox_problem *p, double *u,
                              double *s, submod_prox_info *info, submod_work *work)
{
    submodi_folded folded;
    submod_status status = submodi_fold(p->fn, &folded);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = start(p, &folded, u, s);
    status = status ? status : solve(p, &folded, u, s, info, w);
    submodi_scope_close(&scope);
    submodi_folded_clear(&folded);
    return status;
}

static submod_status by_parts(const submodi_prox_problem *p, const submodi_folded *folded,
                              double *u, double *s, submod_prox_info *info, submod_work *w)
{
    if (folded->count == 0) {
        info->method = SUBMOD_PROX_CLOSED_FORM;
        return SUBMOD_OK;
    }
    if (folded->count == 1) {
        return by_itself(p, folded, u, s, info, w);
    }
    if (p->settings->method == SUBMOD_PROX_AUTO && !is_worth_it(folded)) {
        info->method = SUBMOD_PROX_MIN_NORM;
        return submodi_prox_min_norm(p, u, s, info, w);
    }
    return by_projections(p, folded, u, s, info, w);
}

submod_status submodi_prox_sum(const submodi_prox_problem *p, double *u, double *s,
                               submod_prox_info *info, submod_work *work)
{
    return fold_and(by_parts, p, u, s, info, work);
}
