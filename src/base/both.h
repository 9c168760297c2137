/* Small functions that the CPU and the GPU share: one source, so that both give the same bits. */
#ifndef SUBMODI_BOTH_H
#define SUBMODI_BOTH_H

/* To be read by C11 and by CUDA C++ alike. nvcc compiles with -fmad=false and the C compiler with
 * -ffp-contract=off: operation by operation the results are the same. */
#ifdef __CUDACC__
#define SUBMODI_BOTH static __host__ __device__ __forceinline__
#else
#define SUBMODI_BOTH static inline
#endif

#endif
