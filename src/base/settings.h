/* Settings that can grow: how the library reads a struct that an older program filled. */
#ifndef SUBMODI_SETTINGS_H
#define SUBMODI_SETTINGS_H

#include <submod/base.h>

/* *settings holds the library's defaults. Copies the first given->struct_size bytes of *given over
 * them, so that fields which an older program does not know keep their defaults. given = NULL: all
 * defaults stay. Both structs begin with size_t struct_size; settings->struct_size stays as it is.
 * defaults: the name of the function that fills in the defaults, for the error message.
 * SUBMOD_EINVAL, with *settings unchanged: struct_size is too small to hold itself, or larger than
 * the library's. */
submod_status submodi_read_settings(const char *who, const char *defaults, const void *given,
                                    void *settings);

#endif
