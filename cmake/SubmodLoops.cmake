# Files that are compiled once per instruction set (src/base/isa.h). On x86-64 there are three
# copies, elsewhere one. The instructions asked for here are those that isa.c asks the machine for.
include(CheckCSourceCompiles)
check_c_source_compiles("
#if !defined(__x86_64__)
#error
#endif
int main(void) { return 0; }" SUBMOD_X86_64)

set(loops_baseline_options "")
set(loops_avx2_options -mavx2 -mfma -mbmi -mbmi2)
set(loops_avx512_options ${loops_avx2_options}
  -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl)
set(submod_isas baseline)
if(SUBMOD_X86_64)
  list(APPEND submod_isas avx2 avx512)
endif()

# Object libraries submod_loops_<instruction set> from the files; their names go into `targets`.
function(submod_add_loops targets)
  set(added "")
  foreach(isa ${submod_isas})
    string(TOUPPER ${isa} upper)
    add_library(submod_loops_${isa} OBJECT ${ARGN})
    target_compile_definitions(submod_loops_${isa} PRIVATE SUBMODI_LOOPS_${upper})
    target_compile_options(submod_loops_${isa} PRIVATE ${loops_${isa}_options})
    list(APPEND added submod_loops_${isa})
  endforeach()
  set(${targets} ${added} PARENT_SCOPE)
endfunction()
