# SPDX-License-Identifier: Apache-2.0
"""Every refusal of the package has a code: no module raises an error of Python's, or one of ours
without a diagnostic, in its own words.

`refuse` (pyptx._call.refusals, pyptx.kernels.checks) raises by a kind of the registry, and the core
does. What is raised otherwise is listed here, with the reason.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pyptx
from pyptx import Tile, _core, _errors, kernel, ptx
from pyptx._call import refusals
from pyptx.types import f32

PACKAGE = Path(pyptx.__file__).parent

#: By module and class: how many, and why they have no code.
ALLOWED: dict[tuple[str, str], tuple[int, str]] = {
    ("_call/live.py", "ReferenceError"): (1, "a weak reference's own error: nobody can call it"),
    ("_call/refusals.py", "AssertionError"): (1, "the core has raised"),
    ("_torch/handles.py", "RuntimeError"): (1, "raised in code that Dynamo traces"),
    ("_layout/command.py", "ValueError"): (2, "what an expression is not; its caller has a code"),
    ("_report/answers.py", "RuntimeError"): (2, "a missing tool, by the name of its package"),
    ("_view/command.py", "RuntimeError"): (1, "a missing tool, by the name of its package"),
    ("_toolchain.py", "RuntimeError"): (3, "a tool that is missing or failed, in its own words"),
    ("_tune/errors.py", "TuneError"): (1, "made of a diagnostic, by code"),
    ("_tune/worker.py", "ValueError"): (1, "in the child; the parent reports it by code"),
    ("ptx.py", "AttributeError"): (1, "the protocol of a module's attributes"),
    ("_call/bound_graph.py", "RuntimeError"): (2, "raised in code that Dynamo traces"),
    ("testing.py", "CheckError"): (1, "made of a diagnostic, by code"),
    ("torch_support.py", "FileNotFoundError"): (1, "a file of the installation"),
    ("torch_support.py", "RuntimeError"): (2, "raised in code that Dynamo traces"),
    ("types.py", "ValueError"): (1, "the protocol of a lookup by name"),
}
PUBLIC = {
    name
    for module in (builtins, _errors)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, Exception)
}


def raised(path: Path) -> Iterator[str]:
    """Name the public error that each `raise` makes, with its own words or none."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Raise) or node.exc is None:
            continue
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        name = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
        if name in PUBLIC:
            yield name


def test_no_module_raises_an_error_without_a_code() -> None:
    found = Counter(
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "kernels"  # what its builders say, its `checks` refuse before
        for name in raised(path)
    )
    assert found == {key: count for key, (count, _) in ALLOWED.items()}


def test_a_raise_is_found_however_it_is_written(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text(
        "def f(error):\n"
        "    try:\n"
        "        raise TypeError('words')\n"
        "    except ValueError:\n"
        "        raise\n"
        "    raise _errors.LaunchError('words') from None\n"
        "    raise KeyError\n"
        "    raise error from None\n"
    )
    assert sorted(raised(source)) == ["KeyError", "LaunchError", "TypeError"]


KINDS = {
    "ArrayElements": TypeError,
    "ArrayShape": ValueError,
    "DeclarationType": TypeError,
    "DeclarationValue": ValueError,
    "KeywordName": TypeError,
    "OptionValue": ValueError,
    "ScalarValue": ValueError,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_is_also_pythons_own_error(kind: str) -> None:
    with pytest.raises(pyptx.LaunchError) as caught:
        refusals.refuse(kind, *"abcdef")
    assert isinstance(caught.value, KINDS[kind])
    [finding] = caught.value.diagnostics
    assert finding.kind == kind
    assert str(caught.value).startswith(f"error[{finding.code}]: ")


def test_what_was_being_handled_is_not_shown() -> None:
    def call() -> None:
        try:
            int("x")
        except ValueError:
            refusals.refuse("KeywordName", "kernel 'k'", "words")

    with pytest.raises(pyptx.LaunchError) as caught:
        call()
    assert caught.value.__suppress_context__


def test_a_call_has_its_diagnostics() -> None:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
    def copy(X, Y):
        ptx.ret()

    for args, keywords, code in (
        ((np.zeros(8),), {}, "PTX0841"),
        ((), {}, "PTX0861"),
        ((np.zeros((8, 1), np.float32),), {}, "PTX0842"),
        ((np.zeros(8, np.float32),), {"M": 3}, "PTX0857"),
    ):
        with pytest.raises(pyptx.LaunchError) as caught:
            copy(*args, **keywords)
        assert [finding.code for finding in caught.value.diagnostics] == [code]
        assert isinstance(caught.value.diagnostics[0], _core.Diagnostic)
