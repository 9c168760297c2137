/* A text under construction (see text.h). */
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

void submodi_put(submodi_text *t, const char *format, ...)
{
    bool room = t->length < t->size;
    va_list args;
    va_start(args, format);
    int written =
        vsnprintf(room ? t->text + t->length : NULL, room ? t->size - t->length : 0, format, args);
    va_end(args);
    t->length += written > 0 ? (size_t)written : 0;
}
