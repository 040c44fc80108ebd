# SPDX-License-Identifier: Apache-2.0
"""What a call of a kernel takes: its signature, its specialisations, its settled launches."""
