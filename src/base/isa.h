/* One source, several instruction sets.
 *
 * Loops that profit from wide instructions are in files named ..._loops.c. CMake compiles each of
 * them once per instruction set (cmake/SubmodLoops.cmake), and each copy exports one table of
 * functions. The header ..._loops.h returns the table of the instruction set in use.
 *
 * All copies do the same arithmetic, operation by operation, and so give the same results, except
 * for submodi_multiply_add (loss/tensors/float_bits.h). Therefore the source fixes the order of
 * every sum independently of the register width. */
#ifndef SUBMODI_ISA_H
#define SUBMODI_ISA_H

/* In ascending order: each set includes the previous ones. */
typedef enum submodi_isa { SUBMODI_BASELINE, SUBMODI_AVX2, SUBMODI_AVX512 } submodi_isa;

/* Returns the instruction set in use. The first call chooses it by SUBMOD_ISA (base.h). */
submodi_isa submodi_isa_in_use(void);

/* For tests: chooses again, as if SUBMOD_ISA were set to `bound`, or not set (NULL). */
void submodi_isa_choose(const char *bound);

/* The name of a table in the copy that is being compiled. */
#if defined(SUBMODI_LOOPS_AVX512)
#define SUBMODI_TABLE(name) name##_avx512
#elif defined(SUBMODI_LOOPS_AVX2)
#define SUBMODI_TABLE(name) name##_avx2
#else
#define SUBMODI_TABLE(name) name##_baseline
#endif

/* The tables of all copies, to be indexed by submodi_isa_in_use. */
#if defined(__x86_64__)
#define SUBMODI_TABLES(name) \
    { \
        &name##_baseline, &name##_avx2, &name##_avx512 \
    }
#else
#define SUBMODI_TABLES(name) \
    { \
        &name##_baseline \
    }
#endif

/* ---- functions that the CPU and the GPU share: one source, so that both give the same bits ----
 */

/* Both C11 and CUDA C++ compile this. nvcc uses -fmad=false and the C compiler -ffp-contract=off:
 * operation by operation the results are the same. */
#ifdef __CUDACC__
#define SUBMODI_HOST_DEVICE static __host__ __device__ __forceinline__
#else
#define SUBMODI_HOST_DEVICE static inline
#endif

#endif
