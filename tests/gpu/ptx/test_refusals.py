"""What the translator does not know it refuses, and names the line and the instruction; what it
takes compiles.

    test_refusals.py [COMPILER]     of C; without one nothing is compiled
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from opcode_kernels import FRAME, OPERANDS
from opcodes import OPCODES, translate
from operands import Operands
from reading import NOWHERE, WIDTH, Instruction, Kernel, Label, Module, Registers, Unknown
from writing import write

HEAD = ".version 9.0\n.target sm_80\n.address_size 64\n"

REFUSED = [
    "sin.approx.f32 %f0, %f1;",  # no such instruction here
    "add.f32 %f0, %f1, %f2;",  # rounding is to be said
    "add.rn.ftz.f32 %f0, %f1, %f2;",
    "div.full.f32 %f0, %f1, %f2;",
    "fma.rz.f32 %f0, %f1, %f2, %f3;",
    "max.NaN.f32 %f0, %f1, %f2;",
    "cvt.rzi.s64.f32 %rd0, %f1;",
    "cvt.sat.u8.u32 %r0, %r1;",
    "atom.shared.cas.b32 %r0, [0], %r1, %r2;",
    "atom.global.add.f32 %f0, [%rd1], %f1;",
    "ld.weak.global.u32 %r0, [%rd1];",
    "ld.global.v8.u32 {%r0, %r1}, [%rd1];",
    "ld.global.u32 %r0, [nowhere];",
    "bar.sync 1;",
    "bar.sync 0, 64;",
    "shfl.up.b32 %r0, %r1, 1, 0;",
    "call.uni helper;",
    "setp.eq.and.s32 %p0, %r1, %r2, %p1;",
    "add.s32 %r0, %r1, %rd2;",  # 32 bits and 64
    "mov.u32 %r9, %r1;",  # no such register
    "mov.u32 %r0, %clock;",  # no such special register
    "mov.u64 %rd0, %laneid;",  # which has 32 bits
    "bar.red.or.pred %p0, 0, 64, %p1;",  # a number of threads
    "bar.red.or.pred %p0, 0, !%p1;",
    "bar.red.and.pred %p0, 0, %p1;",
    "bar.warp.sync -1, 0;",
    "bra nowhere;",
    "shfl.sync.left.b32 %r0, %r1, 1, 0, -1;",
    "shfl.sync.up.b32 %r0, %r1, 1, 0;",  # no mask
    "add.s32 %r0, %r1;",
    "add.s32 %r0, %r1, %r2, %r3;",
    "selp.b32 %r0, %r1, %r2;",
    "fma.rn.f32 %f0, %f1, %f2;",
    "not.b32 %r0, %r1, %r2;",
    "ret 0;",
    "rem.s64 %rd0, %rd1, %rd2;",
    "div.s32 %r0, %r1, %r2;",
    "mul.hi.u64 %rd0, %rd1, %rd2;",
    "clz.b64 %r0, %rd1;",
    "fma.s32 %r0, %r1, %r2, %r3;",
    "ld.global %r0, [%rd1];",
    "ld.global.pred %p0, [%rd1];",
    "ld.global.shared.u32 %r0, [%rd1];",
    "ld.global.v2.v4.u32 {%r0, %r1}, [%rd1];",
    "ld.global.u32 {%r0}, [%rd1];",
    "ld.global.v4.u64 {%rd0, %rd2, %rd3, %rd4}, [%rd1];",  # 32 bytes
    "atom.u32 %r0, [%rd1], %r1;",
    "cvt.u32 %r0, %r1;",
    "cvt.rn.f32 %f0, %f1;",
    "cvt.pred.u32 %p0, %r1;",
    "setp.lt.b32 %p0, %r1, %r2;",
    "setp.lt.pred %p0, %p1, %p2;",
    "selp.pred %p0, %p1, %p2, %p3;",
]


def refusal(text: str) -> str:
    """What the translator says; empty: it translated."""
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder, "x.ptx")
        ptx.write_text(text)
        translator = Path(__file__).with_name("translate.py")
        command = [sys.executable, "-B", str(translator), str(ptx), f"{folder}/x.c", "--name", "x"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode == 1 else ""


# ---- every form that may be written ----

MODIFIERS = [
    "rn",
    "rz",
    "rzi",
    "ftz",
    "lo",
    "hi",
    "wide",
    "uni",
    "sync",
    "cta",
    "to",
    "global",
    "shared",
    "volatile",
    "v2",
    "add",
]
MODIFIERS += ["eq", "lt", "leu", "num", "clamp"]
REGISTERS = {"pred": "%p", "f32": "%f", "f64": "%fd", "16": "%h", "32": "%r", "64": "%rd"}
WORDS = ["[%rd1]", "0", "over", "%ctaid.y", "{%r1, %r2}", "{%r1, %r2, %r3, %r4}", "%p1", "%r1"]


def forms() -> Iterator[str]:
    """All names with no modifier, one and some pairs, and all types."""
    pairs = ["lo.sat", "sync.up", "sync.idx", "sync.ballot", "to.shared", "shared.add", "global.v2"]
    pairs += [
        "shared.v4",
        "volatile.global",
        "red.or",
        "warp.sync",
        "rn.ftz",
        "global.max",
        "v2.v4",
    ]
    for name in OPCODES:
        for t in ["", *WIDTH]:
            for how in ["", *MODIFIERS, *WIDTH, *pairs]:
                yield ".".join(x for x in (name, how, t) if x)
            for to in WIDTH if name == "cvt" else ():
                yield from (f"cvt.{how}.{to}.{t}" for how in ("rn", "rni", "rzi"))


def written(form: str) -> Iterator[list[str]]:
    """Operands for it: registers, and in one place after the other a word that is none."""
    name, *rest = form.split(".")
    kinds = [REGISTERS.get(t, REGISTERS.get(t[1:], "%h")) for t in rest if t in WIDTH] or ["%r"]
    count = OPCODES[name][1] if name != "bar" else 3 if "red" in rest else 1
    for first in {kinds[0], "%p", "%rd"}:
        plain = [f"{first}0", *(f"{kinds[-1]}{k}" for k in range(1, count))][:count]
        yield plain
        for at in range(count):
            for word in WORDS:
                yield [*plain[:at], word, *plain[at + 1 :]]


def accepted() -> list[str]:
    """The C of one instruction for each form that is known: another error than Unknown is one of
    the translator itself."""
    found = []
    known = Operands({"memory": "(uint64_t)0"}, {"over"})
    for t, prefix in REGISTERS.items():
        known.declare(t if t in WIDTH else "b" + t, [f"{prefix}{k}" for k in range(5)])
    for form in forms():
        for operands in written(form):
            i = Instruction(1, form, "", form, operands, NOWHERE)
            try:
                found.append(f"{{ {translate(i, 0, known)} }}")
            except Unknown:
                continue
    return found


def compile_all(compiler: str) -> str:
    """What the compiler says of all of them; empty: nothing."""
    kernel = Kernel("x", [])
    for t, prefix in REGISTERS.items():
        names = [f"{prefix}{k}" for k in range(5)]
        kernel.body.append(Registers(t if t in WIDTH else "b" + t, names))
    kernel.body.append(Label("over"))
    frame = write(Module(80, [], [kernel]), "x")
    code = accepted()
    print(f"{len(code)} instructions translated")
    where = Path(__file__).resolve().parent
    includes = [f"-I{where}", f"-I{where.parent}", f"-I{where.parents[2] / 'src'}"]
    includes.append(f"-I{where.parents[2] / 'include'}")
    with tempfile.TemporaryDirectory() as folder:
        c = Path(folder, "x.c")
        c.write_text(frame.replace("at_over:;", "at_over:;\n" + "\n".join(code)))
        command = [compiler, "-std=c11", "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused"]
        command += ["-Wno-tautological-compare", *includes, str(c)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr[:2000]


def main() -> int:
    failures = 0
    for code in REFUSED:
        text = HEAD + FRAME.format(name="x", operands=OPERANDS, body=code, result="")
        line = 1 + text[: text.index(code)].count("\n")
        said = refusal(text)
        if f"line {line}: {code.rstrip(';')}" not in said:
            print(f"{code} -> {said or 'translated'}")
            failures += 1
    if ".func" not in refusal(HEAD + ".func helper()\n{\n    ret;\n}\n"):
        print("a function that is not inlined was not refused")
        failures += 1
    known = HEAD + FRAME.format(name="x", operands=OPERANDS, body="", result="")
    said = refusal(known)
    if said:
        print(f"the frame itself was refused: {said}")
        failures += 1
    said = compile_all(sys.argv[1]) if len(sys.argv) > 1 else ""
    if said:
        print(f"what was translated does not compile: {said}")
        failures += 1
    print(f"{len(REFUSED) + 1} refusals, {failures} wrong")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
