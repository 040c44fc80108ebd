# SPDX-License-Identifier: Apache-2.0
"""Shared memory: swizzles, operand tiles of wgmma and tcgen05, banks."""

from __future__ import annotations

from collections.abc import Sequence

from pyptx._core import element_types
from pyptx._core import layout as core
from pyptx._layout.descriptors import ENCODERS
from pyptx._layout.picture import Cell, Grid, Picture
from pyptx._layout.refusals import refuse_argument, refuse_unknown, refuse_value

SWIZZLES = ("none", "32B", "64B", "128B", "128B_32B")
_MN_BYTES = {"wgmma": False, "tcgen05": True}  # whether an MN-major tile may have bytes
_CHUNK = 16  # bytes that every swizzle leaves together
_LINE = 128  # bytes of all the banks
_MOST_ROWS = 16


def mode_of(swizzle: str | None) -> str:
    """Return the name of a swizzle; None is none."""
    mode = "none" if swizzle is None else swizzle
    if mode not in SWIZZLES:
        refuse_unknown("swizzle", mode, SWIZZLES)
    return mode


def element_bytes(dtype: object) -> int:
    """Return the bytes of an element of a type or of its name."""
    name = getattr(dtype, "name", dtype)
    bits = {known: bits for known, bits, _, _ in element_types()}
    if name not in bits:
        refuse_unknown("type", str(name), bits)
    return max(1, bits[str(name)] // 8)


def swizzle(mode: str | None, *, rows: int | None = None, start: int = 0) -> Picture:
    """Draw where a swizzle puts each 16 bytes of a tile whose rows are as wide as its pattern.

    `mode` is "32B", "64B", "128B", "128B_32B" (tcgen05's, in units of 32 bytes) or None. `start`
    is the shared address at which the tile begins: the pattern hangs on addresses, not on tiles.
    """
    mode = mode_of(mode)
    span = _LINE if mode == "none" else core.swizzle_span(mode)
    count = rows if rows is not None else 8
    if not 1 <= count <= 256:
        refuse_argument("rows", "from 1 to 256", count)
    if start < 0 or start % _CHUNK:
        refuse_argument("start", "a multiple of 16", start)
    chunks = span // _CHUNK
    linear = [start + row * span + _CHUNK * i for row in range(count) for i in range(chunks)]
    placed = core.swizzled(mode, linear)
    names = {at: divmod(i, chunks) for i, at in enumerate(placed)}
    by_tile = [
        Cell(
            *divmod(i, chunks),
            f"{at - start:#x}",
            f"row {i // chunks}, bytes {i % chunks * 16}-{i % chunks * 16 + 15}: shared address "
            f"{at:#x}, banks {at // 4 % 32}-{at // 4 % 32 + 3}",
            group=at // _CHUNK % 8,
        )
        for i, at in enumerate(placed)
    ]
    first = min(placed) // _LINE
    lines = max(placed) // _LINE - first + 1
    by_address = [
        Cell(
            at // _LINE - first,
            at // _CHUNK % 8,
            f"{row}.{chunk}",
            f"shared address {at:#x}: row {row}, bytes {chunk * 16}-{chunk * 16 + 15}",
            group=chunk,
        )
        for at, (row, chunk) in sorted(names.items())
    ]
    shown = "no swizzle" if mode == "none" else f"the {mode} swizzle"
    return Picture(
        f"Where {shown} puts each 16 bytes",
        f"A tile of {count} rows of {span} bytes: the address of each 16 bytes, and what lies at "
        f"each address.",
        (
            Grid(
                [str(row) for row in range(count)],
                [f"{16 * i}" for i in range(chunks)],
                by_tile,
                f"The tile: each 16 bytes with their address{' from its start' if start else ''}",
                "row",
                "byte of the row; a colour is four banks",
            ),
            Grid(
                [f"{(first + line) * _LINE:#x}" for line in range(lines)],
                [f"{4 * i}-{4 * i + 3}" for i in range(8)],
                by_address,
                "Shared memory: row.chunk of the tile at each address",
                "address",
                "banks; a colour is one column of the tile",
            ),
        ),
        facts={"addresses": tuple(placed), "span": span},
    )


def tile(
    dtype: object,
    shape: Sequence[int],
    *,
    swizzle: str | None = "widest",
    major: str = "K",
    of: str = "wgmma",
    start: int = 0,
) -> Picture:
    """Draw an operand tile of wgmma or tcgen05 in shared memory, with its descriptor.

    `shape` is (mn, k): rows of A or columns of B, and K. It is stored in blocks one swizzle row
    wide, as a TMA load of each block writes it; "widest" takes the widest swizzle that fits.
    """
    size = element_bytes(dtype)
    if of not in ENCODERS:
        refuse_unknown("descriptor", of, ENCODERS)
    if major not in ("K", "MN"):
        refuse_unknown("major", major, ("K", "MN"))
    mn, k = _pair(shape)
    is_mn = major == "MN"
    wanted = None if swizzle == "widest" else mode_of(swizzle)
    try:
        mode, leading, stride = core.canonical(size, mn, k, is_mn, wanted, _MN_BYTES[of])
    except ValueError as error:
        refuse_value("the tile", error)
    depth = 32 // size  # of one instruction
    starts = [core.k_advance(size, mn, k, is_mn, mode, i) for i in range(0, k, depth)]
    named = [ENCODERS[of](start + one, leading, stride, swizzle=mode) for one in starts]
    parts = [core.addresses(of, bits, is_mn, size, mn, depth) for bits in named]
    at = [
        address
        for row in range(mn)
        for part in parts
        for address in part[row * depth : (row + 1) * depth]
    ]
    bits = named[0]
    name = getattr(dtype, "name", dtype)
    lines, length = (k, mn) if is_mn else (mn, k)
    per = _CHUNK // size
    shown = min(lines, _MOST_ROWS)
    cells = []
    for line in range(shown):
        for chunk in range(length // per):
            row, column = (chunk * per, line) if is_mn else (line, chunk * per)
            address = at[row * k + column]
            cells.append(
                Cell(
                    line,
                    chunk,
                    f"{address - start:#x}",
                    f"mn {row}, k {column}: shared address {address:#x}, banks "
                    f"{address // 4 % 32}-{address // 4 % 32 + 3}",
                    group=address // _CHUNK % 8,
                )
            )
    left_out = f"; {lines - shown} more rows are not shown" if shown < lines else ""
    word = "no swizzle" if mode == "none" else f"the {mode} swizzle"
    return Picture(
        f"A {mn} x {k} tile of {name} for {of}, {major}-major, with {word}",
        "The address of each 16 bytes of an operand tile, as its descriptor names them.",
        (
            Grid(
                [str(line) for line in range(shown)],
                [str(chunk * per) for chunk in range(length // per)],
                cells,
                f"Bytes from the start of the tile{left_out}",
                "k" if is_mn else "mn",
                f"{'mn' if is_mn else 'k'}, {per} elements in 16 bytes; a colour is four banks",
            ),
        ),
        (
            f"descriptor 0x{bits:016x}: leading byte offset {leading}, stride byte offset "
            f"{stride}, swizzle {mode}.",
            f"An instruction takes {depth} of K: those from k on begin at byte "
            f"{', '.join(str(at) for at in starts[:8])}{', ...' if len(starts) > 8 else ''}.",
        ),
        facts={
            "shape": (mn, k),
            "element_bytes": size,
            "major": major,
            "starts": tuple(starts),
            "swizzle": mode,
            "leading_bytes": leading,
            "stride_bytes": stride,
            "descriptor": bits,
            "addresses": tuple(at),
        },
    )


def _pair(shape: Sequence[int]) -> tuple[int, int]:
    if len(shape) != 2 or not all(isinstance(one, int) and one > 0 for one in shape):
        refuse_argument("shape", "two whole numbers above 0", tuple(shape))
    return shape[0], shape[1]


def banks(addresses: Sequence[int | None], *, bytes: int = 4, title: str = "") -> Picture:
    """Draw which banks of shared memory the addresses of a warp hit, and how often.

    `addresses[lane]` is a byte address or None; each lane takes `bytes` (1, 2, 4, 8 or 16). A group
    of lanes passes the banks at once; each different word of a bank takes a wavefront of its own.
    """
    if bytes not in (1, 2, 4, 8, 16):
        refuse_argument("bytes", "1, 2, 4, 8 or 16", bytes)
    if not 1 <= len(addresses) <= 32:
        refuse_argument("addresses", "those of 1 to 32 lanes", f"{len(addresses)}")
    if not all(one is None or 0 <= one < 1 << 32 for one in addresses):
        refuse_argument("an address", "from 0 to 2**32 - 1, or None", list(addresses))
    groups = core.bank_groups(list(addresses), bytes)
    grids = [_group_grid(group, addresses, bytes) for group in groups]
    taken = sum(wavefronts for *_, wavefronts in groups)
    ways = max((wavefronts for *_, wavefronts in groups), default=0)
    conflicts = taken - len(groups)
    verdict = "no bank conflict" if not conflicts else f"{conflicts} conflicts, {ways}-way"
    return Picture(
        title or f"{bytes} bytes by each lane: {_counted(taken)}, {verdict}",
        f"The lanes that ask each bank for each word: {_counted(taken)} where {len(groups)} would "
        f"do.",
        tuple(grids),
        ("Lanes in one box want the same word, which costs nothing.",),
        facts={"wavefronts": taken, "conflicts": conflicts},
    )


def _counted(wavefronts: int) -> str:
    return f"{wavefronts} wavefront{'' if wavefronts == 1 else 's'}"


def _group_grid(
    group: tuple[int, int, list[list[int]], int], addresses: Sequence[int | None], size: int
) -> Grid:
    first, count, words, wavefronts = group
    cells = []
    for bank, asked in enumerate(words):
        for turn, word in enumerate(asked):
            lanes = [
                lane
                for lane in range(first, min(first + count, len(addresses)))
                if (at := addresses[lane]) is not None and at // 4 <= word <= (at + size - 1) // 4
            ]
            cells.append(
                Cell(
                    turn,
                    bank,
                    _lanes_text(lanes),
                    f"bank {bank}: word at {word * 4:#x} for lanes {', '.join(map(str, lanes))}",
                    heat=turn / max(1, len(asked) - 1) if turn else 0.0,
                )
            )
    lanes_text = f"lanes {first}-{first + count - 1}"
    return Grid(
        [str(turn) for turn in range(wavefronts)],
        [str(bank) for bank in range(32)],
        cells,
        f"{lanes_text}: {_counted(wavefronts)}",
        "wavefront",
        "bank",
    )


def _lanes_text(lanes: Sequence[int]) -> str:
    """Return "3", "0-31" or "0+8"."""
    if len(lanes) > 1 and lanes[-1] - lanes[0] == len(lanes) - 1:
        return f"{lanes[0]}-{lanes[-1]}"
    return "+".join(map(str, lanes)) if len(lanes) < 3 else f"{lanes[0]}+{len(lanes) - 1}"
