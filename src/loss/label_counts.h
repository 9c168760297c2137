/* Checking and counting the labels of a batch, and the weights of its pixels. */
#ifndef SUBMODI_LOSSES_LABEL_COUNTS_H
#define SUBMODI_LOSSES_LABEL_COUNTS_H

#include "loss/batch.h"

/* Checks the weights, if there are any, and takes memory for them: sets batch->weight and
 * largest_weight of each group. */
submod_status submodi_weights_look(submodi_batch *batch, submod_work *work);
/* Sets the unit of each group, rounds the weights and keeps them. Is called afterwards, when
 * largest_weight and all_pixels are those of the whole batch. */
void submodi_weights_keep(submodi_batch *batch);

/* After that: checks the labels; sets foreground, background and valid. */
submod_status submodi_labels_count(submodi_batch *batch, submod_work *work);

#endif
