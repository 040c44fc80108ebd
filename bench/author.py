# SPDX-License-Identifier: Apache-2.0
"""What an author waits for: a watched run against the plain one, machine code and cost by call.

    python bench/author.py [--rounds 5]

Three kernels: 200 `with` blocks and 1,000 lines, both written to a file, and the Hopper GEMM of the
examples. A run on the emulator is `k.emulate(x)`, with `report=True` or with `trace=`; "first" is
the first call of a fresh process, which traces and decodes, and "again" the best of later ones. The
arms are interleaved, and each is compared with the plain run. `k.sass()` and `k.report()` are the
first and the second call of a process that finds the cubin on disk, as after a launch; most of the
first is the disassembler's own time, which is measured beside it.

A trace takes time by what it records: the last table has the 1,000 lines run more and more often,
and the line that fits best through its times: so much for nothing, so much for each event.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GEMM_SIZE = 256
REPEATS = 5
TURNS = (4, 8, 16, 32, 64, 128)
KERNELS = ("blocks", "lines", "gemm")
RUNS = ("plain", "report=True", "trace=")
CALLS = ("sass", "report")

HEAD = """\
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32


@kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), grid=(1, 1, 1), block=(32, 1, 1))
def k(X, Y, *, turns=4):
    px, py = ptx.global_ptrs(X, Y)
    total = reg.scalar(f32, init=0.0)
    ptx.inst.ld.global_.f32(total, ptx.addr(px))
"""
BLOCK = """\
    with ptx.range_(0, turns):
        ptx.inst.add.f32(total, total, total)
"""
LINE = """\
        ptx.inst.add.f32(total, total, total)
"""
TAIL = """\
    ptx.inst.st.global_.f32(ptx.addr(py), total)
    ptx.ret()
"""
SOURCES = {
    "blocks": HEAD + 200 * BLOCK + TAIL,
    "lines": HEAD + "    with ptx.range_(0, turns):\n" + 1000 * LINE + TAIL,
}


def subject(name: str, folder: Path) -> tuple[Any, tuple[Any, ...], dict[str, int]]:
    """Return a kernel, what it is run on, and the sizes that say the same without arrays."""
    if name == "gemm":
        sys.path.insert(0, str(ROOT / "examples" / "hopper"))
        import torch
        from gemm import build_gemm

        a = torch.ones(GEMM_SIZE, GEMM_SIZE, dtype=torch.bfloat16)
        return build_gemm(), (a, a), dict.fromkeys("MNK", GEMM_SIZE)
    import numpy as np

    sys.path.insert(0, str(folder))
    return importlib.import_module(f"author_{name}").k, (np.ones(32, np.float32),), {}


def milliseconds(step: Callable[[], Any]) -> float:
    """Return what a step takes."""
    begin = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - begin)


def run(k: Any, arrays: tuple[Any, ...], arm: str, folder: Path) -> None:
    """Run on the emulator, watched as the arm says."""
    if arm == "trace=":
        k.emulate(*arrays, trace=folder / "trace.json")
    else:
        k.emulate(*arrays, report=arm == "report=True")


def disassembler_milliseconds(cubin: bytes) -> dict[str, float]:
    """Return what the tools alone take for the two questions, as processes."""
    from pyptx import _toolchain

    return {
        "sass, tool": milliseconds(lambda: _toolchain.disassemble(cubin)),
        "report, tool": milliseconds(lambda: _toolchain.disassemble_with_lines(cubin)),
    }


def child(name: str, arm: str, folder: Path) -> dict[str, float]:
    """Measure in this process, which has done nothing yet."""
    k, arrays, sizes = subject(name, folder)
    if arm in RUNS:
        return {f"{arm} first": milliseconds(lambda: run(k, arrays, arm, folder))}
    cubin = k.cubin(**sizes)
    spent = {}
    for call in CALLS:
        method = functools.partial(getattr(k, call), **sizes)
        for which in ("first", "again"):
            spent[f"{call} {which}"] = milliseconds(method)
    return spent | disassembler_milliseconds(cubin)


def in_new_process(name: str, arm: str, folder: Path) -> dict[str, float]:
    """Run a child; what it measured."""
    command = [sys.executable, __file__, "--child", name, arm, str(folder)]
    env = {**os.environ, "PYPTX_CACHE_DIR": str(folder / "cubins")}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env)
    spent: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return spent


def again(name: str, folder: Path, rounds: int) -> dict[str, float]:
    """Return the best of runs in a process that has run them before."""
    k, arrays, _ = subject(name, folder)
    best = dict.fromkeys(RUNS, float("inf"))
    for _ in range(rounds * REPEATS):
        for arm in RUNS:
            taken = milliseconds(lambda arm=arm: run(k, arrays, arm, folder))
            best[arm] = min(best[arm], taken)
    return best


def goal(reached: bool, text: str) -> str:
    """Say whether a goal was reached."""
    return f"goal {text}: {'reached' if reached else 'NOT reached'}"


def measure(name: str, folder: Path, rounds: int, has_tools: bool) -> None:
    """Print the table of one kernel."""
    rows: dict[str, list[float]] = {}
    for _ in range(rounds):
        for arm in (*RUNS, "calls") if has_tools else RUNS:
            for row, taken in in_new_process(name, arm, folder).items():
                rows.setdefault(row, []).append(taken)
    spent = {row: statistics.median(values) for row, values in rows.items()}
    later = again(name, folder, rounds)
    print(f"\n{name:14}  first ms  x plain  again ms  x plain")
    for arm in RUNS:
        first, best = spent[f"{arm} first"], later[arm]
        ratios = first / spent["plain first"], best / later["plain"]
        line = f"  {arm:12} {first:9.2f} {ratios[0]:8.2f} {best:9.2f} {ratios[1]:8.2f}"
        if arm == "report=True":
            pairs = (first, spent["plain first"]), (best, later["plain"])
            line += "   " + goal(all(one <= 2 * p + 50 for one, p in pairs), "2 x plain + 50 ms")
        print(line)
    for call in CALLS if has_tools else ():
        first, best, tool = (spent[f"{call}{part}"] for part in (" first", " again", ", tool"))
        line = f"  {call + '()':12} {first:9.2f} {'':8} {best:9.2f} {'':8}"
        print(f"{line}   {goal(best <= 1, '1 ms again')}; the tool alone {tool:.2f}")


def trace_by_events(folder: Path, rounds: int) -> None:
    """Print what a trace takes by the events that it records."""
    k, arrays, _ = subject("lines", folder)
    path = folder / "trace.json"
    best = dict.fromkeys(TURNS, float("inf"))
    events = {}
    for _ in range(rounds * REPEATS):
        for turns in TURNS:
            path.unlink(missing_ok=True)  # emptying a long file takes longer than a short trace
            step = functools.partial(k.emulate, *arrays, trace=path, turns=turns)
            best[turns] = min(best[turns], milliseconds(step))
            events[turns] = path.read_bytes().count(b"\n")
    print("\ntrace= of 1,000 lines\n    events        ms  ms of twice as many, over these")
    for turns, twice in zip(TURNS, (*TURNS[1:], None), strict=True):
        ratio = "" if twice is None else f"{best[twice] / best[turns]:.2f}"
        print(f"  {events[turns]:8,} {best[turns]:9.2f}  {ratio}")
    slope, fixed = statistics.linear_regression(
        [events[turns] for turns in TURNS], [best[turns] for turns in TURNS]
    )
    print(f"  about {fixed:.2f} ms, and {1e6 * slope:.0f} ns for each event")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        name, arm, folder = asked.child
        print(json.dumps(child(name, arm, Path(folder))))
        return 0
    from pyptx import _toolchain

    has_tools = _toolchain.missing_assembler() is None and bool(_toolchain.find_tool("nvdisasm"))
    if not has_tools:
        print("no assembler or no disassembler here: sass() and report() are left out")
    with tempfile.TemporaryDirectory(prefix="pyptx-author-") as text:
        folder = Path(text)
        for name, source in SOURCES.items():
            (folder / f"author_{name}.py").write_text(source)
        for name in KERNELS:
            try:
                measure(name, folder, asked.rounds, has_tools)
            except (ModuleNotFoundError, subprocess.CalledProcessError) as error:
                print(f"\n{name}: left out, {error}")
        trace_by_events(folder, asked.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
