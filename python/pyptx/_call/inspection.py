# SPDX-License-Identifier: Apache-2.0
"""A kernel asked about rather than run: from keywords to the specialisation that they name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyptx import _core, _toolchain
from pyptx._call import first_call
from pyptx._call.specialize import Facts, Traced

if TYPE_CHECKING:
    from pyptx.kernel import Kernel
    from pyptx.specs import Tile


def facts_of(
    kernel: Kernel, keywords: dict[str, Any], target: str | None = None
) -> tuple[Facts, dict[str, Any], dict[str, Any]]:
    """Return the facts that dimensions and template values name, those values, and raw ones."""
    signature = kernel.signature
    env: dict[str, Any] = {}
    template, raw = signature.bind_keywords(keywords, env)
    # A size that is in no trace may be any.
    values = {**dict.fromkeys(signature.dynamic, 0), **template, **env}
    specs: Sequence[Tile | None] = signature.specs or (None,) * len(signature.tensors)
    shapes = tuple(
        None
        if spec is None or any(dim not in values for dim in spec.symbolic_dims)
        else spec.resolve_shape(values)
        for spec in specs
    )
    dtypes = tuple(
        None if spec is None else signature.declared.type_of(index, values) or None
        for index, spec in enumerate(specs)
    )
    resolved = first_call.resolve_target(target or kernel.arch, None)
    return Facts(shapes, dtypes, template, resolved), {**template, **env}, raw


def image_of(kernel: Kernel, traced: Traced) -> _core.KernelImage:
    """Return what can be assembled, with compilers announced."""
    _toolchain.announce_folders()
    plan = _core.LaunchPlan(kernel.signature.name, (1, 1, 1), kernel.specializer.options.block)
    return _core.KernelImage(traced.text, traced.facts.target, plan, traced.module)


def launch_costs(kernel: Kernel, traced: Traced) -> dict[str, int]:
    """Return what a launch takes besides registers: threads of a CTA and its shared memory."""
    options = kernel.specializer.options
    return {
        "threads": math.prod(options.block),
        "dynamic_shared": max(traced.dynamic_shared, options.smem),
    }
