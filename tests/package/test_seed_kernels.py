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

from support import seed_pages
from support.assembling import assemble
from support.packages import need
from support.sample_kernels import build_rms_norm
from support.seed_gemm import build_seed_gemm, gemm_body

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


@pytest.mark.parametrize("target", TARGETS)
def test_gemm(target: str, tmp_path: Path) -> None:
    text = assemble(build_seed_gemm(target).ptx(M=4096, N=4096, K=4096), target, tmp_path)
    assert f".target {target}\n" in text
    assert text.count("mma.sync") == 4 * 2 * 4
    assert text != build_seed_gemm(target).ptx(M=4096, N=4096, K=4096, BK=32)


def test_gemm_is_right() -> None:
    """On the emulator."""
    torch = need("torch")
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
