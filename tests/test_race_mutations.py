# SPDX-License-Identifier: Apache-2.0
"""The Hopper GEMM with one synchronising instruction taken out at a time: the emulator objects."""

from __future__ import annotations

import re
from typing import Any

import pytest

from example_modules import example
from pyptx import EmulatorError, _core, _runtime

torch = pytest.importorskip("torch")

SYNCHRONISES = re.compile(
    r"^\s*(@!?%?\w+ )?"
    r"((?:fence|bar|wgmma\.(?:fence|wait_group|commit_group)|mbarrier\.(?:arrive|init|try_wait))\S*)"
)
WAIT = re.compile(r"mbarrier\.try_wait\S* (%\w+),.*")
# What may be missing here, and why.
HARMLESS = {
    "fence.mbarrier_init": "bar.sync behind it orders the initialisation inside the CTA",
}


def launch(text: str | None) -> None:
    """Run the kernel, or the text in place of its own, with the checks."""
    from pyptx import _torch

    kernel = example("hopper/gemm").build_gemm()
    shape = (128, 128, 384)
    a = torch.ones((shape[0], shape[2]), dtype=torch.bfloat16)
    b = torch.ones((shape[1], shape[2]), dtype=torch.bfloat16)
    c = torch.empty(shape[:2], dtype=torch.float32)
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
    _core.emulate(image, pointers, sizes, seed=1, completion="random", checks="races")


def lines() -> list[str]:
    """The text of the kernel."""
    return example("hopper/gemm").build_gemm().ptx(M=128, N=128, K=384).splitlines()


def mutants() -> list[Any]:
    """The lines that synchronise."""
    return [
        pytest.param(number, id=f"{number}-{found.group(2)}")
        for number, line in enumerate(lines())
        if (found := SYNCHRONISES.match(line))
    ]


def test_the_whole_kernel_is_not_reported() -> None:
    launch("\n".join(lines()) + "\n")


@pytest.mark.parametrize("number", mutants())
def test_a_missing_instruction_is_reported(number: int) -> None:
    text = lines()
    taken = text[number].strip()
    text[number] = WAIT.sub(r"setp.eq.u32 \1, 0, 0;", taken) if "try_wait" in taken else ""
    if any(word in taken for word in HARMLESS):
        launch("\n".join(text) + "\n")
        return
    with pytest.raises(EmulatorError):
        launch("\n".join(text) + "\n")
