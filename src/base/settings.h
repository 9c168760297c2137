/* Settings that can grow: how the library reads a struct that an older program filled. */
#ifndef SUBMOD_BASE_SETTINGS_H
#define SUBMOD_BASE_SETTINGS_H

#include <submod/base.h>

/* *settings holds the library's defaults and is read from *given: as many bytes as
 * given->struct_size says, so that fields which the program does not know keep their defaults.
 * Both begin with size_t struct_size; settings->struct_size says how much the library knows and
 * stays. given = NULL: the defaults stay. defaults: the function that fills them, for the message.
 * SUBMOD_EINVAL, with *settings as before: a struct_size too small to hold itself, or larger than
 * the library's. */
submod_status submodi_read_settings(const char *who, const char *defaults, const void *given,
                                    void *settings);

#endif
