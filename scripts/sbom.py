#!/usr/bin/env python3
"""Writes down what a build or a wheel is made of, as CycloneDX 1.5: libsubmod itself, the
libraries that it is linked with on this system (Debian's packages and their versions), those that a
wheel carries inside, CUDA's runtime where the GPU path is in, and what the Python package needs. No
sources of others are in ours, so nothing else is there to be listed.

    scripts/sbom.py FILE.. [--output FILE]

FILE is a shared library, a program or a wheel. The same files and commit give
the same text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import re
import subprocess
import sys
import uuid
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# Of Debian's packages that we may be linked with. A new one needs a look at its licence first.
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
LICENCES = {
    "libc6": "LGPL-2.1-or-later",
    "libgcc-s1": GCC,
    "libgomp1": GCC,
    "libpng16-16": "libpng-2.0",
    "libstdc++6": GCC,
    "zlib1g": "Zlib",
}


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(binary: Path) -> list[str]:
    """What its dynamic section asks for."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", str(binary)))


def package_of(library: str) -> tuple[str, str]:
    """The package of Debian with that library, and its version."""
    pattern = f"*/{platform.machine()}-linux-gnu/{library}"
    found = run("dpkg-query", "-S", pattern).splitlines()[0]
    name = found.split(":")[0]
    return name, run("dpkg-query", "-W", "-f=${Version}", name)


def component(name: str, version: str, licence: str, **more: Any) -> dict[str, Any]:
    kind = "name" if licence.startswith("LicenseRef") else "id"
    spdx = {"expression": licence} if " " in licence else {"license": {kind: licence}}
    return {
        "type": "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "licenses": [spdx],
        **more,
    }


def digest(path: Path) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]


def system_library(library: str) -> dict[str, Any]:
    name, version = package_of(library)
    if name not in LICENCES:
        raise SystemExit(
            f"sbom: {library} is of the package {name}, whose licence is not in LICENCES"
        )
    return component(name, version, LICENCES[name], purl=f"pkg:deb/debian/{name}@{version}")


def binary_parts(binary: Path, inside: dict[str, Path]) -> list[dict[str, Any]]:
    """What a binary needs; `inside` are the libraries that come along."""
    parts = []
    for library in needed(binary):
        if library.startswith(("libsubmod", "ld-linux")):
            continue
        if library in inside:
            # auditwheel's libgomp-d22c30c5.so.1.0.0 is Debian's libgomp.so.1
            original = re.sub(r"-[0-9a-f]+\.so\.(\d+).*", r".so.\1", library)
            part = system_library(original)
            parts.append({**part, "scope": "required", "hashes": digest(inside[library])})
        else:
            parts.append(system_library(library))
    if ".nv_fatbin" in run("readelf", "-SW", str(binary)):  # kernels, and so the static runtime
        release = re.findall(r"release ([\d.]+)", run("nvcc", "--version"))[0]
        parts.append(component("cuda-cudart-static", release, "LicenseRef-NVIDIA-CUDA-EULA"))
    return parts


def wheel_parts(wheel: Path) -> list[dict[str, Any]]:
    with TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        inside = {path.name: path for path in Path(folder).glob("submod.libs/*")}
        parts = binary_parts(Path(folder) / "submod/libsubmod.so", inside)
        metadata = next(Path(folder).glob("*.dist-info/METADATA")).read_text(encoding="utf-8")
    for name, extra in re.findall(
        r"^Requires-Dist: ([\w-]+)[^;\n]*(;.*)?$", metadata, re.MULTILINE
    ):
        if not extra:
            parts.append(
                {"type": "library", "bom-ref": name, "name": name, "purl": f"pkg:pypi/{name}"}
            )
    return parts


def document(files: list[Path]) -> dict[str, Any]:
    header = (ROOT / "include/submod/base.h").read_text(encoding="utf-8")
    version = re.findall(r'SUBMOD_VERSION_STRING "(.*)"', header)[0]
    commit, date = run("git", "-C", str(ROOT), "log", "-1", "--format=%H %cI").split()
    ours = component("libsubmod", version, "BSD-3-Clause")
    ours["properties"] = [{"name": "commit", "value": commit}]
    made = [
        {"type": "file", "bom-ref": path.name, "name": path.name, "hashes": digest(path)}
        for path in files
    ]
    parts: dict[str, dict[str, Any]] = {}
    dependencies = []
    for path in files:
        found = wheel_parts(path) if path.suffix == ".whl" else binary_parts(path, {})
        for part in found:
            parts[part["bom-ref"]] = {**parts.get(part["bom-ref"], {}), **part}
        names = sorted({part["bom-ref"] for part in found} | {ours["bom-ref"]})
        dependencies.append({"ref": path.name, "dependsOn": names})
    text = json.dumps([ours, made, dependencies])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, text)}",
        "version": 1,
        "metadata": {"timestamp": date, "component": ours},
        "components": [*made, *(parts[name] for name in sorted(parts))],
        "dependencies": dependencies,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="What a build or a wheel is made of.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--output", type=Path, metavar="FILE", help="instead of the terminal")
    arguments = parser.parse_args()
    text = json.dumps(document(arguments.files), indent=1) + "\n"
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
