#!/usr/bin/env bash
# Makes a tarball and a package for Debian, and tries both as a stranger would.
#
#   scripts/package.sh              makes and tries
#   scripts/package.sh --help       this text
#
# Results go to out/dist/. The package is installed on a copy of this system that goes away when
# it is done: /usr, /etc and /var under an overlay that nobody else sees.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for option in "$@"; do
    case $option in
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/package.sh
        exit 0
        ;;
    *)
        echo "package: unknown option '$option', see scripts/package.sh --help" >&2
        exit 2
        ;;
    esac
done

root=$PWD
dist=$root/out/dist
build=$root/out/package
consumer=$root/tests/install/consumer/main.c
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "package: $*" >&2
    exit 1
}

step() {
    printf '\n---- %s\n' "$*"
}

make_packages() {
    cmake -S . -B "$build" -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_BUILD_TYPE=Release \
        -DSUBMOD_WERROR=ON -DSUBMOD_CUDA=OFF -DSUBMOD_MPI=OFF \
        -DSUBMOD_BUILD_TOOLS=ON >"$scratch/log" || fail "$(cat "$scratch/log")"
    cmake --build "$build" --parallel "$(nproc 2>/dev/null || echo 2)"
    mkdir -p "$dist"
    rm -f "$dist"/libsubmod*
    (cd "$build" && cpack -B "$dist" >"$scratch/log") || fail "$(cat "$scratch/log")"
    rm -rf "$dist/_CPack_Packages"
}

# The tarball, anywhere: the loader has to be told.
try_tarball() {
    local flags prefix=$scratch/tarball
    mkdir "$prefix"
    tar -xf "$dist"/libsubmod*.tar.gz -C "$prefix" --strip-components 1
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name submod.pc)")
    mapfile -t flags < <(PKG_CONFIG_PATH=$PKG_CONFIG_PATH pkg-config --cflags --libs submod | xargs -n 1)
    cc "$consumer" "${flags[@]}" -o "$scratch/program"
    LD_LIBRARY_PATH=$PKG_CONFIG_PATH/.. "$scratch/program"
    "$prefix/bin/submod-miou" --help >/dev/null
}

# on_copy SCRIPT: on a copy of this system, as its root. What changes is kept in memory; for others
# than root on the disk, since their overlays need attributes that memory may not have.
on_copy() {
    local alone=(unshare --mount) memory=yes options=
    if [ "$(id -u)" -ne 0 ]; then
        alone=(unshare --map-root-user --mount) memory=no options=,userxattr
    fi
    # shellcheck disable=SC2016 # for the inner shell
    "${alone[@]}" bash -c '
        set -euo pipefail
        [ "$2" = no ] || mount -t tmpfs copy "$1"
        for folder in usr etc var; do
            mkdir -p "$1/$folder/new" "$1/$folder/work"
            mount -t overlay copy "/$folder" \
                -o "lowerdir=/$folder,upperdir=$1/$folder/new,workdir=$1/$folder/work$3"
        done
        eval "$4"' on_copy "$scratch/copy" $memory "$options" "$1"
}

# The package: programs link and start without another word, and removing it leaves nothing.
try_debian_package() {
    local package
    package=$(echo "$dist"/libsubmod_*.deb)
    dpkg-deb --info "$package"
    mkdir "$scratch/copy"
    if ! on_copy true 2>/dev/null; then
        fail "the package is made, but not tried: that needs unshare --map-root-user and overlays"
    fi
    on_copy "
        dpkg --install '$package'
        cc '$consumer' \$(pkg-config --cflags --libs submod) -o /usr/bin/submod-consumer
        env -i /usr/bin/submod-consumer
        env -i /usr/bin/submod-miou --help >/dev/null
        dpkg --purge libsubmod
        ! find /usr /etc -name '*submod*' -newer '$package' ! -name submod-consumer | grep ."
}

scripts/setup.sh package
step "tarball and package"
make_packages
step "tarball"
try_tarball
step "package for Debian"
try_debian_package
echo
ls -l "$dist"
