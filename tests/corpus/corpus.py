# SPDX-License-Identifier: Apache-2.0
"""The corpus: PTX that nvcc makes of the programs in this folder, and what must hold of each file.

Compiled files are kept under build/corpus, named by what they were made of. The checks: the
lossless print is the input byte for byte, the verifier finds no error, and ptxas makes the same
machine code of the canonical print. The `roundtrip` program (roundtrip.cpp) parses and prints.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import struct
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / "build" / "corpus"
TOOLKIT = Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13"

ARCHITECTURES = ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_107a", "sm_120")
# How nvcc is called, and how ptxas is for the result.
MODES: dict[str, tuple[list[str], list[str]]] = {
    "plain": ([], []),
    "lineinfo": (["-lineinfo"], ["-lineinfo"]),
    "debug": (["-G"], ["-g"]),
    "rdc": (["-rdc=true"], ["-c"]),
}
# Launching kernels from kernels is relocatable device code only.
ONLY_RELOCATABLE = {"dynamic_parallelism"}
NVCC = ["-ptx", "-std=c++17", "--extended-lambda", "-diag-suppress=20044"]


@dataclass(frozen=True)
class Case:
    """One program, compiled one way."""

    program: str
    architecture: str
    mode: str

    def __str__(self) -> str:
        return f"{self.program}-{self.architecture}-{self.mode}"


def programs() -> list[str]:
    """The names of the programs."""
    return sorted(path.stem for path in HERE.glob("*.cu"))


def cases() -> Iterator[Case]:
    """The full matrix."""
    for program in programs():
        for architecture in ARCHITECTURES:
            for mode in MODES:
                if mode == "rdc" or program not in ONLY_RELOCATABLE:
                    yield Case(program, architecture, mode)


def is_available() -> bool:
    """Are nvcc, cicc, ptxas and the CUDA and CCCL headers of the pinned wheels installed?"""
    needed = ("bin/nvcc", "bin/ptxas", "nvvm/bin/cicc", "include/cccl/cub/cub.cuh")
    return all((TOOLKIT / name).exists() for name in needed)


def compile_case(case: Case) -> Path:
    """The PTX of a case, compiled when it is not in the cache."""
    options = [*NVCC, *MODES[case.mode][0], f"-arch={case.architecture}"]
    return compile_source(HERE / f"{case.program}.cu", options, str(case))


def compile_source(source: Path, options: list[str], name: str) -> Path:
    """The PTX of a program, compiled when it is not in the cache."""
    version = (TOOLKIT / "bin" / "nvcc.profile").stat().st_mtime_ns
    key = hashlib.sha256(repr((source.read_bytes(), options, version)).encode()).hexdigest()[:16]
    out = CACHE / f"{name}-{key}.ptx"
    if not out.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        partial = out.with_suffix(f".{os.getpid()}.partial")
        # A relative name: debug information must not carry the place of the checkout.
        command = [str(TOOLKIT / "bin" / "nvcc"), *options, source.name, "-o", str(partial)]
        result = subprocess.run(
            command, cwd=source.parent, capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise RuntimeError(f"{name}: nvcc fails:\n{result.stderr}")
        partial.rename(out)
    return out


def machine_code(ptx: Path, case: Case) -> dict[str, bytes]:
    """What ptxas makes of a file: its code and initialised data by section."""
    cubin = ptx.with_suffix(f".{os.getpid()}.cubin")
    options = [*MODES[case.mode][1], f"-arch={case.architecture}"]
    command = [str(TOOLKIT / "bin" / "ptxas"), *options, str(ptx), "-o", str(cubin)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{case}: ptxas refuses {ptx.name}:\n{result.stderr[:2000]}")
    try:
        return sections(cubin.read_bytes())
    finally:
        cubin.unlink()


def sections(elf: bytes) -> dict[str, bytes]:
    """The code, constants and initialised variables of a cubin by section name."""
    table, size, count, names = struct.unpack_from("<Q10xHHH", elf, 0x28)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    strings = headers[names][4]
    found = {}
    for name, kind, _, _, offset, length in headers:
        end = elf.index(b"\0", strings + name)
        text = elf[strings + name : end].decode()
        if text.startswith((".text.", ".nv.constant", ".nv.global.init")) and kind != 8:
            found[text] = elf[offset : offset + length]
    return found


def find_roundtrip() -> Path | None:
    """The newest roundtrip program among the build folders, or the one PYPTX_ROUNDTRIP names."""
    named = os.environ.get("PYPTX_ROUNDTRIP")
    found = [Path(named)] if named else list(ROOT.glob("build/*/tests/corpus/roundtrip"))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def check(case: Case, program: Path, *, is_assembled: bool = True) -> list[str]:
    """What is wrong with a case; nothing, when all holds."""
    try:
        ptx = compile_case(case)
    except RuntimeError as error:
        return [str(error)]
    canonical = ptx.with_suffix(".canonical")
    command = [str(program), str(ptx), str(canonical)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    problems = [f"{case}: {line}" for line in result.stdout.splitlines()]
    if result.returncode < 0:
        problems.append(f"{case}: roundtrip dies of signal {-result.returncode}")
    if problems or not is_assembled:
        return problems
    key = hashlib.sha256(canonical.read_bytes()).hexdigest()[:16]
    marker = canonical.with_suffix(f".{key}.same")
    if marker.exists():
        return []
    try:
        ours, theirs = machine_code(canonical, case), machine_code(ptx, case)
    except RuntimeError as error:
        return [str(error)]
    if not any(name.startswith(".text.") for name in theirs):
        problems.append(f"{case}: no code to compare")
    problems += [
        f"{case}: section {name} differs"
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    ]
    if not problems:
        marker.touch()
    return problems


def main() -> int:
    """Check the full matrix, or what the arguments select; exit status 1 when something fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="names of programs; else all")
    parser.add_argument("-a", "--architecture", action="append", choices=ARCHITECTURES)
    parser.add_argument("-m", "--mode", action="append", choices=list(MODES))
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-assembly", action="store_true", help="do not compare machine code")
    options = parser.parse_args()
    program = find_roundtrip()
    if program is None or not is_available():
        print("corpus: needs the roundtrip program and the CUDA wheels", file=sys.stderr)
        return 2
    chosen = [
        case
        for case in cases()
        if (not options.programs or case.program in options.programs)
        and (not options.architecture or case.architecture in options.architecture)
        and (not options.mode or case.mode in options.mode)
    ]
    start = time.monotonic()
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = pool.map(lambda c: check(c, program, is_assembled=not options.no_assembly), chosen)
        for problems in jobs:
            failed += bool(problems)
            for problem in problems[:5]:
                print(problem, flush=True)
    print(
        f"corpus: {len(chosen)} files of {len({case.program for case in chosen})} programs, "
        f"{failed} failed [{time.monotonic() - start:.0f} s]"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
