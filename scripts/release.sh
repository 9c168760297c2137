#!/usr/bin/env bash
# All that a release gives out, made and tried: wheel and source archive, tarball and
# package for Debian, checksums. docs/releasing.md has the rest.
#
#   scripts/release.sh           everything, in out/dist/
#   scripts/release.sh --ready   only says whether the sources are ready to be tagged
#   scripts/release.sh --help    this text
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/.*SUBMOD_VERSION_STRING "\(.*\)".*/\1/p' include/submod/base.h)
dist=out/dist

# Everything that is wrong, not only the first.
ready() {
    local wrong=()
    grep -Eq "^## $version \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$" CHANGELOG.md ||
        wrong+=("CHANGELOG.md has no '## $version (YEAR-MONTH-DAY)'")
    [ "$(sed -n 's/^## \([0-9.]*\) .*/\1/p' CHANGELOG.md | head -n 1)" = "$version" ] ||
        wrong+=("the first version in CHANGELOG.md is not $version, that of include/submod/base.h")
    grep -q "^SUBMOD_${version%.*} {" cmake/submod.map || wrong+=("cmake/submod.map has no block SUBMOD_${version%.*}")
    [ -z "$(git status --porcelain)" ] || wrong+=("not everything is committed")
    ! git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null || wrong+=("v$version is tagged already")
    if [ ${#wrong[@]} -gt 0 ]; then
        printf 'release: %s\n' "${wrong[@]}" >&2
        return 1
    fi
    echo "release: $version is ready; now: git tag --sign v$version"
}

case ${1-} in
'')
    rm -rf $dist
    scripts/wheel.sh
    scripts/package.sh
    (cd $dist && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
    ready || echo "release: all is made; the sources are not ready to be tagged yet" >&2
    ;;
--ready) ready ;;
--help | -h) sed -n '2,/^set/s/^# \{0,1\}//p' scripts/release.sh ;;
*)
    echo "release: unknown option '$1', see scripts/release.sh --help" >&2
    exit 2
    ;;
esac
