#!/usr/bin/env bash
# Sets up, builds, and repeats the paper's experiments on real images. Results go to
# out/experiments/, with report.html over all of them. Ended at any time, by Ctrl-C or a power cut,
# the same command goes on where it was.
#
#   scripts/experiments.sh DATA_DIR                  all of them: many hours
#   scripts/experiments.sh DATA_DIR --only NAME      this one; given several times, these
#   scripts/experiments.sh DATA_DIR --quick          hardly any training, to see that everything runs;
#                                                    results go to out/experiments-quick/
#   scripts/experiments.sh DATA_DIR --out FOLDER     results go there
#   scripts/experiments.sh DATA_DIR --jobs N         networks trained at a time; as many as cores
#   scripts/experiments.sh DATA_DIR --report         trains nothing, and reports what is done
#   scripts/experiments.sh DATA_DIR --document docs  writes docs/experiments.md too
#   scripts/experiments.sh DATA_DIR --studies FOLDER with the claims of the studies in it; as a rule
#                                                    those in out/
#   scripts/experiments.sh DATA_DIR --check          only looks whether the data is there
#   scripts/experiments.sh --help                    this text
#
# DATA_DIR has a folder camvid, CamVid in the split of the SegNet tutorial, and a folder ibsr, from
# NITRC; the script says what it misses, and where to get it. Paths count from where it is called;
# out/ and build/ are those of this folder's parent. Python packages go to .venv-experiments/; PyTorch
# is taken from the environment of the tests or the benchmarks if that has it, and fetched if not.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

out=(--studies "$root/out" --out "$root/out/experiments")
check=no
for option in "$@"; do
    case $option in
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' "$root/scripts/experiments.sh"
        exit 0
        ;;
    --quick) out=(--studies "$root/out" --out "$root/out/experiments-quick") ;;
    --check) check=yes ;;
    esac
done

venv=$root/.venv-experiments
python=$venv/bin/python

# Lets the environment see the packages of another one with PyTorch, if both are of the same Python.
borrow_torch() {
    local other theirs ours
    ours=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    for other in "$root/.venv-test" "$root/.venv-bench"; do
        "$other/bin/python" -c 'import torch' 2>/dev/null || continue
        theirs=$("$other/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
        if [ "$(basename "$(dirname "$theirs")")" = "$(basename "$(dirname "$ours")")" ]; then
            # And what that one has borrowed itself.
            { cat "$theirs/bench.pth" 2>/dev/null || true; echo "$theirs"; } >"$ours/torch.pth"
            return
        fi
    done
}

# install PACKAGE...
install() {
    echo "experiments: installing Python packages in $venv/: $*"
    if ! "$python" -m pip install --quiet --disable-pip-version-check "$@"; then
        echo "experiments: that did not work; the reason stands above. $venv/ can be removed." >&2
        exit 1
    fi
}

# What is there already is left alone, so that a second run needs no network. PyTorch comes last, as
# pip complains about what other environments lack.
make_venv() {
    if ! [ -x "$python" ]; then
        python3 -m venv "$venv"
        echo '*' >"$venv/.gitignore"
    fi
    "$python" -c 'import matplotlib, numpy, PIL, scipy' 2>/dev/null || install matplotlib numpy pillow scipy
    "$python" -c 'import torch' 2>/dev/null || borrow_torch
    "$python" -c 'import torch' 2>/dev/null || install torch
}

# Not for all commands: bench/ has a folder torch too.
in_place=(env "PYTHONPATH=$root/bench:$root/python" "SUBMOD_LIBRARY=$root/build/libsubmod.so")
# Is the data there? Asked before anything is fetched. -B: no __pycache__ beside the sources.
command -v python3 >/dev/null || "$root/scripts/setup.sh" python
"${in_place[@]}" python3 -B -m experiments "${out[@]}" "$@" --check
if [ $check = yes ]; then
    exit
fi
"$root/scripts/setup.sh" python
"$root/scripts/build.sh" submod
make_venv
# In the place of this shell, so that Ctrl-C reaches Python alone.
exec "${in_place[@]}" "$python" -B -m experiments "${out[@]}" "$@"
