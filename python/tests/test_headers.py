"""What is written down twice, in C and in Python, has to agree: structs and prototypes."""

import ctypes
import re
from pathlib import Path

import pytest

import submod._library as library
import submod._structs as structs

HEADERS = Path(__file__).resolve().parents[2] / "include" / "submod"
SIMPLE = {
    "int": ctypes.c_int,
    "size_t": ctypes.c_size_t,
    "ptrdiff_t": ctypes.c_ssize_t,
    "double": ctypes.c_double,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}


def text():
    """All headers without comments and preprocessor lines, in single spaces."""
    source = "".join(path.read_text() for path in sorted(HEADERS.glob("*.h")))
    source = re.sub(r"/\*.*?\*/", " ", source, flags=re.S)
    source = re.sub(r"^#.*(\\\n.*)*$", "", source, flags=re.M)
    return re.sub(r"\s+", " ", source)


TEXT = text()
ENUMS = set(re.findall(r"typedef enum (submod_\w+)", TEXT))


def mirrored():
    """Python structs by the C name in their docstrings."""
    found = {}
    for value in vars(structs).values():
        if isinstance(value, type) and issubclass(value, ctypes.Structure):
            name = re.match(r"submod_\w+", value.__doc__ or "")
            if name:
                found[name.group()] = value
    return found


STRUCTS = mirrored()


def is_pointer(kind):
    return (
        kind in (ctypes.c_void_p, ctypes.c_char_p)
        or hasattr(kind, "contents")
        or (isinstance(kind, type) and issubclass(kind, ctypes._CFuncPtr))
    )


def agrees(declared, kind):
    """A C type, such as "const double *", and a ctypes type."""
    declared = declared.replace("const", "").replace("SUBMOD_API", "").strip()
    if declared == "void":
        return kind is None
    if "*" in declared or "(" in declared:
        pointed = getattr(kind, "_type_", None)
        base = declared.split("*")[0].strip()
        if base in STRUCTS and isinstance(pointed, type) and declared.count("*") == 1:
            return pointed is STRUCTS[base]
        return is_pointer(kind)
    if declared in SIMPLE:
        return kind is SIMPLE[declared]
    if declared in ENUMS:
        return kind is ctypes.c_int
    return declared in STRUCTS and kind is STRUCTS[declared]


def c_fields(name):
    """(type, name) of each field."""
    body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", TEXT)
    assert body, f"{name} is in no header"
    fields = []
    for declaration in filter(None, (part.strip() for part in body.group(1).split(";"))):
        callback = re.match(r".*?\(\*(\w+)\)\(.*\)$", declaration)
        if callback:
            fields.append(("(callback)", callback.group(1)))
            continue
        kind, names = re.match(r"((?:const )?\w+ )(.*)", declaration).groups()
        for one in names.split(","):
            one = one.strip()
            fields.append((kind.strip() + (" *" if one.startswith("*") else ""), one.lstrip("* ")))
    return fields


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_struct(name):
    python = STRUCTS[name]._fields_
    c = c_fields(name)
    assert [field for _, field in c] == [field for field, _ in python]
    for (declared, field), (_, kind) in zip(c, python):
        assert agrees(declared, kind), f"{name}.{field}: {declared} is not {kind}"


@pytest.mark.parametrize("name", sorted(library._PROTOTYPES))
def test_prototype(name):
    declaration = re.search(rf"SUBMOD_API ([^;()]*?)submod_{name}\(([^;]*?)\);", TEXT)
    assert declaration, f"submod_{name} is in no header"
    result, kinds = library._PROTOTYPES[name]
    returned, arguments = declaration.groups()
    assert agrees(returned, result)
    declared = [] if arguments.strip() == "void" else arguments.split(",")
    assert len(declared) == len(kinds)
    for argument, kind in zip(declared, kinds):
        assert agrees(re.sub(r"\w+\s*$", "", argument.strip()), kind), argument


def test_every_struct_was_found():
    assert len(STRUCTS) >= 12


def test_defaults():
    settings = library.function("loss_defaults")()
    from submod._settings import DELTA

    assert (settings.engine, settings.delta, settings.per_image) == (0, DELTA, 0)
