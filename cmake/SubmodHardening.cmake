# What makes mistakes in memory harder to use, as distributions do it: submod_flags gets what this
# compiler and linker have of it. tests/install/run.sh looks for each in what was built.
if(NOT SUBMOD_HARDENING)
  return()
endif()
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)

# Guards around arrays on the stack, no jump over its guard page, and jumps to marked places only.
set(hardening "")
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER "SUBMOD_HAS${flag}" has)
  check_c_compiler_flag(${flag} ${has})
  if(${has})
    list(APPEND hardening ${flag})
  endif()
endforeach()

# Copies are checked against the size of their target, as far as the compiler knows it (2) or can
# compute it (3). Sanitizers see more than FORTIFY, which hides calls from them.
if(NOT SUBMOD_SANITIZE)
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_c_source_compiles("
#include <string.h>
#if !__has_builtin(__builtin_dynamic_object_size)
#error
#endif
int main(void) { return (int)strlen(\"\"); }" SUBMOD_HAS_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(level $<IF:$<BOOL:${SUBMOD_HAS_FORTIFY_3}>,3,2>)
  list(APPEND hardening
    "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${level}>")
endif()
target_compile_options(submod_flags INTERFACE ${hardening})

# All addresses are found at the start, their table is read-only, and no stack runs.
if(UNIX AND NOT APPLE)
  target_link_options(submod_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
