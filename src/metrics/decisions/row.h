/* One image and class at a time: its probabilities ranked, decided upon, judged. */
#ifndef SUBMODI_DECISIONS_ROW_H
#define SUBMODI_DECISIONS_ROW_H

#include "base/internal.h"
#include "metrics/decisions/prefixes.h"

/* What a call works with. One for all its rows. */
typedef struct submodi_row_room {
    submod_decision_settings settings;
    submod_scores probabilities;
    submod_work *work;
    submodi_rule rule;
    float *buffer;  /* a row, if it has to be converted */
    double *q;      /* in order */
    double *inside; /* p + 1 each */
    double *outside;
    submodi_interval *found; /* p + 1 */
} submodi_row_room;

/* Checks arguments and all probabilities, and takes memory from work. */
submod_status submodi_row_prepare(submodi_row_room *room, const submod_scores *probabilities,
                                  const submod_decision_settings *settings, submod_work *work);

/* mask = the segmentation of class c in image b. Fails only when memory runs out. */
submod_status submodi_row_decide(submodi_row_room *room, size_t b, size_t c, uint8_t *mask,
                                 submod_decision_info *info);

/* How good a mask is: all of *info but `best`. */
void submodi_row_judge(submodi_row_room *room, size_t b, size_t c, const uint8_t *mask,
                       submod_decision_info *info);

/* The probabilities of a row as floats. */
const float *submodi_row_read_all(submodi_row_room *room, size_t b, size_t c);

#endif
