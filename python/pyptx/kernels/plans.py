# SPDX-License-Identifier: Apache-2.0
"""How rows are divided among threads: the configurations for an H200.

A row belongs to a *group* of threads, which holds all of it in registers. Short rows have a part of
a warp, longer ones a warp, several warps, a CTA, and at last a cluster of CTAs. Each thread holds
`steps` vectors of 16 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pyptx.kernels.elements import WIDEST, element_type, vector_of

#: Clusters of so many CTAs, one on an SM, that an H200 runs at once. Its 132 SMs are in groups that
#: a cluster does not cross, so the larger ones leave SMs over.
FITTING = {1: 132, 2: 66, 4: 30, 8: 15}
RAGGED = 2048  # columns of softmax from which rows of no multiple of 16 bytes get such vectors
LONG = 16384  # columns of a row that one CTA holds
MOST_CTAS = 8  # of a cluster
MOST_VALUES = 64  # elements of a row that a thread holds
MOST_COLUMNS = 1 << 17
SHARED = 227 * 1024  # bytes that a CTA can have
LINE = 128  # bytes that memory moves together
REGISTERS = 65536  # of an SM


@dataclass(frozen=True)
class Plan:
    """The division of a row of `columns` elements.

    `lanes` threads of a CTA (a power of two) hold a row, or with `ctas` > 1 the part of a row that
    a CTA of the cluster has. A CTA has `groups` of so many threads. A group takes `each` rows at
    once, all loads before anything else; with `stages`, it takes row after row, and
    bulk copies bring so many rows ahead into shared memory. An SM has registers for `waves` CTAs at
    least: the one computes while another loads. What all rows share, weights, is loaded when a
    reduction has ended, or `ahead` of it, into registers that wait for that. CTAs that share rows
    and never meet, because there is nothing to sum up, are no cluster. In a `ragged` plan vectors
    are of 16 bytes though rows are no multiple of that (`ragged_rows`).
    """

    columns: int
    dtype: Any
    vector: int
    steps: int
    lanes: int
    groups: int = 1
    ctas: int = 1
    each: int = 1
    stages: int = 0
    waves: int = 1
    ahead: bool = False
    meets: bool = True
    ragged: bool = False

    def __post_init__(self) -> None:
        if self.lanes & (self.lanes - 1) or (self.ctas > 1 and self.lanes < 32):
            raise ValueError(f"lanes are a power of two, 32 or more in a cluster, not {self.lanes}")
        if self.stages and self.lanes < 32:
            raise ValueError("a group that stays has whole warps")
        if self.ctas > 1 and self.groups > 1:
            raise ValueError("CTAs that share rows have one group each")
        if self.ragged and self.stages:
            raise ValueError("bulk copies take whole vectors, which ragged rows are not of")
        if self.ragged and self.columns < self.vector:
            raise ValueError(f"a ragged row has {self.vector} columns or more, not {self.columns}")
        if self.ctas * self.share < self.vectors:
            raise ValueError(f"{self.columns} columns do not fit the threads of this plan")

    @property
    def threads(self) -> int:
        """Of a CTA."""
        return self.lanes * self.groups

    @property
    def registers(self) -> int:
        """Of a thread, at most."""
        return min(REGISTERS // (self.threads * self.waves), 255)

    @property
    def vectors(self) -> int:
        """Of a row, at most."""
        return vectors_of(self.columns, self.vector, self.ragged)

    @property
    def held(self) -> int:
        """Elements of a row that a thread holds."""
        return self.steps * self.vector

    @property
    def share(self) -> int:
        """Vectors of a row that a CTA has, the last of a cluster perhaps fewer.

        As many for each CTA as whole lines of memory allow: one with less would have less under
        way.
        """
        most = self.steps * self.lanes
        if self.ctas == 1:
            return most
        line = LINE * 8 // (self.vector * int(self.dtype.bits))
        return min(-(-self.vectors // (self.ctas * line)) * line, most)

    def clusters(self, rows: int) -> int:
        """Return how many clusters work on so many rows."""
        needed = -(-rows // (self.groups * self.each))
        # A grid that stays has to fit the machine at once: one cluster more takes twice as long.
        return min(needed, FITTING[self.ctas] * self.waves) if self.stages else needed

    def grid(self, rows: int) -> tuple[int, int, int]:
        """Return the grid for so many rows."""
        return (self.clusters(rows) * self.ctas, 1, 1)


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is no smaller."""
    return 1 << max(number - 1, 0).bit_length()


def vectors_of(columns: int, vector: int, ragged: bool) -> int:
    """Return the vectors of a row, at most: a ragged one may start at the end of its first."""
    return (columns + (2 * vector - 2 if ragged else 0)) // vector


def divided(
    columns: int, dtype: Any, lanes: int, values: int, *, ragged: bool = False, **options: Any
) -> Plan:
    """Return the plan in which `lanes` threads hold a row, at most `values` elements each.

    CTAs share the row where that does not do; the options are those of `Plan`. `ragged` is what
    the caller can do with rows that are no multiple of 16 bytes; others have nothing of it.
    """
    dtype = element_type(dtype)
    if not 1 <= columns <= MOST_COLUMNS:
        raise ValueError(f"rows have 1 to {MOST_COLUMNS} columns, not {columns}")
    vector = vector_of(columns, dtype)
    widest = WIDEST * 8 // dtype.bits
    ragged = ragged and vector < widest
    if ragged:
        vector = widest
    vectors = vectors_of(columns, vector, ragged)
    ctas = 1
    while vectors * vector > lanes * ctas * max(values, vector) and ctas < MOST_CTAS:
        ctas *= 2
    steps = -(-vectors // (lanes * ctas))
    if steps * vector > MOST_VALUES:
        most = lanes * MOST_CTAS * MOST_VALUES
        raise ValueError(f"{lanes} threads hold at most {most} columns, not {columns}")
    return Plan(columns, dtype, vector, steps, lanes, ctas=ctas, ragged=ragged, **options)


def plan_rows(columns: int, dtype: Any) -> Plan:
    """Plan for rows that are read once and held, with little to compute.

    64 bytes of a row per thread while 256 threads do for it. Then each holds up to 64 elements,
    and from there on CTAs share the row.
    """
    return _held(columns, dtype, 64 * 8 // element_type(dtype).bits, 256, MOST_VALUES)


def plan_elements(columns: int, dtype: Any) -> Plan:
    """Plan for what is computed element by element: 16 a thread, or more CTAs."""
    return replace(_held(columns, dtype, 16, 1024, 16), meets=False)


def plan_quantise(columns: int, dtype: Any) -> Plan:
    """Plan for quantisation: as `plan_rows`, with room for three CTAs where they share a row."""
    plan = plan_rows(columns, dtype)
    return replace(plan, waves=3) if plan.ctas > 1 and plan.dtype.bits == 16 else plan


def plan_softmax(columns: int, dtype: Any) -> Plan:
    """Plan for softmax: many threads with few elements, so that little waits for a long row."""
    dtype = element_type(dtype)
    is_half = dtype.bits == 16
    ragged = RAGGED <= columns <= LONG or columns > 2 * LONG
    if columns <= LONG or (not is_half and columns <= 2 * LONG):
        return _held(columns, dtype, 16, 1024, MOST_VALUES, ragged)
    if ragged and columns * dtype.bits // 8 % WIDEST:  # which takes registers
        if is_half:
            return divided(columns, dtype, 256, 64, waves=3, ragged=True)
        return divided(columns, dtype, 256, 32, waves=2, ragged=True)
    plan = _fullest(columns, dtype, 256, 32, 64) if is_half else divided(columns, dtype, 512, 16)
    # Where it holds more, a CTA has its exponentials computed twice, and more of them fit an SM.
    return replace(plan, waves=3 if is_half and plan.held > 32 else 2)


def plan_cross_entropy(columns: int, dtype: Any, gradient: bool = True) -> Plan:
    """Plan for cross-entropy, which has more to compute than softmax: fewer threads, more CTAs."""
    dtype = element_type(dtype)
    if dtype.bits == 32:
        if LONG < columns <= 4 * LONG:
            return divided(columns, dtype, 256, 32, waves=3)
        return _held(columns, dtype, 16, 512 if columns <= LONG else 1024, 32, columns > LONG)
    plan = _held(columns, dtype, 32, 256, MOST_VALUES, columns > LONG)
    resident = 1280 if plan.held <= 32 else 1024 if plan.held < 64 and not gradient else 768
    return replace(plan, waves=resident // plan.threads)


def _fullest(columns: int, dtype: Any, lanes: int, *values: int) -> Plan:
    """Return the plan for one of these numbers of elements whose threads have most to do."""
    plans = [divided(columns, dtype, lanes, each) for each in values]
    return max(plans, key=lambda plan: plan.vectors / (plan.ctas * plan.steps * lanes))


def _held(
    columns: int, dtype: Any, values: int, most: int, held: int, ragged: bool = False
) -> Plan:
    """Return the plan for about `values` elements a thread, `held` where `most` threads are few."""
    lanes = min(max(power_of_two(-(-columns // values)), 8), most)
    vectors = columns // vector_of(columns, element_type(dtype))
    if lanes > 32 and vectors % lanes and columns <= lanes // 2 * 40:
        lanes //= 2  # 5,120 columns are 5 vectors for each of 128 threads, 2.5 for 256
    if columns > lanes * held:
        return divided(columns, dtype, lanes, held, ragged=ragged)
    each = max(1, min(values // -(-columns // lanes), 4)) if lanes <= 32 else 1
    groups = max(64 // lanes, 1)
    return divided(columns, dtype, lanes, held, ragged=ragged, groups=groups, each=each)


def plan_products(columns: int, dtype: Any) -> Plan:
    """Plan for the gradient of softmax: two matrices in, one sum over each row."""
    dtype = element_type(dtype)
    if columns <= LONG:
        return plan_rows(columns, dtype)
    if dtype.bits == 16:
        return streamed(divided(columns, dtype, 256, 64), 2)
    return divided(columns, dtype, 256, 32)


def plan_norms(kind: str, columns: int, dtype: Any, residual: bool) -> Plan:
    """Plan for norms: CTAs share a long row, and load their part of the weights ahead."""
    dtype = element_type(dtype)
    is_rms, is_half = kind == "rms", dtype.bits == 16
    if columns > LONG:
        return _plan_long_norms(is_rms, columns, dtype, residual)
    if residual:
        return _held(columns, dtype, 16, 1024 if is_rms and is_half else 512, MOST_VALUES)
    if is_rms:
        return replace(_held(columns, dtype, 16, 1024, MOST_VALUES), ahead=not is_half)
    plan = _held(columns, dtype, 32 if is_half else 16, 512, MOST_VALUES)
    return replace(plan, waves=1024 // plan.lanes) if plan.lanes >= 256 else plan


def _plan_long_norms(is_rms: bool, columns: int, dtype: Any, residual: bool) -> Plan:
    """Plan for norms of rows that CTAs share.

    What of the weights a thread has no registers for is read for each row again, and L2, which then
    moves more than memory does, bounds LayerNorm: its CTAs stay and keep them.
    """
    is_half = dtype.bits == 16
    if vector_of(columns, dtype) * dtype.bits // 8 < WIDEST:  # more registers for as many elements
        return streamed(divided(columns, dtype, 512, 32), 1)
    if residual and columns > 4 * LONG:
        return divided(columns, dtype, 1024 if is_half else 512, 32)
    if residual:
        plan = divided(columns, dtype, *((256, 32) if is_half else (512, 16)))
        return replace(plan, waves=3 if is_half else 2, ahead=True)
    if is_rms and columns > 4 * LONG:
        plan = divided(columns, dtype, 256 if is_half else 512, 64 if is_half else 32)
        return replace(plan, each=2, waves=2 if is_half else 1, ahead=True)
    if not is_rms and columns <= 2 * LONG:
        return divided(columns, dtype, 256, 64 if is_half else 32, waves=2, ahead=True)
    plan = _fullest(columns, dtype, 256, *((32, 64) if is_half else (32,)))
    if is_rms:
        return replace(plan, waves=4 if is_half and plan.held <= 32 else 3, ahead=True)
    if plan.held <= 32:
        return streamed(plan, 1, waves=3 if is_half else 2)
    return streamed(plan, 1, waves=2 if is_half else 1)


def plan_sums(kind: str, columns: int, dtype: Any, inputs: int) -> Plan:
    """Plan for the gradients of norms: groups stay for rows of `inputs` matrices, and sum them up.

    32 bytes of each row per thread while 256 threads do for it; then up to 32 elements, or 64.
    """
    dtype = element_type(dtype)
    is_half = dtype.bits == 16
    values = 32 * 8 // dtype.bits
    lanes = min(max(power_of_two(-(-columns // values)), 32), 256)
    if columns <= lanes * values:
        plan = divided(columns, dtype, lanes, values, groups=512 // lanes)
    elif kind == "rms" and is_half and LONG // 2 < columns <= 2 * LONG:
        return streamed(divided(columns, dtype, 256, 16), inputs, waves=3 if columns > LONG else 2)
    elif kind == "layer" and is_half and LONG < columns <= 2 * LONG:
        return streamed(divided(columns, dtype, 256, 32), inputs, waves=2)
    else:
        plan = divided(columns, dtype, lanes, 64 if is_half and columns > LONG else 32)
    most = 32 if plan.ctas > 1 else 24
    is_short = plan.groups == 1 and plan.held <= most and is_half
    return streamed(plan, inputs, waves=2 if is_short else 1)


def streamed(plan: Plan, inputs: int, stages: int = 2, waves: int = 1) -> Plan:
    """Return the plan with a ring for rows of `inputs` matrices, as far as shared memory goes."""
    row = plan.share * plan.vector * plan.dtype.bits // 8 * inputs * plan.groups
    sums = (plan.groups - 1) * plan.share * plan.vector * 4 * 2
    stages = min(stages, (SHARED // waves - 8192 - sums) // row)
    if plan.vector * plan.dtype.bits // 8 < WIDEST:
        stages = 1  # bulk copies take whole vectors of 16 bytes
    return replace(plan, stages=max(stages, 1), waves=waves)
