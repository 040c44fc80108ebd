# SPDX-License-Identifier: Apache-2.0
"""Tests of kernels: a kernel against a reference, over sizes, types, inputs, schedules and devices.

    pyptx.testing.check(scale, lambda x: x / 2, shapes={"N": pyptx.testing.ragged(128)})

The emulator runs each case on several schedules and judges every access; where there is a GPU, the
case runs there too. The reference computes in float64. With pytest, `--pyptx-schedules N` and
`--pyptx-seed S` change what a check does where its call does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyptx._call.refusals import refuse
from pyptx._call.signature import whole_number
from pyptx._errors import CheckError
from pyptx._testing import compare, runs, values
from pyptx._testing.cases import cases
from pyptx._testing.one_case import OneCase, Rules, words_on_bits
from pyptx._testing.report import Failure, error, finding
from pyptx._testing.settings import changed as settings
from pyptx._testing.settings import current

__all__ = ["INPUTS", "TOLERANCE", "CheckError", "check", "emulate", "ragged", "settings"]

INPUTS = tuple(values.NAMES)
"""Names of inputs: what each is stands in the guide."""

TOLERANCE = compare.TOLERANCE
"""What an element may be off, by what NumPy calls the type of the output."""

MOST_FAILURES = 10


def check(
    kernel: Any,
    reference: Callable[..., Any],
    inputs: Any = "normal",
    dtypes: Any = None,
    shapes: Any = None,
    *,
    schedules: int | Sequence[tuple[int, str]] | None = None,
    seeds: int | Sequence[int] | None = None,
    tolerance: float | Mapping[str, float] | None = None,
    frameworks: str | Sequence[str] | None = None,
    checks: str | None = None,
    ignore: str | Sequence[str] = (),
    deterministic: bool = True,
) -> int:
    """Run a kernel on every combination of sizes, types, inputs and seeds; return how many.

    `kernel` is a kernel, or a function that builds one and is asked by name for sizes and `dtype`.
    `reference` gets the inputs as NumPy arrays, floats in float64, integers in their own type, and
    the sizes and template values that its signature names; it returns an array for each in-out
    tensor and each output, masked where an element is not to be looked at.

    `shapes` gives dimensions and template values by name, each a value or several:
    `{"M": [1, 64], "N": ragged(128)}` is every pair, a list of such mappings is one after the
    other. `dtypes` gives the types of Tiles that name theirs, `{"T": [f32, bf16]}`, or a list
    alone where there is one name. `inputs` is a name of `INPUTS`, a function that is asked by name
    for `rng`, sizes and types and returns the arrays, a mapping of tensors to names, functions
    (which may ask for `shape`) or arrays, the arrays themselves, or a list of several such. `seeds`
    are those of the random numbers.

    `schedules` is a number of orders of warps and of landings of copies on the emulator, or the
    list of them, `[(3, "random")]`. All give the same bits, or `deterministic=False` is said.
    `frameworks` are "numpy" (the emulator), "torch" and "jax" (a call each, on a GPU where there is
    one); by default those that are loaded, and with a GPU those that are installed, where they have
    such elements. `checks` and
    `ignore` are those of `Kernel.emulate`.

    An element of a float output may be off by `tolerance` times the larger of its magnitude and of
    its row's mean; `TOLERANCE` has what holds where none is given, by type, and a mapping gives it
    by output. Integers have to be equal. Elements that the kernel leaves without a value, NaN where
    the reference has none, and whatever the emulator finds fail.

    A `CheckError` (an `AssertionError`) has the first failing case, its first wrong elements, and
    the call that runs this case alone.
    """
    __tracebackhide__ = True
    now = current()
    rules = Rules(
        order=runs.schedules_of(now.schedules if schedules is None else schedules, now.seed),
        frameworks=runs.frameworks_of(now.frameworks if frameworks is None else frameworks),
        has_named=frameworks is not None or now.frameworks is not None,
        tolerance=tolerance,
        checks=now.checks if checks is None else checks,
        ignore=ignore,
        deterministic=deterministic,
    )
    every = list(cases(kernel, inputs, dtypes, shapes, _seeds(seeds, now.seed)))
    failures: list[Failure] = []
    done = 0
    for case in every:
        done += 1
        failed = OneCase(case, kernel, reference, rules).run()
        failures += [] if failed is None else [failed]
        if len(failures) == MOST_FAILURES:
            break
    if failures:
        raise error(failures, done, len(every))
    return len(every)


def emulate(
    kernel: Any,
    *inputs: Any,
    schedules: int | Sequence[tuple[int, str]] | None = None,
    **options: Any,
) -> Any:
    """Return what a kernel gives on some schedules of the emulator: always the same bits.

    NumPy arrays or CPU tensors in, outputs out, as with `Kernel.emulate`, which takes the rest of
    the keywords; in-out tensors are copied, and returned in front. Warnings of the emulator are
    raised, and other bits are a `CheckError`.
    """
    __tracebackhide__ = True
    now = current()
    order = runs.schedules_of(now.schedules if schedules is None else schedules, now.seed)
    options = {"checks": now.checks, **options}
    inouts = len(getattr(kernel, "inout_specs", ()))  # a bound kernel has none
    first: tuple[Any, ...] = ()
    for schedule in order:
        found = runs.emulated(kernel, inputs, schedule, inouts=inouts, **options)
        first = first or found
        for index, (left, right) in enumerate(zip(first, found, strict=True)):
            if runs.bits(left) != runs.bits(right):
                words = words_on_bits(kernel, index, schedule, order[0])
                raise CheckError(*finding("PTX0961", words))
    return first if len(first) != 1 else first[0]


def ragged(step: int) -> list[int]:
    """Return sizes around multiples of `step`: one, a bit less, exact, a bit more, several."""
    number = whole_number(step)
    if number is None or number < 1:
        refuse("OptionValue", "step", "a whole number from 1 on", f"not {step!r}")
    around = {1, number // 2, number - 1, number, number + 1, 2 * number, 3 * number - 1}
    return sorted(size for size in around if size > 0)


def _seeds(given: Any, first: int) -> list[int]:
    listed = [first] if given is None else given
    listed = listed if isinstance(listed, (list, tuple, range)) else [listed]
    for seed in listed:
        if whole_number(seed) is None or seed < 0:
            refuse("OptionValue", "seeds", "whole numbers from 0 on", f"not {given!r}")
    return list(listed)
