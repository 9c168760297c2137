"""The functions that ptx.h has for translated code, read from the header itself. A translation that
calls another one is refused here, with its instruction, and not later by a compiler without."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from reading import Unknown


@cache
def helpers() -> frozenset[str]:
    """Functions, and those that macros make: `ptx_max_##type` in PTX_FLOAT(type, ..) is ptx_max_f32
    by PTX_FLOAT(f32, ..)."""
    text = Path(__file__).with_name("ptx.h").read_text(encoding="utf-8").replace("\\\n", " ")
    macros: dict[str, tuple[str, str]] = {}  # first argument, body
    lines = []
    for line in text.split("\n"):
        defined = re.match(r"#define (\w+)\((\w+)[^)]*\)(.*)", line)
        used = re.match(r"(\w+)\((\w+)", line)
        if defined:
            macros[defined[1]] = defined[2], defined[3]
        elif used and used[1] in macros:
            argument, body = macros[used[1]]
            lines.append(re.sub(rf"##{argument}(##|\b)", used[2], body))
        else:
            lines.append(line)
    declared = r"(?:static inline |^(?=\w))[\w ]*[ *]+(ptx_\w+)\("
    return frozenset(re.findall(declared, "\n".join(lines), re.M))


def require_helpers(code: str) -> None:
    missing = sorted(set(re.findall(r"\bptx_\w+(?=\()", code)) - helpers())
    if missing:
        raise Unknown(f"ptx.h has no {', '.join(missing)}")
