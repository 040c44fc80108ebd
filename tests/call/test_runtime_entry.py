# SPDX-License-Identifier: Apache-2.0
"""The C entry with torch tensors on the CPU: what it takes by itself, and what it hands on."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from support.packages import need

torch = need("torch")

from pyptx import _core  # noqa: E402
from pyptx._errors import EmulatorError, OutputWarning  # noqa: E402
from support.add_image import ADD, add_image, add_plan  # noqa: E402

N = 96


class Recorder:
    """A slow path that remembers its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        self.calls.append((args, kwargs))
        return "slow"


@pytest.fixture(params=["direct", "exchange"])
def entry(request: pytest.FixtureRequest) -> Iterator[_core.Entry]:
    """ADD on 96 elements, under both ways of reading tensors and making outputs."""
    why = _core.torch_indirect(request.param == "direct")
    assert (why == "") == (request.param == "direct"), why
    made = _core.Entry(Recorder())
    made.add([("f32", (N,)), (torch.float32, (N,))], [("f32", (N,))], "cpu", add_image(N))
    yield made
    _core.torch_indirect(True)


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(N, dtype=torch.float32)


def assert_hit(entry: _core.Entry, x: torch.Tensor, y: torch.Tensor, **kwargs: Any) -> Any:
    hits, misses = entry.hits, entry.misses
    result = entry(x, y, **kwargs)
    assert (entry.hits, entry.misses) == (hits + 1, misses)
    assert torch.equal(result, x + y)
    return result


def assert_miss(entry: _core.Entry, *args: Any, **kwargs: Any) -> None:
    misses = entry.misses
    assert entry(*args, **kwargs) == "slow"
    assert entry.misses == misses + 1
    seen_args, seen_kwargs = entry.slow_path.calls[-1]
    assert len(seen_args) == len(args)
    assert all(a is b for a, b in zip(seen_args, args, strict=True))
    assert seen_kwargs.keys() == kwargs.keys()


def test_outputs_are_ordinary_tensors(entry: _core.Entry, x: torch.Tensor) -> None:
    result = assert_hit(entry, x, x * 2)
    assert type(result) is torch.Tensor
    assert result.device == x.device
    assert result.is_contiguous()
    assert not result.requires_grad
    assert result.data_ptr() != x.data_ptr()
    assert_hit(entry, result, x)


def test_out_is_written_and_returned(entry: _core.Entry, x: torch.Tensor) -> None:
    out = torch.zeros(N)
    assert assert_hit(entry, x, x, out=out) is out
    assert assert_hit(entry, x, x, out=(out,)) is out
    assert assert_hit(entry, x, x, out=None) is not out


def test_a_view_with_an_offset_is_read_where_it_is(entry: _core.Entry) -> None:
    base = torch.arange(2 * N, dtype=torch.float32)
    assert_hit(entry, base[1 : N + 1], base[N:])


def test_what_does_not_match_is_handed_on(entry: _core.Entry, x: torch.Tensor) -> None:
    assert_miss(entry)
    assert_miss(entry, x)
    assert_miss(entry, x, x, x)
    assert_miss(entry, x, 3)
    assert_miss(entry, x, x.numpy())
    assert_miss(entry, x, x.double())
    assert_miss(entry, x, x.int())
    assert_miss(entry, x, x[:-1])
    assert_miss(entry, x, x.reshape(2, N // 2))
    assert_miss(entry, x, torch.zeros(2 * N)[::2])
    assert_miss(entry, x, torch.zeros(1).expand(N))
    assert_miss(entry, x, torch.empty(N, device="meta"))
    assert_miss(entry, x, x.to_sparse())
    assert_miss(entry, x, torch._neg_view(x))
    assert_miss(entry, x, x, scale=2)
    assert_miss(entry, x, x, out=torch.zeros(N + 1))
    assert_miss(entry, x, x, out=torch.zeros(N).int())
    assert_miss(entry, x, x, out=(torch.zeros(N), torch.zeros(N)))
    assert_miss(entry, x, x, out=torch.zeros(N, requires_grad=True))
    assert entry.hits == 0


def test_memory_that_is_not_there_is_handed_on(entry: _core.Entry, x: torch.Tensor) -> None:
    for tensor in (torch.ones(N), torch.ones(N + 8)[8:]):
        assert_hit(entry, x, tensor)
        size = tensor.untyped_storage().nbytes()
        tensor.untyped_storage().resize_(size - 4)
        assert_miss(entry, x, tensor)
        assert_miss(entry, x, x, out=tensor)
        tensor.untyped_storage().resize_(size)
        assert_hit(entry, x, x, out=tensor)


def test_subclasses_are_handed_on(entry: _core.Entry, x: torch.Tensor) -> None:
    class Mine(torch.Tensor):
        pass

    assert_miss(entry, x, x.as_subclass(Mine))


def test_autograd_is_not_bypassed(entry: _core.Entry, x: torch.Tensor) -> None:
    leaf = x.clone().requires_grad_()
    parameter = torch.nn.Parameter(x.clone())
    assert_miss(entry, leaf, x)
    assert_miss(entry, parameter, x)
    with torch.no_grad():
        assert type(assert_hit(entry, parameter, x)) is torch.Tensor
        assert not assert_hit(entry, leaf, x).requires_grad
    with torch.inference_mode():
        assert_hit(entry, x, x)


def test_modes_and_transforms_are_not_bypassed(entry: _core.Entry, x: torch.Tensor) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.autograd import forward_ad
    from torch.overrides import TorchFunctionMode

    class Watching(TorchFunctionMode):
        pass

    with FakeTensorMode():
        assert_miss(entry, torch.empty(N), torch.empty(N))
        assert_miss(entry, x, x)
    with Watching():
        assert_miss(entry, x, x)
    with forward_ad.dual_level():
        assert_miss(entry, forward_ad.make_dual(x, x), x)

    def body(a: torch.Tensor) -> torch.Tensor:
        assert_miss(entry, a, x)
        return a.sum()

    torch.func.vmap(body)(torch.zeros(3, N))
    torch.func.grad(body)(x)
    torch.func.jvp(body, (x,), (x,))
    assert_hit(entry, x, x)


def test_several_specialisations_live_side_by_side(x: torch.Tensor) -> None:
    entry = _core.Entry(Recorder())
    for n in (32, 64, N):
        entry.add([("f32", (n,))] * 2, [("f32", (n,))], "cpu", add_image(n))
    assert len(entry) == 3
    for n in (64, 32, N, 64):
        assert_hit(entry, x[:n].clone(), x[:n].clone())
    entry.add([("f32", (32,))] * 2, [("f32", (32,))], "cpu", add_image(32))
    assert len(entry) == 3, "the same tensors replace"
    entry.clear()
    assert_miss(entry, x, x)


def test_what_was_added_for_given_outputs_makes_none(x: torch.Tensor) -> None:
    entry = _core.Entry(Recorder())
    for n in (N, N + 1):
        entry.add([("f32", (N,))] * 2, [("f32", (n,))], "cpu", add_image(N), makes_outputs=False)
    assert len(entry) == 2, "other outputs, another specialisation"
    assert_miss(entry, x, x)
    assert_hit(entry, x, x, out=torch.zeros(N))
    assert entry(x, x, out=torch.zeros(N + 1)).shape == (N + 1,)
    assert_miss(entry, x, x, out=torch.zeros(N + 2))
    assert_miss(entry, x, x, out=(torch.zeros(N), torch.zeros(N)))


def test_several_outputs_come_as_a_tuple(x: torch.Tensor) -> None:
    entry = _core.Entry(Recorder())
    entry.add([("f32", (N,))], [("f32", (N,)), ("f32", (N,))], "cpu", add_image(N))
    second = torch.ones(N)
    first, result = entry(x, out=(second, torch.zeros(N)))
    assert first is second
    assert torch.equal(result, x + 1)
    with pytest.raises(EmulatorError, match="stores a value that nobody wrote"):
        entry(x)  # it reads the first of them
    text = ADD[: ADD.index("{")] + "{ ret; }"
    image = _core.KernelImage(text, "sm_90a", add_plan(N))
    entry.add([("f32", (N,))], [("f32", (N,)), ("f32", (N,))], "cpu", image)
    with pytest.warns(OutputWarning, match="96 of 96 elements of [bc]"):
        made = entry(x)
    assert isinstance(made, tuple)
    assert len(made) == 2


def test_errors_of_the_emulator_are_raised(x: torch.Tensor) -> None:
    entry = _core.Entry(Recorder())
    entry.add([("f32", (N,))] * 2, [("f32", (N,))], "cpu", add_image(N + 1))
    with pytest.raises(EmulatorError):
        entry(x, x)
    assert not entry.slow_path.calls


def test_add_checks_what_it_is_given() -> None:
    entry = _core.Entry(Recorder())
    rows = [("f32", (N,))]
    with pytest.raises(TypeError, match="f99"):
        entry.add([("f99", (N,))] * 2, rows, "cpu", add_image(N))
    with pytest.raises(ValueError, match="device_type"):
        entry.add(rows * 2, rows, "gpu", add_image(N))
    with pytest.raises(ValueError, match="tensors"):
        entry.add(rows, rows, "cpu", add_image(N))
    with pytest.raises(TypeError):
        entry.add(rows * 2, rows, "cpu", "not an image")
    assert len(entry) == 0


def test_the_slow_path_may_raise_and_be_replaced(x: torch.Tensor) -> None:
    def failing(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        raise KeyError("mine")

    entry = _core.Entry(failing)
    with pytest.raises(KeyError, match="mine"):
        entry(x)
    entry.slow_path = lambda args, kwargs: len(args)
    assert entry(x, x) == 2
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del entry.slow_path
    assert entry(x, x) == 2


def test_entries_in_cycles_are_collected() -> None:
    class Owner:
        def __init__(self) -> None:
            self.entry = _core.Entry(self.slow)

        def slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            pass

    owner = Owner()
    gone = weakref.ref(owner.entry)
    del owner
    gc.collect()
    assert gone() is None


def test_threads_may_call_one_entry(entry: _core.Entry, x: torch.Tensor) -> None:
    results: list[torch.Tensor] = []

    def work(k: int) -> None:
        for _ in range(20):
            results.append(entry(x, x * k) - x * (k + 1))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    assert all(not r.any() for r in results)


def test_guards_are_asked_before_each_call(entry: _core.Entry, x: torch.Tensor) -> None:
    names = {"a": 1}
    stale = Recorder()
    entry.watch(_core.Guards([("item", names, "a", names["a"])]), stale)
    assert_hit(entry, x, x)
    names["a"] = 2
    hits, misses = entry.hits, entry.misses
    assert entry(x, x, out=None) == "slow"
    assert (entry.hits, entry.misses) == (hits, misses)
    assert [(len(args), kwargs) for args, kwargs in stale.calls] == [(2, {"out": None})]
    assert torch.equal(entry.run(x, x), x + x)  # not asked
    entry.watch(_core.Guards([("item", names, "a", 2)]), stale)
    assert_hit(entry, x, x)
    assert len(stale.calls) == 1


def test_memory_of_a_functional_tensor_is_not_read(entry: _core.Entry, x: torch.Tensor) -> None:
    wrapped = torch._to_functional_tensor(x)
    assert_miss(entry, wrapped, x)


def test_written_tensors_have_a_new_version(entry: _core.Entry, x: torch.Tensor) -> None:
    out = torch.zeros(N)
    version = out._version
    assert_hit(entry, x, x, out=out)
    assert out._version == version + 1
    inputs = x._version
    assert_hit(entry, x, x)
    assert x._version == inputs


def test_the_table_is_bounded(entry: _core.Entry, x: torch.Tensor) -> None:
    for n in range(1, 300):
        entry.add([("f32", (n,)), ("f32", (n,))], [("f32", (n,))], "cpu", add_image(n))
    assert len(entry) == 256
    assert_hit(entry, torch.ones(299), torch.ones(299))
    assert_miss(entry, torch.ones(1), torch.ones(1))


SHORT_OF_MEMORY = """
import resource
import sys

sys.path[:0] = {path!r}
import torch

from pyptx import Tile, kernel
from pyptx.types import f32
from support import sample_kernels


@kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), grid=(4000, 1, 1),
        block=(32, 1, 1), smem=200_000)
def copied(X, Y):
    sample_kernels.scaled_copy(X, Y, 1.0)


x, z = torch.ones(32), torch.zeros(32)
call = copied.bind(x)
torch.set_num_threads(1)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (3 << 20), resource.RLIM_INFINITY))
call(x, out=z)  # there is no room for another thread's stack
assert torch.equal(x, z)
hoard = []
try:
    while True:
        hoard.append(bytearray(1 << 16))
except MemoryError:
    pass
try:
    call(x, out=z)  # nor for a block's shared memory
except MemoryError:
    print("no memory after", call._entry.hits, "hits")
"""


def test_a_call_that_there_is_no_memory_for() -> None:
    code = SHORT_OF_MEMORY.format(path=sys.path)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "no memory after 2 hits\n", done.stderr


def test_strides_are_compared(x: torch.Tensor) -> None:
    entry = _core.Entry(Recorder())
    turned = ("f32", (4, 24), (1, 4))  # as the transposed view of a (24, 4) tensor lies
    entry.add([turned, turned], [("f32", (4, 24))], "cpu", add_image(N))
    a, b = x.reshape(24, 4).T, (2 * x).reshape(24, 4).T
    result = entry(a, b)
    assert result.is_contiguous()
    assert torch.equal(result.reshape(-1), 3 * x)  # the kernel sees memory
    assert_miss(entry, a.contiguous(), b)
    assert_miss(entry, x.reshape(4, 24), b)
    # The strides of dimensions of one element are free.
    flat = ("f32", (1, N), (1, 1))
    entry.add([flat, flat], [("f32", (1, N))], "cpu", add_image(N))
    assert torch.equal(entry(x[None], x.as_strided((1, N), (7, 1))), 2 * x[None])


def test_alignment_is_compared(x: torch.Tensor) -> None:
    entry = _core.Entry(Recorder())
    row = ("f32", (N,), False)
    entry.add([(*row, 16), row], [("f32", (N,))], "cpu", add_image(N))
    memory = torch.zeros(N + 8)
    memory = memory[-memory.data_ptr() // 4 % 4 :]  # from a multiple of 16 on
    for first in range(5):
        part = memory[first : first + N]
        if first % 4:
            assert_miss(entry, part, x)
        else:
            assert_hit(entry, part, x)
        assert_hit(entry, x, part)


def test_an_argument_that_is_left_out(x: torch.Tensor) -> None:
    entry = _core.Entry(Recorder())
    row = ("f32", (N,))
    entry.add([row, None, row], [row], "cpu", add_image(N))
    assert torch.equal(entry(x, None, x), 2 * x)
    assert_miss(entry, x, x)
    assert_miss(entry, None, x, x)
    assert_miss(entry, x, x, None)
    assert_miss(entry, x, x, x)
    assert_miss(entry, None, None, None)
    entry.add([row, row], [row], "cpu", add_image(N))
    assert_hit(entry, x, x)
    assert torch.equal(entry(x, None, x), 2 * x)
    assert len(entry) == 2


def test_what_autograd_records_has_a_way_of_its_own(x: torch.Tensor) -> None:
    entry = _core.Entry(Recorder())
    row, seen = ("f32", (N,)), []

    def recorded(*args: Any) -> str:
        seen.append(args)
        return "recorded"

    entry.add([row, row], [row], "cpu", add_image(N), keywords={"a": 1}, recorded=recorded)
    leaf = x.clone().requires_grad_()
    assert entry(leaf, x, a=1) == "recorded"
    assert seen[0][0] is leaf
    assert_hit(entry, x, x, a=1)
    with torch.no_grad():
        assert_hit(entry, leaf, x, a=1)
    for args, keywords in (
        ((leaf[1:], x), {"a": 1}),  # other tensors and keywords are none of its business
        ((leaf, x), {"a": 2}),
        ((leaf, x), {}),
        ((leaf, x), {"a": 1, "out": x}),
    ):
        assert_miss(entry, *args, **keywords)
    with torch.autograd.forward_ad.dual_level():
        assert_miss(entry, leaf, x, a=1)
    assert len(seen) == 1

    def failing(*args: Any) -> None:
        raise KeyError("recorded")

    entry.add([row, row], [row], "cpu", add_image(N), recorded=failing)
    with pytest.raises(KeyError, match="recorded"):
        entry(leaf, x)


def test_an_entry_and_what_records_its_calls_are_collected() -> None:
    class Owner:
        def record(self, *args: Any) -> None: ...

    owner = Owner()
    gone = weakref.ref(owner)
    owner.entry = _core.Entry(Recorder())
    row = ("f32", (N,))
    owner.entry.add([row, row], [row], "cpu", add_image(N), recorded=owner.record)
    del owner
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("f32", (N,), (1, 1)), "as many strides as dimensions"),
        (("f32", (N,), False, 12), "no power of two"),
        (("f32", (N,), False, 0), "no power of two"),
        (("f32", (N,), False, 16, 1), r"is described by \(dtype, shape"),
    ],
)
def test_rows_of_add_are_checked(row: Any, message: str) -> None:
    entry = _core.Entry(Recorder())
    with pytest.raises((TypeError, ValueError), match=message):
        entry.add([row, ("f32", (N,))], [("f32", (N,))], "cpu", add_image(N))
    with pytest.raises(TypeError):
        entry.add([("f32", (N,))] * 2, [None], "cpu", add_image(N))
