# SPDX-License-Identifier: Apache-2.0
"""The runtime bindings on a hand-written kernel: plans, images, the emulator and handles."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

from pyptx import _core
from pyptx._errors import EmulatorError, LaunchError, PtxSyntaxError
from support.add_image import ADD, add_image, add_plan


def run(image: _core.KernelImage, *arrays: np.ndarray, **options: object) -> dict:
    """Run on NumPy arrays."""
    return _core.emulate(
        image, [x.ctypes.data for x in arrays], [x.nbytes for x in arrays], **options
    )


def test_an_image_runs_on_numpy_arrays() -> None:
    a = np.arange(200, dtype=np.float32)
    b = a * 3
    c = np.zeros_like(a)
    report = run(add_image(200), a, b, c)
    np.testing.assert_array_equal(c, a + b)
    assert report["warp_instructions"] > 0
    assert dict(report["rows"])["add.f32"] == 7  # warps with at least one element of 200


def test_an_access_outside_a_tensor_names_it() -> None:
    a = np.zeros(200, np.float32)
    c = np.full(200, -1, np.float32)
    with pytest.raises(EmulatorError) as caught:
        run(add_image(201), a, a, c)
    assert "ld.global.f32" in str(caught.value)
    assert caught.value.diagnostics[0].code.startswith("PTX09")


def test_text_that_is_not_ptx_is_a_syntax_error() -> None:
    image = _core.KernelImage(ADD.replace("ret;", "ret"), "sm_90a", add_plan(8))
    a = np.zeros(8, np.float32)
    with pytest.raises(PtxSyntaxError):
        run(image, a, a, a)


def test_plans_are_text() -> None:
    plan = add_plan(77)
    tile = _core.TensorMap("bf16", [64, 128], [128], [64, 32], "128B")
    plan.add_map_pointer(0, tile)
    plan.add_map_value(2, tile)
    again = _core.LaunchPlan.from_text(plan.text)
    assert again == plan
    assert again.text == plan.text
    assert again.grid == (2, 1, 1)
    assert again != add_plan(77)
    with pytest.raises(LaunchError):
        _core.LaunchPlan.from_text("nonsense")


def test_plans_refuse_what_they_cannot_hold() -> None:
    plan = add_plan(8)
    with pytest.raises(IndexError):
        plan.add_pointer(3)
    with pytest.raises(ValueError, match="1, 2, 4 or 8"):
        plan.add_scalar(1, 3)
    with pytest.raises(ValueError, match="f99"):
        _core.TensorMap("f99", [64], [], [64])
    with pytest.raises(ValueError, match="dims"):
        _core.TensorMap("f32", [64, 64], [], [64, 64])
    with pytest.raises(ValueError, match="swizzle"):
        _core.TensorMap("f32", [64], [], [64], "77B")


def test_equal_images_are_one() -> None:
    image = add_image(64)
    assert add_image(64).hash == image.hash
    assert add_image(64).handle == image.handle
    assert add_image(65).hash != image.hash
    assert _core.image_of(image.handle).hash == image.hash
    assert _core.find_image(image.hash).ptx == ADD
    assert _core.find_image("0" * 64) is None


def test_threads_share_an_image() -> None:
    image = add_image(1000)
    a = np.arange(1000, dtype=np.float32)
    results = [np.zeros_like(a) for _ in range(4)]
    threads = [
        threading.Thread(target=run, args=(image, a, a, c), kwargs={"threads": 1}) for c in results
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for c in results:
        np.testing.assert_array_equal(c, a + a)


def test_handles_are_one_table() -> None:
    handle = _core.new_handle()
    with pytest.raises(LaunchError, match=str(handle)):
        _core.add_scalar_param(handle, 1, 4)
    _core.register_launch_config(handle, 0x1000, (1, 1, 1), (32, 1, 1))
    _core.add_scalar_param(handle, 1, 4)
    with pytest.raises(LaunchError, match="bare CUfunction"):
        _core.image_of(handle)
    _core.drop_handle(handle)
    with pytest.raises(LaunchError, match=str(handle)):
        _core.launch_raw(handle, 0, [])
    with pytest.raises(LaunchError, match="image"):
        _core.register_launch_config(add_image(3).handle, 0x1000, (1, 1, 1), (32, 1, 1))


def test_the_c_symbols_are_exported() -> None:
    shim = ctypes.CDLL(_core.__file__)
    assert shim.PyptxLaunch
    launch = shim.pyptx_shim_launch_raw
    launch.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    shim.pyptx_shim_last_error.restype = ctypes.c_char_p
    assert launch(-9, None, None, 0) == 1
    assert b"handle -9" in shim.pyptx_shim_last_error()


def test_the_driver_explains_itself() -> None:
    available, text = _core.driver_status()
    assert text
    if available:
        assert _core.device_count() > 0
        assert _core.device_target(0).startswith("sm_")
    else:
        assert _core.device_count() == 0
        with pytest.raises(LaunchError):
            _core.launch(add_image(8), 0, 0, [1, 2, 3])
