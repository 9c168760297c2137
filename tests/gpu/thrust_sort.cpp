/* The pipeline's sort by Thrust on OpenMP threads: the library that a device uses, on the CPU. */
#include <omp.h>
#include <thrust/device_ptr.h>
#include <thrust/sort.h>

extern "C" {
#include "shim.h"
}

template <typename key> static void sort_as(const submodi_gpu_sort *s)
{
    /* Bits that do not matter must not move anything: the device will not look at them. */
    key mask = s->bits < int(8 * sizeof(key)) ? (key(1) << s->bits) - 1 : ~key(0);
    auto keys = thrust::device_pointer_cast(static_cast<key *>(s->key[0]));
    thrust::stable_sort_by_key(keys, keys + s->n, thrust::device_pointer_cast(s->position[0]),
                               [mask](key x, key y) { return (x & mask) < (y & mask); });
}

extern "C" submod_status thrust_sort(const submodi_gpu_sort *s, int32_t *current)
{
    omp_set_num_threads(2);
    *current = 0;
    try {
        if (s->wide) {
            sort_as<uint64_t>(s);
        } else {
            sort_as<uint32_t>(s);
        }
    } catch (...) {
        return SUBMOD_ENUMERIC;
    }
    return SUBMOD_OK;
}
