#!/usr/bin/env bash
# Sets up, builds and runs the studies; results go to out/. Arguments are handed on:
#
#   scripts/study.sh                    all studies
#   scripts/study.sh --quick            all of them, smaller
#   scripts/study.sh NAME..             the named ones; build/bench/submod-study list names them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh study
# Counts for a new build directory only; an old one stays with what it was made with.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DSUBMOD_BUILD_BENCH=ON >/dev/null
cmake --build build --parallel "$(nproc 2>/dev/null || echo 2)" --target submod-study

exec build/bench/submod-study run --out out "$@"
