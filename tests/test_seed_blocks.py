# SPDX-License-Identifier: Apache-2.0
"""The code of the torch page, executed as it is written.

On a machine with a GPU unchanged; elsewhere with "cuda" replaced by "cpu", on the emulator. The
blocks below are the page's; a twin takes them from the page itself where it is at hand.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import sample_kernels
import seed_pages

torch = pytest.importorskip("torch")

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"

TWIN = [
    """
k = build_rms_norm(16, 512)
x = torch.randn(16, 512, device="cuda") * 0.3
w = torch.randn(512, device="cuda") * 0.1 + 1.0
out = k(x, w)
""",
    """
k = build_rms_norm(256, 4096)
x = torch.randn(256, 4096, device="cuda")
w = torch.randn(4096, device="cuda")
k(x, w)
g = torch.cuda.CUDAGraph()
s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    k(x, w)
torch.cuda.current_stream().wait_stream(s)
with torch.cuda.graph(g, stream=s):
    out = k(x, w)
g.replay()
""",
    """
k = build_rms_norm(256, 4096)
x = torch.randn(256, 4096, device="cuda")
w = torch.randn(4096, device="cuda")
out = k(x, w)
out = k(x, w)
""",
    """
k = build_rms_norm(256, 4096)
k_compiled = torch.compile(k)
x = torch.randn(256, 4096, device="cuda")
w = torch.randn(4096, device="cuda")
out = k_compiled(x, w)
""",
    """
from pyptx import differentiable_kernel
fwd = build_my_forward(M, N)
bwd = build_my_backward(M, N)
my_op = differentiable_kernel(
    fwd, bwd,
    save_for_backward=[0, 1],
)
x = torch.randn(M, N, device="cuda", requires_grad=True)
w = torch.randn(N, device="cuda", requires_grad=True)
out = my_op(x, w)
out.sum().backward()
""",
]


def rms_norm(x: Any, w: Any, eps: float = 1e-6) -> Any:
    x, w = x.double(), w.double()
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * w


def check(code: str, names: dict[str, Any]) -> None:
    """The block's results against float64."""
    x, w, out = names["x"], names["w"], names["out"]
    if ON_GPU:
        torch.cuda.synchronize()
    assert out.device.type == DEVICE
    if "differentiable_kernel" in code:
        torch.testing.assert_close(out, x * w)
        torch.testing.assert_close(x.grad, w.detach().expand_as(x).contiguous())
        torch.testing.assert_close(w.grad, x.detach().sum(0), rtol=1e-5, atol=1e-5)
    else:
        torch.testing.assert_close(out.double(), rms_norm(x, w), rtol=1e-5, atol=1e-5)


def execute(code: str, names: dict[str, Any], file_name: str) -> None:
    if "CUDAGraph" in code and not ON_GPU:
        pytest.skip("CUDA graphs need a GPU")
    source = code.replace('"cuda"', f'"{DEVICE}"')
    exec(compile(source, file_name, "exec"), names)
    check(code, names)
    if "CUDAGraph" in code:
        names["x"].copy_(torch.randn_like(names["x"]))
        names["out"].zero_()
        names["g"].replay()
        check(code, names)


def namespace() -> dict[str, Any]:
    return {
        "torch": torch,
        "M": 8,
        "N": 64,
        "build_rms_norm": sample_kernels.build_rms_norm,
        "build_my_forward": sample_kernels.build_my_forward,
        "build_my_backward": sample_kernels.build_my_backward,
    }


@pytest.mark.parametrize("index", range(len(TWIN)))
def test_block(index: int) -> None:
    execute(TWIN[index], namespace(), f"<block {index}>")


def test_the_decorator_of_the_kernel_page() -> None:
    """The GEMM declaration, whose body is empty, gives an entry with three pointers."""
    from pyptx import Layout, Tile, kernel
    from pyptx.types import bf16, f32

    @kernel(
        in_specs=(Tile("M", "K", bf16, Layout.ROW), Tile("K", "N", bf16, Layout.COL)),
        out_specs=(Tile("M", "N", f32, Layout.ROW),),
        grid=lambda M, N, K: (M // 128, N // 256),
        block=(128, 1, 1),
        cluster=(2, 1, 1),
        arch="sm_90a",
    )
    def gemm(A, B, C, *, BM=128, BN=256, BK=64): ...

    text = gemm.ptx(M=4096, N=4096, K=4096)
    assert ".entry gemm" in text
    assert [name in text for name in (".param .u64 A", ".param .u64 B", ".param .u64 C")] == [
        True
    ] * 3
    assert gemm.template_params == {"BM": 128, "BN": 256, "BK": 64}
    assert gemm.launch_grid(M=4096, N=4096, K=4096) == (32, 16, 1)


pages = pytest.mark.skipif(not seed_pages.PAGES.is_dir(), reason="the reference pages are not here")


def page_blocks() -> list[str]:
    page = seed_pages.PAGES / "torch_runtime.txt"
    return seed_pages.code_blocks(page) if page.is_file() else []


@pages
def test_the_page_has_the_blocks_of_the_twin() -> None:
    def squeeze(code: str) -> list[str]:
        lines = (line.partition("  #")[0].rstrip() for line in code.splitlines())
        return [line for line in lines if line and not line.startswith("#")]

    blocks = page_blocks()
    assert len(blocks) == len(TWIN)
    for ours, theirs in zip(TWIN[1:], blocks[1:], strict=True):
        assert squeeze(ours) == squeeze(theirs)
    assert squeeze(blocks[0])[-4:] == squeeze(TWIN[0])


@pages
@pytest.mark.parametrize("index", range(5))
def test_page_block(index: int, tmp_path: Any) -> None:
    """Each block as it stands on the page, after the first, which defines the kernel."""
    names = namespace()
    blocks = page_blocks()
    for number in sorted({0, index}):
        file = tmp_path / f"block{number}.py"
        file.write_text(blocks[number])
        execute(blocks[number], names, str(file))
    assert inspect.isfunction(names["build_rms_norm"])


@pages
def test_page_example_of_the_kernel_page() -> None:
    """The import lines, the decorator and the printing line of the kernel page."""
    blocks = seed_pages.code_blocks(seed_pages.PAGES / "kernel.txt")
    code = next(block for block in blocks if "def gemm(A, B, C, *, BM=128, BN=256" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    assert ".entry gemm" in names["gemm"].ptx(M=4096, N=4096, K=4096)
