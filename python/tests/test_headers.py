"""Python's view of the headers is what a C compiler makes of them, and is up to date."""

import ctypes
import enum
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import submod._bindings as bindings
import submod._library as library
from submod._options import DELTA, LossOptions

ROOT = Path(__file__).resolve().parents[2]
# The core and the companions that are in the package.
INCLUDE = [ROOT / "include", *sorted((ROOT / "companions").glob("*/include"))]
CONSTANTS = [n for n, v in vars(bindings).items() if n.isupper() and type(v) is int]


def members_of(kind):
    """The classes of _bindings that are of this kind, by their names in C."""
    found = [v for v in vars(bindings).values() if isinstance(v, type) and v.__doc__]
    return {v.__doc__: v for v in found if issubclass(v, kind) and v.__doc__.startswith("submod_")}


STRUCTS, ENUMS = members_of(ctypes.Structure), members_of(enum.IntEnum)


def check(root):
    """generate_bindings.py --check in a tree."""
    command = [sys.executable, "-B", str(root / "python" / "generate_bindings.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True)


def test_bindings_are_up_to_date():
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "header, old, new",
    [
        ("tensor.h", "SUBMOD_LABEL_I64  ", "SUBMOD_LABEL_I64 = 3 "),
        ("loss.h", "size_t bins;", "uint32_t bins;"),
        ("loss.h", "double *loss,", "float *loss, int more,"),
        ("measure.h", "#define SUBMOD_EXHAUSTIVE_MAX", "#define SUBMOD_TRIED_MAX"),
        (
            "base.h",
            "SUBMOD_API int submod_get_num_threads(void);",
            "SUBMOD_API short submod_get_num_threads(void);",
        ),
    ],
)
def test_changed_headers_are_seen(tmp_path, header, old, new):
    for folder in INCLUDE:
        shutil.copytree(folder, tmp_path / folder.relative_to(ROOT))
    for name in ("generate_bindings.py", "submod/_bindings.py"):
        (tmp_path / "python" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "python" / name, tmp_path / "python" / name)
    assert check(tmp_path).returncode == 0
    changed = tmp_path / "include" / "submod" / header
    text = changed.read_text()
    assert old in text
    changed.write_text(text.replace(old, new))
    assert check(tmp_path).returncode != 0


def c_name(field):
    return {"lam": "lambda"}.get(field, field)


def questions():
    """C expressions, and what Python takes their values to be."""
    for name, kind in STRUCTS.items():
        yield f"sizeof({name})", ctypes.sizeof(kind)
        for field, *_ in kind._fields_:
            of_field = getattr(kind, field)
            yield f"offsetof({name}, {c_name(field)})", of_field.offset
            yield f"sizeof((({name} *)0)->{c_name(field)})", of_field.size
    for name in CONSTANTS:
        yield f"SUBMOD_{name}", getattr(bindings, name)


def ask_c(tmp_path, expressions):
    """Their values, by a program."""
    lines = "".join(f'    printf("%llu\\n", (unsigned long long)({e}));\n' for e in expressions)
    source = tmp_path / "ask.c"
    source.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <submod.h>\n"
        "#include <submod/select.h>\n"
        f"int main(void)\n{{\n{lines}    return 0;\n}}\n"
    )
    program = tmp_path / "ask"
    folders = [f"-I{folder}" for folder in INCLUDE]
    command = ["cc", "-std=c11", *folders, str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    return [int(line) for line in done.stdout.split()]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c_agrees(tmp_path):
    expressions, expected = zip(*questions())
    assert len(STRUCTS) >= 25 and len(CONSTANTS) >= 5
    wrong = [
        (expression, c, python)
        for expression, c, python in zip(expressions, ask_c(tmp_path, expressions), expected)
        if c != python
    ]
    assert not wrong


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c_agrees_about_enums(tmp_path):
    files = [p for folder in INCLUDE for p in sorted((folder / "submod").glob("*.h"))]
    headers = "".join(p.read_text() for p in files)
    names, expected = [], []
    for c_type, kind in ENUMS.items():
        body = headers.split(f"typedef enum {c_type} ")[1].split("}")[0]
        for member in kind:
            found = [word for word in body.replace(",", " ").split() if word.startswith("SUBMOD_")]
            # Where one name is the end of another, the shorter one is meant.
            name = min((word for word in found if word.endswith("_" + member.name)), key=len)
            names.append(f"(long long){name}")
            expected.append(int(member) % 2**64)
    assert len(ENUMS) >= 12
    assert ask_c(tmp_path, names) == expected


def test_calls_by_name():
    value = ctypes.c_double()
    with pytest.raises(TypeError, match="submod_fn_eval has no values"):
        library.call("fn_eval", values=ctypes.byref(value))
    with pytest.raises(ctypes.ArgumentError):  # no NULL for a number
        library.call("set_num_threads")


def test_defaults():
    """Written down in C; Python's options begin with the same."""
    assert DELTA == 2.0**-13
    assert bytes(LossOptions().settings(3)) == bytes(library.function("loss_defaults")())
