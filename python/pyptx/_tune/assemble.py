# SPDX-License-Identifier: Apache-2.0
"""Assembling what is left of a space, on all cores, and what the assembler says of it.

In processes: nvJitLink assembles one text at a time.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyptx import _core, _toolchain
from pyptx._errors import Error
from pyptx._report.costs import Costs
from pyptx._tune.arguments import Arguments
from pyptx._tune.build import Candidate, note_occupancy
from pyptx._tune.errors import first_line
from pyptx._tune.process import Child, ChildDied, ChildHung
from pyptx._tune.worker import Desk

#: Seconds that an assembler may take for one kernel.
MOST_SECONDS = 300.0
#: Kernels that pay for a process.
_WORTH_A_PROCESS = 2


class _InThisProcess:
    """Answers as a child does, without one."""

    def __init__(self) -> None:
        self._desk = Desk()

    def ask(self, message: Any, parts: Sequence[bytes], *, seconds: float) -> Any:
        return self._desk.answer(message, parts)

    def close(self) -> None:
        pass


def saved_bytes(candidate: Candidate) -> bytes:
    """Return a candidate's kernel as a file has it."""
    assert candidate.settled is not None
    return bytes(candidate.settled.saved().to_bytes())


def assembled(
    candidates: Sequence[Candidate], arguments: Arguments, jobs: int | None = None
) -> Iterator[tuple[Candidate, bytes]]:
    """Yield each that is alive as a saved kernel with its binary, in order; all cores work ahead.

    Registers, spills and occupancy are noted. What the assembler refuses is dropped. Without an
    assembler nothing is known of registers; the emulator needs none.
    """
    alive = [candidate for candidate in candidates if candidate.is_alive]
    if arguments.ordinal is None and _toolchain.missing_assembler() is not None:
        yield from ((candidate, saved_bytes(candidate)) for candidate in alive)
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = min(jobs or cores or 1, len(alive) // _WORTH_A_PROCESS) or 1
    idle = _Children(count > 1)
    pool = ThreadPoolExecutor(count)
    try:
        work = [pool.submit(_assemble_by, idle, candidate, arguments) for candidate in alive]
        for candidate, made in zip(alive, work, strict=True):
            saved = made.result()
            if saved is not None:
                yield candidate, saved
    finally:
        pool.shutdown(cancel_futures=True)
        idle.close()


class _Children:
    """The processes that assemble; each is one thread's at a time."""

    def __init__(self, in_process: bool) -> None:
        self._start: Any = Child if in_process else _InThisProcess
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()

    def take(self) -> Any:
        """Return one that has nothing to do."""
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._start()

    def give_back(self, child: Any) -> None:
        """Take one back that is alive."""
        self._idle.put(child)

    def close(self) -> None:
        """End those that are idle."""
        while not self._idle.empty():
            self._idle.get_nowait().close()


def _assemble_by(idle: _Children, candidate: Candidate, arguments: Arguments) -> bytes | None:
    """Assemble one; None where that was refused."""
    child = idle.take()
    try:
        saved = _assemble(child, candidate, arguments)
    except ChildHung:
        candidate.drop("refused", f"it was not assembled in {MOST_SECONDS:.0f} s")
        return None
    except ChildDied as error:
        candidate.drop("refused", f"the assembler's process failed: {error}")
        return None
    idle.give_back(child)
    return saved


def _assemble(child: Any, candidate: Candidate, arguments: Arguments) -> bytes | None:
    target = candidate.image.target
    try:
        if arguments.ordinal is not None:
            target = _core.code_target(target, arguments.ordinal)
    except Error as error:
        candidate.drop("refused", first_line(error))
        return None
    message = {"do": "assemble", "target": target}
    answer, parts = child.ask(message, [saved_bytes(candidate)], seconds=MOST_SECONDS)
    if "error" in answer:
        candidate.drop("refused", answer["error"])
        return None
    trial, costs = candidate.trial, Costs.of(answer["log"])
    trial.registers = costs.registers
    if costs.spill_stores is not None:
        trial.spills = costs.spill_stores + (costs.spill_loads or 0)
    if costs.registers is not None:
        note_occupancy(candidate, costs.registers)
    if trial.ctas == 0:
        candidate.drop("refused", "a multiprocessor cannot hold one CTA of it")
        return None
    return bytes(parts[0])
