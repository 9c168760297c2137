/* One source, several instruction sets. */
#ifndef SUBMODI_SIMD_H
#define SUBMODI_SIMD_H

/* Functions marked so are compiled for AVX-512, AVX2 and the baseline; the loader picks what the
 * machine has. The arithmetic is the same operation by operation, and so are the results, but for
 * activation.c, which may fuse multiplications and additions where the machine can. Other CPUs and
 * compilers get the portable code alone. Only for static functions: the resolvers of others would
 * be exported. Sanitized builds too: their runtime is not up yet when the loader picks. And clang:
 * version 14 knows the attribute, but drops the x86-64-v3 clone without a word and makes the
 * resolvers of static functions global, so that files collide or export them; a clang build is made
 * for one machine by CFLAGS=-march=native instead. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define SUBMODI_MULTIVERSION \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SUBMODI_MULTIVERSION
#endif

#endif
