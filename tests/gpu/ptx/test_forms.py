"""Every form of an instruction that nvcc wrote, ours and CUB's, is tried by test_opcodes.c.

test_forms.py FILE.ptx ..
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from opcode_kernels import KERNELS
from opcode_rules import all_forms
from reading import Instruction, read


def tried() -> set[str]:
    """By hand, where the kernel is run by the test, and by formulas."""
    test = Path(__file__).with_name("test_opcodes.c").read_text(encoding="utf-8")
    found = {form.text for form in all_forms()}
    for name, (body, _) in KERNELS.items():
        if f'"{name}"' not in test:
            raise SystemExit(f"test_opcodes.c does not run the kernel {name}")
        for one in body.split(";"):
            m = re.fullmatch(r"\s*(?:\w+:)?\s*(?:@!?%\w+ )?([a-z][\w.]*)\b.*", one)
            if m:
                found.add(m[1])
    return found


def main() -> int:
    wrote: dict[str, str] = {}  # form: where
    for path in sys.argv[1:]:
        for kernel in read(Path(path).read_text(encoding="utf-8"), "").kernels:
            for i in kernel.body:
                if isinstance(i, Instruction):
                    wrote.setdefault(i.opcode, f"{path}, line {i.line}: {i.text}")
    known = tried()
    missing = sorted(set(wrote) - known)
    for form in missing:
        print(f"no test tries {form} ({wrote[form]})")
    print(
        f"nvcc wrote {len(wrote)} forms, {len(missing)} of them not tried; {len(known)} are tried"
    )
    return 1 if missing or not wrote else 0


if __name__ == "__main__":
    sys.exit(main())
