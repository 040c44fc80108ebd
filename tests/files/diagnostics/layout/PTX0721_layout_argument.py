# SPDX-License-Identifier: Apache-2.0
from pyptx import layout

layout.tile("bf16", (60, 64))
