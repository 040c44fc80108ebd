# SPDX-License-Identifier: Apache-2.0
"""Products whose sizes nobody knows while a graph is traced: a call chooses its kernel.

What torch.compile traces for any number of rows names one kernel for all of them. This one hands a
call with sizes on to the kernel that `gemm_choice` has for them, so that one graph decodes and
prefills. Where a single kernel has to do, in a program that is exported, it is what it declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyptx.kernel import Kernel
from pyptx.kernels.gemm_choice import Sizes, choose
from pyptx.kernels.gemm_config import GemmConfig, GemmProblem
from pyptx.kernels.gemm_kernel import build_gemm, declared

USUAL = Sizes(4096, 4096, 4096)


def sizes_of(problem: GemmProblem, a: Sequence[int], b: Sequence[int]) -> Sizes:
    """Return M, N, K and the batch of operands of these shapes."""
    m, k = a[-2:] if problem.a_major == "K" else a[:-3:-1]
    return Sizes(m, b[-2] if problem.b_major == "K" else b[-1], k, a[0] if problem.batched else 1)


def fills_tiles(problem: GemmProblem, config: GemmConfig, sizes: Sizes) -> bool:
    """Whether an epilogue that adds something need not look for the edge of the columns."""
    has_extras = problem.bias is not None or problem.residual
    is_whole = sizes.n % (config.tile[1] * config.cluster[1]) == 0
    return has_extras and is_whole and not config.swap


class AnyProduct(Kernel):
    """The kernel of a problem for every size, of every configuration."""

    def __init__(self, problem: GemmProblem, batch_invariant: bool) -> None:
        self.problem, self.batch_invariant = problem, batch_invariant
        config = choose(problem, USUAL, batch_invariant=batch_invariant)
        function, options = declared(problem, config)
        # Kernels of one content share an operator: this one is not the kernel that it declares.
        function.__name__ += "_any_batch_invariant" if batch_invariant else "_any"
        super().__init__(function, **options)

    def _serving(self, inputs: Sequence[Any]) -> Kernel:
        """Return the kernel for arrays of these shapes."""
        sizes = sizes_of(self.problem, inputs[0].shape, inputs[1].shape)
        config = choose(self.problem, sizes, batch_invariant=self.batch_invariant)
        whole = fills_tiles(self.problem, config, sizes)
        return build_gemm(self.problem, config, whole_columns=whole)
