# SPDX-License-Identifier: Apache-2.0
"""docs/emulator/coverage.md says the truth: every example of the table is decoded."""

from __future__ import annotations

from record.cases import table
from record.coverage import status
from record.decoding import refusal


def test_every_example_is_judged() -> None:
    """None is left out: some target takes it, alone in a kernel."""
    unread = [
        example.text
        for form in table().forms
        if form.sem
        for example in form.examples
        if not example.code and refusal(example.text) is None
    ]
    assert unread == []


def test_what_is_exact_refuses_no_example() -> None:
    states = {form.where: status(form) for form in table().forms}
    assert not [where for where, state in states.items() if not state]
    parts = [state for state in states.values() if state.startswith("in part")]
    assert 5 <= len(parts) <= 20
    assert any("ignore_oob" in state for state in parts)
