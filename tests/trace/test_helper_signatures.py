# SPDX-License-Identifier: Apache-2.0
"""Helpers take what authors were promised: the parameters, their order, names and defaults.

A helper may take more than that, after what is promised. Names of types and of predicates in front
are positional by habit, so only their place counts.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from pyptx import ptx, reg, smem

PROMISED = """
ptx.addr(base, offset=None)
ptx.param(T, name, dst=None)
ptx.cvta.param(src, dst=None)
ptx.cvta.to_global(src, dst=None)
ptx.var(space, T, name, *, size=None, align=None, linking=None)
ptx.ld(T, dst, addr, *, space="global", cache=None)
ptx.st(T, addr, src, *, space="global", cache=None)
ptx.mul(*args, mode=None)
ptx.mad(*args, mode="lo")
ptx.setp(cmp, T, *args)
ptx.cvt(T, S, dst, src, rounding=None, ftz=False, sat=False)
ptx.loop(label, pred=None)
ptx.range_(start, stop, step=1)
ptx.kloop(total, *, unroll, body, loop_label="kloop")
ptx.loc(f, l, c=0)
ptx.file_(i, name)
ptx.pipe(src)
ptx.warp.reduce_sum(reg, *, width=32)
ptx.bar.sync(n=0, count=None)
ptx.named_barrier(id, *, count=None)
ptx.elect_sync(dst, p, mask)
ptx.setmaxnreg(count, *, inc=True)
ptx.setmaxnreg_inc(n)
ptx.setmaxnreg_dec(n)
ptx.mbarrier.init(b, n)
ptx.mbarrier.arrive_expect_tx(b, bytes)
ptx.mbarrier.expect_tx(b, bytes)
ptx.mbarrier.try_wait(b, phase, parity=True)
ptx.mbarrier.wait(b, phase)
ptx.mbarrier.array(base, byte_offset, count)
ptx.mbarrier.MbarrierArray.at(i)
ptx.mbarrier.MbarrierArray.init_all(n)
ptx.mbarrier.MbarrierRef.arrive_remote(cta, n)
ptx.pipeline(n, *, cursor=None, phase=None)
ptx.cp.async_.ca(dst, src, bytes)
ptx.cp.async_.cg(dst, src, bytes)
ptx.cp.async_.wait_group(n)
ptx.cp.async_.bulk.tensor_1d(*, dst, src, coord, mbar=None, cta_group=1, multicast_mask=None)
ptx.cp.async_.bulk.tensor_5d(*, dst, src, coord, mbar=None, cta_group=1, multicast_mask=None)
ptx.cp.async_.bulk.wait_group(n, read=False)
ptx.tma.load_3d(dst, src, row, col, mbar, coords=None)
ptx.tma.load_3d_multicast(dst, src, row, col, mbar)
ptx.tma.store_3d(dst, src, row, col)
ptx.mma.sync(*, shape, dtype_d, dtype_a, dtype_b, dtype_c, d, a, b, c, a_layout="row", b_layout="col")
ptx.ldmatrix(*, dst, src, layout="x4", trans=False)
ptx.stmatrix(*, smem, regs, layout="x4", trans=False, shape="m8n8")
ptx.stmatrix_x4_trans_f32_bf16(*, frag, smem_base, lane, row_stride, tmp_bf16=None, tmp_pack=None)
ptx.wgmma.mma_async(*, shape, dtype_d, dtype_a, dtype_b, d, a, b, scale_d=False, scale_a=1, scale_b=1, trans_a=0, trans_b=0, a_k_offset=0, b_k_offset=0)
ptx.wgmma.wait_group(n)
ptx.wgmma.make_descriptor(base, *, leading_byte_offset, stride_byte_offset, swizzle=0, base_offset=0, addr_byte_offset=0)
ptx.wgmma.auto_descriptor(base, *, dtype, shape, major)
ptx.wgmma.masked_descriptor(addr, *, byte_offset=0, mask=262016, const_bits=4611686293305360384)
ptx.cluster.arrive(aligned=False)
ptx.cluster.rank(r)
ptx.cluster.map_shared_u32(addr, cta)
ptx.cluster.arrive_remote(bar, cta, n=1)
ptx.cluster.arrive_multicast(bar, mask, n=1)
ptx.tcgen05.alloc(addr, ncols, *, cta_group=1)
ptx.tcgen05.dealloc(taddr, ncols, *, cta_group=1)
ptx.tcgen05.relinquish_alloc_permit(*, cta_group=1)
ptx.tcgen05.mma(d, a, b, idesc, *, cta_group=1, kind="f16", enable_input_d=True, scale_d=None, sparse=False, ashift=False, collector_a=None, a_is_tmem=False)
ptx.tcgen05.ld(dst, taddr, *, shape="16x128b", count=1, pack=False)
ptx.tcgen05.cp(taddr, desc, *, size)
ptx.tcgen05.commit(mbar, *, cta_group=1, multicast=False, multicast_mask=None, space="cluster")
ptx.tcgen05.descriptor(addr, *, stride_bytes, leading_bytes=16, swizzle="128B")
ptx.tcgen05.masked_descriptor(addr, *, byte_offset=0, mask=262128, const_bits=4611756662049538048)
ptx.tcgen05.make_instr_desc_f16bf16_f32(*, m=128, n=256, ab_dtype="bf16")
ptx.printf(fmt, *regs)
ptx.assert_(p, message)
ptx.trap()
ptx.comment(text)
reg.scalar(T, init=None, name=None)
reg.array(T, count, name=None)
reg.from_(src, T)
reg.alloc(T)
reg.alloc_array(T, n)
reg.wgmma_frag(*, m, n, dtype, name=None)
smem.alloc(T, shape, swizzle=None, align=None, name=None)
smem.wgmma_tile(T, shape, major="K", *, align=None, name=None)
smem.mbarrier(count, name=None)
smem.base(name=None)
smem.load(T, addr)
smem.store(T, addr, value)
smem.apply_swizzle(offset, swizzle)
"""  # noqa: E501
BY_PLACE = {"T", "S", "p", "cmp", "n", "text", "value"}


def arguments(text: str) -> ast.arguments:
    (function,) = ast.parse(f"def {text}: ...").body
    assert isinstance(function, ast.FunctionDef)
    return function.args


def resolve(path: str) -> Any:
    found: Any = {"ptx": ptx, "reg": reg, "smem": smem}
    first, *rest = path.split(".")
    found = found[first]
    for part in rest:
        found = getattr(found, part)
    return found


def actual(path: str) -> tuple[list[str], list[str], dict[str, Any], bool]:
    """Positional names, all names, defaults, and whether further positional ones are taken."""
    (text, _, values), *_ = resolve(path).__nb_signature__  # an expression of that name comes last
    text = re.sub(r"\\(\d+)", r"_\1", text).removeprefix("def ").split(" -> ")[0]
    taken = arguments(text)
    places = [argument.arg for argument in taken.args if argument.arg != "self"]
    names = [*places, *(argument.arg for argument in taken.kwonlyargs)]
    given = dict(zip(reversed(places), reversed(taken.defaults), strict=False))
    given |= {
        argument.arg: default
        for argument, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True)
        if default is not None
    }
    defaults = {name: values[int(ast.unparse(node)[1:])] for name, node in given.items()}
    return places, names, defaults, taken.vararg is not None


@pytest.mark.parametrize("promise", [line for line in PROMISED.splitlines() if line])
def test_signature(promise: str) -> None:
    path, _, parameters = promise.partition("(")
    wanted = arguments(f"promised({parameters}")
    places, names, defaults, is_open = actual(path)
    for i, argument in enumerate(wanted.args):
        assert i < len(places) or is_open, f"{path} takes {len(places)} in place"
        if argument.arg not in BY_PLACE and i < len(places):
            assert places[i] == argument.arg
    assert {argument.arg for argument in wanted.kwonlyargs} <= set(names)
    assert wanted.vararg is None or is_open
    promised = dict(zip(reversed(wanted.args), reversed(wanted.defaults), strict=False))
    promised |= dict(zip(wanted.kwonlyargs, wanted.kw_defaults, strict=True))
    for argument, default in promised.items():
        if default is None:
            assert argument.arg not in defaults, f"{argument.arg} has a default"
        else:
            assert defaults[argument.arg] == ast.literal_eval(default)
