# SPDX-License-Identifier: Apache-2.0
"""The types put into nanobind's stubs: each where it belongs, and none forgotten."""

from __future__ import annotations

import pytest

from stubs.refine import RefineError, Types, refined


def types(**tables):
    empty = {"parameters": {}, "results": {}, "attributes": {}, "classes": {}, "hidden": []}
    return Types(**(empty | tables))


def test_a_parameter_is_typed_by_its_name_and_a_qualified_name_wins():
    known = types(
        parameters={"pred": "Guard", "ptx.at.place": "Memory", "place": "Reg"},
        results={"ptx.t*": "Reg"},
    )
    text = """
def at(place: object, pred: object | None = None) -> None: ...
def to(place: object): ...
"""
    found = refined(text, "ptx.pyi", known)
    assert "def at(place: Memory, pred: Guard=None) -> None" in found
    assert "def to(place: Reg) -> Reg" in found
    assert "from pyptx._operand import Guard, Memory\n" in found
    known.finish()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x: object) -> None: ...", "the parameter f.x may be anything"),
        ("def f(x) -> None: ...", "the parameter f.x may be anything"),
        ("def f() -> object: ...", "the result f may be anything"),
        ("def f() -> tuple: ...", "the result f may be anything"),
        ("def f(x: dict | None) -> int: ...", "the parameter f.x may be anything"),
        ("class C:\n    def m(self) -> list: ...", "the result C.m may be anything"),
        ("class C:\n    a: object", "the attribute C.a may be anything"),
    ],
)
def test_what_has_no_type_is_refused(text, message):
    with pytest.raises(RefineError, match=message):
        refined(text, "__init__.pyi", types())


def test_what_has_a_type_is_left_alone():
    text = "def f(x: int, y: dict[str, int], z: tuple[int, ...]) -> list[str]:\n    ..."
    assert text in refined(text, "__init__.pyi", types())


def test_a_line_that_types_nothing_is_refused():
    known = types(parameters={"pred": "Guard", "gone": "Reg"})
    refined("def f(pred: object) -> None: ...", "__init__.pyi", known)
    with pytest.raises(RefineError, match="nothing is called gone"):
        known.finish()


def test_hidden_names_are_left_out():
    known = types(hidden=["C.old"])
    found = refined("class C:\n    def old(self): ...\n    x: int", "__init__.pyi", known)
    assert "old" not in found
    known.finish()


def test_a_class_written_by_hand_has_every_member():
    known = types(classes={"C": "class C:\n    def run(self) -> int: ..."})
    text = "class C:\n    run: types.MethodDescriptorType = ...\n"
    assert "def run(self) -> int" in refined(text, "__init__.pyi", known)
    with pytest.raises(RefineError, match="C has no stop"):
        refined(f"{text}    stop: int = ...\n", "__init__.pyi", known)


def test_comparisons_of_registers_are_no_truth_values():
    text = "class Reg:\n    def __eq__(self, other: int) -> Reg: ..."
    assert "type: ignore[override]" in refined(text, "__init__.pyi", types())
