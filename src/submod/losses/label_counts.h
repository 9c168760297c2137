/* Checking and counting the labels of a batch, and the weights of its pixels. */
#ifndef SUBMODI_LOSSES_LABEL_COUNTS_H
#define SUBMODI_LOSSES_LABEL_COUNTS_H

#include "submod/losses/batch.h"

/* Checks the weights, if there are any, and keeps them: sets batch->weight, what rounds them, and
 * their unit, which is 1 unless in_units. */
submod_status submodi_weights_open(submodi_batch *batch, bool in_units, submod_work *work);

/* After that: checks the labels; sets foreground, background and valid. */
submod_status submodi_labels_count(submodi_batch *batch, submod_work *work);

#endif
