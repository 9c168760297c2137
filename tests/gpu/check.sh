#!/usr/bin/env bash
# scripts/gpu_check.sh without a GPU, and with programs that stand in for the GPU's: its build, tests and
# benchmark are scripts of a few lines here, so what is tested is that it runs them, writes down
# what they say, leaves out names, and fails when one of them does.
#
#   tests/gpu/check.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "check.sh: $1" >&2
    exit 1
}

# A copy of what the script reads, so that nothing is built here.
tree=$scratch/tree
mkdir -p "$tree/scripts" "$tree/include/submod" "$scratch/bin"
cp "$root/scripts/gpu_check.sh" "$tree/scripts/"
cp "$root/include/submod/base.h" "$tree/include/submod/"
printf '#!/bin/sh\n' >"$tree/scripts/setup.sh"
chmod +x "$tree/scripts/setup.sh"

stand_in() {
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
run() {
    PATH=$scratch/bin:$PATH "$tree/scripts/gpu_check.sh" --report "$scratch/report" >"$scratch/log" 2>&1
}

stand_in nvidia-smi 'exit 9' # what it says without a driver
run || fail "without a GPU it must end with 0"
[ "$(wc -l <"$scratch/log")" -eq 1 ] || fail "without a GPU it must say one sentence"
grep -q 'there is no NVIDIA GPU' "$scratch/log" || fail "it must say that there is no GPU"
[ ! -e "$scratch/report" ] || fail "without a GPU there must be no report"

stand_in nvidia-smi 'echo "GPU 0: a stand-in, driver 1.2.3"'
stand_in nvcc 'echo "release 13.0"; echo "Build cuda_13"'
stand_in cmake "case \$1 in
--preset) mkdir -p build-gpu/bench ;;
--build) printf '#!/bin/sh\necho \"bench \$* in \$PWD\"\n' >build-gpu/bench/bench-gpu; chmod +x build-gpu/bench/bench-gpu ;;
*) echo cmake version 9 ;;
esac"
stand_in ctest 'echo "Test #1: gpu_device ... Passed"'
stand_in python3 'exit 1' # no PyTorch
run || fail "it must end with 0 when all passes"
for words in "a stand-in, driver 1.2.3" "release 13.0" "gpu_device ... Passed" "bench 4 21 512 512 in \.$" \
    "not run: python3 has no"; do
    grep -q -e "$words" "$scratch/report" || fail "the report must have '$words'"
done
! grep -q -e "$scratch" -e "$(uname -n)" "$scratch/report" || fail "the report must name no folder and no host"

stand_in ctest 'echo "Test #1: gpu_device ... Failed"; exit 8'
! run || fail "it must end with 1 when a test fails"
grep -q 'bench 4 21 512 512' "$scratch/report" || fail "it must go on after a test that fails"
stand_in ctest 'echo "1/2 Test #1: gpu_device ....***Skipped"'
! run || fail "a test of the device that is skipped must not pass"
stand_in ctest 'echo "1/2 Test #1: gpu_device .... Passed"; echo "2/2 Test #2: gpu_thrust ....***Skipped"'
! run || fail "no test may be skipped"
grep -q '^  gpu_thrust$' "$scratch/report" || fail "it must name what was skipped"
stand_in ctest 'exit 0'
stand_in python3 'echo "python3 with $*"'
run || fail "it must end with 0 when PyTorch passes too"
grep -q 'pytest .*test_torch_cuda.py' "$scratch/report" || fail "it must run the tests with CUDA tensors"
stand_in python3 "[ \"\$1\" = -c ]"
! run || fail "it must end with 1 when a test of PyTorch fails"
stand_in cmake "case \$1 in
--preset) mkdir -p build-gpu ;;
--build) echo 'error: the cause'; seq 50; exit 1 ;;
esac"
! run || fail "it must end with 1 when it does not build"
grep -q 'error: the cause' "$scratch/report" || fail "the report must have what the compiler said first"
echo "gpu_check.sh: fine"
