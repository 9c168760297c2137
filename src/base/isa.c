/* Which instruction set is in use: the best of this machine, or what SUBMOD_ISA asks for. */
#include "base/isa.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <submod/base.h>

static const char *const names[] = {"baseline", "avx2", "avx512"};
enum { NAMES = sizeof names / sizeof *names };

/* The largest instruction set that this machine and its system can run. The features tested are
 * those that SubmodLoops.cmake compiles with. */
static submodi_isa best(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
    if (avx2) {
        return avx512 ? SUBMODI_AVX512 : SUBMODI_AVX2;
    }
#endif
    return SUBMODI_BASELINE;
}

static submodi_isa granted(const char *wish)
{
    submodi_isa most = best();
    for (int i = 0; wish && i < NAMES; i++) {
        if (strcmp(wish, names[i]) == 0) {
            return (submodi_isa)i < most ? (submodi_isa)i : most;
        }
    }
    return most;
}

static atomic_int chosen = -1; /* not yet */

void submodi_isa_choose(const char *wish)
{
    atomic_store_explicit(&chosen, (int)granted(wish), memory_order_relaxed);
}

submodi_isa submodi_isa_in_use(void)
{
    int isa = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (isa < 0) { /* threads that arrive together choose the same */
        submodi_isa_choose(getenv("SUBMOD_ISA"));
        isa = atomic_load_explicit(&chosen, memory_order_relaxed);
    }
    return (submodi_isa)isa;
}

const char *submod_isa(void)
{
    return names[submodi_isa_in_use()];
}
