# SPDX-License-Identifier: Apache-2.0
"""The process in which kernels are assembled, run and timed for a tuning.

Started by `process.Child`. It does one request after the other: what it is asked is `assemble`, or
`open` (a device and tensors) and then `load`, `run`, `time`. A request that fails is answered with
`error`; `is_lost` says that it may have left the device broken, and that nobody should ask again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, BinaryIO

from pyptx import _core, _toolchain
from pyptx._errors import Error
from pyptx._tune.errors import first_line
from pyptx._tune.process import HEADER, packed, unpacked
from pyptx._tune.station import Station

Answer = tuple[dict[str, Any], Sequence[bytes]]


class Desk:
    """Does what is asked; in this process, or behind a pipe."""

    def __init__(self) -> None:
        self._station: Station | None = None

    def answer(self, message: dict[str, Any], parts: Sequence[bytes]) -> Answer:
        """Return the answer to a request."""
        asked = message["do"]
        try:
            return getattr(self, f"_{asked}")(message, parts)  # type: ignore[no-any-return]
        except (Error, MemoryError, ValueError) as error:
            # What ran may still run, or have destroyed the context; what was only loaded has not.
            return {"error": first_line(error), "is_lost": asked in ("run", "time")}, ()

    def _assemble(self, message: dict[str, Any], parts: Sequence[bytes]) -> Answer:
        _toolchain.announce_folders()
        saved = _core.SavedKernel.from_bytes(parts[0])
        log = saved.add_binary(message["target"], ["-v"])
        return {"log": log}, [saved.to_bytes()]

    def _open(self, message: dict[str, Any], parts: Sequence[bytes]) -> Answer:
        self._station = Station(message["ordinal"], message["kinds"], parts)
        return {}, ()

    def _reference(self, message: dict[str, Any], parts: Sequence[bytes]) -> Answer:
        self._opened().refer_to(parts)
        return {}, ()

    def _load(self, message: dict[str, Any], parts: Sequence[bytes]) -> Answer:
        self._opened().load(message["index"], parts[0])
        return {}, ()

    def _run(self, message: dict[str, Any], parts: Sequence[bytes]) -> Answer:
        results = self._opened().run(message["index"])
        return {"is_reference": results is None}, results or ()

    def _time(self, message: dict[str, Any], parts: Sequence[bytes]) -> Answer:
        seconds = self._opened().time(message["index"], message["seconds"], message["cold"])
        return {"seconds": seconds}, ()

    def _opened(self) -> Station:
        if self._station is None:
            raise ValueError("no device was opened")
        return self._station


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the other side is gone."""
    desk = Desk()
    while len(header := requests.read(HEADER.size)) == HEADER.size:
        length, behind = HEADER.unpack(header)
        message, parts = unpacked(requests.read(length), requests.read(behind))
        for chunk in packed(*desk.answer(message, parts)):
            answers.write(chunk)
        answers.flush()


def _leave_with(parent: int) -> None:
    """End this process when its parent is gone, even while a kernel hangs in it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    """Serve on the standard streams; what anybody prints goes to the standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
