/* Functions for libraries built on libsubmod: error messages, memory, polling, random numbers. */
#ifndef SUBMOD_EXTEND_H
#define SUBMOD_EXTEND_H

#include <submod/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SUBMOD_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SUBMOD_PRINTF(text, first)
#endif

/* Writes the error message of this thread, as printf does, cut after 255 bytes, and returns status.
 * The arguments may include submod_last_error(). */
SUBMOD_API submod_status submod_fail(submod_status status, const char *format, ...)
    SUBMOD_PRINTF(2, 3);

/* Allocates count * size bytes, aligned to 64, by the allocator of submod_set_allocator. Returns
 * NULL on failure or overflow, without an error message; never NULL for 0 bytes. */
SUBMOD_API void *submod_alloc(size_t count, size_t size);
/* Frees memory from submod_alloc. Accepts NULL. */
SUBMOD_API void submod_free(void *memory);

/* Calls the callback of submod_set_poll. Returns whether it cancels; 0 without a callback. */
SUBMOD_API int submod_poll(void);

/* ---- random numbers ---- */

/* A seeded generator (xoshiro256++). The stream is the same on every machine; normals may differ in
 * the last bits, depending on libm. */
typedef struct submod_rng {
    uint64_t s[4]; /* filled by submod_rng_seed */
} submod_rng;

/* Starts the stream of a seed; equal seeds give equal streams. */
SUBMOD_API void submod_rng_seed(submod_rng *rng, uint64_t seed);
/* Returns 64 random bits. */
SUBMOD_API uint64_t submod_rng_next(submod_rng *rng);
/* Returns a number uniform in [0, 1), with 53 random bits. */
SUBMOD_API double submod_rng_uniform(submod_rng *rng);
/* Returns a standard normal number. */
SUBMOD_API double submod_rng_normal(submod_rng *rng);
/* Returns a number uniform in 0 .. bound-1, unbiased; 0 if bound = 0. */
SUBMOD_API uint64_t submod_rng_below(submod_rng *rng, uint64_t bound);

#ifdef __cplusplus
}
#endif

#endif
