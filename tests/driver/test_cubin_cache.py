# SPDX-License-Identifier: Apache-2.0
"""The disk cache under torture, and on disks that take nothing. See cache_torture.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyptx import _core
from support.assembling import needs_assembler
from support.small_disk import on_small_disk
from support.tree import TESTS

TORTURE = TESTS / "support/cache_torture.py"
# `make cache-torture` asks for more.
SECONDS = float(os.environ.get("PYPTX_CACHE_TORTURE_SECONDS", "2.5"))

pytestmark = needs_assembler


@pytest.fixture(autouse=True)
def _forks() -> None:
    """The program forks after it has opened its assembler, which CUDA does not survive."""
    if _core.find_compiler()[0].startswith("the driver"):
        pytest.skip("only the driver's assembler is here")


def torture(folder: Path, *words: str, prefix: tuple[str, ...] = ()) -> dict[str, Any]:
    """Run the program; its report."""
    done = subprocess.run(
        [*prefix, sys.executable, str(TORTURE), str(folder), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120 + 4 * SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["problems"] == []
    assert done.stderr == ""
    return report


def test_no_process_ever_gets_a_wrong_cubin(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    report = torture(folder, "--seconds", str(SECONDS), "--seed", str(os.getpid()))
    assert report["started"] >= 32
    assert report["cubins"] > 0
    assert report["killed"] > 0
    assert not [file for file in folder.iterdir() if file.suffix == ".tmp"]


def test_a_full_disk(tmp_path: Path) -> None:
    """A disk that holds two or three entries, while the limit is many times that."""
    folder = tmp_path / "cache"
    report = torture(
        folder, "--seconds", "1", "--processes", "8", prefix=on_small_disk(folder, ":", 16)
    )
    assert report["cubins"] > 0


def test_a_read_only_disk(tmp_path: Path) -> None:
    """Entries that are there are used, and the others assembled every time."""
    folder = tmp_path / "cache"
    fill = f'"{sys.executable}" "{TORTURE}" "$0" --seconds 0.3 --processes 4 --no-damage >/dev/null'
    prefix = on_small_disk(folder, f'{fill} && mount -o remount,ro "$0"', 1024)
    report = torture(folder, "--seconds", "0.3", "--processes", "8", "--read-only", prefix=prefix)
    assert report["cubins"] > 0
    assert report["entries"] > 0


# Files of this process may have 4 KiB, so that writing fails half-way, as on a full disk.
LIMITED = """
import resource, sys
from pathlib import Path
from support.cache_torture import TARGET, make_text
from pyptx import _core, _toolchain

_toolchain.announce_folders()
text = make_text(3)
right = _core.assemble(text, TARGET, use_cache=False)[0]
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
assert len(right) > 4096
assert [_core.assemble(text, TARGET)[0] for _ in range(2)] == [right, right]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(list(Path(sys.argv[1]).iterdir()))
"""


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    if _core.find_compiler()[0].startswith("ptxas"):
        pytest.skip("ptxas writes files too, which the limit on theirs forbids")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYPTX_CACHE_DIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)]),
        },
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
