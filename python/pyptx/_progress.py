# SPDX-License-Identifier: Apache-2.0
"""A line on a terminal for what takes seconds, and nothing anywhere else.

The emulator has its own line, which counts CTAs. An assembler says nothing of how far it is, so
this counts seconds. A thread writes it, since the caller waits in C++; it is gone when the work is.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Nothing is shown of what is done sooner, in seconds.
QUIET = 2.0
#: Between two updates.
EVERY = 0.5


class Line:
    """What stands on the terminal; `say` changes it."""

    def __init__(self, what: str) -> None:
        self.what = what

    def say(self, what: str) -> None:
        """Go on to something else."""
        self.what = what


@contextmanager
def shown(what: str) -> Iterator[Line]:
    """Show `what` and for how long it has been going on, while the block runs."""
    line, out = Line(what), sys.stderr
    if out is None or not out.isatty():
        yield line
        return
    ended = threading.Event()
    started = time.monotonic()

    def tell() -> None:
        wait, is_written = QUIET, False
        while not ended.wait(wait):
            seconds = time.monotonic() - started
            out.write(f"\r{line.what}: {seconds:.0f} s\x1b[K")
            out.flush()
            wait, is_written = EVERY, True
        if is_written:
            out.write("\r\x1b[K")
            out.flush()

    teller = threading.Thread(target=tell, name="pyptx progress", daemon=True)
    teller.start()
    try:
        yield line
    finally:
        ended.set()
        teller.join()
