#!/usr/bin/env bash
# Sets up, builds and tests: release build with the C tests, the same under AddressSanitizer and UBSan at
# reduced depth, the first steps of README, the Python package with PyTorch, linters. Prints how long each
# stage took. The linters run beside the other stages at low priority. Tests have no network
# (scripts/offline.sh); everything they need is fetched before.
#
#   scripts/test.sh               all of the above; what CI runs
#   scripts/test.sh --all         also clang, ThreadSanitizer, every instruction set, many ranks, slow Python
#                                 tests and the site of documents, with every random problem; much longer
#   scripts/test.sh --quick       the release build and its C tests only
#   scripts/test.sh --no-lint     without the linters
#   scripts/test.sh --no-python   without the Python package
#   scripts/test.sh --no-torch    without its PyTorch part, which downloads 3 GB the first time
#   scripts/test.sh --help        this text
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=no
quick=no
lint=yes
python=yes
python_options=()
for option in "$@"; do
    case $option in
    --all) all=yes ;;
    --quick) quick=yes lint=no python=no ;;
    --no-lint) lint=no ;;
    --no-python) python=no ;;
    --no-torch) python_options+=(--no-torch) ;;
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
packages=
linters=
scratch=$(mktemp -d)

begin() {
    stage=$1
    started=$SECONDS
    printf '\n==== %s ====\n' "$stage"
}

end() {
    passed+=("$stage: $((SECONDS - started)) s")
    stage=
}

# Ends the jobs in the background, which have process groups of their own.
summary() {
    local group
    for group in $packages $linters; do
        kill -- "-$group" 2>/dev/null || true
    done
    rm -rf "$scratch"
    if [ -n "$stage" ]; then
        echo "test: FAILED in '$stage' after $SECONDS s" >&2
    fi
}
trap summary EXIT

# beside COMMAND...: starts a command in a process group of its own, $!.
beside() {
    set -m
    "$@" &
    set +m
}

# Tests labelled slow, and benchmarks, studies and examples under sanitizers, run with --all only.
depth=(-DCMAKE_C_FLAGS=) # also clears the flag of an earlier --all
skip_release=(-LE slow)
skip_asan=(-LE slow)
asan=(-DSUBMOD_BUILD_BENCH=OFF -DSUBMOD_BUILD_EXAMPLES=OFF)
lint_options=()
if [ $all = yes ]; then
    depth=(-DCMAKE_C_FLAGS=-DSUBMOD_ALL_PROBLEMS)
    skip_release=()
    skip_asan=()
    asan=()
    lint_options=(--all)
    python_options+=(--slow)
fi

# build_and_test PRESET DIRECTORY CTEST_OPTIONS...
build_and_test() {
    local preset=$1 directory=$2
    shift 2
    cmake --preset "$preset" -DSUBMOD_WERROR=ON "${depth[@]}"
    cmake --build "$directory" --parallel "$jobs"
    scripts/offline.sh ctest --test-dir "$directory" --output-on-failure --no-tests=error --parallel "$jobs" "$@"
}

# build_with_clang DIRECTORY TESTS CMAKE_OPTIONS...: builds and runs the named tests only.
build_with_clang() {
    local directory=$1 tests targets
    read -ra tests <<<"$2"
    targets=("${tests[@]/#/test_}")
    shift 2
    cmake -B "$directory" -DCMAKE_C_COMPILER=clang -DBUILD_TESTING=ON -DSUBMOD_WERROR=ON \
        -DSUBMOD_CUDA=OFF -DSUBMOD_MPI=OFF "$@"
    cmake --build "$directory" --parallel "$jobs" --target "${targets[@]}"
    scripts/offline.sh ctest --test-dir "$directory" --output-on-failure --no-tests=error --parallel "$jobs" \
        -R "^(isa_(baseline|avx2|avx512)_)?($(IFS='|' && echo "${tests[*]}"))(_threads)?\$"
}

begin "set-up"
groups=(ccache mpi study)
[ $lint = no ] || groups+=(lint browser)
[ $python = no ] || groups+=(python)
[ $all = no ] || groups+=(clang docs)
scripts/setup.sh "${groups[@]}"
# Applies to new build directories; existing ones keep their generator.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
# The release tests, README's first steps and the Python package compile the same library. ccache shares
# the objects between them if paths are relative.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER:-ccache}
    export CMAKE_CUDA_COMPILER_LAUNCHER=${CMAKE_CUDA_COMPILER_LAUNCHER:-ccache}
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi
# Several tests run at a time, each with threads: waiting threads must not keep a core busy.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
if [ $python = yes ]; then
    beside scripts/test_python.sh --packages "${python_options[@]}"
    packages=$!
fi
end

begin "release build and tests"
build_and_test dev build "${skip_release[@]}"
end

if [ $lint = yes ]; then # reads build/compile_commands.json
    beside nice -n 19 scripts/lint.sh "${lint_options[@]}" >"$scratch/lint" 2>&1
    linters=$!
fi

if [ $all = yes ]; then
    begin "clang: vector loops, and the bits of gcc"
    build_with_clang build-clang \
        "isa loss loss_hinge dataset baseline prox max_affine min_norm fista bundle" -S . -DCMAKE_BUILD_TYPE=Release
    build/tests/test_isa --print >"$scratch/gcc"
    build-clang/tests/test_isa --print >"$scratch/clang"
    [ -s "$scratch/gcc" ] && diff "$scratch/gcc" "$scratch/clang"
    end
    begin "ThreadSanitizer"
    TSAN_OPTIONS=ignore_noninstrumented_modules=1:die_after_fork=0 build_with_clang build-tsan \
        "isa calls confusion loss loss_engines min_norm dist_losses dist_errors dist_counts" \
        --preset tsan "-DCMAKE_C_FLAGS=-fsanitize=thread -DSUBMOD_ALL_PROBLEMS"
    end
fi

if [ $quick = no ]; then
    begin "tests under AddressSanitizer and UBSan"
    depth+=("${asan[@]}")
    # The library survives failing allocations, so the sanitizer must let them fail.
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        build_and_test asan build-asan "${skip_asan[@]}"
    end
    begin "first steps of README"
    tests/docs/first_steps.sh
    end
fi

if [ $python = yes ]; then
    begin "packages for Python"
    wait "$packages"
    packages=
    end
    begin "Python package and tests"
    scripts/test_python.sh "${python_options[@]}" 2>&1 | tee "$scratch/python"
    end
fi

if [ $all = yes ]; then
    begin "documents"
    scripts/docs.sh
    end
fi

if [ $lint = yes ]; then
    begin "lint"
    status=0
    wait "$linters" || status=$?
    linters=
    cat "$scratch/lint"
    [ $status = 0 ] || exit $status
    end
fi

if ! grep -q '^CMAKE_CUDA_COMPILER:.*=/' build/CMakeCache.txt; then
    echo "test: SKIPPED: what needs nvcc; the GPU path was tested on fibers alone" >&2
fi
if ! ctest --test-dir build -N | grep ' mpi_' >/dev/null; then
    echo "test: SKIPPED: what needs MPI: tests/mpi, its examples, and its part of tests/install" >&2
fi
if [ -e "$scratch/python" ]; then
    grep '^test: SKIPPED' "$scratch/python" >&2 || true
fi
printf '\ntest: all passed in %s s:\n' "$SECONDS"
printf '    %s\n' "${passed[@]}"
