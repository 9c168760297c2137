#!/usr/bin/env bash
# Asks the tests of PTX whether they notice small mistakes in what nvcc compiled: changes one
# instruction of a kernel's PTX at a time, translates it, and runs the tests of that kernel with it
# (tests/gpu/ptx). Who noticed is printed. tests/gpu/ptx/survivors.tsv names changes that none can
# notice, and why. All kernels are first tried as they are: if a test notices anything then, the harness
# is broken and the script stops. Leaves the row of docs/reliability.md. Needs nvcc. Options:
#
#   scripts/mutate_ptx.sh                  200 random changes that can be noticed, some 15 seconds each, and over
#                                          a minute where no test notices
#   scripts/mutate_ptx.sh --number N       so many
#   scripts/mutate_ptx.sh --seed S         others than those of seed 1
#   scripts/mutate_ptx.sh --arch A         PTX of compute_75 instead of compute_80
#   scripts/mutate_ptx.sh --kernels REGEX  in these kernels only
#   scripts/mutate_ptx.sh --jobs N         so many at a time
#   scripts/mutate_ptx.sh --build FOLDER   with the programs there instead of build/
#   scripts/mutate_ptx.sh --again          goes on: what a run with the same kernels has noticed counts, the
#                                          rest is tried; for tests that were added since
#   scripts/mutate_ptx.sh --unreached      instead: which instructions does no test run?
#   scripts/mutate_ptx.sh --list           print the changes, try none
#   scripts/mutate_ptx.sh --help           this text
#
# Not part of CI. Whether a survivor is a hole in the tests or changes nothing is for you to judge.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1-} in
--help | -h)
    sed -n '2,/^set/s/^# \{0,1\}//p' scripts/mutate_ptx.sh
    exit 0
    ;;
esac
arch=80
previous=
built=no
for argument in "$@"; do
    case $previous in
    --arch) arch=$argument ;;
    --build) built=yes ;;
    esac
    previous=$argument
done
if [ $built = no ]; then
    if ! command -v nvcc >/dev/null; then
        echo "mutate: there is no nvcc, which makes the PTX; put it on the PATH" >&2
        exit 1
    fi
    targets=(gpu views prox weights dataset hinge global races)
    scripts/build.sh "${targets[@]/#/test_gpu_ptx_${arch}_}"
fi
exec nice python3 -B scripts/mutate_ptx.py "$@"
