# SPDX-License-Identifier: Apache-2.0
"""The command `pyptx layout`: words to a picture, shown as text or written as SVG."""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

from pyptx._errors import Error
from pyptx._layout import boxes, descriptors, fragments, operand_bits, shared, tensor_memory
from pyptx._layout.picture import Picture
from pyptx._layout.refusals import refuse_argument, refuse_words

_EXAMPLES = """\
what there is to see, each with an example:
  INSTRUCTION  which thread and register holds which element: the words of the instruction, or
               those that matter, of mma, wgmma, ldmatrix, stmatrix, movmatrix, wmma, tcgen05.ld/st
                 pyptx layout mma m16n8k16 f16
                 pyptx layout ldmatrix.x4.trans
                 pyptx layout tcgen05.ld.32x32b.x8 -o fragment.svg
  metadata     which bits name the places of a sparse A
                 pyptx layout metadata mma.sp m16n8k32 f16
  scales       which bytes are the block scales of an mma
                 pyptx layout scales mma.kind::mxf4 block_scale
  accumulator  where D of tcgen05.mma lies in tensor memory
                 pyptx layout accumulator 64x128 --ws
  swizzle      where a swizzle puts each 16 bytes
                 pyptx layout swizzle 128B
  tile         an operand tile of wgmma or tcgen05 in shared memory, with its descriptor
                 pyptx layout tile bf16 64x64
  banks        which banks the addresses of a warp hit: a list, or what each lane's is
                 pyptx layout banks 'lane * 128' --bytes 4
  box          what a TMA copy brings and where it lies; shapes outermost first, --at innermost
                 pyptx layout box bf16 100x64 8x32 --swizzle 64B --at 40,96
  map          a tensor map field by field
                 pyptx layout map bf16 100x64 8x32 --swizzle 64B
  descriptor   a matrix descriptor field by field
                 pyptx layout descriptor wgmma 0x4000004000010000
  instruction  the instruction descriptor of tcgen05.mma
                 pyptx layout instruction f16 0x8200490
"""


def main(words: Sequence[str]) -> int:
    """Run the command; the result is the exit status."""
    try:
        options = _parser().parse_args(_with_kind(words))
        if options.kind is None:
            print(_EXAMPLES, file=sys.stderr, end="")
            return 2
        picture: Picture = options.draw(options)
        if options.output:
            picture.save(options.output)
        else:
            sys.stdout.write(picture.text())
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"pyptx layout: {error}", file=sys.stderr)
        return 1
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    return 0


def parse(words: Sequence[str]) -> Picture:
    """Return what the words of the command stand for; what argparse says is an error of ours."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            options = _parser().parse_args(_with_kind(words))
    except SystemExit:
        refuse_words(said.getvalue().strip().splitlines()[-1])
    if options.kind is None:
        refuse_words("it has no words; `pyptx layout --help` lists what there is")
    picture: Picture = options.draw(options)
    return picture


_KINDS: dict[str, Callable[[argparse.ArgumentParser], Callable[[Any], Picture]]] = {}


def _with_kind(words: Sequence[str]) -> list[str]:
    """Put the kind in front of an instruction, which goes without."""
    found = list(words)
    for i, word in enumerate(found):
        if word.startswith("-"):
            continue
        if word not in _KINDS:
            found.insert(i, "fragment")
        return found
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyptx layout",
        description="Draw where instructions, swizzles, descriptors and copies put elements.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage="pyptx layout KIND WORDS... [-o FILE]",
    )
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", help=argparse.SUPPRESS)
    for name, define in _KINDS.items():
        one = kinds.add_parser(name, prog=f"pyptx layout {name}", allow_abbrev=False)
        one.add_argument("-o", "--output", metavar="FILE", help="write SVG (.svg) or text to FILE")
        one.set_defaults(draw=define(one))
    return parser


def _kind(name: str) -> Callable[[Any], Any]:
    def register(define: Any) -> Any:
        _KINDS[name] = define
        return define

    return register


@_kind("fragment")
def _fragment(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    one.add_argument("words", nargs="+", help="of the instruction: mma m16n8k16 f16")
    one.add_argument("--operand", help="one of a, b, c, d, r")
    one.add_argument("--rows", type=_span, metavar="FIRST:END")
    one.add_argument("--columns", type=_span, metavar="FIRST:END")
    return lambda got: fragments.fragment(
        *got.words, operand=got.operand, rows=got.rows, columns=got.columns
    )


@_kind("metadata")
def _metadata(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    one.add_argument("words", nargs="+", help="of the instruction: mma.sp m16n8k32 f16")
    one.add_argument("--selector", type=_number, default=0)
    return lambda got: operand_bits.metadata(*got.words, selector=got.selector)


@_kind("scales")
def _scales(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    one.add_argument("words", nargs="+", help="of the instruction: mma.kind::mxf4 block_scale")
    for name in ("--byte-a", "--thread-a", "--byte-b", "--thread-b"):
        one.add_argument(name, type=_number, default=0)
    return lambda got: operand_bits.scales(
        *got.words,
        byte_a=got.byte_a,
        thread_a=got.thread_a,
        byte_b=got.byte_b,
        thread_b=got.thread_b,
    )


@_kind("accumulator")
def _accumulator(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    one.add_argument("shape", type=_shape, help="MxN: 128x64")
    one.add_argument("--cta-group", type=int, default=1)
    one.add_argument("--ws", action="store_true")
    one.add_argument("--sparse", action="store_true")
    return lambda got: tensor_memory.accumulator(
        got.shape, cta_group=got.cta_group, ws=got.ws, sparse=got.sparse
    )


@_kind("swizzle")
def _swizzle(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    one.add_argument("mode", help=", ".join(shared.SWIZZLES))
    one.add_argument("--rows", type=_number)
    one.add_argument("--start", type=_number, default=0, help="shared address of the tile")
    return lambda got: shared.swizzle(got.mode, rows=got.rows, start=got.start)


@_kind("tile")
def _tile(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    one.add_argument("dtype")
    one.add_argument("shape", type=_shape, help="MNxK: 64x64")
    one.add_argument("--swizzle", default="widest")
    one.add_argument("--major", default="K", help="K or MN")
    one.add_argument("--of", default="wgmma", help="wgmma or tcgen05")
    one.add_argument("--start", type=_number, default=0)
    return lambda got: shared.tile(
        got.dtype, got.shape, swizzle=got.swizzle, major=got.major, of=got.of, start=got.start
    )


@_kind("banks")
def _banks(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    one.add_argument("addresses", help="'0,128,256' or 'lane * 128'")
    one.add_argument("--bytes", type=_number, default=4)
    return lambda got: shared.banks(_addresses(got.addresses), bytes=got.bytes)


def _map_arguments(one: argparse.ArgumentParser) -> None:
    one.add_argument("dtype")
    one.add_argument("shape", type=_shape, help="of the tensor, outermost first: 100x64")
    one.add_argument("box", type=_shape, help="of the box, outermost first: 8x32")
    one.add_argument("--swizzle")
    one.add_argument("--interleave", default="none")
    one.add_argument("--strides", type=_numbers, default=(), help="bytes, outermost first")
    one.add_argument("--element-strides", type=_numbers, default=())
    one.add_argument("--nan", action="store_true", help="fill with NaN outside the tensor")
    one.add_argument("--corners", type=_corners, help="of im2col: LOWER/UPPER, 0,0/0,0")
    one.add_argument("--pixels", type=_number, default=0)
    one.add_argument("--channels", type=_number, default=0)


def _map_of(got: Any) -> Any:
    return boxes.make_map(
        got.dtype,
        got.shape,
        got.box,
        swizzle=got.swizzle,
        interleave=got.interleave,
        strides=got.strides,
        element_strides=got.element_strides,
        nan=got.nan,
        corners=got.corners,
        pixels=got.pixels,
        channels=got.channels,
    )


@_kind("map")
def _map(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    _map_arguments(one)
    return lambda got: boxes.tensor_map(_map_of(got))


@_kind("box")
def _box(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    _map_arguments(one)
    one.add_argument("--at", type=_numbers, required=True, help="coordinates, innermost first")
    one.add_argument("--mode", default="tile", help="tile, im2col or gather4")
    one.add_argument("--offsets", type=_numbers, default=(0, 0, 0), help="of im2col")
    one.add_argument("--start", type=_number, default=0)
    one.add_argument("--store", action="store_true")
    return lambda got: boxes.box(
        _map_of(got), got.at, mode=got.mode, offsets=got.offsets, start=got.start, store=got.store
    )


@_kind("descriptor")
def _descriptor(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    one.add_argument("of", help="wgmma, tcgen05 or zero_columns")
    one.add_argument("bits", type=_number)
    return lambda got: descriptors.descriptor(got.bits, of=got.of)


@_kind("instruction")
def _instruction(one: argparse.ArgumentParser) -> Callable[[Any], Picture]:
    one.add_argument("tensor_kind", metavar="KIND", help=", ".join(descriptors.KINDS))
    one.add_argument("bits", type=_number)
    one.add_argument("--cta-group", type=int, default=1)
    one.add_argument("--ws", action="store_true")
    return lambda got: descriptors.instruction_descriptor(
        got.bits, kind=got.tensor_kind, cta_group=got.cta_group, ws=got.ws
    )


def _number(text: str) -> int:
    return int(text, 0)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word, 0) for word in text.split(","))


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split("x"))


def _span(text: str) -> range:
    first, _, end = text.partition(":")
    return range(int(first or 0), int(end)) if end else range(int(first), int(first) + 1)


def _corners(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    lower, _, upper = text.partition("/")
    return _numbers(lower), _numbers(upper)


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}


def _addresses(text: str) -> list[int]:
    """Return the addresses of a list, or those of an expression of `lane` for all lanes."""
    if "lane" not in text:
        return [int(word, 0) for word in text.replace(",", " ").split()]
    try:
        body = ast.parse(text, mode="eval").body
        return [_value(body, lane) for lane in range(32)]
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError):
        allowed = "numbers and `lane` with + - * // % << >> & | ^"
        refuse_argument("an expression of addresses", allowed, repr(text))


def _value(node: ast.expr, lane: int) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name) and node.id == "lane":
        return lane
    if isinstance(node, ast.BinOp) and (compute := _OPERATORS.get(type(node.op))):
        left, right = _value(node.left, lane), _value(node.right, lane)
        if isinstance(node.op, ast.LShift) and right > 32:
            raise ValueError
        return compute(left, right)
    raise ValueError
