# SPDX-License-Identifier: Apache-2.0
"""`pyptx.tune`: which configuration of a kernel is fastest on given tensors.

`tuning` is the way through: `space` lists the configurations, `build` traces them and drops what
cannot run, `assemble` assembles the rest in parallel, `runner` tries them in a process of their own
(`worker`, `station`), `search` times them, `record` and `memory` remember. None of it is imported
before it is used: most programs never tune.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyptx._tune.result import Trial, Tuned

__all__ = ["Trial", "Tuned", "tune"]


def tune(
    kernel: Callable[..., Any],
    space: Mapping[str, Iterable[Any]] | Iterable[Any],
    args: Any,
    *,
    keywords: Mapping[str, Any] | None = None,
    where: Callable[..., Any] | None = None,
    cost: Callable[..., float] | None = None,
    slack: float = 1.5,
    reference: Any = None,
    tolerance: float | None = None,
    search: str = "halving",
    deterministic: bool = False,
    cold: bool = True,
    timeout: float | None = None,
    isolate: bool = True,
    remember: bool | str | os.PathLike[str] = True,
    again: bool = False,
    jobs: int | None = None,
) -> Tuned:
    """Find the fastest configuration of a kernel on these tensors.

    `kernel` is a kernel whose template parameters are tuned, or a function that builds a kernel
    from a configuration. `space` is a dict of values by name, of which every combination is a
    configuration, or a list of configurations: dicts, or objects for the function. `where`, `cost`
    and the function get a dict's values by keyword and an object as it is. `args` are the tensors
    of a call (torch, JAX, NumPy), `keywords` its other arguments. Configurations run on copies.

    What `where` refuses is not in the space. What the kernel, the verifier or the target's limits
    refuse, what another configuration of the same launch betters in CTAs, shared memory and
    registers in use, and what `cost` expects to be slower than the best by more than `slack`, is
    not assembled. The rest is assembled on all cores (`jobs`), run once and checked: against
    `reference` (an array, or a tuple of them), else against the first that runs. Results may
    differ by `tolerance`, as a part of the largest magnitude; by default by what rounding of
    their type explains. `search="halving"` then times all of them briefly and the fastest ones
    longer; `"exhaustive"` leaves out nothing that can run, and times each in full. `cold` writes
    over L2 before each call.

    Each runs in another process, with `timeout` seconds (10; 60 on the emulator): a configuration
    that hangs or faults is told as failed. `isolate=False` runs them in this process instead.

    What is found is remembered beside the cubins, by device, driver, assembler, tensors and the
    text of every kernel; `remember` is a folder of another place, or False. The same question is
    then answered without trying anything, and a tuning that was ended goes on where it was.
    `again` asks anew.

    `deterministic` times nothing: of what runs and is right it takes the least `cost`; then what
    spills the fewest bytes, of which a multiprocessor holds the most warps, which comes first. CPU
    tensors, which the emulator runs, are tuned so, too.
    """
    from pyptx._tune.tuning import Wishes, run

    wishes = Wishes(
        slack=slack,
        reference=reference,
        tolerance=tolerance,
        search=search,
        deterministic=deterministic,
        cold=cold,
        timeout=timeout,
        isolate=isolate,
        remember=remember,
        again=again,
        jobs=jobs,
    )
    return run(kernel, space, args, keywords, where, cost, wishes)
