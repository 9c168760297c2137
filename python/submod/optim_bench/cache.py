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
from pathlib import Path
from typing import Any

from .. import _library
from . import oscillation, task
from .interfaces import Optimiser, Problem

Result = dict[str, Any]


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
    """All that a problem or an optimiser is: its code, its fields, and files it names."""
    kinds = [kind for kind in type(member).__mro__ if issubclass(kind, (Problem, Optimiser))]
    names = {kind.__name__ for kind in kinds}
    code = [_code(kind.__module__, names) for kind in kinds[:-1]]  # the last is the interface
    fields = [f"{name} = {value!r}" for name, value in sorted(vars(member).items())]
    return [*code, *fields, *(_digest(path) for path in getattr(member, "sources", ()))]


def _code(module: str, names: set[str]) -> str:
    """A module without comments and without the other problems and optimisers in it."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    others = {
        name
        for name, kind in vars(sys.modules[module]).items()
        if inspect.isclass(kind) and issubclass(kind, (Problem, Optimiser)) and name not in names
    }
    tree.body = [
        node for node in tree.body if not (isinstance(node, ast.ClassDef) and node.name in others)
    ]
    return ast.unparse(tree)


def _digest(path: Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@lru_cache(maxsize=1)
def _machinery() -> list[str]:
    """What all results depend on: the library, and how runs are recorded."""
    ours = [_digest(Path(inspect.getfile(module))) for module in (task, oscillation)]
    return [_digest(Path(_library._library._name)), *ours]
