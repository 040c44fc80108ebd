# SPDX-License-Identifier: Apache-2.0
"""A run on the emulator, to be shown: counters by instruction, findings, the trace.

Where the race detector stops a run, another one without it brings the counters; the findings stay.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyptx._call.emulation import EmulatorReport
from pyptx._errors import EmulatorWarning, Error
from pyptx._view import timeline

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


@dataclass(slots=True)
class Run:
    """What a run told."""

    report: EmulatorReport | None = None
    trace: timeline.Timeline | None = None
    findings: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def run(kernel: Kernel, examples: Sequence[Any], limit: Any, values: Mapping[str, Any]) -> Run:
    """Emulate the kernel on these arrays; an error of the kernel is a finding."""
    done = Run()
    error = _once(kernel, examples, limit, values, done, "races")
    if error is None:
        return done
    done.findings += error.diagnostics
    stopped_trace = done.trace
    if _once(kernel, examples, limit, values, done, "basic") is None:
        done.notes.append(
            "The emulator stopped the run at what is reported here. Counters and timeline are "
            "those of a run that does not look for races."
        )
    else:
        done.report, done.trace = None, stopped_trace
        done.notes.append("The emulator stopped the run; there are no counters.")
    return done


def _once(
    kernel: Kernel,
    examples: Sequence[Any],
    limit: Any,
    values: Mapping[str, Any],
    done: Run,
    checks: str,
) -> Error | None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", EmulatorWarning)
        path = Path(folder) / "trace.json"
        problem: Error | None = None
        try:
            _, done.report = kernel.emulate(
                *examples, checks=checks, limit=limit, report=True, trace=path, **values
            )
        except Error as error:
            problem = error
        if path.exists():
            done.trace = timeline.read(path)
    for one in told:
        found = getattr(one.message, "diagnostic", None)
        if found is not None and str(found) not in map(str, done.findings):
            done.findings.append(found)
    return problem
