# SPDX-License-Identifier: Apache-2.0
"""Raw parameters given by keyword are arguments of the launch: no value makes a new image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import Tile, _core, kernel, ptx, reg
from pyptx._errors import LaunchError
from pyptx.types import f32, u32
from support.packages import need
from support.scale_kernel import X, expected, make_scale


def images(k: Any) -> list[Any]:
    return [image for traced in k.specializer._traces.values() for image in traced.images.values()]


def test_values_change_and_the_image_does_not() -> None:
    k = make_scale()
    for alpha in (0.5, -3.0, np.float32(7), 2):
        for count in (3, np.int64(40)):
            np.testing.assert_array_equal(k(X, alpha=alpha, count=count), expected(X, alpha, count))
    [image] = images(k)
    assert image.plan.argument_count == 2
    assert " a:0,4,0 v:0,4,40 a:0,4,0" in image.plan.text  # N is known from the shape


def test_dimensions_and_template_values_stay_constants() -> None:
    k = make_scale()
    signature = k.signature
    assert signature.runtime_scalars({"alpha": 1, "count": 1, "N": 4}) == (
        ("f32", "alpha"),
        ("u32", "count"),
    )
    assert signature.runtime_scalars({"count": 1}) == (("u32", "count"),)
    assert signature.runtime_scalars({}) == ()

    @kernel(in_specs=(Tile("N", f32),), out_specs=(), raw_params=[("u32", "depth")])
    def of_template(X, *, depth=3):
        ptx.ret()

    assert of_template.signature.runtime_scalars({"depth": 5}) == ()
    of_template(X, depth=5)
    assert [image.plan.argument_count for image in images(of_template)] == [0]


def test_a_grid_may_ask_for_a_scalar() -> None:
    k = make_scale(grid=lambda count: (count, 1, 1))
    for count in (1, 2, 1):
        np.testing.assert_array_equal(k(X, alpha=2.0, count=count), expected(X, 2.0, count))
    assert [image.plan.grid for image in images(k)] == [(1, 1, 1)]  # the entry asks the grid
    k._entry.clear()
    np.testing.assert_array_equal(k(X, alpha=2.0, count=2), expected(X, 2.0, 2))
    assert sorted(image.plan.grid for image in images(k)) == [(1, 1, 1), (2, 1, 1)]


def test_every_way_of_running_brings_the_values() -> None:
    torch = need("torch")
    k = make_scale()
    tensor = torch.from_numpy(X.copy())
    for alpha in (0.25, 4.0):
        wanted = expected(X, alpha, 30)
        np.testing.assert_array_equal(k.emulate(X, alpha=alpha, count=30), wanted)
        np.testing.assert_array_equal(k(tensor, alpha=alpha, count=30), wanted)
        np.testing.assert_array_equal(k.emulate(tensor, alpha=alpha, count=30), wanted)
        out = np.zeros_like(X)
        k.launch(X, out, alpha=alpha, count=30)
        np.testing.assert_array_equal(out, wanted)
    assert len(images(k)) == 1


def test_what_a_type_cannot_hold_is_refused_by_name() -> None:
    k = make_scale()
    with pytest.raises(LaunchError, match=r"raw parameter 'count' \(.u32\) cannot hold -1"):
        k(X, alpha=1.0, count=-1)
    with pytest.raises(LaunchError, match=r"raw parameter 'alpha' \(.f32\) cannot hold 1e\+39"):
        k(X, alpha=1e39, count=1)
    with pytest.raises(TypeError, match="needs a value for the raw parameter 'count'"):
        k(X, alpha=1.0)


def test_an_image_is_not_run_with_another_number_of_scalars() -> None:
    k = make_scale()
    y = k(X, alpha=1.0, count=1)
    [image] = images(k)
    memory = [X.ctypes.data, y.ctypes.data], [X.nbytes, y.nbytes]
    with pytest.raises(LaunchError, match="'scale' takes 2 scalars at run time, got 0"):
        _core.emulate(image, *memory)
    one, forty = _core.scalar_bits("f32", 1.0), _core.scalar_bits("u32", 40)
    _core.emulate(image, *memory, scalars=[one, forty], grid=(1, 1, 1))
    np.testing.assert_array_equal(y, X)
    with pytest.raises(LaunchError, match="the grid must be between"):
        _core.emulate(image, *memory, scalars=[one, forty], grid=(0, 1, 1))


def test_bits_of_numbers() -> None:
    assert _core.SCALAR_TYPES[:4] == ("b8", "b16", "b32", "b64")
    assert _core.scalar_bits("f16", 65520.0) is None
    assert _core.scalar_bits("bf16", 1.0) == 0x3F80
    assert _core.scalar_bits("s8", -128) == 0x80
    assert _core.scalar_bits("u64", 2**64 - 1) == 2**64 - 1
    for number in (2**64, -(2**63) - 1, 10**40, 1.0):
        assert _core.scalar_bits("s64", number) is None
    with pytest.raises(ValueError, match="no parameter has the type f8"):
        _core.scalar_bits("f8", 1.0)
    with pytest.raises(TypeError, match="a scalar is a float or an int"):
        _core.scalar_bits("f32", "1")


# --- settled launches ---------------------------------------------------------------------------


def test_a_bound_kernel_takes_other_values() -> None:
    k = make_scale()
    bound = k.bind(X, alpha=2.0, count=5)
    np.testing.assert_array_equal(bound(X), expected(X, 2.0, 5))
    np.testing.assert_array_equal(bound(X, alpha=3.0), expected(X, 3.0, 5))
    out = np.zeros_like(X)
    assert bound(X, count=40, out=out, alpha=-1) is out
    np.testing.assert_array_equal(out, -X)
    np.testing.assert_array_equal(bound(X), expected(X, 2.0, 5))  # its own again
    assert [(s.name, s.dtype) for s in bound.scalars] == [("alpha", "f32"), ("count", "u32")]
    assert repr(bound) == "<BoundKernel scale(X: f32[40], alpha: f32, count: u32) on cpu>"
    assert len(images(k)) == 1
    with pytest.raises(LaunchError, match=r"raw parameter 'count' \(.u32\) cannot hold 2.5"):
        bound(X, count=2.5)
    with pytest.raises(TypeError, match=r"takes no keyword 'beta'.* only out=, alpha=, count= may"):
        bound(X, beta=1.0)


def test_a_bound_kernel_takes_other_values_with_torch() -> None:
    torch = need("torch")
    x = torch.from_numpy(X.copy())
    bound = make_scale().bind(x, alpha=2.0, count=5)
    for alpha in (2.0, 0.5, 0.25):
        np.testing.assert_array_equal(bound(x, alpha=alpha), expected(X, alpha, 5))
        np.testing.assert_array_equal(bound.__call__(x, alpha=alpha), expected(X, alpha, 5))
    np.testing.assert_array_equal(bound(x), expected(X, 2.0, 5))


def test_what_the_grid_depends_on_is_settled() -> None:
    k = make_scale(grid=lambda count: (count, 1, 1))
    bound = k.bind(X, alpha=2.0, count=2)
    np.testing.assert_array_equal(bound(X, alpha=5.0), expected(X, 5.0, 2))
    assert [scalar.name for scalar in bound.scalars] == ["alpha"]
    with pytest.raises(TypeError, match=r"takes no keyword 'count'.*what the grid depends on"):
        bound(X, count=3)


def test_a_saved_kernel_keeps_its_values_as_defaults(tmp_path) -> None:
    k = make_scale()
    path = tmp_path / "scale.pyptx"
    k.save(path, N=40, alpha=2.0, count=5)
    assert path.read_bytes().startswith(b"pyptx-kernel 2 ")
    assert b"\nscalar f32 1073741824 alpha\nscalar u32 5 count\n" in path.read_bytes()
    loaded = pyptx.load(path)
    np.testing.assert_array_equal(loaded(X), expected(X, 2.0, 5))
    np.testing.assert_array_equal(loaded(X, alpha=3.0, count=7), expected(X, 3.0, 7))
    loaded.save(path)
    np.testing.assert_array_equal(pyptx.load(path)(X, count=9), expected(X, 2.0, 9))


def test_a_kernel_without_scalars_is_saved_in_the_first_format(tmp_path) -> None:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), raw_params=[("u32", "N")])
    def copy(X, Y):
        ptx.ret()

    copy.save(tmp_path / "k", N=4)
    assert (tmp_path / "k").read_bytes().startswith(b"pyptx-kernel 1 ")


# --- JAX ----------------------------------------------------------------------------------------


def test_a_number_is_a_constant_of_a_jax_program() -> None:
    jax = need("jax")
    k = make_scale()
    x = jax.numpy.asarray(X)
    for alpha in (2.0, np.float32(0.5), jax.numpy.float32(3)):
        got = jax.jit(lambda x, alpha=alpha: k(x, alpha=alpha, count=5))(x)
        np.testing.assert_array_equal(got, expected(X, float(alpha), 5))


@pytest.mark.parametrize("of", ["jax", "numpy"])
@pytest.mark.parametrize("name", ["alpha", "count"])
def test_a_traced_number_says_what_to_declare(of: str, name: str) -> None:
    jax = need("jax")
    k = make_scale()
    x = X if of == "numpy" else jax.numpy.asarray(X)
    values = {"alpha": 2.0, "count": 3}
    kind = "f32" if name == "alpha" else "u32"
    with pytest.raises(LaunchError, match=rf"'{name}' \(.{kind}\) is traced.*Tile\({kind}\)"):
        jax.jit(lambda v: k(x, **{**values, name: v}))(values[name])


def make_scale_by_array() -> Any:
    @kernel(
        arch="sm_90a",
        in_specs=(Tile("N", f32), Tile(f32)),
        out_specs=(Tile("N", f32), Tile(f32)),
        block=(64, 1, 1),
    )
    def scale_by_array(X, Alpha, Y, Twice):
        px, pa, py, pt = ptx.global_ptrs(X, Alpha, Y, Twice)
        tid = reg.from_(ptx.special.tid.x(), u32)
        value, alpha = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(alpha, ptx.addr(pa))
        with ptx.if_(tid < X.shape[0]):
            ptx.inst.ld.global_.f32(value, ptx.addr(px + tid * 4))
            ptx.inst.mul.f32(value, value, alpha)
            ptx.inst.st.global_.f32(ptx.addr(py + tid * 4), value)
        with ptx.if_(tid == 0):
            ptx.inst.add.f32(alpha, alpha, alpha)
            ptx.inst.st.global_.f32(ptx.addr(pt), alpha)
        ptx.ret()

    return scale_by_array


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax", "jax.jit"])
def test_a_tile_of_rank_0_is_a_scalar_in_memory(framework: str) -> None:
    k = make_scale_by_array()
    module = need(framework.partition(".")[0])
    call = module.jit(k) if framework == "jax.jit" else k
    make = {"numpy": np.asarray, "torch": getattr(module, "tensor", None)}.get(framework)
    if make is None:
        make = module.numpy.asarray
    for alpha in (2.0, 0.5):
        y, twice = call(make(X), make(np.float32(alpha)))
        np.testing.assert_array_equal(y, X * np.float32(alpha))
        assert twice.shape == ()
        assert float(twice) == 2 * alpha
