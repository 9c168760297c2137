"""scripts/check_house.py passes the sources as they are, and refuses what it is there to refuse."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
before = list(sys.path)
sys.path.insert(0, str(ROOT / "scripts"))

import check_house  # noqa: E402

# It adds python/, where the other tests would find a package without its library.
sys.path[:] = before


def test_the_house_is_in_order():
    assert check_house.check_all() == []


@pytest.mark.parametrize(
    "path, include, problem",
    [
        ("src/base/sort.c", '"base/sort.h"', ""),
        ("src/base/sort.c", '"prox/prox_internal.h"', "base may not use prox"),
        ("src/base/sort.c", "<submod/optim.h>", "base may not use optim"),
        ("src/base/sort.c", "<submod.h>", "has everything"),
        ("src/loss/tile.c", "<submod/metric.h>", "loss may not use metrics"),
        ("src/loss/tensors/rows.h", "<submod/tensor.h>", ""),
        ("src/loss/tensors/rows.h", "<submod/loss.h>", "tensors may not use loss"),
        ("src/gpu/plan.c", "<submod/prox.h>", "gpu may not use prox"),
        ("src/optim/fista.c", "<submod/prox.h>", ""),
        ("include/submod/loss.h", "<submod/prox.h>", "loss may not use prox"),
        ("src/prox/prox.c", '"points.h"', "not in src/"),
        ("include/submod/loss.h", '"loss/tile.h"', "angle brackets"),
    ],
)
def test_includes_point_downwards(path, include, problem):
    found = check_house.library_include(
        ROOT / path, include[0], include[1:-1], check_house.public_headers()
    )
    assert (problem in found) if problem else not found


def test_includes_are_seen_however_they_are_written(tmp_path):
    file = tmp_path / "file.c"
    file.write_text('#include <a.h>\n#  include "b.h"\n  #include"c.h"\n')
    assert check_house.includes(file) == [(1, "<", "a.h"), (2, '"', "b.h"), (3, '"', "c.h")]


@pytest.mark.parametrize(
    "line, pinned",
    [
        (f"      - uses: actions/checkout@{'0123456789' * 4} # v4.2.2", True),
        ("      - uses: actions/checkout@v4", False),
        (f"        uses: actions/cache@{'0123456789' * 4}", False),
        (f"      - uses: actions/cache@{'01234567' * 4} # v4.2.2", False),
        ("      - run: echo uses", True),
    ],
)
def test_workflows_name_actions_by_their_commit(line, pinned):
    assert (check_house.unpinned(f"jobs:\n{line}\n") == []) == pinned
