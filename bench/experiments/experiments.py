"""The experiments, in the order of the report."""

from __future__ import annotations

from . import batch_size, binary, last_layer, multiclass, test_time

ALL = (binary, multiclass, batch_size, test_time, last_layer)
