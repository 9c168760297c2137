"""The experiments, in the order of the report."""

from __future__ import annotations

from . import batch_size, binary, last_layer, multiclass

ALL = (binary, multiclass, batch_size, last_layer)
