# SPDX-License-Identifier: Apache-2.0
"""`pyptx.verify`: everything that is wrong with a text, a module or a kernel, as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx import _core
from pyptx._call.refusals import refuse

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def verify(
    what: str | bytes | _core.Module | Kernel,
    *,
    file: str = "<ptx>",
    lint: bool = False,
    max_diagnostics: int = 100,
    **kwargs: Any,
) -> list[_core.Diagnostic]:
    """Return what is wrong with PTX text, a module or a kernel, in the order of the text.

    Nothing is raised for findings: syntax errors are in the list too. `lint` adds what assembles
    but is not by the manual. The dimensions and template parameters of a kernel go into `kwargs`,
    as for `Kernel.ptx`. `max_diagnostics=0` sets no limit.
    """
    if isinstance(what, str | bytes):
        if kwargs:
            refuse("KeywordName", "verify() of a text", f"takes no argument {next(iter(kwargs))!r}")
        return _core.verify_text(what, file, lint, max_diagnostics)
    if isinstance(what, _core.Module):
        if kwargs:
            name = next(iter(kwargs))
            refuse("KeywordName", "verify() of a module", f"takes no argument {name!r}")
        return _core.verify_module(what, lint, max_diagnostics)
    from pyptx._errors import Error, LaunchError
    from pyptx.kernel import Kernel

    if not isinstance(what, Kernel):
        wanted = f"takes PTX text, a Module or a Kernel, not {type(what).__name__}"
        refuse("ArgumentKind", "verify()", wanted)
    try:
        module = what.module(**kwargs)
    except Error as error:
        is_of_launch = error.diagnostics and error.diagnostics[0].kind == "SharedTarget"
        if isinstance(error, LaunchError) or is_of_launch:  # which is no place in a text
            raise
        return error.diagnostics  # what tracing refused is a finding like any other
    # A module knows the author's lines, but only the text shows what is inside ptx.raw.
    return _core.verify_module(module, lint, max_diagnostics) or _core.verify_text(
        module.text, f"<ptx of {what.signature.name}>", lint, max_diagnostics
    )
