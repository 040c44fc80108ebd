# SPDX-License-Identifier: Apache-2.0
"""From the words for an instruction, few or all of them, to the one spelling that is meant.

Which spellings are legal is the instruction table's to say, and which operands are fragments the
emulator's; here it is chosen among them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyptx._core import element_types
from pyptx._core import layout as core
from pyptx._layout.refusals import refuse_unknown


@functools.cache
def _type_bits() -> dict[str, int]:
    return {name: bits for name, bits, _, _ in element_types()}


def words_of(*texts: str) -> list[str]:
    """Split what was given at dots and spaces; "::" stays."""
    return [word for text in texts for word in text.replace(".", " ").split()]


def find_spelling(words: Sequence[str]) -> str:
    """Return the legal spelling that has these words; what is left open is chosen.

    One type is that of A (of B too, if it can be), two are those of A and B, and all of them are
    those of the instruction in its order.
    """
    opcode, *rest = words or [""]
    known = core.opcodes()
    if opcode not in known:
        refuse_unknown("instruction with fragments", opcode, known)
    types = [word for word in rest if word in _type_bits()]
    found = [text for text in _spellings(opcode, rest) if _is_meant(text, types)]
    if not found:
        _refuse_words(opcode, rest)
    return min(found, key=_preference)


def _spellings(opcode: str, words: Sequence[str]) -> list[str]:
    """Return the legal ones, with what the manual has as mandatory and ptxas does not."""
    return core.spellings(opcode, [*words, "aligned"]) or core.spellings(opcode, words)


def _types_of(text: str) -> list[str]:
    return [word for word in text.split(".")[1:] if word in _type_bits()]


def _is_meant(text: str, types: Sequence[str]) -> bool:
    has = _types_of(text)
    if list(types) == has or not types:
        return True
    if len(has) < 3:  # of D, A and B
        return all(one in has for one in types)
    return len(types) < 3 and list(types) == has[1 : 1 + len(types)]


def _preference(text: str) -> tuple[int, int, int]:
    """Fewest words, then A and B alike, then the widest D; the table's order decides the rest."""
    has = _types_of(text)
    is_mixed = len(has) >= 3 and has[1] != has[2]
    bits = _type_bits()[has[0]] if has else 0
    return (len(text.split(".")), int(is_mixed), -bits)


def _refuse_words(opcode: str, words: Sequence[str]) -> None:
    """Say which of the words is at fault, and what may stand in its place."""
    forms = core.slots(opcode)
    everything = {value for form in forms for _, values in form for value in values}
    for word in words:
        if word in everything:
            continue
        digits = word[:1] + "".join(letter for letter in word if letter.isdigit())
        similar = {
            value
            for form in forms
            for _, values in form
            for value in values
            if any(one.isdigit() for one in value) == any(one.isdigit() for one in digits)
            and (value in _type_bits()) == (word in _type_bits())
            and value[:1] == word[:1]
        }
        refuse_unknown(
            f"{opcode} with", word, _in_order(similar or everything), combinations(opcode)
        )
    refuse_unknown(f"{opcode} with", " and ".join(words), (), combinations(opcode))


def _in_order(values: set[str]) -> list[str]:
    """Numbers inside words count as numbers: m16n8k8 goes before m16n8k16."""

    def key(word: str) -> list[tuple[int, str]]:
        parts: list[tuple[int, str]] = []
        digits = ""
        for letter in word + "\0":
            if letter.isdigit():
                digits += letter
                continue
            if digits:
                parts.append((int(digits), ""))
                digits = ""
            parts.append((-1, letter))
        return parts

    return sorted(values, key=key)


def combinations(opcode: str) -> list[str]:
    """Return a line for each of an opcode's forms: its shapes with its types of A, or its words."""
    lines = []
    for form in core.slots(opcode):
        named = dict(form)
        shapes = [value for _, values in form for value in values if _is_shape(value)]
        if not shapes:
            continue
        types = named.get("atype") or named.get("type") or named.get("num") or []
        shown = shapes if len(shapes) < 9 else [*shapes[:3], "...", shapes[-1]]
        lines.append(f"{opcode}: {' '.join(shown)} with {' '.join(types)}".removesuffix(" with "))
    return list(dict.fromkeys(lines))


def _is_shape(word: str) -> bool:
    return word[:1].isdigit() or (word[:1] == "m" and word[1:2].isdigit())
