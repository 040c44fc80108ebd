# SPDX-License-Identifier: Apache-2.0
from pyptx._tune.process import Child

Child(("/no/such/python",))
