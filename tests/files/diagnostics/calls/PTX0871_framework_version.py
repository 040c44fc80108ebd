# SPDX-License-Identifier: Apache-2.0
from unittest import mock

import jax

from pyptx import Tile, kernel, ptx
from pyptx._jax import call_site
from pyptx.types import f32


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
def copy(X, Y):
    ptx.ret()


found = "this jaxlib is older than the headers that pyptx was built with"
with mock.patch.object(call_site, "registration_problem", return_value=found):
    copy(jax.numpy.ones(8))
