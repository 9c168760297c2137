"""Results by content: the key of a result is a hash of all that it depends on, so whoever changes
one optimiser, or adds one, runs only that."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import sys
from functools import lru_cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from .. import _library
from .interfaces import Optimiser, Problem

Result = dict[str, Any]

ROOMS = tuple(f"{__package__}.{room}." for room in ("problems", "optimisers"))
OURS = ("interfaces", "jobs", "oscillation", "reference", "task")  # of the bench itself


class Cache:
    """A folder with a file for each key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> Result | None:
        try:
            found: Result = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found

    def put(self, key: str, result: Result) -> None:
        """Whole or not at all, also when several do it."""
        scratch = self.folder / f"{key}.{os.getpid()}"
        scratch.write_text(json.dumps(result), encoding="utf-8")
        scratch.replace(self.folder / f"{key}.json")


def key_of(*parts: Any) -> str:
    """Of numbers, texts and lists of these, and the machinery."""
    text = json.dumps([_machinery(), *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def content(member: Problem | Optimiser) -> list[str]:
    """All that a problem or an optimiser is: its code, what that imports from problems/ and
    optimisers/, its fields, and files it names."""
    kinds = _kinds(member)
    names, own = {kind.__name__ for kind in kinds}, {kind.__module__ for kind in kinds}
    code = [_code(module, names if module in own else None) for module in modules_of(member)]
    fields = [f"{name} = {value!r}" for name, value in sorted(vars(member).items())]
    return [*code, *fields, *(_digest(path) for path in getattr(member, "sources", ()))]


def modules_of(member: Problem | Optimiser) -> list[str]:
    """Where its classes are, and the modules of problems/ and optimisers/ that these import, and
    those import in turn."""
    found = dict.fromkeys(kind.__module__ for kind in _kinds(member))
    waiting = list(found)
    while waiting:
        new = [name for name in _imports(waiting.pop()) if name not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)


def _kinds(member: Problem | Optimiser) -> list[type]:
    """Its classes, without the last, which is the interface."""
    return [kind for kind in type(member).__mro__ if issubclass(kind, (Problem, Optimiser))][:-1]


def _imports(module: str) -> list[str]:
    """Modules of problems/ and optimisers/ that it names, wherever in it."""
    here = sys.modules[module]
    names: list[str] = []
    for node in ast.walk(ast.parse(inspect.getsource(here))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level + (node.module or "")
            base = resolve_name(dots, here.__package__) if node.level else dots
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.startswith(ROOMS) and name in sys.modules]


def _code(module: str, names: set[str] | None) -> str:
    """A module without comments and without the problems and optimisers in it that have none of
    these names; None: with all of them."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    others = {
        name
        for name, kind in vars(sys.modules[module]).items()
        if names is not None and name not in names
        if inspect.isclass(kind) and issubclass(kind, (Problem, Optimiser))
    }
    tree.body = [
        node for node in tree.body if not (isinstance(node, ast.ClassDef) and node.name in others)
    ]
    return ast.unparse(tree)


def _digest(path: Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def machinery_files() -> list[Path]:
    """What all results depend on: the library, the package around it, and how this one finds minima
    and records runs."""
    here = Path(__file__).parent
    ours = [here / f"{name}.py" for name in OURS]
    return [Path(_library._library._name), *sorted(here.parent.glob("*.py")), *ours]


@lru_cache(maxsize=1)
def _machinery() -> list[str]:
    return [_digest(file) for file in machinery_files()]
