# SPDX-License-Identifier: Apache-2.0
"""Every public name of the reference pages exists, of that kind, with that signature.

`data/seed_surface.json` is the list; where the pages themselves are at hand, the list is compared
with them, so that it cannot lose an entry.
"""

from __future__ import annotations

import importlib
import inspect
import json
import types
from typing import Any

import pytest

from support import seed_pages
from support.tree import TESTS

TABLE = json.loads((TESTS / "data" / "seed_surface.json").read_text("utf-8"))
# Parameters of ours that follow the documented ones.
OURS = {"autocast", "batch", "dynamic", "inout_specs", "multiple_of", "op", "out_init"}
OURS |= {"programmatic", "tma"}
ADDED = {
    "kernel": OURS,
    "Kernel": OURS,
    "Kernel.sass": {"raw"},
    "differentiable_kernel": {"op", "private_outputs"},
}


def resolve(module: str, name: str) -> Any:
    """What the name stands for, a class member not bound; AttributeError when there is none."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    return found


def signature_of(name: str, found: Any) -> str:
    signature = inspect.signature(found)
    added = ADDED.get(name, set())
    kept = []
    for parameter in signature.parameters.values():
        if parameter.name in added:
            assert parameter.kind is parameter.KEYWORD_ONLY
            assert parameter.default is not parameter.empty
        elif not ("." in name and parameter.name == "self"):
            kept.append(parameter)
    text = str(signature.replace(parameters=kept))
    return text.split(" -> ")[0] if name == "TensorSpec.tma_desc" else text


@pytest.mark.parametrize("row", TABLE["documented"], ids=lambda r: f"{r['module']}:{r['name']}")
def test_name_kind_and_signature(row: dict[str, str]) -> None:
    found = resolve(row["module"], row["name"])
    kind = row["kind"]
    if kind == "class":
        assert inspect.isclass(found)
    elif kind in ("function", "method"):
        assert inspect.isfunction(found)
    elif kind == "property":
        assert isinstance(found, property)
        assert found.__doc__
    else:
        assert kind == "attribute"
        assert not inspect.isfunction(found)
    if row["signature"]:
        assert signature_of(row["name"], found) == row["signature"]


@pytest.mark.parametrize("target", TABLE["imports"])
def test_import(target: str) -> None:
    module, _, name = target.partition(":")
    assert hasattr(importlib.import_module(module), name)


def test_slots() -> None:
    from pyptx.kernel import TensorSpec, TmaDescriptorHandle

    for cls, names in (
        (TensorSpec, "dtype layout name shape"),
        (TmaDescriptorHandle, "name tensor"),
    ):
        for name in names.split():
            assert isinstance(vars(cls)[name], types.MemberDescriptorType)


def test_every_public_function_has_a_docstring() -> None:
    for row in TABLE["documented"]:
        if row["kind"] in ("class", "function", "method", "property"):
            assert resolve(row["module"], row["name"]).__doc__, row["name"]


@pytest.mark.skipif(not seed_pages.PAGES.is_dir(), reason="the reference pages are not here")
def test_table_is_complete() -> None:
    pages = [seed_pages.PAGES / name for name in seed_pages.MODULES]
    assert TABLE["documented"] == [row for page in pages for row in seed_pages.documented(page)]
    everything = {
        entry for page in seed_pages.PAGES.glob("*.txt") for entry in seed_pages.imports(page)
    }
    assert set(TABLE["imports"]) == everything
    by_module = {
        m: sum(r["module"] == m for r in TABLE["documented"]) for m in seed_pages.MODULES.values()
    }
    assert by_module["pyptx.torch_support"] == 7
    tops = [
        r
        for r in TABLE["documented"]
        if r["module"] == "pyptx.jax_support" and "." not in r["name"]
    ]
    assert len(tops) == 14
