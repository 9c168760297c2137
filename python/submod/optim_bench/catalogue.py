"""Who takes part: the modules in problems/ and optimisers/, and the files of the user.

A module takes part with each of its classes of one of the two kinds that has a name, and with the
objects in its tuples PROBLEMS and OPTIMISERS, for classes that make many."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from . import optimisers, problems
from .interfaces import Optimiser, Problem
from .mistakes import Mistake

Kind = TypeVar("Kind", Problem, Optimiser)


@dataclass(frozen=True)
class Extras:
    """What the user brings: Python files, an .npz file, and C functions as "lib.so:make"."""

    files: tuple[str, ...] = ()
    npz: str | None = None
    libraries: tuple[str, ...] = ()


@dataclass
class Catalogue:
    problems: dict[str, Problem] = field(default_factory=dict)
    optimisers: dict[str, Optimiser] = field(default_factory=dict)

    def add(self, module: ModuleType) -> None:
        for problem in _members(module, Problem, "PROBLEMS"):  # type: ignore[type-abstract]
            _put(self.problems, problem)
        for optimiser in _members(module, Optimiser, "OPTIMISERS"):  # type: ignore[type-abstract]
            _put(self.optimisers, optimiser)


def load(extras: Extras) -> Catalogue:
    found = Catalogue()
    for package in (problems, optimisers):
        for module in pkgutil.iter_modules(package.__path__):
            found.add(importlib.import_module(f"{package.__name__}.{module.name}"))
    for file in extras.files:
        found.add(_user_module(Path(file)))
    for library in extras.libraries:
        from .library_problem import LibraryProblem

        _put(found.problems, LibraryProblem(library))
    if extras.npz is not None:
        from .problems.features import from_npz

        try:
            _put(found.problems, from_npz(Path(extras.npz)))
        except (OSError, ValueError) as error:
            raise Mistake(f"{extras.npz}: {error}") from error
    return found


def _members(module: ModuleType, kind: type[Kind], table: str) -> Iterator[Kind]:
    for made in vars(module).values():
        if inspect.isclass(made) and made.__module__ == module.__name__:
            named = isinstance(getattr(made, "name", None), str)
            if issubclass(made, kind) and named and not inspect.isabstract(made):
                yield made()
    yield from getattr(module, table, ())


def _put(members: dict[str, Kind], member: Kind) -> None:
    if member.name in members:
        raise Mistake(f"there are two called {member.name!r}: give one another name")
    members[member.name] = member


def _user_module(file: Path) -> ModuleType:
    if not file.is_file():
        raise Mistake(f"there is no file {file}")
    name = f"submod_optim_bench_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise Mistake(f"{file} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where inspect looks for it
    spec.loader.exec_module(module)
    return module
