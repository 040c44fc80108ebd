# SPDX-License-Identifier: Apache-2.0
"""Errors while tracing: the class, the code, and carets under the guilty part of the line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from pyptx import TargetError, VerifyError, _core, ptx, reg
from pyptx.types import f16, f32, pred, u32, u64
from support.traces import refusal, trace, underlined


def unknown_modifier() -> None:
    ptx.inst.add.foo.f32(reg.scalar(f32), 1.0, 2.0)


def unknown_opcode() -> None:
    ptx.inst.frobnicate.u32(reg.scalar(u32))


def wrong_register() -> None:
    wide = reg.scalar(u64)
    ptx.inst.add.u32(
        reg.scalar(u32),
        wide,
        5,
    )


def wrong_guard() -> None:
    ptx.inst.mov.u32(reg.scalar(u32), 1, pred=reg.scalar(u32))


def not_an_operand() -> None:
    ptx.inst.mov.u32(reg.scalar(u32), object())


def aliased() -> None:
    add = ptx.inst.add.u32
    add(reg.scalar(u32), reg.scalar(u64), 1)


def mixed_types() -> None:
    reg.scalar(u32) + reg.scalar(f32)


def literal_too_large() -> None:
    reg.scalar(u32) + 2**32


def helper(x: Any) -> Any:
    return ptx.inst.add.u32(
        x, x, reg.scalar(f32)
    )  # fmt: skip


def in_a_helper() -> None:
    helper(reg.scalar(u32))


def modifier_on_its_own_line() -> None:
    (ptx.inst
        .add
        .bar
        .u32(reg.scalar(u32), 1, 2))  # fmt: skip


def in_a_lambda() -> None:
    (lambda x: ptx.inst.add.u32(x, reg.scalar(u64), 1))(reg.scalar(u32))


def in_a_generator() -> None:
    list(ptx.inst.add.u32(reg.scalar(u32), reg.scalar(t), 1) for t in [u32, u64])  # noqa: C400


def starred() -> None:
    ptx.inst.add.u32(*[reg.scalar(u32), reg.scalar(u64), 1])


def after_other_letters() -> None:
    "é", ptx.inst.add.u32(reg.scalar(u32), reg.scalar(u64), "ü")


@pytest.mark.parametrize(
    ("write", "code", "text"),
    [
        (in_a_helper, "PTX0206", "reg.scalar(f32)"),
        (modifier_on_its_own_line, "PTX0202", "bar"),
        (in_a_lambda, "PTX0206", "reg.scalar(u64)"),
        (in_a_generator, "PTX0206", "reg.scalar(t)"),
        (starred, "PTX0206", "ptx.inst.add.u32(*[reg.scalar(u32), reg.scalar(u64), 1])"),
        (after_other_letters, "PTX0206", "reg.scalar(u64)"),
        (unknown_modifier, "PTX0202", "foo"),
        (unknown_opcode, "PTX0201", "frobnicate"),
        (wrong_register, "PTX0206", "wide"),
        (wrong_guard, "PTX0209", "reg.scalar(u32)"),
        (not_an_operand, "PTX0234", "object()"),
        (aliased, "PTX0206", "reg.scalar(u64)"),
        (mixed_types, "PTX0232", "reg.scalar(u32) + reg.scalar(f32)"),
        (literal_too_large, "PTX0236", "reg.scalar(u32) + 2**32"),
    ],
)
def test_carets(write: Callable[[], None], code: str, text: str) -> None:
    error = refusal(write)
    assert isinstance(error, VerifyError)
    (diagnostic,) = error.diagnostics
    assert (diagnostic.code, diagnostic.severity) == (code, "error")
    assert diagnostic.file == __file__
    assert underlined(error) == text


def test_rendering() -> None:
    error = refusal(unknown_modifier)
    line = unknown_modifier.__code__.co_firstlineno + 1
    assert str(error).startswith(
        "error[PTX0202]: 'add' has no modifier '.foo'\n"
        f"  --> {__file__}:{line}:18\n"
        f"{' ' * len(str(line))} |\n"
        f"{line} |     ptx.inst.add.foo.f32(reg.scalar(f32), 1.0, 2.0)\n"
        f"{' ' * len(str(line))} |                  ^^^\n"
    )
    assert "help: a legal spelling: add" in str(error)


def test_without_source_the_line_is_known() -> None:
    names: dict[str, Any] = {"ptx": ptx, "reg": reg, "u32": u32, "u64": u64}
    code = "\n\ndef write():\n    ptx.inst.add.u32(reg.scalar(u32), reg.scalar(u64), 1)\n"
    exec(compile(code, "<generated>", "exec"), names)
    (diagnostic,) = refusal(names["write"]).diagnostics
    assert (diagnostic.file, diagnostic.line, diagnostic.column) == ("<generated>", 4, 5)


def test_a_register_of_another_trace_is_refused_as_operand_and_guard() -> None:
    kept: list[Any] = []
    trace(lambda: kept.append(reg.scalar(pred)), "sm_90a")
    (old,) = kept
    guarded = refusal(lambda: ptx.inst.mov.u32(reg.scalar(u32), 1, pred=old))
    assert (guarded.diagnostics[0].code, underlined(guarded)) == ("PTX0231", "old")
    read = refusal(lambda: ptx.inst.selp.u32(reg.scalar(u32), 1, 2, old))
    assert (read.diagnostics[0].code, underlined(read)) == ("PTX0231", "old")


def test_an_authors_exception_leaves_the_trace() -> None:
    def broken() -> None:
        with ptx.if_(reg.scalar(pred)):
            for _ in ptx.range_(0, 4):
                raise KeyError("mine")

    def outer() -> None:
        first = reg.scalar(u32, init=1)
        with pytest.raises(KeyError):
            trace(broken, "sm_90a")
        trace(lambda: reg.scalar(f32, init=1.0), "sm_80")  # a kernel traced while tracing
        reg.scalar(u32, init=first)

    with pytest.raises(KeyError, match="mine"):
        trace(broken, "sm_90a")
    assert _core.active_trace() is None
    trace(outer, "sm_90a")
    assert _core.active_trace() is None


def test_a_swallowed_exception_is_no_way_out_of_a_block() -> None:
    def write() -> None:
        with contextlib.suppress(KeyError), ptx.if_(reg.scalar(pred)):
            raise KeyError

    assert refusal(write).diagnostics[0].code == "PTX0403"


def test_words_for_literals_name_only_what_is_possible() -> None:
    text = str(refusal(lambda: ptx.inst.mov.b16(reg.scalar(f16), 1.0)))
    assert "must be a register or an integer or a variable or a special register, got" in text


def test_the_target_decides() -> None:
    def write() -> None:
        ptx.inst.wgmma.fence.sync.aligned()

    error = refusal(write, "sm_100a")
    assert isinstance(error, TargetError)
    assert error.diagnostics[0].code == "PTX0302"
    assert "sm_90a" in str(error)
    assert isinstance(refusal(lambda: None, "sm_999"), TargetError)


def test_a_pinned_version_is_kept() -> None:
    def write() -> None:
        ptx.inst.fence.proxy.async_()

    assert refusal(write, "sm_80", version=(7, 0)).diagnostics[0].code in ("PTX0302", "PTX0303")
    assert refusal(lambda: None, "sm_90a", version=(7, 0)).diagnostics[0].code == "PTX0305"
    assert refusal(lambda: None, version=(3, 9)).diagnostics[0].code == "PTX0304"


def test_refused_instructions_leave_nothing_behind() -> None:
    current = _core.Trace("k", "sm_90a")
    current.enter()
    with pytest.raises(VerifyError):
        ptx.inst.add.u32(reg.scalar(u32), reg.scalar(f32), 1)
    current.leave()
    assert current.finish().instruction_count == 1  # ret


def test_control_flow_must_close() -> None:
    def broken() -> None:
        for _ in ptx.range_(0, 4):
            break

    def stray_else() -> None:
        with ptx.else_():
            pass

    def nowhere() -> None:
        ptx.bra("NOWHERE")

    def twice() -> None:
        ptx.label("HERE")
        ptx.label("HERE")

    codes = [refusal(f).diagnostics[0].code for f in (broken, stray_else, nowhere, twice)]
    assert codes == ["PTX0403", "PTX0402", "PTX0405", "PTX0406"]


def test_arguments_are_checked() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: ptx.warp.reduce_sum(reg.scalar(f32), width=3), "PTX0237"),
        (lambda: reg.wgmma_frag(m=3, n=5, dtype=f32), "PTX0237"),
        (lambda: ptx.sreg("%nothing"), "PTX0239"),
        (lambda: ptx.param(u32, "absent"), "PTX0240"),
        (lambda: reg.scalar(u32, name="two words"), "PTX0235"),
        (lambda: reg.scalar(u32, name="%r7"), "PTX0238"),
        (lambda: reg.scalar(f16) << 1, "PTX0233"),
        (lambda: reg.scalar(pred) + 1, "PTX0233"),
        (lambda: ptx.range_(0, 4, 0).__enter__(), "PTX0237"),
    ]
    assert [refusal(write).diagnostics[0].code for write, _ in cases] == [c for _, c in cases]
    with pytest.raises(AttributeError):
        ptx.special.nothing()
    with pytest.raises(TypeError, match=r"pyptx\.types"):
        refusal(lambda: reg.scalar("f33"))


def test_nothing_is_emitted_outside_a_trace() -> None:
    with pytest.raises(VerifyError, match="PTX0401") as caught:
        ptx.ret()
    assert underlined(caught.value) == "ptx.ret()"
