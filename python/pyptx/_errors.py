# SPDX-License-Identifier: Apache-2.0
"""The exception hierarchy. The extension raises these; nothing else derives from `Error`.

And the warnings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx._core import Diagnostic


class Error(Exception):
    """Base of every error that pyptx reports about a kernel, its text or its launch."""

    diagnostics: list[Diagnostic]

    def __init__(self, message: str = "", diagnostics: Sequence[Diagnostic] = ()) -> None:
        """Keep the rendered message and the diagnostics it was rendered from."""
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class PtxSyntaxError(Error):
    """PTX text that cannot be read (codes PTX00xx and PTX01xx)."""


class VerifyError(Error):
    """An instruction or function that breaks a rule of the manual (PTX02xx, PTX04xx, PTX05xx)."""


class OperandTypeError(VerifyError, TypeError):
    """A register where Python asks for a value (PTX0243)."""


class TargetError(Error):
    """Something the target or the PTX version does not have (PTX03xx)."""


class AssembleError(Error):
    """PTX that the assembler refused (PTX06xx)."""


class LaunchError(Error):
    """A failed driver call, launch or framework boundary (PTX07xx, PTX08xx)."""


class ArgumentTypeError(LaunchError, TypeError):
    """An argument, a declaration or an option of another type (PTX0815, PTX0841 and others)."""


class ArgumentValueError(LaunchError, ValueError):
    """One whose shape, value or place in memory does not do (PTX0816, PTX0843 and others)."""


class OutOfMemoryError(LaunchError, MemoryError):
    """The host had no memory for a call (PTX0820)."""


class TuneError(Error):
    """A tuning that cannot be done, or that leaves nothing to choose (PTX083x)."""


class EmulatorError(Error):
    """A kernel that the emulator stopped, or cannot run (PTX09xx)."""


class CheckError(Error, AssertionError):
    """A kernel that `pyptx.testing` has found wrong: what was expected, and how to run it again."""


class EmulatorWarning(UserWarning):
    """What the emulator found and did not stop at; `diagnostic` has its code and place."""

    def __init__(self, message: str, diagnostic: Any = None) -> None:
        super().__init__(message)
        self.diagnostic = diagnostic


class TraceWarning(UserWarning):
    """What a trace found in a kernel and did not stop at; `diagnostic` has its code and place."""

    def __init__(self, message: str, diagnostic: Any = None) -> None:
        super().__init__(message)
        self.diagnostic = diagnostic


class OutputWarning(EmulatorWarning):
    """A kernel has left elements of an output that it was given without a value (PTX0940)."""


class CaptureWarning(UserWarning):
    """A kernel reads a value that cannot be watched, which makes its calls slow."""


class TuneWarning(UserWarning):
    """What was remembered of a tuning cannot be used, or cannot be kept."""


# A traceback names a class by its module: the one that authors import it from.
for _class in (
    Error,
    PtxSyntaxError,
    VerifyError,
    OperandTypeError,
    TargetError,
    AssembleError,
    LaunchError,
    ArgumentTypeError,
    ArgumentValueError,
    OutOfMemoryError,
    TuneError,
    EmulatorError,
    CheckError,
    EmulatorWarning,
    CaptureWarning,
    OutputWarning,
    TraceWarning,
    TuneWarning,
):
    _class.__module__ = "pyptx"
