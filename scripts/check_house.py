#!/usr/bin/env python3
"""Checks what CONTRIBUTING.md says about the layout, and says which lines break it.

    includes    <submod/x.h> is public, "room/x.h" private; both only ever point downwards
    names       no private header is named like a public one
    heads       every C file opens with a comment that says what it is
    arguments   public functions take: handle, inputs, outputs, settings, info, workspace
    pins        workflows name actions by their commit, with the version beside it

Exit status 1 if anything is found.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = [ROOT / "include", *ROOT.glob("companions/*/include")]
sys.path.insert(0, str(ROOT / "python"))

from generate_bindings import Declaration, Header, read_headers  # noqa: E402

# What each room may include besides itself. A room is a folder of src/.
SUBMOD = [
    "submod",
    "submod/measures",
    "loss/tensors",
    "loss",
    "metrics",
    "metrics/decisions",
]
ALLOWED = {
    "base": [],
    "submod": ["base"],
    "submod/measures": ["base"],
    "loss/tensors": ["base"],
    "loss": ["base", "submod", "submod/measures", "loss/tensors"],
    "metrics": ["base", "submod", "loss", "loss/tensors"],
    "metrics/decisions": ["base", "loss/tensors"],
    "prox": ["base", *SUBMOD],
    "optim": ["base", *SUBMOD, "prox"],
    "gpu": ["base", *SUBMOD],
    "dist": ["base", *SUBMOD],
    "mpi": ["base", "dist"],
}


def sources(*folders: str) -> list[Path]:
    found = [p for folder in folders for p in (ROOT / folder).rglob("*")]
    return sorted(p for p in found if p.suffix in (".c", ".h", ".cu", ".cuh"))


def includes(path: Path) -> list[tuple[int, str, str]]:
    """Line number, bracket, name."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [
        (n, re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)) for n, line in enumerate(lines, 1)
    ]
    return [(n, match[1], match[2]) for n, match in found if match]


def folder_of(path: Path) -> str:
    return path.parent.relative_to(ROOT / "src").as_posix()


def public_headers() -> dict[str, list[str]]:
    """Each public header with the rooms where its functions are defined, that of most first."""
    defined: dict[str, str] = {}
    for path in sources("src"):
        found = re.findall(
            r"^[a-z][\w ]*[ *](submod_\w+)\(", path.read_text(encoding="utf-8"), re.M
        )
        defined.update(dict.fromkeys(found, folder_of(path)))
    headers = {}
    for path in sources("include/submod"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        names = re.findall(r"SUBMOD_API [^;]*?(submod_\w+)\(", text)
        rooms = [defined[name] for name in names if name in defined]
        headers[path.name] = sorted(set(rooms), key=lambda room: (-rooms.count(room), room))
    return headers


def room_of(name: str) -> str:
    """The room of a file, named relative to src/."""
    return Path(name).parent.as_posix()


def direction(room: str, target: str) -> str:
    """What is wrong when this room uses that one; "" if it may."""
    if target == room or target in ALLOWED[room]:
        return ""
    return f"{room} may not use {target}: dependencies point downwards only"


def companion_include(path: Path, bracket: str, name: str) -> str:
    """What is wrong with an include in companions/: public headers and its own, no others."""
    if name == "submod.h":
        return "<submod.h> has everything; companions include the headers that they need"
    own = (path.parent / name).exists() and ".." not in name
    return f'"{name}" is not beside the file' if bracket == '"' and not own else ""


def library_include(path: Path, bracket: str, name: str, homes: dict[str, list[str]]) -> str:
    """What is wrong with an include of the library itself, in src/ or include/."""
    inside = path.is_relative_to(ROOT / "src")
    if bracket == '"':
        if not inside or not (ROOT / "src" / name).exists():
            return f'"{name}" is not in src/; public headers go in angle brackets'
        return direction(room_of(path.relative_to(ROOT / "src").as_posix()), room_of(name))
    if name == "submod.h":
        return "<submod.h> has everything; the library includes the headers that it needs"
    if not name.startswith("submod/"):
        return ""
    # A public header belongs to the rooms that define its functions, to the first above all.
    rooms = [folder_of(path)] if inside else homes[path.name]
    target = homes[Path(name).name]
    return "" if rooms[0] in target else direction(rooms[0], target[0])


def user_include(bracket: str, name: str) -> str:
    """What is wrong with an include of a program."""
    if bracket == '"' and ((ROOT / "src" / name).exists() or name.startswith("submod")):
        return f'"{name}": users of the library include public headers, as <{name}>'
    return ""


def check_includes() -> list[str]:
    wrong = []
    homes = public_headers()
    for path in sources("src", "include/submod", "companions", "bench", "examples", "tools"):
        where = path.relative_to(ROOT)
        if where.parts[0] == "src" and folder_of(path) not in ALLOWED:
            wrong.append(f"{where}: '{folder_of(path)}' is no room of scripts/check_house.py")
            continue
        for line, bracket, name in includes(path):
            public = bracket == "<" and (name == "submod.h" or name.startswith("submod/"))
            if public and not any((home / name).exists() for home in PUBLIC):
                problem = f"<{name}> is not in include/; private headers go in quotes"
            elif where.parts[0] == "companions" and "tests" not in where.parts:
                problem = companion_include(path, bracket, name)
            elif where.parts[0] == "companions":
                problem = ""
            elif where.parts[0] in ("src", "include"):
                problem = library_include(path, bracket, name, homes)
            else:
                problem = user_include(bracket, name)
            if problem:
                wrong.append(f"{where}:{line}: {problem}")
    return wrong


def check_names() -> list[str]:
    public = {p.name for p in sources("include")}
    return [
        f"{p.relative_to(ROOT)}: a public header has this name"
        for p in sources("src")
        if p.name in public
    ]


def check_heads() -> list[str]:
    return [
        f"{p.relative_to(ROOT)}: opens without a comment that says what it is"
        for p in sources("src", "include", "companions", "bench", "examples", "tools", "tests")
        if not p.read_text(encoding="utf-8").startswith(("/*", "//"))
    ]


# ---- the order of arguments ----

KINDS = ["handle", "input", "output", "settings", "info", "workspace"]


def kind(d: Declaration, first: bool, header: Header) -> str:
    opaque = d.base.startswith("submod_") and d.base not in (*header.structs, *header.enums)
    if d.base == "submod_work" or (d.base, d.name) in [
        ("submod_gpu_place", "place"),
        ("int", "device"),
    ]:
        return "workspace" if d.stars < 2 else "output"
    if d.base.endswith("_settings") or d.base == "submod_ties":
        return "settings"
    if d.base.endswith("_info"):
        return "info"
    if first and d.stars == 1 and (opaque or d.base == "submod_rng"):
        return "handle"
    if d.base == "submod_gradient":
        return "output"
    return (
        "output"
        if (d.stars and not d.const and not opaque) or (d.stars == 2 and not d.const)
        else "input"
    )


def check_arguments() -> list[str]:
    header = read_headers()
    wrong = []
    for name, (result, arguments) in header.functions.items():
        if result.base in header.structs:  # makes a view or settings: data, then sizes
            continue
        kinds = [kind(d, i == 0, header) for i, d in enumerate(arguments)]
        ranks = [KINDS.index(k) for k in kinds]
        if ranks != sorted(ranks) and name not in EXCEPTIONS:
            wrong.append(f"{name}: {', '.join(kinds)}; the order is {', '.join(KINDS)}")
    return wrong


# As snprintf, whose habits everybody has: the buffer, then its size.
EXCEPTIONS = {"submod_check_report_text"}


# ---- pins ----

PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def unpinned(workflow: str) -> list[str]:
    used = re.findall(r"^[ -]*uses: *(.*?) *$", workflow, re.MULTILINE)
    return [action for action in used if not PINNED.fullmatch(action)]


def check_pins() -> list[str]:
    return [
        f"{path.relative_to(ROOT)}: '{action}' must be NAME@COMMIT # vVERSION: tags can be moved"
        for path in sorted((ROOT / ".github").rglob("*.y*ml"))
        for action in unpinned(path.read_text(encoding="utf-8"))
    ]


def check_all() -> list[str]:
    wrong = [*check_includes(), *check_names(), *check_heads(), *check_pins()]
    return [*wrong, *check_arguments()]


def main() -> int:
    for line in (wrong := check_all()):
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
