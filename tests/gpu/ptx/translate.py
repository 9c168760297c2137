"""Translates PTX to C for the fibers of tests/gpu/threads.h.

    translate.py FILE.ptx FILE.c --name MODULE [--root FOLDER] [--kernels REGEX] [--others REGEX]

FILE.c defines the ptx_module MODULE (ptx.h). It has the kernels whose names match --kernels and do
not match --others. Places in the source are counted from --root. What is not known is an error that
names the line and the instruction; nothing is left out silently.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from reading import Unknown, read
from writing import write


def main() -> int:
    p = argparse.ArgumentParser(description="Translates PTX to C.")
    p.add_argument("ptx", type=Path)
    p.add_argument("c", type=Path)
    p.add_argument("--name", required=True, help="of the ptx_module")
    p.add_argument("--root", default="", help="places in the source are counted from here")
    p.add_argument("--kernels", default="", help="regular expression: these only")
    p.add_argument("--others", default="$^", help="regular expression: not these")
    a = p.parse_args()
    try:
        module = read(a.ptx.read_text(), a.root)
        module.kernels = [
            k
            for k in module.kernels
            if re.search(a.kernels, k.name) and not re.search(a.others, k.name)
        ]
        if not module.kernels:
            raise Unknown("no kernel has such a name")
        text = write(module, a.name)
    except Unknown as e:
        print(f"{a.ptx}: cannot translate {e}", file=sys.stderr)
        return 1
    a.c.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
