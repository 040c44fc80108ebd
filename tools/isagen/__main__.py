# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m isagen --table isa --out build/generated`` or ``--examples``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import committed
from .inst_stubs import inst_stubs
from .model import load
from .reference import pages
from .table import Table, TableError
from .writer import outputs


def write(table: Table, out: Path) -> None:
    """Write every output; a file whose text did not change keeps its time stamp."""
    for name, text in outputs(table).items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def main() -> int:
    """Run the generator; a bad table is one line on standard error and exit status 1."""
    parser = argparse.ArgumentParser(prog="isagen", description=__doc__)
    parser.add_argument("--table", type=Path, required=True, help="the isa folder")
    parser.add_argument("--out", type=Path, help="folder for the generated C++")
    parser.add_argument("--docs", type=Path, help="folder for the reference pages")
    parser.add_argument("--check-docs", type=Path, help="fail when pages there are out of date")
    parser.add_argument("--stubs", type=Path, help="folder for the stubs of ptx.inst")
    parser.add_argument("--check-stubs", type=Path, help="fail when stubs there are out of date")
    parser.add_argument("--examples", action="store_true", help="print the examples as JSON")
    arguments = parser.parse_args()
    try:
        table = load(arguments.table)
        if arguments.out:
            write(table, arguments.out)
        if arguments.docs:
            committed.write(arguments.docs, pages(table), "*.md")
        if arguments.stubs:
            committed.write(arguments.stubs, inst_stubs(table), "*.pyi")
    except TableError as error:
        print(f"isagen: {error}", file=sys.stderr)
        return 1
    if (folder := arguments.check_docs) and (old := committed.stale(folder, pages(table), "*.md")):
        print(f"isagen: out of date: {', '.join(old)}; write them with --docs", file=sys.stderr)
        return 1
    if (folder := arguments.check_stubs) and (
        old := committed.stale(folder, inst_stubs(table), "*.pyi")
    ):
        print(f"isagen: out of date: {', '.join(old)}; write them with --stubs", file=sys.stderr)
        return 1
    if arguments.examples:
        rows = [{"text": e.text, "code": e.code} for form in table.forms for e in form.examples]
        json.dump(rows, sys.stdout, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
