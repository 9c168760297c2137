"""Writes kernels as functions of C: a statement for each instruction, a label for each label, and
tables that say where each instruction comes from (ptx.h)."""

from __future__ import annotations

from opcodes import label, translate
from operands import REGISTER, Operands
from reading import Brace, Instruction, Kernel, Label, Module, Registers, Unknown, Variable


def up_to(offset: int, align: int) -> int:
    return (offset + align - 1) // align * align


def laid_out(variables: list[Variable]) -> tuple[list[int], int]:
    """Where each of them begins, and the bytes of all."""
    offsets, end = [], 0
    for v in variables:
        offsets.append(up_to(end, v.align))
        end = offsets[-1] + v.bytes
    return offsets, end


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Writer:
    """The C of one kernel. Instructions are numbered through the module, from `first` on."""

    def __init__(self, kernel: Kernel, index: int, first: int, dynamic_shared: list[str]) -> None:
        self.kernel = kernel
        self.index = index
        self.first = first
        self.instructions: list[Instruction] = []
        self.parameter_offsets, self.parameter_bytes = laid_out(kernel.parameters)
        offsets, end = laid_out(kernel.shared)
        self.shared_bytes = up_to(end, 16)  # what is asked for at the launch comes after it
        symbols = {v.name: f"(uint64_t){o}" for v, o in zip(kernel.shared, offsets)}
        symbols.update(dict.fromkeys(dynamic_shared, f"(uint64_t){self.shared_bytes}"))
        for v, o in zip(kernel.parameters, self.parameter_offsets):
            symbols[v.name] = f"((uint64_t)parameters + {o})"
        for v in kernel.local:
            symbols[v.name] = f"(uint64_t){v.name}"
        labels = {s.name for s in kernel.body if isinstance(s, Label)}
        self.known = Operands(symbols, labels)
        self.lines = [
            f"    _Alignas({v.align}) unsigned char {v.name}[{v.bytes}];" for v in kernel.local
        ]

    def instruction(self, i: Instruction) -> str:
        number = self.first + len(self.instructions)
        self.instructions.append(i)
        try:
            guard = ""
            if i.guard:
                sign = "!" if i.guard.startswith("!") else ""
                guard = f"if ({sign}{self.known.read(i.guard.lstrip('!'), 'pred')}) "
            code = translate(i, number, self.known)
        except Unknown as e:
            raise Unknown(f"line {i.line}: {i.text}: {e}") from e
        return f"    PTX_ON_INSTRUCTION({number}); {guard}{{ {code} }}"

    def statement(self, s: object) -> str:
        if isinstance(s, Instruction):
            return self.instruction(s)
        if isinstance(s, Label):
            return f"{label(s.name)}:;"
        if isinstance(s, Registers):
            self.known.declare(s.type, s.names)
            kind = REGISTER[s.type]
            names = ", ".join(f"{self.known.c_name(x)} = PTX_RUBBISH_{kind}" for x in s.names)
            return f"    {kind} {names};" if names else ""
        if not isinstance(s, Brace):
            raise TypeError(s)
        if s.opens:
            self.known.scopes.append({})
            return "    {"
        self.known.scopes.pop()
        return "    }"

    def function(self) -> str:
        body = "\n".join([*self.lines, *(self.statement(s) for s in self.kernel.body)])
        return f"static void kernel_{self.index}(const void *parameters)\n{{\n{body}\n}}\n"

    def row(self) -> str:
        """Of the table of kernels."""
        where = ", ".join(
            f"{{{o}, {v.bytes}}}" for o, v in zip(self.parameter_offsets, self.kernel.parameters)
        )
        return (
            f"    {{{quoted(self.kernel.name)}, kernel_{self.index}, {self.shared_bytes}, "
            f"{self.parameter_bytes}, {len(self.kernel.parameters)}, {{{where or '{0, 0}'}}}, "
            f"{self.first}, {len(self.instructions)}}},"
        )

    def rows_of_instructions(self) -> list[str]:
        return [
            f"    {{{self.index}, {i.line}, {quoted(i.opcode)}, {quoted(i.text)}, "
            f"{quoted(i.place.file)}, {i.place.line}, {quoted(i.place.called_from)}}},"
            for i in self.instructions
        ]


def write(module: Module, name: str) -> str:
    """The C file that defines the ptx_module of this name."""
    functions: list[str] = []
    kernels: list[str] = []
    instructions: list[str] = []
    for index, kernel in enumerate(module.kernels):
        w = Writer(kernel, index, len(instructions), module.dynamic_shared)
        functions.append(w.function())
        kernels.append(w.row())
        instructions += w.rows_of_instructions()
    return "\n".join(
        [
            "/* Written by translate.py from nvcc's PTX. */",
            '#include "ptx.h"',
            "",
            *functions,
            "static const ptx_kernel kernels[] = {",
            *kernels,
            "};",
            "",
            "static const ptx_instruction instructions[] = {",
            *instructions,
            "};",
            "",
            f"const ptx_module {name} = {{{module.architecture}, kernels, {len(kernels)}, "
            f"instructions, {len(instructions)}}};",
            "",
        ]
    )
