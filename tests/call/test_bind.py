# SPDX-License-Identifier: Apache-2.0
"""Launches settled ahead: `k.bind`, `k.launch`, `k.save` and `pyptx.load`.

On CPU tensors and NumPy arrays (the emulator), and again on CUDA tensors where there is a GPU.
"""

from __future__ import annotations

import gc
import os
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import BoundKernel, LaunchError, Layout, Tile, kernel, ptx, reg
from pyptx.types import f32, u32
from support import bad_calls, sample_kernels
from support.assembling import needs_assembler
from support.packages import need

torch = need("torch")

cuda = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
)
devices = pytest.mark.parametrize("device", ["cpu", cuda])


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# --- bind -----------------------------------------------------------------------------------------


@devices
@pytest.mark.parametrize("tma", ["pointer", "value"])
def test_bound_launches_what_the_kernel_launches(device: str, tma: str) -> None:
    k = sample_kernels.build_tma_axpy(3.0, tma)
    x, y = torch.randn(20, 100, device=device), torch.randn(20, 100, device=device)
    bound = k.bind(x, y)
    assert isinstance(bound, BoundKernel)
    assert bound.device == str(x.device)
    assert bound.ptx == k.ptx(M=20, N=100)
    expected = torch.addcmul(y, x, torch.full_like(x, 3.0))
    for _ in range(2):
        torch.testing.assert_close(bound(x, y), expected)
    out = torch.empty_like(x)
    version = out._version
    assert bound(x, y, out=out) is out
    torch.testing.assert_close(out, expected)
    assert out._version > version
    assert (bound._entry.hits, bound._entry.misses) == (3, 0)


def test_bound_takes_numpy_arrays() -> None:
    k = sample_kernels.build_tma_axpy()
    x, y = floats(9, 64), floats(9, 64, seed=1)
    bound = k.bind(x, y)
    np.testing.assert_array_equal(bound(x, y), k(x, y))
    out = np.empty_like(x)
    assert bound(x, y, out=out) is out
    np.testing.assert_array_equal(out, k(x, y))


@devices
def test_nothing_is_launched_by_bind_and_template_values_are_settled(device: str) -> None:
    k = sample_kernels.build_vector_add()
    x = torch.ones(200, device=device)
    out = torch.full_like(x, 7.0)
    bound = k.bind(x, x, out=out, BLOCK=64)
    assert (out == 7.0).all()
    assert "64" in bound.ptx
    with pytest.raises(TypeError, match=r"no keyword 'BLOCK'.*settled when it was bound"):
        bound(x, x, BLOCK=64)


REFUSED = {
    "shape": (lambda x, y: (x[:8], y), "'X' has shape .8, 100., it was bound to .20, 100."),
    "dtype": (lambda x, y: (x, y.double()), "'Y' has dtype f64, it was bound to f32"),
    "count": (lambda x, y: (x,), r"has 2 inputs \(X, Y\), got 1"),
    "outputs by position": (lambda x, y: (x, y, y), "has 2 inputs .*got 3"),
    "strides": (lambda x, y: (torch.empty(100, 20).T, y), "'X' has strides"),
    "alignment": (
        lambda x, y: (torch.empty(2001)[1:].view(20, 100), y),
        "'X' starts at address .* multiple of 16",
    ),
    "device": (lambda x, y: (x.to("meta"), y), "'X' is a Tensor on meta"),
    "gradient": (lambda x, y: (x, y.clone().requires_grad_()), "'Y' requires a gradient"),
    "sparse": (lambda x, y: (x.to_sparse(), y), "'X' is a torch.sparse_coo tensor"),
    "no tensor": (lambda x, y: (x, 3.0), "'Y' is a float"),
    "frameworks": (lambda x, y: (x, y.numpy()), "'X' is a torch array but 'Y' is a numpy array"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_other_tensors_are_refused_by_name(what: str) -> None:
    change, message = REFUSED[what]
    x, y = torch.zeros(20, 100), torch.zeros(20, 100)
    bound = sample_kernels.build_tma_axpy().bind(x, y)
    out = torch.full((20, 100), 7.0)
    with pytest.raises((LaunchError, TypeError), match=message):
        bound(*change(x, y), out=out)
    assert (out == 7.0).all()


def test_other_outputs_are_refused_by_name() -> None:
    k = sample_kernels.build_my_backward(4, 32)
    x, w = torch.zeros(4, 32), torch.zeros(32)
    bound = k.bind(x, w, x)
    one = torch.zeros(4, 32)
    with pytest.raises(LaunchError, match=r"'DW' has shape .31,., it was bound to .32,."):
        bound(x, w, x, out=(one, torch.zeros(31)))
    with pytest.raises(LaunchError, match=r"has 2 outputs \(DX, DW\), got 1"):
        bound(x, w, x, out=one)
    with pytest.raises(LaunchError, match="'DX' and 'DW' share memory"):
        bound(x, w, x, out=(one, one[0]))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_another_device_of_the_same_type_is_refused() -> None:
    k = sample_kernels.build_vector_add()
    x = torch.ones(64, device="cuda:0")
    with pytest.raises(LaunchError, match="is on cuda:1, it was bound to cuda:0"):
        k.bind(x, x)(x.to("cuda:1"), x.to("cuda:1"))


factor = 2.0


def test_what_was_captured_is_kept() -> None:
    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(32, 1, 1))
    def scale(X, Y):
        sample_kernels.scaled_copy(X, Y, factor)

    global factor
    x = torch.ones(32)
    factor = 2.0
    bound = scale.bind(x)
    factor = 5.0
    assert (scale(x) == 5.0).all()
    assert (bound(x) == 2.0).all()
    del scale
    gc.collect()
    assert (bound(x) == 2.0).all()


def test_column_major_tensors_and_no_inputs() -> None:
    @kernel(
        in_specs=(Tile(4, 8, f32, Layout.COL),),
        out_specs=(Tile(4, 8, f32, Layout.COL),),
        block=(32, 1, 1),
    )
    def copy(X, Y):
        sample_kernels.scaled_copy(X, Y, 1.0)

    x = torch.randn(8, 4).T
    assert torch.equal(copy.bind(x)(x), x)
    array = np.asfortranarray(floats(4, 8))
    np.testing.assert_array_equal(copy.bind(array)(array), array)
    with pytest.raises(LaunchError, match=r"expected a column-major \(Layout.COL\) tensor"):
        copy.bind(x)(x.contiguous())

    @kernel(out_specs=(Tile(32, u32),), block=(32, 1, 1))
    def iota(Y):
        (py,) = ptx.global_ptrs(Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        ptx.inst.st.global_.u32(ptx.addr(py + tid * 4), tid)
        ptx.ret()

    out = np.zeros(32, np.uint32)
    bound = iota.bind(out=out)
    np.testing.assert_array_equal(bound(out=out), np.arange(32))
    with pytest.raises(LaunchError, match="no tensor says which device"):
        iota.bind()
    with pytest.raises(LaunchError, match="called without arrays"):
        bound()


def test_an_empty_grid_is_bound_to_no_launch() -> None:
    k = sample_kernels.build_vector_add()
    empty = torch.empty(0)
    bound = k.bind(empty, empty)
    assert bound(empty, empty).shape == (0,)
    assert bound.ptx == ""
    with pytest.raises(LaunchError, match="the grid is empty"):
        bound.save("never written")


def test_a_bound_kernel_is_freed_with_its_last_reference() -> None:
    x = torch.ones(64)
    bound = sample_kernels.build_vector_add().bind(x, x)
    bound(x, x)
    watch = weakref.ref(bound)
    gc.disable()
    try:
        del bound
        assert watch() is None
    finally:
        gc.enable()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("tma", ["pointer", "value"])
def test_the_first_call_may_be_captured(tma: str) -> None:
    k = sample_kernels.build_tma_axpy(1.5, tma)
    x, y = torch.randn(64, 128, device="cuda"), torch.randn(64, 128, device="cuda")
    out = torch.zeros_like(x)
    bound = k.bind(x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bound(x, y, out=out)
        allocated = bound(out, y)
    for _ in range(3):
        x.normal_()
        graph.replay()
        torch.testing.assert_close(out, torch.addcmul(y, x, torch.full_like(x, 1.5)))
        torch.testing.assert_close(allocated, torch.addcmul(y, out, torch.full_like(x, 1.5)))


# --- launch ---------------------------------------------------------------------------------------


@devices
def test_launch_takes_every_tensor(device: str) -> None:
    k = sample_kernels.build_tma_axpy()
    x, y = torch.randn(12, 40, device=device), torch.randn(12, 40, device=device)
    out = torch.zeros_like(x)
    version = out._version
    assert k.launch(x, y, out) is None
    torch.testing.assert_close(out, 2 * x + y)
    assert out._version > version


@devices
def test_launch_takes_addresses(device: str) -> None:
    k = sample_kernels.build_tma_axpy()
    x, y = torch.randn(12, 40, device=device), torch.randn(12, 40, device=device)
    out = torch.zeros_like(x)
    if device == "cuda":
        torch.cuda.synchronize()
    k.launch(x.data_ptr(), y.data_ptr(), out.data_ptr(), device=x.device, M=12, N=40)
    mixed = torch.zeros_like(x)
    k.launch(x, y.data_ptr(), mixed)  # the dimensions are X's
    if device == "cuda":
        torch.cuda.synchronize()
    torch.testing.assert_close(out, 2 * x + y)
    torch.testing.assert_close(mixed, out)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("form", ["object", "number"])
def test_launch_on_a_stream(form: str) -> None:
    k = sample_kernels.build_tma_axpy()
    x, y = torch.randn(512, 512, device="cuda"), torch.randn(512, 512, device="cuda")
    out = torch.zeros_like(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    k.launch(x, y, out, stream=stream if form == "object" else stream.cuda_stream)
    stream.synchronize()
    torch.testing.assert_close(out, 2 * x + y)


X, Y, Z = (np.zeros((12, 40), np.float32) for _ in range(3))
AT = X.ctypes.data
BAD_LAUNCHES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "without the output": ((X, Y), {}, r"takes every tensor, inputs then outputs \(X, Y, Z\)"),
    "an address without a shape": ((AT, AT, AT), {"device": "cpu"}, "no value for dimension 'M'"),
    "a null address": ((X, Y, 0), {}, "'Z' is 0, which is no address of 1920 bytes"),
    "a negative address": ((X, Y, -8), {}, "'Z' is -8, which is no address"),
    "a stream on the emulator": ((X, Y, Z), {"stream": 1}, "the emulator has no streams"),
    "a stream of another device": (
        (AT, AT, AT),
        {
            "device": 0,
            "stream": SimpleNamespace(cuda_stream=0x5000, device_index=1),
            "M": 12,
            "N": 40,
        },
        "stream= must be of cuda:0, where the tensors are, got one of cuda:1",
    ),
    "another device": ((X, Y, Z), {"device": 0}, "device=0 was given, but a tensor is on cpu"),
    "no device": ((AT, AT, AT), {"device": "tpu", "M": 12, "N": 40}, "device is an ordinal"),
    "another shape": ((X, Y[:3].copy(), Z), {}, "'Y' has shape .3, 40., so M = 3"),
    "a wrong dimension": ((X, Y, Z), {"M": 13}, "M=13 was given"),
    "no array": ((X, Y, "Z"), {}, "'Z' is a str, expected a torch tensor, a NumPy array or an"),
    "a truth value": ((X, Y, True), {}, "'Z' is a bool"),
    "an unaligned address": ((AT + 4, Y, Z), {"M": 12, "N": 40}, "'X' starts at address"),
}


# What a call says of kinds of tensors, before anything else is asked of them.
NO_MEMORY: dict[str, tuple[Any, str]] = {
    "sparse": (lambda: torch.ones(8).to_sparse(), "is a torch.sparse_coo tensor, expected dense"),
    "nested": (bad_calls.nested, "is a nested tensor, expected one shape"),
    "strided nested": (
        lambda: torch.nested.nested_tensor([torch.ones(8)] * 2),
        "is a nested tensor, expected one shape",
    ),
    "quantized": (bad_calls.quantized, "is quantized"),
    "freed": (bad_calls.freed, "needs 32 bytes, but its storage has 0: it was freed or shrunk"),
    "negated": (lambda: torch._neg_view(torch.ones(8)), "is a negated view, expected plain memory"),
    "meta": (lambda: torch.ones(8, device="meta"), "is a Tensor on meta, expected an ordinary"),
    "fake": (
        lambda: torch._subclasses.FakeTensorMode().from_tensor(torch.ones(8)),
        "is a FakeTensor on cpu, expected an ordinary CUDA or CPU tensor",
    ),
}


@pytest.mark.filterwarnings("ignore:.*(nested|quantize):UserWarning")
@pytest.mark.parametrize("what", NO_MEMORY)
def test_tensors_without_plain_memory_are_refused_by_name(what: str, tmp_path: Any) -> None:
    make, message = NO_MEMORY[what]
    k = sample_kernels.build_vector_add()
    x, bad = torch.ones(8), make()
    for name, ahead in (
        ("Y", lambda: k.bind(x, bad)),
        ("Z", lambda: k.bind(x, x, out=bad)),
        ("Y", lambda: k.save(tmp_path / "add.k", x, bad)),
        ("X", lambda: k.launch(bad, x, x.clone())),
        ("Z", lambda: k.launch(x, x, bad)),
    ):
        with pytest.raises(LaunchError, match=f"kernel 'vector_add': argument '{name}' {message}"):
            ahead()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("what", BAD_LAUNCHES)
def test_bad_launches_are_refused(what: str) -> None:
    tensors, options, message = BAD_LAUNCHES[what]
    k = sample_kernels.build_tma_axpy()
    with pytest.raises((LaunchError, TypeError, ValueError), match=message):
        k.launch(*tensors, **options)


def test_launch_refuses_to_lose_gradients_and_to_write_what_is_read_only() -> None:
    k = sample_kernels.build_vector_add()
    x = torch.ones(8, requires_grad=True)
    with pytest.raises(LaunchError, match="'X' requires a gradient"):
        k.launch(x, x, torch.ones(8))
    with torch.no_grad():
        k.launch(x, x, torch.ones(8))
    array = np.ones(8, np.float32)
    frozen = array.copy()
    frozen.flags.writeable = False
    with pytest.raises(LaunchError, match="read-only"):
        k.launch(array, array, frozen)


def test_jax_arrays_are_not_written() -> None:
    jax = need("jax")
    k = sample_kernels.build_vector_add()
    x = jax.numpy.ones(8, dtype="float32")
    with pytest.raises(TypeError, match="JAX arrays cannot be written"):
        k.launch(x, x, x)
    np.testing.assert_array_equal(k.bind(x, x)(x, x), 2 * x)


# --- save and load --------------------------------------------------------------------------------


@devices
@pytest.mark.parametrize("tma", ["pointer", "value"])
def test_a_saved_kernel_is_the_kernel(tmp_path: Any, device: str, tma: str) -> None:
    k = sample_kernels.build_tma_axpy(3.0, tma)
    k.save(tmp_path / "axpy.pyptx", M=20, N=100)
    loaded = pyptx.load(tmp_path / "axpy.pyptx")
    assert loaded.name == "tma_axpy"
    assert [(t.name, t.dtype, t.shape) for t in (*loaded.inputs, *loaded.outputs)] == [
        (name, "f32", (20, 100)) for name in "XYZ"
    ]
    x, y = torch.randn(20, 100, device=device), torch.randn(20, 100, device=device)
    for _ in range(2):
        assert torch.equal(loaded(x, y), k(x, y))
    assert loaded._entry.hits == 1
    array = x.cpu().numpy()
    np.testing.assert_array_equal(loaded(array, array), k(array, array))
    with pytest.raises(LaunchError, match=r"'X' has shape .20, 99., it was bound to .20, 100."):
        loaded(x[:, :99], y)


def test_examples_and_dimensions_save_the_same_file(tmp_path: Any) -> None:
    k = sample_kernels.build_vector_add()
    one, other, third = (tmp_path / name for name in ("one", "other", "third"))
    x = floats(200)
    k.save(one, N=200, BLOCK=64)
    k.save(other, x, x, BLOCK=64)
    k.bind(x, x, BLOCK=64).save(third)
    assert one.read_bytes() == other.read_bytes() == third.read_bytes()
    k.save(other, N=200)
    assert one.read_bytes() != other.read_bytes()


def test_a_template_value_and_a_raw_parameter_are_saved(tmp_path: Any) -> None:
    @kernel(
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        grid=lambda N: (-(-N // 32),),
        block=(32, 1, 1),
        raw_params=(("f32", "scale"),),
    )
    def scale_by(X, Y, *, TWICE=False):
        px, py = ptx.global_ptrs(X, Y)
        thread = reg.from_(ptx.special.tid.x(), u32)
        index = reg.from_(ptx.special.ctaid.x(), u32) * 32 + thread
        value = reg.scalar(f32)
        by = ptx.param(f32, "scale")
        with ptx.if_(index < X.shape[0]):
            ptx.inst.ld.global_.f32(value, ptx.addr(px + index * 4))
            ptx.inst.mul.f32(value, value, by)
            if TWICE:
                ptx.inst.add.f32(value, value, value)
            ptx.inst.st.global_.f32(ptx.addr(py + index * 4), value)
        ptx.ret()

    scale_by.save(tmp_path / "k", N=50, scale=3.0, TWICE=True)
    x = floats(50)
    np.testing.assert_array_equal(pyptx.load(tmp_path / "k")(x), 6 * x)


def test_what_cannot_be_saved_says_what_is_missing(tmp_path: Any) -> None:
    k = sample_kernels.build_vector_add()
    with pytest.raises(LaunchError, match=r"argument 'X'.*no value for dimension 'N'"):
        k.save(tmp_path / "k")
    with pytest.raises(TypeError, match=r"targets is a sequence of names such as \('sm_90a',\)"):
        k.save(tmp_path / "k", N=8, targets="sm_90a")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LaunchError, match=r"PTX0808.*cannot be written: No such file"):
        k.save(tmp_path / "no" / "k", N=8)
    with pytest.raises(ValueError, match="no zero byte"):
        k.save(f"{tmp_path}/a\0b", N=8)
    assert list(tmp_path.iterdir()) == []


def test_every_name_of_a_file_is_taken(tmp_path: Any) -> None:
    k = sample_kernels.build_vector_add()
    x = np.arange(8, dtype=np.float32)
    for path in (os.fsencode(tmp_path / "bytes"), f"{tmp_path}/\udcff", tmp_path / "path"):
        k.save(path, N=8)
        np.testing.assert_array_equal(pyptx.load(path)(x, x), 2 * x)


@needs_assembler
def test_a_target_that_is_none_is_refused(tmp_path: Any) -> None:
    k = sample_kernels.build_vector_add()
    for name in ("sm_1", "sm_", "90a", ""):
        with pytest.raises(pyptx.AssembleError, match=f"cannot compile for target '{name}'"):
            k.save(tmp_path / "k", N=8, targets=[name])
    assert list(tmp_path.iterdir()) == []


def test_damaged_files_are_refused(tmp_path: Any) -> None:
    path = tmp_path / "k"
    sample_kernels.build_vector_add().save(path, N=8)
    data = path.read_bytes()
    for damaged, message in (
        (data[:-10], "PTX0806.* bytes long after its first line and now is"),
        (data.replace(b"add.f32", b"sub.f32"), "PTX0806.*checksum"),
        (data.replace(b"pyptx-kernel 1", b"pyptx-kernel 9"), "PTX0807.*has format 9"),
        (b"\x7fELF", "PTX0806.*does not start with"),
        (b"", "PTX0806"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(LaunchError, match=message):
            pyptx.load(path)
    path.unlink()
    with pytest.raises(LaunchError, match=r"PTX0808.*cannot be read"):
        pyptx.load(path)


def test_binaries_are_saved_for_the_targets_asked_for(tmp_path: Any) -> None:
    from pyptx import _core, _toolchain

    missing = _toolchain.missing_assembler()
    if missing is not None:
        pytest.skip(missing)
    k = sample_kernels.build_vector_add(arch="sm_80")
    k.save(tmp_path / "k", N=8, targets=("sm_80", "sm_90"))
    saved = _core.load_kernel(os.fsencode(tmp_path / "k"))
    assert saved.targets == ["sm_80", "sm_90"]
    assert saved.to_bytes().count(b"\x7fELF") == 2
