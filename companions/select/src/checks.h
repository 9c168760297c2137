/* Checks of arguments. `caller` is the public function. */
#ifndef SUBMOD_SELECT_CHECKS_H
#define SUBMOD_SELECT_CHECKS_H

#include <submod/extend.h>

/* Returns the status of a call from the present function unless it is SUBMOD_OK. */
#define TRY(call) \
    do { \
        submod_status try_status = (call); \
        if (try_status != SUBMOD_OK) { \
            return try_status; \
        } \
    } while (0)

static inline submod_status out_of_memory(const char *caller)
{
    return submod_fail(SUBMOD_ENOMEM, "%s: out of memory", caller);
}

static inline submod_status check_given(const char *caller, const char *name, const void *argument)
{
    return argument ? SUBMOD_OK : submod_fail(SUBMOD_EINVAL, "%s: %s is NULL", caller, name);
}

static inline submod_status check_index(const char *caller, const char *name, size_t i,
                                        int32_t index, size_t below)
{
    return index >= 0 && (size_t)index < below
               ? SUBMOD_OK
               : submod_fail(SUBMOD_EINVAL, "%s: %s[%zu] = %d is not in [0, %zu)", caller, name, i,
                             (int)index, below);
}

#endif
