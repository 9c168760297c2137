/* Losses of single images over ranks: each has its own images and needs no counts of others. What
 * is gathered are the losses, so that all ranks add them up in the order of the whole batch. */
#ifndef SUBMODI_DIST_GROUP_LOSSES_H
#define SUBMODI_DIST_GROUP_LOSSES_H

#include "dist/global_batch.h"

/* Room for all of it, which must be there before ranks agree that they are well; NULL: out of
 * memory. */
double *submodi_group_losses_take(const submodi_global *whole, submod_work *work);
/* From what each group of this rank adds to the loss, and its group_most if the measure is custom:
 * the loss of the whole batch; most, valid and terms of the batch become those of the whole. */
submod_status submodi_group_losses_gather(submodi_global *whole, const double *share, double *room,
                                          double *loss);

#endif
