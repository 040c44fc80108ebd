# SPDX-License-Identifier: Apache-2.0
"""`ptx.printf`, `ptx.assert_` and `ptx.trap` on a GPU, in processes of their own.

What a kernel prints goes to the process's stdout behind Python's back, and a failed assertion or a
trap ends the context. That the texts assemble is shown everywhere (test_every_helper.py).
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.packages import need

torch = need("torch")

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

BEGIN = """
import torch
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, f64, u32, u64

@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=(2, 1, 1), block=(32, 1, 1))
def observed(x, y):
    px, py = ptx.global_ptrs(x, y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    block = reg.from_(ptx.special.ctaid.x(), u32)
    index = block * 32 + tid
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + index * 4))
"""
END = """
    ptx.inst.st.global_.f32(ptx.addr(py + index * 4), value)
    ptx.ret()

x = torch.arange(64, device="cuda", dtype=torch.float32) / 4
y = observed(x)
torch.cuda.synchronize()
assert torch.equal(x, y)
"""


def run(body: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the kernel with `body` in its middle."""
    script = folder / "observed.py"
    script.write_text(BEGIN + body + END)
    return subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=300
    )


def test_printf(tmp_path: Path) -> None:
    body = """
    with ptx.if_(tid == 3):
        wide = reg.scalar(u64)
        ptx.inst.mov.u64(wide, 1 << 40)
        ptx.printf("block %u has %g, %.3f and %5d, %llu, 100%%\\n", block, value, value, tid, wide)
"""
    done = run(body, tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "block 0 has 0.75, 0.750 and     3, 1099511627776, 100%",
        "block 1 has 8.75, 8.750 and     3, 1099511627776, 100%",
    ]


def test_assertion_that_holds(tmp_path: Path) -> None:
    done = run("    ptx.assert_(tid < 32, 'the block is one warp')\n", tmp_path)
    assert done.returncode == 0, done.stderr


def test_assertion_that_fails(tmp_path: Path) -> None:
    done = run("    ptx.assert_(tid != 7, 'no thread is the seventh')\n", tmp_path)
    assert done.returncode != 0
    line = BEGIN.count("\n") + 1
    assert f"observed.py:{line}: observed: block: [1,0,0], thread: [7,0,0]" in done.stderr
    assert "Assertion `no thread is the seventh` failed." in done.stderr


def test_trap(tmp_path: Path) -> None:
    done = run("    with ptx.if_(tid == 40):\n        ptx.trap()\n", tmp_path)
    assert done.returncode == 0, done.stderr
    done = run("    with ptx.if_(tid == 4):\n        ptx.trap()\n", tmp_path)
    assert done.returncode != 0
    assert "CUDA" in done.stderr


def test_nsight_compute_shows_the_authors_lines(tmp_path: Path) -> None:
    ncu = shutil.which("ncu")
    if ncu is None:
        pytest.skip("no ncu")
    script, report = tmp_path / "observed.py", tmp_path / "report"
    script.write_text(BEGIN + END)
    profiled = subprocess.run(
        [ncu, "--kernel-name", "observed", "--section", "SourceCounters", "--import-source", "yes",
         "-o", str(report), sys.executable, str(script)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if "ERR_NVGPUCTRPERM" in profiled.stdout:
        pytest.skip("no permission to read the counters")
    assert profiled.returncode == 0, profiled.stdout + profiled.stderr
    shown = subprocess.run(
        [ncu, "--import", f"{report}.ncu-rep", "--page", "source", "--print-source", "cuda",
         "--csv"],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stdout + shown.stderr
    lines = {row[1].strip() for row in csv.reader(shown.stdout.splitlines()) if len(row) > 1}
    assert "ptx.inst.ld.global_.f32(value, ptx.addr(px + index * 4))" in lines, shown.stdout[:4000]
