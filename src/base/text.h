/* A text under construction, in room that the caller gives. */
#ifndef SUBMODI_BASE_TEXT_H
#define SUBMODI_BASE_TEXT_H

#include "base/error.h"

/* As with snprintf, length counts what does not fit too. text may be NULL if size is 0. */
typedef struct submodi_text {
    char *text;
    size_t size, length;
} submodi_text;

/* Adds to the text. */
void SUBMODI_PRINTF(2, 3) submodi_put(submodi_text *t, const char *format, ...);

#endif
