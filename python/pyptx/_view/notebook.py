# SPDX-License-Identifier: Apache-2.0
"""What notebooks show: a page for what has one, a table or a text for the rest.

Everything is escaped; a text that is shown cannot become markup. Nothing raises: a notebook then
shows the plain repr.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyptx._errors import Error

if TYPE_CHECKING:
    from pyptx import Diagnostic, Module
    from pyptx._call.emulation import EmulatorReport
    from pyptx._report.costs import Report
    from pyptx.kernel import Kernel

_PRE = '<pre style="line-height:1.35;margin:0;white-space:pre-wrap">'
_CELL = '<td style="text-align:left;padding:0 1em 0 0">'


def kernel_html(kernel: Kernel) -> str:
    """Show the page of a kernel whose trace needs no sizes; else what it takes."""
    from pyptx._view.view import view_of_kernel

    signature = kernel.signature
    is_open = any(spec is not None and spec.symbolic_dims for spec in signature.specs)
    if not is_open:
        try:
            return view_of_kernel(kernel, (), None, {})._repr_html_()
        except Error as error:
            return _text(str(error))
        except TypeError:
            pass  # a template parameter without a default
    rows = [("target", kernel.arch), ("block", kernel.block)]
    rows += [
        (name, repr(spec)) for name, spec in zip(signature.tensors, signature.specs, strict=False)
    ]
    rows += [(name, f"default {value!r}") for name, value in kernel.template_params.items()]
    dims = ", ".join(
        f"{name}=..."
        for name in dict.fromkeys(
            dim for spec in signature.specs if spec is not None for dim in spec.symbolic_dims
        )
    )
    call = f"{signature.name}.view({dims})"
    return (
        f"<b>{html.escape(signature.name)}</b>{_table(rows)}"
        f"<code>{html.escape(call)}</code> shows source, PTX and machine code."
    )


def module_html(module: Module) -> str:
    """Show the page of a module."""
    from pyptx._view.view import view_of_text

    return view_of_text(module.text)._repr_html_()


def report_html(report: Report) -> str:
    """Show what a kernel costs, its lines as a table."""
    head, _, _ = str(report).partition("\n  " + report.lines[0].file if report.lines else "\0")
    rows = [
        (f"{line.file.rpartition('/')[2]}:{line.line}", f"{line.ptx} PTX", f"{line.sass} SASS")
        for line in report.lines
    ]
    return _text(head) + _table(rows)


def emulator_report_html(report: EmulatorReport) -> str:
    """Show what a run cost."""
    return _text(str(report))


def diagnostic_html(found: Diagnostic) -> str:
    """Show a finding as the command shows it, in its colour."""
    colour = {"error": "#d6293e", "warning": "#b76e00"}.get(found.severity, "#0b7285")
    return (
        f'<div style="border-left:3px solid {colour};padding-left:.8em">{_text(str(found))}</div>'
    )


def _text(text: str) -> str:
    return f"{_PRE}{html.escape(text)}</pre>"


def _table(rows: Iterable[Sequence[Any]]) -> str:
    body = "".join(
        "<tr>" + "".join(f"{_CELL}{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table>{body}</table>"
