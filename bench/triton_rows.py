# SPDX-License-Identifier: Apache-2.0
"""Peers of the row kernels in Triton, the way its tutorials write them.

A program holds a row, padded to a power of two; the cross-entropy goes over it in blocks; what is
computed element by element has programs of 2048 elements. Imported only where Triton is.
"""

import torch
import triton
import triton.language as tl

WIDEST = 65536  # columns that a program holds
WIDEST_SUMS = 16384  # and with sums over rows beside them
LOGITS = 32768  # of a block of the cross-entropy
FLAT = 2048


def shape_of(columns):
    """Return the block of a row and its warps."""
    block = triton.next_power_of_2(columns)
    return {"BLOCK": block, "num_warps": min(max(block // 512, 4), 32)}


@triton.jit
def _norm(x_ptr, r_ptr, w_ptr, b_ptr, y_ptr, s_ptr, n, eps,
          IS_LAYER: tl.constexpr, HAS_RESIDUAL: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * n
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    x = tl.load(x_ptr + row + columns, mask=inside, other=0.0)
    if HAS_RESIDUAL:
        residual = tl.load(r_ptr + row + columns, mask=inside, other=0.0)
        x = (x.to(tl.float32) + residual.to(tl.float32)).to(x.dtype)
        tl.store(s_ptr + row + columns, x, mask=inside)
    x = x.to(tl.float32)
    if IS_LAYER:
        x = tl.where(inside, x - tl.sum(x, 0) / n, 0.0)
    y = x * tl.rsqrt(tl.sum(x * x, 0) / n + eps)
    y *= tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    if IS_LAYER:
        y += tl.load(b_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + row + columns, y.to(y_ptr.dtype.element_ty), mask=inside)


def norm(kind, x, w, b=None, residual=None, eps=1e-5):
    """Return y, or y and x + residual."""
    y = torch.empty_like(x)
    total = torch.empty_like(x) if residual is not None else None
    n = x.shape[-1]
    _norm[(x.shape[0],)](
        x, x if residual is None else residual, w, w if b is None else b, y,
        y if total is None else total, n, eps,
        IS_LAYER=kind == "layer", HAS_RESIDUAL=residual is not None, **shape_of(n),
    )  # fmt: skip
    return y if total is None else (y, total)


@triton.jit
def _norm_backward(x_ptr, w_ptr, g_ptr, dx_ptr, dw_ptr, db_ptr, m, n, eps, each,
                   IS_LAYER: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    db = tl.zeros((BLOCK,), tl.float32)
    for index in range(program * each, tl.minimum(program * each + each, m)):
        row = tl.cast(index, tl.int64) * n
        x = tl.load(x_ptr + row + columns, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(g_ptr + row + columns, mask=inside, other=0.0).to(tl.float32)
        if IS_LAYER:
            x = tl.where(inside, x - tl.sum(x, 0) / n, 0.0)
            db += g
        rstd = tl.rsqrt(tl.sum(x * x, 0) / n + eps)
        normal = x * rstd
        s = g * w
        dx = s - normal * (tl.sum(s * normal, 0) / n)
        if IS_LAYER:
            dx -= tl.sum(s, 0) / n
        dw += g * normal
        tl.store(dx_ptr + row + columns, (dx * rstd).to(dx_ptr.dtype.element_ty), mask=inside)
    tl.store(dw_ptr + program * n + columns, dw, mask=inside)
    if IS_LAYER:
        tl.store(db_ptr + program * n + columns, db, mask=inside)


def norm_backward(kind, x, w, g, eps=1e-5, sms=132):
    """Return dx, dw and, of a LayerNorm, db: programs that fill the SMs leave parts of them."""
    m, n = x.shape
    dx = torch.empty_like(x)
    programs = min(m, sms * max(1, 32 // shape_of(n)["num_warps"]))
    parts = torch.empty((2 if kind == "layer" else 1, programs, n), device=x.device)
    _norm_backward[(programs,)](
        x, w, g, dx, parts[0], parts[-1], m, n, eps, triton.cdiv(m, programs),
        IS_LAYER=kind == "layer", **shape_of(n),
    )  # fmt: skip
    return dx, *parts.sum(1).to(w.dtype)


@triton.jit
def _softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    x = tl.load(x_ptr + row + columns, mask=inside, other=-float("inf")).to(tl.float32)
    powers = tl.exp(x - tl.max(x, 0))
    y = powers / tl.sum(powers, 0)
    tl.store(y_ptr + row + columns, y.to(y_ptr.dtype.element_ty), mask=inside)


def softmax(x):
    y = torch.empty_like(x)
    _softmax[(x.shape[0],)](x, y, x.shape[-1], **shape_of(x.shape[-1]))
    return y


@triton.jit
def _softmax_backward(y_ptr, g_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    y = tl.load(y_ptr + row + columns, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + row + columns, mask=inside, other=0.0).to(tl.float32)
    dx = y * (g - tl.sum(y * g, 0))
    tl.store(dx_ptr + row + columns, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def softmax_backward(y, g):
    dx = torch.empty_like(y)
    _softmax_backward[(y.shape[0],)](y, g, dx, y.shape[-1], **shape_of(y.shape[-1]))
    return dx


@triton.jit
def _cross_entropy(x_ptr, t_ptr, g_ptr, loss_ptr, dx_ptr, n,
                   GRADIENT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    index = tl.program_id(0)
    row = index.to(tl.int64) * n
    target = tl.load(t_ptr + index)
    largest = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < n, other=-float("inf")).to(tl.float32)
        above = tl.maximum(largest, tl.max(x, 0))
        total = total * tl.exp(largest - above) + tl.sum(tl.exp(x - above), 0)
        largest = above
    at_target = tl.load(x_ptr + row + target).to(tl.float32)
    tl.store(loss_ptr + index, largest + tl.log(total) - at_target)
    if GRADIENT:
        g = tl.load(g_ptr + index)
        for start in range(0, n, BLOCK):
            columns = start + tl.arange(0, BLOCK)
            inside = columns < n
            x = tl.load(x_ptr + row + columns, mask=inside, other=-float("inf")).to(tl.float32)
            dx = tl.exp(x - largest) / total
            dx = tl.where(columns == target, dx - 1.0, dx) * g
            tl.store(dx_ptr + row + columns, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def cross_entropy(x, targets, g=None):
    """Return the losses, with `g` the gradient too."""
    m, n = x.shape
    losses = torch.empty(m, device=x.device)
    dx = torch.empty_like(x) if g is not None else x
    _cross_entropy[(m,)](
        x, targets, losses if g is None else g, losses, dx, n,
        GRADIENT=g is not None, **shape_of(min(n, LOGITS)),
    )  # fmt: skip
    return losses if g is None else (losses, dx)


@triton.jit
def _swiglu(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    gate = tl.load(gate_ptr + index, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + index, mask=inside, other=0.0).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def swiglu(gate, up):
    y = torch.empty_like(gate)
    count = gate.numel()
    _swiglu[(triton.cdiv(count, FLAT),)](gate, up, y, count, BLOCK=FLAT)
    return y


@triton.jit
def _swiglu_backward(gate_ptr, up_ptr, g_ptr, dgate_ptr, dup_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    gate = tl.load(gate_ptr + index, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + index, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + index, mask=inside, other=0.0).to(tl.float32)
    s = tl.sigmoid(gate)
    silu = gate * s
    tl.store(dup_ptr + index, (g * silu).to(dup_ptr.dtype.element_ty), mask=inside)
    dgate = g * up * (s + silu - silu * s)
    tl.store(dgate_ptr + index, dgate.to(dgate_ptr.dtype.element_ty), mask=inside)


def swiglu_backward(gate, up, g):
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    count = gate.numel()
    _swiglu_backward[(triton.cdiv(count, FLAT),)](gate, up, g, dgate, dup, count, BLOCK=FLAT)
    return dgate, dup


@triton.jit
def _rotary(x_ptr, cos_ptr, sin_ptr, y_ptr, positions, heads,
            HALF: tl.constexpr, HEADS: tl.constexpr):  # fmt: skip
    token = tl.program_id(0).to(tl.int64)
    pair = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token % positions * HALF + pair)[None, :].to(tl.float32)
    sin = tl.load(sin_ptr + token % positions * HALF + pair)[None, :].to(tl.float32)
    head = tl.arange(0, HEADS)[:, None]
    first = token * heads * HALF * 2 + head * HALF * 2 + pair[None, :]
    inside = (head < heads) & (pair[None, :] >= 0)
    a = tl.load(x_ptr + first, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + first + HALF, mask=inside, other=0.0).to(tl.float32)
    y_type = y_ptr.dtype.element_ty
    tl.store(y_ptr + first, (a * cos - b * sin).to(y_type), mask=inside)
    tl.store(y_ptr + first + HALF, (b * cos + a * sin).to(y_type), mask=inside)


def rotary(x, cos, sin):
    batch, positions, heads, size = x.shape
    y = torch.empty_like(x)
    _rotary[(batch * positions,)](
        x, cos, sin, y, positions, heads, HALF=size // 2, HEADS=triton.next_power_of_2(heads)
    )
    return y


@triton.jit
def _quantise(x_ptr, q_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0)
    row = index.to(tl.int64) * n
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    x = tl.load(x_ptr + row + columns, mask=inside, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), 0), 1e-30) / 448.0
    tl.store(scale_ptr + index, scale)
    tl.store(q_ptr + row + columns, (x / scale).to(q_ptr.dtype.element_ty), mask=inside)


def quantise(x):
    """Return q of e4m3 and the scales of the rows."""
    q = torch.empty(x.shape, device=x.device, dtype=torch.float8_e4m3fn)
    scales = torch.empty(x.shape[0], device=x.device)
    _quantise[(x.shape[0],)](x, q, scales, x.shape[-1], **shape_of(x.shape[-1]))
    return q, scales
