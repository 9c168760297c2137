"""The experiments, in the order of the report: a module each."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

# With the folder of data that each reads, and its module. By name, as the modules need PyTorch,
# and whether the data is there is asked before that is installed.
READS = {
    "binary": "camvid",
    "multiclass": "camvid",
    "batch_size": "camvid",
    "test_time": "camvid",
    "ibsr": "ibsr",
    "last_layer": "camvid",
}
MODULES = {
    "binary": "street.binary",
    "multiclass": "street.multiclass",
    "batch_size": "street.batch_size",
    "test_time": "street.test_time",
    "ibsr": "brain.experiment",
    "last_layer": "layer.experiment",
}


def load(names: Iterable[str]) -> list[Any]:
    return [import_module(f".{MODULES[name]}", __package__) for name in names]
