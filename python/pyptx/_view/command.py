# SPDX-License-Identifier: Apache-2.0
"""`pyptx view` and `pyptx sass`: kernels and files named on a command line.

Exit status as of the other commands: 0 all is well, 1 the input has errors, 2 the words were wrong.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyptx import _core, _toolchain
from pyptx._errors import Error
from pyptx._view import named
from pyptx._view.named import Named, UsageError

_COMPILERS = ("best", "nvjitlink", "ptxas", "driver")
_WHAT = "kernel.py:NAME (a kernel, or a function that gives one), a file of PTX, a saved kernel"


def main(words: Sequence[str]) -> int:
    """Run the command that the first word names."""
    command, *rest = words
    try:
        return _sass(rest) if command == "sass" else _view(rest)
    except UsageError as problem:
        print(f"pyptx {command}: {problem}", file=sys.stderr)
        return 2
    except (Error, OSError, RuntimeError) as problem:
        print(f"pyptx {command}: {problem}", file=sys.stderr)
        return 1


def _parser(command: str, about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"pyptx {command}", description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--arch", metavar="SM", help="for this target instead of the kernel's own")
    parser.add_argument(
        "--compiler",
        metavar="NAME",
        default="best",
        help="best, nvjitlink, ptxas, driver, or the path of a ptxas",
    )
    return parser


@contextmanager
def _compiler(name: str) -> Iterator[str]:
    """Have the core use this compiler; one that is a path is the ptxas meanwhile."""
    if os.sep not in name:
        if name not in _COMPILERS:
            named = ", ".join(_COMPILERS)
            raise UsageError(f"--compiler is one of {named}, or the path of a ptxas, not {name!r}")
        yield name
        return
    if not os.access(name, os.X_OK):
        raise UsageError(f"--compiler {name}: there is no such program")
    before = os.environ.get("PYPTX_PTXAS")
    os.environ["PYPTX_PTXAS"] = name
    try:
        yield "ptxas"
    finally:
        if before is None:
            del os.environ["PYPTX_PTXAS"]
        else:
            os.environ["PYPTX_PTXAS"] = before


# --- sass ---------------------------------------------------------------------------------------


def _sass(words: Sequence[str]) -> int:
    parser = _parser("sass", "Print machine code: labels, and each instruction behind its address.")
    parser.add_argument("what", help=f"{_WHAT}, or a cubin")
    parser.add_argument("values", nargs="*", metavar="NAME=VALUE", help="sizes, template values")
    parser.add_argument("--raw", action="store_true", help="with encodings, as NVIDIA's tools do")
    options = parser.parse_args(words)
    found = named.find(options.what)
    cubin = found.cubin
    if cubin is None:
        text, target = _ptx_of(found, options)
        with _compiler(options.compiler) as compiler:
            cubin = bytes(_assembled(text, target, compiler))
    from pyptx._report.answers import listing_of

    print(_toolchain.disassemble(cubin) if options.raw else listing_of(cubin))
    return 0


def _ptx_of(found: Named, options: argparse.Namespace) -> tuple[str, str]:
    values, target = named.values_of(options.values), options.arch
    if found.kernel is None:
        _refuse_values(options.values)
        assert found.text is not None
        return found.text, target or _core.parse(found.text, found.file, recover=True).target
    from pyptx._call.inspection import facts_of

    kernel = found.kernel
    facts, _, _ = facts_of(kernel, values, target)
    traced = kernel.specializer.trace(facts, kernel._refreshed().captures).traced
    return traced.text, facts.target


def _refuse_values(words: Sequence[str]) -> None:
    if words:
        raise UsageError(f"{words[0]}: sizes and template values are for kernels in Python")


def _assembled(text: str, target: str, compiler: str) -> bytes:
    missing = _toolchain.missing_assembler()
    if missing is not None:
        raise RuntimeError(missing)
    cubin, _, _ = _core.assemble(text, target, compiler=compiler)
    return bytes(cubin)


# --- view ---------------------------------------------------------------------------------------


def _view(words: Sequence[str]) -> int:
    parser = _parser(
        "view",
        "Write a page that shows source, PTX and machine code side by side, linked line by line.\n"
        "With --diff: two kernels, versions or compilers' results beside each other. Options and\n"
        "values then take two words with a comma between them, the first for the first side:\n"
        "  pyptx view --diff gemm.py:gemm BM=64,128\n"
        "  pyptx view --diff old.ptx new.ptx\n"
        "  pyptx view --diff kernel.ptx --compiler ptxas,nvjitlink",
    )
    parser.add_argument("what", nargs="+", metavar="WHAT [NAME=VALUE ...]", help=_WHAT)
    parser.add_argument("-o", "--output", metavar="FILE", help="the page; NAME.html, diff.html")
    parser.add_argument("--diff", action="store_true", help="compare two")
    parser.add_argument(
        "--run",
        action="store_true",
        help="run on the emulator, on made-up inputs: counters, findings, timeline",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the made-up inputs")
    parser.add_argument("--limit", metavar="LIMIT", help="of the run: 1000000 (instructions), 10s")
    parser.add_argument(
        "--source",
        metavar="FOLDER",
        action="append",
        default=[],
        help="where files that .loc names may be",
    )
    options = parser.parse_args(words)
    options.values = [word for word in options.what if _is_value(word)]
    targets = [word for word in options.what if not _is_value(word)]
    if len(targets) not in ((1, 2) if options.diff else (1,)):
        wanted = "one or two of them" if options.diff else "one of them; --diff takes two"
        raise UsageError(f"it shows {wanted}, not {len(targets)}")
    view = _diff(targets, options) if options.diff else _one(named.find(targets[0]), options)
    name = "diff" if options.diff else re.sub(r"[^\w.-]+", "_", view.title)
    path = Path(options.output or f"{name}.html")
    view.save(path)
    print(f"{path}: {path.stat().st_size} bytes")
    return 0


def _is_value(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _one(found: Named, options: argparse.Namespace, side: int | None = None) -> Any:
    with _compiler(named.of_side(options.compiler, side) or "best") as compiler:
        return _viewed(found, options, side, compiler)


def _viewed(found: Named, options: argparse.Namespace, side: int | None, compiler: str) -> Any:
    from pyptx._view.view import view_of_kernel, view_of_text

    target = named.of_side(options.arch, side)
    if found.kernel is None:
        _refuse_values(options.values)
        if found.text is None:
            raise UsageError(f"{found.file} is machine code; pyptx sass prints it")
        if options.run:
            raise UsageError("--run is for kernels in Python; pyptx run runs PTX")
        folders = [Path(one) for one in options.source]
        return view_of_text(
            found.text, found.file, target=target, compiler=compiler, folders=folders
        )
    values = named.values_of(options.values, side)
    if not options.run:
        return view_of_kernel(found.kernel, (), None, values, target=target, compiler=compiler)
    if target is not None:
        raise UsageError("--run runs the kernel for its own target; leave out --arch")
    examples = named.inputs_of(found.kernel, values, options.seed)
    taken = named.taken_from_arrays(found.kernel)
    values = {name: value for name, value in values.items() if name not in taken}
    return view_of_kernel(found.kernel, examples, options.limit, values, compiler=compiler)


def _diff(targets: Sequence[str], options: argparse.Namespace) -> Any:
    from pyptx._view.diff import view_of_two

    if options.run:
        raise UsageError("--diff compares texts and machine code; it runs nothing")
    both = [targets[min(side, len(targets) - 1)] for side in (0, 1)]
    sides = [_one(named.find(both[side]), options, side) for side in (0, 1)]
    names = [_name_of(sides[side], options, both, side) for side in (0, 1)]
    return view_of_two(sides[0].data, sides[1].data, names)


def _name_of(view: Any, options: argparse.Namespace, targets: Sequence[str], side: int) -> str:
    """Name a side by what it has of its own."""
    words = [view.title if targets[0] == targets[1] else targets[side]]
    words += [
        f"{word.partition('=')[0]}={named.of_side(word.partition('=')[2], side)}"
        for word in options.values
        if "," in word
    ]
    for option in (options.arch, options.compiler):
        if option and "," in option:
            words.append(named.of_side(option, side) or "")
    return " ".join(words)
