"""The machines that results were made on: what matters for times and roundings, and no names."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import torch


def here() -> str:
    cores = os.cpu_count() or 1
    return (
        f"{processor()}, {cores} core{'s' if cores > 1 else ''}, {platform.system()}, "
        f"Python {platform.python_version()}, PyTorch {torch.__version__.split('+')[0]} on the CPU"
    )


def processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def note(out: Path) -> None:
    """That this machine works on these results."""
    known = noted(out)
    if here() not in known:
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps([*known, here()], indent=1) + "\n"
        (out / "machines.json").write_text(text, encoding="utf-8")


def noted(out: Path) -> list[str]:
    file = out / "machines.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
