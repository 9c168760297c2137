#!/usr/bin/env bash
# Sets up, builds and runs the studies; results go to out/, with out/report.html over all of them.
# Arguments are handed on:
#
#   scripts/study.sh                    all studies
#   scripts/study.sh --quick            all of them, smaller
#   scripts/study.sh NAME..             the named ones; build/bench/submod-study list names them
#   scripts/study.sh --out FOLDER       results go there instead of out/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh study
# Counts for a new build directory only; an old one stays with what it was made with.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DSUBMOD_BUILD_BENCH=ON >/dev/null
cmake --build build --parallel "$(nproc 2>/dev/null || echo 2)" --target submod-study

out=out
previous=
for argument in "$@"; do
    if [ "$previous" = --out ]; then
        out=$argument
    fi
    previous=$argument
done

# What there is gets its report, also when a study has failed.
status=0
build/bench/submod-study run --out out "$@" || status=$?
if [ -d "$out" ]; then
    python3 -B bench/report/report.py "$out"
fi
exit $status
