# SPDX-License-Identifier: Apache-2.0
"""The threads of tests/gpu/stress.py on CPU tensors, a few launches each."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from support.packages import need
from support.tree import TESTS

torch = need("torch")

sys.path.insert(0, str(TESTS / "gpu"))

import stress  # noqa: E402

from support import sample_kernels  # noqa: E402

DATA = TESTS / "data"


def run(threads: int = 10, launches: int = 8) -> Any:
    return stress.stress("cpu", threads, lambda worker: worker.launches.total() < launches)


def test_ten_threads_launch_the_same_kernels() -> None:
    workers = run()
    assert [worker.error for worker in workers] == [None] * 10
    assert [worker.wrong for worker in workers] == [0] * 10
    assert all(worker.launches.total() >= 8 for worker in workers)
    ways = set().union(*(worker.launches for worker in workers))
    assert ways == {"allocating", "out=", "bound", "launch"}


def test_a_wrong_result_and_an_error_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    build = sample_kernels.build_tma_axpy
    monkeypatch.setattr(sample_kernels, "build_tma_axpy", lambda _, form: build(3.0, form))
    (worker,) = run(threads=1, launches=4)
    assert worker.wrong > 0
    monkeypatch.setattr(stress.Worker, "_inputs", lambda self: ("no form", None, None))
    (worker,) = run(threads=1)
    assert isinstance(worker.error, KeyError)


@pytest.mark.parametrize("form", stress.FORMS)
def test_the_kernel_of_the_cpp_test_is_this_one(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/unit/interop/threads_test.cpp reads the text from a file."""
    monkeypatch.setenv("PYPTX_LINEINFO", "0")
    text = sample_kernels.build_tma_axpy(2.0, form).ptx(M=8, N=32)
    assert (DATA / f"tma_axpy_{form}.ptx").read_text() == text
