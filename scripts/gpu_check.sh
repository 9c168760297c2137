#!/usr/bin/env bash
# For a machine with a GPU: builds with CUDA, runs the tests of the GPU path and the benchmark, and
# leaves one file to send back. Nobody who wrote this library had a GPU: every report is news.
#
#   scripts/gpu_check.sh                  the report goes to out/gpu_report.txt; about ten minutes
#   scripts/gpu_check.sh --report FILE    it goes there
#   scripts/gpu_check.sh --help           this text
#
# The report has the machine, driver and toolkit; the result of every test; and measured times. It
# names no user, host or folder.
# The tests of Python run where there is a PyTorch for CUDA; the report says if not.
# Exit status: 0 if all tests passed, or if there is no GPU to check (a sentence says so); 1 if some
# C test failed or was skipped, or a test of Python failed; 2 for a bad option.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

report=out/gpu_report.txt
while [ $# -gt 0 ]; do
    case $1 in
    --report)
        if [ $# -lt 2 ]; then
            echo "gpu_check: --report needs the name of a file" >&2
            exit 2
        fi
        report=$2
        shift
        ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/gpu_check.sh
        exit 0
        ;;
    *)
        echo "gpu_check: unknown option '$1', see scripts/gpu_check.sh --help" >&2
        exit 2
        ;;
    esac
    shift
done

build="build-gpu"
status=0

# What would tell who sent it is left out; all else is shown and kept.
note() {
    sed -e "s|$PWD|.|g" -e "s|${HOME:-/nowhere}|~|g" -e "s|$(uname -n)|this-machine|g" | tee -a "$report"
}

title() {
    printf '\n== %s\n' "$1" | note
}

describe_machine() {
    uname -srm
    sed -n 's/^model name[[:space:]]*: /CPU: /p' /proc/cpuinfo 2>/dev/null | head -n 1
    echo "libsubmod: $(sed -n 's/.*SUBMOD_VERSION_STRING "\(.*\)"/\1/p' include/submod/base.h)," \
        "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem --format=csv
    nvcc --version | tail -n 2
    cmake --version | head -n 1
}

build_all() {
    scripts/setup.sh &&
        cmake --preset dev -B "$build" -DSUBMOD_CUDA=ON -DSUBMOD_MPI=OFF \
            -DCMAKE_CUDA_ARCHITECTURES=native >/dev/null &&
        compile
}

# All that the compilers said, if it does not build: with Ninja errors are not at the end.
compile() {
    local log=$build/gpu_build.log
    if ! cmake --build "$build" --parallel "$(nproc 2>/dev/null || echo 2)" >"$log" 2>&1; then
        cat "$log"
        return 1
    fi
    tail -n 3 "$log"
}

# Skipped is not passed: with a GPU none of these has a reason.
run_tests() {
    local log=$build/gpu_check.log
    local result=0
    ctest --test-dir "$build" -R '^gpu' --output-on-failure >"$log" 2>&1 || result=$?
    cat "$log"
    if grep -q 'Test .*\*\*\*Skipped' "$log"; then
        echo "skipped, and so not passed; gpu_device and gpu_layers are when the library does not see the GPU:"
        sed -n 's/.*Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*/  \1/p' "$log"
        result=1
    fi
    return "$result"
}

# With CUDA tensors, where there is a PyTorch for it.
run_python() {
    if ! python3 -c 'import sys, pytest, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
        echo "not run: python3 has no pytest, or no PyTorch that sees the GPU"
        return 0
    fi
    SUBMOD_LIBRARY=$PWD/$build/libsubmod.so PYTHONPATH=$PWD/python \
        SUBMOD_FIBERS=$PWD/$build/tests/gpu/libsubmod_on_fibers.so \
        python3 -m pytest -q -ra -p no:cacheprovider python/tests/test_torch_cuda.py
}

if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L 2>/dev/null | grep -q .; then
    echo "gpu_check: there is no NVIDIA GPU on this machine (nvidia-smi shows none), so there is nothing to check."
    exit 0
fi
if ! command -v nvcc >/dev/null; then
    echo "gpu_check: there is a GPU, but no nvcc: install CUDA's toolkit and put it on PATH." >&2
    exit 1
fi

mkdir -p "$(dirname "$report")"
echo "libsubmod on a GPU: report of scripts/gpu_check.sh, $(date -u +%F)" >"$report"
title "machine"
describe_machine 2>&1 | note || status=1
title "build"
if ! build_all 2>&1 | note; then
    echo "gpu_check: it does not build; $report says why. Please send it to the project." >&2
    exit 1
fi
title "tests"
run_tests 2>&1 | note || status=1
title "PyTorch with CUDA"
run_python 2>&1 | note || status=1
title "measured, 8 x 21 x 1024 x 2048"
"$build/bench/bench-gpu" 2>&1 | note || status=1
title "measured, 4 x 21 x 512 x 512"
"$build/bench/bench-gpu" 4 21 512 512 2>&1 | note || status=1
echo
if [ $status -eq 0 ]; then
    echo "gpu_check: all passed. Please send $report to the project: open an issue and attach it."
else
    echo "gpu_check: something failed; $report says what. Please send it to the project: open an issue and attach it."
fi
exit $status
