# SPDX-License-Identifier: Apache-2.0
"""Files that are generated and committed: which are out of date, and writing them anew."""

from __future__ import annotations

from pathlib import Path


def stale(folder: Path, wanted: dict[str, str], pattern: str) -> list[str]:
    """Return the files of `folder` that are missing, out of date, or left over in `pattern`."""
    found = {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in folder.glob(pattern)
    }
    return sorted(name for name in wanted.keys() | found if wanted.get(name) != found.get(name))


def write(folder: Path, wanted: dict[str, str], pattern: str) -> None:
    """Write the files that are out of date and delete those left over in `pattern`."""
    for name in stale(folder, wanted, pattern):
        path = folder / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
