#!/usr/bin/env bash
# Builds the library and the tests of the losses for 64-bit ARM, runs them on an emulated CPU, and
# compares the bits of its results with those of x86-64, as far as base.h promises them to be equal.
#
#   scripts/test_arm.sh               all of it
#   scripts/test_arm.sh TEST...       these tests alone, by name: vector loss_laws
#   scripts/test_arm.sh --help        this text
#
# On Debian and its relatives for x86-64. Installs the cross compiler and QEMU by apt, as root or
# through sudo. The libraries for ARM are unpacked into build-arm/sysroot/: no package of this
# machine is changed or removed, and it learns no second architecture.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests=(vector isa loss loss_laws loss_hinge loss_special dataset baseline baseline_views rows)
case ${1-} in
'') ;;
--help | -h)
    sed -n '2,/^set/s/^# \{0,1\}//p' scripts/test_arm.sh
    exit 0
    ;;
-*)
    echo "test_arm: unknown option '$1', see scripts/test_arm.sh --help" >&2
    exit 2
    ;;
*) tests=("$@") ;;
esac

# The emulator is slow, and threads that wait for others should not spin in it.
export CK_TIMEOUT_MULTIPLIER=5 OMP_WAIT_POLICY=passive

jobs=$(nproc 2>/dev/null || echo 2)
build=$PWD/build-arm
sysroot=$build/sysroot
toolchain=$build/toolchain.cmake
libraries=(libc6-dev libgomp1 check)

if [ "$(uname -m)" != x86_64 ] || ! command -v apt-get >/dev/null; then
    echo "test_arm: this needs Debian or a relative of it on x86-64" >&2
    exit 1
fi

# The compiler and the emulator. Rather nothing than that something else goes: gcc-multilib, say,
# cannot stand beside a cross compiler.
install_tools() {
    local as_root=() packages=(gcc-aarch64-linux-gnu qemu-user)
    if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
        return
    fi
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update --quiet=2 ||
        echo "test_arm: package lists not refreshed, trying with the old ones" >&2
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes \
        --no-install-recommends --no-remove "${packages[@]}"; then
        echo "test_arm: ${packages[*]} could not be installed; the reason stands above." >&2
        exit 1
    fi
}

# apt-get for a machine of its own, in build-arm/apt/, an ARM without any package. Needs no root.
apt_get_arm() {
    local apt=$build/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    apt-get --quiet=2 --yes -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o APT::Install-Recommends=false -o APT::Sandbox::User=root -o Debug::NoLocking=true \
        -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" \
        -o "Dir::Cache=$apt/cache" "$@"
}

# The libraries for ARM, unpacked and not installed. Links to /lib/... have to stay inside, else the
# linker takes libm.a for want of libm.so.
make_sysroot() {
    local package link
    if [ "$(cat "$sysroot/made_of" 2>/dev/null)" = "${libraries[*]}" ]; then
        return
    fi
    rm -rf "$sysroot"
    mkdir -p "$sysroot"
    apt_get_arm update
    apt_get_arm install --download-only "${libraries[@]}"
    for package in "$build"/apt/cache/archives/*.deb; do
        dpkg -x "$package" "$sysroot"
    done
    find "$sysroot" -lname '/*' | while read -r link; do
        ln -sf "$sysroot$(readlink "$link")" "$link"
    done
    rm -rf "$build/apt"
    echo "${libraries[*]}" >"$sysroot/made_of"
}

# A file that is newer than what CMake made of it starts CMake again: it is written once.
write_toolchain() {
    [ -e "$toolchain" ] || cat >"$toolchain" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSROOT $sysroot)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L $sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
END
}

configure() {
    PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_DIR='' \
        PKG_CONFIG_LIBDIR=$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig \
        cmake -S . -B "$build" -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
        -DCMAKE_BUILD_TYPE=Release -DSUBMOD_WERROR=ON -DSUBMOD_CUDA=OFF -DSUBMOD_MPI=OFF \
        -DSUBMOD_BUILD_BENCH=OFF -DSUBMOD_BUILD_TOOLS=OFF -DSUBMOD_BUILD_EXAMPLES=OFF
}

# Those tests that there are, as a regular expression for ctest in `wanted`, as targets in `targets`.
choose_tests() {
    local name there=()
    targets=()
    for name in "${tests[@]}"; do
        if compgen -G "tests/*/test_$name.c" >/dev/null; then
            there+=("$name")
            targets+=("test_$name")
        else
            echo "test_arm: SKIPPED: there is no test '$name'" >&2
        fi
    done
    if [ ${#there[@]} -eq 0 ]; then
        exit 2
    fi
    wanted="^($(IFS='|' && echo "${there[*]}"))\$"
}

# bits ISA COMMAND...: hash and name of the results of this instruction set, as test_isa prints them.
bits() {
    local isa=$1
    shift
    "$@" --print | sed -n "s/^$isa  *//p"
}

# ARM has one copy of the loops, "baseline". It rounds a * b + c once as avx2 does, which the baseline
# of x86-64 does not. base.h asks for the same libm: glibc's hypot differs in last bits between the
# two, so both get one that does not.
compare_bits() {
    if ! grep -q -w avx2 /proc/cpuinfo; then
        echo "test_arm: SKIPPED: the bits of x86-64, for want of AVX2" >&2
        return
    fi
    cmake -S . -B build -DSUBMOD_WERROR=ON >/dev/null
    cmake --build build --parallel "$jobs" --target test_isa
    cat >"$build/hypot.c" <<'END'
#include <math.h>
double hypot(double x, double y) { return sqrt(x * x + y * y); }
END
    local options=(-O2 -fno-math-errno -ffp-contract=off -fno-builtin-hypot -fPIC -shared)
    cc "${options[@]}" "$build/hypot.c" -o "$build/hypot_x86.so" -lm
    aarch64-linux-gnu-gcc --sysroot="$sysroot" "${options[@]}" "$build/hypot.c" \
        -o "$build/hypot_arm.so" -lm
    bits avx2 env LD_PRELOAD="$build/hypot_x86.so" build/tests/test_isa >"$build/bits.x86"
    bits baseline qemu-aarch64 -E LD_PRELOAD="$build/hypot_arm.so" -L "$sysroot" \
        "$build/tests/test_isa" >"$build/bits.arm"
    if ! [ -s "$build/bits.x86" ]; then
        echo "test_arm: build/tests/test_isa --print has no lines for avx2" >&2
        exit 1
    fi
    if ! diff "$build/bits.x86" "$build/bits.arm"; then
        echo "test_arm: other bits on ARM (>) than on x86-64 with avx2 (<)" >&2
        exit 1
    fi
    echo "test_arm: the same bits as x86-64 with avx2 in $(wc -l <"$build/bits.arm") results"
}

choose_tests
scripts/setup.sh
install_tools
mkdir -p "$build"
make_sysroot
# Counts for new build directories only; old ones stay with what they were made with.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
write_toolchain
configure
cmake --build "$build" --parallel "$jobs" --target "${targets[@]}"
ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$jobs" -R "$wanted"
if [[ " ${targets[*]} " == *" test_isa "* ]]; then
    compare_bits
fi
echo "test_arm: all passed in $SECONDS s"
