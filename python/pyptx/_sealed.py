# SPDX-License-Identifier: Apache-2.0
"""Borders around what the package offers, made before anything else takes it from where it is."""

from __future__ import annotations

import importlib

from pyptx._public import seal

#: Modules, and which of their names are public.
_OFFERED = {
    "pyptx.specs": ("Tile", "unify_envs"),
    "pyptx.types": ("from_name",),
    "pyptx.parser": ("parse",),
    "pyptx.kernel": ("Kernel", "kernel"),
    "pyptx._verify": ("verify",),
    "pyptx._tune": ("tune",),
    "pyptx._call.bound_kernel": ("BoundKernel",),
    "pyptx._call.first_call": ("detect_arch",),
    "pyptx._call.open_kernel": ("OpenKernel", "load"),
    "pyptx.torch_support": ("differentiable_kernel",),
}

for _module, _names in _OFFERED.items():
    seal(vars(importlib.import_module(_module)), _names)
