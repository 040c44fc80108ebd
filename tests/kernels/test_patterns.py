# SPDX-License-Identifier: Apache-2.0
"""Kernels of examples/patterns, right on twenty schedules; they and attention as short as in C++.

What nvcc makes of the same kernels runs on the emulator too, on the same inputs against the same
references: PTX that is not ours.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import _core, testing
from pyptx._testing.compare import compare
from pyptx._testing.runs import has_gpu, schedules_of
from pyptx._testing.values import exact
from support.assembling import assemble
from support.cuda_twins import Twin, compiled, lines_of_cpp, lines_of_python
from support.example_modules import EXAMPLES, example
from support.packages import need

FOLDER = EXAMPLES / "patterns"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
SIZES: dict[str, dict[str, Any]] = {
    "argmax": {"M": 3, "N": 300},
    "axpby": {"N": 300},
    "bitonic_sort": {"M": 2, "N": 200},
    "histogram": {"M": 2, "N": 1100},
    "quantise_fp8": {"M": 2, "N": 256},
    "stencil": {"M": 2},
    "transpose": {"M": 40, "N": 70},
    "work_queue": {"N": 500, "S": 30, "S1": 31},
}

# Of hopper/attention.py, which test_examples.py runs.
TWINS = [*NAMES, "attention"]
KEYWORDS = {
    "attention": {"causal": True},
    "axpby": {"a": 2.5, "b": -3.0},
    "stencil": {"steps": 40, "still": 0.25},
}


def folder_of(name: str) -> Path:
    return EXAMPLES / ("hopper" if name == "attention" else "patterns")


def kernel_of(name: str) -> Any:
    return getattr(example(f"patterns/{name}"), name)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_is_right(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with testing.settings(checks="races", frameworks=None if has_gpu() else "numpy"):
        example(f"patterns/{name}").main()
    assert re.match(rf"{name}: \d+ cases are right", capsys.readouterr().out)
    assert "schedules=20)" in (FOLDER / f"{name}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_frameworks_call_it(name: str) -> None:
    module = example(f"patterns/{name}")
    frameworks = ("torch",) if name == "argmax" else ("torch", "jax")  # JAX has no s64 as it is
    for framework in frameworks:
        need(framework)
    sizes = {**SIZES[name], **KEYWORDS.get(name, {})}
    inputs = getattr(module, "segments", "normal")
    given = {"shapes": sizes, "frameworks": frameworks}
    assert testing.check(kernel_of(name), module.reference, inputs, **given) == 1


@pytest.mark.parametrize("name", NAMES)
def test_the_example_assembles(name: str, tmp_path: Path) -> None:
    given = {**SIZES[name], **KEYWORDS.get(name, {})}
    text = kernel_of(name).ptx(**given)
    assemble(text, re.findall(r"\.target (\w+)", text)[0], tmp_path)


@pytest.mark.parametrize("name", TWINS)
def test_the_kernel_is_as_short_as_in_cpp(name: str) -> None:
    path = folder_of(name) / f"{name}.py"
    assert 5 < lines_of_python(path) <= lines_of_cpp(path.with_suffix(".cu"))


# --- what nvcc makes of the same ----------------------------------------------------------------


@cache
def texts() -> dict[str, str]:
    return compiled([folder_of(name) / f"{name}.cu" for name in TWINS])


ROWS = (64, 128, 128, 64)  # of a box of queries, keys, values, and what is stored


def random(*shape: int) -> Any:
    return np.random.default_rng(5).standard_normal(shape, np.float32)


def twin_argmax() -> Any:
    x = random(3, 300)
    x[1] = x[1, 7]
    y = np.empty(3, np.int64)
    return Twin(texts()["argmax"], grid=(3,), block=(128,)), (x, y, 300), (x,), (y,)


def twin_attention() -> Any:
    """The last block of queries is not full; its tiles and mbarriers take a little over 160 KiB."""
    heads, length, depth = 2, 300, 128
    q, k, v = (random(heads, length, depth).astype("bfloat16") * (1 + i) for i in range(3))
    o = np.empty((heads, length, depth), "bfloat16")
    dims, strides = [depth, length, heads], [2 * depth, 2 * depth * length]
    maps = [_core.TensorMap("bf16", dims, strides, [64, rows, 1], "128B") for rows in ROWS]
    sizes = {"grid": (-(-length // 128), heads), "block": (384,)}
    twin = Twin(texts()["attention"], shared=163840 + 128, maps=maps, **sizes)
    return twin, (q, k, v, o), (q, k, v), (o,)


def twin_axpby() -> Any:
    x, z, y = random(300), random(300), np.empty(300, np.float32)
    twin = Twin(texts()["axpby"], grid=(2,), block=(128,))
    a, b = np.float32(2.5), np.float32(-3.0)
    return twin, (x, z, y, a, b, np.uint32(300)), (x, z), (y,)


def twin_bitonic_sort() -> Any:
    x, y = random(2, 200), np.empty((2, 200), np.float32)
    twin = Twin(texts()["bitonic_sort"], grid=(2,), block=(128,))
    return twin, (x, y, np.uint32(200)), (x,), (y,)


def twin_histogram() -> Any:
    x = np.random.default_rng(5).integers(0, 256, (2, 1100), np.uint8)
    y = np.empty((2, 256), np.uint32)
    twin = Twin(texts()["histogram"], grid=(4, 2), block=(256,), cluster=(4,))
    return twin, (x, y, np.uint32(1100)), (x,), (y,)


def twin_quantise_fp8() -> Any:
    x, q, scale = random(2, 256), np.empty((2, 256), np.uint8), np.empty(2, np.float32)
    twin = Twin(texts()["quantise_fp8"], grid=(2,), block=(32,))
    return twin, (x, q, scale, np.int32(256)), (x,), (q.view("float8_e4m3fn"), scale)


def twin_stencil() -> Any:
    x, y, steps = random(2, 128), np.empty((2, 128), np.float32), np.empty(2, np.uint32)
    twin = Twin(texts()["stencil"], grid=(2,), block=(128,))
    return twin, (x, y, steps, np.uint32(40), np.float32(0.25)), (x,), (y, steps)


def twin_transpose() -> Any:
    x, y = random(40, 70), np.empty((70, 40), np.float32)
    twin = Twin(texts()["transpose"], grid=(3, 2), block=(32, 8))
    return twin, (x, y, np.int32(40), np.int32(70)), (x,), (y,)


def twin_work_queue() -> Any:
    x, offsets = example("patterns/work_queue").segments(np.random.default_rng(5), 500, 30)
    x, offsets = x.astype(np.float32), offsets.astype(np.int32)
    y = np.empty(30, np.float32)
    twin = Twin(texts()["work_queue"], grid=(8,), block=(32,))
    return twin, (x, offsets, y, np.uint32(30)), (x, offsets), (y,)


@pytest.mark.parametrize("name", TWINS)
def test_what_nvcc_makes_of_it_is_right_too(name: str) -> None:
    twin, arguments, inputs, outputs = globals()[f"twin_{name}"]()
    module = example(f"{folder_of(name).name}/{name}")
    expected = module.reference(*map(exact, inputs), **KEYWORDS.get(name, {}))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for seed, schedule in schedules_of(20, 0):
        for output in outputs:
            output.view(np.uint8)[...] = 0xFF
        twin(*arguments, seed=seed, schedule=schedule)
        for got, wanted in zip(outputs, expected, strict=True):
            wrong = compare(got, wanted, 2e-2 if name == "attention" else None)
            assert wrong is None, f"seed {seed}, {schedule}: {wrong}"


def test_a_wrong_twin_is_found() -> None:
    """The barrier of the transpose taken out of what nvcc made."""
    twin, arguments, _, _ = twin_transpose()
    assert "bar.sync" in twin.text
    twin.text = re.sub(r"\n\s*(barrier|bar)\.sync[^\n]*", "", twin.text)
    with pytest.raises(pyptx.EmulatorError, match=r"PTX092[01]"):
        twin(*arguments)


def test_lines_are_counted(tmp_path: Path) -> None:
    python, cpp = tmp_path / "one.py", tmp_path / "one.cu"
    python.write_text(
        "from pyptx import kernel\n\ndef reference(x):\n    return x\n\n"
        "def part(x):  # called\n    return x\n\n"
        '@kernel(\n    block=(1, 1, 1)\n)\ndef one(X):\n    """Words\n    of two lines."""\n\n'
        "    # why\n    part(\n        X\n    )\n"
    )
    cpp.write_text(
        "// words\n#include <x>\n\n/* more\n words */\n"
        "__global__ void one(int* x) {\n  *x = 1;\n}\n"
    )
    assert (lines_of_python(python), lines_of_cpp(cpp)) == (6, 3)
