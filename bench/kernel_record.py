# SPDX-License-Identifier: Apache-2.0
"""The record of a run of the kernel bench: what it was measured with, and records put together."""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FORMAT = 1
SAME = ("format", "device", "versions", "quick")  # in records that belong together


class RecordError(Exception):
    """Why records cannot be put together."""


def new_record(torch: Any, device: str, **about: Any) -> dict[str, Any]:
    """Return a record without rows."""
    return {
        "format": FORMAT,
        "device": _device(torch, device),
        "versions": _versions(torch),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        **about,
        "rows": [],
        "failed": {},
        "left_out": [],
    }


def _device(torch: Any, device: str) -> dict[str, Any]:
    if device != "cuda":
        return {"name": "emulator", "driver": None}
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        "name": found.name,
        "driver": _driver(),
        "sms": found.multi_processor_count,
        "memory_bytes": found.total_memory,
    }


def _driver() -> str | None:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.split("\n")[0].strip() or None


def _versions(torch: Any) -> dict[str, Any]:
    import pyptx

    versions = {
        "pyptx": pyptx.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }
    try:
        import triton
    except ImportError:
        return {**versions, "triton": None}
    return {**versions, "triton": triton.__version__}


def write(record: dict[str, Any], path: Path) -> None:
    """Write a record so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def identity(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a row is of."""
    return (row["kernel"], row["variant"], row["dtype"], *row["shape"], row["mode"])


def merged(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one record of several parts; a row that is in two is that of the later one.

    A row keeps the date of its part; counters are those of the latest part that has some.
    """
    first, *others = records
    for other in others:
        for key in SAME:
            if first[key] != other[key]:
                raise RecordError(f"records differ in {key}: {first[key]} and {other[key]}")
    rows = {
        identity(row): {**row, "date": row.get("date", record["date"])}
        for record in records
        for row in record["rows"]
    }
    counters = [record["counters"] for record in records if "counters" in record]
    done = {row["name"] for row in rows.values()}
    failed = {name: why for record in records for name, why in record["failed"].items()}
    left_out = {name for record in records for name in record["left_out"]}
    return {
        **first,
        "date": max(record["date"] for record in records),
        "seed": [seed for record in records for seed in record["seed"]],
        "rows": list(rows.values()),
        "failed": {name: why for name, why in failed.items() if name not in done},
        "left_out": sorted(left_out - done),
        **({"counters": counters[-1]} if counters else {}),
    }
