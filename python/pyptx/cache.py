# SPDX-License-Identifier: Apache-2.0
"""The disk cache of cubins: what an assembler made of a text, kept for the next process.

Every kernel goes through it, so most programs never name it. An entry is found by everything it
depends on (`CacheKey`), holds a checksum, and is written under another name and then renamed, so
that any number of processes may share a folder, be killed, or find the disk full: the worst that
happens is that a kernel is assembled again. Entries unused for longest go when the cache grows
over its limit.

`PYPTX_CACHE_DIR` names the folder (otherwise it is `DEFAULT_CACHE_DIR`, which is
`$XDG_CACHE_HOME/pyptx` or `~/.cache/pyptx`), `PYPTX_CACHE_SIZE` the limit
(`"512M"`, `"2G"`; 1 GiB otherwise), and `PYPTX_CACHE=0` turns it off. A folder that anybody may
write to, or that belongs to another user, is not used; `pyptx doctor` says so.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from pyptx import _core, _toolchain

__all__ = [
    "DEFAULT_CACHE_DIR",
    "CacheEntry",
    "CacheKey",
    "CubinCache",
    "get_global_cache",
    "set_global_cache",
]

DEFAULT_CACHE_DIR = Path(_core.CubinCache.default_folder())
"""The folder that is used where `PYPTX_CACHE_DIR` names none."""


def _current_compiler() -> str:
    _toolchain.announce_folders()
    return _core.current_compiler()


@dataclass(frozen=True)
class CacheKey:
    """Everything that a cubin depends on.

    `options` are the assembler's, in ptxas's spelling; a text with a line table, as traced kernels
    have, is assembled with `"-lineinfo"`. `compiler` tells which build of which assembler; by
    default the one that kernels are assembled by here. `fn_id` keeps entries apart that are alike
    in all of this; a key of one's own may have no text and say with it what the cubin is of.
    """

    ptx: str = ""
    target: str = ""
    options: tuple[str, ...] = ()
    compiler: str = field(default_factory=_current_compiler)
    fn_id: str = ""

    @property
    def digest(self) -> str:
        """64 hexadecimal digits, which name the entry's file."""
        options = [*self.options, *([f"fn_id={self.fn_id}"] if self.fn_id else [])]
        return _core.cache_digest(self.ptx, self.target, options, self.compiler)


@dataclass(frozen=True)
class CacheEntry:
    """A cubin, what its assembler said beside it, and that assembler's name and version."""

    cubin: bytes
    log: str = ""
    compiler: str = ""


class CubinCache:
    """A folder of cubins.

    `cache_dir` is made when the first entry is put, readable by its owner alone; without one, it is
    what the environment says. An empty name is a cache that keeps nothing.
    """

    def __init__(
        self, cache_dir: str | os.PathLike[str] | None = None, size_limit: int | None = None
    ) -> None:
        chosen = _core.CubinCache.from_environment()
        self._core = _core.CubinCache(
            chosen.folder if cache_dir is None else os.fspath(cache_dir),
            chosen.size_limit if size_limit is None else size_limit,
        )

    @property
    def folder(self) -> Path | None:
        """Where the entries are; None when nothing is kept."""
        return Path(self._core.folder) if self._core.folder else None

    @property
    def size_limit(self) -> int:
        """The bytes that the entries may have together."""
        return self._core.size_limit

    def get(self, key: CacheKey) -> CacheEntry | None:
        """Return the entry of a key; None when there is none, or its file is damaged."""
        found = self._core.get(key.digest)
        return None if found is None else CacheEntry(*found)

    def put(self, key: CacheKey, entry: CacheEntry) -> bool:
        """Keep an entry; False when that was not possible, and then nothing has changed."""
        return self._core.put(key.digest, entry.cubin, entry.log, entry.compiler)

    def clear(self) -> int:
        """Remove every entry; their number."""
        return self._core.clear()

    def __contains__(self, key: CacheKey) -> bool:
        """Whether `get` would return an entry."""
        return self.get(key) is not None

    def __len__(self) -> int:
        """Count the entries."""
        return self._core.usage()[0]

    @property
    def size(self) -> int:
        """The bytes of all entries."""
        return self._core.usage()[1]

    @property
    def problem(self) -> str | None:
        """Why new entries cannot be kept, and what to do; None when they can."""
        return self._core.problem() or None

    def __repr__(self) -> str:
        """Folder and limit."""
        return f"CubinCache({self._core.folder!r}, size_limit={self.size_limit})"


def get_global_cache() -> CubinCache:
    """Return the cache that kernels use: the one that was set, else the environment's."""
    current = _core.CubinCache.current()
    return CubinCache(current.folder, current.size_limit)


def set_global_cache(cache: CubinCache | None) -> None:
    """Make kernels of this process use `cache`; None makes it the environment's again."""
    _core.set_global_cache(None if cache is None else cache._core)
