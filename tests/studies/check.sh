#!/usr/bin/env bash
# What the studies have left in a folder: every file is there, every number in a table is finite.
#
#   check.sh FOLDER
set -euo pipefail
folder=$1
failed=0

complain() {
    echo "check: $*" >&2
    failed=1
}

# expect STUDY FILE...
expect() {
    local study=$1 file
    shift
    for file in "$@"; do
        [ -s "$folder/$study/$file" ] || complain "$study/$file is missing or empty"
    done
    for file in "$folder/$study"/table*.csv; do
        if [ -e "$file" ] && grep -qiE '(^|[, ])-?(nan|inf)' "$file"; then
            complain "$file holds a number that is none"
        fi
    done
}

# figure STUDY NAME...: as PNG and SVG, where there is gnuplot
figure() {
    local study=$1 name
    shift
    if command -v gnuplot >/dev/null; then
        for name in "$@"; do
            expect "$study" "$name.png" "$name.svg"
        done
    fi
}

expect nu paths.csv sweep.csv table.csv table_claims.csv
figure nu nu sweep
expect last_layer curves_1.csv table.csv table_claims.csv
figure last_layer last_layer
expect bias curves.csv sample.csv table.csv table_claims.csv
figure bias bias
expect dataset curves.csv table.csv table_claims.csv
figure dataset dataset
# Where its volumes are missing, the study says so and leaves nothing.
if [ -e "$folder/brain/table.csv" ]; then
    expect brain bars.csv slice.csv table.csv table_claims.csv
    figure brain brain slice
fi
expect surfaces hinge_1.csv softmax_4.csv table.csv
figure surfaces surfaces
expect prox prox.csv table.csv
figure prox prox

exit $failed
