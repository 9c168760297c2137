#!/usr/bin/env bash
# Sets up, builds, and compares libsubmod with PyTorch and the libraries built on it. Options:
#
#   scripts/bench.sh                full sizes: some minutes, on a quiet machine
#   scripts/bench.sh --quick        tiny sizes, to see that everything runs
#   scripts/bench.sh --json FILE    the comparison's measurements also as JSON
#   scripts/bench.sh --limits       the losses with the limits of the machine instead; no PyTorch
#   scripts/bench.sh --prox         proximal operators with scikit-learn and proxTV instead
#   scripts/bench.sh --help         this text
#
# The Python packages go to .venv-bench/, those of --prox to .venv-bench-prox/. PyPI's PyTorch for
# Linux on x86-64 comes with CUDA, which is not used but linked to: 3 GB to download, 5 GB on disk.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick=()
compare=()
limits=no
venv=.venv-bench
wanted=bench/torch/requirements.txt
while [ $# -gt 0 ]; do
    case $1 in
    --quick)
        quick=(--quick)
        ;;
    --json)
        if [ $# -lt 2 ]; then
            echo "bench: --json needs the name of a file" >&2
            exit 2
        fi
        compare+=(--json "$2")
        shift
        ;;
    --limits)
        limits=yes
        ;;
    --prox)
        venv=.venv-bench-prox
        wanted=bench/prox_peers/requirements.txt
        ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/bench.sh
        exit 0
        ;;
    *)
        echo "bench: unknown option '$1', see scripts/bench.sh --help" >&2
        exit 2
        ;;
    esac
    shift
done

python=$venv/bin/python

# Python 3.9 is the oldest that the package in python/ runs on; PyTorch may ask for a newer one.
require_python() {
    if ! command -v python3 >/dev/null; then
        echo "bench: the comparison needs Python 3.9 or newer, and there is no python3 here." >&2
        echo "bench: on Debian: apt-get install python3 python3-venv" >&2
        exit 1
    fi
    if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'; then
        echo "bench: $(python3 --version) is too old, the comparison needs 3.9 or newer." >&2
        exit 1
    fi
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        echo "bench: this Python cannot make virtual environments." >&2
        echo "bench: on Debian: apt-get install python3-venv" >&2
        exit 1
    fi
}

# What was installed last is noted in the environment, so that a second run needs no network.
make_venv() {
    if [ -x $python ] && cmp -s $wanted $venv/installed.txt; then
        return
    fi
    echo "bench: installing Python packages in $venv/ (large, once)"
    python3 -m venv $venv
    # Git has no business in there, whatever .gitignore says.
    echo '*' >$venv/.gitignore
    if ! $python -m pip install --quiet --requirement $wanted; then
        echo "bench: that did not work; the reason stands above. $venv/ can be removed." >&2
        exit 1
    fi
    cp $wanted $venv/installed.txt
}

if [ $limits = no ]; then
    require_python
fi
scripts/build.sh submod bench-losses
if [ $limits = yes ]; then
    build/bench/bench-losses "${quick[@]}" "${compare[@]}"
    exit
fi
make_venv

# -B: no __pycache__ beside the sources.
if [ $venv = .venv-bench-prox ]; then
    $python -B bench/prox_peers/compare.py "${quick[@]}" "${compare[@]}" --library build/libsubmod.so
    exit
fi
$python -B bench/torch/compare.py "${quick[@]}" "${compare[@]}" --library build/libsubmod.so
echo
$python -B bench/torch/weights.py "${quick[@]}" --library build/libsubmod.so
$python -B bench/torch/overhead.py "${quick[@]}" --library build/libsubmod.so
$python -B bench/torch/measures.py "${quick[@]}" --library build/libsubmod.so
