/* The order in which minibatches are drawn. */
#ifndef SUBMODI_OPTIM_DECK_H
#define SUBMODI_OPTIM_DECK_H

#include <submod/extend.h>
#include <submod/optim.h>

typedef struct submodi_deck {
    submod_batch_order order; /* SUBMOD_BATCH_FULL where there is only one minibatch */
    size_t count;             /* of the minibatches */
    size_t *cards;            /* SUBMOD_BATCH_SHUFFLED only */
    submod_rng rng;
} submodi_deck;

/* Refuses an unknown order. */
submod_status submodi_order_check(submod_batch_order order);

/* The cards come from work. SUBMOD_ENOMEM. */
submod_status submodi_deck_open(submodi_deck *d, const submod_problem *problem,
                                submod_batch_order order, uint64_t seed, submod_work *work);

/* The minibatch of step k = 0, 1, .., to be asked for in this order; or SUBMOD_FULL_BATCH. */
size_t submodi_deck_draw(submodi_deck *d, size_t k);

#endif
