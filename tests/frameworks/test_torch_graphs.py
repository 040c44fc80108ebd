# SPDX-License-Identifier: Apache-2.0
"""Kernels in torch's graphs: the operators that carry them, in compiled and exported programs.

Everything runs on CPU tensors (the emulator), and again on CUDA tensors where there is a GPU.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

import pyptx
from pyptx import Layout, Tile, kernel, ptx, reg
from pyptx._errors import LaunchError
from pyptx.types import bf16, f32, u32
from support import sample_kernels
from support.packages import need
from support.tree import TESTS

torch = need("torch")

from torch._dynamo.backends.common import aot_autograd  # noqa: E402

from pyptx._call import first_call  # noqa: E402
from pyptx._torch import graph, inductor, kernel_operator, operators  # noqa: E402

# By version, not by what was registered: with a newer one, missing operators are a failure.
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 10):
    pytest.skip("torch takes operators like ours from 2.10 on", allow_module_level=True)
assert operators.has_launch

cuda = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
)
devices = pytest.mark.parametrize("device", ["cpu", cuda])
launch = torch.ops.pyptx.launch.default
launch_one = torch.ops.pyptx.launch_one.default
launch_out = torch.ops.pyptx.launch_out.default


@pytest.fixture(autouse=True)
def _fresh_graphs() -> Any:
    torch.manual_seed(0)
    torch._dynamo.reset()


def build_halves() -> Any:
    """Two outputs of another element type than the input's, which is column-major."""

    @kernel(
        in_specs=(Tile(4, 8, f32, Layout.COL),),
        out_specs=(Tile(32, bf16), Tile(32, bf16)),
        block=(32, 1, 1),
    )
    def halves(X, Y, Z):
        px, py, pz = ptx.global_ptrs(X, Y, Z)
        thread = reg.from_(ptx.special.tid.x(), u32)
        value = reg.scalar(f32)
        half = reg.scalar(bf16)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + thread * 4))
        for pointer in (py, pz):
            ptx.inst.cvt.rn.bf16.f32(half, value)
            ptx.inst.st.global_.b16(ptx.addr(pointer + thread * 2), half)
            ptx.inst.neg.f32(value, value)
        ptx.ret()

    return halves


def column_major(device: str) -> Any:
    return torch.randn(8, 4, device=device).t()


def text_of(k: Any, *inputs: Any, outs: Any = None, **keywords: Any) -> str:
    """What an exported graph would carry."""
    text = graph.of_call(k, inputs, outs, keywords)
    assert text is not None
    assert "\n" in text
    return text


def samples(device: str) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    row = torch.randn(200, device=device)
    matrix = torch.randn(8, 64, device=device)
    tile = torch.randn(16, 64, device=device)
    return {
        "symbolic": (sample_kernels.build_vector_add(), (row, row + 1)),
        "shared memory": (sample_kernels.build_rms_norm(8, 64), (matrix, matrix[0].clone())),
        "tensor maps": (sample_kernels.build_tma_axpy(), (tile, tile + 1)),
        "two outputs": (build_halves(), (column_major(device),)),
        "maps by value": (sample_kernels.build_tma_axpy(tma="value"), (tile, tile + 1)),
    }


@devices
@pytest.mark.parametrize("kind", list(samples("cpu")))
def test_opcheck(kind: str, device: str) -> None:
    k, inputs = samples(device)[kind]
    expected = k(*inputs)
    outputs = list(expected) if isinstance(expected, tuple) else [expected]
    text = text_of(k, *inputs)
    for got, wanted in zip(launch(list(inputs), text), outputs, strict=True):
        assert torch.equal(got, wanted)
    torch.library.opcheck(launch, (list(inputs), text))
    if len(outputs) == 1:
        assert torch.equal(launch_one(list(inputs), text), outputs[0])
        torch.library.opcheck(launch_one, (list(inputs), text))
    else:
        with pytest.raises(RuntimeError, match=r"PTX0811.*must be 1, got 2"):
            launch_one(list(inputs), text)
    outs = [torch.zeros_like(output) for output in outputs]
    launch_out(list(inputs), outs, text)
    assert all(map(torch.equal, outs, outputs))
    torch.library.opcheck(launch_out, (list(inputs), outs, text))


@devices
@pytest.mark.parametrize("kind", list(samples("cpu")))
def test_opcheck_of_the_kernels_own_operator(kind: str, device: str) -> None:
    k, inputs = samples(device)[kind]
    packet = kernel_operator.packet_of(k._operator_name)
    expected = k(*inputs)
    outputs = expected if isinstance(expected, tuple) else (expected,)
    made = packet.default(*inputs)
    assert all(map(torch.equal, made if isinstance(made, tuple) else (made,), outputs))
    torch.library.opcheck(packet.default, inputs)
    names = k.signature.tensors[len(inputs) :]
    outs = {n: torch.zeros_like(output) for n, output in zip(names, outputs, strict=True)}
    packet.out(*inputs, **outs)
    assert all(map(torch.equal, outs.values(), outputs))
    torch.library.opcheck(packet.out, inputs, outs)


def test_opcheck_of_template_values() -> None:
    k = sample_kernels.build_vector_add()
    a = torch.randn(64)
    packet = kernel_operator.packet_of(k._operator_name)
    torch.library.opcheck(packet.default, (a, a), {"options": "{'BLOCK': 128}"})


def compiled_with_graphs(function: Any, **options: Any) -> tuple[Any, list[str]]:
    """The function compiled by AOTAutograd alone, and the code of the graphs it makes."""
    codes: list[str] = []

    def record(graph: Any, _: Any) -> Any:
        codes.append(graph.code)
        return graph.forward

    backend = aot_autograd(fw_compiler=record)
    return torch.compile(function, backend=backend, fullgraph=True, **options), codes


@pytest.mark.parametrize("dynamic", [False, True])
def test_graphs_hold_the_kernels_own_operator(dynamic: bool) -> None:
    k = sample_kernels.build_vector_add()
    a = torch.randn(64)
    compiled, codes = compiled_with_graphs(lambda a: k(a, a), dynamic=dynamic)
    assert torch.equal(compiled(a), a + a)
    [code] = codes
    assert f"torch.ops.pyptx.{k._operator_name}.default(arg" in code


def test_a_compiled_graph_follows_what_the_kernel_reads() -> None:
    factor = 2.0

    def build() -> Any:
        @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(32, 1, 1))
        def scale(X, Y):
            sample_kernels.scaled_copy(X, Y, factor)

        return scale

    x = torch.randn(32)
    first, twin = build(), build()
    compiled, codes = compiled_with_graphs(lambda x: (first(x), twin(x)))
    for factor in (2.0, 3.0, 2.0):
        assert all(torch.equal(y, x * factor) for y in compiled(x))
    [code] = codes  # not compiled again
    assert code.count(f"pyptx.{first._operator_name}.default") == 2
    factor = "three"
    with pytest.raises(pyptx.VerifyError, match="PTX0234"):
        compiled(x)
    factor = 4.0
    assert all(torch.equal(y, x * factor) for y in compiled(x))


def test_a_compiled_graph_follows_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    number = [1.0]

    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), block=(1, 1, 1))
    def write(X, Y):
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.f32(ptx.addr(py), reg.scalar(f32, init=number[0]))
        ptx.ret()

    def interrupted(*parts: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    compiled = torch.compile(lambda x: write(x), backend="aot_eager", fullgraph=True)
    x = torch.zeros(1)
    assert compiled(x) == 1.0
    number[0] = 2.0
    for maker in ("prepare", "emulate"):
        with monkeypatch.context() as patch:
            patch.setattr(first_call, maker, interrupted)
            with pytest.raises((RuntimeError, KeyboardInterrupt)):
                compiled(x)
    assert compiled(x) == 2.0


def test_a_compiled_graph_outlives_its_kernel() -> None:
    x = torch.randn(32)
    k = sample_kernels.build_scale(3.0)
    operator = kernel_operator.packet_of(k._operator_name).default
    gone = weakref.ref(k)
    del k
    gc.collect()
    assert gone() is not None
    assert torch.equal(operator(x), 3 * x)


@devices
def test_reduce_overhead_and_inductor_equal_eager(device: str) -> None:
    k = sample_kernels.build_vector_add()

    def model(a: Any, b: Any) -> Any:
        out = torch.empty_like(a)
        k(a, b, out=out)
        return k(a * 2, out, BLOCK=128).relu(), out

    for mode in ("default", "reduce-overhead"):
        compiled = torch.compile(model, fullgraph=True, mode=mode)
        for _ in range(3):
            a, b = torch.randn(100, device=device), torch.randn(100, device=device)
            for got, wanted in zip(compiled(a, b), model(a, b), strict=True):
                torch.testing.assert_close(got, wanted, rtol=0, atol=0)


def test_a_kernel_without_backward_says_so_when_compiled() -> None:
    k = sample_kernels.build_vector_add()
    compiled, _ = compiled_with_graphs(lambda x: k(x, x) * 2)
    x = torch.randn(32, requires_grad=True)
    with pytest.raises(Exception, match="differentiable_kernel"):
        compiled(x).sum().backward()


# --- what is refused ----------------------------------------------------------------------------


def damaged(text: str) -> str:
    return text.replace("add.f32", "sub.f32")


BAD = {
    "an unknown name": (lambda a, t: ([a, a], t.replace("1 ", "1 9", 1).partition("\n")[0]), 10),
    "no kernel": (lambda a, t: ([a, a], "hello\nworld"), 6),
    "an empty text": (lambda a, t: ([a, a], ""), 10),
    "an edited text": (lambda a, t: ([a, a], damaged(t)), 6),
    "a text cut short": (lambda a, t: ([a, a], t[:-20]), 6),
    "too few inputs": (lambda a, t: ([a], t), 11),
    "too many inputs": (lambda a, t: ([a] * 80, t), 11),
    "another dtype": (lambda a, t: ([a, a.double()], t), 11),
    "a dtype of no kernel": (lambda a, t: ([a, a.to(torch.complex64)], t), 11),
    "another shape": (lambda a, t: ([a, a[:32].clone()], t), 11),
    "another rank": (lambda a, t: ([a, a[None]], t), 11),
    "strides": (lambda a, t: ([a, a.repeat_interleave(2)[::2]], t), 11),
}


@pytest.mark.parametrize("mistake", list(BAD))
def test_bad_calls_are_refused_and_write_nothing(mistake: str) -> None:
    k = sample_kernels.build_vector_add()
    n = 64 + list(BAD).index(mistake)  # a kernel that this process does not know by name yet
    a = torch.randn(n)
    out = torch.full((n,), 7.0)
    make, code = BAD[mistake]
    inputs, text = make(a, text_of(k, a, a))
    calls = (
        lambda: launch(inputs, text),
        lambda: launch_one(inputs, text),
        lambda: launch_out(inputs, [out], text),
    )
    for call in calls:
        with pytest.raises(RuntimeError, match=f"PTX08{code:02}"):
            call()
    assert torch.all(out == 7.0)


@pytest.mark.parametrize("outs", [[], [64, 64], [32]])
def test_bad_outputs_are_refused(outs: list[int]) -> None:
    k = sample_kernels.build_vector_add()
    a = torch.randn(64)
    tensors = [torch.full((n,), 7.0) for n in outs]
    with pytest.raises(RuntimeError, match=r"PTX0811.*output"):
        launch_out([a, a], tensors, text_of(k, a, a))
    assert all(torch.all(t == 7.0) for t in tensors)


def test_memory_that_is_not_there_is_refused() -> None:
    k = sample_kernels.build_vector_add()
    a, shrunk, out = torch.randn(64), torch.randn(64), torch.full((64,), 7.0)
    text = text_of(k, a, a)
    shrunk.untyped_storage().resize_(128)
    calls = (
        lambda: launch([a, shrunk], text),
        lambda: launch_one([a, shrunk], text),
        lambda: launch_out([a, shrunk], [out], text),
        lambda: launch_out([a, a], [shrunk], text),
    )
    for call in calls:
        with pytest.raises(RuntimeError, match=r"have 256 bytes of memory, got 128 bytes"):
            call()
    assert torch.all(out == 7.0)


def test_outputs_that_share_memory_are_refused() -> None:
    k, x = build_halves(), column_major("cpu")
    text = text_of(k, x)
    memory = torch.full((63,), 7.0, dtype=torch.bfloat16)
    with pytest.raises(RuntimeError, match=r"PTX0811.*output 1 \('Z'\).*share no memory"):
        launch_out([x], [memory[:32], memory[31:]], text)
    assert torch.all(memory == 7.0)
    memory = torch.zeros(64, dtype=torch.bfloat16)
    launch_out([x], [memory[:32], memory[32:]], text)
    assert torch.equal(memory, torch.cat(k(x)))


def test_an_address_that_no_tensor_map_takes_is_refused() -> None:
    k = sample_kernels.build_tma_axpy()
    x = torch.randn(16, 64)
    shifted = torch.randn(16 * 64 + 1)[1:].reshape(16, 64)
    text = text_of(k, x, x)
    with pytest.raises(RuntimeError, match="multiple of 16 bytes"):
        launch([x, shifted], text)


def test_a_written_output_cannot_be_differentiated_through() -> None:
    k = sample_kernels.build_vector_add()
    a, saved = torch.randn(64), torch.randn(64)
    weight = torch.randn(64, requires_grad=True)
    loss = (weight * saved).sum()
    launch_out([a, a], [saved], text_of(k, a, a))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_calls_that_no_text_can_stand_for() -> None:
    k = sample_kernels.build_vector_add()
    empty = torch.empty(0)
    assert graph.of_call(k, (empty, empty), None, {}) is None
    meta = torch.empty(8, device="meta")
    assert graph.of_call(k, (meta, meta), None, {}) is None
    opaque = sample_kernels.build_scale(iter(()))  # type: ignore[arg-type]
    x = torch.randn(32)
    assert graph.of_call(opaque, (x,), None, {}) is None


def test_an_operator_of_another_process_is_named_with_the_ways_out() -> None:
    with pytest.raises(LaunchError, match=r"operator 'gone_0'.*strict=False"):
        inductor.kernel_of("gone_0")


# --- other processes ----------------------------------------------------------------------------

OTHER = """
import json, sys, torch
from pyptx import torch_support
torch.ops.load_library(torch_support.operator_library())
torch_support.register_operators()
program = torch.export.load(sys.argv[1])
x = torch.arange(64.0)
from support import sample_kernels
k = sample_kernels.build_vector_add()
compiled = torch.compile(k, backend="aot_eager")
is_right = torch.equal(program.module()(x), 4 * x) and torch.equal(compiled(x, x), 2 * x)
print(json.dumps([is_right, k._operator_name]))
"""


FOLDERS = [str(Path(pyptx.__file__).parent.parent), str(TESTS)]


def test_an_exported_program_runs_in_another_process(tmp_path: Path) -> None:
    """Which has the operators from the library for C++ programs, and compiles beside it."""
    k = sample_kernels.build_vector_add()

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return k(x, x) * 2

    x = torch.arange(64.0)
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Model(), (x,)), path)
    done = subprocess.run(
        [sys.executable, "-c", OTHER, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*FOLDERS, *sys.path])},
    )
    assert done.returncode == 0, done.stderr
    is_right, name = json.loads(done.stdout.splitlines()[-1])
    assert is_right
    assert name == k._operator_name  # what the caches of torch look up
