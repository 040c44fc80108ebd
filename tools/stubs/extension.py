# SPDX-License-Identifier: Apache-2.0
"""nanobind's own stubs of the built extension, module by module."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

from nanobind import stubgen


def raw_stubs(module: str) -> dict[str, str]:
    """Return the stubs of `module` and its submodules by their path below the module's folder.

    Names such as `if_` count as private for nanobind, so private names are asked for too.
    """
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", module, "--recursive", "--include-private", "--quiet", "-O", folder]
        with contextlib.redirect_stdout(io.StringIO()):
            stubgen.main(words)
        root = Path(folder)
        paths = sorted(root.rglob("*.pyi"))
        top = min((path.parent for path in paths), key=lambda parent: len(parent.parts))
        return {
            path.relative_to(top).as_posix(): path.read_text(encoding="utf-8") for path in paths
        }
