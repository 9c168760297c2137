"""Operands of PTX as expressions of C: registers, constants, special registers, addresses.

A register of type .b32 is a uint32_t, whatever instructions take it for; .f32 is a float, .pred a
bool. Reading it as a type of an instruction is a conversion of C that changes no bit.
"""

from __future__ import annotations

import re

from reading import WIDTH, Unknown

REGISTER = {"pred": "bool", "f32": "float", "f64": "double"}
VALUE = {"pred": "bool", "f32": "float", "f64": "double"}
for width in (8, 16, 32, 64):
    for kind in "bus":
        REGISTER[f"{kind}{width}"] = f"uint{width}_t"
        VALUE[f"{kind}{width}"] = f"{'' if kind == 's' else 'u'}int{width}_t"

SPECIAL = {
    f"%{what}.{d}": f"ptx_{what}_{d}()"
    for what in ("tid", "ntid", "ctaid", "nctaid")
    for d in "xyz"
}
SPECIAL["%laneid"] = "ptx_laneid()"
for which in ("eq", "lt", "le", "gt", "ge"):
    SPECIAL[f"%lanemask_{which}"] = f"ptx_lanemask_{which}()"


def is_float(t: str) -> bool:
    return t in ("f32", "f64")


class Operands:
    """The names that a kernel knows: its registers by scope, the addresses of its variables, its
    labels."""

    def __init__(self, symbols: dict[str, str], labels: set[str]) -> None:
        self.scopes: list[dict[str, str]] = [{}]
        self.symbols = symbols
        self.labels = labels

    def declare(self, t: str, names: list[str]) -> None:
        self.scopes[-1].update(dict.fromkeys(names, t))

    def type_of(self, name: str) -> str | None:
        return next((s[name] for s in reversed(self.scopes) if name in s), None)

    @staticmethod
    def c_name(register: str) -> str:
        return register[1:] if register.startswith("%") else f"own_{register.replace('$', '_')}"

    def read(self, operand: str, t: str, narrows: bool = False) -> str:
        """The operand as a value of type t. narrows: a wider register gives its low bits."""
        if operand in SPECIAL:
            if t not in ("b32", "u32", "s32"):
                raise Unknown(f"{operand} is .u32, not .{t}")
            return f"(({VALUE[t]}){SPECIAL[operand]})"
        register = self.type_of(operand)
        if register is None:
            return self.constant(operand, t)
        name = self.c_name(operand)
        if register == t or (register != "pred" and REGISTER[register] == VALUE[t]):
            return name
        same = WIDTH[register] == WIDTH[t]
        if "pred" in (register, t) or not (same or (narrows and WIDTH[register] > WIDTH[t])):
            raise Unknown(f"{operand} is .{register}, not .{t}")
        if is_float(register):
            return f"(({VALUE[t]})ptx_bits_{register}({name}))"
        if is_float(t):
            return f"ptx_from_bits_{t}(({REGISTER['b' + t[1:]]}){name})"
        return f"(({VALUE[t]}){name})"

    def constant(self, operand: str, t: str) -> str:
        m = re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", operand)
        if m and t == "f32":
            return f"ptx_from_bits_f32(0x{m[1]}U)"
        m = re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", operand)
        if m and t == "f64":
            return f"ptx_from_bits_f64(0x{m[1]}U)"
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", operand) and not is_float(t):
            value = int(operand.rstrip("U"), 0)
            if t == "pred":
                return "true" if value else "false"
            return f"(({VALUE[t]})0x{value % 2**64:x}U)"
        m = re.fullmatch(r"([\w$]+)(?:\+(\d+))?", operand)
        if m and m[1] in self.symbols and not is_float(t):
            return f"(({VALUE[t]})({self.symbols[m[1]]} + {m[2] or 0}))"
        raise Unknown(f"operand {operand} as .{t}")

    def write(self, operand: str, t: str, value: str, widens: bool = False) -> str:
        """Puts a value of type t there. widens: a wider register gets it extended as t says."""
        if operand == "_":
            return f"(void)({value});"
        register = self.type_of(operand)
        if register is None:
            raise Unknown(f"there is no register {operand}")
        name = self.c_name(operand)
        same = WIDTH[register] == WIDTH[t]
        if ("pred" in (register, t) and register != t) or not (
            same or (widens and WIDTH[register] > WIDTH[t] and not is_float(register))
        ):
            raise Unknown(f"{operand} is .{register}, not .{t}")
        if is_float(register) and not is_float(t):
            return f"{name} = ptx_from_bits_{register}(({REGISTER[t]})({value}));"
        if is_float(t) and not is_float(register):
            return f"{name} = ptx_bits_{t}({value});"
        if same and not t.startswith("s"):
            return f"{name} = ({REGISTER[register]})({value});"
        return f"{name} = ({REGISTER[register]})({VALUE[t]})({value});"

    def address(self, operand: str) -> str:
        """`[%rd1+8]`, `[name]`, `[16]`: its number within its space."""
        m = re.fullmatch(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]", operand)
        if not m:
            raise Unknown(f"address {operand}")
        offset = f"(uint64_t){m[2]}" if m[2] else "0"
        register = self.type_of(m[1])
        if register in ("b32", "u32", "b64", "u64"):
            return f"{self.c_name(m[1])} + {offset}"
        if m[1] in self.symbols:
            return f"{self.symbols[m[1]]} + {offset}"
        if m[1].isdigit():
            return f"{m[1]}U + {offset}"
        raise Unknown(f"address {operand}")
