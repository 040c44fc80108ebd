# SPDX-License-Identifier: Apache-2.0
"""The code of the reference pages, executed as it is written.

On a machine with a GPU unchanged; elsewhere with "cuda" replaced by "cpu", on the emulator, and
without the capture of a CUDA graph. The blocks below are the pages'; a twin of each test takes them
from the page itself where it is at hand.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from pyptx import Layout, Tile, kernel
from pyptx.types import bf16, f32
from support import sample_kernels, seed_pages
from support.example_modules import example
from support.packages import need
from support.seed_gemm import build_seed_gemm
from support.tree import ROOT

torch = need("torch")

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


# The page of pyptx.torch_support; its indentation was lost on the way.
SUPPORT_TWIN = [
    TWIN[-1].replace("from pyptx import", "from pyptx.torch_support import")
    + "print(x.grad, w.grad)\n"
]

# The page of pyptx.kernel after the declaration: the line that prints, and the two ways to launch.
KERNEL_TWIN = [
    "print(gemm.ptx(M=4096, N=4096, K=4096))\n",
    """
@jax.jit
def fwd(x, w):
    return gemm(x, w)
""",
    """
@torch.compile
def fwd(x, w):
    return gemm(x, w)
""",
    """
@kernel
def simple(): ...

@kernel(arch="sm_100a")
def blackwell(): ...

@kernel(
    in_specs=(Tile("M", "K", bf16), Tile("K", "N", bf16)),
    out_specs=(Tile("M", "N", f32),),
    grid=lambda M, N, K: (M // 128, N // 256),
    block=(128, 1, 1),
    cluster=(2, 1, 1),
    arch="sm_90a",
)
def gemm(A, B, C, *, BM=128): ...
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
    source = code.replace('"cuda"', f'"{DEVICE}"')
    is_captured = "CUDAGraph" in code and ON_GPU
    if "CUDAGraph" in code and not ON_GPU:
        source = source[: source.index("g = torch.cuda.CUDAGraph()")].replace(
            "\nk(x, w)", "\nout = k(x, w)"
        )
    exec(compile(source, file_name, "exec"), names)
    check(code, names)
    if is_captured:
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


def test_block_of_torch_support() -> None:
    execute(SUPPORT_TWIN[0], namespace(), "<block>")


def run_kernel_page(blocks: list[str], capsys: Any) -> None:
    """The blocks after the declaration, which has no body: here it has one."""
    names: dict[str, Any] = {
        "torch": torch,
        "Tile": Tile,
        "kernel": kernel,
        "bf16": bf16,
        "f32": f32,
    }
    names["gemm"] = build_seed_gemm("sm_90a")
    x = torch.randn(256, 64, device=DEVICE).bfloat16()
    w = torch.randn(256, 64, device=DEVICE).bfloat16().T
    expected = x.double() @ w.double()

    printing, in_jax, in_torch, declarations = blocks
    exec(printing, names)
    assert ".entry gemm" in capsys.readouterr().out
    exec(in_torch, names)
    error = (names["fwd"](x, w) - expected).abs().max() / expected.abs().max()
    assert float(error) < 1e-5
    exec(declarations, names)
    assert ".entry simple" in names["simple"].ptx()
    assert ".target sm_100a" in names["blackwell"].ptx()
    assert ".entry gemm" in names["gemm"].ptx(M=4096, N=4096, K=4096)

    names["jax"] = need("jax")
    names["gemm"] = build_seed_gemm("sm_90a")
    exec(in_jax, names)
    x, w = (t.float().cpu().numpy() for t in (x, w))
    found = names["fwd"](*(names["jax"].numpy.asarray(t, "bfloat16") for t in (x, w)))
    error = abs(found - expected.cpu().numpy()).max() / float(expected.abs().max())
    assert float(error) < 1e-5


def test_blocks_of_the_kernel_page(capsys: Any) -> None:
    run_kernel_page(KERNEL_TWIN, capsys)


def test_the_decorator_of_the_kernel_page() -> None:
    """The GEMM declaration, whose body is empty, gives an entry with three pointers."""

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
def test_page_block_of_torch_support(tmp_path: Any) -> None:
    (code,) = seed_pages.code_blocks(seed_pages.PAGES / "torch_support.txt")
    execute(code, namespace(), "<page>")


@pages
def test_page_blocks_of_the_kernel_page(capsys: Any) -> None:
    """The declaration with its empty body, and every block after it."""
    declaration, *blocks = seed_pages.code_blocks(seed_pages.PAGES / "kernel.txt")
    names: dict[str, Any] = {}
    exec(declaration, names)
    exec(blocks[0], names)
    assert ".entry gemm" in capsys.readouterr().out
    assert [b.split() for b in blocks] == [b.split() for b in KERNEL_TWIN]
    run_kernel_page(blocks, capsys)


# --- the first targets that the torch page names ------------------------------------------------


TARGETS = {
    "examples/hopper/rms_norm.py": ("build_rms_norm", "torch", "jax"),
    "examples/hopper/grouped_gemm.py": ("build_grouped_gemm", "multiply_and_store"),
    "tests/test_torch_dispatch.py": ("def test_eager_and_repeated", "torch.compile"),
}


def test_first_targets_are_what_the_page_says() -> None:
    for path, words in TARGETS.items():
        text = (ROOT / path).read_text()
        assert all(word in text.lower() for word in map(str.lower, words)), path
    assert "wgmma" in example("hopper/grouped_gemm").build_grouped_gemm(2).ptx(T=64, N=64, K=64)


@pages
def test_first_targets_are_those_of_the_page() -> None:
    page = (seed_pages.PAGES / "torch_runtime.txt").read_text()
    section = page.partition("Good First Targets")[2].partition("Autograd")[0]
    assert re.findall(r"[\w/]+\.py", section) == list(TARGETS)
