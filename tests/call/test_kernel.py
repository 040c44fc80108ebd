# SPDX-License-Identifier: Apache-2.0
"""The decorator, specialisation and inspection: same facts, same text; changed facts, new text."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import LaunchError, Layout, Tile, kernel, ptx, reg, smem
from pyptx._captures.captures import Captures
from pyptx.kernel import Kernel, TensorSpec, TmaDescriptorHandle
from pyptx.types import bf16, f32, u32
from support import sample_kernels
from support.packages import need
from support.sample_kernels import scaled_copy
from support.tree import TESTS

X32 = np.arange(32, dtype=np.float32)
GLOBAL_FACTOR = 2.0


def one_tile(**options: Any) -> Any:
    return kernel(
        in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(32, 1, 1), **options
    )


# --- declaration --------------------------------------------------------------------------------


def test_decorator_with_and_without_arguments() -> None:
    @kernel
    def simple(): ...

    @kernel(arch="sm_100a")
    def blackwell(): ...

    assert isinstance(simple, Kernel)
    assert (simple.arch, blackwell.arch) == ("sm_90a", "sm_100a")
    assert simple.__name__ == "simple"
    assert ".entry simple" in simple.ptx()
    assert ".target sm_100a" in blackwell.ptx()


def test_properties_give_back_what_was_declared() -> None:
    k = sample_kernels.build_vector_add(cluster=(2, 1, 1), smem=1024)
    assert k.in_specs == (Tile("N", f32), Tile("N", f32))
    assert k.out_specs == (Tile("N", f32),)
    assert callable(k.grid)
    assert (k.block, k.cluster, k.smem) == ((128, 1, 1), (2, 1, 1), 1024)
    assert k.template_params == {"BLOCK": 128}


def test_specs_and_parameters_must_agree() -> None:
    with pytest.raises(TypeError, match=r"2 tensor parameters \(X, Y\) but 1 in_specs"):
        kernel(in_specs=(Tile(32, f32),), out_specs=())(lambda_named_xy)
    with pytest.raises(TypeError, match="needs an element type"):
        kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32),))(lambda_named_xy)
    with pytest.raises(ValueError, match="tma is 'pointer' or 'value'"):
        kernel(tma="global")(lambda_named_xy)


def lambda_named_xy(X, Y): ...


def test_parameters_follow_tensors_then_raw_then_descriptors() -> None:
    @kernel(
        in_specs=(Tile("M", "K", bf16, Layout.TMA_128B),),
        out_specs=(Tile("M", "K", bf16),),
        raw_params=[("u32", "M"), ("f32", "alpha")],
    )
    def copy(A, C):
        A.tma_desc()
        ptx.ret()

    text = copy.ptx(M=128, K=64)
    places = [
        text.index(name) for name in ("u64 A", "u64 C", "u32 M", "f32 alpha", "u64 A_tma_desc")
    ]
    assert places == sorted(places)


def test_tma_desc_outside_a_trace_is_a_handle() -> None:
    tensor = TensorSpec("A", (4, 4), f32, Layout.ROW)
    handle = tensor.tma_desc()
    assert isinstance(handle, TmaDescriptorHandle)
    assert handle.tensor is tensor
    assert handle.name == str(handle) == "A_desc"


def test_launch_dimensions_are_what_was_configured() -> None:
    @kernel(grid=(4,), block=(32,))
    def k() -> None:
        ptx.ret()

    assert (k.grid, k.block) == ((4,), (32,))
    assert k.launch_grid() == (4, 1, 1)
    with pytest.raises(TypeError, match=r"'k': grid is one to three integers.*divide with //"):
        kernel(k.__wrapped__, grid=(4 / 2,))  # type: ignore[attr-defined]


def test_a_descriptor_by_value_is_a_parameter_of_128_bytes() -> None:
    @kernel(in_specs=(Tile("M", "K", bf16),), out_specs=(Tile("M", "K", bf16),), tma="value")
    def copy(A, C):
        A.tma_desc()
        ptx.ret()

    assert ".param .align 64 .b8 A_tma_desc[128]" in copy.ptx(M=128, K=64)


def test_version_is_pinned() -> None:
    assert sample_kernels.build_scale(1.0, version=(8, 7)).ptx().startswith(".version 8.7")


# --- staleness ----------------------------------------------------------------------------------


def test_same_arguments_same_text() -> None:
    k = sample_kernels.build_vector_add()
    assert k.ptx(N=1000) == k.ptx(N=1000) == sample_kernels.build_vector_add().ptx(N=1000)


def test_dims_and_template_values_are_part_of_the_key() -> None:
    k = sample_kernels.build_vector_add()
    texts = {k.ptx(N=1000), k.ptx(N=1001), k.ptx(N=1000, BLOCK=64)}
    assert len(texts) == 3
    assert k.ptx(N=1000, BLOCK=128) == k.ptx(N=1000)


def test_one_and_true_and_one_point_zero_are_different_template_values() -> None:
    seen = []

    @kernel
    def probe(*, V=0):
        seen.append(V)

    for value in (1, True, 1.0, 0.0, -0.0):
        probe.ptx(V=value)
    assert [repr(v) for v in seen] == ["1", "True", "1.0", "0.0", "-0.0"]


def test_list_valued_template_is_read_by_content() -> None:
    @one_tile()
    def k(X, Y, *, FACTORS):
        scaled_copy(X, Y, sum(FACTORS))

    factors = [1.0, 2.0]
    np.testing.assert_array_equal(k(X32, FACTORS=factors), 3 * X32)
    factors.append(4.0)
    np.testing.assert_array_equal(k(X32, FACTORS=factors), 7 * X32)


def test_changed_closure_value_is_seen() -> None:
    factor = 2.0

    @one_tile()
    def k(X, Y):
        scaled_copy(X, Y, factor)

    np.testing.assert_array_equal(k(X32), 2 * X32)
    factor = 3.0
    np.testing.assert_array_equal(k(X32), 3 * X32)
    factor = 2.0
    np.testing.assert_array_equal(k(X32), 2 * X32)


def test_changed_closure_value_is_seen_after_the_fast_path_has_learnt() -> None:
    torch = need("torch")
    factor = 2.0

    @one_tile()
    def k(X, Y):
        scaled_copy(X, Y, factor)

    x = torch.arange(32.0)
    for expected in (2.0, 2.0, 3.0, 3.0):
        factor = expected
        torch.testing.assert_close(k(x), expected * x)


def test_changed_global_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    @one_tile()
    def k(X, Y):
        scaled_copy(X, Y, GLOBAL_FACTOR)

    np.testing.assert_array_equal(k(X32), 2 * X32)
    monkeypatch.setitem(globals(), "GLOBAL_FACTOR", 5.0)
    np.testing.assert_array_equal(k(X32), 5 * X32)


def test_changed_contents_of_a_captured_container_are_seen() -> None:
    settings: dict[str, Any] = {"factor": 2.0}

    @one_tile()
    def k(X, Y):
        scaled_copy(X, Y, settings["factor"])

    np.testing.assert_array_equal(k(X32), 2 * X32)
    settings["factor"] = 4.0
    np.testing.assert_array_equal(k(X32), 4 * X32)


def test_changed_attribute_of_a_captured_object_is_seen() -> None:
    class Settings:
        factor = 2.0

    settings = Settings()

    @one_tile()
    def k(X, Y):
        scaled_copy(X, Y, settings.factor)

    np.testing.assert_array_equal(k(X32), 2 * X32)
    settings.factor = 6.0
    np.testing.assert_array_equal(k(X32), 6 * X32)
    del settings.factor
    Settings.factor = 7.0
    np.testing.assert_array_equal(k(X32), 7 * X32)


def test_changed_function_that_the_body_calls_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    @one_tile()
    def k(X, Y):
        scaled_copy(X, Y, 2.0)

    before = k.ptx()
    original = scaled_copy
    monkeypatch.setitem(globals(), "scaled_copy", lambda x, y, f: original(x, y, f + 1))
    assert k.ptx() != before
    np.testing.assert_array_equal(k(X32), 3 * X32)


def test_value_that_cannot_be_compared_is_traced_again() -> None:
    values = iter([2.0, 5.0])  # no contents to look at from outside

    @one_tile()
    def k(X, Y):
        scaled_copy(X, Y, next(values))

    np.testing.assert_array_equal(k(X32), 2 * X32)
    np.testing.assert_array_equal(k(X32), 5 * X32)


def test_grid_callable_that_reads_a_changed_value() -> None:
    torch = need("torch")
    rows = 1

    @kernel(
        in_specs=(Tile(2, 32, f32),),
        out_specs=(Tile(2, 32, f32),),
        grid=lambda: (rows,),
        block=(32, 1, 1),
    )
    def k(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        row = reg.from_(ptx.special.ctaid.x(), u32) * 128
        offset = row + reg.from_(ptx.special.tid.x(), u32) * 4
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + offset))
        ptx.inst.st.global_.f32(ptx.addr(py + offset), value)
        ptx.ret()

    x = torch.ones(2, 32)
    for rows in (1, 2):
        out = torch.zeros(2, 32)
        k(x, out=out)
        assert out.sum().item() == 32 * rows


# --- threads and processes ----------------------------------------------------------------------


def test_threads_get_the_same_text_and_the_right_results() -> None:
    k = sample_kernels.build_vector_add()
    expected = {n: sample_kernels.build_vector_add().ptx(N=n) for n in (33, 200, 1000)}
    failures: list[BaseException] = []
    barrier = threading.Barrier(4)

    def work() -> None:
        try:
            barrier.wait()
            for n, text in expected.items():
                assert k.ptx(N=n) == text
                a = np.random.default_rng(n).standard_normal(n, dtype=np.float32)
                np.testing.assert_array_equal(k(a, a), a + a)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_two_processes_give_the_same_text() -> None:
    code = "from support import sample_kernels as s; print(s.build_rms_norm(16, 512).ptx(), end='')"
    here = sample_kernels.build_rms_norm(16, 512).ptx()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=TESTS,
            env={
                "PYTHONPATH": ":".join(p for p in sys.path if p),
                "PYTHONHASHSEED": seed,
                "PATH": "",
            },
        )
        assert done.stdout == here


# --- raw parameters, grids, emulation -----------------------------------------------------------


def test_raw_parameters_are_bound_by_name() -> None:
    @kernel(
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        raw_params=[("u32", "N"), ("f32", "alpha")],
        block=(64, 1, 1),
    )
    def k(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        n = ptx.param(u32, "N")
        alpha = ptx.param(f32, "alpha")
        tid = reg.from_(ptx.special.tid.x(), u32)
        with ptx.if_(tid < n):
            value = reg.scalar(f32)
            ptx.inst.ld.global_.f32(value, ptx.addr(px + tid * 4))
            ptx.inst.mul.f32(value, value, alpha)
            ptx.inst.st.global_.f32(ptx.addr(py + tid * 4), value)
        ptx.ret()

    x = np.arange(40, dtype=np.float32)
    np.testing.assert_array_equal(k(x, alpha=0.5), x * np.float32(0.5))
    np.testing.assert_array_equal(k(x, alpha=-3.0), x * np.float32(-3))
    with pytest.raises(TypeError, match="raw parameter 'alpha'"):
        k(x)


def test_an_error_in_the_grid_callable_is_the_authors_own() -> None:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: (N // 0,))
    def k(X, Y):
        ptx.ret()

    with pytest.raises(ZeroDivisionError) as caught:
        k(X32)
    assert caught.traceback[-1].path.name == Path(__file__).name


def test_emulate_reports_and_is_repeatable() -> None:
    k = sample_kernels.build_vector_add()
    a = np.ones(300, dtype=np.float32)
    out, report = k.emulate(a, a, seed=7, schedule="random", report=True)
    np.testing.assert_array_equal(out, 2 * a)
    assert report.warp_instructions > 0
    assert k.emulate(a, a, seed=7, schedule="random", report=True)[1] == report


@pytest.mark.parametrize("tma", ["pointer", "value"])
@pytest.mark.parametrize("layout", [Layout.ROW, Layout.TMA_128B])
def test_tensor_maps_copy_the_box_they_describe(tma: str, layout: Layout) -> None:
    """One 16 x 32 box of X through shared memory into Y, at row 16, column 32."""
    tile = Tile("M", "N", f32, layout, tma_box=(16, 32))

    @kernel(in_specs=(tile,), out_specs=(tile,), block=(32, 1, 1), tma=tma)
    def copy_box(X, Y):
        buffer = smem.alloc(f32, (16, 32), align=1024)
        bar = smem.mbarrier(1)
        tid = reg.from_(ptx.special.tid.x(), u32)
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(bar[0], 1)
            ptx.fence.mbarrier_init()
            ptx.mbarrier.arrive_expect_tx(bar[0], 16 * 32 * 4)
            ptx.cp.async_.bulk.tensor_2d(dst=buffer, src=X.tma_desc(), coord=(32, 16), mbar=bar[0])
            ptx.mbarrier.wait(bar[0], 0)
            ptx.cp.async_.bulk.tensor.store_2d(dst=Y.tma_desc(), src=buffer, coord=(32, 16))
            ptx.cp.async_.bulk.commit_group()
            ptx.cp.async_.bulk.wait_group(0)
        ptx.ret()

    x = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
    y = np.zeros_like(x)
    copy_box(x, out=y)
    expected = np.zeros_like(x)
    expected[16:32, 32:64] = x[16:32, 32:64]
    np.testing.assert_array_equal(y, expected)
    with pytest.raises(LaunchError, match="no TMA descriptor can be made for 'X'"):
        copy_box(np.zeros((64, 95), np.float32))


def test_empty_arrays_launch_nothing() -> None:
    k = sample_kernels.build_vector_add()
    empty = np.empty(0, dtype=np.float32)
    assert k(empty, empty).shape == (0,)


def test_sass_disassembles_or_names_the_package() -> None:
    k = sample_kernels.build_scale(2.0)
    from pyptx import _toolchain

    if _toolchain.find_tool("nvdisasm") is None or _toolchain.missing_assembler() is not None:
        with pytest.raises(RuntimeError, match="pip install"):
            k.sass()
    else:
        assert "FMUL" in k.sass()
        assert k.cubin()[:4] == b"\x7fELF"


def test_sass_without_a_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyptx import _toolchain

    monkeypatch.setattr(_toolchain, "find_tool", lambda name: None)
    monkeypatch.setattr(_toolchain, "missing_assembler", lambda: None)
    monkeypatch.setattr(Kernel, "cubin", lambda self, **kwargs: b"")
    with pytest.raises(RuntimeError, match="pip install nvidia-cuda-cuobjdump"):
        sample_kernels.build_scale(2.0).sass()
    monkeypatch.setattr(_toolchain, "find_tool", lambda name: Path("/nowhere") / name)
    with pytest.raises(RuntimeError, match="cannot run /nowhere/cuobjdump: No such file"):
        sample_kernels.build_scale(2.0).sass()


def test_import_brings_in_no_framework() -> None:
    code = (
        "import sys, pyptx, pyptx.kernel, pyptx.torch_support, pyptx.jax_support;"
        "print([m for m in ('torch', 'jax', 'numpy') if m in sys.modules])"
    )
    env = {"PYTHONPATH": ":".join(p for p in sys.path if p), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == "[]"


def test_template_defaults_do_not_make_a_kernel_slow_to_check():
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=(1, 1, 1))
    def templated(X, Y, *, VEC=4, NAMES=("a", "b")):
        ptx.ret()

    captures = Captures(templated.signature.fn, templated.grid)
    assert captures.holds()
    templated.signature.fn.__kwdefaults__["VEC"] = 8
    assert not captures.holds()
