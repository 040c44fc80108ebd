# SPDX-License-Identifier: Apache-2.0
"""What is kept is bounded, and calls are right after what they were kept for has gone."""

from __future__ import annotations

import ast
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import _core
from pyptx._call import specialize
from pyptx._kept import Kept, kept
from support import sample_kernels
from support.packages import need


def test_the_oldest_goes() -> None:
    table: Kept[str, int] = Kept(2)
    for number, key in enumerate("abc"):
        table.keep(key, number)
    assert (table.get("a"), table.get("b"), table.get("c")) == (None, 1, 2)
    table.keep("b", 3)  # the latest now, and no other has to go for it
    assert table.values() == (2, 3)
    table.keep("d", 4)
    assert table.values() == (3, 4)
    table.clear()
    assert len(table) == 0


def test_the_first_of_a_key_stays() -> None:
    table: Kept[str, list[int]] = Kept(1)
    first = table.keep_first("a", [1])
    assert table.keep_first("a", [1]) is first
    assert table.keep_first("b", [2]) == [2]
    assert table.get("a") is None


def test_many_threads_keep_no_more_than_there_is_room_for() -> None:
    table: Kept[int, int] = Kept(4)
    wrong: list[Any] = []

    def use(first: int) -> None:
        for i in range(2000):
            number = (first + i) % 9
            if table.keep_first(number, number) != number or len(table) > 4:
                wrong.append(number)
            if i % 3 == 0:
                table.keep(number, number)
            if any(value not in range(9) for value in table.values()):
                wrong.append(table.values())

    threads = [threading.Thread(target=use, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(table) == 4


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


def test_results_are_kept_by_all_arguments() -> None:
    calls: list[Any] = []

    @kept(2)
    def double(x: int, *, of: str = "int") -> str:
        """Double it."""
        calls.append((x, of))
        return f"{2 * x} {of}"

    assert [double(1), double(1), double(1, of="s32"), double(1)] == ["2 int"] * 2 + [
        "2 s32",
        "2 int",
    ]
    assert calls == [(1, "int"), (1, "s32")]
    assert double(2) == "4 int"
    assert double(1) == "2 int"  # which had gone
    assert calls[2:] == [(2, "int"), (1, "int")]
    assert double.__doc__ == "Double it."


def test_a_result_of_none_is_kept() -> None:
    calls = []
    assert [kept(2)(calls.append)(1) for _ in range(2)] == [None, None]
    one = kept(2)(calls.append)
    assert [one(2), one(2)] == [None, None]
    assert calls == [1, 1, 2]


def test_functions_with_arguments_are_kept_by_kept() -> None:
    """`functools.cache` has no bound, and lru_cache's hits write."""
    wrong = []
    for file in sorted(Path(pyptx.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            caches = [d for d in node.decorator_list if "cache" in ast.unparse(d).partition("(")[0]]
            if caches and ast.unparse(node.args):
                wrong.append(f"{file.name}:{node.lineno}: {node.name}({ast.unparse(node.args)})")
    assert wrong == []


def test_the_library_is_right_after_its_operations_have_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = need("torch")
    from pyptx.kernels import gemm, matmul, operations, swiglu

    def few(build: Any) -> Any:
        return operations.built_once(build.__wrapped__)

    monkeypatch.setattr(operations, "MOST_KEPT", 2)
    monkeypatch.setattr(gemm, "_built", few(gemm._built))
    before = set(vars(operations.OPERATIONS))
    compiled = torch.compile(lambda a, b: matmul(a, b.T) + 1, fullgraph=True, backend="eager")
    b = torch.randn(16, 32).bfloat16()
    for rows in (8, 16, 24, 32, 8, 16):
        a = torch.randn(rows, 32).bfloat16()
        wanted = a.double() @ b.T.double()
        assert (matmul(a, b.T) - wanted).abs().max() < 0.1
        if rows == 8:  # the second time by a program whose operation has gone
            assert (compiled(a, b) - 1 - wanted).abs().max() < 0.2
    assert len(set(vars(operations.OPERATIONS)) - before) == 2
    x = torch.randn(2, 64)
    torch.testing.assert_close(swiglu(x, x), torch.nn.functional.silu(x) * x)


def test_an_operation_is_built_once_by_many_threads() -> None:
    from pyptx.kernels import operations

    started = threading.Barrier(8)
    built: list[int] = []

    @operations.built_once
    def build(number: int) -> Any:
        built.append(number)
        return object()

    def use(names: set[str]) -> None:
        started.wait()
        names.add(build(1))

    before = set(vars(operations.OPERATIONS))
    names: set[str] = set()
    threads = [threading.Thread(target=use, args=(names,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(vars(operations.OPERATIONS)) - before == names
    assert len(names) == 1
    assert build(1) in names
