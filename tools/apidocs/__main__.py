# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m apidocs --out docs/api`` or ``--check docs/api``, in the root."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from apidocs.cpp_pages import read_reference, render_cpp_pages
from apidocs.pages import Folders, render_pages
from apidocs.sources import Package
from apidocs.surfaces import compare, render_surfaces
from isagen import committed


def main() -> int:
    """Write the pages, or say which of them are out of date."""
    parser = argparse.ArgumentParser(prog="apidocs", description=__doc__)
    parser.add_argument("--package", type=Path, default=Path("python"), help="holds pyptx/")
    parser.add_argument("--table", type=Path, default=Path("isa"), help="the isa folder")
    parser.add_argument("--reference", type=Path, default=Path("docs/isa"), help="linked pages")
    parser.add_argument("--headers", type=Path, default=Path("include"), help="holds pyptx/")
    parser.add_argument("--out", type=Path, help="folder for the pages")
    parser.add_argument("--check", type=Path, help="fail when pages there are out of date")
    options = parser.parse_args()
    folders = Folders(options.package, options.table, options.reference)
    pages = render_pages(folders)
    reference = read_reference(options.headers)
    pages |= {f"cpp/{name}": text for name, text in render_cpp_pages(reference).items()}
    surfaces = compare(Package(options.package), reference, options.table)
    pages["surfaces.md"] = render_surfaces(surfaces, reference)
    if options.out:
        committed.write(options.out, pages, "**/*.md")
    if options.check and (old := committed.stale(options.check, pages, "**/*.md")):
        print(f"apidocs: out of date: {', '.join(old)}; run make api-pages", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
