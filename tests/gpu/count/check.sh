#!/usr/bin/env bash
# Counts of small batches. Every score is read twice and every derivative written once, in whole
# sectors, whatever the layout; what does not coalesce would show as more. Atomics on global memory
# are at most 0.1 a score. Bytes of all arrays, and with 32 for each atomic, have bounds just above
# what they are: for 256 x 256 pixels, where a score has sixteen times its share in tables of
# 4 x 512 x 512.
#
#   tests/gpu/count/check.sh BENCH_GPU_COUNT
set -euo pipefail
found=$("$1" 1 21 64)
for row in "random  *8.00  *4.00" "trained  *8.00  *4.00" "confident  *8.00  *4.00" \
    "trained, last  *8.00  *4.00" "trained, half  *4.00  *4.00" "half and last  *4.00  *4.00"; do
    if ! grep -q "^$row " <<<"$found"; then
        echo "there must be a row '$row' in:" >&2
        echo "$found" >&2
        exit 1
    fi
done

# The first row of a name has bytes, its last columns are ratios; the second has atomics first.
found=$("$1" --float 1 21 256)
awk '
    function bound(what, value, most) {
        rows++
        if (!(value + 0 > 0 && value + 0 <= most)) {
            printf "%s: %s is %s and must be at most %s in:\n", $1, what, value, most
            bad = 1
        }
    }
    /^(random|trained|confident) / && ++seen[$1] == 1 {
        bound("memory by two reads and a write", $(NF - 2), 1.02)
        bound("all sectors by two reads and a write", $(NF - 1), 1.38)
        bound("all sectors and atomics by two reads and a write", $NF, 1.63)
    }
    /^(random|trained|confident) / && seen[$1] == 2 { bound("atomics a score", $2, 0.1) }
    END { exit bad || rows != 12 }
' <<<"$found" >&2 || {
    echo "$found" >&2
    exit 1
}
