/* The proxes of one function at one x for a list of lambdas.
 *
 * The base polytope does not depend on lambda, so a base found for one lambda is a base for the
 * next: methods that can start somewhere start from the last combination. Exact methods have
 * nothing to start from. Cost: that of the proxes, and O(count n).
 */
#include <stdbool.h>

#include "base/internal.h"
#include "prox/combination.h"
#include "submod/fn_internal.h"
#include <submod/prox.h>

/* Where entry k of an output with n numbers per entry begins; NULL stays NULL. */
static double *row(double *all, size_t k, size_t n)
{
    return all ? all + k * n : NULL;
}

/* A base for one lambda helps with the next if they are this close. Measured on log-det functions
 * of 120 and 200 elements, iterations saved: 2.2 times fewer at a ratio of 1.005, 1.4 at 1.1, 1.0
 * to 1.4 at 1.2, nothing or less than nothing at 2. */
static const double NEAR = 1.25;

static bool near(double a, double b)
{
    return a <= NEAR * b && b <= NEAR * a;
}

/* One prox after the other. The worse status wins, but the limits of one entry do not stop the
 * others. */
static submod_status follow(const submod_fn *fn, const double *x, const double *lambda,
                            size_t count, double *u, double *s, const submod_prox_settings *chosen,
                            submod_prox_info *info, submod_work *work)
{
    submod_status worst = SUBMOD_OK;
    for (size_t k = 0; k < count; k++) {
        submod_prox_settings settings = *chosen;
        if (k && chosen->combination) {
            settings.start = near(lambda[k - 1], lambda[k]) ? chosen->combination : NULL;
        }
        submod_status status = submod_prox(fn, x, lambda[k], row(u, k, fn->n), row(s, k, fn->n),
                                           &settings, info ? info + k : NULL, work);
        if (status < 0) {
            return status;
        }
        worst = status > worst ? status : worst;
    }
    return worst;
}

submod_status submod_prox_path(const submod_fn *fn, const double *x, const double *lambda,
                               size_t count, double *u, double *s,
                               const submod_prox_settings *settings, submod_prox_info *info,
                               submod_work *work)
{
    static const char who[] = "submod_prox_path";
    submod_prox_settings chosen = submod_prox_defaults();
    submod_status status = submodi_read_settings(who, "submod_prox_defaults", settings, &chosen);
    status = status ? status : submodi_require_given(who, "fn", fn);
    status = status ? status : submodi_require_given(who, "x", x);
    status = status || !count ? status : submodi_require_given(who, "lambda", lambda);
    for (size_t k = 0; status == SUBMOD_OK && k < count; k++) {
        status = submodi_require_positive(who, "lambda", lambda[k]);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_combination own = {0};
    bool starts = chosen.method == SUBMOD_PROX_AUTO || chosen.method == SUBMOD_PROX_MIN_NORM;
    chosen.combination = chosen.combination || !starts ? chosen.combination : &own;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = follow(fn, x, lambda, count, u, s, &chosen, info, w);
    submodi_scope_close(&scope);
    submod_combination_free(&own);
    return status;
}
