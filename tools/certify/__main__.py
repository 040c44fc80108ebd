# SPDX-License-Identifier: Apache-2.0
"""Command line of certify: each subcommand makes instructions and compares our verdict with ptxas.

instances   every legal spelling of every form, operands fitted
product     the full product over the words of each family, legal or not
mutations   one step away from legal: a modifier or an operand changed
sweep       representatives of each form and gated value, over all versions and targets
modules     the header alone, at versions that a target is younger than
examples    the table's own examples
manual      the example instructions of a local copy of the PTX manual (--path)
cccl        the asm templates of the cuda::ptx headers of the nvidia-cuda-cccl wheel
all         all of it: what `make certify` runs
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from isagen.model import load
from isagen.table import TableError

from . import golden
from .batch import VERSION, Machine
from .compare import Comparison, load_ledger
from .instance import is_named
from .ptxas import Ptxas, find_ptxas
from .suites import SUITES, Session, finish
from .tasks import Selection, run
from .verdict import Verdict, find_verdict

ROOT = Path(__file__).resolve().parents[2]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="certify", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*SUITES, "all"], metavar="what")
    parser.add_argument(
        "names", nargs="*", help="opcodes, compound opcodes or table files; else all"
    )
    parser.add_argument("-o", "--opcode", action="append", default=[], help="as names")
    parser.add_argument("-t", "--target", default="", help="comma separated; else the suite's own")
    parser.add_argument("-v", "--version", default=VERSION, help="comma separated")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--cap", type=int, default=0, help="lines per form before sampling")
    parser.add_argument("--show", type=int, default=3, help="lines shown per kind of difference")
    parser.add_argument("--all", action="store_true", help="print every difference, one per line")
    parser.add_argument("--list", action="store_true", help="only print the instructions")
    parser.add_argument("--table", type=Path, default=ROOT / "isa")
    parser.add_argument("--update-golden", action="store_true", help="write tests/diff/golden")
    parser.add_argument("--path", type=Path, help="the manual's markdown, or CCCL's include folder")
    return parser.parse_intermixed_args()


def main() -> int:
    """Run; exit status 1 when a difference is not in the ledger, or an entry covers none."""
    options = arguments()
    try:
        table = load(options.table)
    except TableError as error:
        print(f"certify: {error}", file=sys.stderr)
        return 2
    names = options.names + options.opcode
    forms = [form for form in table.forms if is_named(form, names)]
    if not forms:
        print(f"certify: no form is named {' '.join(names)}", file=sys.stderr)
        return 2
    machines = [
        Machine(target, version)
        for target in filter(None, options.target.split(","))
        for version in options.version.split(",")
    ]
    suites = list(SUITES) if options.what == "all" else [options.what]
    if options.list:
        session = Session(table, forms, machines, None, options.cap, options.path)
        for name in suites:
            SUITES[name](session, name)
        return 0
    ptxas, verdict = find_ptxas(), find_verdict(ROOT)
    if ptxas is None or verdict is None:
        print("certify: needs the ptxas wheel and the built verdict program", file=sys.stderr)
        return 2
    ledger = load_ledger(Path(__file__).with_name("ledger.toml"))
    comparison = Comparison(Ptxas(ptxas, options.jobs), Verdict(verdict, options.jobs), ledger)
    if options.update_golden:
        golden.update(ROOT / "tests/diff/golden", table, forms, comparison)
    selection = Selection(options.table, forms, machines, options.cap, options.path)
    status = finish(run(suites, selection, comparison, options.jobs), options.show, options.all)
    is_whole = options.what == "all" and not names and not machines and not options.cap
    stale = [entry for entry in ledger if entry not in comparison.used] if is_whole else []
    for entry in stale:
        print(f"ledger: '{entry.pattern.pattern}' covers no difference: remove it")
    return 1 if stale else status


if __name__ == "__main__":
    sys.exit(main())
