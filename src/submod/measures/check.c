/* Is a measure finite, 0 at the start, increasing and submodular at whole counts?
 *
 * All pairs: row by row along the longer side, with the last three rows in memory, first
 * differences and second differences of one step; O(P N). A sample: differences with steps of any
 * length, which are sums of those of one step, so that a violation too small for rounding in one
 * step is found over many. */
#include <inttypes.h>
#include <math.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "submod/measures/values.h"

static const char who[] = "submod_measure_check";

#define ROUNDING 0x1p-46
#define MOST_PAIRS 0x1p36

typedef struct checker {
    const submod_measure *measure;
    submod_measure_report *report;
    double scale;                          /* the largest |F| seen */
    double not_increasing, not_submodular; /* the worst violations */
} checker;

/* count values of F; false: one is not finite, and the report says where. */
static bool evaluate(checker *c, size_t count, const double *a, const double *b, double *F)
{
    submod_measure_report *r = c->report;
    const submod_measure *m = c->measure;
    if (m->type == SUBMOD_MEASURE_CUSTOM && m->values) {
        m->values(count, a, b, r->P, r->N, F, m->ctx);
    } else {
        for (size_t i = 0; i < count; i++) {
            F[i] = submodi_measure_value(m, a[i], b[i], r->P, r->N);
        }
    }
    r->evaluations += count;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(F[i])) {
            r->finite = 0;
            r->not_finite = (submod_measure_failure){.a = a[i], .b = b[i], .left = F[i]};
            return false;
        }
        c->scale = fmax(c->scale, fabs(F[i]));
    }
    return true;
}

/* Keeps a violation if it is beyond rounding and the worst so far. */
static void compare(checker *c, int *holds, double *worst, submod_measure_failure *kept,
                    const submod_measure_failure *f)
{
    double amount = f->right - f->left;
    if (amount > ROUNDING * c->scale && amount > *worst) {
        *worst = amount;
        *holds = 0;
        *kept = *f;
    }
}

static void check_increase(checker *c, const submod_measure_failure *f)
{
    submod_measure_report *r = c->report;
    compare(c, &r->increasing, &c->not_increasing, &r->not_increasing, f);
}

static void check_submodularity(checker *c, const submod_measure_failure *f)
{
    submod_measure_report *r = c->report;
    compare(c, &r->submodular, &c->not_submodular, &r->not_submodular, f);
}

/* ---- all pairs ---- */

/* Row `row` of the lattice, `long_is_fg`: rows are counts a. Three of them, the oldest first. */
typedef struct rows {
    bool long_is_fg;
    size_t count; /* places of a row */
    double *a, *b;
    double *F[3];
} rows;

/* A failure at a place, counted along rows and along places. */
static submod_measure_failure failure_at(const rows *w, double row, double place, double d_row,
                                         double d_place, double e_row, double e_place, double left,
                                         double right)
{
    return w->long_is_fg
               ? (submod_measure_failure){row, place, d_row, d_place, e_row, e_place, left, right}
               : (submod_measure_failure){place, row, d_place, d_row, e_place, e_row, left, right};
}

/* All differences whose last corner lies in the newest row. known: how many rows there are. */
static void check_row(checker *c, const rows *w, double row, size_t known)
{
    const double *new = w->F[2];
    const double *old = w->F[1];
    const double *older = w->F[0];
    for (size_t i = 0; i < w->count; i++) {
        double place = (double)i;
        submod_measure_failure f;
        if (i > 0) {
            f = failure_at(w, row, place - 1, 0, 1, 0, 0, new[i], new[i - 1]);
            check_increase(c, &f);
        }
        if (i > 1) {
            f = failure_at(w, row, place - 2, 0, 1, 0, 1, new[i - 1] - new[i - 2],
                           new[i] - new[i - 1]);
            check_submodularity(c, &f);
        }
        if (known > 1) {
            f = failure_at(w, row - 1, place, 1, 0, 0, 0, new[i], old[i]);
            check_increase(c, &f);
        }
        if (known > 1 && i > 0) {
            f = failure_at(w, row - 1, place - 1, 1, 0, 0, 1, new[i - 1] - old[i - 1],
                           new[i] - old[i]);
            check_submodularity(c, &f);
        }
        if (known > 2) {
            f = failure_at(w, row - 2, place, 1, 0, 1, 0, old[i] - older[i], new[i] - old[i]);
            check_submodularity(c, &f);
        }
    }
}

static submod_status try_all(checker *c, uint64_t P, uint64_t N, submod_work *work)
{
    uint64_t longer = P > N ? P : N;
    rows w = {.long_is_fg = P > N, .count = (size_t)(P > N ? N : P) + 1};
    double **vectors[] = {&w.a, &w.b, &w.F[0], &w.F[1], &w.F[2], NULL};
    if (!submodi_take_vectors(work, w.count, vectors)) {
        return submodi_nomem(who);
    }
    for (uint64_t row = 0; row <= longer; row++) {
        if (submodi_cancelled()) {
            return SUBMOD_CANCELLED;
        }
        double *oldest = w.F[0];
        w.F[0] = w.F[1];
        w.F[1] = w.F[2];
        w.F[2] = oldest;
        for (size_t i = 0; i < w.count; i++) {
            w.a[i] = w.long_is_fg ? (double)row : (double)i;
            w.b[i] = w.long_is_fg ? (double)i : (double)row;
        }
        if (!evaluate(c, w.count, w.a, w.b, w.F[2])) {
            return SUBMOD_OK;
        }
        check_row(c, &w, (double)row, row < 2 ? (size_t)row + 1 : 3);
    }
    c->report->proved = 1;
    return SUBMOD_OK;
}

/* ---- a sample ---- */

/* A random step of at most `room`: one, any, or all there is room for. */
static uint64_t random_step(submod_rng *rng, uint64_t room)
{
    uint64_t kind = submod_rng_below(rng, 3);
    return room < 2 || kind == 0 ? 1 : kind == 1 ? room : 1 + submod_rng_below(rng, room);
}

/* Two steps of random kinds from a random pair of counts; false: there is no room for them. */
static bool random_case(submod_rng *rng, const uint64_t most[2], bool border,
                        submod_measure_failure *f)
{
    uint64_t from[2] = {0, 0};
    uint64_t step[2][2] = {{0, 0}, {0, 0}};
    uint64_t left[2] = {most[0], most[1]};
    for (int k = 0; k < 2; k++) {
        int kind = (int)submod_rng_below(rng, 2);
        kind = left[kind] ? kind : 1 - kind;
        if (left[kind] == 0) {
            return false;
        }
        step[k][kind] = random_step(rng, k || left[kind] < 2 ? left[kind] : left[kind] / 2);
        left[kind] -= step[k][kind];
    }
    int edge = border ? (int)submod_rng_below(rng, 4) : -1;
    for (int kind = 0; kind < 2; kind++) {
        from[kind] = submod_rng_below(rng, left[kind] + 1);
        from[kind] = edge == 2 * kind ? 0 : edge == 2 * kind + 1 ? left[kind] : from[kind];
    }
    *f = (submod_measure_failure){.a = (double)from[0],
                                  .b = (double)from[1],
                                  .da = (double)step[0][0],
                                  .db = (double)step[0][1],
                                  .ea = (double)step[1][0],
                                  .eb = (double)step[1][1]};
    return true;
}

static submod_status try_some(checker *c, uint64_t P, uint64_t N, uint64_t samples)
{
    const uint64_t most[2] = {P, N};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (uint64_t i = 0; i < samples; i++) {
        submod_measure_failure f;
        if (submodi_cancelled()) {
            return SUBMOD_CANCELLED;
        }
        if (!random_case(&rng, most, i % 2, &f)) {
            continue;
        }
        const double a[4] = {f.a, f.a + f.da, f.a + f.ea, f.a + f.da + f.ea};
        const double b[4] = {f.b, f.b + f.db, f.b + f.eb, f.b + f.db + f.eb};
        double F[4];
        if (!evaluate(c, 4, a, b, F)) {
            return SUBMOD_OK;
        }
        f.left = F[1] - F[0];
        f.right = F[3] - F[2];
        check_submodularity(c, &f);
        f = (submod_measure_failure){f.a, f.b, f.da, f.db, 0, 0, F[1], F[0]};
        check_increase(c, &f);
    }
    return SUBMOD_OK;
}

submod_status submod_measure_check(const submod_measure *measure, uint64_t P, uint64_t N,
                                   uint64_t samples, submod_measure_report *report)
{
    submod_measure m;
    submod_status status = submodi_require_given(who, "report", report);
    status = status ? status : submodi_read_measure(who, "measure", measure, &m);
    const uint64_t largest = UINT64_C(1) << 53;
    if (status == SUBMOD_OK && (P > largest || N > largest)) {
        status =
            submodi_fail(SUBMOD_EINVAL,
                         "%s: P = %" PRIu64 " and N = %" PRIu64 " must be at most 2^53", who, P, N);
    }
    double pairs = ((double)P + 1) * ((double)N + 1);
    if (status == SUBMOD_OK && samples == 0 && pairs > MOST_PAIRS) {
        status = submodi_fail(SUBMOD_EUNSUPPORTED,
                              "%s: samples = 0 tries all pairs, but there are %g, more than 2^36: "
                              "give a number of samples",
                              who, pairs);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_measure_report found = {.finite = 1,
                                   .normalised = 1,
                                   .increasing = 1,
                                   .submodular = 1,
                                   .P = (double)P,
                                   .N = (double)N};
    checker c = {.measure = &m, .report = &found};
    /* Both ends first: rounding is measured by F(P, N), also where F is small. */
    const double none = 0;
    double all_wrong;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    if (evaluate(&c, 1, &none, &none, &found.empty_value) &&
        evaluate(&c, 1, &found.P, &found.N, &all_wrong)) {
        found.normalised = found.empty_value == 0;
        bool all = samples == 0 || pairs <= (double)samples;
        status = all ? try_all(&c, P, N, w) : try_some(&c, P, N, samples);
    }
    submodi_scope_close(&scope);
    if (status >= 0) {
        *report = found;
    }
    return status;
}

/* ---- as text ---- */

size_t submod_measure_report_text(const submod_measure_report *r, char *text, size_t size)
{
    submodi_text w = {text, text ? size : 0, 0};
    if (!r) {
        submodi_put(&w, "no report");
        return w.length;
    }
    const char *yes = r->proved ? "yes" : "no counterexample found";
    submodi_put(&w, "%s of P = %g, N = %g, %" PRIu64 " evaluations\n",
                r->proved ? "all pairs" : "some pairs", r->P, r->N, r->evaluations);
    const submod_measure_failure *f = &r->not_finite;
    submodi_put(&w, "finite: %s", r->finite ? yes : "no, ");
    if (!r->finite) {
        submodi_put(&w, "F(%g, %g) = %g", f->a, f->b, f->left);
    }
    submodi_put(&w, "\nnormalised: %s (F(0, 0) is %g)\n", r->normalised ? "yes" : "no",
                r->empty_value);
    f = &r->not_increasing;
    submodi_put(&w, "increasing: %s", r->increasing ? yes : "no, ");
    if (!r->increasing) {
        submodi_put(&w, "F(%g, %g) = %.9g, but F(%g, %g) = %.9g", f->a, f->b, f->right,
                    f->a + f->da, f->b + f->db, f->left);
    }
    f = &r->not_submodular;
    submodi_put(&w, "\nsubmodular: %s", r->submodular ? yes : "no, ");
    if (!r->submodular) {
        submodi_put(&w, "%g more of the %s add %.9g to F(%g, %g), but %.9g to F(%g, %g)",
                    f->da > 0 ? f->da : f->db, f->da > 0 ? "foreground" : "background", f->left,
                    f->a, f->b, f->right, f->a + f->ea, f->b + f->eb);
    }
    submodi_put(&w, "\n");
    return w.length;
}
