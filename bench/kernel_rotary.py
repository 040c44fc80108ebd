# SPDX-License-Identifier: Apache-2.0
"""The cases of rotary embedding, and of fp8 with a scale for each group of columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from kernel_cases import DTYPES, Case, Inputs, arms_of, compiled, plain
from kernel_rows import in_triton

from pyptx import kernels

HEADS, SIZE, GROUP = 32, 128, 128


def _turned(x: Any, cos: Any, sin: Any, interleaved: bool = False) -> Any:
    """Return x turned, as models write it."""
    half = x.shape[-1] // 2
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    cos, sin = cos[:, None], sin[:, None]
    pairs = a * cos - b * sin, b * cos + a * sin
    joined = torch.stack(pairs, -1).flatten(-2) if interleaved else torch.cat(pairs, -1)
    return joined.to(x.dtype)


def _grouped(x: Any) -> tuple[Any, Any]:
    """Return q and the scales, as models write it."""
    groups = x.unflatten(-1, (-1, GROUP)).float()
    scales = groups.abs().amax(-1, keepdim=True).clamp_min(1e-30) / 448.0
    return (groups / scales).to(torch.float8_e4m3fn).flatten(-2), scales[..., 0]


def _grouped_reference(rows: list[int], x: Any) -> tuple[Any, ...]:
    groups = x[torch.tensor(rows, device=x.device)].double().unflatten(-1, (-1, GROUP))
    scales = groups.abs().amax(-1) / 448.0
    return (groups / scales[..., None]).flatten(-2), scales


def rotary_cases(device: str, matrix: int) -> Iterator[Case]:
    """Yield both kinds of pairs, and groups, of both types."""
    on_gpu = device == "cuda"
    heads, size = (HEADS, SIZE) if on_gpu else (4, 16)
    for dtype in ("bf16", "f32"):
        item = DTYPES[dtype].itemsize
        positions = max(2, matrix // (heads * size * item))
        batch = 4 if on_gpu else 1
        positions //= batch
        for interleaved in (False, True):
            yield _rotary(device, dtype, (batch, positions, heads, size), interleaved)
        columns = 4096 if on_gpu else 2 * GROUP
        rows = max(1, matrix // (columns * item))
        arms, absent = arms_of(
            device,
            plain(lambda x: kernels.quantise_fp8(x, group=GROUP)),
            plain(_grouped),
            compiled(_grouped),
            in_triton(_triton_grouped),
        )
        yield Case(
            "quantise_fp8", f"groups of {GROUP}", dtype, (rows, columns),
            lambda make, rows=rows, columns=columns, dtype=dtype: (
                make.normal(rows, columns, dtype=dtype),
            ),
            _grouped_reference, arms, bytes=rows * columns * (item + 1), rows=rows, absent=absent,
        )  # fmt: skip


def _rotary(device: str, dtype: str, shape: tuple[int, ...], interleaved: bool) -> Case:
    batch, positions, heads, size = shape
    item = DTYPES[dtype].itemsize

    def inputs(make: Inputs) -> tuple[Any, ...]:
        angles = make.normal(positions, size // 2)
        return make.normal(*shape, dtype=dtype), angles.cos(), angles.sin()

    def reference(rows: list[int], x: Any, cos: Any, sin: Any) -> tuple[Any, ...]:
        chosen = torch.tensor(rows, device=x.device)
        cos, sin = cos[chosen].double(), sin[chosen].double()
        return (_turned(x[:, chosen].double(), cos, sin, interleaved),)

    def turned(x: Any, cos: Any, sin: Any) -> Any:
        return _turned(x, cos, sin, interleaved)

    arms, absent = arms_of(
        device,
        plain(lambda x, cos, sin: kernels.rotary(x, cos, sin, interleaved=interleaved)),
        plain(turned),
        compiled(turned),
        in_triton(lambda peer: peer.rotary),
        no_triton="written for halves" if interleaved else "",
    )
    count = batch * positions * heads * size * item * 2 + positions * size * 4
    return Case(
        "rotary", "interleaved" if interleaved else "halves", dtype, shape, inputs, reference,
        arms, bytes=count, rows=positions, axis=1, absent=absent,
    )  # fmt: skip


def _triton_grouped(peer: Any) -> Any:
    def quantise(x: Any) -> tuple[Any, Any]:
        q, scales = peer.quantise(x.view(-1, GROUP))
        return q.view(x.shape), scales.view(*x.shape[:-1], -1)

    return quantise
