# SPDX-License-Identifier: Apache-2.0
"""`matmul`: matrix products of torch, JAX and NumPy arrays by `gemm_kernel`, with gradients."""

from __future__ import annotations

import math
import sys
from typing import Any

from pyptx._call.autograd import DifferentiableKernel
from pyptx._call.element_types import ptx_name
from pyptx._kept import Kept
from pyptx.kernel import Kernel
from pyptx.kernels import checks
from pyptx.kernels.calls import Call, Launch
from pyptx.kernels.gemm_any import AnyProduct, fills_tiles, sizes_of
from pyptx.kernels.gemm_choice import choose
from pyptx.kernels.gemm_config import (
    ACTIVATIONS,
    BK,
    INPUT_TYPES,
    OUTPUT_TYPES,
    GemmConfig,
    GemmProblem,
    tiles,
)
from pyptx.kernels.gemm_kernel import build_gemm
from pyptx.kernels.operations import MOST_KEPT, OPERATIONS, built_once


def matmul(
    a: Any,
    b: Any,
    *,
    bias: Any = None,
    activation: str | None = None,
    residual: Any = None,
    out_dtype: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    batch_invariant: bool = False,
    config: GemmConfig | None = None,
) -> Any:
    """Return act(a @ b + bias) + residual, for bf16 and f16, with f32 sums.

    `a` is (..., M, K), `b` is (K, N), or both have one batch dimension; with `transpose_a` and
    `transpose_b` they are (..., K, M) and (..., N, K). Transposed views of torch and NumPy are read
    as they lie, without a copy. `bias` is (N,), `residual` has the shape and type of the result,
    which is `out_dtype`: "bf16", "f16", "f32" or a framework's dtype, by default that of `a`.
    `activation` is "relu", "gelu", "gelu_tanh" or "silu". Rows in memory are whole 16 bytes.

    With `batch_invariant` what a row of `a` gives is the same bits whatever the other rows are.
    `config` computes it that way; by default a model of the machine chooses.
    """
    return _product(
        a,
        b,
        bias,
        residual,
        activation=activation,
        out_dtype=out_dtype,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        batch_invariant=batch_invariant,
        config=None if config is None else _the_same(config),
    )


@checks.settled
def _the_same(config: Any) -> Any:
    """Return one object for equal configurations: options are compared as objects."""
    return _configs.keep_first(config, config) if isinstance(config, GemmConfig) else config


_configs: Kept[GemmConfig, GemmConfig] = Kept(MOST_KEPT)


def _route(
    a: Any,
    b: Any,
    bias: Any,
    residual: Any,
    *,
    activation: str | None,
    out_dtype: Any,
    transpose_a: bool,
    transpose_b: bool,
    batch_invariant: bool,
    config: GemmConfig | None,
) -> Launch:
    checks.is_array("matmul", "a", a)
    out = ptx_name(a.dtype) if out_dtype is None else _type_name(out_dtype)
    _check_options(activation, out, config)
    _check(a, b, bias, residual, out, (transpose_a, transpose_b))
    a, a_transposed = _as_it_lies(a, transpose_a)
    b, b_transposed = _as_it_lies(b, transpose_b)
    turned = (a_transposed != transpose_a, b_transposed != transpose_b)
    lead: tuple[int, ...] = ()
    if a.ndim > 2 and b.ndim == 2:
        if a_transposed:
            a, a_transposed, turned = _contiguous(_swapped(a)), False, (False, turned[1])
        lead = tuple(a.shape[:-1])
        a = a.reshape(math.prod(lead), a.shape[-1])
        if residual is not None:
            residual = residual.reshape(a.shape[0], residual.shape[-1])
    n = b.shape[-2] if b_transposed else b.shape[-1]
    _check_rows(a.shape[-1], b.shape[-1], n, out)
    shapes = (tuple(a.shape), tuple(b.shape))
    name = _named(
        (ptx_name(a.dtype), out),
        (a_transposed, b_transposed),
        a.ndim == 3,
        shapes if checks.are_numbers(*shapes[0], *shapes[1]) else None,
        (None if bias is None else ptx_name(bias.dtype), activation, residual is not None),
        batch_invariant,
        config,
    )
    extra = [_contiguous(value) for value in (bias, residual) if value is not None]
    shape = None
    if lead:
        shape = (*lead, n)
    # TMA reads 16 bytes; the epilogue two columns of bias and residual.
    vectors = (8, 8, *[2] * len(extra))
    return Launch(
        getattr(OPERATIONS, name),
        (a, b, *extra),
        (shape,),
        vectors,
        (*turned, *[False] * len(extra)),
    )


_product = Call("matmul", ("a", "b", "bias", "residual"), _route)


def _as_it_lies(x: Any, transposed: bool) -> tuple[Any, bool]:
    """Return a dense array and whether it is the transposed operand.

    torch and NumPy show how an array lies: a transposed view is turned back.
    """
    strides = _strides(x)
    if strides is not None and strides[-1] != 1 and strides[-2] == 1:
        return _contiguous(_swapped(x)), not transposed
    return _contiguous(x), transposed


def _type_name(dtype: Any) -> str:
    """Return our name of a result's type; NumPy's and JAX's are classes as well."""
    return ptx_name(dtype.__name__ if isinstance(dtype, type) else dtype)


def _strides(x: Any) -> tuple[int, ...] | None:
    """Return strides in elements, None where a framework keeps them to itself."""
    if hasattr(x, "stride"):
        return tuple(x.stride())
    if hasattr(x, "strides"):
        return tuple(step // x.itemsize for step in x.strides)
    return None


def _swapped(x: Any) -> Any:
    """Return the transposed view of the last two dimensions."""
    return x.mT if hasattr(x, "mT") else x.swapaxes(-1, -2)


def _contiguous(x: Any) -> Any:
    """Return a torch or NumPy array without gaps; JAX's have none that one could see."""
    if hasattr(x, "contiguous"):
        return x.contiguous()
    numpy = sys.modules.get("numpy")
    return numpy.ascontiguousarray(x) if isinstance(x, numpy.ndarray) else x  # type: ignore[union-attr]


def _check(
    a: Any, b: Any, bias: Any, residual: Any, out: str, transposed: tuple[bool, bool]
) -> None:
    """Refuse arrays that are no product."""
    for name, x in (("a", a), ("b", b)):
        checks.has_type("matmul", name, x, INPUT_TYPES)
        if len(x.shape) < 2:
            wanted = "rank 2 or more, a matrix"
            checks.refuse("ArgumentShape", "matmul", name, wanted, checks.shown(x.shape))
    checks.has_type_of("matmul", "b", b, "a", a)
    if len(b.shape) > 2 and not len(a.shape) == len(b.shape) == 3:
        wanted, ranks = "rank 2, or both rank 3", f"ranks {len(a.shape)} and {len(b.shape)}"
        checks.refuse("ArgumentShape", "matmul", "b", wanted, ranks)
    m, k = a.shape[-2:][:: -1 if transposed[0] else 1]
    n, depth = b.shape[-2:][:: 1 if transposed[1] else -1]
    if k != depth:
        shapes = f"{checks.shown(a.shape)} and {checks.shown(b.shape)}"
        note = f"the shapes are {shapes}; transpose_a and transpose_b say how they are stored"
        words = "one K", f"{k} and {depth}"
        checks.refuse("ArgumentShape", "matmul", "a and b", *words, note=note)
    if len(b.shape) > 2 and a.shape[0] != b.shape[0]:
        words = "one batch", f"{a.shape[0]} and {b.shape[0]}"
        checks.refuse("ArgumentShape", "matmul", "a and b", *words)
    if 0 in a.shape or 0 in b.shape:
        shapes = f"shapes {checks.shown(a.shape)} and {checks.shown(b.shape)}"
        checks.refuse("ArgumentShape", "matmul", "a and b", "elements", shapes)
    if bias is not None:
        checks.has_type("matmul", "bias", bias, OUTPUT_TYPES)
        checks.has_shape("matmul", "bias", bias, (n,), "one for each column")
    if residual is not None:
        checks.has_type("matmul", "residual", residual, (out,))
        checks.has_shape("matmul", "residual", residual, (*a.shape[:-2], m, n), "of the result")


@checks.settled
def _check_options(activation: Any, out: str, config: Any) -> None:
    checks.is_one_of("matmul", "activation", activation, ACTIVATIONS)
    if out not in OUTPUT_TYPES:
        words = checks.listed(OUTPUT_TYPES), out
        checks.refuse("ArgumentType", "matmul", "out_dtype", *words)
    if config is not None and not isinstance(config, GemmConfig):
        words = "a GemmConfig", type(config).__name__
        checks.refuse("ArgumentType", "matmul", "config", *words)


def _check_rows(a: int, b: int, n: int, out: str) -> None:
    """Refuse rows in memory, of so many elements, that TMA cannot copy."""
    for name, row, whole in (("a", a, 8), ("b", b, 8), ("the result", n, 4 if out == "f32" else 8)):
        if row % whole:
            row = checks.settled_number(row)
            wanted = f"rows in memory of a multiple of {whole} elements"
            note = (
                f"TMA copies rows of whole 16 bytes; pad them by {-row % whole} with zeros, "
                f"as torch.nn.functional.pad does"
            )
            checks.refuse("ArgumentShape", "matmul", name, wanted, str(row), note=note)


@checks.settled
def _named(
    types: tuple[str, str],
    transposed: tuple[bool, bool],
    batched: bool,
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None,
    epilogue: tuple[str | None, str | None, bool],
    batch_invariant: bool,
    config: GemmConfig | None,
) -> str:
    """Return the name of the operation for these arrays, the same for many of their sizes.

    Without shapes it is one for all of them.
    """
    bias, activation, residual = epilogue
    problem = GemmProblem(
        dtype=types[0],
        out=types[1],
        a_major="M" if transposed[0] else "K",
        b_major="K" if transposed[1] else "N",
        bias=bias,
        activation=activation,
        residual=residual,
        batched=batched,
    )
    if shapes is None:
        if config is None:
            return _built_for_any(problem, batch_invariant)
        return _built(problem, config, False, batch_invariant)
    sizes = sizes_of(problem, *shapes)
    chosen = config or choose(problem, sizes, batch_invariant=batch_invariant)
    if chosen.split_k > tiles(sizes.k, BK):
        words = f"one that divides the {tiles(sizes.k, BK)} blocks of K", repr(config)
        note = f"each of its {chosen.split_k} parts takes one of {BK} elements at least"
        checks.refuse("ArgumentValue", "matmul", "config", *words, note=note)
    return _built(problem, chosen, fills_tiles(problem, chosen, sizes), batch_invariant)


@built_once
def _built(
    problem: GemmProblem, config: GemmConfig, whole_columns: bool, batch_invariant: bool
) -> DifferentiableKernel:
    try:
        kernel = build_gemm(problem, config, whole_columns=whole_columns)
    except ValueError as error:
        words = "one for operands that lie so", repr(config)
        checks.refuse("ArgumentValue", "matmul", "config", *words, note=str(error))
    return _differentiable(kernel, problem, batch_invariant)


@built_once
def _built_for_any(problem: GemmProblem, batch_invariant: bool) -> DifferentiableKernel:
    return _differentiable(AnyProduct(problem, batch_invariant), problem, batch_invariant)


def _differentiable(
    kernel: Kernel, problem: GemmProblem, batch_invariant: bool
) -> DifferentiableKernel:
    from pyptx.kernels.gemm_gradient import gradients, keeps_result

    def backward(*saved: Any) -> tuple[Any, ...]:
        return gradients(problem, saved, batch_invariant)

    every = range(len(kernel.in_specs) + keeps_result(problem))
    return DifferentiableKernel(kernel, backward, every, None)
