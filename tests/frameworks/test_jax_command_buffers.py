# SPDX-License-Identifier: Apache-2.0
"""On a GPU: XLA captures our calls into its command buffers (CUDA graphs), and they replay right.

XLA says what it captured in the thunk sequence that it dumps. Its flags are read once, so each
setting has a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.packages import need
from support.tree import TESTS

jax = need("jax")

CAPTURE_ALL = "--xla_gpu_graph_min_graph_size=1"
CAPTURE_NONE = "--xla_gpu_enable_command_buffer="

PROGRAM = """
import sys
import jax, numpy as np
from support import sample_kernels
from support.example_modules import example
k = sample_kernels.build_row_scale(1.5, 64)
add = sample_kernels.build_vector_add()
gemms = [example("hopper/gemm").build_gemm(tma=tma) for tma in ("pointer", "value")]

@jax.jit
def captured(x, w):
    for _ in range(2):
        x = k(x, w) + 1
        x = add(x.ravel(), x.ravel()).reshape(x.shape)
    x = x.astype("bfloat16")
    return [gemm(x, x + 1) for gemm in gemms]  # their tensor maps follow the buffers

w = np.linspace(0.5, 1, 64, dtype=np.float32)
results, kept = [], []
for seed in range(20):  # other buffers, so the graph is updated, and again, so that it is replayed
    x = np.random.default_rng(seed % 5).standard_normal((128, 64), dtype=np.float32)
    kept.append(captured(x, w))
    results.append(np.stack(kept[-1]))
expected = np.stack(results[:5])
np.testing.assert_array_equal(np.stack(results), np.concatenate([expected] * 4))
np.save(sys.argv[1], expected)
"""


def has_gpu() -> bool:
    return any(device.platform in ("gpu", "cuda") for device in jax.devices())


def depth_and_text(line: str) -> tuple[int, str]:
    return len(line) - len(line.lstrip()), line


def captured_and_not(dump: str) -> tuple[list[str], list[str]]:
    """Custom calls of a dumped thunk sequence: those within a command buffer, and the others."""
    inside: list[str] = []
    outside: list[str] = []
    buffer_depth: int | None = None
    for line in filter(str.strip, dump.splitlines()):
        depth, text = depth_and_text(line)
        if buffer_depth is not None and depth <= buffer_depth:
            buffer_depth = None
        if "kCommandBuffer" in text and buffer_depth is None:
            buffer_depth = depth
        elif "kCustomCall" in text:
            (outside if buffer_depth is None else inside).append(text)
    return inside, outside


def run(folder: Path, flags: str) -> Path:
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)]),
        "XLA_FLAGS": f"--xla_dump_to={folder} {flags}",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # the process of the tests may have it all
    }
    result = folder / "result.npy"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(result)], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    return result


def test_calls_are_captured_and_replayed(tmp_path: Path) -> None:
    if not has_gpu():
        pytest.skip("command buffers are of the CUDA platform; this JAX has no GPU")
    captured, plain = tmp_path / "captured", tmp_path / "plain"
    assert run(captured, CAPTURE_ALL).read_bytes() == run(plain, CAPTURE_NONE).read_bytes()
    dumps = list(captured.glob("*jit_captured*thunk_sequence_after_thunk_passes.txt"))
    assert dumps, sorted(path.name for path in captured.iterdir())
    text = dumps[0].read_text(encoding="utf-8")
    inside, outside = captured_and_not(text)
    assert len(inside) == 6, text
    assert outside == [], text


def test_a_dump_is_read_right() -> None:
    dump = """
000: kCopy            prev
001: kCommandBuffer   prev

  002: kCustomCall    pyptx_launch
  003: kKernel        fusion
004: kCustomCall      pyptx_launch
"""
    inside, outside = captured_and_not(dump)
    assert (len(inside), len(outside)) == (1, 1)
    assert "002" in inside[0]
    assert "004" in outside[0]
