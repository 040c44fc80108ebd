# SPDX-License-Identifier: Apache-2.0
"""The peer of examples/vector_add.py, written in Triton. Imported only where Triton is."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Store x + y in out."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    x = tl.load(x_ptr + index, mask=mask)
    y = tl.load(y_ptr + index, mask=mask)
    tl.store(out_ptr + index, x + y, mask=mask)
