# SPDX-License-Identifier: Apache-2.0
"""Kernel.emulate on torch tensors: it reads, records and refuses as a call does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyptx import LaunchError
from support import sample_kernels
from support.packages import need

torch = need("torch")

ADD = sample_kernels.build_vector_add()


def both() -> Any:
    """Run for a call and for an emulation, which have to agree."""
    return pytest.mark.parametrize("run", [ADD, ADD.emulate], ids=["call", "emulate"])


def ones(**options: Any) -> Any:
    return torch.ones(8, **options)


@both()
def test_negated_views_show_their_values(run: Callable[..., Any]) -> None:
    assert torch.equal(run(torch._neg_view(ones()), ones()), torch.zeros(8))
    with pytest.raises(LaunchError, match="'Z' is a negated or conjugated view"):
        run(ones(), ones(), out=torch._neg_view(ones()))


@both()
def test_gradients_are_recorded_and_refused_where_they_are_asked_for(
    run: Callable[..., Any],
) -> None:
    found = run(ones(requires_grad=True), ones())
    assert found.requires_grad
    assert torch.equal(found.detach(), torch.full((8,), 2.0))
    with pytest.raises(LaunchError, match="'vector_add' has no backward kernel; wrap it"):
        found.sum().backward()
    with torch.no_grad():
        assert not run(ones(requires_grad=True), ones()).requires_grad
    assert not run(ones(), ones()).requires_grad


def test_the_report_comes_with_recorded_outputs() -> None:
    plain = ADD.emulate(ones(), ones(), report=True)[1]
    found, report = ADD.emulate(ones(requires_grad=True), ones(), report=True)
    assert found.requires_grad
    assert report.total == plain.total
    assert report.average_lanes > 0


@both()
def test_out_does_not_lose_gradients(run: Callable[..., Any]) -> None:
    leaf = torch.zeros(8, requires_grad=True)
    for args, out in (((ones(), ones()), leaf), ((leaf, ones()), ones())):
        with pytest.raises(LaunchError, match="out= keeps no record for gradients"):
            run(*args, out=out)
    assert torch.equal(leaf.detach(), torch.zeros(8))
    with torch.no_grad():
        assert run(ones(), ones(), out=leaf) is leaf


@both()
def test_forward_mode_is_refused(run: Callable[..., Any]) -> None:
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(ones(), ones())
        with pytest.raises(LaunchError, match="'vector_add' has no forward-mode derivative"):
            run(dual, ones())


@both()
def test_tensors_by_keyword_are_refused(run: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="'Y' was given by keyword, expected it as input 1"):
        run(ones(), Y=ones())


def test_what_would_see_an_operator_is_refused() -> None:
    """An emulation has options, which no operator has: a trace of it would miss it."""
    expected = "a mode or transform of torch watches operations here; call the kernel itself"
    with pytest.raises(LaunchError, match=expected):
        torch.vmap(lambda row: ADD.emulate(row, ones()))(torch.ones(3, 8))
    with pytest.raises(LaunchError, match=expected):
        torch.jit.trace(lambda x: ADD.emulate(x, x), (ones(),))
    with torch._subclasses.FakeTensorMode(), pytest.raises(LaunchError, match=expected):
        ADD.emulate(ones(), ones())
