# SPDX-License-Identifier: Apache-2.0
"""Ten threads on ten streams launch kernels with TMA; every result is checked on the device.

    python tests/gpu/stress.py 300               seconds; exit status 1 where anything was wrong
    python tests/gpu/stress.py 5 --device cpu    the same threads on the emulator

The threads share the kernels, each in both descriptor forms, and launch them with other shapes and
other buffers each time: by calls that allocate, into given outputs, as bound kernels, by explicit
launches on a stream, and (on a GPU) in CUDA graphs whose inputs change between replays. A result is
compared element by element on the thread's own stream; the count of wrong elements stays on the
device and is read now and then, so that launches of all threads stay in flight together.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS), str(_TESTS.parent / "examples" / "hopper")]

from gemm import build_gemm  # noqa: E402

from support import sample_kernels  # noqa: E402

FORMS = ("pointer", "value")
READ_EVERY = 64  # launches between two readings of the counts
GRAPHS = 32  # of one thread, kept to the end


class Kernels:
    """What all threads share."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.axpy = {form: sample_kernels.build_tma_axpy(2.0, form) for form in FORMS}
        self.gemm = {form: build_gemm(tma=form) for form in FORMS}
        self.shapes = [(1, 4), (8, 32), (9, 36), (24, 68)]
        if device == "cuda":
            self.shapes += [(64, 128), (257, 1000), (1000, 516), (2048, 2048)]
        self._bound: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def bound(self, form: str, shape: tuple[int, int]) -> Any:
        """One bound kernel per form and shape, made by whoever comes first."""
        with self._lock:
            if (form, shape) not in self._bound:
                example = torch.empty(shape, device=self.device)
                self._bound[form, shape] = self.axpy[form].bind(example, example)
            return self._bound[form, shape]


class Worker:
    """One thread: its stream, its buffers, its counts."""

    def __init__(self, kernels: Kernels, index: int) -> None:
        self.kernels = kernels
        self.index = index
        self.random = random.Random(index)
        self.launches: Counter[str] = Counter()
        self.wrong = 0
        self.error: BaseException | None = None
        self._kept: list[Any] = []
        self._graphs: list[tuple[Any, ...]] = []
        # Its own: torch's default generator refuses other threads while one captures a graph.
        self._generator = torch.Generator(kernels.device).manual_seed(index)
        self._stream = torch.cuda.Stream() if kernels.device == "cuda" else None

    def run(self, goes_on: Callable[[], bool]) -> None:
        """Launch while `goes_on()`; an exception ends the thread and is kept."""
        try:
            if self._stream is None:
                self._loop(goes_on)
                return
            with torch.cuda.stream(self._stream):
                self._loop(goes_on)
        except BaseException as error:
            self.error = error

    def _loop(self, goes_on: Callable[[], bool]) -> None:
        ways = [self.allocating, self.into_out, self.bound, self.explicit]
        if self.kernels.device == "cuda":
            ways += [self.graph, self.product]
        # Made here, on the thread's own stream, as everything it uses.
        self._count = torch.zeros((), dtype=torch.int64, device=self.kernels.device)
        turn = 0
        while goes_on():
            # Each way once, every thread from another one on, then as it comes.
            way = ways[(self.index + turn) % len(ways)]
            (way if turn < len(ways) else self.random.choice(ways))()
            turn += 1
            if turn % READ_EVERY == 0:
                self._read()
        self._read()

    def _read(self) -> None:
        self.wrong += int(self._count.item())
        self._count.zero_()

    # --- inputs and checks --------------------------------------------------------------------

    def _inputs(self) -> tuple[str, Any, Any]:
        shape = self.random.choice(self.kernels.shapes)
        x, y = self._randn(shape), self._randn(shape)
        # Some stay for a while, so that later ones lie elsewhere.
        self._kept.append(x)
        if len(self._kept) > self.random.randrange(1, 12):
            self._kept.clear()
        return self.random.choice(FORMS), x, y

    def _randn(self, shape: tuple[int, ...], dtype: Any = torch.float32) -> Any:
        device = self.kernels.device
        return torch.randn(shape, dtype=dtype, device=device, generator=self._generator)

    def _check(self, what: str, got: Any, x: Any, y: Any) -> None:
        # Doubling is exact, so that one rounding is left on both sides.
        self._count += (got != 2 * x + y).sum()
        self.launches[what] += 1

    # --- ways to launch -----------------------------------------------------------------------

    def allocating(self) -> None:
        """k(x, y)."""
        form, x, y = self._inputs()
        self._check("allocating", self.kernels.axpy[form](x, y), x, y)

    def into_out(self) -> None:
        """k(x, y, out=)."""
        form, x, y = self._inputs()
        out = torch.full_like(x, float("nan"))
        self.kernels.axpy[form](x, y, out=out)
        self._check("out=", out, x, y)

    def bound(self) -> None:
        """A bound kernel, with and without out=."""
        form, x, y = self._inputs()
        launch = self.kernels.bound(form, tuple(x.shape))
        out = torch.full_like(x, float("nan")) if self.random.random() < 0.5 else None
        self._check("bound", launch(x, y) if out is None else launch(x, y, out=out), x, y)

    def explicit(self) -> None:
        """k.launch on a stream, once in a while by addresses."""
        form, x, y = self._inputs()
        out = torch.full_like(x, float("nan"))
        m, n = x.shape
        tensors = (x, y, out)
        if self.random.random() < 0.5:
            tensors = tuple(tensor.data_ptr() for tensor in tensors)
        self.kernels.axpy[form].launch(*tensors, stream=self._stream, device=x.device, M=m, N=n)
        self._check("launch", out, x, y)

    def graph(self) -> None:
        """A CUDA graph of two launches, one of them allocating, replayed on changing inputs."""
        # A graph's memory goes back only while nobody captures, which here is never.
        if len(self._graphs) < GRAPHS:
            self._graphs.append(self._capture())
        graph, x, y, out, chained = self.random.choice(self._graphs)
        for _ in range(4):
            x.normal_(generator=self._generator)
            y.normal_(generator=self._generator)
            out.fill_(float("nan"))
            graph.replay()
            self._check("graph", out, x, y)
            self._check("graph", chained, out, y)

    def _capture(self) -> tuple[Any, ...]:
        form, x, y = self._inputs()
        first = self.kernels.bound(form, tuple(x.shape))
        second = self.kernels.axpy[form]
        out = torch.full_like(x, float("nan"))
        graph = torch.cuda.CUDAGraph()
        torch.cuda.current_stream().synchronize()
        with _capture_lock:  # torch's allocator lets one thread capture at a time
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                first(x, y, out=out)
                chained = second(out, y)
            finally:
                graph.capture_end()
        return graph, x, y, out, chained

    def product(self) -> None:
        """A GEMM with wgmma, compared with float32 within its rounding."""
        m, n, k = (self.random.choice((64, 128, 200, 384)) for _ in range(3))
        a, b = (self._randn((rows, k), torch.bfloat16) for rows in (m, n))
        got = self.kernels.gemm[self.random.choice(FORMS)](a, b)
        expected = a.float() @ b.float().T
        self._count += ((got - expected).abs() > 1e-3 * k**0.5).sum()
        self.launches["gemm"] += 1


_capture_lock = threading.Lock()


def stress(device: str, threads: int, goes_on: Callable[[Worker], bool]) -> list[Worker]:
    """Run the threads to their end."""
    kernels = Kernels(device)
    workers = [Worker(kernels, index) for index in range(threads)]
    running = [
        threading.Thread(target=worker.run, args=(lambda worker=worker: goes_on(worker),))
        for worker in workers
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return workers


def main() -> int:
    """Run for the seconds given; 1 where a result was wrong or a thread failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=10)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    workers = stress(options.device, options.threads, lambda _: time.monotonic() < end)
    total: Counter[str] = Counter()
    for worker in workers:
        counts = ", ".join(f"{what} {n}" for what, n in sorted(worker.launches.items()))
        print(f"thread {worker.index}: {counts}; wrong elements {worker.wrong}")
        if worker.error is not None:
            print(f"thread {worker.index} failed:")
            traceback.print_exception(worker.error)
        total += worker.launches
    wrong = sum(worker.wrong for worker in workers)
    failed = sum(worker.error is not None for worker in workers)
    print(
        f"{options.device}: {len(workers)} threads, {total.total()} checked results, "
        f"{wrong} wrong elements, {failed} failed threads"
    )
    return 1 if wrong or failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
