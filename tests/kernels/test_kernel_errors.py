# SPDX-License-Identifier: Apache-2.0
"""What `pyptx.kernels` refuses: the code, Python's own error, the words, and the line."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import pyptx
from pyptx import kernels
from pyptx.kernels import GemmConfig
from support.packages import need

torch = need("torch")

X = torch.zeros(4, 64)
W = torch.ones(64)
WIDE = torch.zeros(1, 131080)
LOGITS, TARGETS, G = torch.zeros(4, 40), torch.zeros(4, dtype=torch.int64), torch.ones(4)
Q, ANGLES = torch.zeros(1, 3, 2, 8), torch.zeros(3, 4)
A, B = torch.zeros(24, 40).bfloat16(), torch.zeros(40, 16).bfloat16()
OUT = (torch.zeros(4), torch.zeros(4, 40))
TYPE, SHAPE, VALUE, MEMORY = "PTX0815", "PTX0816", "PTX0817", "PTX0818"

both = kernels.cross_entropy_and_gradient

# Calls by their code, and what is said.
REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    # norms
    (
        TYPE,
        lambda: kernels.rms_norm([1.0], W),
        "x must be an array of torch, JAX or NumPy, got list",
    ),
    (
        TYPE,
        lambda: kernels.rms_norm(X.double(), W),
        "x must be an array of f32, bf16 or f16, got one of f64",
    ),
    (TYPE, lambda: kernels.rms_norm(X.int(), W), "got one of s32"),
    (
        TYPE,
        lambda: kernels.rms_norm(X, None),
        "w must be an array of torch, JAX or NumPy, got NoneType",
    ),
    (TYPE, lambda: kernels.rms_norm(X, W.double()), "w must be an array of f32, bf16 or f16"),
    (
        TYPE,
        lambda: kernels.rms_norm(X, W.numpy()),
        "w must be an array of torch, as x is, got one of numpy",
    ),
    (TYPE, lambda: kernels.rms_norm(X, W, eps="1"), "eps must be a number, got str"),
    (
        TYPE,
        lambda: kernels.rms_norm(X, W, residual=X.half()),
        "residual must be an array of f32, as x is, got one of f16",
    ),
    (
        VALUE,
        lambda: kernels.rms_norm(X, W, eps=-1.0),
        "eps must be 0 or a small positive number, got -1.0",
    ),
    (VALUE, lambda: kernels.rms_norm(X, W, eps=float("nan")), "got nan"),
    (VALUE, lambda: kernels.rms_norm(X, W, eps=float("inf")), "got inf"),
    (
        SHAPE,
        lambda: kernels.rms_norm(X, torch.ones(63)),
        r"w must have the shape \(64,\), one for each column, got \(63,\)",
    ),
    (SHAPE, lambda: kernels.rms_norm(X, torch.ones(1, 64)), r"got \(1, 64\)"),
    (
        SHAPE,
        lambda: kernels.rms_norm(X, W, residual=X[:2]),
        r"residual must have the shape \(4, 64\), that of x, got \(2, 64\)",
    ),
    (SHAPE, lambda: kernels.rms_norm(torch.zeros(()), W), "x must have a last dimension, its rows"),
    (
        SHAPE,
        lambda: kernels.rms_norm(torch.zeros(4, 0), torch.ones(0)),
        "rows of 1 to 131072 columns, got 0",
    ),
    (SHAPE, lambda: kernels.rms_norm(WIDE, WIDE[0]), "rows of 1 to 131072 columns, got 131080"),
    (
        TYPE,
        lambda: kernels.layer_norm(X, W, W.half()),
        "b must be an array of f32, as w is, got one of f16",
    ),
    (SHAPE, lambda: kernels.layer_norm(X, W, W[:8]), r"b must have the shape \(64,\)"),
    (
        MEMORY,
        lambda: kernels.layer_norm(X, W, W.to("meta")),
        "b must be on cpu, where x is, got meta",
    ),
    (
        MEMORY,
        lambda: kernels.rms_norm(X[:, ::2], W[:32]),
        r"x must be contiguous, got strides \(64, 2\)",
    ),
    (MEMORY, lambda: kernels.rms_norm(X[:, :32], torch.ones(64)[::2]), "contiguous"),
    # softmax and cross-entropy
    (TYPE, lambda: kernels.softmax(X.double()), "softmax: x must be"),
    (SHAPE, lambda: kernels.softmax(WIDE), "got 131080"),
    (MEMORY, lambda: kernels.softmax(X.T), r"x must be contiguous, got strides \(1, 64\)"),
    (MEMORY, lambda: kernels.softmax(X.numpy().T), "contiguous"),
    (
        TYPE,
        lambda: kernels.cross_entropy(LOGITS, G),
        "targets must be an array of s64 or s32, got one of f32",
    ),
    (
        SHAPE,
        lambda: kernels.cross_entropy(LOGITS, TARGETS[:3]),
        r"targets must have the shape \(4,\), one for each row, got \(3,\)",
    ),
    (SHAPE, lambda: kernels.cross_entropy(LOGITS, TARGETS[:, None]), r"got \(4, 1\)"),
    (TYPE, lambda: both(LOGITS, TARGETS, G.half()), "g must be an array of f32, got one of f16"),
    (SHAPE, lambda: both(LOGITS, TARGETS, G[:1]), r"g must have the shape \(4,\)"),
    (SHAPE, lambda: both(LOGITS[None], TARGETS[None], G[None]), "logits must have rank 2"),
    (TYPE, lambda: both(LOGITS, TARGETS, G, out=OUT[0]), "out must be a tuple of two arrays"),
    (
        TYPE,
        lambda: both(LOGITS, TARGETS, G, out=(OUT[0].half(), OUT[1])),
        r"out\[0\] must be an array of f32",
    ),
    (
        TYPE,
        lambda: both(LOGITS, TARGETS, G, out=(OUT[0], OUT[1].half())),
        r"out\[1\] must be an array of f32, as logits is",
    ),
    (SHAPE, lambda: both(LOGITS, TARGETS, G, out=(G[:1], OUT[1])), r"out\[0\] must have the shape"),
    (
        SHAPE,
        lambda: both(LOGITS, TARGETS, G, out=(OUT[0], OUT[1][:2])),
        r"out\[1\] must have the shape",
    ),
    (
        MEMORY,
        lambda: both(LOGITS, TARGETS, G, out=(OUT[0], torch.zeros(40, 4).T)),
        r"out\[1\] must be contiguous",
    ),
    (
        MEMORY,
        lambda: both(LOGITS.clone().requires_grad_(), TARGETS, G, out=OUT),
        "require no gradient",
    ),
    # elementwise
    (TYPE, lambda: kernels.swiglu(X, X.half()), "up must be an array of f32, as gate is"),
    (
        SHAPE,
        lambda: kernels.swiglu(X, X[:, :32]),
        r"up must have the shape \(4, 64\), that of gate, got \(4, 32\)",
    ),
    (
        SHAPE,
        lambda: kernels.swiglu(X[:, :63]),
        "gate must have rows of 2 equal parts, .*got 63 columns",
    ),
    (TYPE, lambda: kernels.rotary(Q.double(), ANGLES, ANGLES), "x must be an array of f32"),
    (TYPE, lambda: kernels.rotary(Q, ANGLES.double(), ANGLES), "cos must be an array of f32"),
    (
        TYPE,
        lambda: kernels.rotary(Q, ANGLES, ANGLES.half()),
        "sin must be an array of f32, as cos is",
    ),
    (
        SHAPE,
        lambda: kernels.rotary(Q[0], ANGLES, ANGLES),
        r"\(batch, positions, heads, size\) with an even size",
    ),
    (SHAPE, lambda: kernels.rotary(Q[..., :7], ANGLES, ANGLES), "even size"),
    (SHAPE, lambda: kernels.rotary(Q, ANGLES[:2], ANGLES), r"cos must have the shape \(3, 4\)"),
    (SHAPE, lambda: kernels.rotary(Q, ANGLES, ANGLES[:, :3]), r"sin must have the shape \(3, 4\)"),
    (
        MEMORY,
        lambda: kernels.rotary(Q.transpose(1, 2), torch.zeros(2, 4), torch.zeros(2, 4)),
        "x must be contiguous",
    ),
    # fp8
    (TYPE, lambda: kernels.quantise_fp8(X.double()), "x must be an array of f32"),
    (
        TYPE,
        lambda: kernels.quantise_fp8(X, group=16.0),
        "group must be a number of columns, got float",
    ),
    (
        VALUE,
        lambda: kernels.quantise_fp8(X, group=48),
        "group must be a number that divides the 64 columns of a row, got 48",
    ),
    (VALUE, lambda: kernels.quantise_fp8(X, group=0), "got 0"),
    (
        VALUE,
        lambda: kernels.quantise_fp8(X, dtype="e3m4"),
        "dtype must be 'e4m3' or 'e5m2', got 'e3m4'",
    ),
    (SHAPE, lambda: kernels.quantise_fp8(X, group=2), "scales for a multiple of 4 columns, got 2"),
    # products
    (
        TYPE,
        lambda: kernels.matmul([[1.0]], B),
        "a must be an array of torch, JAX or NumPy, got list",
    ),
    (
        TYPE,
        lambda: kernels.matmul(A.float(), B),
        "a must be an array of bf16 or f16, got one of f32",
    ),
    (
        TYPE,
        lambda: kernels.matmul(A, B.half()),
        "b must be an array of bf16, as a is, got one of f16",
    ),
    (
        TYPE,
        lambda: kernels.matmul(A, B, bias=B[0].double()),
        "bias must be an array of bf16, f16 or f32, got one of f64",
    ),
    (
        TYPE,
        lambda: kernels.matmul(A, B, residual=torch.zeros(24, 16)),
        "residual must be an array of bf16, got one of f32",
    ),
    (
        TYPE,
        lambda: kernels.matmul(A, B, out_dtype=torch.float64),
        "out_dtype must be bf16, f16 or f32, got f64",
    ),
    (TYPE, lambda: kernels.matmul(A, B, config=3), "config must be a GemmConfig, got int"),
    (
        VALUE,
        lambda: kernels.matmul(A, B, activation="tanh"),
        "activation must be None, 'relu', .* or 'silu', got 'tanh'",
    ),
    (
        VALUE,
        lambda: kernels.matmul(A, B, config=GemmConfig(tile=(128, 96), cluster=(1, 1))),
        "config must be one for operands that lie so",
    ),
    (
        VALUE,
        lambda: kernels.matmul(
            A, B, config=GemmConfig(tile=(64, 64), cluster=(1, 1), warpgroups=1, split_k=2)
        ),
        "config must be one that divides the 1 blocks of K",
    ),
    (SHAPE, lambda: kernels.matmul(A[0], B), r"a must have rank 2 or more, a matrix, got \(40,\)"),
    (SHAPE, lambda: kernels.matmul(A, B[0]), r"b must have rank 2 or more"),
    (SHAPE, lambda: kernels.matmul(A, B.T), "a and b must have one K, got 40 and 16"),
    (
        SHAPE,
        lambda: kernels.matmul(A, B, transpose_a=True),
        "a and b must have one K, got 24 and 40",
    ),
    (
        SHAPE,
        lambda: kernels.matmul(A, B[None]),
        "b must have rank 2, or both rank 3, got ranks 2 and 3",
    ),
    (SHAPE, lambda: kernels.matmul(A[None, None], B[None]), "got ranks 4 and 3"),
    (
        SHAPE,
        lambda: kernels.matmul(A.expand(2, 24, 40), B.expand(3, 40, 16)),
        "one batch, got 2 and 3",
    ),
    (SHAPE, lambda: kernels.matmul(A[:0], B), "a and b must have elements"),
    (
        SHAPE,
        lambda: kernels.matmul(A[:, :20], B[:20]),
        "a must have rows in memory of a multiple of 8 elements, got 20",
    ),
    (
        SHAPE,
        lambda: kernels.matmul(A, B[:, :12]),
        "b must have rows in memory of a multiple of 8 elements, got 12",
    ),
    (
        SHAPE,
        lambda: kernels.matmul(A, B.T[:12].contiguous(), transpose_b=True),
        "the result must have rows in memory of a multiple of 8",
    ),
    (
        SHAPE,
        lambda: kernels.matmul(A, B, bias=B[0, :8]),
        r"bias must have the shape \(16,\), one for each column, got \(8,\)",
    ),
    (
        SHAPE,
        lambda: kernels.matmul(A, B, residual=A),
        r"residual must have the shape \(24, 16\), of the result",
    ),
    (
        SHAPE,
        lambda: kernels.matmul(A.reshape(2, 12, 40), B, residual=A[:, :16]),
        r"the shape \(2, 12, 16\)",
    ),
]


@pytest.mark.parametrize(("code", "call", "message"), REFUSED, ids=[m[:40] for *_, m in REFUSED])
def test_refused(code: str, call: Callable[[], Any], message: str) -> None:
    builtin = TypeError if code == TYPE else ValueError
    with pytest.raises(pyptx.LaunchError, match=message) as caught:
        call()
    error = caught.value
    assert isinstance(error, builtin)
    assert type(error) in (pyptx.ArgumentTypeError, pyptx.ArgumentValueError)
    (finding,) = error.diagnostics
    assert finding.code == code
    assert re.search(message, finding.message)
    assert str(error).startswith(f"error[{code}]: ")
    # The line is the caller's: that of the lambda.
    assert finding.file == __file__
    assert finding.line in {line for *_, line in call.__code__.co_lines()}


def test_the_caret_is_under_the_call() -> None:
    with pytest.raises(pyptx.ArgumentValueError) as caught:
        print(kernels.softmax(X.T))
    (finding,) = caught.value.diagnostics
    line = inspect.getsource(inspect.currentframe()).splitlines()[2]  # type: ignore[arg-type]
    assert line[finding.column - 1 : finding.end_column - 1] == "kernels.softmax(X.T)"
    assert "x.contiguous()" in str(caught.value)


def test_what_is_padded_is_said() -> None:
    with pytest.raises(ValueError, match="pad them by 4 with zeros"):
        kernels.matmul(A[:, :20], B[:20])


def test_refused_in_a_compiled_function() -> None:
    """Under Dynamo it is an error of the trace, with our words in it."""
    for call in (lambda x: kernels.rms_norm(x, W[:8]), lambda x: kernels.softmax(x.double())):
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        with pytest.raises(Exception, match="PTX081"):
            compiled(X)


def test_refused_in_jax() -> None:
    jax = need("jax")
    with pytest.raises(pyptx.ArgumentValueError, match="one K, got 40 and 16"):
        jax.jit(lambda a, b: kernels.matmul(a, b))(
            jax.numpy.zeros((24, 40), "bfloat16"), jax.numpy.zeros((16, 40), "bfloat16")
        )
    with pytest.raises(pyptx.ArgumentTypeError, match="got one of s32"):
        kernels.softmax(jax.numpy.zeros((4, 64), "int32"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_odd_vocabularies(dtype: Any) -> None:
    """Rows of 50,257 columns, from any element on: narrower loads, the same results."""
    x = torch.randn(2, 50257, generator=torch.Generator().manual_seed(0)).to(dtype)
    shifted = torch.zeros(x.numel() + 1, dtype=dtype)[1:].view(x.shape).copy_(x)
    targets = torch.tensor([0, 50256])
    wanted = torch.nn.functional.cross_entropy(x.double(), targets, reduction="none")
    for given in (x, shifted):
        losses = kernels.cross_entropy(given, targets)
        torch.testing.assert_close(losses.double(), wanted, rtol=1e-5, atol=1e-5)
