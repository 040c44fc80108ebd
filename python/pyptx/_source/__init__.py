# SPDX-License-Identifier: Apache-2.0
"""From an instruction to the place in the author's source where it was written."""
