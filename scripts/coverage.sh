#!/usr/bin/env bash
# Which lines and branches of src/ the C tests run, and which error messages none of them reaches.
#
#   scripts/coverage.sh               a table by file, and the messages that no test reaches
#   scripts/coverage.sh --branches    and every line with a branch that is never taken
#   scripts/coverage.sh --help        this text
#
# Without optimisation, in build-coverage/, so that branches are those of the source: it takes an
# hour or two.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

options=()
for option in "$@"; do
    case $option in
    --branches) options+=(--branches) ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/coverage.sh
        exit 0
        ;;
    *)
        echo "coverage: unknown option '$option', see scripts/coverage.sh --help" >&2
        exit 2
        ;;
    esac
done

scripts/setup.sh
jobs=$(nproc 2>/dev/null || echo 2)
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
# What is inlined in any case is counted once for each place that it is inlined at, with branches there
# that constant arguments decide: without always_inline each branch of the source is one. Children of
# a fork keep what they have counted (SUBMOD_TESTS_COVERAGE).
cmake -S . -B build-coverage -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g1 \
    "-DCMAKE_C_FLAGS=-O0 --coverage -fprofile-update=atomic -Dalways_inline= -DSUBMOD_TESTS_COVERAGE" \
    -DSUBMOD_CUDA=OFF -DBUILD_TESTING=ON -DSUBMOD_BUILD_TOOLS=ON
cmake --build build-coverage --parallel "$jobs"
find build-coverage -name '*.gcda' -delete
export OMP_WAIT_POLICY=passive CK_TIMEOUT_MULTIPLIER=10
ctest --test-dir build-coverage --output-on-failure --parallel "$jobs" --timeout 3600 \
    -E '^(install|report|docs_block_.*|failures_.*)$'
# Messages about memory are for programs whose memory runs out; what their tests say is not looked at,
# but those that crash or take too long are named: what they have run is not counted.
cmake --build build-coverage --parallel "$jobs" --target failing_programs
# run_failing PROGRAM: names it, and its tests that crash or take too long; libcheck marks those by E.
# shellcheck disable=SC2317 # it is called by xargs
run_failing() {
    local code=0 said
    said=$(SUBMOD_FAILURES=once SUBMOD_FAILURES_LOG=/dev/null timeout 1800 "$1" 2>/dev/null) || code=$?
    if [ "$code" -gt 1 ]; then
        echo "coverage: NOT COUNTED: ${1##*/} ended with $code (124: after 1800 s)"
    fi
    { grep ':E:' <<<"$said" || true; } | sed "s|^|coverage: NOT COUNTED: ${1##*/}: |"
}
export -f run_failing
find build-coverage/tests/failures -maxdepth 1 -name 'failing_*' -type f -perm -u+x -print0 |
    xargs -0 -P "$jobs" -I{} bash -c 'run_failing {}' >&2
exec python3 -B scripts/coverage.py build-coverage "${options[@]}"
