/* A call over ranks that has begun: what its end needs. Blocking calls have theirs on the stack. */
#ifndef SUBMODI_DIST_CALL_H
#define SUBMODI_DIST_CALL_H

#include "base/memory.h"
#include "dist/tally.h"
#include "submod/losses/histogram_groups.h"

struct submod_dist_call {
    submodi_global whole;
    submodi_scope scope;
    submod_work *work;
    bool at_once; /* begun and ended by one call of the user's */
    /* The rest of it, on all ranks; loss and info are not NULL. */
    submod_status (*end)(struct submod_dist_call *call, double *loss, submod_loss_info *info);

    /* ---- losses ---- */
    submodi_kind kind;
    submod_scores scores; /* as the caller has them */
    submod_labels labels;
    submod_gradient gradient;
    bool derives;        /* a gradient is wanted */
    submodi_tally tally; /* histogram engine; with per_image only its h is used */
    submodi_solution solution;
    submodi_outcome mine; /* per_image: whether this rank's images are fine */
    float *margin;        /* per thread */
    double *group_loss;   /* what each group adds to the loss */
    double *room;         /* per_image: for all losses of images */

    /* ---- datasets ---- */
    submod_dataset *dataset;
};

/* In two halves, one function of the user's each. A call is made by submodi_call_make and begun,
 * then handed to submodi_call_hand_out with the status of its beginning. */
typedef struct submodi_new_call {
    submod_dist_call *call; /* on the heap, or spare */
    submod_status status;   /* SUBMOD_ENOMEM: the others have to be told */
    struct submod_dist_call spare;
} submodi_new_call;

void submodi_call_make(const char *who, submodi_new_call *made);
submod_status submodi_call_hand_out(submodi_new_call *made, submod_status begun,
                                    submod_dist_call **call);

/* The second half of any call, and all that it has taken is freed; the call itself stays. The
 * outputs, which may be NULL, are written if all went well. */
submod_status submodi_call_end(submod_dist_call *call, submod_status begun, double *loss,
                               submod_loss_info *info);

#endif
