# SPDX-License-Identifier: Apache-2.0
"""Pictures of where elements lie: what `pyptx.layout` gives."""
