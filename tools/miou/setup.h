/* The options that counts and reports depend on, as texts. */
#ifndef MIOU_SETUP_H
#define MIOU_SETUP_H

#include "options.h"

/* Adds them: equal texts, equal set-ups. */
void setup_write(const options *o, string_list *texts);

/* Fills in what setup_write has written; false if it has not written these. */
bool setup_read(const string_list *texts, options *o);

#endif
