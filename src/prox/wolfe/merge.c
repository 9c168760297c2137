/* The bases of several pieces, each a combination of greedy orders, as one combination of orders of
 * all elements. Let all pieces walk through their weights from 0 to 1 at the same time: between two
 * places where one of them changes its order, the orders side by side are one order, weighted by
 * the distance. Cost: O(n) for each order that comes out. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "prox/wolfe/piece.h"

/* Where a piece is on its walk. */
typedef struct walker {
    size_t k;    /* its present order */
    double left; /* of that order's weight; the last order has no end */
} walker;

static void step_to(walker *w, const submod_combination *c, size_t k)
{
    w->k = k;
    w->left = k + 1 < c->count ? c->weights[k] : INFINITY;
}

/* Writes the present orders of all pieces side by side. */
static void write_order(const submodi_piece *pieces, const walker *walkers, size_t count,
                        const int32_t *sequence, size_t n, int32_t *order)
{
    memcpy(order, sequence, n * sizeof *order);
    for (size_t j = 0; j < count; j++) {
        size_t begin = pieces[j].part.begin;
        size_t size = submodi_piece_size(&pieces[j]);
        const int32_t *own = pieces[j].found.orders + walkers[j].k * size;
        for (size_t i = 0; i < size; i++) {
            order[begin + i] = sequence[begin + (size_t)own[i]];
        }
    }
}

/* Walks to the next change. Returns the distance. */
static double walk_on(const submodi_piece *pieces, walker *walkers, size_t count)
{
    double length = INFINITY;
    for (size_t j = 0; j < count; j++) {
        length = fmin(length, walkers[j].left);
    }
    for (size_t j = 0; j < count && length < INFINITY; j++) {
        walkers[j].left -= length;
        if (walkers[j].left <= 0) {
            step_to(&walkers[j], &pieces[j].found, walkers[j].k + 1);
        }
    }
    return length;
}

submod_status submodi_merge(const char *who, const submodi_piece *pieces, size_t count,
                            const int32_t *sequence, size_t n, submod_combination *to,
                            submod_work *work)
{
    size_t orders = 1;
    walker *walkers = submodi_take(work, count, sizeof *walkers);
    for (size_t j = 0; walkers && j < count; j++) {
        step_to(&walkers[j], &pieces[j].found, 0);
        orders += pieces[j].found.count - 1;
    }
    submod_combination new;
    submod_status status =
        walkers ? submodi_combination_room(who, n, orders, &new) : submodi_nomem(who);
    if (status != SUBMOD_OK) {
        return status;
    }
    double rest = 1;
    double length = 0;
    for (new.count = 0; length < INFINITY; new.count++) {
        write_order(pieces, walkers, count, sequence, n, new.orders + new.count *n);
        length = walk_on(pieces, walkers, count);
        new.weights[new.count] = fmin(length, fmax(rest, 0));
        rest -= new.weights[new.count];
    }
    submodi_combination_move(to, &new);
    return SUBMOD_OK;
}
