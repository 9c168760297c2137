"""Reads PTX: kernels with their parameters, declarations and instructions, and where in the source
each instruction comes from. Knows the layout of the language, not what instructions do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, Union

WIDTH = {"b8": 8, "u8": 8, "s8": 8, "pred": 1}
for kind in "bus":
    WIDTH.update({f"{kind}16": 16, f"{kind}32": 32, f"{kind}64": 64})
WIDTH.update({"f32": 32, "f64": 64})


class Unknown(Exception):
    """Something that is not translated; says what."""


class Place(NamedTuple):
    """Where code was in the source, and from where it was called if it was inlined."""

    file: str
    line: int
    called_from: str


NOWHERE = Place("", 0, "")


@dataclass
class Instruction:
    """`@!%p1 ld.global.u32 %r1, [%rd2+4];` has guard, opcode and operands."""

    line: int
    text: str
    guard: str
    opcode: str
    operands: list[str]
    place: Place


@dataclass
class Label:
    name: str


@dataclass
class Registers:
    """`.reg .b32 %r<3>, %x;`"""

    type: str
    names: list[str]


@dataclass
class Brace:
    """The beginning or the end of a scope of registers."""

    opens: bool


Statement = Union[Instruction, Label, Registers, Brace]


@dataclass
class Variable:
    """A parameter, or an array in shared or local memory."""

    name: str
    align: int
    bytes: int


@dataclass
class Kernel:
    name: str
    parameters: list[Variable]
    shared: list[Variable] = field(default_factory=list)
    local: list[Variable] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)


@dataclass
class Module:
    architecture: int
    dynamic_shared: list[str]
    kernels: list[Kernel]


def without_comments(text: str) -> str:
    """Lines keep their numbers."""
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def declared(text: str) -> Variable:
    """`.align 8 .b8 name[576]`, `.u32 name`, `.u64 .ptr .global .align 4 name`."""
    m = re.fullmatch(
        r"(?:\.align\s+(\d+)\s+)?\.(\w+)(?:\s+\.ptr(?:\s+\.\w+)*(?:\s+\.align\s+\d+)?)?"
        r"\s+([\w$]+)(?:\[(\d+)\])?",
        text.strip(),
    )
    if not m or m[2] not in WIDTH:
        raise Unknown(f"declaration {text.strip()}")
    size = WIDTH[m[2]] // 8
    return Variable(m[3], int(m[1] or size), size * int(m[4] or 1))


class Places:
    """The .loc lines of a kernel. An inlined one names the place of its call, which is a .loc
    before it and may be inlined itself."""

    def __init__(self, files: dict[int, str], root: str) -> None:
        self.files = files
        self.root = root
        self.parent: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        self.now: tuple[int, ...] | None = None

    def read(self, text: str) -> None:
        m = re.match(r"\.loc\s+(\d+) (\d+) (\d+)(?:.*inlined_at (\d+) (\d+) (\d+))?", text)
        if not m:
            raise Unknown(text)
        numbers = [int(x) for x in m.groups() if x is not None]
        self.now = tuple(numbers[:3])
        self.parent[self.now] = tuple(numbers[3:]) if len(numbers) > 3 else None

    def is_ours(self, file: str) -> bool:
        """The layer under the kernels and CUDA's headers do what somebody else asked for."""
        return file.startswith(self.root) and not file.endswith("gpu/device.h")

    def place(self) -> Place:
        chain: list[tuple[str, int]] = []
        at, seen = self.now, set()
        while at is not None and at not in seen:
            seen.add(at)
            chain.append((self.files.get(at[0], ""), at[1]))
            at = self.parent.get(at)
        ours = [(f[len(self.root) :].lstrip("/"), n) for f, n in chain if self.is_ours(f) and n > 0]
        ours = ours or [(f.rsplit("/", 1)[-1], n) for f, n in chain[:1]]
        if not ours:
            return NOWHERE
        callers = [f"{f}:{n}" for f, n in ours[1:] if not f.endswith(".cu")]
        return Place(ours[0][0], ours[0][1], ", ".join(callers))


def split_operands(text: str) -> list[str]:
    """At commas outside of braces."""
    return [x.strip() for x in re.split(r",(?![^{]*\})", text)] if text else []


def instruction(text: str, line: int, place: Place) -> Instruction:
    m = re.fullmatch(r"(?:@(!?%?[\w$]+)\s+)?([a-z][\w.:]*)\s*(.*)", text)
    if not m:
        raise Unknown(text)
    return Instruction(line, text, m[1] or "", m[2], split_operands(m[3]), place)


def registers(text: str) -> Registers:
    m = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text)
    if not m or m[1] not in WIDTH:
        raise Unknown(text)
    names: list[str] = []
    for part in m[2].split(","):
        many = re.fullmatch(r"\s*(%?[\w$]+)<(\d+)>\s*", part)
        names += [f"{many[1]}{i}" for i in range(int(many[2]))] if many else [part.strip()]
    return Registers(m[1], names)


def statements(body: str, first_line: int) -> list[tuple[int, str]]:
    """What ends in a semicolon, labels with their colon, braces, and .loc lines."""
    found, at, line = [], 0, first_line
    pattern = re.compile(r"\s+|[{}]|[\w$]+:|\.loc[^\n]*|[^;{}]*(?:\{[^{}]*\}[^;{}]*)*;")
    while at < len(body):
        m = pattern.match(body, at)
        if not m:
            raise Unknown(f"line {line}: {body[at : at + 60]!r}")
        text = " ".join(m[0].rstrip(";").split())
        if text:
            found.append((line, text))
        line += m[0].count("\n")
        at = m.end()
    return found


def fill(kernel: Kernel, body: str, first_line: int, places: Places) -> None:
    for line, text in statements(body, first_line):
        try:
            if text in "{}":
                kernel.body.append(Brace(text == "{"))
            elif text.endswith(":"):
                kernel.body.append(Label(text[:-1]))
            elif text.startswith(".loc "):
                places.read(text)
            elif text.startswith(".reg"):
                kernel.body.append(registers(text))
            elif text.startswith(".shared"):
                kernel.shared.append(declared(text[len(".shared") :]))
            elif text.startswith(".local"):
                kernel.local.append(declared(text[len(".local") :]))
            elif text.startswith(".pragma"):
                pass  # hints about loops
            else:
                kernel.body.append(instruction(text, line, places.place()))
        except Unknown as e:
            raise Unknown(f"line {line}: {text}: {e}") from e


def end_of_block(text: str, at: int) -> int:
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def read(text: str, root: str) -> Module:
    """root: the folder that places are counted from."""
    target = re.search(r"^\.target\s+sm_(\d+)", text, re.M)
    if not target:
        raise Unknown("no .target")
    files = {int(m[1]): m[2] for m in re.finditer(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.M)}
    text = without_comments(text)
    if re.search(r"^\s*(\.visible\s+|\.weak\s+)*\.func\b", text, re.M):
        raise Unknown(".func: functions that are not inlined")
    dynamic = re.findall(r"\.extern\s+\.shared\s+[^;]*?([\w$]+)\[\]\s*;", text)
    kernels = []
    for head in re.finditer(r"\.entry\s+([\w$]+)\s*\((.*?)\)([^{;]*)\{", text, re.S):
        parameters = [declared(p.strip()[len(".param") :]) for p in head[2].split(",") if p.strip()]
        kernel = Kernel(head[1], parameters)
        end = end_of_block(text, head.end())
        first_line = 1 + text.count("\n", 0, head.end())
        fill(kernel, text[head.end() : end - 1], first_line, Places(files, root))
        kernels.append(kernel)
    return Module(int(target[1]), dynamic, kernels)
