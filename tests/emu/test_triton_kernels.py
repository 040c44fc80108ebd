# SPDX-License-Identifier: Apache-2.0
"""PTX that Triton wrote (tests/corpus/triton_kernels.py) runs, and its results are NumPy's.

All with the race checks; Triton leaves out fences of tcgen05 on purpose, which is silenced by code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyptx import _core
from support.packages import need
from support.tree import TESTS

FOLDER = TESTS / "data/triton"
LAUNCHES = json.loads((FOLDER / "launches.json").read_text())
IGNORED = {"matmul.100": "PTX0931"}
ml_dtypes = need("ml_dtypes")

Case = Callable[[Any, np.random.Generator], None]


class Runner:
    """Launches one saved kernel: arrays are pointers, numbers are 32-bit scalars."""

    def __init__(self, name: str) -> None:
        self.text = (FOLDER / f"{name}.ptx").read_text()
        self.target = re.findall(r"\.target (\w+)", self.text)[0]
        self.launch = LAUNCHES[name]
        self.ignored = IGNORED.get(name, "")

    def __call__(self, *arguments: Any, grid: tuple[int, ...] = (1,)) -> None:
        arrays = [value for value in arguments if isinstance(value, np.ndarray)]
        sizes = (*grid, 1, 1)[:3]
        threads = (self.launch["threads"], 1, 1)
        shared = self.launch["shared"]
        plan = _core.LaunchPlan(
            self.launch["entry"], sizes, threads, (1, 1, 1), shared, len(arrays)
        )
        index = 0
        for value in arguments:
            if isinstance(value, np.ndarray):
                plan.add_pointer(index)
                index += 1
            else:
                kind = np.float32 if isinstance(value, float) else np.int32
                plan.add_scalar(int(np.array(value, kind).view(np.uint32)), 4)
        head = self.text[self.text.index(".entry") :].partition(")")[0]
        for _ in range(len(re.findall(r"_param_\d+", head)) - len(arguments)):
            plan.add_scalar(0, 8)  # Triton's own scratch memory, which none of these has
        image = _core.KernelImage(self.text, self.target, plan)
        _core.emulate(
            image,
            [array.ctypes.data for array in arrays],
            [array.nbytes for array in arrays],
            checks="races",
            ignore=self.ignored,
            limits=["10000000"],
        )


def floats(random: np.random.Generator, *shape: int, kind: Any = np.float32) -> Any:
    return random.standard_normal(shape).astype(kind)


def softmax_of(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def add(run: Runner, random: np.random.Generator) -> None:
    x, y, out = floats(random, 700), floats(random, 700), np.zeros(700, np.float32)
    run(x, y, out, 700, grid=(3,))
    np.testing.assert_array_equal(out, x + y)


def softmax(run: Runner, random: np.random.Generator) -> None:
    x, out = floats(random, 3, 400), np.zeros((3, 400), np.float32)
    run(x, out, 400, grid=(3,))
    np.testing.assert_allclose(out, softmax_of(x), rtol=1e-5, atol=1e-7)


def layer_norm(run: Runner, random: np.random.Generator) -> None:
    x, w, b = floats(random, 2, 200), floats(random, 200), floats(random, 200)
    out = np.zeros_like(x)
    run(x, w, b, out, 200, 1e-5, grid=(2,))
    scale = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, (x - x.mean(1, keepdims=True)) * scale * w + b, atol=1e-4)


def dropout(run: Runner, random: np.random.Generator) -> None:
    x, out = floats(random, 700), np.full(700, 9, np.float32)
    run(x, out, 700, 0.5, 7, grid=(3,))
    kept = out != 0
    assert 0.4 < kept.mean() < 0.6
    np.testing.assert_array_equal(out[kept], 2 * x[kept])


def matmul(run: Runner, random: np.random.Generator) -> None:
    a, b = floats(random, 70, 80, kind=np.float16), floats(random, 80, 40, kind=np.float16)
    c = np.zeros((70, 40), np.float32)
    run(a, b, c, 70, 40, 80, grid=(2, 2))
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), atol=1e-3)


def attention(run: Runner, random: np.random.Generator) -> None:
    q, k, v = (floats(random, 128, 32, kind=np.float16) for _ in range(3))
    out = np.zeros_like(q)
    run(q, k, v, out, 128, float(np.log2(np.e) / np.sqrt(32)), grid=(2,))
    scores = q.astype(np.float64) @ k.astype(np.float64).T / np.sqrt(32)
    np.testing.assert_allclose(out, softmax_of(scores) @ v.astype(np.float64), atol=5e-3)


def cumsum(run: Runner, random: np.random.Generator) -> None:
    x, out = floats(random, 256), np.zeros(256, np.float32)
    run(x, out)
    np.testing.assert_allclose(out, np.cumsum(x), atol=1e-4)


def histogram(run: Runner, random: np.random.Generator) -> None:
    x, out = random.integers(0, 16, 256).astype(np.int32), np.zeros(16, np.int32)
    run(x, out)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=16))


def gather(run: Runner, random: np.random.Generator) -> None:
    x, out = floats(random, 128), np.zeros(128, np.float32)
    index = random.integers(0, 128, 128).astype(np.int32)
    run(x, index, out)
    np.testing.assert_array_equal(out, x[index])


def locked_sum(run: Runner, random: np.random.Generator) -> None:
    x, out, lock = floats(random, 128), np.zeros(128, np.float32), np.zeros(1, np.int32)
    run(x, out, lock, grid=(4,))
    np.testing.assert_allclose(out, 4 * x, rtol=1e-6)


def atomic_sum(run: Runner, random: np.random.Generator) -> None:
    x, out = random.integers(-9, 9, 256).astype(np.float32), np.zeros(8, np.float32)
    run(x, out, 256, grid=(2,))
    np.testing.assert_array_equal(out, x.reshape(-1, 8).sum(0))


def cast_to(name: str) -> Case:
    def check(run: Runner, random: np.random.Generator) -> None:
        kind = getattr(ml_dtypes, name)
        x = (20 * floats(random, 700)).astype(np.float32)
        out = np.zeros(700, kind)
        run(x, out, 700, grid=(2,))
        np.testing.assert_array_equal(out.astype(np.float32), x.astype(kind).astype(np.float32))

    return check


CASES: dict[str, Case] = {
    "add": add,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "dropout": dropout,
    "matmul": matmul,
    "attention": attention,
    "cumsum": cumsum,
    "histogram": histogram,
    "gather": gather,
    "locked_sum": locked_sum,
    "atomic_sum": atomic_sum,
    "cast_e5m2": cast_to("float8_e5m2"),
    "cast_e4m3": cast_to("float8_e4m3fn"),
    "cast_bf16": cast_to("bfloat16"),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_results(name: str) -> None:
    CASES[name.partition(".")[0]](Runner(name), np.random.default_rng(0))


def test_a_wrong_result_would_be_seen() -> None:
    run = Runner("add.80")
    run.text = run.text.replace("add.f32", "sub.f32")
    with pytest.raises(AssertionError):
        add(run, np.random.default_rng(0))
