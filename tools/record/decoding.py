# SPDX-License-Identifier: Apache-2.0
"""What the emulator says to the accepted examples of a form: each alone in a kernel, decoded."""

from __future__ import annotations

import re
from functools import cache

from isagen.table import Form
from pyptx import _core
from pyptx._errors import Error

_REGISTERS = {
    "r": "b32", "rd": "b64", "rs": "b16", "f": "f32", "fd": "f64", "h": "f16", "hh": "b32",
    "p": "pred", "u": "u32", "s": "s32", "ud": "u64", "sd": "s64", "us": "u16", "ss": "s16",
    "bh": "b16", "bhh": "b32", "ff": "b64", "rb": "b8",
}  # fmt: skip
_TARGETS = ("100a", "90a", "107a", "120a", "110a", "103a", "80", "75")
# Another error of the run or of the launch means that the instruction was decoded.
_RAN = re.compile(r"error\[PTX(07|09)")
_REFUSED = re.compile(r"error\[PTX0902\]: the emulator cannot run '[^']*': (.*)")


def _module(text: str, target: str) -> str:
    registers = "\n".join(f".reg .{kind} %{name}<320>;" for name, kind in _REGISTERS.items())
    wide = ".reg .b128 %rq<20>;" if "%rq" in text else ""
    return f"""
.version 9.4
.target sm_{target}
.address_size 64
.func func0 ()
{{
ret;
}}
.func (.param .b32 r0) func1 (.param .b32 a0)
{{
ret;
}}
.global .align 128 .b8 gmem[1024];
.shared .align 128 .b8 smem[1024];
.visible .entry kernel0 (.param .align 64 .b8 param0[128])
{{
{registers}
{wide}
T0: .branchtargets L0, L1;
P0: .callprototype ()_ ();
{text};
L0:
L1:
ret;
}}
"""


@cache
def refusal(text: str) -> str | None:
    """Why the emulator refuses an instruction before it runs; "" where it does not.

    None where no target takes it in this kernel.
    """
    plan = _core.LaunchPlan("kernel0", (1, 1, 1), (1, 1, 1), tensor_count=0)
    for target in _TARGETS:
        try:
            _core.emulate(_core.KernelImage(_module(text, target), f"sm_{target}", plan), [], [])
        except Error as error:
            message = str(error).partition("\n")[0]
            if refused := _REFUSED.match(message):
                return refused[1]
            if _RAN.match(message):
                return ""
        else:
            return ""
    return None


def refusals(form: Form) -> list[str]:
    """Return the reasons for which examples of a form cannot run, each once."""
    found = (refusal(example.text) for example in form.examples if not example.code)
    return sorted({reason for reason in found if reason})
