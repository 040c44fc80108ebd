# SPDX-License-Identifier: Apache-2.0
from pyptx import ptx

ptx.ret()
