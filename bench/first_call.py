# SPDX-License-Identifier: Apache-2.0
"""The first call of a kernel in a new process, with the cubin on disk and without.

    python bench/first_call.py [--rounds 9]

Each figure is the median (and the best) over fresh processes, in milliseconds, after the
interpreter, torch and a CUDA context are up. On a GPU the call is a launch through torch, up to the
end of the kernel; without one it is `Kernel.cubin()`, which is all of it but loading and launching.
Two kernels: a sum of vectors, and the Hopper GEMM of the examples.

Warm: the disk cache has the cubin. The goal is 10 ms. Cold: it is empty, and the goal is the
assembler's own time (opening it and assembling the same text, in a process of its own) plus 20 ms.

The steps are timed in further processes, one after the other, each once those before it are done;
"the rest of the call" is binding, loading, launching and what is done twice (the key, reading).
"""

from __future__ import annotations

import argparse
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
GOALS = {"warm": 10.0, "cold": 20.0}
SIZE = 1 << 16
GEMM_SIZE = 512
ON_GPU = "FIRST_CALL_ON_GPU"  # tells the processes


class Clock:
    """Milliseconds by name."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def time(self, name: str, step: Callable[[], Any]) -> Any:
        """Run a step and note what it took."""
        begin = time.perf_counter()
        result = step()
        self.spent[name] = (time.perf_counter() - begin) * 1e3
        return result


def make_sum() -> Any:
    """Return the sum of two vectors."""
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32, u64

    @kernel(
        in_specs=(Tile("N", f32), Tile("N", f32)),
        out_specs=(Tile("N", f32),),
        grid=lambda N: ((N + 255) // 256, 1, 1),
        block=(256, 1, 1),
    )
    def add(A, B, C):
        a, b, c = ptx.global_ptrs(A, B, C)
        index = reg.scalar(u32)
        ptx.inst.mad.lo.u32(index, ptx.special.ctaid.x(), 256, ptx.special.tid.x())
        with ptx.if_(index < A.shape[0]):
            offset = reg.from_(index, u64) << 2
            x, y = reg.scalar(f32), reg.scalar(f32)
            ptx.inst.ld.global_.f32(x, ptx.addr(a + offset))
            ptx.inst.ld.global_.f32(y, ptx.addr(b + offset))
            ptx.inst.add.f32(x, x, y)
            ptx.inst.st.global_.f32(ptx.addr(c + offset), x)
        ptx.ret()

    return add


def make_gemm() -> Any:
    """Return the Hopper GEMM."""
    sys.path.insert(0, str(ROOT / "examples"))
    from hopper.gemm import build_gemm

    return build_gemm()


def arguments(name: str, torch: Any) -> tuple[Any, ...]:
    """Return tensors for a call."""
    if name == "vectors":
        return torch.ones(SIZE, device="cuda"), torch.ones(SIZE, device="cuda")
    shape = (GEMM_SIZE, GEMM_SIZE)
    return tuple(torch.ones(shape, dtype=torch.bfloat16, device="cuda") for _ in range(2))


def dimensions(name: str) -> dict[str, int]:
    """Return the same sizes, for a kernel that is only assembled."""
    if name == "vectors":
        return {"N": SIZE}
    return {"M": GEMM_SIZE, "N": GEMM_SIZE, "K": GEMM_SIZE}


def start(clock: Clock) -> Any:
    """Do what a program has done before it calls a kernel; return torch where there is a GPU."""
    torch: Any = None
    if os.environ.get(ON_GPU):
        torch = clock.time("import torch", lambda: __import__("torch"))
        torch.zeros(1, device="cuda").add_(1)
        torch.cuda.synchronize()
    clock.time("import pyptx", lambda: __import__("pyptx"))
    return torch


def has_gpu() -> bool:
    """Whether torch can launch here."""
    from pyptx import _core

    try:
        return _core.device_count() > 0 and bool(__import__("torch").cuda.is_available())
    except ImportError:
        return False


def call(kernel: Any, name: str, torch: Any, given: tuple[Any, ...]) -> None:
    """Make the first call."""
    if torch is None:
        kernel.cubin(**dimensions(name))
        return
    kernel(*given)
    torch.cuda.synchronize()


def whole(name: str, clock: Clock) -> None:
    """Time a first call, and a second one, which is what it comes to later."""
    torch = start(clock)
    given = () if torch is None else arguments(name, torch)
    make = make_sum if name == "vectors" else make_gemm
    kernel = clock.time("decorate", make)
    clock.time("first call", lambda: call(kernel, name, torch, given))
    clock.time("second call", lambda: call(kernel, name, torch, given))


def steps(name: str, clock: Clock) -> None:
    """Time the parts of a first call that can be done by themselves."""
    torch = start(clock)
    from pyptx import _core, _toolchain, cache

    kernel = (make_sum if name == "vectors" else make_gemm)()
    if torch is not None:
        clock.time("import pyptx's torch", lambda: importlib.import_module("pyptx._torch.eager"))
        clock.time("learn torch's layout", lambda: _core.torch_indirect(None))
    text = clock.time("trace", lambda: kernel.ptx(**dimensions(name)))
    clock.time("folders", _toolchain.announce_folders)
    compiler = clock.time("compiler's identity", _core.current_compiler)
    key = cache.CacheKey(text, "sm_90a", ("-lineinfo",), compiler)
    clock.time("key", lambda: key.digest)
    kept = cache.get_global_cache()
    if clock.time("read and check", lambda: kept.get(key)) is None:
        print(f"{name}: this text and target are not in the cache", file=sys.stderr)
    if torch is not None:
        given = arguments(name, torch)
        clock.time("the rest of the call", lambda: call(kernel, name, torch, given))


def assembler(name: str, clock: Clock) -> None:
    """Time the assembler alone: opening it and assembling the text."""
    start(clock)
    from pyptx import _core, _toolchain

    text = (make_sum if name == "vectors" else make_gemm)().ptx(**dimensions(name))
    _toolchain.announce_folders()
    clock.time("open", _core.find_compiler)
    clock.time("assemble", lambda: _core.assemble(text, "sm_90a", ["-lineinfo"], use_cache=False))
    clock.spent["assembler"] = clock.spent["open"] + clock.spent["assemble"]


CHILDREN = {"whole": whole, "steps": steps, "assembler": assembler}


def child(mode: str, name: str, folder: Path) -> dict[str, float]:
    """Run one fresh process; the milliseconds that it noted."""
    # Bytecode is kept, as that of an installed package is.
    bytecode = {"PYTHONPYCACHEPREFIX": str(folder.parent / "bytecode")}
    env = {**os.environ, "PYPTX_CACHE_DIR": str(folder), **bytecode}
    for variable in ("PYPTX_CACHE", "PYTHONDONTWRITEBYTECODE"):
        env.pop(variable, None)
    done = subprocess.run(
        [sys.executable, __file__, "--child", mode, name],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    if "not in the cache" in done.stderr:
        print(done.stderr, end="", file=sys.stderr)
    spent: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return spent


def measure(name: str, rounds: int) -> bool:
    """Print the figures of one kernel; whether the goals are met. The arms are interleaved."""
    warm, cold, parts, alone = [], [], [], []
    with tempfile.TemporaryDirectory(prefix="pyptx-first-call-") as folder:
        kept = Path(folder) / "warm"
        for mode in CHILDREN:  # also keeps the cubin, and the bytecode
            child(mode, name, kept)
        for round_number in range(rounds):
            warm.append(child("whole", name, kept))
            cold.append(child("whole", name, Path(folder) / f"cold{round_number}"))
            parts.append(child("steps", name, kept))
            alone.append(child("assembler", name, kept))
    for one, other in zip(cold, alone, strict=True):
        one["our part"] = one["first call"] - other["assembler"]
    print(f"\n{name:28s} median     best")
    show("warm: first call", warm, "first call", f"goal {GOALS['warm']:.0f}")
    show("      second call", warm, "second call")
    show("cold: first call", cold, "first call")
    show("      opening the assembler", alone, "open")
    show("      assembling", alone, "assemble")
    show("      what is left", cold, "our part", f"goal {GOALS['cold']:.0f}")
    for step in parts[0]:
        show(f"  {step}", parts, step)
    show("  decorate", warm, "decorate")
    return (
        statistics.median(row["first call"] for row in warm) <= GOALS["warm"]
        and statistics.median(row["our part"] for row in cold) <= GOALS["cold"]
    )


def show(label: str, rows: list[dict[str, float]], name: str, remark: str = "") -> None:
    """Print one line: the median and the best of a name."""
    values = [row[name] for row in rows]
    print(f"  {label:24s} {statistics.median(values):8.2f} {min(values):8.2f}   {remark}".rstrip())


def main() -> int:
    """Measure both kernels; the exit status says whether the goals are met."""
    parser = argparse.ArgumentParser(description="first call of a kernel")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        clock = Clock()
        CHILDREN[asked.child[0]](asked.child[1], clock)
        print(json.dumps(clock.spent))
        return 0
    from pyptx import _core, _toolchain

    _toolchain.announce_folders()
    is_launched = has_gpu()
    if is_launched:
        os.environ[ON_GPU] = "1"
    what = _core.driver_status()[1] if is_launched else "no GPU for torch: Kernel.cubin() only"
    print(f"{what}; assembler: {_core.find_compiler()[0]}")
    met = [measure(name, asked.rounds) for name in ("vectors", "gemm")]
    print("\ngoals met" if all(met) else "\ngoals not met")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
