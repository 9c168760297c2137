#!/usr/bin/env bash
# Installs the Python package in an environment of its own, .venv-test/, and tests it there.
#
#   scripts/test_python.sh               everything
#   scripts/test_python.sh --no-torch    without submod.torch and the 3 GB of PyTorch
#   scripts/test_python.sh --slow        also the tests marked slow: inductor, spawn, many ranks, training
#   scripts/test_python.sh --packages    only fetches what the tests need, for a later run
#   scripts/test_python.sh --help        this text
#
# PyTorch is taken from .venv-bench/ where scripts/bench.sh has put it, together with kornia and
# segmentation-models-pytorch. If PyTorch cannot be installed within 7 minutes, the tests of submod.torch are
# skipped, and the script prints so. Likewise it skips comparisons with PyProximal, scikit-learn, torchmetrics,
# cityscapesScripts, kornia and segmentation-models-pytorch, and the tests of the experiments, if their
# packages cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

torch=yes
marked=(-m 'not slow')
only_packages=no
for option in "$@"; do
    case $option in
    --no-torch) torch=no ;;
    --slow) marked=() ;;
    --packages) only_packages=yes ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/test_python.sh
        exit 0
        ;;
    *)
        echo "test: unknown option '$option', see scripts/test_python.sh --help" >&2
        exit 2
        ;;
    esac
done

venv=.venv-test
python=$venv/bin/python

# has_torch PYTHON
has_torch() {
    [ -x "$1" ] && "$1" -c 'import torch' 2>/dev/null
}

# Lets the environment see the packages of the benchmarks' one, if both are of the same Python.
borrow_torch() {
    local theirs ours
    has_torch .venv-bench/bin/python || return 0
    theirs=$(.venv-bench/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    ours=$($python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    if [ "$(basename "$(dirname "$theirs")")" = "$(basename "$(dirname "$ours")")" ]; then
        echo "$theirs" >"$ours/bench.pth"
    fi
}

# What is there already is left alone, so that a second run needs no network for it.
fetch_packages() {
    if ! [ -x $python ]; then
        python3 -m venv $venv
        echo '*' >$venv/.gitignore
    fi
    # The last is for scripts/docs.sh, which may run beside the tests.
    $python -m pip install --quiet --disable-pip-version-check numpy pytest pytest-xdist mypy pdoc
    $python -c 'import pyproximal' 2>/dev/null ||
        timeout 120 $python -m pip install --quiet --disable-pip-version-check pyproximal ||
        echo "test: SKIPPED: the solvers of PyProximal" >&2
    # What metrics are compared with. Without their dependencies: matplotlib and others, for viewers.
    $python -c 'import cityscapesscripts, pyquaternion, PIL, sklearn' 2>/dev/null ||
        { timeout 120 $python -m pip install --quiet --disable-pip-version-check pillow scikit-learn &&
            timeout 60 $python -m pip install --quiet --disable-pip-version-check --no-deps \
                cityscapesscripts pyquaternion; } ||
        echo "test: SKIPPED: the comparison of metrics with scikit-learn and cityscapesScripts" >&2
    if [ $torch = yes ]; then
        borrow_torch
        has_torch $python ||
            timeout 420 $python -m pip install --quiet --disable-pip-version-check torch ||
            echo "test: PyTorch could not be installed" >&2
        $python -c 'import torchmetrics' 2>/dev/null ||
            timeout 120 $python -m pip install --quiet --disable-pip-version-check torchmetrics ||
            echo "test: SKIPPED: the comparison of metrics with torchmetrics" >&2
        # What the losses are compared with, and pictures of the examples.
        $python -c 'import kornia, segmentation_models_pytorch, PIL' 2>/dev/null ||
            timeout 120 $python -m pip install --quiet --disable-pip-version-check \
                kornia segmentation-models-pytorch pillow ||
            echo "test: SKIPPED: the comparison with kornia and segmentation-models-pytorch" >&2
        # Packages of bench/experiments.
        $python -c 'import matplotlib, pandas, PIL, scipy, statsmodels, tqdm' 2>/dev/null ||
            timeout 120 $python -m pip install --quiet --disable-pip-version-check \
                matplotlib pandas pillow scipy statsmodels tqdm ||
            echo "test: SKIPPED: the experiments" >&2
    fi
}

if ! command -v python3 >/dev/null; then
    echo "test: there is no python3; run scripts/setup.sh python, or scripts/test.sh --no-python" >&2
    exit 1
fi
fetch_packages
if [ $only_packages = yes ]; then
    exit
fi

if [ $torch = yes ] && ! has_torch $python; then
    echo "test: SKIPPED: the tests of submod.torch, for want of PyTorch" >&2
    torch=no
fi
# By the compiler and the options of scripts/test.sh: then ccache finds what that has compiled.
CC=${CC:-cc} $python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall \
    --config-settings=cmake.define.SUBMOD_WERROR=ON .
if [ $torch = yes ]; then
    cmake --preset dev >/dev/null
    cmake --build build --target submod_on_fibers --parallel 2 >/dev/null
fi
# The program whose scores are compared with those of cityscapesScripts.
cmake --preset dev >/dev/null
cmake --build build --target submod-miou --parallel 2 >/dev/null
# From the installed package; -B: no __pycache__ beside the sources.
tests=(python/tests)
if [ $torch = no ]; then
    tests+=(--ignore-glob='*/test_torch*')
fi
# One file after another on each core: the tests of a file may share what it sets up.
scripts/offline.sh $python -B -m pytest -q -p no:cacheprovider -n "$(nproc 2>/dev/null || echo 2)" --dist loadfile "${marked[@]}" "${tests[@]}"
if [ $torch = yes ]; then
    (cd python && ../$python -m mypy --config-file ../pyproject.toml --cache-dir=/dev/null)
fi
