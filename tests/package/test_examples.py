# SPDX-License-Identifier: Apache-2.0
"""Every example assembles, runs, is right, and traces to the same text everywhere.

Two examples need instructions that the emulator lacks; without their GPU they only assemble, and
must say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.assembling import assemble, find_ptxas
from support.example_modules import EXAMPLES, example
from support.tree import TESTS

SCRIPTS = [
    "vector_add.py",
    "tiled_matmul.py",
    "ampere/mma_tile.py",
    "ampere/gemm.py",
    "hopper/rms_norm.py",
    "hopper/layer_norm.py",
    "hopper/softmax.py",
    "hopper/swiglu.py",
    "hopper/gemm.py",
    "hopper/clustered_gemm.py",
    "hopper/grouped_gemm.py",
    "hopper/attention.py",
]
NOT_EMULATED = ["blackwell/gemm.py"]
PROGRAMS = ["hopper/train_sharded.py"]  # of other examples' kernels; test_jax_sharding.py runs it
# tests/kernels/test_patterns.py runs and assembles these.
PATTERNS = [f"patterns/{path.name}" for path in (EXAMPLES / "patterns").glob("*.py")]

EVERYWHERE = ("sm_80", "sm_90a", "sm_100a", "sm_120")
AMPERE_UP = ("sm_80", "sm_86", "sm_90a", "sm_120")
BLACKWELL = ("sm_100a", "sm_103a")
GEMMS = {"M": 200, "N": 136, "K": 192}

# The text of every example's kernels for a target, and the targets that must take it. Shapes come
# whole and with tails, which have other guards.
TEXTS: dict[str, tuple[tuple[str, ...], Callable[[str], list[str]]]] = {
    "hopper/rms_norm": (EVERYWHERE, lambda t: [build("hopper/rms_norm", 16, 512, arch=t).ptx()]),
    **{
        f"hopper/{name}": (
            EVERYWHERE,
            lambda t, name=name: [
                build(f"hopper/{name}", 16, columns, arch=t).ptx() for columns in (512, 500)
            ],
        )
        for name in ("layer_norm", "softmax", "swiglu")
    },
    **{
        f"hopper/{name}": (
            ("sm_90a",),
            lambda t, name=name: [
                build(f"hopper/{name}", tma=tma).ptx(**GEMMS) for tma in ("value", "pointer")
            ],
        )
        for name in ("gemm", "clustered_gemm")
    },
    "hopper/attention": (
        ("sm_90a",),
        lambda t: [
            build("hopper/attention", depth, causal=causal, tma=tma).ptx(H=2, S=300)
            for depth, causal, tma in ((64, True, "value"), (128, False, "pointer"))
        ],
    ),
    "hopper/grouped_gemm": (
        ("sm_90a",),
        lambda t: [
            build("hopper/grouped_gemm", G=3, tma=tma).ptx(T=200, N=136, K=192)
            for tma in ("value", "pointer")
        ],
    ),
    "tiled_matmul": (
        EVERYWHERE,
        lambda t: [build("tiled_matmul", arch=t).ptx(M=100, N=70, K=45)],
    ),
    "ampere/mma_tile": (
        AMPERE_UP,
        lambda t: [build("ampere/mma_tile", arch=t).ptx(M=32, N=48, K=64)],
    ),
    "ampere/gemm": (
        AMPERE_UP,
        lambda t: [
            build("ampere/gemm", arch=t).ptx(M=m, N=n, K=k)
            for m, n, k in ((256, 256, 256), (200, 136, 200), (1, 1, 8))
        ],
    ),
    "blackwell/gemm": (
        BLACKWELL,
        lambda t: [
            build("blackwell/gemm", ctas=ctas, tma=tma, arch=t).ptx(M=m, N=n, K=k)
            for ctas in (1, 2)
            for tma in ("value", "pointer")
            for m, n, k in ((256, 256, 256), (200, 137, 200), (1, 1, 8))
        ],
    ),
}


def build(path: str, *arguments: int, **options: str | int) -> Any:
    return getattr(example(path), f"build_{Path(path).name}")(*arguments, **options)


# Prints the digest of the text of every example's kernel, traced in two threads at once.
TRACE = """
import hashlib, sys
from concurrent.futures import ThreadPoolExecutor
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/hopper", sys.argv[2]]
from support.example_modules import example
ampere, blackwell = example("ampere/gemm"), example("blackwell/gemm")
mma_tile = example("ampere/mma_tile")
import attention, clustered_gemm, gemm, grouped_gemm, layer_norm, rms_norm, softmax, swiglu
import tiled_matmul, vector_add

def texts():
    return [
        rms_norm.build_rms_norm(16, 512).ptx(),
        layer_norm.build_layer_norm(16, 500).ptx(),
        softmax.build_softmax(16, 500).ptx(),
        swiglu.build_swiglu(16, 500).ptx(),
        vector_add.vector_add.ptx(N=1000),
        vector_add.vector_add.ptx(N=1000, VEC=2),
        gemm.build_gemm(tma="pointer").ptx(M=200, N=136, K=192),
        gemm.build_gemm(tma="value").ptx(M=200, N=136, K=192),
        clustered_gemm.build_clustered_gemm().ptx(M=200, N=136, K=192),
        grouped_gemm.build_grouped_gemm(G=3).ptx(T=200, N=136, K=192),
        attention.build_attention(64).ptx(H=2, S=300),
        attention.build_attention(128, causal=False).ptx(H=2, S=300),
        tiled_matmul.build_tiled_matmul().ptx(M=100, N=70, K=45),
        mma_tile.build_mma_tile().ptx(M=32, N=48, K=64),
        ampere.build_gemm().ptx(M=200, N=136, K=192),
        blackwell.build_gemm(ctas=1).ptx(M=200, N=136, K=192),
        blackwell.build_gemm(ctas=2).ptx(M=200, N=136, K=192),
    ]

with ThreadPoolExecutor(2) as pool:
    first, second = (f.result() for f in [pool.submit(texts), pool.submit(texts)])
assert first == second, "two threads traced different texts"
assert len(set(first)) == len(first), "two kernels share a text"
for text in first:
    print(hashlib.sha256(text.encode()).hexdigest())
"""


def run(script: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_demonstration_shows_text_errors_and_costs() -> None:
    out = run("hopper/rms_norm.py", "--ptx", "--profile", "--rows", "4", "--columns", "64")
    assert ".visible .entry rms_norm(" in out
    assert out.count("largest error against float64") >= 1
    assert "warp instructions" in out
    assert "ld.global.f32 x2  rms_norm.py:" in out


def test_every_example_is_here() -> None:
    kernels = {
        str(file.relative_to(EXAMPLES))
        for file in EXAMPLES.rglob("*.py")
        if "def main()" in file.read_text()
    }
    assert kernels == {*SCRIPTS, *NOT_EMULATED, *PROGRAMS, *PATTERNS}
    assert kernels - {"vector_add.py", *PROGRAMS, *PATTERNS} == {f"{path}.py" for path in TEXTS}


@pytest.mark.parametrize(
    ("path", "target"), [(path, target) for path in TEXTS for target in TEXTS[path][0]]
)
def test_example_assembles(path: str, target: str, tmp_path: Path) -> None:
    for text in TEXTS[path][1](target):
        assert f".target {target}\n" in text
        assemble(text, target, tmp_path)


@pytest.mark.parametrize("script", SCRIPTS)
def test_example_runs_and_is_right(script: str) -> None:
    assert "against float64" in run(script)


@pytest.mark.parametrize("script", NOT_EMULATED)
def test_example_runs_or_says_that_it_only_assembled(script: str) -> None:
    if find_ptxas() is None:
        pytest.skip("no ptxas: install nvidia-cuda-nvcc")
    output = run(script)
    if "did not run: the emulator cannot run" in output:
        assert "against float64" not in output
        targets = example(script.removesuffix(".py")).TARGETS
        assert all(f"assembled for {target}" in output for target in targets)
    else:
        assert "against float64" in output


def test_two_processes_and_two_threads_trace_the_same_text():
    def digests(seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", TRACE, str(EXAMPLES), str(TESTS)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(digests, ["1", "2"])
    assert first == second
    assert len(first.split()) == 17
