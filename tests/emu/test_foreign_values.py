# SPDX-License-Identifier: Apache-2.0
"""Other compilers' kernels read values that nobody wrote and throw them away: nothing is said.

CUB's block and warp algorithms, compiled by nvcc, and reductions and scans that Triton 3.9 made
(tests/files/triton).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from pyptx import EmulatorError, _core
from support.tree import TESTS

sys.path.insert(0, str(TESTS / "corpus"))

import corpus

CHECKS = ("basic", "races")
RNG = np.random.default_rng(0)


def emulate(
    text: str,
    entry: str,
    threads: int,
    arrays: Sequence[Any],
    *,
    new: int,
    blocks: int = 1,
    shared: int = 0,
    scalars: Sequence[tuple[int, int]] = (),
    checks: str,
) -> None:
    """Run an entry in place; the last `new` arrays start without values and must get them all."""
    plan = _core.LaunchPlan(
        entry, [blocks, 1, 1], [threads, 1, 1], dynamic_shared=shared, tensor_count=len(arrays)
    )
    for index in range(len(arrays)):
        plan.add_pointer(index)
    for bits, size in scalars:
        plan.add_scalar(bits, size)
    image = _core.KernelImage(text, "sm_90a", plan)
    report = _core.emulate(
        image,
        [array.ctypes.data for array in arrays],
        [array.nbytes for array in arrays],
        threads=1,
        fresh=[array.itemsize for array in arrays[len(arrays) - new :]],
        checks=checks,
    )
    assert "warnings" not in report


@pytest.fixture(scope="module")
def cub() -> str:
    if not corpus.is_available():
        pytest.skip("needs the CUDA wheels")
    return corpus.compile_case(corpus.Case("cub_block", "sm_90a", "plain")).read_text()


@pytest.mark.parametrize("checks", CHECKS)
def test_cub_sorts(cub: str, checks: str) -> None:
    keys = RNG.integers(0, 2**32, 512, dtype=np.uint32)
    values = np.arange(512, dtype=np.float32)
    wanted, order = np.sort(keys), np.argsort(keys, kind="stable")
    emulate(cub, "_Z9sort_tileILi128ELi4EEvPjPf", 128, [keys, values], new=0, checks=checks)
    assert (keys == wanted).all()
    assert (values == order).all()


@pytest.mark.parametrize("checks", CHECKS)
def test_cub_scans_and_reduces(cub: str, checks: str) -> None:
    given = RNG.integers(-9, 9, (2, 256), dtype=np.int32)
    prefix, total = np.empty_like(given), np.empty(2, dtype=np.int32)
    arrays = [given, prefix, total]
    emulate(cub, "_Z9scan_tilePKiPiS1_", 256, arrays, new=2, blocks=2, checks=checks)
    assert (prefix == given.cumsum(1)).all()
    assert (total == given.sum(1) + given.max(1)).all()


@pytest.mark.parametrize("checks", CHECKS)
def test_cub_of_warps(cub: str, checks: str) -> None:
    given = RNG.integers(0, 9, 128).astype(np.float64)
    out = np.empty_like(given)
    emulate(cub, "_Z9warp_sumsPKdPd", 128, [given, out], new=1, checks=checks)
    # Lane 0 has the sum of its warp and an empty prefix.
    assert (out.reshape(4, 32)[:, 0] == given.reshape(4, 32).sum(1)).all()


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


TRITON: dict[str, tuple[int, Any, Callable[[Any], Any]]] = {
    "row_sum": (128, np.float32, lambda x: x.sum(1)),
    "cum": (128, np.float32, lambda x: x.cumsum(1)),
    "softmax": (128, np.float32, softmax),
    "half_sum": (256, np.float16, lambda x: x.sum(1)),
}


@pytest.mark.parametrize("checks", CHECKS)
@pytest.mark.parametrize("name", TRITON)
def test_triton(name: str, checks: str) -> None:
    size, dtype, function = TRITON[name]
    text = (TESTS / "files" / "triton" / f"{name}.ptx").read_text()
    # A vector of one element is that element.
    text = re.sub(r"((?:ld|st)\.\S+ .*)\{ (%\w+) \}", r"\1\2", text)
    given = RNG.standard_normal((3, size - 13)).astype(dtype)
    wanted = function(given.astype(np.float64))
    out = np.empty(wanted.shape, dtype=dtype)
    none = [(0, 8), (0, 8)]  # scratch memory that it does not use
    emulate(
        text,
        name,
        128,
        [given, out],
        new=1,
        blocks=3,
        shared=64,
        scalars=[(size - 13, 4), *none],
        checks=checks,
    )
    np.testing.assert_allclose(out, wanted, rtol=2e-3, atol=2e-3 if dtype == np.float32 else 4e-2)


def test_it_is_told_where_the_value_stays() -> None:
    """The same kernel without the zero that a masked load leaves: the sum is of nothing."""
    text = (TESTS / "files" / "triton" / "row_sum.ptx").read_text()
    text = re.sub(r"((?:ld|st)\.\S+ .*)\{ (%\w+) \}", r"\1\2", text)
    text, count = re.subn(r"\tmov\.u32 %r1, %r2;\n", "", text)
    assert count == 1
    given, out = np.ones((3, 100), np.float32), np.empty(3, np.float32)
    scalars = [(100, 4), (0, 8), (0, 8)]
    with pytest.raises(EmulatorError, match=r"PTX0921(.|\n)*'%r1' is read"):
        emulate(
            text,
            "row_sum",
            128,
            [given, out],
            new=1,
            blocks=3,
            shared=64,
            scalars=scalars,
            checks="races",
        )
