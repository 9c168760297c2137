#!/usr/bin/env bash
# Installs what the project needs and is not there yet.
#
#   scripts/setup.sh                what building and testing need
#   scripts/setup.sh lint           and the tools of scripts/lint.sh
#   scripts/setup.sh study          and what draws the plots of scripts/study.sh and writes its report
#   scripts/setup.sh browser        and the browser in which the report is tested
#   scripts/setup.sh python         and a Python that can make virtual environments
#   scripts/setup.sh docs           and what renders the documents, scripts/docs.sh
#   scripts/setup.sh clang          and clang, the other compiler that the tests build with
#   scripts/setup.sh fuzz           and what the fuzzers need, scripts/fuzz.sh
#   scripts/setup.sh mpi            and MPI, for the library submod_mpi and its tests
#   scripts/setup.sh package        and what scripts/package.sh makes packages with
#   scripts/setup.sh ccache         and ccache, so that builds share what they compile
#   scripts/setup.sh lint study     and both, as any combination
#
# On Debian and its relatives by apt, as root or through sudo. Nothing is touched, and no network
# is used, when everything is there already.
set -euo pipefail

# Python writes the wrappers of failing calls.
packages=(build-essential cmake ninja-build pkg-config libopenblas-dev liblapacke-dev libpng-dev
    check iproute2 python3)
tools=(cc cmake pkg-config)
need_venv=no

for group in "$@"; do
    case $group in
    lint)
        # libomp-dev has the omp.h that clang-tidy reads; gcc brings its own.
        packages+=(git clang-format clang-tidy libomp-dev cppcheck shellcheck)
        tools+=(git clang-format clang-tidy cppcheck shellcheck python3)
        need_venv=yes # for ruff
        ;;
    clang)
        # libclang-rt-dev has the sanitizers, which Debian's clang only recommends.
        packages+=(clang libomp-dev libclang-rt-dev)
        tools+=(clang)
        ;;
    fuzz)
        # libclang-rt-dev has libFuzzer too; NumPy is for fuzzing Python's calls.
        packages+=(clang libomp-dev libclang-rt-dev python3-numpy)
        tools+=(clang python3)
        ;;
    mpi)
        packages+=(libopenmpi-dev openmpi-bin)
        tools+=(mpicc mpirun)
        ;;
    package)
        packages+=(file)
        tools+=(dpkg-deb file)
        ;;
    ccache) packages+=(ccache) ;; # not among the tools: builds do without
    study)
        packages+=(gnuplot-nox python3 python3-numpy python3-matplotlib)
        tools+=(gnuplot python3)
        ;;
    docs)
        # fonts-lmodern has the font of the formulas.
        packages+=(doxygen fonts-lmodern pandoc)
        tools+=(doxygen pandoc)
        ;;
    browser)
        packages+=(chromium)
        tools+=(chromium)
        ;;
    python)
        tools+=(python3)
        need_venv=yes
        ;;
    *)
        echo "setup: there is no group '$group'; see scripts/setup.sh" >&2
        exit 2
        ;;
    esac
done

# Any Python that can make virtual environments will do.
if [ $need_venv = yes ] &&
    ! python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    packages+=(python3 python3-venv)
fi

has() {
    command -v "$1" >/dev/null 2>&1
}

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Elsewhere than on Debian we cannot install, but can say what to install.
without_apt() {
    local tool missing=()
    for tool in "${tools[@]}"; do
        has "$tool" || missing+=("$tool")
    done
    has ninja || has make || missing+=("ninja or make")
    echo "setup: there is no apt here. The project needs what Debian calls:"
    printf '    %s\n' "${packages[@]}"
    if [ ${#missing[@]} -gt 0 ]; then
        echo "setup: these commands were not found, please install them:" >&2
        printf '    %s\n' "${missing[@]}" >&2
        exit 1
    fi
    echo "setup: the commands are all there; going on in the hope that the libraries are too."
}

# Runs apt-get as root.
apt_get() {
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@"
}

with_apt() {
    local package missing=()
    for package in "${packages[@]}"; do
        is_installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        return
    fi
    echo "setup: missing: ${missing[*]}"
    if [ "$(id -u)" -eq 0 ] || has sudo; then
        apt_get update || echo "setup: package lists not refreshed, trying with the old ones" >&2
        if apt_get install -y --no-install-recommends "${missing[@]}"; then
            return
        fi
        echo "setup: that did not work; the reason stands above." >&2
    else
        echo "setup: this needs root, and there is no sudo." >&2
    fi
    echo "setup: please have this run as root, then start again:" >&2
    echo "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
}

if has apt-get && has dpkg-query; then
    with_apt
else
    without_apt
fi
