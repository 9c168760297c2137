/* Minibatches one after the other, shuffled in each epoch, or independent of each other. O(1) per
 * minibatch. */
#include "optim/deck.h"

#include "base/internal.h"

submod_status submodi_order_check(submod_batch_order order)
{
    if ((unsigned)order > SUBMOD_BATCH_RANDOM) {
        return submodi_fail(SUBMOD_EINVAL, "order = %d is unknown; see submod_batch_order",
                            (int)order);
    }
    return SUBMOD_OK;
}

submod_status submodi_deck_open(submodi_deck *d, const submod_problem *problem,
                                submod_batch_order order, uint64_t seed, submod_work *work)
{
    *d = (submodi_deck){.count = problem->batches > 1 ? problem->batches : 1};
    d->order = d->count > 1 ? order : SUBMOD_BATCH_FULL;
    submod_rng_seed(&d->rng, seed);
    if (d->order != SUBMOD_BATCH_SHUFFLED) {
        return SUBMOD_OK;
    }
    d->cards = submodi_work_alloc(work, d->count, sizeof *d->cards);
    if (!d->cards) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < d->count; i++) {
        d->cards[i] = i;
    }
    return SUBMOD_OK;
}

static void shuffle(submodi_deck *d)
{
    for (size_t i = d->count; i > 1; i--) {
        size_t j = submod_rng_below(&d->rng, i);
        size_t card = d->cards[i - 1];
        d->cards[i - 1] = d->cards[j];
        d->cards[j] = card;
    }
}

size_t submodi_deck_draw(submodi_deck *d, size_t k)
{
    size_t at = k % d->count;
    switch (d->order) {
    case SUBMOD_BATCH_CYCLIC: return at;
    case SUBMOD_BATCH_RANDOM: return submod_rng_below(&d->rng, d->count);
    case SUBMOD_BATCH_SHUFFLED: break;
    default: return SUBMOD_FULL_BATCH;
    }
    if (at == 0) {
        shuffle(d);
    }
    return d->cards[at];
}
