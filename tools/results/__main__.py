# SPDX-License-Identifier: Apache-2.0
"""``python -m results --out docs/results`` writes the pages, ``--check docs/results`` compares."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from isagen import committed

from .pages import RecordError, pages

RECORDS = Path(__file__).resolve().parents[2] / "bench/recorded"


def main(given: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="results", description=__doc__)
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FOLDER")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the pages are written")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="which pages are compared")
    options = parser.parse_args(given)
    try:
        wanted = pages(options.records)
    except RecordError as error:
        print(error, file=sys.stderr)
        return 1
    if options.out:
        committed.write(options.out, wanted, "*")
    if options.check and (old := committed.stale(options.check, wanted, "*")):
        print(f"not what the records give, run `make results`: {', '.join(old)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
