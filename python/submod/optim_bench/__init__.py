"""A bench of optimisers: submod-optim-bench, or python -m submod.optim_bench.

A problem and an optimiser are one small class each (interfaces.py); the bench tunes every optimiser
on every problem with the same grid, budget and seeds, and writes tables, curves and a report. The
iterations of submod.optim's methods run in C."""

from .interfaces import Instance, Optimiser, Parts, Problem, Reference, Settings
from .task import Task

__all__ = ["Instance", "Optimiser", "Parts", "Problem", "Reference", "Settings", "Task"]
