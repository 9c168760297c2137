#!/usr/bin/env bash
# Builds the documents as a site that opens from disk: build/site/index.html.
#
#   scripts/docs.sh               all of it
#   scripts/docs.sh --check       the C reference alone, thrown away: is every public symbol documented?
#   scripts/docs.sh --help        this text
#
# Pages by pandoc, the reference of C by Doxygen from the headers, that of Python by pdoc from its
# docstrings. Needs: scripts/setup.sh docs, and for Python scripts/test_python.sh --packages. Where
# PyTorch is not there, submod.torch is left out, and the script says so. The library is that of
# build/, made first, or the one that SUBMOD_LIBRARY names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

site=build/site
font=/usr/share/texmf/fonts/opentype/public/lm-math/latinmodern-math.otf
only_check=no
case ${1-} in
'') ;;
--check) only_check=yes ;;
--help | -h)
    sed -n '2,/^set/s/^# \{0,1\}//p' scripts/docs.sh
    exit 0
    ;;
*)
    echo "docs: unknown option '$1', see scripts/docs.sh --help" >&2
    exit 2
    ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# c_reference FOLDER: ends with an error if something public is not documented.
c_reference() {
    local version
    version=$(sed -n 's/^#define SUBMOD_VERSION_STRING "\([^"]*\)".*/\1/p' include/submod/base.h)
    docs/site/header_filter.py --check include/submod/*.h
    SUBMOD_SITE=$1 SUBMOD_VERSION=$version doxygen docs/site/Doxyfile
}

# page DOCUMENT NAME
page() {
    local folder=
    [ "$(dirname "$1")" = . ] || folder=$(dirname "$1")/
    pandoc --from gfm+tex_math_dollars --to html5 --mathml --standalone --wrap=preserve \
        --template docs/site/page.html --lua-filter docs/site/page.lua \
        --metadata "folder=$folder" --metadata source=../../ \
        --metadata "pagetitle=$(sed -n '1s/^# //p' "$1")" --output "$site/$2.html" "$1"
}

pages() {
    local document
    cp docs/site/page.css "$site"
    # A font for formulas: its measures put indices in their places. Without it the browser's is taken.
    if [ -e "$font" ]; then
        cp "$font" "$site"
    fi
    cp -r docs/img "$site"
    page README.md index
    page CONTRIBUTING.md contributing
    page CHANGELOG.md changelog
    page python/README.md python
    page bench/studies/README.md add_a_study
    page bench/experiments/README.md add_an_experiment
    for document in docs/*.md; do
        page "$document" "$(basename "$document" .md)"
    done
}

# From the sources, with the library of build/ or another one that is there already.
python_reference() {
    local python=.venv-test/bin/python modules=(submod)
    [ -x $python ] || scripts/test_python.sh --packages --no-torch
    $python -c 'import pdoc' 2>/dev/null || $python -m pip install --quiet --disable-pip-version-check pdoc
    if [ -z "${SUBMOD_LIBRARY-}" ]; then
        cmake --preset dev >/dev/null
        cmake --build build --target submod --parallel 2 >/dev/null
    fi
    if $python -c 'import torch' 2>/dev/null; then
        modules+=(submod.torch)
    else
        echo "docs: SKIPPED: the reference of submod.torch, for want of PyTorch" >&2
        modules+=('!submod.torch')
    fi
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=python SUBMOD_LIBRARY=${SUBMOD_LIBRARY:-$PWD/build/libsubmod.so} \
        $python -m pdoc --no-show-source --template-directory docs/site/pdoc \
        --output-directory "$site/python" "${modules[@]}"
}

tools=(doxygen)
[ $only_check = yes ] || tools+=(pandoc python3)
for tool in "${tools[@]}"; do
    if ! command -v "$tool" >/dev/null; then
        echo "docs: there is no $tool; run scripts/setup.sh docs python" >&2
        exit 1
    fi
done
if [ $only_check = yes ]; then
    c_reference "$scratch"
    exit
fi
rm -rf "$site"
mkdir -p "$site"
pages
c_reference "$site"
python_reference
docs/site/check_links.py "$site"
echo "docs: open $PWD/$site/index.html"
