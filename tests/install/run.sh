#!/usr/bin/env bash
# Installs a finished build into a temporary place and uses it as strangers would: with CMake, with
# pkg-config, statically, from C++. Looks at the names and the soname of the libraries too.
#
#   tests/install/run.sh BUILD_DIRECTORY
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: $0 BUILD_DIRECTORY" >&2
    exit 2
fi
build=$1
consumer=$(cd "$(dirname "${BASH_SOURCE[0]}")/consumer" && pwd)
cc=${CC:-cc}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

fail() {
    echo "install test: $*" >&2
    exit 1
}

step() {
    echo "---- $*"
}

for tool in cmake pkg-config ar nm objdump readelf; do
    command -v "$tool" >/dev/null || fail "$tool is not installed; run scripts/setup.sh"
done

# The one installed file of that name.
installed() {
    local found
    found=$(find "$prefix" -name "$1")
    [ -e "$found" ] || fail "$1 was not installed, or more than once"
    echo "$found"
}

step "install"
cmake --install "$build" --prefix "$prefix" >"$scratch/log" || fail "$(cat "$scratch/log")"
shared=$(installed libsubmod.so)
static=$(installed libsubmod.a)
pc=$(installed submod.pc)
libdir=$(dirname "$shared")

step "CMake package"
# Who asks for no component needs no MPI.
cmake -S "$consumer" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON >/dev/null
cmake --build "$scratch/consumer" >"$scratch/log" || fail "$(cat "$scratch/log")"
"$scratch/consumer/shared"
"$scratch/consumer/static"

# flags PACKAGE OPTION..: one per line.
flags() {
    PKG_CONFIG_PATH=$(dirname "$pc") pkg-config "${@:2}" "$1" | xargs -n 1
}

needs_shared() {
    readelf -d "$1" | grep 'NEEDED.*libsubmod' >/dev/null
}

step "pkg-config, shared"
mapfile -t shared_flags < <(flags submod --cflags --libs)
"$cc" "$consumer/main.c" "${shared_flags[@]}" -o "$scratch/shared"
LD_LIBRARY_PATH=$libdir "$scratch/shared"
needs_shared "$scratch/shared" || fail "pkg-config --libs did not link the shared library"

step "pkg-config, static"
mapfile -t static_flags < <(flags submod --cflags --libs --static | sed 's/^-lsubmod$/-l:libsubmod.a/')
"$cc" "$consumer/main.c" "${static_flags[@]}" -o "$scratch/static"
"$scratch/static"
! needs_shared "$scratch/static" || fail "pkg-config --static linked the shared library"

step "companion submod_select"
cmake -S "$consumer/select" -B "$scratch/select" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$scratch/select" >"$scratch/log" || fail "$(cat "$scratch/log")"
"$scratch/select/shared"
"$scratch/select/static"
mapfile -t select_flags < <(flags submod_select --cflags --libs)
"$cc" "$consumer/select/main.c" "${select_flags[@]}" -o "$scratch/select-shared"
LD_LIBRARY_PATH=$libdir "$scratch/select-shared"

if cxx=$(command -v "${CXX:-c++}"); then
    step "C++"
    cat >"$scratch/main.cpp" <<'END'
#include <cstring>
#include <submod.h>
int main()
{
    return std::strcmp(submod_version(), SUBMOD_VERSION_STRING) == 0 ? 0 : 1;
}
END
    "$cxx" -std=c++11 -Wall -Wextra -pedantic-errors -Werror "$scratch/main.cpp" \
        "${shared_flags[@]}" -o "$scratch/cpp"
    LD_LIBRARY_PATH=$libdir "$scratch/cpp"
    cat >"$scratch/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(cpp LANGUAGES CXX)
find_package(submod REQUIRED CONFIG)
add_executable(main main.cpp)
target_link_libraries(main PRIVATE submod::submod)
END
    cmake -S "$scratch" -B "$scratch/cpp-build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
    cmake --build "$scratch/cpp-build" >"$scratch/log" || fail "$(cat "$scratch/log")"
    "$scratch/cpp-build/main"
fi

# CMake finds MPI in the languages of a project alone, which we say.
refuse_mpi_without_c() {
    local log=$scratch/no-c/log
    mkdir "$scratch/no-c"
    sed 's/LANGUAGES C/LANGUAGES CXX/' "$consumer/mpi/CMakeLists.txt" >"$scratch/no-c/CMakeLists.txt"
    ! cmake -S "$scratch/no-c" -B "$scratch/no-c/build" -DCMAKE_PREFIX_PATH="$prefix" >"$log" 2>&1 ||
        fail "the component mpi was found without C"
    grep 'component mpi needs the language C' "$log" >/dev/null || fail "$(cat "$log")"
}

# Ranks of MPI: the component, the flags, and libsubmod that knows nothing of it.
use_mpi() {
    local mpi_flags soname
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1
    step "MPI: CMake component"
    cmake -S "$consumer/mpi" -B "$scratch/mpi" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
    cmake --build "$scratch/mpi" >"$scratch/log" || fail "$(cat "$scratch/log")"
    mpirun -n 2 "$scratch/mpi/shared"
    mpirun -n 2 "$scratch/mpi/static"
    ! cmake -S "$consumer/mpi" -B "$scratch/no-mpi" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON >"$scratch/log" 2>&1 ||
        fail "the component mpi was found without MPI"
    grep 'component mpi needs MPI' "$scratch/log" >/dev/null || fail "$(cat "$scratch/log")"
    [ -z "$cxx" ] || refuse_mpi_without_c
    step "MPI: pkg-config"
    mapfile -t mpi_flags < <(flags submod_mpi --cflags --libs)
    "$cc" "$consumer/mpi/main.c" "${mpi_flags[@]}" -o "$scratch/mpi-shared"
    LD_LIBRARY_PATH=$libdir mpirun -n 2 "$scratch/mpi-shared"
    step "MPI: names and soname"
    nm -D --defined-only "$(installed libsubmod_mpi.so)" |
        awk 'NF == 3 && $3 != "SUBMOD_0.3" { print $3 }' >"$scratch/exported"
    printf 'submod_mpi_comm_%s@@SUBMOD_0.3\n' create free | diff - "$scratch/exported" >&2 ||
        fail "submod/mpi.h (<) and libsubmod_mpi (>) differ in names or versions"
    soname=$(readelf -d "$(installed libsubmod_mpi.so)" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
    [ "$soname" = libsubmod_mpi.so.0.3 ] || fail "the soname is '$soname'"
}
! readelf -d "$shared" | grep 'NEEDED.*libmpi' >/dev/null || fail "libsubmod needs MPI"
if [ ! -e "$libdir/libsubmod_mpi.so" ]; then
    step "SKIPPED: what needs MPI: the library was built without"
    [ ! -e "$prefix/include/submod/mpi.h" ] || fail "submod/mpi.h was installed without its library"
elif ! command -v mpirun >/dev/null; then
    step "SKIPPED: what needs MPI: there is no mpirun"
else
    use_mpi
fi

# names_not PATTERN: from the output of nm, the defined symbols that do not match.
names_not() {
    awk -v pattern="$1" 'NF == 3 && $3 !~ pattern { print $3 }'
}

step "names"
# Every public function, each with the version that brought it, and nothing else.
echo '#include <submod.h>' | "$cc" -E -P -I "$prefix/include" - |
    tr '\n' ' ' | sed 's/[;{}]/\n/g' |
    sed -n 's/.*visibility("default"))) *[^(]*\(submod_[a-z0-9_]*\)(.*/\1@@SUBMOD_0.3/p' |
    sort >"$scratch/declared"
nm -D --defined-only "$shared" | awk 'NF == 3 && $3 != "SUBMOD_0.3" { print $3 }' |
    sort >"$scratch/exported"
[ "$(wc -l <"$scratch/declared")" -gt 100 ] || fail "the headers declare few functions"
diff "$scratch/declared" "$scratch/exported" >&2 ||
    fail "the headers (<) and the shared library (>) differ in names or versions"
nm -D --defined-only "$(installed libsubmod_select.so)" |
    awk 'NF == 3 && $3 != "SUBMOD_0.3" { print $3 }' >"$scratch/exported"
printf 'submod_%s@@SUBMOD_0.3\n' fn_coverage fn_facility maximize maximize_defaults |
    diff - "$scratch/exported" >&2 ||
    fail "submod/select.h (<) and libsubmod_select (>) differ in names or versions"
# clang's locks for OpenMP's reductions are shared by all objects of a program, by their name.
foreign=$(nm -g --defined-only "$static" | names_not '^(submod|\.gomp_critical_user_)')
[ -z "$foreign" ] || fail "the static library defines names that are not ours: $foreign"

# cached NAME: what CMake was told, or found out.
cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

# hardened FILE: a shared library or a program.
hardened() {
    readelf -lW "$1" | grep GNU_RELRO >/dev/null || fail "$1 has no RELRO"
    readelf -d "$1" | grep -E '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' >/dev/null ||
        fail "$1 binds its names late"
    readelf -lW "$1" | grep 'GNU_STACK.* RW ' >/dev/null || fail "$1 has an executable stack"
    readelf -hW "$1" | grep 'Type: *DYN' >/dev/null || fail "$1 always lies at the same address"
    nm -D --undefined-only "$1" | grep __stack_chk_fail >/dev/null ||
        fail "$1 has no stack protector"
    # libsubmod_select calls nothing that FORTIFY checks.
    [ "$(cached CMAKE_BUILD_TYPE)" != Release ] || [[ $1 == */libsubmod_select.so* ]] ||
        nm -D --undefined-only "$1" | grep '_chk\(@\|$\)' >/dev/null ||
        fail "$1 was built without FORTIFY"
}

if [ "$(cached SUBMOD_HARDENING)" = ON ]; then
    step "hardening"
    mapfile -t programs < <(find "$prefix" -path '*/bin/*' -type f)
    for file in "$libdir"/libsubmod*.so "${programs[@]}"; do
        hardened "$file"
    done
    if [ "$(uname -m)" = x86_64 ] && [ "$(cached SUBMOD_HAS_fcf_protection)" = 1 ]; then
        members=$(ar t "$static" | wc -l)
        marked=$(readelf -nW "$static" | grep -c 'x86 feature:.*IBT.*SHSTK' || true)
        [ "$marked" -eq "$members" ] ||
            fail "of $members objects in the static library only $marked mark where jumps may go"
    fi
    if [ "$(uname -m)" = x86_64 ] && [ "$(cached SUBMOD_HAS_fstack_clash_protection)" = 1 ]; then
        # gcc ors, clang stores.
        objdump -d "$shared" | grep -E '(or|mov)[ql] +[$]0x0,(0x0)?[(]%rsp' >/dev/null ||
            fail "no function of $shared touches the pages of its stack one by one"
    fi
fi

step "soname"
soname=$(readelf -d "$shared" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
[ "$soname" = libsubmod.so.0.3 ] || fail "the soname is '$soname' instead of libsubmod.so.0.3"
