# SPDX-License-Identifier: Apache-2.0
"""What tunings found, on disk: a file for each device, tensors and set of kernels.

A file's name is the digest of everything that its content depends on, the text of every kernel
among it, so nothing that it says can be out of date. It is written under another name and renamed:
any number of processes may write it, the last one stays. It holds its own digest, and one that is
cut or changed is ignored, with a warning, and written anew. Nothing in it is executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

from pyptx import cache
from pyptx._errors import TuneWarning

FORMAT = 1
_FOLDER = "tune"


class Record:
    """The file of one tuning; `path` is None where nothing is remembered."""

    def __init__(self, key: dict[str, Any], folder: str | os.PathLike[str] | None) -> None:
        self._key = key
        self.digest = _digest(key)
        self.path: Path | None = None
        if folder is not None:
            self.path = Path(folder) / f"{self.digest}.json"

    def read(self) -> dict[str, Any] | None:
        """Return what is remembered, None where nothing is."""
        if self.path is None:
            return None
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            self._warn(f"cannot be read: {error}")
            return None
        try:
            kept = json.loads(text)
            found = kept["found"]
            is_whole = kept["format"] == FORMAT and kept["digest"] == _digest([self._key, found])
        except (ValueError, KeyError, TypeError):
            is_whole = False
        if not is_whole:
            self._warn("is damaged")
            return None
        assert isinstance(found, dict)
        return found

    def write(self, found: dict[str, Any]) -> None:
        """Remember; what another process has finished is not replaced by what is not."""
        if self.path is None:
            return
        if not found["is_finished"] and self._is_finished():
            return
        kept = {
            "format": FORMAT,
            "digest": _digest([self._key, found]),
            "key": self._key,
            "found": found,
        }
        temporary = self.path.with_suffix(f".{os.getpid()}.{os.urandom(4).hex()}.tmp")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as out:
                json.dump(kept, out)
            temporary.replace(self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            self._warn(f"cannot be written: {error}")

    def _is_finished(self) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when it was read
            found = self.read()
        return bool(found and found["is_finished"])

    def _warn(self, problem: str) -> None:
        text = f"what is remembered of a tuning, {self.path}, {problem}"
        warnings.warn(TuneWarning(text), stacklevel=4)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def default_folder() -> Path | None:
    """Return where tunings are remembered: beside the cubins; None where those are not kept."""
    kept = cache.get_global_cache()
    if kept.folder is None or kept.problem is not None:
        return None
    return kept.folder / _FOLDER
