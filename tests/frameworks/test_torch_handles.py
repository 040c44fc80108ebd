# SPDX-License-Identifier: Apache-2.0
"""Launches of torch tensors by handle: eager, and as operators that torch.compile traces."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import torch_support
from pyptx._call import handles
from pyptx._errors import LaunchError
from pyptx.jax_support import (
    add_scalar_param_to_shim,
    get_cubin_registry,
    register_launch_config,
)
from support import sample_kernels
from support.handles import vector_add_handle
from support.packages import need

torch = need("torch")

from pyptx._torch import handles as torch_handles  # noqa: E402

cuda = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
)


@pytest.fixture(params=["cpu", cuda])
def device(request: pytest.FixtureRequest) -> str:
    torch.manual_seed(0)
    torch._dynamo.reset()
    return str(request.param)


def test_launch_by_handle(device: str) -> None:
    a, b = torch.randn(300, device=device), torch.randn(300, device=device)
    handle, launch = vector_add_handle(300)
    out = torch_support.call_kernel_via_torch(a, b, cubin_handle=handle, **launch)
    torch.testing.assert_close(out, a + b, rtol=0, atol=0)


def test_operator_by_handle_is_registered_once_and_compiles(device: str) -> None:
    a, b = torch.randn(300, device=device), torch.randn(300, device=device)
    handle, launch = vector_add_handle(300)
    op = torch_support.get_or_register_torch_op(handle, cluster=(1, 1, 1), smem_bytes=0, **launch)
    again = torch_support.get_or_register_torch_op(
        handle, cluster=(1, 1, 1), smem_bytes=0, **launch
    )
    assert op is again
    compiled = torch.compile(lambda a, b: op(a, b) + 1, fullgraph=True)
    torch.testing.assert_close(compiled(a, b), a + b + 1)
    out = torch_support.call_kernel_via_torch_compile(a, b, cubin_handle=handle, **launch)
    torch.testing.assert_close(out, a + b, rtol=0, atol=0)


def test_opcheck(device: str) -> None:
    x = torch.randn(300, device=device)
    handle, launch = vector_add_handle(300)
    config = [*launch["grid"], *launch["block"], 1, 1, 1, 0]
    [result] = torch_handles.results_of(launch["out_specs"], launch["out_shape_env"])
    assert result == ("f32", (300,), False)
    torch.library.opcheck(
        torch.ops.pyptx.launch_handle.default,
        ([x, x], handle, ["f32"], [1], [300], [False], config),
    )
    torch.library.opcheck(
        torch.ops.pyptx.launch_handle_.default, ([x, x, torch.empty_like(x)], handle, config)
    )


def test_a_call_by_handle_is_traced_with_numbers_that_the_tensors_decide(device: str) -> None:
    handle, launch = vector_add_handle(300)

    def call(a: Any, b: Any) -> Any:
        n = a.shape[0]
        sizes = {**launch, "out_shape_env": {"N": n}, "grid": [-(-n // 128)]}
        return torch_support.call_kernel_via_torch_compile(a, b, cubin_handle=handle, **sizes) * 2

    a, b = torch.randn(300, device=device), torch.randn(300, device=device)
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(a, b), (a + b) * 2)


def test_a_launch_by_handle_refuses_gradients(device: str) -> None:
    a, b = torch.randn(300, requires_grad=True, device=device), torch.randn(300, device=device)
    handle, launch = vector_add_handle(300)
    for call in (torch_support.call_kernel_via_torch, torch_support.call_kernel_via_torch_compile):
        out = call(a, b, cubin_handle=handle, **launch)
        assert torch.equal(out, a + b)
        with pytest.raises(LaunchError, match="a launch by handle has no gradient"):
            out.sum().backward()
        with torch.no_grad():
            assert not call(a, b, cubin_handle=handle, **launch).requires_grad
        with pytest.raises(RuntimeError, match="without outputs writes its inputs"):
            call(b, b, a, cubin_handle=handle, **{**launch, "out_specs": ()})


def test_a_launch_by_handle_without_outputs(device: str) -> None:
    a, b, c, d = (
        torch.randn(300, device=device),
        torch.randn(300, device=device),
        torch.zeros(300, device=device),
        torch.zeros(300, device=device),
    )
    handle, launch = vector_add_handle(300)
    launch = {**launch, "out_specs": (), "cubin_handle": handle}
    assert torch_support.call_kernel_via_torch(a, b, c, **launch) == ()
    assert torch.equal(c, a + b)

    def call(a: Any, b: Any, d: Any) -> None:
        torch_support.call_kernel_via_torch_compile(a, b, d, **launch)

    torch.compile(call, fullgraph=True, backend="aot_eager")(a, b, d)
    assert torch.equal(d, a + b)


def test_parameters_may_come_before_the_dimensions() -> None:
    text = sample_kernels.build_vector_add().ptx(N=300)
    handle = get_cubin_registry().register(text.replace("C)", "C, .param .u32 S)"), "vector_add")
    add_scalar_param_to_shim(handle, 7)
    register_launch_config(handle, 0, (3, 1, 1), (128, 1, 1))
    assert len(handles._launch(handle).scalars) == 1
    register_launch_config(handle, 0, (3, 1, 1), (128, 1, 1))
    assert not handles._launch(handle).scalars, "said again, it begins anew"


def test_a_function_without_its_text_is_launched_as_it_is() -> None:
    handle = get_cubin_registry().register("", "k", b"\x7fELF", cu_function=1234)
    register_launch_config(handle, 1234, (1, 1, 1), (64, 1, 1))
    assert handles.is_raw(handle)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("// .entry old(\n.visible .entry new() {}", "new"),
        ("/* .visible .entry old() */ .entry new() {}", "new"),
        (".entry helper() {}\n.visible .entry main() {}", "main"),
        (".entry only() {}", "only"),
        ('.entry "odd" {}\n.pragma ".entry fake()";\n.entry real() {', "real"),
    ],
)
def test_the_entry_that_a_text_means(text: str, name: str) -> None:
    assert handles.entry_name(text) == name


def test_the_header_of_a_text_is_read_by_the_parser() -> None:
    head = ".version 8.0\n/* .target sm_10 */ .target // sm_20\n sm_90a, debug\n"
    assert handles.target_of(head) == "sm_90a"
    assert handles.target_of(".version 7.0\n.target sm_52\n") == "sm_52"
    for text in ("", "// .target sm_90a", ".version 8.0"):
        with pytest.raises(LaunchError, match=r"no \.target"):
            handles.target_of(text)
        with pytest.raises(LaunchError, match=r"no \.entry"):
            handles.entry_name(text)
