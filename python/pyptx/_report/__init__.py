# SPDX-License-Identifier: Apache-2.0
"""What an assembled kernel costs, and what NVIDIA's tools said about it."""
