"""What instructions do, as statements of C over ptx.h. Only what is written here is known: another
opcode, modifier or type is refused by name.

`add.rn.f32` has the name `add`, the modifiers ['rn'] and the type `f32`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from helpers import require_helpers
from operands import REGISTER, VALUE, Operands, is_float
from reading import WIDTH, Instruction, Unknown

COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
ORDERED_INVERSE = {"ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<", "neu": "=="}


@dataclass
class Call:
    """An instruction in its kernel. number: its place in the module's list of instructions."""

    instruction: Instruction
    number: int
    known: Operands
    name: str
    modifiers: list[str]
    type: str

    def __post_init__(self) -> None:
        self.operands = self.instruction.operands

    def read(self, k: int, t: str = "", narrows: bool = False) -> str:
        return self.known.read(self.operands[k], t or self.type, narrows)

    def write(self, value: str, t: str = "", widens: bool = False) -> str:
        return self.known.write(self.operands[0], t or self.type, value, widens)

    def only(self, *modifiers: str) -> None:
        """These modifiers, in this order."""
        if self.modifiers != list(modifiers):
            raise Unknown(f"modifiers {self.modifiers}")

    def takes(self, *types: str) -> None:
        if self.type not in types:
            raise Unknown(f"type {self.type or 'missing'}")

    @property
    def wrapping(self) -> str:
        """The type of integer arithmetic that wraps around."""
        return "u" + self.type[1:]


Translation = Callable[[Call], str]
ANY = -1
OPCODES: dict[str, tuple[Translation, int]] = {}


def opcode(operands: int, *names: str) -> Callable[[Translation], Translation]:
    """operands: how many of them an instruction of these names has, the result among them."""

    def add(f: Translation) -> Translation:
        OPCODES.update(dict.fromkeys(names, (f, operands)))
        return f

    return add


INTEGERS = tuple(f"{k}{n}" for k in "us" for n in (16, 32, 64))
BITS = ("b16", "b32", "b64")
BYTES = ("b8", "u8", "s8")
FLOATS = ("f32", "f64")

# ---- control ----


def label(name: str) -> str:
    return "at_" + name.replace("$", "_")


@opcode(0, "ret", "exit")
def leave(c: Call) -> str:
    c.only()
    c.takes("")
    return "return;"


@opcode(1, "bra")
def branch(c: Call) -> str:
    if c.modifiers not in ([], ["uni"]):
        raise Unknown(f"modifiers {c.modifiers}")
    c.takes("")
    if c.operands[0] not in c.known.labels:
        raise Unknown(f"there is no label {c.operands[0]}")
    return f"goto {label(c.operands[0])};"


@opcode(ANY, "bar")
def barrier(c: Call) -> str:
    if c.modifiers == ["warp", "sync"] and not c.type and len(c.operands) == 1:
        return f"ptx_warp_barrier({c.number}, {c.read(0, 'u32')});"
    if c.modifiers == ["sync"] and not c.type and c.operands == ["0"]:
        return f"(void)ptx_barrier({c.number}, false);"
    is_vote = c.modifiers == ["red", "or"] and c.type == "pred"
    if is_vote and len(c.operands) == 3 and c.operands[1] == "0":
        return c.write(f"ptx_barrier({c.number}, {c.read(2)})")
    raise Unknown("barrier")


@opcode(0, "membar")
def fence(c: Call) -> str:
    c.only("cta")
    c.takes("")
    return ";"  # one thread runs at a time, and all of them see one memory


@opcode(5, "shfl")
def shuffle(c: Call) -> str:
    c.takes("b32")
    kinds = {"up": "PTX_UP", "down": "PTX_DOWN", "bfly": "PTX_BFLY", "idx": "PTX_IDX"}
    if len(c.modifiers) != 2 or c.modifiers[0] != "sync" or c.modifiers[1] not in kinds:
        raise Unknown(f"modifiers {c.modifiers}")
    to = c.operands[0].split("|")
    if len(to) > 2:
        raise Unknown("more than two results")
    call = (
        f"ptx_shuffle({c.number}, {kinds[c.modifiers[1]]}, {c.read(1)}, {c.read(2, 'u32')}, "
        f"{c.read(3, 'u32')}, {c.read(4, 'u32')}, &inside)"
    )
    found = c.known.write(to[1], "pred", "inside") if len(to) > 1 else ""
    return f"bool inside; {c.known.write(to[0], 'b32', call)} {found}"


@opcode(3, "vote")
def vote(c: Call) -> str:
    c.takes("b32")
    if sorted(c.modifiers) != ["ballot", "sync"]:
        raise Unknown(f"modifiers {c.modifiers}")
    return c.write(f"ptx_ballot({c.number}, {c.read(1, 'pred')}, {c.read(2, 'u32')})")


# ---- memory ----

SPACES = ("global", "shared", "local", "param")


def access(c: Call, way: str, address: str, count: int = 1) -> str:
    """`p` points to the memory of one access to so many values."""
    spaces = [m for m in c.modifiers if m in SPACES] or ["generic"]
    if len(spaces) > 1:
        raise Unknown("more than one space")
    size = WIDTH[c.type] // 8 * count
    return (
        f"unsigned char *p = ptx_access({c.number}, PTX_{spaces[0].upper()}, PTX_{way}, "
        f"{c.known.address(address)}, {size});"
    )


def transfer(c: Call, vector: str) -> tuple[list[str], int]:
    """The registers of a load or store, and the bytes of each."""
    c.takes(*BYTES, *BITS, *INTEGERS, *FLOATS)
    vectors = [m for m in c.modifiers if m in ("v2", "v4")]
    rest = [m for m in c.modifiers if m not in (*SPACES, "volatile", *vectors)]
    if rest or len(vectors) > 1:
        raise Unknown(f"modifiers {rest or vectors}")
    count = int(vectors[0][1:]) if vectors else 1
    names = [x.strip() for x in vector.strip("{}").split(",")]
    if len(names) != count or vector.startswith("{") != bool(vectors):
        raise Unknown("the length of a vector")
    if WIDTH[c.type] // 8 * count > 16:
        raise Unknown("more than 16 bytes")
    return names, WIDTH[c.type] // 8


@opcode(2, "ld")
def load(c: Call) -> str:
    names, size = transfer(c, c.operands[0])
    strong = "volatile" in c.modifiers
    spin = "threads_spin(); " if strong else ""
    gets = " ".join(
        c.known.write(x, c.type, f"ptx_get_{c.type}(p + {i * size})", widens=True)
        for i, x in enumerate(names)
    )
    way = "STRONG_LOAD" if strong else "LOAD"
    return f"{spin}{access(c, way, c.operands[1], len(names))} {gets}"


@opcode(2, "st")
def store(c: Call) -> str:
    names, size = transfer(c, c.operands[1])
    puts = " ".join(
        f"ptx_put_{c.type}(p + {i * size}, {c.known.read(x, c.type, narrows=True)});"
        for i, x in enumerate(names)
    )
    way = "STRONG_STORE" if "volatile" in c.modifiers else "STORE"
    return f"{access(c, way, c.operands[0], len(names))} {puts}"


@opcode(3, "atom")
def atomic(c: Call) -> str:
    what = c.modifiers[-1] if c.modifiers else ""
    new = {"add": "was + x", "max": "x > was ? x : was", "min": "x < was ? x : was"}.get(what)
    rest = [m for m in c.modifiers[:-1] if m not in ("global", "shared")]
    if new is None or rest or c.type not in ("u32", "u64"):
        raise Unknown("atomic")
    return (
        f"{access(c, 'ATOMIC', c.operands[1])} {VALUE[c.type]} x = {c.read(2)}, "
        f"was = ptx_get_{c.type}(p); ptx_put_{c.type}(p, {new}); {c.write('was')} "
        "threads_maybe_give_way();"
    )


@opcode(2, "cvta")
def convert_address(c: Call) -> str:
    c.takes("u64")
    if c.modifiers == ["shared"]:
        return c.write(f"ptx_shared_to_generic({c.read(1)})")
    if c.modifiers == ["to", "shared"]:
        return c.write(f"ptx_generic_to_shared({c.read(1)})")
    if c.modifiers in (["global"], ["to", "global"], ["local"], ["to", "local"]):
        return c.write(c.read(1))
    raise Unknown(f"modifiers {c.modifiers}")


# ---- moving ----


def parts(vector: str) -> list[str]:
    names = [x.strip() for x in vector.strip("{}").split(",")]
    if len(names) != 2:
        raise Unknown("a vector of other than two")
    return names


@opcode(2, "mov")
def move(c: Call) -> str:
    c.only()
    c.takes("pred", *BITS, *INTEGERS, *FLOATS)
    if c.operands[0].startswith("{"):
        c.takes("b64")
        low, high = parts(c.operands[0])
        return (
            f"uint64_t x = {c.read(1)}; {c.known.write(low, 'b32', 'x')} "
            f"{c.known.write(high, 'b32', 'x >> 32')}"
        )
    if c.operands[1].startswith("{"):
        c.takes("b64")
        low, high = (c.known.read(x, "b32") for x in parts(c.operands[1]))
        return c.write(f"(uint64_t){low} | (uint64_t){high} << 32")
    return c.write(c.read(1))


@opcode(4, "selp")
def select(c: Call) -> str:
    c.only()
    c.takes(*BITS, *INTEGERS, *FLOATS)
    return c.write(f"{c.read(3, 'pred')} ? {c.read(1)} : {c.read(2)}")


# ---- conversion ----


CONVERTED = ("u8", "s8", *INTEGERS, *FLOATS)


@opcode(2, "cvt")
def convert(c: Call) -> str:
    """cvt.rzi.u32.f64: to u32 from f64."""
    to, source = c.modifiers[-1] if c.modifiers else "", c.type
    how = c.modifiers[:-1]
    c.takes(*CONVERTED)
    if to not in CONVERTED:
        raise Unknown("cvt of one type")
    x = c.read(1, source, narrows=True)
    rounds = {"rni": "nearbyint", "rmi": "floor", "rpi": "ceil", "rzi": "trunc"}
    if is_float(to) and is_float(source):
        if to == source and len(how) == 1 and how[0] in rounds:
            return c.write(f"ptx_{rounds[how[0]]}_{to}({x})", to)
        if how == {("f64", "f32"): [], ("f32", "f64"): ["rn"]}.get((to, source)):
            return c.write(f"({VALUE[to]}){x}", to)
    elif is_float(to) and how == ["rn"]:
        return c.write(f"({VALUE[to]}){x}", to)
    elif how == ["rzi"] and (to, source) in (("s32", "f32"), ("u32", "f64"), ("u64", "f64")):
        return c.write(f"ptx_to_{to}_{source}({x})", to)
    elif not is_float(to) and not is_float(source) and not how:
        return c.write(f"({VALUE[to]}){x}", to, widens=True)
    raise Unknown("conversion")


# ---- comparison ----


@opcode(3, "setp")
def compare(c: Call) -> str:
    if len(c.modifiers) != 1:
        raise Unknown(f"modifiers {c.modifiers}")
    c.takes(*BITS, *INTEGERS, *FLOATS)
    how, (x, y) = c.modifiers[0], (c.read(1), c.read(2))
    if is_float(c.type):
        if how in COMPARED:  # false where one of them is NaN
            value = f"{x} < {y} || {x} > {y}" if how == "ne" else f"{x} {COMPARED[how]} {y}"
        elif how in ORDERED_INVERSE:  # true where one of them is NaN
            value = f"!({x} {ORDERED_INVERSE[how]} {y})"
        elif how == "equ":
            value = f"!({x} < {y} || {x} > {y})"
        elif how == "nan":
            value = f"{x} != {x} || {y} != {y}"
        else:
            raise Unknown(f"comparison {how}")
    elif how in COMPARED and (c.type in INTEGERS or how in ("eq", "ne")):
        value = f"{x} {COMPARED[how]} {y}"
    else:
        raise Unknown(f"comparison {how}")
    return c.write(value, "pred")


@opcode(3, "max", "min")
def extreme(c: Call) -> str:
    c.only()
    if is_float(c.type):
        return c.write(f"ptx_{c.name}_{c.type}({c.read(1)}, {c.read(2)})")
    c.takes(*INTEGERS)
    t = VALUE[c.type]
    sign = ">" if c.name == "max" else "<"
    return f"{t} x = {c.read(1)}, y = {c.read(2)}; {c.write(f'x {sign} y ? x : y')}"


# ---- arithmetic ----


@opcode(2, "rcp")
@opcode(4, "mad", "fma")
@opcode(3, "add", "sub", "mul", "div", "rem")
def arithmetic(c: Call) -> str:
    return of_floats(c) if is_float(c.type) else of_integers(c)


def of_floats(c: Call) -> str:
    c.only("rn")
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    if c.name in signs:
        return c.write(f"{c.read(1)} {signs[c.name]} {c.read(2)}")
    if c.name == "fma":
        return c.write(f"ptx_fma_{c.type}({c.read(1)}, {c.read(2)}, {c.read(3)})")
    if c.name == "rcp":
        return c.write(f"1 / {c.read(1)}")
    raise Unknown("of floats")


def product(c: Call) -> tuple[str, str]:
    """Its value and its type."""
    t = c.type
    if c.modifiers == ["lo"]:
        return f"(uint64_t){c.read(1, c.wrapping)} * {c.read(2, c.wrapping)}", t
    if c.modifiers == ["wide"] and t in ("u16", "s16", "u32", "s32"):
        wide = t[0] + str(2 * WIDTH[t])
        return f"({VALUE[wide]}){c.read(1)} * {c.read(2)}", wide
    if c.modifiers == ["hi"] and t == "u32":
        return f"((uint64_t){c.read(1)} * {c.read(2)}) >> 32", t
    raise Unknown("multiplication")


def of_integers(c: Call) -> str:
    c.takes(*INTEGERS)
    if c.name in ("add", "sub"):
        c.only()
        sign = "+" if c.name == "add" else "-"
        return c.write(f"{c.read(1, c.wrapping)} {sign} {c.read(2, c.wrapping)}")
    if c.name in ("mul", "mad"):
        value, t = product(c)
        if c.name == "mad":
            wrapping = "u" + t[1:]
            value = f"({REGISTER[t]})({value}) + {c.read(3, wrapping)}"
        return c.write(value, t)
    if c.name in ("div", "rem") and c.type in ("u32", "u64"):
        c.only()
        return c.write(f"ptx_{c.name}_{c.type}({c.read(1)}, {c.read(2)})")
    raise Unknown("of integers")


@opcode(2, "abs", "neg")
def sign(c: Call) -> str:
    c.only()
    if is_float(c.type):
        return c.write(f"ptx_{c.name}_{c.type}({c.read(1)})")
    c.takes("s32", "s64")
    minus = f"0 - {c.read(1, c.wrapping)}"
    if c.name == "neg":
        return c.write(minus)
    return c.write(f"{c.read(1)} < 0 ? {minus} : {c.read(1, c.wrapping)}")


# ---- bits ----


@opcode(3, "and", "or", "xor")
def combine(c: Call) -> str:
    c.only()
    c.takes(*BITS, "pred")
    sign = {"and": "&", "or": "|", "xor": "^"}[c.name]
    return c.write(f"{c.read(1)} {sign} {c.read(2)}")


@opcode(2, "not")
def invert(c: Call) -> str:
    c.only()
    c.takes(*BITS, "pred")
    return c.write(f"!{c.read(1)}" if c.type == "pred" else f"~{c.read(1)}")


@opcode(3, "shl", "shr")
def shift(c: Call) -> str:
    c.only()
    c.takes(*(BITS if c.name == "shl" else (*BITS, *INTEGERS)))
    return c.write(f"ptx_{c.name}_{c.type}({c.read(1)}, {c.read(2, 'u32')})")


@opcode(5, "bfi")
def insert_bits(c: Call) -> str:
    c.only()
    c.takes("b32", "b64")
    return c.write(
        f"ptx_bfi_{c.type}({c.read(1)}, {c.read(2)}, {c.read(3, 'u32')}, {c.read(4, 'u32')})"
    )


@opcode(3, "bmsk")
def bit_mask(c: Call) -> str:
    c.only("clamp")
    c.takes("b32")
    return c.write(f"ptx_bmsk_clamp({c.read(1, 'u32')}, {c.read(2, 'u32')})")


@opcode(2, "clz", "popc")
def count_bits(c: Call) -> str:
    c.only()
    c.takes("b32")
    return c.write(f"ptx_{c.name}_b32({c.read(1)})", "u32")


def translate(i: Instruction, number: int, known: Operands) -> str:
    """The statements of an instruction, without its guard."""
    name, *rest = i.opcode.split(".")
    t = rest.pop() if rest and rest[-1] in WIDTH else ""
    if name not in OPCODES:
        raise Unknown("there is no such instruction here")
    write, count = OPCODES[name]
    if len(i.operands) != count and count != ANY:
        raise Unknown(f"{count} operands are known, not {len(i.operands)}")
    code = write(Call(i, number, known, name, rest, t))
    require_helpers(code)
    return code
