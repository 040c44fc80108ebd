# SPDX-License-Identifier: Apache-2.0
"""A model with kernels on two processes: DDP, FSDP2, DTensors.

What they do is in support/torch_on_two_processes.py.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.packages import need
from support.processes import local_address, run_python
from support.tree import TESTS

torch = need("torch")

PROGRAM = TESTS / "support" / "torch_on_two_processes.py"
WAYS = re.findall(r"^def (\w+)\(place: Place\)", PROGRAM.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def found(request: Any, tmp_path_factory: Any) -> Any:
    """Return what each way came to, in each of the processes that ran them all."""
    if request.param == "cuda" and torch.cuda.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    local_address()  # gloo and NCCL meet by sockets, whatever the store
    store: Path = tmp_path_factory.mktemp("store") / "store"
    with ThreadPoolExecutor(2) as pool:
        command = [str(PROGRAM), "{}", str(store), request.param]
        printed = pool.map(lambda r: run_python(*[part.format(r) for part in command]), range(2))
        return [json.loads(text) for text in printed]


@pytest.mark.parametrize("way", WAYS)
def test_on_two_processes(found: Any, way: str) -> None:
    assert [each[way] for each in found] == ["", ""]


def test_every_way_is_run(found: Any) -> None:
    assert all(list(each) == WAYS for each in found)
