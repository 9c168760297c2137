#!/usr/bin/env bash
# What the studies have left in a folder: every file is there, every number in a table is finite.
# What there has to be is read from the sources of the studies, so no list of files is kept here.
#
#   check.sh FOLDER
set -euo pipefail
folder=$1
studies=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../bench/studies" && pwd -P)
failed=0

complain() {
    echo "check: $*" >&2
    failed=1
}

# expect PATTERN: at least one file of this name, none of them empty
expect() {
    local file
    for file in "$folder"/$1; do
        [ -s "$file" ] || complain "$file is missing or empty"
    done
}

# tables STUDY: the CSV files whose names stand in its sources, "curves_%zu.csv" as curves_*.csv
tables() {
    local pattern file
    for pattern in $(grep -oh '"[a-z0-9_%]*\.csv"' "$studies/$1"/*.c | tr -d '"' | sed 's/%[a-z]*/*/g'); do
        expect "$1/$pattern"
    done
    expect "$1/table.csv"
    for file in "$folder/$1"/table*.csv; do
        if [ -e "$file" ] && grep -qiE '(^|[, ])-?(nan|inf)' "$file"; then
            complain "$file holds a number that is none"
        fi
    done
}

# figures STUDY: what its plot.gp draws, as PNG and SVG, where there is gnuplot
figures() {
    local name names
    names=$(sed -n "s/^ *set output '\(.*\)\.'\.format$/\1/p" "$studies/$1/plot.gp")
    [ -n "$names" ] || complain "$1/plot.gp draws nothing"
    if command -v gnuplot >/dev/null; then
        for name in $names; do
            expect "$1/$name.png"
            expect "$1/$name.svg"
        done
    fi
}

while read -r study; do
    expect "$study/notes.md"
    tables "$study"
    figures "$study"
done <"$studies/studies.list"

exit $failed
