# SPDX-License-Identifier: Apache-2.0
"""Examples with one synchronising instruction taken out at a time: the emulator objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from pyptx import EmulatorError, _core
from pyptx._call import first_call
from pyptx.kernel import Kernel
from support.example_modules import example
from support.packages import need

torch = need("torch")

EXAMPLES = (
    "hopper/gemm",
    "hopper/clustered_gemm",
    "hopper/grouped_gemm",
    "hopper/layer_norm",
    "hopper/layer_norm_backward",
    "hopper/rms_norm",
    "hopper/rms_norm_backward",
    "hopper/softmax",
    "hopper/swiglu",
    "blackwell/gemm",
    "blackwell/gemm_of_pairs",
)
SYNCHRONISES = re.compile(
    r"^\s*(@!?%?\w+ )?"
    r"((?:fence|bar|wgmma\.(?:fence|wait_group|commit_group)|mbarrier\.(?:arrive|init|try_wait)"
    r"|cp\.async\.(?:bulk\.)?(?:wait|commit)"
    r"|tcgen05\.(?:fence|wait|commit|dealloc))\S*)"
)
WAIT = re.compile(r"mbarrier\.try_wait\S* (%\w+),.*")
# What may be missing, in which kernel, the how manieth of its kind (None: each), and why.
HARMLESS: dict[tuple[str, str, int | None], str] = {
    ("blackwell/gemm", "bar.sync", 1): "it brings the threads of a warp together, no more",
    ("blackwell/gemm_of_pairs", "bar.sync", 0): "it brings the threads of a warp together, no more",
}


def halves(*shape: int) -> Any:
    """Ones, as the matrix units take them."""
    return torch.ones(shape, dtype=torch.bfloat16)


def backward(build: Callable[..., Any]) -> Any:
    """The kernel over the rows, of the two that a gradient takes."""
    cells = [cell.cell_contents for cell in build(200, 512).__closure__]
    return next(one for one in cells if isinstance(one, Kernel) and "backward" in one.__name__)


def build(name: str) -> tuple[Any, list[Any], list[tuple[int, ...]]]:
    """The kernel of an example, inputs for it, and the shapes of its outputs."""
    folder, _, which = name.partition("/")
    module = example(f"{folder}/{re.sub('_backward|_of_pairs', '', which)}")
    m, n, k = 128, 128, 384
    rows = torch.ones((200, 512))
    square = [halves(2 * m, k), halves(2 * n, k)], [(2 * m, 2 * n)]
    match which:
        case "gemm":
            return module.build_gemm(), [halves(m, k), halves(n, k)], [(m, n)]
        case "gemm_of_pairs":
            return module.build_gemm(ctas=2), *square
        case "clustered_gemm":
            return module.build_clustered_gemm(), *square
        case "grouped_gemm":
            offsets = torch.tensor([0, 70, 130], dtype=torch.int32)
            inputs = [halves(130, k), halves(2, n, k), offsets]
            return module.build_grouped_gemm(2), inputs, [(130, n)]
        case "layer_norm":
            return module.build_layer_norm(200, 512), [rows, rows[0], rows[0]], [(200, 512)]
        case "rms_norm":
            return module.build_rms_norm(200, 512), [rows, rows[0]], [(200, 512)]
        case "softmax":
            return module.build_softmax(200, 512), [rows], [(200, 512)]
        case "swiglu":
            return module.build_swiglu(200, 512), [rows, rows], [(200, 512)]
        case _:
            kernel = backward(getattr(module, f"build_{which}"))
            parts = [(module.PARTS, 512)] * (len(kernel.out_specs) - 1)
            return kernel, [rows, rows[0], rows], [(200, 512), *parts]


@cache
def prepared(name: str) -> tuple[Any, list[Any]]:
    """The image of an example's kernel, and its tensors."""
    from pyptx._torch import eager

    kernel, inputs, shapes = build(name)
    tensors = [*inputs, *(torch.empty(shape, dtype=torch.float32) for shape in shapes)]
    arrays = [eager.describe(tensor) for tensor in tensors]
    captures = kernel._refreshed().captures
    count = len(inputs)
    ready = first_call.prepare(kernel, captures, arrays[:count], arrays[count:], {}, kernel.arch)
    assert ready.image is not None
    return ready.image, tensors


def launch(name: str, text: str) -> None:
    """Run the text in place of the kernel's own, with the checks."""
    from pyptx._torch import eager

    image, tensors = prepared(name)
    image = _core.KernelImage(text, image.target, image.plan)
    arrays = [eager.describe(tensor) for tensor in tensors]
    pointers = [array.pointer for array in arrays]
    sizes = [array.nbytes for array in arrays]
    _core.emulate(image, pointers, sizes, seed=1, schedule="random", checks="races")


def lines(name: str) -> list[str]:
    """The text of the kernel."""
    return str(prepared(name)[0].ptx).splitlines()


def is_harmless(name: str, taken: str, before: list[str]) -> bool:
    """Whether the line may be missing; `before` are those before it."""
    for kernel, word, which in HARMLESS:
        if kernel == name and word in taken:
            number = sum(word in line for line in before)
            if which is None or which == number:
                return True
    return False


def test_nearly_all_are_reported() -> None:
    cases = [(name, number, lines(name)) for name, number in (one.values for one in mutants())]
    harmless = [is_harmless(name, text[at].strip(), text[:at]) for name, at, text in cases]
    assert len(cases) > 100
    assert sum(harmless) <= 0.05 * len(cases)


def mutants() -> list[Any]:
    """The lines that synchronise."""
    return [
        pytest.param(name, number, id=f"{name}-{number}-{found.group(2)}")
        for name in EXAMPLES
        for number, line in enumerate(lines(name))
        if (found := SYNCHRONISES.match(line))
    ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_whole_kernel_is_not_reported(name: str) -> None:
    launch(name, "\n".join(lines(name)) + "\n")


@pytest.mark.parametrize(("name", "number"), mutants())
def test_a_missing_instruction_is_reported(name: str, number: int) -> None:
    text = lines(name)
    taken = text[number].strip()
    harmless = is_harmless(name, taken, text[:number])
    text[number] = WAIT.sub(r"setp.eq.u32 \1, 0, 0;", taken) if "try_wait" in taken else ""
    if harmless:
        launch(name, "\n".join(text) + "\n")
        return
    with pytest.raises(EmulatorError):
        launch(name, "\n".join(text) + "\n")
