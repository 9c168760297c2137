#!/usr/bin/env bash
# Asks the C tests whether they notice small mistakes: changes one token of src/ at a time, in a
# copy of the tree, and runs the tests. What no test notices is printed as a diff. tests/survivors.tsv
# names changes that none can notice, and why. Options:
#
#   scripts/mutate.sh                    200 random changes, half a minute each, and minutes where no test
#                                        notices; one to two hours on two cores
#   scripts/mutate.sh --number N         so many
#   scripts/mutate.sh --seed S           others than those of seed 1
#   scripts/mutate.sh --files GLOB       in these files only, as in 'src/prox/**/*.c'
#   scripts/mutate.sh --at FILE:LINE...  every change of these lines instead
#   scripts/mutate.sh --jobs N           so many at a time, each in a copy of its own
#   scripts/mutate.sh --sanitize         with the sanitizers: slower, notices bad memory accesses
#   scripts/mutate.sh --timeout S        a test has noticed when it takes longer than this (60) and
#                                        than four times what it took before
#   scripts/mutate.sh --list             print the changes, try none
#   scripts/mutate.sh --help             this text
#
# Not part of CI. Whether another survivor is a hole in the tests or changes nothing is for you to judge.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1-} in
--help | -h)
    sed -n '2,/^set/s/^# \{0,1\}//p' scripts/mutate.sh
    exit 0
    ;;
esac

scripts/setup.sh ccache
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER:-ccache}
fi
exec nice python3 -B scripts/mutate.py "$@"
