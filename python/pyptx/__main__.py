# SPDX-License-Identifier: Apache-2.0
"""``python -m pyptx``: the `pyptx` command."""

import sys

from pyptx._command import main

sys.exit(main())
