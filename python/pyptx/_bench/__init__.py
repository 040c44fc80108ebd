# SPDX-License-Identifier: Apache-2.0
"""What `pyptx.bench` measures with and draws."""
