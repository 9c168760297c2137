#!/usr/bin/env bash
# Sets up, builds and tests everything: release build, clang, sanitizers, the first steps of README,
# Python package, linters, the documents as a site. The linters run beside everything else, with what
# is left of the cores, and the documents beside Python. Meant to take under 20 minutes on two cores.
# Tests have no network (scripts/offline.sh); what they need is fetched before.
#
#   scripts/test.sh               all of it
#   scripts/test.sh --all         and at full depth: all random problems of the tests, sanitizers on
#                                 the studies too; takes much longer
#   scripts/test.sh --quick       the release tests only
#   scripts/test.sh --no-lint     all but the linters
#   scripts/test.sh --no-docs     all but the site of the documents
#   scripts/test.sh --no-clang    all but what is built with clang
#   scripts/test.sh --no-mpi      all but what is built with MPI
#   scripts/test.sh --no-python   all but the Python package
#   scripts/test.sh --no-torch    all but its PyTorch part, which fetches 3 GB the first time
#   scripts/test.sh --help        this text
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all_problems=
long_tests='study_quick|study_files|report'
sanitize=yes
clang=yes
first_steps=yes
lint=yes
docs=yes
mpi=AUTO
python=yes
torch=()
for option in "$@"; do
    case $option in
    --all) all_problems=' -DSUBMOD_ALL_PROBLEMS' long_tests='' ;;
    --quick) sanitize=no clang=no first_steps=no lint=no docs=no python=no ;;
    --no-lint) lint=no ;;
    --no-docs) docs=no ;;
    --no-clang) clang=no ;;
    --no-mpi) mpi=OFF ;;
    --no-python) python=no ;;
    --no-torch) torch=(--no-torch) ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/test.sh
        exit 0
        ;;
    *)
        echo "test: unknown option '$option', see scripts/test.sh --help" >&2
        exit 2
        ;;
    esac
done

jobs=$(nproc 2>/dev/null || echo 2)
passed=()
stage=
started=0

begin() {
    stage=$1
    started=$SECONDS
    printf '\n==== %s ====\n' "$stage"
}

end() {
    passed+=("$stage: $((SECONDS - started)) s")
    stage=
}

# What runs beside the stages, each in a process group of its own.
packages=
linters=
site=
scratch=$(mktemp -d)
summary() {
    local group
    for group in $packages $linters $site; do
        kill -- "-$group" 2>/dev/null || true
    done
    rm -rf "$scratch"
    if [ -n "$stage" ]; then
        echo "test: FAILED in '$stage' after $SECONDS s" >&2
    fi
}
trap summary EXIT

# beside COMMAND...: starts it; its process group is $!.
beside() {
    set -m
    "$@" &
    set +m
}

# until_done GROUP LOG: shows what it has said, and ends as it has ended.
until_done() {
    local status=0
    wait "$1" || status=$?
    cat "$2"
    return $status
}

# build_and_test DIRECTORY LEFT_OUT CMAKE_OPTIONS...: all tests but those of these names.
build_and_test() {
    local directory=$1 left_out=$2
    shift 2
    cmake -S . -B "$directory" -DSUBMOD_WERROR=ON -DSUBMOD_MPI=$mpi "$@"
    cmake --build "$directory" --parallel "$jobs"
    # The instruction set that this machine takes by itself is tested once, not twice.
    scripts/offline.sh ctest --test-dir "$directory" --output-on-failure --no-tests=error --parallel "$jobs" \
        -E "^isa_$("$directory/tests/test_isa" --name)_|^($left_out)\$"
}

begin "set-up"
groups=(ccache)
if [ $lint = yes ]; then
    groups+=(lint study browser)
fi
if [ $docs = yes ]; then
    groups+=(docs)
fi
if [ $clang = yes ]; then
    groups+=(clang)
fi
if [ $mpi = AUTO ]; then
    groups+=(mpi)
fi
if [ $python = yes ]; then
    groups+=(python)
fi
scripts/setup.sh "${groups[@]}"
# Counts for new build directories only; old ones stay with what they were made with.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
# The library is compiled by gcc three times: for the release tests, by the first steps of README in
# another folder, and for Python. ccache does so once, if paths count from the folder. So it is with
# nvcc.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER:-ccache}
    export CMAKE_CUDA_COMPILER_LAUNCHER=${CMAKE_CUDA_COMPILER_LAUNCHER:-ccache}
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi
# Two tests at a time, with threads of their own: those that wait should not keep a core busy.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
# The net and the compiler work at the same time.
if [ $python = yes ]; then
    beside scripts/test_python.sh --packages "${torch[@]}"
    packages=$!
fi
end

begin "release build and tests"
build_and_test build "" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS=$all_problems"
end

# From here on, since they read what build/ is made of.
if [ $lint = yes ]; then
    beside nice -n 19 scripts/lint.sh >"$scratch/lint" 2>&1
    linters=$!
fi

# build_with_clang DIRECTORY TESTS CMAKE_OPTIONS...: the library and these tests alone.
build_with_clang() {
    local directory=$1 tests targets
    read -ra tests <<<"$2"
    targets=("${tests[@]/#/test_}")
    shift 2
    cmake -S . -B "$directory" -DCMAKE_C_COMPILER=clang -DSUBMOD_WERROR=ON -DSUBMOD_CUDA=OFF -DSUBMOD_MPI=OFF \
        -DSUBMOD_BUILD_BENCH=OFF -DSUBMOD_BUILD_TOOLS=OFF -DSUBMOD_BUILD_EXAMPLES=OFF "$@"
    cmake --build "$directory" --parallel "$jobs" --target "${targets[@]}"
    scripts/offline.sh ctest --test-dir "$directory" --output-on-failure --no-tests=error --parallel "$jobs" \
        -R "^(isa_(baseline|avx2|avx512)_)?($(IFS='|' && echo "${tests[*]}"))\$" \
        -E "^isa_$("$directory/tests/test_isa" --name)_"
}

if [ $clang = yes ]; then
    begin "clang: tests of the loops, and the bits of gcc"
    build_with_clang build-clang \
        "isa loss loss_hinge dataset baseline prox max_affine min_norm fista bundle" \
        -DCMAKE_BUILD_TYPE=Release
    diff <(build/tests/test_isa --print) <(build-clang/tests/test_isa --print)
    end
    begin "ThreadSanitizer"
    # clang's OpenMP tells the sanitizer how its threads wait for each other, if asked to.
    TSAN_OPTIONS=ignore_noninstrumented_modules=1:die_after_fork=0 build_with_clang build-tsan \
        "isa threads confusion loss loss_engines min_norm dist_losses dist_errors dist_counts" \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g1 \
        "-DCMAKE_C_FLAGS=-O1 -fsanitize=thread$all_problems"
    end
fi

if [ $sanitize = yes ]; then
    begin "tests under AddressSanitizer and UBSan"
    # The library has to survive a failing allocation, so the sanitizer must let one fail.
    export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
    export UBSAN_OPTIONS=print_stacktrace=1
    # Its reports need to know the lines of the sources, no more. Of the studies their own test runs.
    build_and_test build-asan "$long_tests" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g1 \
        "-DCMAKE_C_FLAGS=-O1$all_problems" -DSUBMOD_SANITIZE=ON
    end
fi

if [ $first_steps = yes ]; then
    begin "first steps of README"
    tests/docs/first_steps.sh
    end
fi

if [ $python = yes ]; then
    begin "packages for Python"
    wait "$packages"
    packages=
    end
fi

# Without the Python package: whether the headers document everything.
if [ $docs = yes ]; then
    if [ $python = yes ]; then
        SUBMOD_LIBRARY=$PWD/build/libsubmod.so beside nice -n 5 scripts/docs.sh >"$scratch/docs" 2>&1
    else
        beside nice -n 5 scripts/docs.sh --check >"$scratch/docs" 2>&1
    fi
    site=$!
fi

if [ $python = yes ]; then
    begin "Python package and tests"
    scripts/test_python.sh "${torch[@]}"
    end
fi

if [ $docs = yes ]; then
    begin "documents"
    until_done "$site" "$scratch/docs"
    site=
    end
fi

if [ $lint = yes ]; then
    begin "lint"
    until_done "$linters" "$scratch/lint"
    linters=
    end
fi

if ! grep -q '^CMAKE_CUDA_COMPILER:.*=/' build/CMakeCache.txt; then
    echo "test: SKIPPED: what needs nvcc; the GPU path was tested on fibers alone" >&2
fi
if ! ctest --test-dir build -N | grep ' mpi_' >/dev/null; then
    echo "test: SKIPPED: what needs MPI: tests/mpi, its examples, and its part of tests/install" >&2
fi
printf '\ntest: all passed in %s s:\n' "$SECONDS"
printf '    %s\n' "${passed[@]}"
