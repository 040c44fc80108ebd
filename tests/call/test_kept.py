# SPDX-License-Identifier: Apache-2.0
"""What is kept is bounded, and calls are right after what they were kept for has gone."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from pyptx import _core
from pyptx._call import specialize
from pyptx._kept import Kept
from support import sample_kernels
from support.packages import need


def test_the_oldest_goes() -> None:
    kept: Kept[str, int] = Kept(2)
    for number, key in enumerate("abc"):
        kept.keep(key, number)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (None, 1, 2)
    kept.keep("b", 3)  # the latest now, and no other has to go for it
    assert kept.values() == (2, 3)
    kept.keep("d", 4)
    assert kept.values() == (3, 4)
    kept.clear()
    assert len(kept) == 0


def test_the_first_of_a_key_stays() -> None:
    kept: Kept[str, list[int]] = Kept(1)
    first = kept.keep_first("a", [1])
    assert kept.keep_first("a", [1]) is first
    assert kept.keep_first("b", [2]) == [2]
    assert kept.get("a") is None


def test_many_threads_keep_no_more_than_there_is_room_for() -> None:
    kept: Kept[int, int] = Kept(4)
    wrong: list[Any] = []

    def use(first: int) -> None:
        for i in range(2000):
            number = (first + i) % 9
            if kept.keep_first(number, number) != number or len(kept) > 4:
                wrong.append(number)
            if i % 3 == 0:
                kept.keep(number, number)
            if any(value not in range(9) for value in kept.values()):
                wrong.append(kept.values())

    threads = [threading.Thread(target=use, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(kept) == 4


def test_the_entry_and_the_traces_have_one_number() -> None:
    assert specialize.MOST_KEPT == _core.MAX_SPECIALISATIONS
    assert sample_kernels.build_vector_add().jax_functions.most == _core.MAX_SPECIALISATIONS


def test_calls_of_jax_are_right_after_theirs_have_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    jax = need("jax")
    from pyptx._jax import call_site

    monkeypatch.setattr(call_site, "_calls", Kept(2))
    k = sample_kernels.build_vector_add()
    monkeypatch.setattr(k, "jax_functions", Kept(1))
    first = jax.jit(lambda x: k(x, x))
    numbers = [np.arange(count, dtype=np.float32) for count in (5, 6, 7, 8)]
    for x in (*numbers, *numbers):
        np.testing.assert_array_equal(k(jax.numpy.asarray(x), jax.numpy.asarray(x)), 2 * x)
        np.testing.assert_array_equal(first(x), 2 * x)
    assert len(call_site._calls) == 2
    other = sample_kernels.build_row_scale(2.0, batch="B")
    monkeypatch.setattr(other, "jax_functions", Kept(1))
    x, w = jax.numpy.ones((3, 32)), jax.numpy.ones(32)
    for _ in range(2):
        np.testing.assert_array_equal(other(x, w), 2 * np.ones((3, 32), np.float32))
    assert len(other.jax_functions) == 1
