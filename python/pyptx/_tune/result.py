# SPDX-License-Identifier: Apache-2.0
"""What a tuning found: a trial for each configuration, and the best of them to call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: In which order a table shows them; those that ran first.
STATUSES = ("best", "timed", "checked", "pruned", "same", "refused", "wrong", "failed")


def shown(config: Any) -> str:
    """Return a configuration as text."""
    if isinstance(config, dict):
        return ", ".join(f"{name}={value!r}" for name, value in config.items())
    return repr(config)


@dataclass
class Trial:
    """What was found of one configuration.

    `status` is "best"; "timed" (not as fast); "checked" (its result is right, it was not timed);
    "pruned" (not tried: `why` says what promises more); "same" (the same kernel as another
    configuration's); "refused" (by the kernel, the target's limits, the assembler or the driver);
    "wrong" (it gives another result); "failed" (it faults, or does not end).

    `seconds` are of one call, by round. `cost` is what the model given as cost= expects. `shared`
    is the shared memory of a CTA in bytes, `spills` the bytes that a thread stores and loads
    because it lacks registers, `ctas` what a multiprocessor holds at once. None is unknown.
    """

    config: Any
    status: str = "checked"
    why: str = ""
    seconds: list[float] = field(default_factory=list)
    cost: float | None = None
    registers: int | None = None
    spills: int | None = None
    shared: int | None = None
    threads: int | None = None
    ctas: int | None = None
    warps: int | None = None

    @property
    def time(self) -> float | None:
        """Seconds of a call: the median."""
        import statistics  # this and json take milliseconds that every import would pay

        return statistics.median(self.seconds) if self.seconds else None

    @property
    def spread(self) -> float | None:
        """How far apart the slowest and the fastest round are, as a part of the median."""
        time = self.time
        return None if not time else (max(self.seconds) - min(self.seconds)) / time

    def row(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "config": self.config,
            "status": self.status,
            "us": None if self.time is None else self.time * 1e6,
            "spread": self.spread,
            "cost": self.cost,
            "registers": self.registers,
            "spills": self.spills,
            "shared": self.shared,
            "threads": self.threads,
            "ctas": self.ctas,
            "warps": self.warps,
            "why": self.why,
        }


@dataclass
class Tuned:
    """The best configuration, the kernel that has it, and what was found of all.

    Call it as the kernel is called; `kernel` is that kernel: what the function built from the
    configuration, or a `functools.partial` that gives the template values. `print` shows the table.
    `how` is "timed", "static" (by the rule that takes no time) or "remembered".
    """

    name: str
    device: str
    how: str
    best: Trial
    kernel: Callable[..., Any]
    trials: list[Trial]
    spent: float  # seconds of this call of tune

    @property
    def config(self) -> Any:
        """The best configuration, as the space has it."""
        return self.best.config

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the kernel with the best configuration."""
        return self.kernel(*args, **keywords)

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each configuration, for programs; the fastest first."""
        return [trial.row() for trial in self._sorted()]

    def _sorted(self) -> list[Trial]:
        def place(trial: Trial) -> tuple[int, float]:
            return STATUSES.index(trial.status), trial.time or 0.0

        return sorted(self.trials, key=place)

    def title(self) -> str:
        """Return what was tuned, and how, in a line."""
        tried = sum(trial.status in ("best", "timed", "checked") for trial in self.trials)
        return (
            f"{self.name} on {self.device}: {self.how}, {tried} of {len(self.trials)} "
            f"configurations, {self.spent:.1f} s"
        )

    def __str__(self) -> str:
        heading = ["configuration", "status", "us", "spread", "regs", "spills", "shared", "CTAs"]
        lines = [[*heading, "why"]]
        for trial in self._sorted():
            time, spread = trial.time, trial.spread
            numbers = (trial.registers, trial.spills, trial.shared, trial.ctas)
            lines.append(
                [
                    shown(trial.config),
                    trial.status,
                    "-" if time is None else f"{time * 1e6:.2f}",
                    "-" if spread is None else f"{spread * 100:.1f} %",
                    *("-" if number is None else str(number) for number in numbers),
                    trial.why,
                ]
            )
        widths = [max(len(line[at]) for line in lines) for at in range(len(heading))]
        rows = [
            "  ".join(
                [
                    *(
                        text.ljust(width) if at < 2 else text.rjust(width)
                        for at, (text, width) in enumerate(zip(line[:-1], widths, strict=True))
                    ),
                    line[-1],
                ]
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title(), *rows])

    def json(self) -> str:
        """Return everything; configurations as text."""
        import json

        about = {"kernel": self.name, "device": self.device, "how": self.how, "spent": self.spent}
        rows = [
            {**trial.row(), "config": shown(trial.config), "seconds": trial.seconds}
            for trial in self._sorted()
        ]
        return json.dumps({**about, "trials": rows}, indent=1)
