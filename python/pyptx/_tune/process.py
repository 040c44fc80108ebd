# SPDX-License-Identifier: Apache-2.0
"""A child process that answers requests, each within a time; one that does not is ended.

A request and an answer are a JSON object and some bytes behind it. Neither side pickles anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from pyptx import cache
from pyptx._tune.errors import fail

HEADER = struct.Struct("<IQ")  # bytes of the object, bytes behind it
WORKER = (sys.executable, "-m", "pyptx._tune.worker")
_CHUNK = 1 << 20


class ChildHung(Exception):
    """The child did not answer in time, and was ended."""


class ChildDied(Exception):
    """The child is gone; the text says how."""


def packed(message: dict[str, Any], parts: Sequence[bytes]) -> list[bytes]:
    """Return what goes over the wire."""
    text = json.dumps({**message, "sizes": [len(part) for part in parts]}).encode()
    return [HEADER.pack(len(text), sum(map(len, parts))), text, *parts]


def unpacked(text: bytes, behind: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return a message and its parts."""
    message = json.loads(text)
    sizes = message.pop("sizes")
    if len(sizes) == 1:
        return message, [behind]
    parts, at = [], 0
    for size in sizes:
        parts.append(behind[at : at + size])
        at += size
    return message, parts


class Child:
    """A process of `worker`, or of another program that speaks as it does."""

    def __init__(self, command: Sequence[str] = WORKER) -> None:
        if not command[0]:
            fail("PTX0835", "cannot start: this Python does not know its own executable")
        # What it writes, should it die: a pipe that nobody reads would stop it.
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed by close()
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=_environment(),
            )
        except OSError as error:
            self._errors.close()
            fail("PTX0835", f"cannot start: {error}")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)

    def ask(
        self, message: dict[str, Any], parts: Sequence[bytes] = (), *, seconds: float
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Return the answer to a request. Past its time, or without one, the child is gone."""
        deadline = time.monotonic() + seconds
        try:
            self._send(packed(message, parts), deadline)
            length, behind = HEADER.unpack(self._receive(HEADER.size, deadline))
            return unpacked(self._receive(length, deadline), self._receive(behind, deadline))
        except (ChildHung, ChildDied, KeyboardInterrupt):
            self.close()
            raise

    def _send(self, chunks: Iterable[bytes], deadline: float) -> None:
        for chunk in chunks:
            view = memoryview(chunk)
            while view:
                self._wait(self._in, selectors.EVENT_WRITE, deadline)
                try:
                    view = view[os.write(self._in, view[:_CHUNK]) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise ChildDied(self._last_words()) from None

    def _receive(self, size: int, deadline: float) -> bytes:
        got = bytearray()
        while len(got) < size:
            self._wait(self._out, selectors.EVENT_READ, deadline)
            try:
                piece = os.read(self._out, min(_CHUNK, size - len(got)))
            except BlockingIOError:
                continue
            if not piece:
                raise ChildDied(self._last_words())
            got += piece
        return bytes(got)

    @staticmethod
    def _wait(file: int, event: int, deadline: float) -> None:
        left = deadline - time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(file, event)
            if left <= 0 or not selector.select(left):
                raise ChildHung

    def _last_words(self) -> str:
        """Say how the child ended, with the last line that it wrote."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return "it closed its pipe"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return f"it ended with {how}" + (f": {lines[-1]}" if lines else "")

    def close(self) -> None:
        """End the child. A kernel that hangs on a GPU ends with its process."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._errors.close()
        # Longer, where the driver still cleans up behind it: init will collect it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(30)


def _environment() -> dict[str, str]:
    """Return what the child needs to find this package and the same cubins."""
    here = str(Path(__file__).resolve().parents[2])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    folder = cache.get_global_cache().folder
    kept = {"PYPTX_CACHE": "0"}
    if folder is not None:
        kept = {"PYPTX_CACHE": "1", "PYPTX_CACHE_DIR": str(folder)}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **kept}
