# SPDX-License-Identifier: Apache-2.0
"""The kernels of the reference pages for every generation: RMSNorm as it is written there, and the
GEMM declaration with a body of ours.

The kernels below are the pages'; a twin takes them from the pages where they are at hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import seed_pages
from assembling import assemble
from pyptx import Layout, Tile, kernel, ptx, reg
from pyptx.types import b32, bf16, f32, u32, u64
from sample_kernels import build_rms_norm

TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120"]
pages = pytest.mark.skipif(not seed_pages.PAGES.is_dir(), reason="the reference pages are not here")


def without_lines(text: str) -> str:
    """The text without what tells where its source is."""
    return re.sub(r"^\s*\.(file|loc) .*\n", "", text, flags=re.M)


def page_rms_norm(target: str, folder: Path) -> Any:
    """`build_rms_norm` as the page has it; only the name of the target is another."""
    page = seed_pages.PAGES / "torch_runtime.txt"
    code = next(c for c in seed_pages.code_blocks(page) if "def build_rms_norm" in c)
    code = code[: code.index("k = build_rms_norm")].replace("import torch\n", "")
    assert code.count('arch="sm_90a"') == 1
    file = folder / "page.py"
    file.write_text(code.replace('arch="sm_90a"', f'arch="{target}"'))
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names["build_rms_norm"]


@pytest.mark.parametrize("target", TARGETS)
def test_rms_norm(target: str, tmp_path: Path) -> None:
    assemble(build_rms_norm(16, 512, arch=target).ptx(), target, tmp_path)


@pages
@pytest.mark.parametrize("target", TARGETS)
def test_rms_norm_of_the_page(target: str, tmp_path: Path) -> None:
    text = page_rms_norm(target, tmp_path)(16, 512).ptx()
    assert f".target {target}\n" in text
    assemble(text, target, tmp_path)
    assert without_lines(text) == without_lines(build_rms_norm(16, 512, arch=target).ptx())


def multiply(d: list[Any], a: list[Any], b: list[Any]) -> None:
    ptx.mma.sync(
        shape=(16, 8, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, dtype_c=f32, d=d, a=a, b=b, c=d
    )  # fmt: skip


def gemm_body(A: Any, B: Any, C: Any, BM: int, BN: int, BK: int) -> None:
    """C = A @ B by four warps, 32 rows each, 32 columns at once, fragments straight from memory:
    a thread's two neighbours along k are 32 bits of A's row and of B's column.
    """
    (_, k), (_, n) = A.shape, B.shape
    pa, pb, pc = ptx.global_ptrs(A, B, C)
    tid = reg.from_(ptx.special.tid.x(), u32)
    lane = tid & 31
    row = reg.from_(ptx.special.ctaid.x(), u32) * BM + (tid >> 5) * (BM // 4) + (lane >> 2)
    from_a = pa + row * (k * 2) + (lane & 3) * 4
    column0 = reg.from_(ptx.special.ctaid.y(), u32) * BN

    def load(place: Any, *offsets: int) -> list[Any]:
        values = [reg.scalar(b32) for _ in offsets]
        for value, offset in zip(values, offsets, strict=True):
            ptx.inst.ld.global_.b32(value, ptx.addr(place, offset))
        return values

    with ptx.range_(0, BN, 32) as shift:
        from_b = pb + (column0 + shift + (lane >> 2)) * (k * 2) + (lane & 3) * 4
        acc = [[[reg.scalar(f32, 0.0) for _ in range(4)] for _ in range(4)] for _ in range(2)]
        with ptx.range_(0, k, BK) as depth:
            at_a, at_b = from_a + depth * 2, from_b + depth * 2
            down = 8 * k * 2  # eight rows of A, or eight columns of B
            for step in range(0, 2 * BK, 32):
                columns = [load(at_b, j * down + step, j * down + step + 16) for j in range(4)]
                for i in range(2):
                    first, below = 2 * i * down + step, (2 * i + 1) * down + step
                    rows = load(at_a, first, below, first + 16, below + 16)
                    for j in range(4):
                        multiply(acc[i][j], rows, columns[j])
        for i in range(4):
            start = reg.scalar(u64)
            ptx.inst.mul.wide.u32(start, row + 8 * i, n * 4)
            line = pc + start + (column0 + shift + (lane & 3) * 2) * 4
            for j in range(4):
                pair = acc[i // 2][j][2 * (i % 2) : 2 * (i % 2) + 2]
                ptx.inst.st.global_.v2.f32(ptx.addr(line, 32 * j), pair)
    ptx.ret()


def build_seed_gemm(target: str) -> Any:
    @kernel(
        in_specs=(Tile("M", "K", bf16, Layout.ROW), Tile("K", "N", bf16, Layout.COL)),
        out_specs=(Tile("M", "N", f32, Layout.ROW),),
        grid=lambda M, N, K: (M // 128, N // 256),
        block=(128, 1, 1),
        cluster=(2, 1, 1),
        arch=target,
    )
    def gemm(A, B, C, *, BM=128, BN=256, BK=64):
        gemm_body(A, B, C, BM, BN, BK)

    return gemm


@pytest.mark.parametrize("target", TARGETS)
def test_gemm(target: str, tmp_path: Path) -> None:
    text = assemble(build_seed_gemm(target).ptx(M=4096, N=4096, K=4096), target, tmp_path)
    assert f".target {target}\n" in text
    assert text.count("mma.sync") == 4 * 2 * 4
    assert text != build_seed_gemm(target).ptx(M=4096, N=4096, K=4096, BK=32)


def test_gemm_is_right() -> None:
    """On the emulator."""
    torch = pytest.importorskip("torch")
    a, b = torch.randn(256, 64).bfloat16(), torch.randn(256, 64).bfloat16().T
    expected = a.double() @ b.double()
    error = (build_seed_gemm("sm_90a")(a, b) - expected).abs().max() / expected.abs().max()
    assert float(error) < 1e-5


@pages
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_of_the_page(target: str, tmp_path: Path) -> None:
    """The page's example with a body in place of the dots."""
    blocks = seed_pages.code_blocks(seed_pages.PAGES / "kernel.txt")
    code = next(block for block in blocks if "def gemm(A, B, C, *, BM=128, BN=256" in block)
    head, dots, _ = code.partition("BK=64): ...")
    assert dots
    assert head.count('arch="sm_90a"') == 1
    file = tmp_path / "page.py"
    file.write_text(
        head.replace('arch="sm_90a"', f'arch="{target}"')
        + "BK=64):\n    gemm_body(A, B, C, BM, BN, BK)\n"
    )
    names: dict[str, Any] = {"gemm_body": gemm_body}
    exec(compile(file.read_text(), str(file), "exec"), names)
    text = names["gemm"].ptx(M=4096, N=4096, K=4096)
    assemble(text, target, tmp_path)
    ours = build_seed_gemm(target).ptx(M=4096, N=4096, K=4096)
    assert without_lines(text) == without_lines(ours)
