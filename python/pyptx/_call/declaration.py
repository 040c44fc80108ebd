# SPDX-License-Identifier: Apache-2.0
"""What the decorator is given besides tensors: checked once, for every specialisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyptx import _core
from pyptx._call.refusals import refuse
from pyptx._call.signature import normalize_dim3, normalize_version
from pyptx._call.specialize import Options


def options_of(
    what: str,
    *,
    version: Any,
    block: Any,
    cluster: Any,
    smem: Any,
    extern_smem: bool | str,
    reqntid: Sequence[int] | None,
    raw_directives: Sequence[tuple[str, tuple[Any, ...]]] | None,
    tma: str,
    programmatic: Any,
) -> Options:
    """Return the options of a kernel; `what` begins the refusals."""
    if tma not in ("pointer", "value"):
        refuse("OptionValue", "tma", "'pointer' or 'value'", f"not {tma!r}")
    if not isinstance(programmatic, bool):
        refuse("OptionType", "programmatic", "True or False", repr(programmatic))
    if not hasattr(smem, "__index__") or smem < 0:
        refuse("OptionValue", f"{what} smem", "a number of bytes", f"not {smem!r}")
    options = Options(
        version=normalize_version(what, version),
        block=normalize_dim3(f"{what} block", block),
        cluster=normalize_dim3(f"{what} cluster", cluster),
        smem=int(smem),
        extern_smem=extern_smem,
        reqntid=None if reqntid is None else tuple(reqntid),
        raw_directives=tuple((str(n), tuple(v)) for n, v in raw_directives or ()),
        maps_by_value=tma == "value",
        programmatic=programmatic,
    )
    _core.check_block(what, options.block)
    _core.check_cluster(what, options.cluster)
    return options


def fill_text(what: str, value: Any, programmatic: bool) -> str:
    """Return what outputs are filled with before a launch, as the extension writes numbers."""
    if value is None:
        return ""
    if hasattr(value, "__index__"):
        text = str(value.__index__())
    elif hasattr(value, "__float__") and not isinstance(value, str):
        text = repr(float(value))
    else:
        refuse("OptionType", f"{what} out_init", "a number, or None", repr(value))
    if programmatic:
        why = "would be filled while the launch before still runs; fill them in the kernel"
        refuse("DeclarationValue", f"{what} outputs of a programmatic launch", why)
    return text
