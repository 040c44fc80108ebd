# SPDX-License-Identifier: Apache-2.0
"""The kernel with numbers in a model that torch exports."""

from __future__ import annotations

from typing import Any

from support.packages import need
from support.scale_kernel import X, make_scale

torch = need("torch")


def tensor(device: str = "cpu") -> Any:
    return torch.from_numpy(X.copy()).to(device)


class Model(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.kernel = make_scale()

    def forward(self, x: Any, other: Any) -> Any:
        return self.kernel(x, alpha=0.5, count=other.shape[0])


def exported(**sizes: Any) -> Any:
    return torch.export.export(Model(), (tensor(), torch.ones(7)), **sizes)


DYNAMIC = {"dynamic_shapes": {"x": None, "other": (torch.export.Dim("count", min=2, max=64),)}}
