"""Families whose minimum is known from how they are made."""

from __future__ import annotations

from dataclasses import dataclass

from ..interfaces import Instance, Problem, Reference


@dataclass(frozen=True)
class Known(Instance):
    """An instance that brings its minimum along."""

    minimum: Reference | None = None


class KnownFamily(Problem):
    """make() returns Known instances."""

    def reference(self, instance: Instance) -> Reference:
        assert isinstance(instance, Known)
        assert instance.minimum is not None
        return instance.minimum
