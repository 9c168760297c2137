#!/usr/bin/env bash
# More than 2^31 scores and more than 2^31 pixels in one call: losses, metrics, the prox.
#
#   scripts/large.sh              with at most 14 GiB of memory
#   scripts/large.sh --gib 8      with less; what needs more is left out, and says so
#   scripts/large.sh --help       this text
#
# A table of what ran, also in out/reliability/large.tsv. Fails when a result is wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

gib=14
while [ $# -gt 0 ]; do
    case $1 in
    --gib) gib=${2:?--gib needs a number} && shift ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/large.sh
        exit 0
        ;;
    *)
        echo "large: unknown option '$1', see scripts/large.sh --help" >&2
        exit 2
        ;;
    esac
    shift
done

scripts/build.sh submod-large
mkdir -p out/reliability
status=0
build/tests/large/submod-large "$gib" | tee out/reliability/large.tsv || status=1

# count WORD: rows with this result.
count() {
    awk -F '\t' -v word="$1" '$4 == word { all++ } END { print all + 0 }' out/reliability/large.tsv
}
docs/reliability.py row large \
    --what "more than 2^31 scores or pixels in one call: losses, gradients, metrics; the hinge and the prox at 2^31 - 1" \
    --cases "$(($(count ok) + $(count wrong))) calls within $gib GiB" \
    --found "right: $(count ok); wrong: $(count wrong); left out for want of memory: $(count 'left out')" \
    --remains "what needs more: boundaries (10 bytes per pixel), calibration, sorting 2^31 numbers" \
    --command "scripts/large.sh --gib $gib"
exit $status
