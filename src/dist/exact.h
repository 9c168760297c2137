/* The exact engine over ranks. */
#ifndef SUBMODI_DIST_EXACT_H
#define SUBMODI_DIST_EXACT_H

#include "dist/global_batch.h"

/* The loss of the whole batch by the exact engine, and the gradient of this rank's scores (may be
 * NULL). The batch is open: its labels are counted, and foreground, background, valid, coefficient,
 * foreground_is_all and most are of the whole; with per_image they are of this rank's own images,
 * by the number of all images, and group_losses.h adds up. group_loss: room for a number per group
 * of this rank, 0 before: what each adds to the loss. Scores have not been looked at yet. info:
 * sorted, of all ranks, is set here. Nothing is written to the gradient unless all ranks succeed,
 * and all return the same. */
submod_status submodi_dist_exact(submodi_global *whole, double *loss, double *group_loss,
                                 const submod_gradient *gradient, submod_loss_info *info,
                                 submod_work *work);

#endif
