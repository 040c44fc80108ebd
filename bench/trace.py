# SPDX-License-Identifier: Apache-2.0
"""Tracing and importing: an unrolled kernel of 50,000 instructions through Python and through C++.

    python bench/trace.py [--rounds 7]

Each instruction is verified as it goes in and knows the line that wrote it. Through Python, on one
core: the body alone, which is what an author's calls cost; `ptx()`, with `.loc` lines and text; and
the body where every call is a C function that does nothing, the bound of any tracer of Python
calls. Through C++: `trace_bench`, whole traces of the same kernel, whose text must be equal, one
after the other and with every page asked of the operating system anew. The import is
`import pyptx`, compiled to bytecode as an installed package is, against the bare interpreter.

Figures are burst figures: the best of the rounds in CPU time, the median for the import.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32

ROOT = Path(__file__).resolve().parent.parent
GROUPS = 12500
INSTRUCTIONS = 4 * GROUPS
VALUES = 8
GOALS = {"python": 700_000, "c++": 8_000_000, "import": 60.0}

_marks: list[float] = []


def body(X, Y, ptx, reg):
    """Emit the groups, through whatever `ptx` and `reg` are."""
    px, py = ptx.global_ptrs(X, Y)
    total = reg.scalar(f32, init=0.0)
    values = reg.array(f32, VALUES)
    for i in range(GROUPS):
        value = values[i % VALUES]
        ptx.inst.ld.global_.f32(value, ptx.addr(px, i * 4))
        ptx.inst.fma.rn.f32(total, value, value, total)
        ptx.inst.add.f32(value, value, total)
        ptx.inst.st.global_.f32(ptx.addr(py, i * 4), value)


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=(1, 1, 1), block=(32, 1, 1))
def unrolled(X, Y, *, attempt=0):
    """Emit the body and note when it began and ended; `attempt` makes each trace a new one."""
    begin = time.thread_time()
    body(X, Y, ptx, reg)
    _marks.append(time.thread_time() - begin)
    ptx.ret()


def nothing_seconds() -> float:
    """Return the time of the same body where every call is a C function that does nothing."""
    leaf = SimpleNamespace(f32=_nothing)
    branch = SimpleNamespace(f32=_nothing, global_=leaf, rn=leaf)
    inst = SimpleNamespace(ld=branch, fma=branch, add=branch, st=branch)
    empty_ptx = SimpleNamespace(inst=inst, addr=_nothing, global_ptrs=lambda *names: names)
    empty_reg = SimpleNamespace(scalar=lambda *_, **__: 0, array=lambda _, count: [0] * count)
    begin = time.thread_time()
    body("X", "Y", empty_ptx, empty_reg)
    return time.thread_time() - begin


_nothing = "".format  # takes anything, as the calls of ptx.inst do


def python_round(attempt: int) -> dict[str, float]:
    """Return instructions per second of one fresh trace."""
    begin = time.thread_time()
    unrolled.ptx(N=GROUPS, attempt=attempt)
    whole = time.thread_time() - begin
    return {
        "body": INSTRUCTIONS / _marks.pop(),
        "ptx()": INSTRUCTIONS / whole,
        "calls alone": INSTRUCTIONS / nothing_seconds(),
    }


def find_bench() -> Path | None:
    """Return the newest trace_bench among the build folders."""
    found = ROOT.glob("build/*/bench/trace_bench")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def cpp_rates(program: Path) -> dict[str, float]:
    """Return instructions per second by kind of trace, as trace_bench prints them."""
    command = [str(program), "--seconds", "0.2"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {f"c++, {kind}": float(rate) for rate, kind in re.findall(r"(\d+) \S+, (.*)", text)}


def is_same_text(program: Path) -> bool:
    """Whether both versions of the kernel are one kernel."""
    os.environ["PYPTX_LINEINFO"] = "0"
    ours = unrolled.ptx(N=GROUPS)
    del os.environ["PYPTX_LINEINFO"]
    _marks.clear()
    theirs = subprocess.run([str(program), "--print"], check=True, capture_output=True, text=True)
    return ours.strip() == theirs.stdout.strip()


def start_milliseconds(code: str, bytecode: str) -> float:
    """Return the CPU time of a fresh interpreter that runs `code`, with compiled files there."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTHONPYCACHEPREFIX": bytecode,
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def import_milliseconds(bytecode: str) -> float:
    """Return what `import pyptx` adds to the start of an interpreter."""
    with_package = start_milliseconds("import pyptx", bytecode)
    return with_package - start_milliseconds("pass", bytecode)


def show(name: str, figure: str, goal: str, reached: bool) -> None:
    print(f"  {name:<30} {figure:>22}   goal {goal}: {'reached' if reached else 'NOT reached'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    program = find_bench()
    rates: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as bytecode:
        import_milliseconds(bytecode)  # compiles
        imports = [import_milliseconds(bytecode) for _ in range(options.rounds)]
    for attempt in range(1, options.rounds + 1):
        for name, rate in python_round(attempt).items():
            rates.setdefault(name, []).append(rate)
        for name, rate in (cpp_rates(program) if program else {}).items():
            rates.setdefault(name, []).append(rate)
    best = {name: max(values) for name, values in rates.items()}
    count = len(re.findall(r";$", unrolled.ptx(N=GROUPS, attempt=1), re.MULTILINE))
    print(f"unrolled kernel, {count} statements, verified, with source locations; best of rounds:")
    goal = GOALS["python"]
    show("Python, the body", f"{best['body']:,.0f} /s", f"{goal:,} /s", best["body"] >= goal)
    print(f"  {'Python, ptx() with text':<30} {best['ptx()']:>20,.0f} /s")
    share = best["body"] / best["calls alone"]
    print(f"  {'Python, calls that do nothing':<30} {best['calls alone']:>20,.0f} /s")
    print(f"  the body runs at {share:.0%} of the rate of calls that do nothing")
    if program is None:
        print("  C++: build trace_bench with -DPYPTX_BENCH=ON", file=sys.stderr)
        return 1
    goal, native = GOALS["c++"], best["c++, ordinary"]
    show("C++", f"{native:,.0f} /s", f"{goal:,} /s", native >= goal)
    print(f"  {'C++, pages fresh each time':<30} {best['c++, fresh pages']:>20,.0f} /s")
    print(f"  C++ is {native / best['body']:.1f} times Python")
    taken = statistics.median(imports)
    show("import pyptx, above bare", f"{taken:.1f} ms CPU", "60 ms", taken <= GOALS["import"])
    if not is_same_text(program):
        print("bench/trace.py: the two versions trace different text", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
