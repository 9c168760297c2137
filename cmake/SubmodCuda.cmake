# The one file for CUDA's compiler, as the objects submod_cuda; no target when there is to be none.
if(NOT SUBMOD_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SUBMOD_CUDA is AUTO, ON or OFF, not '${SUBMOD_CUDA}'")
endif()
if(SUBMOD_CUDA STREQUAL OFF OR (SUBMOD_CUDA STREQUAL AUTO AND SUBMOD_SANITIZE))
  return()
endif()

# Quick to compile, and the PTX runs on all devices from Turing on; a release takes all-major.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80)
endif()
if(SUBMOD_CUDA STREQUAL AUTO)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(STATUS "No CUDA compiler: the GPU path will say that it was built without")
    return()
  endif()
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(CUDAToolkit_VERSION VERSION_LESS 13 AND CMAKE_CUDA_ARCHITECTURES STREQUAL all-major)
  set(CMAKE_CUDA_ARCHITECTURES 70 80 90) # before 70 kernels cannot read their arguments in place
endif()

add_library(submod_cuda OBJECT src/gpu/cuda.cu)
set_target_properties(submod_cuda PROPERTIES
  CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
  POSITION_INDEPENDENT_CODE ON CUDA_VISIBILITY_PRESET hidden)
target_include_directories(submod_cuda PRIVATE include src)
# No contraction of a*b+c, as in C: the same bits as the CPU. CUB's profiler ranges are left out.
# The architectures determine which devices can run the kernels (src/gpu/architectures.h).
list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
target_compile_definitions(submod_cuda PRIVATE NVTX_DISABLE CCCL_DISABLE_NVTX
  SUBMODI_CUDA_ARCHITECTURES="${architectures}")
target_compile_options(submod_cuda PRIVATE -fmad=false -Xcompiler=-fno-gnu-unique,-fstack-protector-strong,-Wall,-Wextra)
