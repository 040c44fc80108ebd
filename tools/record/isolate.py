# SPDX-License-Identifier: Apache-2.0
"""Runs launches in processes of their own, so that a launch that faults takes no other with it.

CUDA answers every call with the same error once a kernel has faulted, until the process ends. A
worker therefore ends with its first failure (or is ended, when a launch hangs), and the launches
it had not reached go to a new one. A failed launch is tried again in pieces (`Launch.singles`).
"""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias

from .launch import Bytes, Launch
from .store import Record, record_of

Runner: TypeAlias = Callable[[Launch], list[Bytes]]
Answer: TypeAlias = dict[str, Record] | str  # the parts of a launch, or what went wrong

LONGEST = 30.0  # seconds without an answer, after which a worker is taken to hang
BATCH = 32  # launches of one worker: starting CUDA takes longer than most launches


@dataclass
class _Worker:
    """A process and what it has still to answer, in order."""

    process: Any
    answers: Connection
    left: deque[Launch]
    heard: float


def run_all(launches: Iterable[Launch], run: Runner, jobs: int) -> Iterator[tuple[Launch, Answer]]:
    """Run launches in at most `jobs` processes; yield each with its answer, in no given order."""
    waiting = _batches(list(launches), jobs)
    workers: list[_Worker] = []
    while waiting or workers:
        while waiting and len(workers) < jobs:
            workers.append(_start(waiting.popleft(), run))
        ready = wait([worker.answers for worker in workers], timeout=1.0)
        for worker in list(workers):
            answer: Answer
            if worker.answers in ready:
                answer = _receive(worker)
            elif time.monotonic() - worker.heard > LONGEST:
                answer = f"no answer within {LONGEST:.0f} s"
            else:
                continue
            launch = worker.left.popleft()
            worker.heard = time.monotonic()
            is_over = isinstance(answer, str) or not worker.left
            if is_over:
                workers.remove(worker)
                _end(worker)
                if worker.left:
                    waiting.append(list(worker.left))
            smaller = launch.singles() if isinstance(answer, str) and launch.singles else []
            if smaller:
                waiting.append(smaller)
            else:
                yield launch, answer


def apart(question: Callable[[], str]) -> str:
    """Ask in a process of its own: what has started CUDA cannot be forked."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(question).result()


def _batches(launches: list[Launch], jobs: int) -> deque[list[Launch]]:
    """Deal launches out, so that neighbours, which are alike, go to different workers."""
    count = max(jobs, -(-len(launches) // BATCH))
    return deque(batch for i in range(count) if (batch := launches[i::count]))


def _start(batch: list[Launch], run: Runner) -> _Worker:
    # A fork hands over launches that hold functions, which could not be pickled.
    context = multiprocessing.get_context("fork")
    answers, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(batch, run, theirs), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, answers, deque(batch), time.monotonic())


def _work(batch: list[Launch], run: Runner, answers: Connection) -> None:
    for launch in batch:
        try:
            buffers = run(launch)
            answer: Answer = {part.key: record_of(part, part.of(buffers)) for part in launch.parts}
        except Exception as error:  # whatever it is, it is the launch's answer
            answer = f"{type(error).__name__}: {error}"
        answers.send(answer)
        if isinstance(answer, str):
            return


def _receive(worker: _Worker) -> Answer:
    try:
        answer: Answer = worker.answers.recv()
    except EOFError:
        worker.process.join()
        return f"the process ended with status {worker.process.exitcode}"
    return answer


def _end(worker: _Worker) -> None:
    worker.answers.close()
    worker.process.join(timeout=5.0)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
