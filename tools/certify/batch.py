# SPDX-License-Identifier: Apache-2.0
"""Batch modules: many instructions, one per line, in one function that declares what they name.

A register's name says its type (%r b32, %rd b64, %f f32, ...); smem, gmem, cmem, lmem and param0
are variables, param1 a parameter of a call, tex0, samp0 and surf0 a texture, a sampler and a
surface, func0 a function, L0 a label, T0 a list of branch targets, P0 a prototype.
"""

from __future__ import annotations

from dataclasses import dataclass

REGISTERS = {
    "b8": "rb", "b16": "rs", "b32": "r", "b64": "rd", "b128": "rq", "f16": "h", "f16x2": "hh",
    "f32": "f", "f64": "fd", "pred": "p", "u8": "ub", "u16": "us", "u32": "u", "u64": "ud",
    "s8": "sb", "s16": "ss", "s32": "s", "s64": "sd",
}  # fmt: skip
REGISTER_COUNT = 300
VERSION = "9.4"


@dataclass(frozen=True, order=True)
class Machine:
    """What a module is written for: ``sm_90a`` at PTX ISA ``8.0``, in a texture mode.

    No mode stands for the unified one, which need not be named.
    """

    target: str
    version: str = VERSION
    texmode: str = ""

    @property
    def number(self) -> tuple[int, int]:
        """The version as numbers that compare."""
        major, _, minor = self.version.partition(".")
        return int(major), int(minor)

    def __str__(self) -> str:
        mode = f" with {self.texmode}" if self.texmode else ""
        return f"{self.target} at {self.version}{mode}"


INDEPENDENT = "texmode_independent"

# Declared only in batches that name them, samp0 only where samplers are variables.
_DECLARATIONS = {
    "tex0": ".global .texref tex0;\n",
    "samp0": ".global .samplerref samp0;\n",
    "surf0": ".global .surfref surf0;\n",
    "func0": ".func func0() { ret; }\n",
}
_LOCAL_DECLARATIONS = {
    "param1": ".param .align 16 .b8 param1[64];\n",
    "T0": "T0: .branchtargets L0;\n",
    "P0": "P0: .callprototype _ ();\n",
}


class FrameRefused(RuntimeError):
    """A judge refuses the module around the instructions: no such target at that version."""


def head(machine: Machine, body: str) -> str:
    """Everything before the first instruction."""
    registers = {t: p for t, p in REGISTERS.items() if t != "b128" or machine.number >= (8, 3)}
    mode = f", {machine.texmode}" if machine.texmode else ""
    declared = {
        name: text
        for name, text in _DECLARATIONS.items()
        if name in body and (name != "samp0" or machine.texmode == INDEPENDENT)
    }
    return (
        f".version {machine.version}\n.target {machine.target}{mode}\n.address_size 64\n"
        ".global .align 16 .b8 gmem[64];\n.const .align 16 .b8 cmem[64];\n"
        + "".join(declared.values())
        + ".visible .entry k(.param .u64 param0) {\n"
        ".shared .align 16 .b8 smem[64];\n.local .align 16 .b8 lmem[64];\n"
        + "".join(text for name, text in _LOCAL_DECLARATIONS.items() if name in body)
        + "".join(f".reg .{t} %{p}<{REGISTER_COUNT}>;\n" for t, p in registers.items())
    )


TAIL = "L0: ret;\n}\n"


def module(machine: Machine, lines: list[str]) -> tuple[str, int]:
    """Return the text of a batch, and the line number of its first instruction.

    Braces keep what an instruction declares to itself.
    """
    body = "".join(f"{{ {line}; }}\n" for line in lines)
    start = head(machine, body)
    return f"{start}{body}{TAIL}", start.count("\n") + 1
