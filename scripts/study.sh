#!/usr/bin/env bash
# Sets up, builds and runs the studies; results go to out/, with out/report.html over all of them.
# Arguments are handed on:
#
#   scripts/study.sh                    all studies
#   scripts/study.sh --quick            all of them, smaller
#   scripts/study.sh NAME..             the named ones; build/bench/submod-study list names them
#   scripts/study.sh --out FOLDER       results go there instead of out/
#   scripts/study.sh --seed N           other random numbers
#
# Without names the optimisers are compared too, quickly: submod-optim-bench, into out/optim_bench/.
# Paths count from where it is called; out/ and build/ are those of this folder's parent.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

"$root/scripts/setup.sh" study
# Counts for a new build directory only; an old one stays with what it was made with.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
cmake -S "$root" -B "$root/build" -DCMAKE_BUILD_TYPE=Release -DSUBMOD_BUILD_BENCH=ON >/dev/null
cmake --build "$root/build" --parallel "$(nproc 2>/dev/null || echo 2)" --target submod submod-study

out=$root/out
seed=1
named=no
previous=
for argument in "$@"; do
    case $previous in
    --out) out=$argument ;;
    --seed) seed=$argument ;;
    *)
        case $argument in
        --*) ;;
        *) named=yes ;;
        esac
        ;;
    esac
    previous=$argument
done

# By your Python, or by Debian's, if yours has no NumPy.
compare_optimisers() {
    local python
    for python in python3 /usr/bin/python3 none; do
        if "$python" -c 'import numpy, matplotlib' 2>/dev/null; then
            break
        fi
    done
    if [ $python = none ]; then
        echo "study: optimisers are not compared, for there is no NumPy or no matplotlib; run scripts/setup.sh study" >&2
        return
    fi
    PYTHONPATH=$root/python SUBMOD_LIBRARY=$root/build/libsubmod.so \
        "$python" -B -m submod.optim_bench --quick --seed "$seed" --out "$out/optim_bench"
}

# What there is gets its report, also when a study has failed.
status=0
"$root/build/bench/submod-study" run --out "$out" "$@" || status=$?
if [ $named = no ]; then
    compare_optimisers || status=$?
fi
if [ -d "$out" ]; then
    python3 -B "$root/bench/report/report.py" "$out"
fi
exit $status
