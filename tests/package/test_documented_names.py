# SPDX-License-Identifier: Apache-2.0
"""What is documented of caches, registries and layouts has one reading: on results."""

from __future__ import annotations

from typing import Any

from pyptx.wgmma_layout import GmmaLayout, LayoutType, Major, pick_gmma_layout


def test_swizzle_codes_and_names() -> None:
    made = pick_gmma_layout(elem_bytes=2, m_or_n=64, k=64, major=Major.K)
    assert made == GmmaLayout(LayoutType.B128, 16, 1024, "128B", "128B")
    names = {}
    for contiguous in (8, 16, 32, 64):
        found = pick_gmma_layout(elem_bytes=2, m_or_n=contiguous, k=64, major=Major.MN)
        names[found.tma_swizzle] = (found.swizzle_code, found.smem_swizzle)
    assert names == {"NONE": (0, None), "32B": (3, "32B"), "64B": (2, "64B"), "128B": (1, "128B")}


def test_registry_has_a_length() -> None:
    from pyptx.jax_support import CubinRegistry

    registry = CubinRegistry()
    assert len(registry) == 0
    registry.register("", "k")
    assert len(registry) == 1
    registry.clear()
    assert len(registry) == 0


def test_cache_is_told_its_folder_and_keys_their_function(tmp_path: Any) -> None:
    from pyptx.cache import CacheEntry, CacheKey, CubinCache

    cache = CubinCache(cache_dir=tmp_path / "cubins")
    assert cache.folder == tmp_path / "cubins"
    keys = [CacheKey(fn_id=name, ptx="text", target="sm_80", compiler="none") for name in "ab"]
    assert len({key.digest for key in keys}) == 2
    assert cache.put(keys[0], CacheEntry(b"cubin"))
    assert cache.get(keys[0]) == CacheEntry(b"cubin")
    assert cache.get(keys[1]) is None
    assert CacheKey(fn_id="a", compiler="none").digest != CacheKey(compiler="none").digest
