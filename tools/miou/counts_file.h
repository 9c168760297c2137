/* What a run has counted, in a file, so that a report can be made of several runs. */
#ifndef MIOU_COUNTS_FILE_H
#define MIOU_COUNTS_FILE_H

#include "evaluate.h"

/* Writes the set-up, the names and scores of images, the problems and all counts (submod/file.h).
 * False, with a message on stderr. */
bool counts_save(const char *path, const options *o, const evaluation *e,
                 const string_list *problems);

/* Adds up o->files: fills in the set-up that they share, the evaluation of all their images, and
 * their problems. False, with a message on stderr, for a file that cannot be read, that has another
 * set-up than the first, or an image that another one has. Free the evaluation in any case. */
bool counts_merge(options *o, evaluation *e, string_list *problems);

#endif
