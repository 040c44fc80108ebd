# SPDX-License-Identifier: Apache-2.0
"""What a check does where its call does not say: schedules, seed, checks, frameworks.

`pyptx.testing.settings` and the pytest plugin change it for what runs inside. Imports nothing of
the package, so that pytest can read its options without it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """How many schedules, the first seed of inputs and schedules, what the emulator judges.

    And through what kernels are called: None is what the process has loaded.
    """

    schedules: int = 6
    seed: int = 0
    checks: str = "races"
    frameworks: tuple[str, ...] | None = None


_CURRENT: ContextVar[Settings] = ContextVar("pyptx.testing", default=Settings())  # noqa: B039


def current() -> Settings:
    """Return what holds now."""
    return _CURRENT.get()


@contextlib.contextmanager
def changed(
    schedules: int | None = None,
    seed: int | None = None,
    checks: str | None = None,
    frameworks: str | Sequence[str] | None = None,
) -> Iterator[None]:
    """Change some of it for what runs inside."""
    several = (frameworks,) if isinstance(frameworks, str) else frameworks
    given = {"schedules": schedules, "seed": seed, "checks": checks, "frameworks": several}
    some = {name: value for name, value in given.items() if value is not None}
    token = _CURRENT.set(replace(_CURRENT.get(), **some))  # type: ignore[arg-type]
    try:
        yield
    finally:
        _CURRENT.reset(token)
