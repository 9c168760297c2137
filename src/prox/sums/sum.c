/* The methods "sum" and "chains": which members the cycle of projections has.
 *
 * A combination is folded first (fold.c). If one part is left, its own method does the rest:
 * prox of c f + m at x for lambda is that of f at x - m / lambda for lambda / c, and
 * s = c s_f + m. Else its parts are the members of the cycle, with a cut as families of chains
 * (families.c) where it is a grid. A grid projected by flow as one part needs fewer sweeps, but
 * each of them starts its flow from nothing: 5 to 22 times slower in all (bench/sums.c, stands).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "prox/sums/cyclic.h"
#include "submod/functions/add_modular.h"
#include "submod/functions/embed.h"
#include "submod/functions/sum.h"

bool submodi_can_sum(const submod_fn *fn)
{
    const double *w;
    const int32_t *elements;
    return submodi_sum_count(fn) || submodi_without_modular(fn, &w) ||
           submodi_embedded(fn, &elements);
}

bool submodi_can_chains(const submod_fn *fn)
{
    const submodi_cut *cut = submodi_cut_inside(fn);
    return cut && submodi_count_families(cut) > 0;
}

/* ---- several parts ---- */

/* Whether the cycle is likely to be faster than Wolfe's method for the whole sum, whose cost grows
 * with the third power of the size: only if parts without a fast prox are small. */
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
    bool easier = submodi_can_sum(fn) && submodi_fold("", fn, &folded) == SUBMOD_OK;
    if (easier) {
        easier = is_worth_it(&folded);
        submodi_folded_clear(&folded);
    }
    return easier;
}

/* The part by itself as a member. User code runs in the caller's thread. */
static submodi_member member_of(const submodi_sum_part *part)
{
    const submodi_traits *traits = &part->fn->traits;
    return (submodi_member){.part = part,
                            .k = part->fn->n,
                            .full = !part->elements,
                            .fast = submodi_is_fast(part->fn),
                            .parallel = traits->depth == 0 && !traits->calls_back};
}

/* Appends the families of a part that is a cut of all elements; false: out of memory. */
static bool add_families(const submodi_sum_part *part, double lambda, submodi_member *members,
                         size_t *count, submod_work *w)
{
    const submodi_cut *cut = submodi_cut_inside(part->fn);
    size_t number = submodi_count_families(cut);
    submodi_family *families = submodi_take(w, number, sizeof *families);
    if (!families || !submodi_split_into_families(cut, part->coefficient / lambda, families, w)) {
        return false;
    }
    for (size_t i = 0; i < number; i++) {
        members[(*count)++] = (submodi_member){
            .part = part, .family = &families[i], .k = families[i].points, .fast = true};
    }
    return true;
}

static submod_status by_cycle(const submodi_prox_problem *p, const submodi_folded *folded,
                              double *u, double *s, submod_prox_info *info, submod_work *w)
{
    size_t room = folded->count + SUBMODI_FAMILIES_MAX;
    submodi_member *members = submodi_take(w, room, sizeof *members);
    size_t count = 0;
    bool good = members != NULL;
    for (size_t i = 0; good && i < folded->count; i++) {
        const submodi_sum_part *part = &folded->parts[i];
        if (!part->elements && submodi_can_chains(part->fn)) {
            good = add_families(part, p->lambda, members, &count, w);
        } else {
            members[count++] = member_of(part);
        }
    }
    return good ? submodi_cyclic(p, folded, members, count, u, s, info, w) : submodi_nomem(p->who);
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
    double *y = NULL;
    double *own_u = NULL;
    double *own_s = NULL;
    double **vectors[] = {&y, &own_u, &own_s, NULL};
    if (!submodi_take_vectors(w, k, vectors)) {
        return submodi_nomem(p->who);
    }
    for (size_t i = 0; i < k; i++) {
        y[i] = u[part->elements ? part->elements[i] : (int32_t)i];
    }
    settings.hinge = 0;
    bool ask = p->extension && !p->settings->hinge;
    submodi_prox_problem one = {.who = p->who,
                                .fn = part->fn,
                                .x = y,
                                .lambda = p->lambda / part->coefficient,
                                .settings = &settings,
                                .extension = ask ? &f : NULL,
                                /* orders of all elements are those of the sum too */
                                .found = part->elements ? NULL : p->found};
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
    return good ? SUBMOD_OK : submodi_fail(SUBMOD_ENUMERIC, "%s: F / lambda overflows", p->who);
}

/* A way to solve a folded problem; u and s are as start left them. */
typedef submod_status solve_folded(const submodi_prox_problem *p, const submodi_folded *folded,
                                   double *u, double *s, submod_prox_info *info, submod_work *w);

static submod_status fold_and(solve_folded *solve, const submodi_prox_problem *p, double *u,
                              double *s, submod_prox_info *info, submod_work *work)
{
    submodi_folded folded;
    submod_status status = submodi_fold(p->who, p->fn, &folded);
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
    return by_cycle(p, folded, u, s, info, w);
}

submod_status submodi_prox_sum(const submodi_prox_problem *p, double *u, double *s,
                               submod_prox_info *info, submod_work *work)
{
    return fold_and(by_parts, p, u, s, info, work);
}

/* For a cut alone the flow is faster, and exact: chains only if asked for (bench/sums.c, cuts). */
submod_status submodi_prox_chains(const submodi_prox_problem *p, double *u, double *s,
                                  submod_prox_info *info, submod_work *work)
{
    return fold_and(by_cycle, p, u, s, info, work);
}
