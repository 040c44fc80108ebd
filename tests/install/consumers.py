# SPDX-License-Identifier: Apache-2.0
"""Programs of users, outside of the tree: every way to the library, with both compilers.

`make consumers` runs it, after building what it installs: static libraries (build/release), one
shared library (build/shared), and what the sanitizers watch (build/asan, build/tsan). Each row of
what it prints is a project that was configured, built with -Werror and run. The first that fails
ends it, with what the tools said.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from support.compile_errors import clang_errors

ROOT = Path(__file__).resolve().parents[2]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
COMPILERS = ("g++-12", "clang++-19")
SANITIZERS = {"asan": "address,undefined", "tsan": "thread"}
GOOD = ".version 8.0\n.target sm_90a\n.address_size 64\n\n.visible .entry k()\n{\n\tret;\n}\n"


def run(*command: str | Path, text: str | None = None, **more: str) -> str:
    """Run a command; what a failing one said ends the script."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, input=text, capture_output=True, text=True, check=False, env=os.environ | more
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(build: Path, prefix: Path) -> Path:
    run("cmake", "--install", build, "--component", "development", "--prefix", prefix)
    return prefix


def build(source: Path, folder: Path, compiler: str, *options: str) -> Path:
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_COMPILER={compiler}", *options)  # fmt: skip
    run("cmake", "--build", folder, "--target", "consumer", "every_option", "threads")
    return folder


def check_programs(folder: Path, **more: str) -> None:
    """Run what was built."""
    assert run(folder / "consumer", text=GOOD, **more) == GOOD
    run(folder / "every_option", **more)
    assert run(folder / "threads", **more) == "96 launches, 0 wrong\n"


def found(sources: Path, work: Path) -> Iterator[str]:
    """find_package with components, static and shared."""
    for kind, tree in (("static", "release"), ("shared", "shared")):
        prefix = install(ROOT / "build" / tree, work / kind)
        if kind == "shared":
            check_shown(next(prefix.rglob("libpyptx.so")))
        for compiler in COMPILERS:
            folder = work / f"find-{kind}-{compiler}"
            check_programs(build(sources, folder, compiler, f"-DCMAKE_PREFIX_PATH={prefix}"))
            yield f"find_package, {kind}, {compiler}"
            by_package(sources, prefix, compiler, work / f"pc-{kind}-{compiler}")
            yield f"pkg-config, {kind}, {compiler}"


def by_package(sources: Path, prefix: Path, compiler: str, folder: Path) -> None:
    folder.mkdir()
    paths = ":".join(str(path) for path in prefix.rglob("pkgconfig"))
    flags = {kind: run("pkg-config", kind, "pyptx", PKG_CONFIG_PATH=paths).split()
             for kind in ("--cflags", "--libs")}  # fmt: skip
    for name in ("consumer", "every_option", "threads"):
        run(compiler, "-std=c++20", "-O1", *WARNINGS, *flags["--cflags"], sources / f"{name}.cpp",
            "-o", folder / name, *flags["--libs"], "-pthread")  # fmt: skip
    libraries = ":".join({str(path.parent) for path in prefix.rglob("libpyptx*")})
    check_programs(folder, LD_LIBRARY_PATH=libraries)


def check_shown(library: Path) -> None:
    """Refuse a name that the shared library shows and that is none of ours."""
    names = run("nm", "-DC", "--defined-only", library).splitlines()
    shown = [line.split(maxsplit=2)[2] for line in names]
    ours = re.compile(r"(.*\b(for|\w) )?pyptx::|pyptx_shim_")
    if others := [name for name in shown if not ours.match(name)]:
        sys.exit(f"{library} shows {len(others)} names of others: {others[:8]}")
    print(f"  {library.name}: {len(shown)} names, all of namespace pyptx or pyptx_shim_*")


def fetched(sources: Path, work: Path) -> Iterator[str]:
    """FetchContent: the library is compiled by the user's compiler."""
    for compiler in COMPILERS:
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        folder = build(sources / "fetched", work / f"fetch-{compiler}", compiler,
                       f"-DPYPTX_SOURCE={ROOT}", *launcher)  # fmt: skip
        check_programs(folder)
        yield f"FetchContent, {compiler}"


def sanitized(sources: Path, work: Path) -> Iterator[str]:
    """Eight threads, under the sanitizers."""
    for tree, sanitizer in SANITIZERS.items():
        prefix = install(ROOT / "build" / tree, work / tree)
        flags = f"-DCMAKE_CXX_FLAGS=-fsanitize={sanitizer} -fno-sanitize-recover=all -g1"
        folder = build(sources, work / f"find-{tree}", "g++-12", flags,
                       f"-DCMAKE_PREFIX_PATH={prefix}")  # fmt: skip
        check_programs(folder)
        yield f"find_package, -fsanitize={sanitizer}, g++-12"


def misused(sources: Path, work: Path) -> Iterator[str]:
    """What clang says of what does not compile; PYPTX_UPDATE_GOLDENS=1 writes the golden anew."""
    prefix = install(ROOT / "build/release", work / "misused")
    source = sources / "misuses.cpp"
    done = subprocess.run(
        ["clang++-19", "-std=c++20", "-fsyntax-only", "-ferror-limit=0", "-fno-caret-diagnostics",
         f"-I{prefix}/include", str(source)], capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = clang_errors(done.stderr, source)
    lines = enumerate(source.read_text(encoding="utf-8").splitlines(), 1)
    wrong = {number: line.split("  //: ")[0].strip() for number, line in lines if "  //: " in line}
    assert found.keys() == wrong.keys(), found.keys() ^ wrong.keys()
    shown = "".join(
        f"{code}\n" + "".join(f"  {words}\n" for words in found[number])
        for number, code in wrong.items()
    )
    golden = ROOT / "tests/install/misuses_clang.txt"
    if os.environ.get("PYPTX_UPDATE_GOLDENS"):
        golden.write_text(shown, encoding="utf-8")
    if shown != golden.read_text(encoding="utf-8"):
        before = golden.read_text(encoding="utf-8").splitlines()
        sys.exit("\n".join(difflib.unified_diff(before, shown.splitlines(), lineterm="")))
    yield f"{len(wrong)} misuses, clang++-19"


def main() -> int:
    """Run the parts that are named, or all."""
    parts = {"misused": misused, "found": found, "sanitized": sanitized, "fetched": fetched}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="all of them by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pyptx-consumers-") as name:
        work = Path(name)
        sources = work / "tests/install"
        shutil.copytree(ROOT / "tests/install", sources)
        shutil.copytree(ROOT / "examples/cpp", work / "examples/cpp")
        for part in options.parts or parts:
            began = time.monotonic()
            for row in parts[part](sources, work):
                print(f"{row}: {time.monotonic() - began:.0f} s", flush=True)
                began = time.monotonic()
    return 0


if __name__ == "__main__":
    sys.exit(main())
