# SPDX-License-Identifier: Apache-2.0
"""`pyptx.testing`: the cases that a check has, how results are judged, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import Tile, kernel, ptx, reg, testing
from pyptx._testing import runs, settings, values
from pyptx._testing.compare import compare
from pyptx.types import bf16, e4m3, f16, f32, s64, u32
from support.checked_kernels import THREADS, count, double, histogram, turn
from support.packages import need
from support.typed_kernels import build_sum

ml_dtypes = need("ml_dtypes")


def twice(x: Any) -> Any:
    return 2 * x


def build_fill(dtype: Any, N: int, value: float = 1.0) -> Any:
    """A kernel for one size and type, as factories make them: Y = X."""

    @kernel(in_specs=(Tile(N, dtype),), out_specs=(Tile(N, dtype),), block=(N, 1, 1), arch="sm_80")
    def fill(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        offset = reg.from_(ptx.special.tid.x(), u32) * (dtype.bits // 8)
        bits = reg.scalar(dtype)
        getattr(ptx.inst.ld.global_, f"b{dtype.bits}")(bits, ptx.addr(px + offset))
        getattr(ptx.inst.st.global_, f"b{dtype.bits}")(ptx.addr(py + offset), bits)
        ptx.ret()

    return fill


@pytest.fixture(autouse=True)
def emulator_alone() -> Any:
    """Whatever other tests have imported."""
    with testing.settings(frameworks="numpy"):
        yield


# --- cases ------------------------------------------------------------------------------------


def test_every_combination_is_a_case() -> None:
    shapes = {"N": [1, 65], "bug": [None]}
    names = ["normal", "zeros", "infinities"]
    assert testing.check(double, twice, names, shapes=shapes, seeds=[1, 2], schedules=1) == 12
    assert testing.check(double, twice, shapes=[{"N": 3}, {"N": 4}], schedules=1) == 2


def test_types_by_name_and_sizes() -> None:
    given = {"dtypes": {"T": [f32, bf16, f16]}, "shapes": {"M": [1, 3]}, "schedules": 2}
    assert testing.check(build_sum(), lambda x, y: x + y, **given) == 6
    assert testing.check(build_sum(), np.add, **{**given, "dtypes": "bf16"}) == 2


def test_a_builder_is_asked_for_each_kernel() -> None:
    asked = []

    def build(dtype: Any, N: int) -> Any:
        asked.append((dtype.name, N))
        return build_fill(dtype, N)

    given = {"dtypes": [f32, f16], "shapes": {"N": [1, 32]}, "schedules": 1}
    assert testing.check(build, lambda x: x, **given, seeds=[0, 1]) == 8
    assert asked == [("f32", 1), ("f16", 1), ("f32", 32), ("f16", 32)]


def test_a_framework_without_such_elements_is_left_out_unless_it_is_named() -> None:
    need("jax")
    given = {"dtypes": [s64], "shapes": {"N": 8}, "schedules": 1}
    token = settings._CURRENT.set(settings.Settings())  # as where nothing is said
    try:
        assert testing.check(build_fill, lambda x: x, **given) == 1
    finally:
        settings._CURRENT.reset(token)
    with pytest.raises(pyptx.ArgumentTypeError, match="keep 64 bits"):
        testing.check(build_fill, lambda x: x, **given, frameworks="jax")


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
def test_every_framework(framework: str) -> None:
    need(framework)
    given = {"shapes": {"N": [5, 100]}, "frameworks": framework}
    assert testing.check(double, twice, **given) == 2
    with pytest.raises(pyptx.CheckError, match="emulator" if framework == "numpy" else framework):
        testing.check(double, lambda x: 3 * x, **given)


def test_types_that_numpy_lacks_through_frameworks() -> None:
    for framework in ("numpy", "torch", "jax"):
        need(framework)
    given = {"dtypes": {"T": bf16}, "shapes": {"M": 3}, "frameworks": ("numpy", "torch", "jax")}
    assert testing.check(build_sum(), np.add, **given) == 1


def test_inputs_by_tensor_by_function_and_as_they_are() -> None:
    seen = []

    def remember(x: Any, y: Any) -> Any:
        seen.append((x, y))
        return x + y

    def both(rng: Any, M: int) -> Any:
        return rng.standard_normal((M, 8)), np.full((M, 8), M)

    typed, given = build_sum(), {"dtypes": f32, "shapes": {"M": 2}, "schedules": 1}
    maps = {"X": "zeros", "Y": lambda rng, shape: np.arange(16).reshape(shape)}
    arrays = (np.ones((2, 8), np.float32), np.zeros((2, 8), np.float32))
    assert testing.check(typed, remember, [maps, both, arrays], **given) == 3
    assert (seen[0][0] == 0).all()
    assert (seen[0][1].ravel() == np.arange(16)).all()
    assert (seen[1][1] == 2).all()
    assert (seen[2][0] == 1).all()
    assert {array.dtype for pair in seen for array in pair} == {np.dtype(np.float64)}


def test_the_same_seed_is_the_same_numbers() -> None:
    def numbers(seed: int, size: int) -> Any:
        kept = []
        reference = lambda x: kept.append(x) or 2 * x  # noqa: E731
        testing.check(double, reference, shapes={"N": size}, seeds=seed, schedules=1)
        return kept[0]

    assert (numbers(1, 8) == numbers(1, 8)).all()
    assert (numbers(1, 8) != numbers(2, 8)).all()
    assert (numbers(1, 9)[:8] != numbers(1, 8)).all()


def test_a_reference_that_asks_for_sizes_and_masks() -> None:
    def reference(x: Any, *, N: int) -> Any:
        wrong = np.where(np.arange(N) == 2, -1.0, 2 * x)
        return np.ma.masked_array(wrong, np.arange(N) == 2)

    assert testing.check(double, reference, shapes={"N": 10}, schedules=1) == 1
    with pytest.raises(pyptx.CheckError, match=r"\[2\]: expected -1"):
        testing.check(double, lambda x, N: reference(x, N=N).data, shapes={"N": 10}, schedules=1)


def test_settings_hold_for_what_runs_inside() -> None:
    assert runs.schedules_of(4, 3) == [(3, "latest"), (3, "earliest"), (3, "random"), (4, "latest")]
    shown = []
    for options in ({}, {"seed": 5, "schedules": 2}):
        with testing.settings(**options), pytest.raises(pyptx.CheckError) as caught:
            testing.check(double, lambda x: 3 * x, shapes={"N": 2})
        shown.append(str(caught.value))
    assert "seeds=0, schedules=[(0, 'latest')]" in shown[0]
    assert "seeds=5, schedules=[(5, 'latest')]" in shown[1]


def test_emulate_gives_what_every_schedule_gives() -> None:
    x = np.arange(2 * THREADS, dtype=np.float32).reshape(2, THREADS)
    assert (testing.emulate(turn, x, schedules=9) == x[:, ::-1]).all()
    assert (testing.emulate(turn, need("torch").from_numpy(x)).numpy() == x[:, ::-1]).all()
    with pytest.raises(pyptx.EmulatorError, match="PTX0921"):
        testing.emulate(turn, x, bug="barrier")
    with pytest.raises(pyptx.OutputWarning):
        testing.emulate(double, x[0], bug="unwritten")


def test_bytes_that_two_runs_left_are_found() -> None:
    left = [runs._filled(np.zeros((2, 3), np.float32), poison) for poison in runs.POISONS]
    for run in left:
        run[0] = 1.5
        run[1, 2] = np.nan
    left[0][1, 1] = left[1][1, 1]  # written with what happens to be the second poison
    assert runs._poisoned(*left).tolist() == [[False] * 3, [True, False, False]]


@pytest.mark.skipif(not runs.has_gpu(), reason="no CUDA device")
def test_an_output_that_is_left_on_a_gpu() -> None:
    given = {"shapes": {"N": 100, "bug": "unwritten"}, "frameworks": "torch"}
    with pytest.raises(pyptx.CheckError, match=r"has no value in 1 of 100 elements.*\[99\]"):
        testing.check(double, twice, **given)


def test_many_failures_are_listed_and_the_rest_is_not_run() -> None:
    with pytest.raises(pyptx.CheckError) as caught:
        testing.check(double, lambda x: x, shapes={"N": list(range(1, 15))}, schedules=1)
    assert str(caught.value).endswith("and 1 more\nfailing cases: 10 of 10; 4 were not run")


@kernel(
    in_specs=(Tile("N", f32),),
    inout_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N: (N, 1, 1),
    arch="sm_80",
)
def accumulate(X, A, Y, *, bug=False):
    """A += X, Y = the A before."""
    i = ptx.ctaid_x()
    x, a = (ptx.ld(f32, reg.scalar(f32), ptx.at(tensor, i)) for tensor in (X, A))
    ptx.st(f32, ptx.at(Y, i), a)
    ptx.st(f32, ptx.at(A, i), a - x if bug else a + x)


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
def test_in_out_tensors_come_in_front_of_outputs(framework: str) -> None:
    need(framework)
    given = {"frameworks": framework, "schedules": 3}
    reference = lambda x, a: (a + x, a)  # noqa: E731
    assert testing.check(accumulate, reference, shapes={"N": [1, 9]}, **given) == 2
    with pytest.raises(pyptx.CheckError, match="output 'A' is wrong in 9 of 9"):
        testing.check(accumulate, reference, shapes={"N": 9, "bug": True}, **given)


def test_emulate_leaves_in_out_tensors_alone() -> None:
    x, a = np.ones(4, np.float32), np.full(4, 2, np.float32)
    found = testing.emulate(accumulate, x, a, schedules=3)
    assert [array[0] for array in (*found, a)] == [3, 2, 2]


# --- how right a result has to be -------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
def test_rounding_passes_and_a_bit_more_does_not(dtype: Any) -> None:
    expected = np.random.default_rng(1).standard_normal((4, 50))
    assert compare(expected.astype(dtype), expected, None) is None
    off = testing.TOLERANCE[np.dtype(dtype).name]
    assert compare((expected + 4 * off).astype(dtype), expected, None) is not None


def test_a_row_of_small_numbers_is_not_forgiven_for_a_large_one() -> None:
    expected = np.repeat([[1e6], [1.0]], 16, axis=1)
    got = expected.astype(np.float32)
    got[1, 0] += 0.5
    assert compare(got, expected, None).headline == "wrong in 1 of 32 elements"
    got = expected.astype(np.float32)
    got[0, 0] += 0.5  # a rounding of the sum that made it
    assert compare(got, expected, None) is None
    short = np.array([[1e6], [1.0]])  # rows of one element have no mean but that of all
    assert compare((short + 0.5).astype(np.float32), short, None) is None


@pytest.mark.parametrize(
    ("got", "expected", "is_right"),
    [
        (np.inf, 1e300, True),  # no number of the type
        (np.inf, 3.4028e38, True),  # may be rounded over the edge
        (3.4028e38, np.inf, False),
        (3.4028e38, 1e39, False),
        (-np.inf, 1e300, False),
        (np.nan, np.inf, False),
        (np.nan, np.nan, True),
        (0.0, np.nan, False),
        (np.nan, 0.0, False),
        (1e-45, 0.7e-45, True),  # the smallest number there is
        (0.0, -0.0, True),
        (1e-30, 0.0, False),
    ],
)
def test_edges_of_a_type(got: float, expected: float, is_right: bool) -> None:
    with np.errstate(over="ignore"):
        found = compare(np.array([got], np.float32), np.array([expected]), None)
    assert (found is None) == is_right


def test_integers_are_equal_or_wrong() -> None:
    got = np.array([1, 2, 2**63], np.uint64)
    assert compare(got, np.array([1, 2, 2**63], np.uint64), None) is None
    assert compare(got, np.array([1.0, 2.0, 2.0**63]), None) is None
    found = compare(got, np.array([1, 3, 2**63 + 1], np.uint64), None)
    assert found.headline == "wrong in 2 of 3 elements"
    assert found.lines[0] == "[1]: expected 3, got 2"
    assert compare(np.array([44], np.uint8), np.array([300]), None) is not None


def test_a_tolerance_of_ones_own() -> None:
    given = {"shapes": {"N": 8}, "schedules": 1}
    with pytest.raises(pyptx.CheckError, match=r"where 1\.5e-05 is allowed"):
        testing.check(double, lambda x: 2.001 * x, **given)
    assert testing.check(double, lambda x: 2.001 * x, **given, tolerance=1e-2) == 1
    assert testing.check(double, lambda x: 2.001 * x, **given, tolerance={"Y": 1e-2}) == 1


# --- inputs by name ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "e4m3", "e5m2"])
def test_inputs_of_floats(dtype: str) -> None:
    kind = values.numpy_type(dtype)
    random = np.random.default_rng(3)
    made = {name: values.named(name, random, (40, 9), kind) for name in testing.INPUTS}
    assert {array.dtype for array in made.values()} == {kind}
    exact = {name: values.exact(array) for name, array in made.items()}
    largest, normal, _ = values.limits(kind)
    for name in set(made) - {"infinities", "nans"}:
        assert np.isfinite(exact[name]).all(), name
    assert np.isnan(exact["nans"].flat[-1])
    assert 0 < np.isnan(exact["nans"]).sum() < 100
    assert not np.isfinite(exact["infinities"].flat[-1])
    assert (np.abs(exact["subnormal"]) <= normal).all()
    assert np.abs(exact["extreme"]).max() > largest / 2
    assert np.abs(exact["large"]).max() ** 2 < largest
    assert (np.diff(exact["ascending"].ravel()) >= 0).all()
    assert (np.diff(exact["descending"].ravel()) <= 0).all()
    assert (exact["equal"] == exact["equal"].flat[0]).all()
    assert np.signbit(exact["signed zeros"]).any()
    assert not exact["signed zeros"].any()


@pytest.mark.parametrize("dtype", ["u8", "s8", "u32", "s64"])
def test_inputs_of_integers(dtype: str) -> None:
    kind = values.numpy_type(dtype)
    random = np.random.default_rng(3)
    made = {name: values.named(name, random, (300,), kind) for name in testing.INPUTS}
    assert {array.dtype for array in made.values()} == {kind}
    for name in ("normal", "nans", "infinities", "mixed"):
        assert np.abs(made[name].astype(np.int64)).max() <= 200, name
    assert made["extreme"].min() == np.iinfo(kind).min
    assert made["large"].max() == np.iinfo(kind).max
    assert (made["ascending"][1:] >= made["ascending"][:-1]).all()
    assert (made["descending"][1:] <= made["descending"][:-1]).all()
    assert not made["zeros"].any()


def test_sizes_around_a_step() -> None:
    assert testing.ragged(128) == [1, 64, 127, 128, 129, 256, 383]
    assert testing.ragged(1) == [1, 2]
    with pytest.raises(pyptx.ArgumentValueError, match="step"):
        testing.ragged(0)


# --- what is refused --------------------------------------------------------------------------

N8 = {"shapes": {"N": 8}}
REFUSED: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "no size": ("PTX0896", double, twice, {}),
    "no type": ("PTX0896", build_sum(), np.add, {"shapes": {"M": 2}}),
    "types of a kernel that declares them": ("PTX0896", double, twice, {**N8, "dtypes": [f32]}),
    "a tensor that is none": ("PTX0896", double, twice, {**N8, "inputs": {"Z": "zeros"}}),
    "an output that is none": ("PTX0896", double, twice, {**N8, "tolerance": {"Z": 1.0}}),
    "too many inputs": ("PTX0896", double, twice, {**N8, "inputs": lambda: (0, 0)}),
    "no outputs": ("PTX0896", kernel(lambda: None), twice, {}),
    "a reference with another shape": ("PTX0895", double, lambda x: x.sum(), N8),
    "a reference with two results": ("PTX0895", double, lambda x: (x, x), N8),
    "no kernel": ("PTX0867", lambda: 3, twice, {}),
    "inputs of no kind": ("PTX0867", double, twice, {**N8, "inputs": 3}),
    "a name that is none": ("PTX0868", double, twice, {**N8, "inputs": "huge"}),
    "shapes of no kind": ("PTX0867", double, twice, {"shapes": [3]}),
    "no schedule": ("PTX0867", double, twice, {**N8, "schedules": 0}),
    "a schedule that is none": ("PTX0867", double, twice, {**N8, "schedules": [(0, "later")]}),
    "a seed that is none": ("PTX0868", double, twice, {**N8, "seeds": -1}),
    "a framework that is none": ("PTX0868", double, twice, {**N8, "frameworks": "numba"}),
    "a tolerance that is none": ("PTX0868", double, twice, {**N8, "tolerance": 0}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_check_is_refused(name: str) -> None:
    code, given, reference, options = REFUSED[name]
    with pytest.raises(pyptx.LaunchError) as caught:
        testing.check(given, reference, **options)
    assert caught.value.diagnostics[0].code == code, caught.value


def test_what_the_author_gets_wrong_is_his_traceback() -> None:
    def broken(x: Any) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        testing.check(double, broken, **N8)


def test_narrow_types_have_no_infinity() -> None:
    given = {"dtypes": [e4m3], "shapes": {"N": 32}, "schedules": 1}
    assert testing.check(build_fill, lambda x: x, ["normal", "infinities"], **given) == 2


def test_counts_are_exact() -> None:
    bins = lambda rng: rng.integers(0, 8, THREADS)  # noqa: E731
    assert testing.check(count, histogram, bins, seeds=range(3), schedules=20) == 3
