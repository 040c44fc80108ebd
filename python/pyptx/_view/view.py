# SPDX-License-Identifier: Apache-2.0
"""The page of a kernel, made when it is asked for."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyptx._call import settle
from pyptx._call.inspection import facts_of
from pyptx._view import assembled, model, page
from pyptx._view.run import Run, run
from pyptx._view.subject import Subject, of_kernel, of_text

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


class View:
    """A page about a kernel: `save` writes it, a notebook shows it, `data` is what it shows."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        #: The rows of the panes and the links between them, as plain data.
        self.data = data
        self._html = ""  # until somebody asks

    @property
    def html(self) -> str:
        """The page: one text without references to anything else."""
        self._html = self._html or page.of(self.data)
        return self._html

    @property
    def title(self) -> str:
        """What the page is about."""
        return " and ".join(self.data["titles"]) if "titles" in self.data else self.data["title"]

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file and return its path."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        """Return the page in a frame, so that it and the notebook leave each other be."""
        return (
            '<iframe sandbox="allow-scripts allow-popups" style="width:100%;height:46em;border:0"'
            f' srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        """Say what the page is about."""
        return f"<View of {self.title}, {len(self.html.encode())} bytes of HTML>"


def view_of_kernel(
    kernel: Kernel,
    examples: Sequence[Any],
    limit: Any,
    values: Mapping[str, Any],
    *,
    target: str | None = None,
    compiler: str = "best",
) -> View:
    """Trace, assemble and, with arrays, emulate a kernel."""
    if not examples:
        facts, _, _ = facts_of(kernel, dict(values), target)
        return View(data_of(of_kernel(kernel, facts), None, compiler))
    facts = settle.example_facts(kernel, examples, values)
    done = run(kernel, examples, limit, values)
    return View(data_of(of_kernel(kernel, facts), done, compiler))


def view_of_text(
    text: str,
    file: str = "<ptx>",
    *,
    target: str | None = None,
    compiler: str = "best",
    folders: Sequence[Path] = (),
) -> View:
    """Show PTX of any origin."""
    return View(data_of(of_text(text, file, target, folders), None, compiler))


def data_of(subject: Subject, done: Run | None = None, compiler: str = "best") -> dict[str, Any]:
    """Return the data of a page."""
    made = assembled.assemble(subject, compiler)
    return model.build(subject, made, done)
