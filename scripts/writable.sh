#!/usr/bin/env bash
# Says what to do where the folder of the sources cannot be written to; other scripts build in there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! [ -w . ]; then
    echo "$PWD cannot be written to by $(id -un). Copy it to a folder of your own, and start again there." >&2
    exit 1
fi
