"""Every Python block of the documents runs as it stands, without a warning."""

import importlib
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from submod.optim_bench import catalogue, command

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "python/README.md", "bench/studies/README.md")
    for path in ROOT.glob(pattern)
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"--[a-z][a-z-]*")


def blocks(document):
    """Language, line and text of what stands between fences."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield match[1], text.count("\n", 0, match.start()) + 2, match[2]


PYTHON = [
    pytest.param(document, line, code, id=f"{document}:{line}")
    for document in DOCUMENTS
    for language, line, code in blocks(document)
    if language == "python"
]


@pytest.mark.parametrize("document, line, code", PYTHON)
def test_block(document, line, code):
    if "torch" in code:
        pytest.importorskip("torch")
    program = compile("\n" * (line - 1) + code, str(ROOT / document), "exec")
    exec(program, {"__name__": "__main__"})


def fences(text):
    """How each block opens, as it stands: one in a list is indented, and tildes are fences too."""
    return re.findall(r"^[ >]*(?:```|~~~).*$", text, re.MULTILINE)[::2]


# tests/docs/CMakeLists.txt runs those in C; scripts/docs.sh renders the mathematics.
RUN = ("```python", "```c", "```math", "   ```math")
# The only such block is README's, which tests/docs/first_steps.sh builds.
CMAKE = "```cmake"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_block_is_run_by_someone(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    others = [fence for fence in fences(text) if fence not in RUN]
    assert others == ([CMAKE] if document == "README.md" else [])


def test_fences_that_nobody_runs_are_seen():
    strange = ["```c++", "   ```python", "~~~c", "```", "```python "]
    assert fences("".join(f"words\n{fence}\ncode\n```\n" for fence in strange)) == strange


def test_blocks_are_found():
    assert {param.values[0] for param in PYTHON} >= {
        "README.md",
        "docs/switching.md",
        "docs/tutorial.md",
        "python/README.md",
    }


@pytest.mark.slow
def test_options_of_the_tutorial():
    pytest.importorskip("torch")
    printed = ""
    for example in ("train_unet.py", "segment.py"):
        command = [sys.executable, "-B", str(ROOT / "examples" / example), "--help"]
        printed += subprocess.run(command, capture_output=True, text=True, check=True).stdout
    named = set(OPTION.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")))
    assert "--train-list" in named
    assert named <= set(OPTION.findall(printed))


def test_commands_of_the_bench(capsys):
    """Those of docs/optimisers.md name optimisers, problems and options that are there."""
    text = (ROOT / "docs" / "optimisers.md").read_text(encoding="utf-8")
    calls = re.findall(r"^    submod-optim-bench(.*?)(?:#.*)?$", text, re.MULTILINE)
    known = catalogue.load(catalogue.Extras((), None, ()))
    for call in calls:
        given = command._parser().parse_args(shlex.split(call))
        assert set(given.problems or ()) <= set(known.problems)
        assert set(given.optimisers or ()) <= set(known.optimisers)
    assert any("--list" in call for call in calls)
    assert command.main(["--list"]) == 0
    assert "bundle" in capsys.readouterr().out


def test_numbers_of_the_optimisers():
    """Tables and sentences of docs/optimisers.md are those of the results beside it; and verdicts
    of five seeds are by Student's t with four degrees of freedom."""
    script = [sys.executable, "-B", str(ROOT / "docs" / "optimisers.py"), "--check"]
    subprocess.run(script, check=True)
    by_hand = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'docs' / 'optimisers')!r})\n"
        "from results import interval\n"
        "low, middle, high = interval([1, 2, 3, 4, 5])\n"
        "assert middle == 3 and abs(high - 3 - 2.776 * (2.5 / 5) ** 0.5) < 1e-12\n"
        "assert abs(low + high - 6) < 1e-12"
    )
    subprocess.run([sys.executable, "-B", "-c", by_hand], check=True)


def undocumented(module):
    """Public functions, classes and their public methods that have no docstring."""
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.ismodule(thing) or not callable(thing):
            continue
        if not inspect.getdoc(thing):
            yield name
        for method, value in vars(thing).items() if inspect.isclass(thing) else ():
            public = not method.startswith("_") and (
                inspect.isfunction(value) or isinstance(value, property)
            )
            if public and not inspect.getdoc(getattr(thing, method)):
                yield f"{name}.{method}"


@pytest.mark.parametrize("name", ["submod", "submod.optim", "submod.torch"])
def test_everything_public_has_a_docstring(name):
    if "torch" in name:
        pytest.importorskip("torch")
    module = importlib.import_module(name)
    assert module.__doc__
    assert list(undocumented(module)) == []
