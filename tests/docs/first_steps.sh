#!/usr/bin/env bash
# The first steps of README, word by word, in a copy: configure, build, install, compile a
# program by hand and with CMake, and start both. With the default generator, as on this machine,
# and where that has nvcc, MPI or Python once more as on a machine without.
#
#   tests/docs/first_steps.sh
#
# Nothing outside of a temporary folder is touched: we install into a small system there, with the
# loader and the libraries that ours needs, and start the program with that system as its root. So
# it starts only if README's words have told the loader where our library is.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
copy=$scratch/copy
system=$scratch/system
unset CMAKE_GENERATOR LD_LIBRARY_PATH
CMAKE_BUILD_PARALLEL_LEVEL=$(nproc 2>/dev/null || echo 2)
PATH=$PATH:/usr/sbin:/sbin
export CMAKE_BUILD_PARALLEL_LEVEL PATH
without=()

fail() {
    echo "first steps: $*" >&2
    exit 1
}

# words BEGINNING: the one command of README that begins so.
words() {
    local found
    mapfile -t found < <(grep "^    $1" "$root/README.md")
    [ ${#found[@]} -eq 1 ] || fail "README has ${#found[@]} commands '$1 ..' instead of one"
    echo "${found[0]#    }"
}

# block LANGUAGE: README's first block of code in that language.
block() {
    awk -v fence="\`\`\`$1" '/^```$/ && on { exit } on { print } $0 == fence { on = 1 }' "$root/README.md"
}

# say COMMAND: shows it and runs it.
say() {
    printf '$ %s\n' "$1"
    eval "$1" >"$scratch/log" 2>&1 || {
        tail -n 60 "$scratch/log" >&2
        fail "this did not work: $1"
    }
}

# How README's commands run here, for the copy and for the program that uses it. Warnings are errors, as
# in scripts/test.sh, so that ccache finds the objects that it has compiled.
cmake() {
    case $1 in
    -S) set -- "$@" -DSUBMOD_WERROR=ON "${without[@]}" ;;
    -B) set -- "$@" "-DCMAKE_PREFIX_PATH=$system$(words 'cmake --install' | sed 's/.*--prefix \([^ ]*\).*/\1/')" ;;
    --build)
        # A bare -j of Make starts all compilers at once; here the machine has other work too.
        set -- "${@/#-j/-j$CMAKE_BUILD_PARALLEL_LEVEL}"
        ;;
    esac
    CCACHE_BASEDIR=$copy command cmake "$@"
}
ldconfig() {
    command ldconfig -r "$system"
}
pkg-config() {
    PKG_CONFIG_PATH=$(dirname "$(find "$system" -name submod.pc)") command pkg-config "$@"
}

# under FOLDER COMMAND..: runs it with the folder as its root.
under() {
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(unshare --map-root-user)
    "${as_root[@]}" chroot "$@"
}

# The small system has what our library needs, but not our library: each file where the loader finds
# it without the search path that the build adds.
make_system() {
    local file known at to
    known=$(command ldconfig -p)
    ldd build/libsubmod.so | grep -o '/[^ ]*' | sort -u | while read -r file; do
        at=$(awk -v name="${file##*/}" '$1 == name && !at { at = $NF } END { print at }' <<<"$known")
        for to in "$file" ${at:+"$at"}; do
            mkdir -p "$system$(dirname "$to")"
            cp -L "$file" "$system$to"
        done
    done
    mkdir "$system/etc"
    cp -RL /etc/ld.so.conf* "$system/etc"
}

has_cuda() {
    grep -q '^CMAKE_CUDA_COMPILER:.*=/' build/CMakeCache.txt
}

# compile BEGINNING PROGRAM: runs README's command that begins so, without the part that starts PROGRAM.
compile() {
    local command
    command=$(words "$1")
    [[ $command = *" && $2" ]] || fail "README does not start the program that it compiles: $command"
    say "${command% && "$2"}"
}

# Builds README's program with the installed library, by hand and with CMake, and starts it.
use_library() {
    local program
    block c >loss.c
    block cmake >CMakeLists.txt
    compile 'cc loss.c' ./a.out
    compile 'cmake -B' ./build/app
    if ! under / true 2>/dev/null; then
        echo "first steps: SKIPPED: the start of the program; chroot is not allowed here" >&2
        return
    fi
    for program in ./a.out ./build/app; do
        cp "$program" "$system"
        say "under $system ./${program##*/}"
        cat "$scratch/log"
    done
}

# The steps, from a fresh copy on.
steps() {
    rm -rf "$copy" "$system"
    mkdir "$copy" "$system"
    cd "$copy"
    tar -C "$root" --exclude=.git --exclude='./build*' --exclude='./.venv*' --exclude=./out -c . | tar -x
    say "$(words 'cmake -S')"
    make_system
    DESTDIR=$system say "$(words 'cmake --install')"
    mkdir app
    cd app
    use_library
    cd "$copy"
}

echo "---- as this machine is"
steps
if command -v nvcc >/dev/null; then
    has_cuda || fail "there is nvcc, but CUDA is not in the build"
else
    echo "first steps: SKIPPED: the build with CUDA, for want of nvcc" >&2
fi
if command -v nvcc mpicc python3 >/dev/null; then
    echo "---- without CUDA, MPI and Python"
    export CUDACXX=/nowhere/nvcc
    without=(-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON)
    steps
    ! has_cuda || fail "CUDA is in the build that was to be without"
    [ ! -e build/libsubmod_mpi.so ] || fail "MPI is in the build that was to be without"
    command cmake build | grep 'No MPI: the library submod_mpi and its tests are left out' >/dev/null ||
        fail "CMake does not say that MPI is missing"
fi
