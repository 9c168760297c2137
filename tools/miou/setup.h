/* The options that counts and reports depend on, as texts. */
#ifndef MIOU_SETUP_H
#define MIOU_SETUP_H

#include "options.h"

/* Adds them: equal texts, equal set-ups. */
void setup_write(const options *o, string_list *texts);

/* Fills in what setup_write has written. NULL, or words for texts that it cannot have written:
 * those of a file are anybody's, and memory is taken by what they say. */
const char *setup_read(const string_list *texts, options *o);

#endif
