# SPDX-License-Identifier: Apache-2.0
"""What a kernel's body reads besides its arguments, compared by content."""
