#!/usr/bin/env python3
"""Writes wrapped.h and wrapped.c: for every public function with a status one that fails first.

    wrap.py FOLDER

A test that is compiled with `-include wrapped.h` calls these instead. Each calls the real one as
often as failing.c finds an allocation in it that has not failed yet, and then lets it succeed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.dont_write_bytecode = True

from generate_bindings import statements  # noqa: E402

# failing.c has the first; the second returns what it is given.
NOT_WRAPPED = {"submod_set_allocator", "submod_fail"}
# Outputs that are unspecified after an error (prox.h).
UNSPECIFIED = {
    "submod_prox": {"u", "s"},
    "submod_prox_points": {"u", "s"},
    "submod_prox_hinge_layer": {"prox", "direction"},
}
# Outputs of as many elements as fn has; of the others the first is watched.
WHOLE = {"submod_sfm": {"smallest", "largest", "s"}}
HEAD = (
    "/* Written by tests/failures/wrap.py. */\n#include <submod.h>\n#include <submod/select.h>\n\n"
)
BY_HAND = "submod_status failing_submod_set_allocator(const submod_allocator *allocator);\n"

WRAPPER = """
submod_status failing_{name}({parameters})
{{
    failing_call turn;
    submod_status status;
    failing_enter(&turn, "{name}");
{watched}    do {{
        failing_begin(&turn);
        status = {name}({names});
    }} while (failing_again(&turn, status));
    return status;
}}
"""


def parameters(text: str) -> list[str]:
    """`a, void (*b)(int, int)` has two."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(text + ","):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return found


def name_of(parameter: str) -> str:
    match = re.search(r"\(\*(\w+)\)|(\w+)(?:\[\w*\])?$", parameter)
    assert match, parameter
    return match[1] or match[2]


def is_output(parameter: str, opaque: set[str]) -> bool:
    """A pointer to something that the call may write, whose size is known."""
    base, stars = parameter.split()[0], parameter.count("*")
    hidden = stars == 1 and (base == "void" or base in opaque)
    return stars > 0 and "const" not in parameter and "(" not in parameter and not hidden


def watch(function: str, parameter: str, opaque: set[str]) -> str:
    name = name_of(parameter)
    if name in UNSPECIFIED.get(function, ()):
        return ""
    if name in WHOLE.get(function, ()):
        return f"    failing_watch(&turn, {name}, submod_fn_size(fn) * sizeof *{name});\n"
    if parameter.startswith("const submod_gradient *"):
        return f"    failing_watch(&turn, {name} ? {name}->data : NULL, sizeof(float));\n"
    if is_output(parameter, opaque):
        return f"    failing_watch(&turn, {name}, sizeof *{name});\n"
    return ""


def restore(taken: list[str]) -> str:
    """An optimiser moves x, also when it fails on its way (optim.h)."""
    mapped = "const submod_map *map" in taken
    count = "map ? map->columns : 0" if mapped else "problem ? problem->dimension : 0"
    return f"    failing_restore(&turn, x, ({count}) * sizeof *x);\n"


def wrapper(name: str, taken: list[str], opaque: set[str]) -> str:
    names = [name_of(parameter) for parameter in taken]
    watched = "".join(watch(name, parameter, opaque) for parameter in taken)
    if "double *x" in taken and "submod_optim_info *info" in taken:
        watched = restore(taken)
    return WRAPPER.format(
        name=name, parameters=", ".join(taken), names=", ".join(names), watched=watched
    )


def public_statements() -> str:
    headers = sorted((ROOT / "include" / "submod").glob("*.h"))
    headers += sorted(ROOT.glob("companions/*/include/submod/*.h"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in headers if path.name != "mpi.h")
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.M | re.S).replace('extern "C" {', "")


def main() -> None:
    folder = Path(sys.argv[1])
    text = public_statements()
    opaque = set(re.findall(r"typedef struct (\w+) \1;", text))
    declared, defined, renamed = [BY_HAND], [], []
    for statement in statements(text):
        match = re.fullmatch(r"SUBMOD_API submod_status (\w+) ?\((.*)\)", statement)
        if match and match[1] not in NOT_WRAPPED and not match[1].endswith("_start"):
            declared.append(f"submod_status failing_{match[1]}({match[2]});\n")
            defined.append(wrapper(match[1], parameters(match[2]), opaque))
            renamed.append(f"#define {match[1]} failing_{match[1]}\n")
    renamed.append("#define submod_set_allocator failing_submod_set_allocator\n")
    declarations = HEAD + "".join(declared) + "\n"
    (folder / "wrapped.h").write_text(declarations + "".join(renamed), encoding="utf-8")
    definitions = declarations + '#include "failing.h"\n' + "".join(defined)
    (folder / "wrapped.c").write_text(definitions, encoding="utf-8")


main()
