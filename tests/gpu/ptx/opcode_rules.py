"""What single instructions give, by the rules of NVIDIA's manual, in Python's integers and
fractions: families of forms, each at all types, with numbers at the ends of their range and
random ones.

A family yields a Form: its kernel in PTX and the result for three operands of 64 bits.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Callable

ROWS = 64  # of operands for each form: whole warps
PARAMETER = (0x8899AABBCCDDEEFF, 0xF123456789ABCDE7)  # what test_opcodes.c passes as `block`

INTEGERS = [f"{k}{n}" for n in (16, 32, 64) for k in "us"]
BITS = ["b16", "b32", "b64"]
FLOATS = ["f32", "f64"]
PREFIX = {"pred": "p", "f32": "f", "f64": "fd", "8": "h", "16": "h", "32": "r", "64": "rd"}


def width(t: str) -> int:
    return 1 if t == "pred" else int(t[1:])


def register(t: str) -> str:
    return PREFIX.get(t) or PREFIX[t[1:]]


@dataclass
class Form:
    """takes: the types of the operands, which say what numbers are drawn."""

    text: str
    body: str
    result: str  # the register's prefix
    takes: list[str]
    rule: Callable[[int, int, int], int]  # of the bits to the bits of the result
    nan: str = ""  # f32, f64: any NaN is as good as another

    @property
    def kernel(self) -> str:
        return "by_rule_" + self.text.replace(".", "_")


# ---- numbers ----


def whole(bits: int, t: str) -> int:
    """Low bits as a number of type t."""
    bits %= 1 << width(t)
    return bits - (1 << width(t)) if t[0] == "s" and bits >> (width(t) - 1) else bits


def real(bits: int, t: str) -> float:
    n = width(t) // 8
    return float(struct.unpack("<f" if n == 4 else "<d", (bits % 256**n).to_bytes(n, "little"))[0])


def bits_of(x: float, t: str) -> int:
    """Of a number that the type has."""
    return int.from_bytes(struct.pack("<f" if t == "f32" else "<d", x), "little")


def rounded(x: Fraction, t: str, negative_zero: bool = False) -> int:
    """To the nearest, ties to even; the bits."""
    digits, lowest, highest = (24, -149, 128) if t == "f32" else (53, -1074, 1024)
    sign = (1 if x < 0 or (x == 0 and negative_zero) else 0) << (width(t) - 1)
    x = abs(x)
    if x == 0:
        return sign
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > x
    unit = max(exponent - digits + 1, lowest)
    scaled = x / Fraction(2) ** unit
    mantissa = round(scaled)  # Python rounds ties to even
    if mantissa * Fraction(2) ** unit >= Fraction(2) ** highest:
        return sign | bits_of(math.inf, t)
    return sign | bits_of(math.ldexp(mantissa, unit), t)


def is_minus(x: float) -> bool:
    return math.copysign(1, x) < 0


def quotient(x: float, y: float, t: str) -> int:
    if math.isnan(x) or math.isnan(y) or (x == 0 and y == 0) or (math.isinf(x) and math.isinf(y)):
        return bits_of(math.nan, t)
    minus = is_minus(x) != is_minus(y)
    if y == 0 or math.isinf(x):
        return bits_of(-math.inf if minus else math.inf, t)
    return rounded(Fraction(x) / Fraction(y) if math.isfinite(y) else Fraction(0), t, minus)


def fused(x: float, y: float, z: float, t: str) -> int:
    """x * y + z with one rounding."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return bits_of(x * y + z, t)
    if not math.isfinite(z):
        return bits_of(z, t)
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    minus = (is_minus(x) != is_minus(y)) and is_minus(z) and (x == 0 or y == 0) and z == 0
    return rounded(exact, t, minus)


def extreme(name: str, x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    ordered = sorted((x, y), key=lambda v: (v, math.copysign(1, v)))
    return ordered[1] if name == "max" else ordered[0]


def special(t: str) -> list[int]:
    if t in FLOATS:
        # ends of the range, halves, and what is next to the ends of integers
        most = (2 - 2.0**-23) * 2.0**127 if t == "f32" else (2 - 2.0**-52) * 2.0**1023
        least = 2.0**-149 if t == "f32" else 2.0**-1074
        numbers = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 1 + 2.0**-23, most, least, 2.0**31, 2.0**32]
        numbers += [2.0**63, 2.0**64, 2.0**-126, math.inf, 0.75, 16777215.0]
        return [bits_of(s * x, t) for x in numbers for s in (1, -1)] + [bits_of(math.nan, t)]
    n = width(t)
    if t == "pred":
        return [0, 1, 1 << 40]
    return [0, 1, 2, 3, 5, n - 1, n, n + 1, *((1 << (n - 1)) + k for k in (-1, 0, 1)), -2, -1]


def drawn(t: str, rng: random.Random) -> int:
    """Bits above those of the type are random: no instruction may look at them."""
    if t == "by":  # of shifts
        return rng.choice([0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 2**32 - 1])
    n = width(t)
    if t == "pred":
        return rng.choice(special(t))
    low = rng.choice(special(t)) if rng.random() < 0.5 else rng.getrandbits(rng.randint(1, n))
    if t in FLOATS and rng.random() < 0.4:
        low = rounded(Fraction(rng.randint(-(2**24), 2**24), 2 ** rng.randint(0, 24)), t)
    return low % (1 << n) | (rng.getrandbits(64) >> n << n)


def rows(form: Form) -> list[tuple[int, int, int, int]]:
    """Three operands and the result, a row each; the same for the same form."""
    rng = random.Random(form.text)
    found = []
    for _ in range(ROWS):
        x = [drawn(t, rng) for t in form.takes]
        if len(x) > 1 and form.takes[0] == form.takes[1] and rng.random() < 0.2:
            x[1] = x[0]
        a, b, c = [*x, 0, 0, 0][:3]
        found.append((a, b, c, form.rule(a, b, c) % 2**64))
    return found


# ---- families ----


def simple(text: str, t: str, takes: list[str], rule: Callable[..., int], to: str = "") -> Form:
    """Operands in registers, the result in one of type `to`."""
    to = to or t
    count = len(takes)
    types = ["b32" if x == "by" else x for x in takes]
    names = [f"%{register(to)}0", *(f"%{register(x)}{k + 1}" for k, x in enumerate(types))]

    def masked(a: int, b: int, c: int) -> int:
        return rule(*(a, b, c)[:count]) % (1 << width(to))

    return Form(text, f"{text} {', '.join(names)};", register(to), takes, masked)


def of_integers() -> Iterator[Form]:
    for t in INTEGERS:

        def at(f: Callable[..., int], t: str = t) -> Callable[..., int]:
            return lambda *x: f(*(whole(v, t) for v in x))

        yield simple(f"add.{t}", t, [t, t], at(lambda x, y: x + y))
        yield simple(f"sub.{t}", t, [t, t], at(lambda x, y: x - y))
        yield simple(f"mul.lo.{t}", t, [t, t], at(lambda x, y: x * y))
        yield simple(f"mad.lo.{t}", t, [t, t, t], at(lambda x, y, z: x * y + z))
        yield simple(f"max.{t}", t, [t, t], at(max))
        yield simple(f"min.{t}", t, [t, t], at(min))
        if width(t) < 64:
            wide = f"{t[0]}{2 * width(t)}"
            yield simple(f"mul.wide.{t}", t, [t, t], at(lambda x, y: x * y), wide)
        if t in ("s32", "s64"):
            yield simple(f"abs.{t}", t, [t], at(abs))
            yield simple(f"neg.{t}", t, [t], at(lambda x: -x))
        if t in ("u32", "u64"):
            n = width(t)
            yield simple(f"div.{t}", t, [t, t], at(lambda x, y, n=n: x // y if y else (1 << n) - 1))
            yield simple(f"rem.{t}", t, [t, t], at(lambda x, y: x % y if y else x))
    yield simple("mul.hi.u32", "u32", ["u32", "u32"], lambda x, y: x % 2**32 * (y % 2**32) >> 32)


def of_bits() -> Iterator[Form]:
    for t in [*BITS, "pred"]:

        def at(f: Callable[..., int], t: str = t) -> Callable[..., int]:
            def truth(*x: int) -> int:
                return f(*(int(v != 0) for v in x))

            return truth if t == "pred" else f

        yield simple(f"and.{t}", t, [t, t], at(lambda x, y: x & y))
        yield simple(f"or.{t}", t, [t, t], at(lambda x, y: x | y))
        yield simple(f"xor.{t}", t, [t, t], at(lambda x, y: x ^ y))
        yield simple(f"not.{t}", t, [t], at(lambda x: ~x))
    for t in BITS:
        yield simple(f"shl.{t}", t, [t, "by"], lambda x, by: x << min(by, 64))
    for t in [*BITS, *INTEGERS]:
        yield simple(f"shr.{t}", t, [t, "by"], lambda x, by, t=t: whole(x, t) >> min(by, 64))
    yield simple("clz.b32", "b32", ["b32"], lambda x: 32 - (x % 2**32).bit_length())
    yield simple("popc.b32", "b32", ["b32"], lambda x: bin(x % 2**32).count("1"))
    yield simple(
        "bmsk.clamp.b32", "b32", ["by", "by"], lambda at, n: ((1 << min(n, 32)) - 1) << min(at, 32)
    )
    for t in ("b32", "b64"):
        n = width(t)

        def inserted(x: int, y: int, by: int, n: int = n) -> int:
            at = by & 0xFF
            ones = 0xFF << at if at < n else 0
            return ((y & ~ones) | ((x << min(at, 64)) & ones)) % (1 << n)

        r = register(t)
        body = f"bfi.{t} %{r}0, %{r}1, %{r}2, %r3, 8;"
        yield Form(f"bfi.{t}", body, r, [t, t, "by"], inserted)


def of_floats() -> Iterator[Form]:
    for t in FLOATS:

        def at(f: Callable[..., int], t: str = t) -> Callable[..., int]:
            return lambda *x: f(*(real(v, t) for v in x), t)

        forms = [
            simple(f"add.rn.{t}", t, [t, t], at(lambda x, y, t: fused(x, 1.0, y, t))),
            simple(f"sub.rn.{t}", t, [t, t], at(lambda x, y, t: fused(x, 1.0, -y, t))),
            simple(f"mul.rn.{t}", t, [t, t], at(lambda x, y, t: times(x, y, t))),
            simple(f"div.rn.{t}", t, [t, t], at(quotient)),
            simple(f"rcp.rn.{t}", t, [t], at(lambda x, t: quotient(1.0, x, t))),
            simple(f"fma.rn.{t}", t, [t, t, t], at(fused)),
            simple(f"max.{t}", t, [t, t], at(lambda x, y, t: bits_of(extreme("max", x, y), t))),
            simple(f"min.{t}", t, [t, t], at(lambda x, y, t: bits_of(extreme("min", x, y), t))),
            simple(f"abs.{t}", t, [t], at(lambda x, t: bits_of(abs(x), t))),
            simple(f"neg.{t}", t, [t], at(lambda x, t: bits_of(-x, t))),
        ]
        for how, f in (
            ("rni", round),
            ("rmi", math.floor),
            ("rpi", math.ceil),
            ("rzi", math.trunc),
        ):

            def nearest(x: float, t: str, f: Callable[[float], int] = f) -> int:
                return (
                    rounded(Fraction(f(x)), t, is_minus(x)) if math.isfinite(x) else bits_of(x, t)
                )

            forms.append(simple(f"cvt.{how}.{t}.{t}", t, [t], at(nearest)))
        for form in forms:
            form.nan = t
            yield form


def times(x: float, y: float, t: str) -> int:
    if not (math.isfinite(x) and math.isfinite(y)):
        return bits_of(x * y, t)
    return rounded(Fraction(x) * Fraction(y), t, is_minus(x) != is_minus(y))


def conversions() -> Iterator[Form]:
    whole_types = ["u8", "s8", *INTEGERS]
    for to, source in product(whole_types, whole_types):
        # a register is wider than 8 bits: the result is extended as its type says
        held = "b16" if width(to) == 8 else to
        text = f"cvt.{to}.{source}"
        rule = lambda x, to=to, source=source: whole(whole(x, source), to)  # noqa: E731
        form = simple(text, to, ["b16" if width(source) == 8 else source], rule, held)
        yield form
    for to, source in product(FLOATS, INTEGERS):
        rule = lambda x, to=to, source=source: rounded(Fraction(whole(x, source)), to)  # noqa: E731
        yield simple(f"cvt.rn.{to}.{source}", to, [source], rule)
    for text, to, source in (("cvt.f64.f32", "f64", "f32"), ("cvt.rn.f32.f64", "f32", "f64")):

        def other(x: int, to: str = to, source: str = source) -> int:
            v = real(x, source)
            return rounded(Fraction(v), to, is_minus(v)) if math.isfinite(v) else bits_of(v, to)

        form = simple(text, to, [source], other)
        form.nan = to
        yield form
    for to, source, nan in (("s32", "f32", 0), ("u32", "f64", 1 << 31), ("u64", "f64", 1 << 63)):

        def clamped(x: int, to: str = to, source: str = source, nan: int = nan) -> int:
            v, n = real(x, source), width(to)
            if math.isnan(v):
                return nan
            least, most = (
                (-(1 << (n - 1)), (1 << (n - 1)) - 1) if to[0] == "s" else (0, (1 << n) - 1)
            )
            return (
                math.trunc(min(max(v, least), most))
                if math.isinf(v)
                else min(max(math.trunc(v), least), most)
            )

        yield simple(f"cvt.rzi.{to}.{source}", to, [source], clamped)


COMPARE: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


def comparisons() -> Iterator[Form]:
    for how, t in product(COMPARE, [*INTEGERS, *BITS]):
        if t[0] != "b" or how in ("eq", "ne"):
            rule = lambda x, y, f=COMPARE[how], t=t: int(f(whole(x, t), whole(y, t)))  # noqa: E731
            yield simple(f"setp.{how}.{t}", t, [t, t], rule, "pred")
    for how, t, unordered in product(COMPARE, FLOATS, (False, True)):

        def rule_of(
            x: int,
            y: int,
            f: Callable[[float, float], bool] = COMPARE[how],
            t: str = t,
            u: bool = unordered,
        ) -> int:
            v, w = real(x, t), real(y, t)
            return int(u if math.isnan(v) or math.isnan(w) else f(v, w))

        yield simple(f"setp.{how}{'u' if unordered else ''}.{t}", t, [t, t], rule_of, "pred")
    for t in FLOATS:
        some = lambda x, y, t=t: int(math.isnan(real(x, t)) or math.isnan(real(y, t)))  # noqa: E731
        yield simple(f"setp.nan.{t}", t, [t, t], some, "pred")


def moves() -> Iterator[Form]:
    for t in [*BITS, *INTEGERS, *FLOATS]:
        yield simple(f"mov.{t}", t, [t], lambda x: x)
        yield simple(f"selp.{t}", t, [t, t, "pred"], lambda x, y, p: x if p else y)
    yield simple("mov.pred", "pred", ["pred"], lambda x: int(x != 0))


# ---- memory ----

WHERE = {"global": "%rd8", "shared": "%r5", "local": "own", "": "%rd8", "param": "block"}
KINDS = ["b8", "u8", "s8", *BITS, *INTEGERS, *FLOATS]


def both(x: int, y: int) -> int:
    return (x * 31 + y) % 2**64


def at_bytes(x: int, y: int, at: int, n: int) -> int:
    """n bits of two numbers in memory, from byte `at` on."""
    return ((y % 2**64) << 64 | x % 2**64) >> (8 * at) & ((1 << n) - 1)


def spaced(space: str) -> str:
    return f".{space}" if space else ""


def loads() -> Iterator[Form]:
    for space, volatile, t in product(WHERE, ("", ".volatile"), KINDS):
        if volatile and space not in ("global", "shared"):
            continue
        s, a, n = spaced(space), WHERE[space], width(t)
        text = f"ld{volatile}{s}.{t}"
        fill = f"st{s}.u64 [{a}], %rd1; st{s}.u64 [{a}+8], %rd2; " if space != "param" else ""
        to = t if t in FLOATS else "b64"

        def rule(
            x: int, y: int, _: int, t: str = t, space: str = space, n: int = n, to: str = to
        ) -> int:
            x, y = PARAMETER if space == "param" else (x, y)
            return whole(at_bytes(x, y, n // 8, n), t) % (1 << width(to))

        body = f"{fill}{text} %{register(to)}0, [{a}+{n // 8}];"
        yield Form(text, body, register(to), ["b64", "b64"], rule)


def stores() -> Iterator[Form]:
    for space, volatile, t in product(WHERE, ("", ".volatile"), KINDS):
        if space == "param" or (volatile and space not in ("global", "shared")):
            continue
        s, a, n = spaced(space), WHERE[space], width(t)
        text = f"st{volatile}{s}.{t}"
        source = f"%{register(t)}3" if t in FLOATS else "%rd3"

        def rule(x: int, y: int, z: int, n: int = n) -> int:
            ones = ((1 << n) - 1) << n
            memory = ((y << 64 | x) & ~ones) | ((z << n) & ones)
            return both(memory % 2**64, memory >> 64)

        body = (
            f"st{s}.u64 [{a}], %rd1; st{s}.u64 [{a}+8], %rd2; {text} [{a}+{n // 8}], {source};"
            f" ld{s}.u64 %rd0, [{a}]; ld{s}.u64 %rd4, [{a}+8]; mad.lo.s64 %rd0, %rd0, 31, %rd4;"
        )
        yield Form(text, body, "rd", ["b64", "b64", "b64"], rule)


def vectors() -> Iterator[Form]:
    """All values of a vector are put together: as they came, four times 31 apart."""
    for space, count, t in product(
        WHERE, (2, 4), ["u16", "u32", "f32", "u64", "f64", "b32", "b64"]
    ):
        n = width(t)
        if n * count > 128:
            continue
        s, a, r = spaced(space), WHERE[space], register(t)
        wide = {
            "h": "cvt.u64.u16",
            "r": "cvt.u64.u32",
            "f": "mov.b32",
            "rd": "mov.b64",
            "fd": "mov.b64",
        }[r]
        names = ", ".join(f"%{r}{k}" for k in range(4)[:count])
        text = f"ld{s}.v{count}.{t}"
        fill = f"st{s}.u64 [{a}], %rd1; st{s}.u64 [{a}+8], %rd2; " if space != "param" else ""
        body = f"{fill}{text} {{{names}}}, [{a}]; mov.u64 %rd4, 0;"
        for k in range(count):
            one = (
                f"{wide} %rd5, %{r}{k};"
                if r != "f"
                else f"mov.b32 %r4, %f{k}; cvt.u64.u32 %rd5, %r4;"
            )
            body += f" {one} mad.lo.s64 %rd4, %rd4, 31, %rd5;"

        def rule(x: int, y: int, _: int, space: str = space, n: int = n, count: int = count) -> int:
            x, y = PARAMETER if space == "param" else (x, y)
            total = 0
            for k in range(count):
                total = both(total, at_bytes(x, y, k * n // 8, n))
            return total

        yield Form(text, body + " mov.u64 %rd0, %rd4;", "rd", ["b64", "b64"], rule)
        if space == "param":
            continue
        text = f"st{s}.v{count}.{t}"
        names = ", ".join(f"%{r}{k}" for k in (1, 2, 3, 1)[:count])
        after = 8 if n * count == 128 else 0
        body = (
            f"st{s}.u64 [{a}], %rd1; st{s}.u64 [{a}+8], %rd2; {text} [{a}], {{{names}}};"
            f" ld{s}.u64 %rd0, [{a}]; ld{s}.u64 %rd4, [{a}+{after}];"
            " mad.lo.s64 %rd0, %rd0, 31, %rd4;"
        )

        def stored(
            x: int, y: int, z: int, n: int = n, count: int = count, after: int = after
        ) -> int:
            memory = y << 64 | x
            for k, v in enumerate((x, y, z, x)[:count]):
                ones = ((1 << n) - 1) << (k * n)
                memory = (memory & ~ones) | ((v << (k * n)) & ones)
            return both(memory % 2**64, memory >> (8 * after) & (2**64 - 1))

        yield Form(text, body, "rd", ["b64", "b64", "b64"], stored)


def atomics() -> Iterator[Form]:
    """What was there, and what is there then; a thread's own memory."""
    does: dict[str, Callable[[int, int], int]] = {"add": lambda x, y: x + y, "max": max, "min": min}
    for space, what, t in product(("global", "shared", ""), does, ("u32", "u64")):
        s, a, r, n = spaced(space), WHERE[space], register(t), width(t)
        text = f"atom{s}.{what}.{t}"
        wide = "cvt.u64.u32" if t == "u32" else "mov.u64"
        body = (
            f"st{s}.u64 [{a}], %rd1; {text} %{r}0, [{a}], %{r}2; {wide} %rd4, %{r}0;"
            f" ld{s}.u64 %rd5, [{a}]; mad.lo.s64 %rd0, %rd4, 31, %rd5;"
        )

        def rule(
            x: int, y: int, _: int, f: Callable[[int, int], int] = does[what], n: int = n
        ) -> int:
            was = x % (1 << n)
            return both(was, x >> n << n | f(was, y % (1 << n)) % (1 << n))

        yield Form(text, body, "rd", [t, t], rule)


def all_forms() -> list[Form]:
    families = (of_integers, of_bits, of_floats, conversions, comparisons, moves)
    found = [form for family in (*families, loads, stores, vectors, atomics) for form in family()]
    if len({form.kernel for form in found}) != len(found):
        raise SystemExit("a form is there twice")
    return found


def table(forms: list[Form]) -> str:
    """The rows as C, for test_opcodes.c."""
    text = "/* Written by opcode_kernels.py: operands and results by opcode_rules.py. */\n"
    kinds = {"": "BITS", "f32": "NAN_F32", "f64": "NAN_F64"}
    for k, form in enumerate(forms):
        lines = ",\n".join(
            "    {" + ", ".join(f"0x{v:x}U" for v in row) + "}" for row in rows(form)
        )
        text += f"static const uint64_t rows_{k}[{ROWS}][4] = {{\n{lines}}};\n"
    text += "static const formula formulas[] = {\n"
    for k, form in enumerate(forms):
        text += f'    {{"{form.kernel}", {kinds[form.nan]}, rows_{k}}},\n'
    return text + "};\n"
