# SPDX-License-Identifier: Apache-2.0
"""Every example runs, is right, and traces to the same text everywhere."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SCRIPTS = ["vector_add.py", "hopper/rms_norm.py", "hopper/gemm.py", "hopper/grouped_gemm.py"]

# Prints the digest of the text of every example's kernel, traced in two threads at once.
TRACE = """
import hashlib, sys
from concurrent.futures import ThreadPoolExecutor
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/hopper"]
import gemm, grouped_gemm, rms_norm, vector_add

def texts():
    return [
        rms_norm.build_rms_norm(16, 512).ptx(),
        vector_add.vector_add.ptx(N=1000),
        vector_add.vector_add.ptx(N=1000, VEC=2),
        gemm.build_gemm(tma="pointer").ptx(M=200, N=136, K=192),
        gemm.build_gemm(tma="value").ptx(M=200, N=136, K=192),
        grouped_gemm.build_grouped_gemm(G=3).ptx(T=200, N=136, K=192),
    ]

with ThreadPoolExecutor(2) as pool:
    first, second = (f.result() for f in [pool.submit(texts), pool.submit(texts)])
assert first == second, "two threads traced different texts"
assert len(set(first)) == len(first), "two kernels share a text"
for text in first:
    print(hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.mark.parametrize("script", SCRIPTS)
def test_example_runs_and_is_right(script: str):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "against float64" in done.stdout


def test_two_processes_and_two_threads_trace_the_same_text():
    def digests(seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", TRACE, str(EXAMPLES)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(digests, ["1", "2"])
    assert first == second
    assert len(first.split()) == 6
