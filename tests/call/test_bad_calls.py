# SPDX-License-Identifier: Apache-2.0
"""Calls that must be refused: a clear message, the right class, nothing launched.

One table, `CASES` (bad_calls_table.py). Each is made as the first call of a kernel, again when the
C entry knows a good call of it, and some in a compiled graph. Calls by handle and of the C symbol
follow.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyptx import _core, torch_support
from pyptx._errors import LaunchError
from support import sample_kernels
from support.packages import need

torch = need("torch")

from pyptx._torch.problems import kind_problem, memory_problem  # noqa: E402
from support.bad_calls import (  # noqa: E402
    Bad,
    declared,
    freed,
    two_outputs,
    with_raw,
)
from support.bad_calls_table import CASES  # noqa: E402
from support.handles import vector_add_handle  # noqa: E402

ones = torch.ones


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, fail the test if a launch is attempted from Python."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        pytest.fail("something was launched")

    def start() -> None:
        monkeypatch.setattr(_core, "launch", refuse)
        monkeypatch.setattr(_core, "emulate", refuse)

    return start


def test_there_are_enough_and_no_two_are_the_same() -> None:
    assert len(CASES) >= 80
    assert len({case.name for case in CASES}) == len(CASES)
    assert sum(case.compiles for case in CASES) >= 12


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_first_call(case: Bad, nothing_runs: Any) -> None:
    nothing_runs()
    k = case.build()
    for _ in range(2):  # a refused call teaches the entry nothing
        with pytest.raises(case.error, match=case.message) as caught:
            case.call(k)
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert f"kernel {k.signature.name!r}" in told
    assert k._live.entry.hits == 0


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.good is not None], ids=lambda case: case.name
)
def test_after_a_good_call(case: Bad, nothing_runs: Any) -> None:
    k = case.build()
    assert case.good is not None
    k(*case.good())
    nothing_runs()
    with pytest.raises(case.error, match=case.message):
        case.call(k)
    assert k._live.entry.hits == 0


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c.build is sample_kernels.build_vector_add and c.good is not None],
    ids=lambda case: case.name,
)
def test_of_a_bound_kernel(case: Bad, nothing_runs: Any) -> None:
    bound = case.build().bind(ones(8), ones(8))
    bound(ones(8), ones(8))
    nothing_runs()
    with pytest.raises((LaunchError, TypeError), match="kernel 'vector_add'"):
        case.call(bound)


def test_in_a_compiled_graph(nothing_runs: Any) -> None:
    nothing_runs()
    for case in CASES:
        if not case.compiles:
            continue
        k = case.build()
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda *args, k=k, **keywords: k(*args, **keywords), fullgraph=True, backend="eager"
        )
        with pytest.raises(Exception, match=case.message):
            case.call(compiled)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_a_device(case: Bad, nothing_runs: Any) -> None:
    """The same with tensors of a GPU, first and after a good call."""
    storages: dict[Any, Any] = {}  # moved once each, so that what shares memory still does

    def moved(values: Any) -> Any:
        if isinstance(values, tuple):
            return tuple(map(moved, values))
        if isinstance(values, dict):
            return {key: moved(value) for key, value in values.items()}
        if not isinstance(values, torch.Tensor):
            return values
        is_plain = values.device.type == "cpu" and kind_problem(values) is None
        if not is_plain or values.is_neg() or memory_problem(values) is not None:
            pytest.skip("a tensor that cannot be moved as it is")
        storage = values.untyped_storage()
        count = storage.nbytes() // values.itemsize
        key = (storage.data_ptr(), values.dtype)
        if key not in storages:  # kept with the tensor, whose address stays its own that way
            whole = values.detach().as_strided((count,), (1,), 0).cuda()
            storages[key] = (values, whole)
        there = storages[key][1].as_strided(values.shape, values.stride(), values.storage_offset())
        return there.requires_grad_(values.requires_grad)

    there = Bad(case.name, lambda: moved(case.make()), case.message, case.error)
    k = case.build()
    if case.good is not None:
        k(*moved(case.good()))
    nothing_runs()
    with pytest.raises(case.error, match=case.message.replace("on cpu", "on cuda:0")):
        there.call(k)
    assert k._live.entry.hits == 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_two_devices(nothing_runs: Any) -> None:
    k = sample_kernels.build_vector_add()
    there, here = ones(8, device="cuda"), ones(8)
    k(there, there)
    nothing_runs()
    for args, options, message in (
        ((there, here), {}, "'Y' is on cpu, but argument 'X' is on cuda:0; move one of them"),
        ((here, there), {}, "'Y' is on cuda:0, but argument 'X' is on cpu; move one of them"),
        ((there, there), {"out": here}, "'Z' is on cpu, the inputs are on cuda:0; make it there"),
    ):
        with pytest.raises(LaunchError, match=message):
            k(*args, **options)
    with pytest.raises(LaunchError, match="the emulator runs CPU tensors, got one on cuda:0"):
        k.emulate(there, there)


# --- declarations, other frameworks, handles ----------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"block": (2000, 1, 1)}, ValueError, r"has 2000 threads; a block has at most 1024"),
        ({"block": (1, 1, 65)}, ValueError, r"is at most \(1024, 1024, 64\)"),
        ({"block": (0, 1, 1)}, ValueError, "has no threads"),
        ({"block": (1.5,)}, TypeError, "block is one to three integers"),
        ({"cluster": (17, 1, 1)}, ValueError, "has 17 CTAs, expected 1 to 16"),
        ({"cluster": (0, 1, 1)}, ValueError, "has 0 CTAs"),
        ({"smem": -1}, ValueError, "smem is a number of bytes, not -1"),
        ({"smem": "x"}, ValueError, "smem is a number of bytes, not 'x'"),
        ({"grid": "x"}, TypeError, "grid is one to three integers"),
        ({"version": "8.7"}, TypeError, "version is a pair of integers"),
        ({"tma": "x"}, ValueError, "tma is 'pointer' or 'value'"),
        ({"raw_params": [("f33", "a")]}, TypeError, "raw parameter 'a' has type 'f33'"),
    ],
    ids=str,
)
def test_declarations(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        declared(**options)


def test_a_kernel_without_arrays() -> None:
    with pytest.raises(LaunchError, match="called without arrays, so there is no device"):
        sample_kernels.build_vector_add()()


def test_an_entry_whose_kernel_is_gone() -> None:
    k = sample_kernels.build_vector_add()
    entry = k._entry
    del k
    gc.collect()
    with pytest.raises(ReferenceError, match="the kernel of this entry is gone"):
        entry(ones(8), ones(8))


def test_numpy(nothing_runs: Any) -> None:
    nothing_runs()
    k = sample_kernels.build_vector_add()
    good = np.ones(8, np.float32)
    with pytest.raises(LaunchError, match="bytes in the other order"):
        k(good, np.ones(8, ">f4"))
    packed = np.zeros(8, dtype=[("a", "f4"), ("b", "i1")])["a"]  # 5 bytes from one to the next
    with pytest.raises(LaunchError, match=r"'Y' has strides \(1\.25,\)"):
        k(good, packed)
    with pytest.raises(LaunchError, match="'Y' has dtype object"):
        k(good, np.ones(8, object))
    frozen = np.ones(8, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(LaunchError, match=r"out\[0\] is read-only"):
        k(good, frozen, out=frozen)


@pytest.mark.parametrize("value", ["x", None, 1e39, 10**400])
def test_raw_parameters_that_cannot_hold_a_value(value: Any, nothing_runs: Any) -> None:
    nothing_runs()
    with pytest.raises(LaunchError, match=r"'alpha' \(\.f32\) cannot hold"):
        with_raw("f32")(np.ones(1, np.float32), alpha=value)


@pytest.mark.parametrize("make", [torch.zeros, np.zeros])
def test_outputs_that_share_memory(make: Any) -> None:
    two = two_outputs()
    dtype = torch.float32 if make is torch.zeros else np.float32
    x, both = make(4, dtype=dtype), make(8, dtype=dtype)
    for _ in range(2):  # the second time the C entry knows the shapes
        two(x, out=(both[:4], both[4:]))
        for pair in ((x, x), (both[:4], both[3:7]), (both[1:5], both[:4])):
            with pytest.raises(LaunchError, match="share memory"):
                two(x, out=pair)


def test_the_emulator_takes_no_device_tensors(nothing_runs: Any) -> None:
    nothing_runs()
    k = sample_kernels.build_vector_add()
    with pytest.raises(LaunchError, match=r"the emulator runs CPU tensors, got one on meta"):
        k.emulate(ones(8, device="meta"), ones(8, device="meta"))


def test_by_handle(nothing_runs: Any) -> None:
    handle, launch = vector_add_handle(8)
    call = torch_support.call_kernel_via_torch
    good = {"cubin_handle": handle, **launch}
    assert torch.equal(call(ones(8), ones(8), **good), 2 * ones(8))
    cases = [
        ((ones(8), ones(8)), {"cubin_handle": 987654}, "no kernel is .* handle 987654"),
        ((ones(8), ones(8)), {"cubin_handle": "x"}, "cubin_handle is 'x', expected the number"),
        ((ones(8), 3), {}, "input 1 is a int, not a torch.Tensor"),
        ((), {}, "needs an input tensor to know its device"),
        ((ones(8), ones(16)[::2]), {}, r"input 1 is not contiguous; call \.contiguous"),
        ((ones(8), ones(8).to_sparse()), {}, "input 1 is a torch.sparse_coo tensor"),
        ((ones(8), freed()), {}, "input 1 needs 32 bytes, but its storage has 0"),
        ((ones(8), ones(8, device="meta")), {}, "input 1 is on meta, input 0 is on cpu"),
        ((ones(8, device="meta"),) * 2, {}, "kernels run on CUDA and CPU tensors, not on meta"),
        ((ones(8), ones(8)), {"out_shape_env": {}}, "out_shape_env has no 'N'"),
        ((ones(8), ones(8)), {"out_specs": [3]}, r"out_specs\[0\] is 3, expected a Tile"),
    ]  # fmt: skip
    nothing_runs()
    for args, changed, message in cases:
        with pytest.raises((LaunchError, TypeError), match=message):
            call(*args, **{**good, **changed})


def test_by_handle_with_the_wrong_number_of_tensors() -> None:
    handle, launch = vector_add_handle(8)
    for count in (1, 3):
        with pytest.raises(LaunchError, match=r"the kernel takes 3 parameters, the plan passes"):
            torch_support.call_kernel_via_torch(*[ones(8)] * count, cubin_handle=handle, **launch)


def test_the_c_symbol() -> None:
    shim = ctypes.CDLL(_core.__file__)
    launch = shim.pyptx_shim_launch_raw
    launch.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    shim.pyptx_shim_last_error.restype = ctypes.c_char_p
    k = sample_kernels.build_vector_add()
    image = k.specializer.image(k._inspect({"N": 8})[0], (1, 1, 1), {})
    pointers = (ctypes.c_void_p * 3)(16, 32, 48)
    for arguments, message in (
        ((-9, None, pointers, 3), b"no kernel is registered under handle -9"),
        ((image.handle, None, pointers, 2), b"'vector_add' takes 3 tensors, got 2"),
        ((image.handle, None, pointers, 4), b"'vector_add' takes 3 tensors, got 4"),
        ((image.handle, None, None, 3), b"the array of pointers must be 3 addresses, got null"),
    ):
        assert launch(*arguments) == 1
        assert message in shim.pyptx_shim_last_error()


def test_launch_without_driver() -> None:
    if _core.driver_status()[0]:
        pytest.skip("this machine has a driver")
    k = sample_kernels.build_scale(2.0)
    traced = k._inspect({})[0]
    image = k.specializer.image(traced, (1, 1, 1), {})
    with pytest.raises(LaunchError, match=r"(?i)driver|libcuda"):
        _core.launch(image, 0, 0, [16, 16])
