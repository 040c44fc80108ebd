# SPDX-License-Identifier: Apache-2.0
"""The source of a code object, also of one that no file has.

Python forgets the text that `exec`, `python -c` and standard input were given. A kernel is declared
while whoever ran that text still has it: it is looked for then, and is the right one where it
compiles to the same code. Notebooks and Python's own prompt tell `linecache` themselves.
"""

from __future__ import annotations
import __future__

import functools
import linecache
import operator
import os
import stat
import sys
from collections.abc import Iterator
from types import CodeType, FrameType

from pyptx._kept import Kept

#: Texts that are kept.
MOST_KEPT = 64
#: Longer ones are not looked through.
_LONGEST = 1 << 22

#: Of `from __future__`, which `exec` has from who calls it.
_FEATURES = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)

_texts: Kept[tuple[str, str], list[CodeType]] = Kept(MOST_KEPT)


def lines_of(code: CodeType) -> list[str]:
    """Return the lines of the text that the code is of; none where they are not known."""
    file = code.co_filename
    if _has_no_file(file):
        for (name, text), codes in _texts.items():
            if name == file and code in codes:
                return text.splitlines(keepends=True)
    linecache.checkcache(file)  # as a traceback does: the file may have been edited and reloaded
    return linecache.getlines(file)


def remember(function: object) -> None:
    """Keep the text of a function that no file has, where it can be found."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not _has_no_file(code.co_filename) or lines_of(code):
        return
    for text in _candidates(code):
        codes = _compiled(text, code)
        if code in codes:
            _texts.keep((code.co_filename, text), codes)
            return


def _has_no_file(name: str) -> bool:
    return name.startswith("<") and name.endswith(">")


def _candidates(code: CodeType) -> Iterator[str]:
    """Give texts that the code may be of: the program's own, and strings of who is running."""
    if code.co_filename == "<stdin>":
        yield from _standard_input()
    if "-c" in sys.orig_argv[:-1]:
        yield sys.orig_argv[sys.orig_argv.index("-c") + 1]
    word = "lambda" if code.co_name == "<lambda>" else code.co_name
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        known = (frame.f_locals, frame.f_globals)
        values = (value for names in known for value in tuple(names.values()))
        for value in (*values, *frame.f_code.co_consts):
            if isinstance(value, str) and len(value) < _LONGEST and word in value:
                yield value
        frame = frame.f_back


def _standard_input() -> Iterator[str]:
    """Give what standard input is, where it is a file, which can be read once more."""
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode) and status.st_size < _LONGEST:
            yield os.pread(0, status.st_size, 0).decode()
    except (OSError, UnicodeDecodeError):
        return


def _compiled(text: str, like: CodeType) -> list[CodeType]:
    """Return every code object of a text, compiled for that file and with those features."""
    flags = like.co_flags & _FEATURES
    try:
        waiting = [compile(text, like.co_filename, "exec", flags=flags, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return []
    found: list[CodeType] = []
    while waiting:
        code = waiting.pop()
        found.append(code)
        waiting += [x for x in code.co_consts if isinstance(x, CodeType)]
    return found
