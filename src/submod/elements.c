/* Checks of the caller's lists of elements: in range, and each at most once. */
#include <limits.h>
#include <string.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

/* Checks one list, and marks its elements in seen, one bit each. */
static submod_status mark(const char *who, size_t n, const char *name, const int32_t *set, size_t k,
                          unsigned char *seen)
{
    for (size_t i = 0; i < k; i++) {
        if (set[i] < 0 || (size_t)set[i] >= n) {
            return submodi_fail(SUBMOD_EINVAL, "%s: %s[%zu] = %d is not in [0, %zu)", who, name, i,
                                (int)set[i], n);
        }
        unsigned char *byte = &seen[set[i] / CHAR_BIT];
        unsigned char bit = (unsigned char)(1U << (set[i] % CHAR_BIT));
        if (*byte & bit) {
            return submodi_fail(SUBMOD_EINVAL, "%s: %s[%zu] = %d occurs twice", who, name, i,
                                (int)set[i]);
        }
        *byte |= bit;
    }
    return SUBMOD_OK;
}

submod_status submodi_require_disjoint_sets(const char *who, size_t n, const char *name_a,
                                            const int32_t *a, size_t ka, const char *name_b,
                                            const int32_t *b, size_t kb)
{
    if ((!a && ka) || (!b && kb)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, !a && ka ? name_a : name_b);
    }
    unsigned char few[512]; /* no allocation for n <= 4096 */
    size_t bytes = n / CHAR_BIT + 1;
    unsigned char *seen = bytes <= sizeof few ? few : submodi_alloc(bytes, 1);
    if (!seen) {
        return submodi_nomem(who);
    }
    memset(seen, 0, bytes);
    submod_status status = mark(who, n, name_a, a, ka, seen);
    status = status ? status : mark(who, n, name_b, b, kb, seen);
    if (seen != few) {
        submodi_free(seen);
    }
    return status;
}

submod_status submodi_require_set(const char *who, size_t n, const char *name, const int32_t *set,
                                  size_t k)
{
    return submodi_require_disjoint_sets(who, n, name, set, k, name, NULL, 0);
}

submod_status submodi_mark_elements(const char *name, const int32_t *set, size_t k, size_t n,
                                    unsigned char *seen)
{
    for (size_t i = 0; i < k; i++) {
        if (set[i] < 0 || (size_t)set[i] >= n) {
            return submodi_fail(SUBMOD_EINVAL, "%s[%zu] = %d is not in [0, %zu)", name, i,
                                (int)set[i], n);
        }
        unsigned char *byte = &seen[set[i] / CHAR_BIT];
        unsigned char bit = (unsigned char)(1U << (set[i] % CHAR_BIT));
        if (*byte & bit) {
            return submodi_fail(SUBMOD_EINVAL, "%s[%zu] = %d occurs twice", name, i, (int)set[i]);
        }
        *byte |= bit;
    }
    return SUBMOD_OK;
}

submod_status submodi_check_elements(const char *name, const int32_t *set, size_t k, size_t n)
{
    TRY(k ? submodi_check_given(name, set) : SUBMOD_OK);
    unsigned char few[512]; /* no allocation for n <= 4096 */
    size_t bytes = n / CHAR_BIT + 1;
    unsigned char *seen = bytes <= sizeof few ? few : submodi_alloc(bytes, 1);
    if (!seen) {
        return submodi_out_of_memory();
    }
    memset(seen, 0, bytes);
    submod_status status = submodi_mark_elements(name, set, k, n, seen);
    if (seen != few) {
        submodi_free(seen);
    }
    return status;
}
