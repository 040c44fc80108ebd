# SPDX-License-Identifier: Apache-2.0
"""Which traces and images a kernel keeps: those of what it read, and not all there ever were."""

from __future__ import annotations

import queue
import sys
import threading
from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx._call.element_types import nbytes
from pyptx._call.specialize import MOST_KEPT
from pyptx.types import f32, u32
from support.packages import need
from support.reading_kernels import make

SCALE: Any = 1.0


@pytest.fixture(autouse=True)
def _scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 1.0)


def set_scale(number: float) -> None:
    globals().update(SCALE=number)


@pytest.mark.parametrize("arrays", ["numpy", "torch", "jax"])
def test_a_change_while_a_body_runs(arrays: str) -> None:
    x: Any = np.zeros(1, np.float32)
    if arrays == "torch":
        x = need("torch").zeros(1)
    if arrays == "jax":
        x = need("jax").numpy.zeros(1)
    started: queue.SimpleQueue[int] = queue.SimpleQueue()
    ready: queue.SimpleQueue[int] = queue.SimpleQueue()
    announce, wait = started.put, ready.get  # methods of C objects are compared by identity

    def read() -> Any:
        announce(1)
        wait(True, 30)
        return SCALE

    k = make(read)
    results: list[float] = []
    thread = threading.Thread(target=lambda: results.append(float(k(x)[0])))
    thread.start()
    started.get(timeout=30)
    set_scale(2.0)
    for _ in range(10):
        ready.put(1)
    thread.join()
    assert results == [2.0]
    for number in (1.0, 1.0, 2.0, 1.0, 3.0):
        set_scale(number)
        assert float(k(x)[0]) == number


def test_a_body_that_fills_a_table_is_kept_once_it_is_filled() -> None:
    torch = need("torch")
    table: dict[str, float] = {}
    runs: queue.SimpleQueue[int] = queue.SimpleQueue()
    count = runs.put

    def read() -> float:
        count(1)
        return table.setdefault("number", 5.0)

    k = make(read)
    for _ in range(4):
        assert k(torch.zeros(1)) == 5.0
    assert runs.qsize() == 2
    assert k._live.entry.hits == 2


def test_a_body_that_always_changes_what_it_reads_is_run_by_each_call() -> None:
    torch = need("torch")
    runs: list[int] = []

    def read() -> float:
        runs.append(1)
        return float(len(runs))

    k = make(read)
    for _ in range(3):
        assert k(torch.zeros(1)) == len(runs)
    assert len(runs) == 3
    assert not k.specializer._traces


def test_a_template_value_that_the_body_changes() -> None:
    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), grid=(1, 1, 1), block=(1, 1, 1))
    def write(X, Y, *, numbers):
        numbers.append(numbers[-1] + 1.0)
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.f32(ptx.addr(py), reg.scalar(f32, init=numbers[-1]))
        ptx.ret()

    x = np.zeros(1, np.float32)
    numbers = [1.0]
    assert write(x, numbers=numbers) == numbers[-1]
    first = write(x, numbers=[1.0])
    assert write(x, numbers=[1.0]) == first


def test_old_traces_go_and_are_made_again() -> None:
    k = make(lambda: SCALE)
    x = np.zeros(1, np.float32)
    for number in (*range(MOST_KEPT + 10), 0, MOST_KEPT + 9):
        set_scale(float(number))
        assert k(x) == number
        assert len(k.specializer._traces) <= MOST_KEPT
    assert len(k.specializer._traces) == MOST_KEPT


def test_old_images_go_and_are_made_again() -> None:
    @kernel(
        in_specs=(Tile(1, u32),),
        out_specs=(Tile(1, u32),),
        grid=lambda number: (number + 1, 1, 1),
        block=(1, 1, 1),
        raw_params=[("u32", "number")],
    )
    def write(X, Y):
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.u32(ptx.addr(py), ptx.param("u32", "number"))
        ptx.ret()

    x = np.zeros(1, np.uint32)
    for number in (*range(MOST_KEPT + 10), 0):
        assert write(x, number=number) == number
        write._entry.clear()  # which would ask the grid itself, and launch the first image
    (trace,) = write.specializer._traces.values()
    assert len(trace.images) == MOST_KEPT


def test_a_byte_that_is_used_in_part_counts() -> None:
    assert [nbytes("u4", (3, count)) for count in (0, 1, 2, 3)] == [0, 2, 3, 5]
    assert nbytes("f32", ()) == 4
