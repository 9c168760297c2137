/* Settings that can grow: the one place where they are read. base.h states the rule. */
#include "base/internal.h"

#include <string.h>

submod_status submodi_read_settings(const char *who, const char *defaults, const void *given,
                                    void *settings)
{
    if (!given) {
        return SUBMOD_OK;
    }
    size_t size, known;
    memcpy(&size, given, sizeof size);
    memcpy(&known, settings, sizeof known);
    if (size < sizeof size) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: settings.struct_size = %zu: fill the settings with %s() first, "
                            "then change fields",
                            who, size, defaults);
    }
    if (size > known) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: settings.struct_size = %zu must be at most %zu: fill the settings "
                            "with %s(), and use headers no newer than the library, which is "
                            "libsubmod " SUBMOD_VERSION_STRING,
                            who, size, known, defaults);
    }
    memcpy(settings, given, size);
    memcpy(settings, &known, sizeof known);
    return SUBMOD_OK;
}
