/* The two halves of a loss over ranks. */
#ifndef SUBMODI_DIST_LOSS_CALL_H
#define SUBMODI_DIST_LOSS_CALL_H

#include "dist/call.h"

/* What a loss is called with. */
typedef struct submodi_loss_arguments {
    const char *who;
    submodi_kind kind;
    const submod_comm *comm;
    const submod_scores *scores;
    const submod_labels *labels;
    const submod_gradient *gradient;
    const submod_loss_settings *settings;
} submodi_loss_arguments;

/* Opens the scope of the call, whatever it returns; mine: how this rank comes into it. Up to where
 * the numbers are on their way; the rest is call->end. */
submod_status submodi_loss_begin(submod_dist_call *call, submod_status mine,
                                 const submodi_loss_arguments *x, bool at_once, submod_work *work);

#endif
