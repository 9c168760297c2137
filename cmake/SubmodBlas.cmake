# OpenBLAS and LAPACKE, as the target submod_blas, and as the names submod_blas_names with which users
# of the installed static library link them. Both are empty with SUBMOD_BLAS=OFF.
add_library(submod_blas INTERFACE)
set(submod_blas_names "")
if(NOT SUBMOD_BLAS)
  return()
endif()
# Debian keeps the headers and libraries of each variant of OpenBLAS in a folder of its own.
set(variants openblas openblas-pthread openblas-serial openblas-openmp)
find_path(SUBMOD_CBLAS_INCLUDE cblas.h PATH_SUFFIXES ${variants})
find_path(SUBMOD_LAPACKE_INCLUDE lapacke.h PATH_SUFFIXES ${variants})
find_library(SUBMOD_OPENBLAS_LIBRARY openblas PATH_SUFFIXES ${variants})
find_library(SUBMOD_LAPACKE_LIBRARY lapacke PATH_SUFFIXES ${variants})
# OpenBLAS may bring LAPACKE itself.
set(CMAKE_REQUIRED_LIBRARIES ${SUBMOD_OPENBLAS_LIBRARY})
include(CheckFunctionExists)
if(SUBMOD_OPENBLAS_LIBRARY AND NOT SUBMOD_LAPACKE_LIBRARY)
  check_function_exists(LAPACKE_dpotrf_work SUBMOD_OPENBLAS_HAS_LAPACKE)
endif()
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT SUBMOD_CBLAS_INCLUDE OR NOT SUBMOD_LAPACKE_INCLUDE OR NOT SUBMOD_OPENBLAS_LIBRARY
    OR NOT (SUBMOD_LAPACKE_LIBRARY OR SUBMOD_OPENBLAS_HAS_LAPACKE))
  message(FATAL_ERROR "OpenBLAS or LAPACKE is missing: install libopenblas-dev and liblapacke-dev "
    "(scripts/setup.sh), or configure with -DSUBMOD_BLAS=OFF")
endif()

if(SUBMOD_LAPACKE_LIBRARY)
  list(APPEND submod_blas_names lapacke)
  target_link_libraries(submod_blas INTERFACE ${SUBMOD_LAPACKE_LIBRARY})
endif()
list(APPEND submod_blas_names openblas)
target_link_libraries(submod_blas INTERFACE ${SUBMOD_OPENBLAS_LIBRARY})
target_include_directories(submod_blas SYSTEM INTERFACE
  ${SUBMOD_CBLAS_INCLUDE} ${SUBMOD_LAPACKE_INCLUDE})
target_compile_definitions(submod_blas INTERFACE SUBMODI_BLAS)
