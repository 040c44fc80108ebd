# SPDX-License-Identifier: Apache-2.0
"""What a target can hold: the most that is accepted, and one more, which is refused."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import Error, TargetError, kernel, ptx, verify


def nothing() -> None:
    ptx.ret()


@pytest.mark.parametrize(
    ("arch", "kib"),
    [
        ("sm_75", 64),
        ("sm_80", 163),
        ("sm_88", 99),
        ("sm_89", 99),
        ("sm_90a", 227),
        ("sm_100a", 227),
        ("sm_107", 227),
        ("sm_120", 99),
    ],
)
def test_shared_memory(arch: str, kib: int) -> None:
    kernel(nothing, arch=arch, smem=kib << 10).ptx()
    over = kernel(nothing, arch=arch, smem=(kib << 10) + 1)
    with pytest.raises(TargetError, match=f"a CTA of {arch} has at most {kib << 10}") as caught:
        over.ptx()
    assert __file__ in caught.value.__notes__[0]
    with pytest.raises(Error):  # no place in a text, so no finding to list
        verify(over)


@pytest.mark.parametrize("block", [(1024, 1, 1), (1, 1024, 1), (16, 1, 64)])
def test_largest_blocks(block: Any) -> None:
    kernel(nothing, block=block)


@pytest.mark.parametrize("block", [(1025, 1, 1), (32, 33, 1), (1, 1, 65), (0, 1, 1)])
def test_blocks_that_nothing_runs(block: Any) -> None:
    with pytest.raises(ValueError, match="kernel 'nothing': block"):
        kernel(nothing, block=block)


def test_clusters() -> None:
    kernel(nothing, cluster=(16, 1, 1)).ptx()
    for cluster in ((17, 1, 1), (0, 1, 1)):
        with pytest.raises(ValueError, match="kernel 'nothing': cluster"):
            kernel(nothing, cluster=cluster)


@pytest.mark.parametrize("version", ["8.7", 8.7, (8,), (8, "7"), (8, 7, 0)])
def test_versions_that_are_none(version: Any) -> None:
    with pytest.raises(TypeError, match=r"version is a pair of integers such as \(8, 7\)"):
        kernel(nothing, version=version)
