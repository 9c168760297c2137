#!/usr/bin/env python3
"""Writes submod/_bindings.py: the structs, enums, constants and prototypes of the public headers.

    generate_bindings.py            writes the file
    generate_bindings.py --check    fails if the file is not what the headers say

The headers are plain C in a fixed style, so a few patterns read them; a declaration that none of
the patterns fits stops the script. The output is committed: what a change of the headers does to
Python shows in its diff, mypy and editors see it, and installing the package runs no generator. The
linters and the Python tests run --check, so it cannot be forgotten.

How C becomes ctypes:
    const T *, in a struct        POINTER(T): an array that is put there lives as long as the struct
    other T *, in a struct        c_void_p: an address
    T *, argument of a function   c_void_p, which takes arrays, addresses, byref() and None;
                                  pointers to structs with known fields: POINTER(struct)
    submod_fn **                  POINTER(c_void_p): where a constructor puts its handle
    enum                          c_int; its values are an IntEnum
    lambda                        lam, as Python has its own use for that word
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple, Union

HERE = Path(__file__).resolve().parent
HEADERS = HERE.parent / "include" / "submod"
COMPANIONS = sorted(HERE.parent.glob("companions/*/include/submod/*.h"))
OUTPUT = HERE / "submod" / "_bindings.py"

SCALARS = {
    "int": "c_int",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "uint8_t": "c_uint8",
    "uint16_t": "c_uint16",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "size_t": "c_size_t",
    "ptrdiff_t": "c_ssize_t",
    "float": "c_float",
    "double": "c_double",
    "char": "c_char",
}
INCLUDE = r"#include [<\"]submod/(\w+\.h)"
NUMBERS = {"SIZE_MAX": "2**64 - 1", "UINT64_MAX": "2**64 - 1"}
RENAMED = {"lambda": "lam"}
COLUMNS = 100


class Declaration(NamedTuple):
    """One name with its type: `const double *x`, or a callback."""

    name: str
    base: str  # without const and volatile; "callback" for a pointer to a function
    stars: int
    const: bool  # what it points to may not be written
    length: str  # of an array, else ""
    result: str  # of a callback
    arguments: list[Declaration]


class Header:
    """What one or several headers declare, in their order."""

    def __init__(self) -> None:
        self.constants: dict[str, str] = {}
        self.enums: dict[str, list[tuple[str, int]]] = {}
        self.structs: dict[str, list[Declaration]] = {}
        self.functions: dict[str, tuple[Declaration, list[Declaration]]] = {}

    def read(self, text: str) -> None:
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        for name, value in re.findall(r"^#define (SUBMOD_\w+) (.+)$", text, flags=re.M):
            self.constant(name, value.strip())
        text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.M | re.S)
        text = text.replace('extern "C" {', "")
        for statement in statements(text):
            self.statement(statement)

    def constant(self, name: str, value: str) -> None:
        value = NUMBERS.get(value, value)
        if re.fullmatch(r"\([^()]*\)", value):
            value = value[1:-1]
        if re.fullmatch(r'[\d\s()<*+-]+|0x[0-9a-fA-F]+|"[^"]*"', value):
            self.constants[name] = value

    def statement(self, text: str) -> None:
        if match := re.fullmatch(r"typedef enum (\w+) \{(.*)\} \1", text):
            self.enum(match[1], match[2])
        elif match := re.fullmatch(r"typedef struct (\w+) \{(.*)\} \1", text):
            fields = [part.strip() for part in match[2].split(";") if part.strip()]
            self.structs[match[1]] = [d for field in fields for d in declarations(field)]
        elif re.fullmatch(r"typedef struct (\w+) \1", text):
            pass  # opaque: a handle
        elif "..." in text:
            pass  # Python formats its own texts
        elif match := re.fullmatch(r"SUBMOD_API (.*?)(\w+) ?\((.*)\)", text):
            self.functions[match[2]] = (declaration(match[1] + "result"), arguments(match[3]))
        else:
            sys.exit(f"generate_bindings: nothing here reads '{text}'")

    def enum(self, name: str, body: str) -> None:
        values: list[tuple[str, int]] = []
        for entry in filter(None, (part.strip() for part in body.split(","))):
            member, _, value = (part.strip() for part in entry.partition("="))
            values.append((member, int(value, 0) if value else len(values) and values[-1][1] + 1))
        self.enums[name] = values


def statements(text: str) -> list[str]:
    """The text cut at each semicolon that is outside of braces, white space folded."""
    found, start, depth = [], 0, 0
    for at, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth < 0:  # the end of extern "C"
            depth, start = 0, at + 1
        if character == ";" and depth == 0:
            found.append(" ".join(text[start:at].split()))
            start = at + 1
    return found


def arguments(text: str) -> list[Declaration]:
    """Of a function or callback; commas inside a callback's own list do not separate."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text + ","):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [] if parts == ["void"] else [declaration(part) for part in parts]


def declarations(text: str) -> list[Declaration]:
    """`size_t batch, pixels` declares two."""
    if "(" in text:
        return [declaration(text)]
    first, *rest = [part.strip() for part in text.split(",")]
    kind = re.match(r"(?:const |volatile )*(?:struct )?\w+ ", first)
    assert kind, text
    return [declaration(first), *(declaration(kind[0] + name) for name in rest)]


def declaration(text: str) -> Declaration:
    if match := re.fullmatch(r"(.*?)\(\*(\w+)\)\((.*)\)", text):
        return Declaration(match[2], "callback", 1, True, "", match[1].strip(), arguments(match[3]))
    tokens = re.findall(r"\w+|[*]|\[\w+\]", text)
    length = tokens.pop().strip("[]") if tokens[-1].startswith("[") else ""
    words = [t for t in tokens if t not in ("const", "volatile", "struct", "*")]
    if len(words) != 2:
        sys.exit(f"generate_bindings: '{text}' is not understood")
    const = "const" in tokens
    name = RENAMED.get(words[1], words[1])
    return Declaration(name, words[0], tokens.count("*"), const, length, "", [])


# ---- Python as the formatter would write it ----


class Group(NamedTuple):
    """Brackets: on one line if they fit there, else one item a line."""

    opening: str
    items: list[Node]
    closing: str


Node = Union[str, Group, "tuple[str, Group]"]  # the last: a key, or a name, and its value


def flat(node: Node) -> str:
    if isinstance(node, Group):
        return node.opening + ", ".join(map(flat, node.items)) + node.closing
    return node if isinstance(node, str) else node[0] + flat(node[1])


def layout(node: Node, after: str = "", indent: int = 0) -> str:
    """Lines that end in what comes after."""
    before, group = ("", node) if isinstance(node, (str, Group)) else node
    line = " " * indent + before + flat(group) + after
    if isinstance(group, str) or len(line) <= COLUMNS:
        return line + "\n"
    items = "".join(layout(item, ",", indent + 4) for item in group.items)
    return f"{' ' * indent}{before}{group.opening}\n{items}{' ' * indent}{group.closing}{after}\n"


# ---- from C to ctypes ----


def class_name(name: str) -> str:
    """submod_fn_ops: FnOps"""
    return "".join(word.capitalize() for word in name.removeprefix("submod_").split("_"))


class Writer:
    def __init__(self, header: Header) -> None:
        self.header = header
        self.used = {"CFUNCTYPE", "POINTER", "Structure"}

    def use(self, kind: str) -> str:
        self.used.add(kind)
        return kind

    def scalar(self, base: str) -> str:
        if base in self.header.enums:
            base = "int"
        if base not in SCALARS:
            sys.exit(f"generate_bindings: there is no ctypes type for '{base}'")
        return self.use(SCALARS[base])

    def callback(self, d: Declaration) -> Group:
        kinds = [self.result(declaration(d.result + " result")), *map(self.argument, d.arguments)]
        return Group("CFUNCTYPE(", kinds, ")")

    def field(self, d: Declaration) -> Node:
        if d.base == "callback":
            return self.callback(d)
        if d.stars:
            known = d.base in SCALARS or d.base in self.header.structs
            lent = known and d.const and d.stars == 1
            return f"POINTER({self.plain(d.base)})" if lent else self.use("c_void_p")
        return f"{self.plain(d.base)} * {d.length}" if d.length else self.plain(d.base)

    def plain(self, base: str) -> str:
        return class_name(base) if base in self.header.structs else self.scalar(base)

    def argument(self, d: Declaration) -> Node:
        if d.base == "callback":
            return self.callback(d)
        if d.stars == 2:
            return f"POINTER({self.use('c_void_p')})"
        if d.stars and d.base in self.header.structs:
            return f"POINTER({class_name(d.base)})"
        return self.use("c_void_p") if d.stars else self.plain(d.base)

    def result(self, d: Declaration) -> Node:
        if d.base == "char" and d.stars:
            return self.use("c_char_p")
        return "None" if d.base == "void" and not d.stars else self.argument(d)

    def enum(self, name: str, values: list[tuple[str, int]]) -> str:
        prefix = values[0][0]
        for member, _ in values:
            while not member.startswith(prefix):
                prefix = prefix[:-1]
        prefix = prefix[: prefix.rindex("_") + 1]
        lines = [f"    {member.removeprefix(prefix)} = {value}\n" for member, value in values]
        return f'class {class_name(name)}(IntEnum):\n    """{name}"""\n\n' + "".join(lines)

    def struct(self, name: str, fields: list[Declaration]) -> str:
        pairs = [Group("(", [f'"{d.name}"', self.field(d)], ")") for d in fields]
        lines = "".join(layout(pair, ",", 8) for pair in pairs)
        head = f'class {class_name(name)}(Structure):\n    """{name}"""\n\n    _fields_ = [\n'
        return f"{head}{lines}    ]\n"

    def prototype(self, name: str) -> str:
        result, taken = self.header.functions[name]
        kinds: list[Node] = [f'"{a.name}": {flat(self.argument(a))}' for a in taken]
        pair = Group("(", [self.result(result), Group("{", kinds, "}")], ")")
        return layout((f'"{name.removeprefix("submod_")}": ', pair), ",", 4)

    def module(self) -> str:
        h = self.header
        constants = "".join(
            f"{name.removeprefix('SUBMOD_')} = {value}\n" for name, value in h.constants.items()
        )
        enums = [self.enum(*item) for item in h.enums.items()]
        structs = [self.struct(*item) for item in h.structs.items()]
        prototypes = "".join(self.prototype(name) for name in h.functions)
        table = (
            "# Name without submod_: what it returns, and the arguments by name, in C's order.\n"
            "PROTOTYPES: dict[str, tuple[Any, dict[str, Any]]] = {\n" + prototypes + "}\n"
        )
        used: list[str] = sorted(self.used, key=by_number)
        names: list[Node] = [*used]
        head = (
            '"""The public headers for ctypes. Made by generate_bindings.py: do not edit."""\n\n'
            "from __future__ import annotations\n\n"
            + layout(("from ctypes import ", Group("(", names, ")")))
            + "from enum import IntEnum\nfrom typing import Any\n\n"
        )
        return head + constants + "\n\n" + "\n\n".join([*enums, *structs, table])


def by_number(name: str) -> list[tuple[str, int]]:
    """Sort key that puts c_uint8 before c_uint16, as ruff does."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"([^0-9]+)([0-9]*)", name)]


def in_order(names: list[str]) -> list[str]:
    """Each header after those that it includes."""
    found: list[str] = []
    for name in names:
        below = re.findall(INCLUDE, (HEADERS / name).read_text(encoding="utf-8"))
        found += [other for other in [*in_order(below), name] if other not in found]
    return found


def read_headers() -> Header:
    header = Header()
    umbrella = (HEADERS.parent / "submod.h").read_text(encoding="utf-8")
    for name in in_order(re.findall(INCLUDE, umbrella)):
        header.read((HEADERS / name).read_text(encoding="utf-8"))
    for path in COMPANIONS:
        header.read(path.read_text(encoding="utf-8"))
    return header


def main() -> None:
    parser = argparse.ArgumentParser(description="ctypes declarations from the public headers")
    parser.add_argument("--check", action="store_true", help="only compare with what is there")
    options = parser.parse_args()
    text = Writer(read_headers()).module()
    if not options.check:
        OUTPUT.write_text(text, encoding="utf-8")
    elif not OUTPUT.exists() or OUTPUT.read_text(encoding="utf-8") != text:
        sys.exit(f"{OUTPUT.name} is not what the headers say; run python/{Path(__file__).name}")


if __name__ == "__main__":
    main()
