# SPDX-License-Identifier: Apache-2.0
"""Every public helper refuses its misuse, each with the code that says what is wrong."""

from __future__ import annotations

import pytest

from pyptx import Error
from support.helpers import misuses, misuses_async  # noqa: F401
from support.helpers.calls import MISUSES, Bench, Misuse, helpers


def test_every_helper_has_a_misuse() -> None:
    known = {entry.helper for entry in MISUSES}
    assert sorted(set(helpers()) - known) == []
    assert sorted(known - set(helpers())) == []
    print(f"{len(known)} helpers, {len(MISUSES)} misuses")


def _code(entry: Misuse) -> str:
    """The code of the refusal, or what happened instead."""
    try:
        if entry.target is None:
            entry.run(None)
        else:
            with Bench(entry.target) as bench:
                entry.run(bench)
    except Error as refused:
        return str(refused.diagnostics[0].code)
    except Exception as other:
        return f"{type(other).__name__}: {other}"
    return "accepted"


@pytest.mark.parametrize("helper", sorted({entry.helper for entry in MISUSES}))
def test_misuse_is_refused(helper: str) -> None:
    entries = [entry for entry in MISUSES if entry.helper == helper]
    assert [_code(entry) for entry in entries] == [entry.code for entry in entries]
