# SPDX-License-Identifier: Apache-2.0
"""What a command line names: `kernel.py:name`, a file of PTX, a saved kernel, a cubin.

A name in a Python file is a kernel, or a function that gives one and needs no arguments. Running
somebody's file is what is asked for here, so its errors are its own.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


class UsageError(Exception):
    """Words that do not name anything; the message says what would."""


@dataclass(slots=True)
class Named:
    """One of: a kernel, PTX, a cubin."""

    kernel: Kernel | None = None
    text: str | None = None
    cubin: bytes | None = None
    file: str = ""


def find(word: str) -> Named:
    """Return what a word of the command line names."""
    path, colon, name = word.rpartition(":")
    if colon and path.endswith(".py"):
        return Named(kernel=_kernel(Path(path), name), file=path)
    file = Path(word)
    if word.endswith(".py"):
        raise UsageError(f"{word} is a Python file; name a kernel in it, as in {word}:gemm")
    if not file.is_file():
        raise UsageError(f"there is no file {word}; a kernel is named as in kernel.py:gemm")
    content = file.read_bytes()
    if content.startswith(b"\x7fELF"):
        return Named(cubin=content, file=word)
    if content.startswith(b"pyptx-kernel"):
        from pyptx._call.open_kernel import load

        return Named(text=load(file).ptx, file=word)
    return Named(text=content.decode("utf-8", "surrogateescape"), file=word)


def _kernel(path: Path, name: str) -> Kernel:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    sys.path.insert(0, str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    from pyptx.kernel import Kernel

    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if callable(found) and not isinstance(found, Kernel):
        found = found()
    if isinstance(found, Kernel):
        return found
    kernels = [key for key, value in vars(module).items() if isinstance(value, Kernel)]
    have = f"it has {', '.join(kernels)}" if kernels else "it has none at its outermost level"
    raise UsageError(
        f"{path} has no kernel {name!r}, nor a function of that name that gives one; {have}"
    )


def values_of(words: Sequence[str], side: int | None = None) -> dict[str, Any]:
    """Read NAME=VALUE words; where there are sides, of VALUE,VALUE the one of that side."""
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"{word!r} is neither an option nor a NAME=VALUE")
        values[name] = _value(of_side(text, side) or "")
    return values


def of_side(text: str | None, side: int | None) -> str | None:
    """Return one of two words with a comma between them; a single one is both."""
    if text is None or side is None:
        return text
    sides = text.split(",")
    return sides[side] if len(sides) == 2 else text


def _value(text: str) -> Any:
    from pyptx.types import from_name

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    try:
        return from_name(text)
    except ValueError:
        return text


def taken_from_arrays(kernel: Kernel) -> set[str]:
    """Return the dimensions and named types that input arrays have themselves."""
    dims = {dim for spec in kernel.in_specs for dim in spec.symbolic_dims}
    return {*dims, *kernel.signature.type_names}


def inputs_of(kernel: Kernel, values: Mapping[str, Any], seed: int) -> list[Any]:
    """Make arrays to run a kernel on: floats within -1 and 1, zeros for integers."""
    import numpy as np

    from pyptx._call import first_call, settle

    random = np.random.default_rng(seed)
    made = []
    for array in settle.declared_inputs(kernel.signature, values):
        empty = first_call.empty_numpy(array.dtype, tuple(array.shape))
        is_integer = empty.dtype.kind in "iub"
        numbers = np.zeros(empty.shape) if is_integer else random.uniform(-1, 1, empty.shape)
        made.append(numbers.astype(empty.dtype))
    return made
