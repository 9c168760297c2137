#!/usr/bin/env bash
# Makes the report of the studies in the folder $1 and opens it in headless Chromium: no errors, no
# network, the slider moves the curve, a phone is wide enough, and the page computes what the library
# computed.
# Exit code 77 (skipped) without Python or Chromium.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
out=$1

for tool in python3 chromium; do
    if ! command -v $tool >/dev/null; then
        echo "report: skipped, there is no $tool (scripts/setup.sh study browser)"
        exit 77
    fi
done

fail() {
    echo "report: FAILED: $1" >&2
    exit 1
}

python3 -B "$here/../../bench/report/report.py" "$out"
page=$out/report.html
if grep -Eo '(src|href)="(https?:)?//[^"]*"' "$page"; then
    fail "the page wants the network"
fi
# One section for each study, in the order of the list.
sections=$(sed -n 's/^<section id="\(.*\)">$/\1/p' "$page")
[ "$sections" = "$(cat "$here/../../bench/studies/studies.list")" ] ||
    fail "the sections are not those of studies.list: ${sections//$'\n'/ }"

# The claims of all studies in one table at the top of the page, and the same ones in the document.
# What is measured differs there: it is from a full run.
doc=$here/../../docs/studies.md
claims=0
for table in "$out"/*/table_claims.csv; do
    while IFS= read -r claim; do
        claims=$((claims + 1))
        grep -qF "| $claim |" "$doc" || fail "docs/studies.md lacks the claim: $claim"
    done < <(tail -n +2 "$table" | sed 's/^"\([^"]*\)".*/\1/')
done
rows=$(sed -n '/<h2 id="claims">/,/<\/table>/p' "$page" | grep -c '^<tr>\|<tbody><tr>')
[ "$rows" -eq "$claims" ] || fail "the page shows $rows claims of $claims"

# A quick run is marked at the top of the page, in each study's text and in each row with a verdict. Its
# claims do not get into the document.
stamp="quick run: verdicts are not meaningful; version $(sed -n 's/.*SUBMOD_VERSION_STRING "\([^"]*\)".*/\1/p' \
    "$here/../../include/submod/base.h"), seed 1, $(date +%Y)-"
head -n 100 "$page" | sed -n '/<h1>/,/<nav>/p' | grep -qF "<p class=\"quick\">$stamp" ||
    fail "the page does not begin with '$stamp..'"
[ "$(grep -c "<p>Run: $stamp" "$page")" -eq "$(wc -l <"$here/../../bench/studies/studies.list")" ] ||
    fail "not every study on the page says '$stamp..'"
for table in "$out"/*/table_claims.csv; do
    [ "$(tail -n +2 "$table" | grep -cvF ",\"$stamp")" -eq 0 ] || fail "$table lacks '$stamp..' in a row"
done
cp "$doc" "$out/studies.md"
! python3 -B "$here/../../bench/report/report.py" "$out" --claims "$out/studies.md" 2>"$out/refusal" ||
    fail "the claims of a quick run get into docs/studies.md"
grep -q "quick run" "$out/refusal" || fail "$(cat "$out/refusal")"
cmp "$doc" "$out/studies.md" || fail "docs/studies.md was written with the claims of a quick run"

# The page with a probe at its end, whose findings are read from the DOM.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sed "s|</body>||; s|</html>||" "$page" >"$scratch/probe.html"
{
    echo "<script>"
    cat "$here/probe.js"
    echo "</script></body></html>"
} >>"$scratch/probe.html"
chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" \
    --enable-logging=stderr --dump-dom "file://$scratch/probe.html" \
    >"$scratch/dom.html" 2>"$scratch/log" || fail "chromium ended with $? $(tail -3 "$scratch/log")"
# Pages of the browser itself may have something to say, too.
if grep CONSOLE "$scratch/log" | grep -v 'source: chrome://'; then
    fail "the console has something to say"
fi

# "nu method iterations crossings detour" for each path, from the page and from the study.
sed -n '/<pre id="probe">/,/<\/pre>/p' "$scratch/dom.html" | sed 's/<[^>]*>//g; /^$/d' >"$scratch/found"
grep -qx "the slider moves the curve: yes" "$scratch/found" || fail "the slider does not move the curve"
grep -qx "the page fits a phone: yes" "$scratch/found" || fail "the page is too wide for a phone"
grep -v "^the " "$scratch/found" | sort >"$scratch/page"
tail -n +2 "$out/nu/table.csv" | awk -F, '{ print $1 "," $2 "," $7 "," $3 "," $5 }' | sort >"$scratch/study"
[ "$(wc -l <"$scratch/study")" -eq 15 ] || fail "there should be 15 paths in nu/table.csv"
diff "$scratch/study" "$scratch/page" || fail "the page (right) and the library (left) differ"
echo "report: passed"
