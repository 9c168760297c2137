/* Convex combinations of greedy orders: the orders and weights that prove that s is a base. Memory:
 * one permutation and one weight per order.
 */
#include "prox/combination.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/handle.h"

submod_status submod_combination_create(submod_combination **combination)
{
    static const char who[] = "submod_combination_create";
    if (!combination) {
        return submodi_fail(SUBMOD_EINVAL, "%s: combination is NULL", who);
    }
    submod_combination *c = submodi_alloc(1, sizeof *c);
    if (!c) {
        return submodi_nomem(who);
    }
    *c = (submod_combination){0};
    *combination = c;
    return SUBMOD_OK;
}

void submodi_combination_clear(submod_combination *combination)
{
    if (combination) {
        submodi_free(combination->orders);
        submodi_free(combination->weights);
        *combination = (submod_combination){0};
    }
}

void submod_combination_free(submod_combination *combination)
{
    submodi_combination_clear(combination);
    submodi_free(combination);
}

size_t submod_combination_count(const submod_combination *combination)
{
    return combination ? combination->count : 0;
}

size_t submod_combination_size(const submod_combination *combination)
{
    return combination ? combination->n : 0;
}

const int32_t *submod_combination_order(const submod_combination *combination, size_t k)
{
    return k < submod_combination_count(combination) ? combination->orders + k * combination->n
                                                     : NULL;
}

double submod_combination_weight(const submod_combination *combination, size_t k)
{
    return k < submod_combination_count(combination) ? combination->weights[k] : 0;
}

submod_status submodi_combination_room(const char *who, size_t n, size_t count,
                                       submod_combination *new)
{
    *new = (submod_combination){.n = n, .count = count};
    new->orders =
        n <= SIZE_MAX / sizeof *new->orders ? submodi_alloc(count, n * sizeof *new->orders) : NULL;
    new->weights = submodi_alloc(count, sizeof *new->weights);
    if (!new->orders || !new->weights) {
        submodi_combination_clear(new);
        return submodi_nomem(who);
    }
    return SUBMOD_OK;
}

void submodi_combination_move(submod_combination *to, submod_combination *from)
{
    submodi_combination_clear(to);
    *to = *from;
    *from = (submod_combination){0};
}

/* Refuses weights that are negative or all 0. Dividing by *largest keeps their sum from
 * overflowing. */
static submod_status require_weights(const char *who, const double *weights, size_t count,
                                     double *largest)
{
    submod_status status = submodi_require_nonnegative(who, "weights", weights, count);
    *largest = 0;
    for (size_t k = 0; status == SUBMOD_OK && k < count; k++) {
        *largest = fmax(*largest, weights[k]);
    }
    return status == SUBMOD_OK && count && *largest == 0
               ? submodi_fail(SUBMOD_EINVAL, "%s: a weight must be > 0, all are 0", who)
               : status;
}

submod_status submod_combination_set(submod_combination *combination, size_t n, size_t count,
                                     const int32_t *orders, const double *weights)
{
    static const char who[] = "submod_combination_set";
    if (!combination || (count && (!orders || !weights || !n))) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: combination, orders and weights must not be NULL, n must be > 0",
                            who);
    }
    double largest;
    submod_status status = require_weights(who, weights, count, &largest);
    for (size_t k = 0; status == SUBMOD_OK && k < count; k++) {
        status = submodi_require_set(who, n, "orders", orders + k * n, n);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_combination new = {0};
    if (count) {
        status = submodi_combination_room(who, n, count, &new);
        if (status != SUBMOD_OK) {
            return status;
        }
        memcpy(new.orders, orders, count * n * sizeof *orders);
        double sum = 0;
        for (size_t k = 0; k < count; k++) {
            new.weights[k] = weights[k] / largest;
            sum += new.weights[k];
        }
        for (size_t k = 0; k < count; k++) {
            new.weights[k] /= sum;
        }
    }
    submodi_combination_move(combination, &new);
    return SUBMOD_OK;
}
