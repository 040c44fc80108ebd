# SPDX-License-Identifier: Apache-2.0
"""GEMMs with one synchronising instruction taken out at a time: the emulator objects."""

from __future__ import annotations

import re
from typing import Any

import pytest

from example_modules import example
from pyptx import EmulatorError, _core, _runtime

torch = pytest.importorskip("torch")

GEMMS = ("hopper/gemm", "blackwell/gemm")
SHAPE = (128, 128, 384)
SYNCHRONISES = re.compile(
    r"^\s*(@!?%?\w+ )?"
    r"((?:fence|bar|wgmma\.(?:fence|wait_group|commit_group)|mbarrier\.(?:arrive|init|try_wait)"
    r"|tcgen05\.(?:fence|wait|commit|dealloc))\S*)"
)
WAIT = re.compile(r"mbarrier\.try_wait\S* (%\w+),.*")
# What may be missing, in which kernel, the how manieth of its kind (None: each), and why.
HARMLESS: dict[tuple[str, str, int | None], str] = {
    ("hopper/gemm", "fence.mbarrier_init", None): "bar.sync behind it orders the initialisation",
    ("blackwell/gemm", "fence.mbarrier_init", None): "bar.sync behind it orders the initialisation",
    ("blackwell/gemm", "fence::before_thread_sync", 0): "no operation of tcgen05 was issued yet",
    ("blackwell/gemm", "fence::after_thread_sync", 0): "no operation of tcgen05 was issued yet",
    ("blackwell/gemm", "fence::after_thread_sync", 1): "what it orders are copies by TMA",
    ("blackwell/gemm", "fence::before_thread_sync", 1): "dealloc is no asynchronous operation",
    ("blackwell/gemm", "fence::after_thread_sync", 3): "dealloc is no asynchronous operation",
    **{
        ("blackwell/gemm", "mbarrier.try_wait", i): "`done` is committed behind what it waits for"
        for i in range(1, 5)
    },
    ("blackwell/gemm", "mbarrier.try_wait", 6): "the producer has waited for the last commits",
    ("blackwell/gemm", "bar.sync", 1): "it brings the threads of a warp together, no more",
}


def launch(name: str, text: str | None) -> None:
    """Run the kernel, or the text in place of its own, with the checks."""
    from pyptx import _torch

    kernel = example(name).build_gemm()
    a = torch.ones((SHAPE[0], SHAPE[2]), dtype=torch.bfloat16)
    b = torch.ones((SHAPE[1], SHAPE[2]), dtype=torch.bfloat16)
    c = torch.empty(SHAPE[:2], dtype=torch.float32)
    arrays = [_torch.describe(tensor) for tensor in (a, b, c)]
    prepared = _runtime.prepare(
        kernel, kernel._refreshed().captures, arrays[:2], arrays[2:], {}, kernel.arch
    )
    image = prepared.image
    assert image is not None
    if text is not None:
        image = _core.KernelImage(text, image.target, image.plan)
    pointers = [array.pointer for array in arrays]
    sizes = [array.nbytes for array in arrays]
    _core.emulate(image, pointers, sizes, seed=1, schedule="random", checks="races")


def lines(name: str) -> list[str]:
    """The text of the kernel."""
    m, n, k = SHAPE
    return example(name).build_gemm().ptx(M=m, N=n, K=k).splitlines()


def is_harmless(name: str, taken: str, before: list[str]) -> bool:
    """Whether the line may be missing; `before` are those before it."""
    for kernel, word, which in HARMLESS:
        if kernel == name and word in taken:
            number = sum(word in line for line in before)
            if which is None or which == number:
                return True
    return False


def mutants() -> list[Any]:
    """The lines that synchronise."""
    return [
        pytest.param(name, number, id=f"{name}-{number}-{found.group(2)}")
        for name in GEMMS
        for number, line in enumerate(lines(name))
        if (found := SYNCHRONISES.match(line))
    ]


@pytest.mark.parametrize("name", GEMMS)
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
