# SPDX-License-Identifier: Apache-2.0
from pyptx import layout

layout.fragment("mma", "m17n8k16")
