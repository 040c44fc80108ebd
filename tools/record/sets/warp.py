# SPDX-License-Identifier: Apache-2.0
"""What the lanes of a warp do together: shfl, vote, match, redux, elect; whole warps and parts."""

from __future__ import annotations

from collections.abc import Iterator

from record.cases import Case, Use, grouped
from record.launch import Launch

_MEMBERS = ((32, "-1"), (20, "0x000fffff"), (1, "1"))


def _guarded(line: str, lanes: int) -> str:
    """Run a line on the lowest lanes of each warp only."""
    if lanes == 32:
        return line
    return (
        f"{{ .reg .u32 lane; .reg .pred part; mov.u32 lane, %laneid; "
        f"setp.lt.u32 part, lane, {lanes}; @part {line}; }}"
    )


def _word(name: str, position: int) -> Use:
    return Use(name, "b32", "b32", position)


def _shuffles() -> Iterator[Case]:
    result = _word("%r0", 0)
    valid = Use("%p0", "pred", "pred", 0)
    for mode in ("up", "down", "bfly", "idx"):
        line = f"shfl.sync.{mode}.b32 %r0|%p0, %r1, %r2, %r3, -1"
        inputs = (_word("%r1", 0), _word("%r2", 1), _word("%r3", 2))
        yield Case(line, inputs, (result, valid))
        for clamp in ("0x1f", "0", "0x1800", "0x1c07", "0x100f"):
            line = f"shfl.sync.{mode}.b32 %r0|%p0, %r1, %r2, {clamp}, -1"
            yield Case(line, inputs[:2], (result, valid))


def _votes() -> Iterator[Case]:
    source = Use("%p1", "pred", "pred", 0)
    for lanes, members in _MEMBERS:
        for mode in ("all", "any", "uni"):
            for sign in ("", "!"):
                line = f"vote.sync.{mode}.pred %p0, {sign}%p1, {members}"
                result = Use("%p0", "pred", "pred", 0)
                yield _partial(line, (source,), (result,), lanes)
        line = f"vote.sync.ballot.b32 %r0, %p1, {members}"
        yield _partial(line, (source,), (_word("%r0", 0),), lanes)


def _partial(line: str, inputs: tuple[Use, ...], outputs: tuple[Use, ...], lanes: int) -> Case:
    return Case(_guarded(line, lanes), inputs, outputs, name=line, is_partial=lanes < 32)


def _matches() -> Iterator[Case]:
    for lanes, members in _MEMBERS:
        for bits, prefix in ((32, "r"), (64, "rd")):
            source = Use(f"%{prefix}1", f"b{bits}", f"b{bits}", 0)
            for few in ("", f"and.b{bits} %{prefix}1, %{prefix}1, 3; "):
                for mode, result in (("any", "%r0"), ("all", "%r0|%p0")):
                    line = f"match.{mode}.sync.b{bits} {result}, %{prefix}1, {members}"
                    outputs = [_word("%r0", 0)]
                    if mode == "all":
                        outputs.append(Use("%p0", "pred", "pred", 0))
                    yield Case(
                        few + _guarded(line, lanes), (source,), tuple(outputs),
                        name=few + line, is_partial=lanes < 32,
                    )  # fmt: skip


def _reductions() -> Iterator[Case]:
    words = [f"{op}.{kind}" for op in ("add", "min", "max") for kind in ("u32", "s32")]
    for lanes, members in _MEMBERS:
        for word in [*words, "and.b32", "or.b32", "xor.b32"]:
            line = f"redux.sync.{word} %r0, %r1, {members}"
            yield _partial(line, (_word("%r1", 0),), (_word("%r0", 0),), lanes)


def _elections() -> Iterator[Case]:
    leads = Use("%p0", "pred", "pred", 0)
    for lanes, members in _MEMBERS:
        yield _partial(f"elect.sync %r0|%p0, {members}", (), (_word("%r0", 0), leads), lanes)


class WarpSet:
    """Within a warp."""

    name = "warp"
    about = "shfl, vote, match, redux and elect"
    targets: tuple[str, ...] = ("sm_90a",)

    def launches(self, target: str) -> Iterator[Launch]:
        """All of them."""
        for name, cases in (
            ("shfl", _shuffles()), ("vote", _votes()), ("match", _matches()),
            ("redux", _reductions()), ("elect", _elections()),
        ):  # fmt: skip
            yield from grouped(name, cases, target)
