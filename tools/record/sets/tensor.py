# SPDX-License-Identifier: Apache-2.0
"""Tensor copies: loads of tiles and by im2col, stores and reductions, over random maps.

Each block of a launch takes one map. A load's tile is dumped from shared memory, which held a
pattern before; a store's tensor is its own buffer, which is dumped whole. The wait for a load is
bounded, because a wrong count of bytes would hang otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from record.launch import Launch, Map, Part
from record.sets.tensor_maps import (
    SIZES,
    TENSOR,
    TILE,
    Dice,
    MapCase,
    im2col,
    interleaved,
    tiled,
)
from record.stream import Stream

GROUP = 24  # maps of one launch
ROUNDS = 10  # launches of each rank and direction
REDUCTIONS = {
    "add": "u32 s32 u64 f16 bf16 f32 f64", "min": "u32 s32 u64 s64 f16 bf16",
    "max": "u32 s32 u64 s64 f16 bf16", "inc": "u32", "dec": "u32", "and": "u32 u64",
    "or": "u32 u64", "xor": "u32 u64",
}  # fmt: skip


def _bits(name: str, count: int) -> Any:
    return Stream(name).bits(64, count // 8).view(np.uint8)


def _choose_map(count: int) -> list[str]:
    lines = []
    for number in range(count):
        lines.append(f"setp.eq.u32 p, block, {number};")
        lines.append(f"@p mov.b64 map, m{number};")
    return [*lines, "cvta.param.u64 map, map;"]


def _head(count: int, pointers: list[str], shared: str) -> list[str]:
    names = [f".param .align 64 .b8 m{i}[128]" for i in range(count)]
    names += [f".param .u64 {pointer}" for pointer in pointers]
    return [
        ".version 8.6", ".target sm_90a", ".address_size 64",
        f".visible .entry k({', '.join(names)}) {{",
        f".shared .align 1024 .b8 tile[{shared}]; .shared .align 8 .b64 bar;",
        ".reg .pred p, q; .reg .u32 block, thread, to, mb, at, end, value, tries, bytes, done;",
        ".reg .u32 c<8>; .reg .u16 o<3>; .reg .u64 map, cases, row, out, data;",
        "mov.u32 block, %ctaid.x; mov.u32 thread, %tid.x;",
        *_choose_map(count),
        f"ld.param.u64 cases, [{pointers[0]}]; mad.wide.u32 row, block, 64, cases;",
        *(f"ld.global.u32 c{i}, [row+{4 * i}];" for i in range(5)),
        "ld.global.u32 bytes, [row+20]; ld.global.u32 to, [row+24];",
        *(f"ld.global.u16 o{i}, [row+{32 + 2 * i}];" for i in range(3)),
        "mov.u32 mb, tile; add.u32 to, to, mb; mov.u32 mb, bar;",
    ]  # fmt: skip


def _each_word(body: list[str], name: str) -> list[str]:
    """Run lines for every word of the tile: `at` is its place, `end` the same from zero."""
    return [
        "mov.u32 at, tile; shl.b32 end, thread, 2; add.u32 at, at, end;",
        f"{name}:",
        *body,
        "add.u32 at, at, 512; add.u32 end, end, 512;",
        f"setp.lt.u32 p, end, {TILE};",
        f"@p bra {name};",
    ]


def _load_text(rank: int, count: int, is_im2col: bool) -> str:
    coordinates = ", ".join(f"c{i}" for i in range(rank))
    offsets = ", ".join(f"o{i}" for i in range(rank - 2))
    mode = "im2col" if is_im2col else "tile"
    tail = f", {{{offsets}}}" if is_im2col else ""
    lines = [
        *_head(count, ["cases_", "out_"], str(TILE)),
        *_each_word(["st.shared.u32 [at], 0xA5A5A5A5;"], "FILL"),
        "fence.proxy.async;",
        "setp.eq.u32 q, thread, 0;",
        "@q mbarrier.init.shared.b64 [mb], 1;",
        "@q fence.mbarrier_init.release.cluster;",
        "bar.sync 0;",
        "@!q bra READY;",
        "mbarrier.arrive.expect_tx.shared.b64 _, [mb], bytes;",
        f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}"
        f".mbarrier::complete_tx::bytes [to], [map, {{{coordinates}}}], [mb]{tail};",
        "READY:",
        "mov.u32 tries, 0;",
        "WAIT:",
        "mbarrier.try_wait.parity.shared.b64 p, [mb], 0;",
        "@p bra DONE;",
        "add.u32 tries, tries, 1; setp.lt.u32 p, tries, 1000;",
        "@p bra WAIT;",
        "DONE:",
        "selp.u32 done, 1, 0, p;",
        "ld.param.u64 out, [out_];",
        f"mad.wide.u32 out, block, {TILE}, out; mul.wide.u32 data, thread, 4;",
        "add.u64 out, out, data;",
        *_each_word(
            ["ld.shared.u32 value, [at]; st.global.u32 [out], value; add.u64 out, out, 512;"],
            "DUMP",
        ),
        "setp.eq.u32 q, thread, 127;",
        "@q st.global.u32 [out+-512], done;",  # the tile's last word: were the bytes as expected?
        "ret; }",
    ]
    return "\n".join([*lines, ""])


def _store_text(rank: int, count: int, operation: str) -> str:
    coordinates = ", ".join(f"c{i}" for i in range(rank))
    head = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
    if operation:
        head = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}.tile.bulk_group"
    lines = [
        *_head(count, ["cases_", "data_"], str(TILE)),
        "ld.param.u64 data, [data_]; mad.wide.u32 data, thread, 4, data;",
        *_each_word(
            ["ld.global.u32 value, [data]; st.shared.u32 [at], value; add.u64 data, data, 512;"],
            "FILL",
        ),
        "fence.proxy.async;",
        "bar.sync 0;",
        "setp.ne.u32 q, thread, 0;",
        "@q ret;",
        f"{head} [map, {{{coordinates}}}], [to];",
        "cp.async.bulk.commit_group;",
        "cp.async.bulk.wait_group 0;",
        "ret; }",
    ]
    return "\n".join([*lines, ""])


def _rows(cases: list[MapCase]) -> Any:
    """Return what the kernel reads of each case: 64 bytes."""
    table = np.zeros((len(cases), 16), np.uint32)
    for row, case in zip(table, cases, strict=True):
        row[: case.rank] = np.array(case.coordinates, np.int32).view(np.uint32)
        row[5], row[6] = case.nbytes, case.offset
        offsets = np.array([*case.im2col_offsets, *[0] * 4][:4], np.uint16)
        row[8:10] = offsets.view(np.uint32)
    return table.reshape(-1).view(np.uint8)


def _load_launch(name: str, cases: list[MapCase], tensor: Any) -> Launch:
    count = len(cases)
    is_im2col = bool(cases[0].pixels)
    parts = [
        Part(f"load {case.words}", 2, TILE * i, 16, TILE // 16, keep=4)
        for i, case in enumerate(cases)
    ]
    launch = Launch(
        name, "sm_90a", [tensor, _rows(cases), np.zeros(count * TILE, np.uint8)], parts,
        _load_text(cases[0].rank, count, is_im2col), grid=(count, 1, 1), block=(128, 1, 1),
        params=[*(Map(0, case.make()) for case in cases), 1, 2],
    )  # fmt: skip
    if count > 1:
        launch.singles = lambda: [_load_launch(name, [case], tensor) for case in cases]
    return launch


def _store_launch(name: str, cases: list[MapCase], operation: str) -> Launch:
    count = len(cases)
    word = operation or "store"
    start = _bits("where tensors are stored", TENSOR)
    spans = [_span(case) for case in cases]
    parts = [
        Part(f"{word} {case.words}", i, 0, 16, span // 16, keep=4)
        for i, (case, span) in enumerate(zip(cases, spans, strict=True))
    ]
    tensors = [start[:span].copy() for span in spans]
    launch = Launch(
        name, "sm_90a", [*tensors, _rows(cases), _bits(f"tile of {word}", TILE)], parts,
        _store_text(cases[0].rank, count, operation), grid=(count, 1, 1), block=(128, 1, 1),
        params=[*(Map(i, case.make()) for i, case in enumerate(cases)), count, count + 1],
    )  # fmt: skip
    if count > 1:
        launch.singles = lambda: [_store_launch(name, [case], operation) for case in cases]
    return launch


def _span(case: MapCase) -> int:
    last = case.strides[-1] * case.dims[-1] if case.strides else case.dims[0] * SIZES[case.dtype]
    return -(-last // 256) * 256


class TensorSet:
    """The whole set."""

    name = "tensor"
    about = "tensor copies over random maps: tiles, im2col, stores, reductions"
    targets: tuple[str, ...] = ("sm_90a",)

    def launches(self, target: str) -> Iterator[Launch]:
        """Make the launches of one target."""
        del target
        tensor = _bits("the tensor that is loaded", TENSOR)
        for rank in range(1, 6):
            dice = Dice(f"loads of rank {rank}")
            for number in range(ROUNDS):
                cases = [tiled(dice, rank, dice.pick(SIZES)) for _ in range(GROUP)]
                yield _load_launch(f"load.{rank}d.{number}", cases, tensor)
        for rank in range(3, 6):
            dice = Dice(f"im2col of rank {rank}")
            for number in range(ROUNDS // 2):
                cases = [im2col(dice, rank, dice.pick(SIZES)) for _ in range(GROUP)]
                yield _load_launch(f"im2col.{rank}d.{number}", cases, tensor)
        for rank in range(1, 6):
            dice = Dice(f"stores of rank {rank}")
            for number in range(ROUNDS // 2):
                cases = [tiled(dice, rank, dice.pick(SIZES), inside=True) for _ in range(GROUP)]
                yield _store_launch(f"store.{rank}d.{number}", cases, "")
        for operation, types in REDUCTIONS.items():
            dice = Dice(f"reductions by {operation}")
            for rank in (2, 4):
                cases = [
                    tiled(dice, rank, dice.pick(types.split()), inside=True) for _ in range(GROUP)
                ]
                yield _store_launch(f"{operation}.{rank}d", cases, operation)
        for rank in range(3, 6):
            dice = Dice(f"slices of rank {rank}")
            for number in range(3):
                cases = [interleaved(dice, rank, dice.pick(SIZES)) for _ in range(GROUP)]
                yield _load_launch(f"slices.{rank}d.{number}", cases, tensor)
            cases = [interleaved(dice, rank, dice.pick(SIZES), inside=True) for _ in range(GROUP)]
            yield _store_launch(f"slices.store.{rank}d", cases, "")
            cases = [
                interleaved(dice, rank, dice.pick(REDUCTIONS["add"].split()), inside=True)
                for _ in range(GROUP)
            ]
            yield _store_launch(f"slices.add.{rank}d", cases, "add")
