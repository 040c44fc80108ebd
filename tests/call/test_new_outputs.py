# SPDX-License-Identifier: Apache-2.0
"""Outputs that a call makes start without values; those that it is given have them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pyptx import EmulatorError, EmulatorWarning, OutputWarning, Tile, kernel, ptx, reg
from pyptx.types import b32, u32
from support.packages import need

WORDS = 64
X = np.arange(WORDS, dtype=np.uint32)


def some(threads: int, *, adds: bool = False):
    """A kernel whose first `threads` threads write, or add to, an element each."""

    @kernel(in_specs=(Tile(WORDS, u32),), out_specs=(Tile(WORDS, u32),), block=(threads, 1, 1))
    def fill(A, B):
        _, out = ptx.global_ptrs(A, B)
        thread = reg.from_(ptx.special.tid.x(), u32)
        to = ptx.addr(out + thread * 4)
        if adds:
            ptx.inst.red.global_.add.u32(to, 1)
        else:
            ptx.inst.st.global_.u32(to, thread)
        ptx.ret()

    return fill


@pytest.mark.parametrize("checks", ["basic", "races"])
def test_what_is_left_is_counted_at_the_line_of_the_call(checks: str) -> None:
    with pytest.warns(OutputWarning, match="16 of 64 elements .* first is element 48") as caught:
        some(48).emulate(X, checks=checks)
    assert caught[0].filename == __file__


def test_it_can_be_ignored() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        some(48).emulate(X, ignore="PTX0940")


def test_a_call_and_a_bound_kernel_say_so_too() -> None:
    with pytest.warns(OutputWarning, match="PTX0940: 63 of 64"):
        some(1)(X)
    with pytest.warns(OutputWarning, match="PTX0940: 32 of 64"):
        some(32).bind(X)(X)


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_every_call_says_the_same(framework: str) -> None:
    x = X if framework == "numpy" else need("torch").arange(WORDS, dtype=need("torch").int32)
    twice = stored_twice()
    told = []
    for _ in range(2):  # traced, then by the entry in C++
        with pytest.warns(EmulatorWarning) as caught:
            twice(x)
        told.append([(w.category, str(w.message), w.filename, w.lineno) for w in caught])
    assert told[0] == told[1]
    assert [w[0] for w in told[0]] == [EmulatorWarning]
    assert told[0][0][2] == __file__


def stored_twice():
    """A kernel two of whose CTAs store the same value to the same place (PTX0941)."""

    @kernel(in_specs=(Tile(WORDS, b32),), out_specs=(Tile(1, u32),), grid=(2, 1, 1))
    def twice(X, Y):
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.u32(ptx.addr(py), 7)
        ptx.ret()

    return twice


def test_torch_tensors() -> None:
    torch = need("torch")
    x = torch.arange(WORDS, dtype=torch.int32).view(torch.uint32)
    half = some(32)
    for _ in range(2):  # traced, then by the entry in C++
        with pytest.warns(OutputWarning, match="32 of 64") as caught:
            half(x)
        assert caught[0].filename == __file__
    with pytest.raises(EmulatorError, match="PTX0921"):
        some(32, adds=True)(x)


def test_jax_arrays() -> None:
    jax = need("jax")
    with pytest.raises(Exception, match="PTX0921"):
        some(32, adds=True)(jax.numpy.asarray(X)).block_until_ready()
    assert (some(64)(jax.numpy.asarray(X)) == X).all()


def test_what_is_given_has_values() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = np.full(WORDS, 7, dtype=np.uint32)
        some(32).emulate(X, out=out)
        some(32, adds=True)(X, out=out)
        some(64)(X)
    assert (out == np.where(X < 32, X + 1, 7)).all()


def test_a_sum_into_a_new_output_is_an_error() -> None:
    with pytest.raises(EmulatorError, match="element 0 of B: nothing was written there"):
        some(32, adds=True).emulate(X)


def test_a_filter_makes_it_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutputWarning)
        with pytest.raises(OutputWarning):
            some(1).emulate(X)
