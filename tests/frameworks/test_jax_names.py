# SPDX-License-Identifier: Apache-2.0
"""What programs of JAX and its profiler call a kernel: by its name, in eager calls too."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyptx import differentiable_kernel
from pyptx.kernels import rms_norm, swiglu
from support.packages import need
from support.sample_kernels import build_row_scale

jax = need("jax")
jnp = jax.numpy

X, W = jnp.ones((4, 32)), jnp.ones(32)
PLAIN, BATCHED = build_row_scale(), build_row_scale(batch="B")
PAIR = differentiable_kernel(PLAIN, lambda x, w, g: (PLAIN(g, w), (g * x).sum(0)))


def both(x: Any, w: Any) -> Any:
    return (swiglu(rms_norm(x, w), x) ** 2).sum()


#: Programs, and the launches in each.
PROGRAMS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "plain": (PLAIN, ["row_scale"]),
    "with a batch": (BATCHED, ["row_scale"]),
    "bound": (PLAIN.bind(X, W), ["row_scale"]),
    "mapped": (lambda x, w: jax.vmap(BATCHED, (0, None))(x[None], w), ["row_scale"]),
    "in a loop": (lambda x, w: jax.vmap(PLAIN, (0, None))(x[None], w), ["row_scale"]),
    "in a scan": (
        lambda x, w: jax.lax.scan(lambda x, _: (PLAIN(x, w), None), x, None, length=3)[0],
        ["row_scale"],
    ),
    "differentiable": (PAIR, ["row_scale"]),
    "a gradient": (jax.grad(lambda x, w: (PAIR(x, w) ** 2).sum()), ["row_scale", "row_scale"]),
    "of the library": (
        jax.grad(both, argnums=(0, 1)),
        ["column_sums", "rms_norm", "rms_norm_backward", "swiglu", "swiglu_backward"],
    ),
}


def launches(program: Any) -> list[tuple[str, str]]:
    """Return the name and the op_name of each launch of a compiled program."""
    lines = [line for line in program.as_text().splitlines() if "pyptx_launch" in line]
    found = [re.search(r'%(\S+) = .* metadata=\{op_name="([^"]*)"', line) for line in lines]
    assert all(found)
    return sorted((match[1], match[2]) for match in found if match)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_launch_has_the_name_of_its_kernel(kind: str) -> None:
    function, expected = PROGRAMS[kind]

    def step(x: Any, w: Any) -> Any:
        return function(x, w)

    lowered = jax.jit(step).lower(X, W)
    text = lowered.as_text(debug_info=True)
    found = launches(lowered.compile())
    assert [name.split(".")[0] for name, _ in found] == expected
    for name, place in found:
        kernel = name.split(".")[0]
        assert place.startswith("jit(step)/")
        assert place.endswith(f"/{kernel}"), place
        assert f"({kernel})" in place, place
        assert f'loc("{kernel}"(' in text


def test_the_profiler_shows_it(tmp_path: Path) -> None:
    program = jax.jit(lambda x, w: jnp.tanh(PLAIN(x, w)))
    calls = [program, PLAIN, PLAIN.bind(X, W), PAIR]
    for _ in range(2):  # the second call is one that is known
        for call in calls:
            jax.block_until_ready(call(X, W))
    with jax.profiler.trace(tmp_path):
        for call in calls:
            jax.block_until_ready(call(X, W))
    (path,) = tmp_path.rglob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(path))
    names = [event.name for plane in data.planes for line in plane.lines for event in line.events]
    assert sum(bool(re.fullmatch(r"row_scale(\.\d+)?", name)) for name in names) >= len(calls)
