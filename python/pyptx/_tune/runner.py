# SPDX-License-Identifier: Apache-2.0
"""Tries configurations in a process of its own, and outlives those that hang or fault.

A kernel that never ends, or that writes where it may not, takes its CUDA context with it. The
process that ran it is then ended, the trial is told why, and the next one gets a new process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyptx._tune.arguments import Arguments
from pyptx._tune.errors import TrialFailed, fail
from pyptx._tune.process import Child, ChildDied, ChildHung
from pyptx._tune.worker import Desk

#: Seconds for starting a process, making a context and copying the tensors.
START_SECONDS = 120.0


class Runner:
    """What runs and times the kernels of one tuning."""

    def __init__(
        self,
        arguments: Arguments,
        column_major: Sequence[bool],
        *,
        timeout: float,
        cold: bool = True,
        isolate: bool = True,
        start: Callable[[], Child] = Child,
    ) -> None:
        self._arguments = arguments
        self._column_major = column_major
        self._timeout = timeout
        self._cold = cold
        self._isolate = isolate
        self._start = start
        self._inputs: list[bytes] | None = None
        self._child: Child | None = None
        self._desk: Desk | None = None
        self._kernels: dict[int, bytes] = {}
        self._loaded: set[int] = set()
        self._reference: list[bytes] = []

    def add(self, index: int, saved: bytes) -> None:
        """Take a kernel, to be loaded when it is first asked for."""
        self._kernels[index] = saved

    def refer_to(self, results: Sequence[bytes]) -> None:
        """Take results that need not be sent back when they come again."""
        self._reference = list(results)
        if self._is_open():
            self._ask({"do": "reference"}, self._reference)

    def run(self, index: int) -> list[bytes] | None:
        """Return what a kernel writes; None where it is the reference, byte by byte."""
        self._load(index)
        answer, parts = self._try({"do": "run", "index": index}, "it did not end")
        return None if answer["is_reference"] else list(parts)

    def time(self, index: int, seconds: float) -> float:
        """Return the seconds of a call, from calls of about so many seconds together."""
        self._load(index)
        message = {"do": "time", "index": index, "seconds": seconds, "cold": self._cold}
        answer, _ = self._try(message, "its repeated calls did not end")
        return float(answer["seconds"])

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.close()
        self._child = self._desk = None
        self._loaded.clear()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- requests ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Start the process, unless there is one."""
        if self._is_open():
            return
        if self._isolate:
            self._child = self._start()
        else:
            self._desk = Desk()
        if self._inputs is None:
            self._inputs = [
                self._arguments.bytes_of(index, is_column_major)
                for index, is_column_major in enumerate(self._column_major)
            ]
        kinds = [[array.dtype, list(array.shape)] for array in self._arguments.arrays]
        message = {"do": "open", "ordinal": self._arguments.ordinal, "kinds": kinds}
        try:
            answer, _ = self._ask(message, self._inputs, START_SECONDS)
            if "error" not in answer and self._reference:
                answer, _ = self._ask({"do": "reference"}, self._reference, START_SECONDS)
        except ChildHung:
            self.close()
            fail("PTX0835", f"did not start in {START_SECONDS:.0f} s")
        except ChildDied as error:
            self.close()
            fail("PTX0835", f"did not start: {error}")
        if "error" in answer:
            self.close()
            notes = ["isolate=False tries configurations in this process"]
            fail("PTX0835", f"cannot work: {answer['error']}", notes=notes)

    def _is_open(self) -> bool:
        return self._child is not None or self._desk is not None

    def _load(self, index: int) -> None:
        self.open()
        if index not in self._loaded:
            message = {"do": "load", "index": index}
            self._try(message, "it was not loaded", [self._kernels[index]])
            self._loaded.add(index)

    def _try(
        self, message: dict[str, Any], late: str, parts: Sequence[bytes] = ()
    ) -> tuple[dict[str, Any], Sequence[bytes]]:
        """Ask for something that a kernel may answer badly."""
        try:
            answer, results = self._ask(message, parts)
        except ChildHung:
            self.close()
            raise TrialFailed("failed", f"{late} in {self._timeout:g} s") from None
        except ChildDied as error:
            self.close()
            raise TrialFailed("failed", f"the process that ran it is gone: {error}") from None
        if "error" in answer:
            if answer["is_lost"]:
                self.close()
            status = "failed" if answer["is_lost"] else "refused"
            raise TrialFailed(status, answer["error"])
        return answer, results

    def _ask(
        self, message: dict[str, Any], parts: Sequence[bytes] = (), seconds: float | None = None
    ) -> tuple[dict[str, Any], Sequence[bytes]]:
        if self._desk is not None:
            return self._desk.answer(message, parts)
        assert self._child is not None
        return self._child.ask(message, parts, seconds=seconds or self._timeout)
